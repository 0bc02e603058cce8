"""Exercise 2: the padding mask."""

from typing import Any

import torch
from torch import Tensor

from bertbook.check.exercise import Case, Exercise, looks_like
from bertbook.check.masks import no_bool


def _mask(lengths: Tensor, size: int) -> Tensor:
    rows = [[True] * length + [False] * (size - length) for length in lengths.tolist()]
    return torch.tensor(rows).unflatten(0, (-1, 1, 1))


def _cases() -> list[Case]:
    return [
        Case("lengths 3, 5, 2 in size 5", (torch.tensor([3, 5, 2]), 5), "Write its mask on paper and print yours."),
        Case(
            "lengths 2, 6, 4, 5 in size 8, longer than any text",
            (torch.tensor([2, 6, 4, 5]), 8),
            "The last axis is as long as the batch is padded, whatever the longest text.",
        ),
        Case("one text that fills its row", (torch.tensor([4]), 4), "A batch of one is still a batch: keep its axis."),
        Case("a text of length 0", (torch.tensor([0, 2]), 3), "Nothing of an empty text may be looked at."),
    ]


def _shift(by: int) -> Any:
    return lambda lengths, size: _mask((lengths + by).clamp(0, size), size)


PADDING_MASK = Exercise(
    title="exercise 2, the padding mask",
    name="my_mask",
    takes=("lengths", "size"),
    gives=("mask",),
    reference=_mask,
    cases=_cases,
    diagnoses=(
        looks_like(
            lambda lengths, size: ~_mask(lengths, size),
            "Your mask is inverted: it allows the padding and hides the text.",
            "Read the question that True answers: may this token be looked at?",
        ),
        looks_like(
            lambda lengths, size: _mask(lengths, size)[:, 0, 0],
            "The values are right, but the shape is (B, S), which does not fit scores of shape (B, h, S, S).",
            "Broadcasting lines shapes up from the right. Where must axes of size 1 stand?",
        ),
        looks_like(
            lambda lengths, size: _mask(lengths, size).mT,
            "Your mask hides queries, not keys.",
            "In scores of shape (B, h, S, S), which of the two S is the token that is looked at?",
        ),
        looks_like(
            lambda lengths, size: _mask(lengths, size) & _mask(lengths, size).mT,
            "Your mask hides queries as well as keys, so that a padding query may look at nothing.",
            "What padding positions gather is thrown away later; the mask only has to keep them from being looked at.",
        ),
        looks_like(_shift(+1), "Your mask is off by one: it allows one key too many.", "The first token stands at 0."),
        looks_like(_shift(-1), "Your mask is off by one: it hides each text's last token.", "Positions run from 0."),
        looks_like(
            lambda lengths, size: _mask(lengths, size).flip(-1),
            "Your mask expects the padding on the left.",
            "In BERT, a text starts at position 0 and the padding follows.",
        ),
        no_bool,
    ),
    start="Begin with the positions 0, 1, …, size − 1. When does a position hold a token?",
    onward="Which shape would a causal mask have, where token i may look at tokens 0 to i only?",
)
