"""Exercise 1: the causal mask."""

from collections.abc import Callable

import torch
from torch import Tensor

from bertbook.check.exercise import Case, Exercise, looks_like
from bertbook.check.masks import no_bool


def _mask(size: int, ahead: int = 0) -> Tensor:
    """Token i may look at tokens 0 to i + ``ahead``."""
    rows = [[key <= query + ahead for key in range(size)] for query in range(size)]
    return torch.tensor(rows).unflatten(0, (1, 1, -1))


def _cases() -> list[Case]:
    return [
        Case("size 5", (5,), "Write its mask on paper, one row a query, and print yours."),
        Case("size 8", (8,), "Which number in your function is a fixed one?"),
        Case("a single token", (1,), "The first token has one key to look at: which?"),
    ]


def _as(change: Callable[[Tensor], Tensor]) -> Callable[[int], Tensor]:
    return lambda size: change(_mask(size))


_AXES = "Scores have the shape (B, h, S, S), and one mask serves all texts and heads. Which axes have size 1?"

CAUSAL_MASK = Exercise(
    title="exercise 1, the causal mask",
    name="my_causal_mask",
    takes=("size",),
    gives=("mask",),
    reference=_mask,
    cases=_cases,
    diagnoses=(
        looks_like(
            lambda size: _mask(size, -1),
            "No token of yours may look at itself, and the first may look at nothing.",
            "A row of scores that are all hidden has no softmax. What does the first token have to look at?",
        ),
        looks_like(
            lambda size: _mask(size, +1),
            "Every token of yours may look one token ahead.",
            "That token is the one it has to predict.",
        ),
        looks_like(
            _as(lambda mask: mask.mT),
            "Your mask lets every token look at itself and at what comes after it.",
            "Rows are queries, columns are keys. Which keys come after the query?",
        ),
        looks_like(
            _as(torch.logical_not),
            "Your mask is inverted: it allows what comes after a token and hides the rest.",
            "Read the question that True answers: may this token be looked at?",
        ),
        looks_like(_as(lambda mask: mask[0, 0]), "The values are right, but the shape is (size, size).", _AXES),
        looks_like(_as(lambda mask: mask[0]), "The values are right, but the shape is (1, size, size).", _AXES),
        looks_like(
            _as(lambda mask: mask.permute(2, 3, 0, 1)),
            "The values are right, but the axes of size 1 come last.",
            _AXES,
        ),
        looks_like(
            _as(lambda mask: mask[..., -1:, :]),
            "Your mask has one row, the same for every query.",
            "A padding mask is the same for every query. Is this one?",
        ),
        looks_like(
            _as(torch.ones_like), "Your mask hides nothing.", "What would be a token's easiest way to its successor?"
        ),
        no_bool,
    ),
    start="Begin with one row of it: for query 2 of 5, which of the keys 0 to 4 may be looked at?",
    onward="A batch holds texts of different lengths: how would you join this mask and a padding mask?",
)
