"""Exercise 3: take the padding out."""

from collections.abc import Callable
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor

from bertbook.check.exercise import Exercise, looks_like
from bertbook.check.fast.masks import cases, indices

Pair = tuple[Tensor, Tensor]


def _vectors(hidden: Tensor, mask: Tensor) -> Tensor:
    places = [place for place, token in enumerate(mask.flatten().tolist()) if token]
    return hidden.flatten(0, 1)[places]


def _boundaries(mask: Tensor) -> Tensor:
    counts = [sum(row) for row in mask.tolist()]
    return torch.tensor([*accumulate(counts, initial=0)], dtype=torch.int32)


def _with(
    vectors: Callable[[Tensor, Tensor], Tensor] = _vectors, boundaries: Callable[[Tensor], Tensor] = _boundaries
) -> Callable[..., Pair]:
    """Packing, with one of its two results made in another way."""
    return lambda hidden, mask: (vectors(hidden, mask), boundaries(mask))


def _in_front(hidden: Tensor, mask: Tensor) -> Tensor:
    """As many tokens of each row as it has, from its first place on."""
    return torch.cat([row[: int(count)] for row, count in zip(hidden, mask.sum(1), strict=True)])


def _counts(mask: Tensor) -> Tensor:
    return _boundaries(mask).diff()


def _padded_boundaries(mask: Tensor) -> Tensor:
    return torch.arange(len(mask) + 1, dtype=torch.int32) * mask.shape[1]


def _either(variant: Callable[..., Tensor], message: str, hint: str) -> list[Any]:
    """Wrong vectors, with right boundaries or with those of the padded batch; and both in the dtype of a sum."""
    made = [_with(variant), _with(variant, _padded_boundaries), _with(variant, lambda mask: _boundaries(mask).long())]
    return [looks_like(way, message, hint) for way in made]


_CUMULATIVE = "Write down, for the first input, where each row begins in `packed`. Where does the last one end?"


def _in_any_dtype(variant: Callable[[Tensor], Tensor], message: str) -> list[Any]:
    """Wrong boundaries, whatever integers they are."""
    ways = [_with(boundaries=lambda mask: variant(mask).int()), _with(boundaries=lambda mask: variant(mask).long())]
    return [looks_like(way, message, _CUMULATIVE) for way in ways]


PACK = Exercise(
    title="exercise 3, take the padding out",
    name="my_pack",
    takes=("hidden", "attention_mask"),
    gives=("packed", "cu_seqlens"),
    reference=_with(),
    cases=lambda: cases(31, packed=False),
    diagnoses=(
        looks_like(
            _with(boundaries=lambda mask: _boundaries(mask).long()),
            "Your boundaries are right, but in 64 bits; the kernels that read them want int32.",
            "A sum of integers comes in int64. Which argument or method changes that?",
        ),
        *_in_any_dtype(lambda mask: _boundaries(mask)[1:], "Your boundaries lack the first one, where row 0 begins."),
        *_in_any_dtype(lambda mask: _boundaries(mask)[:-1], "Your boundaries lack the last one, where the rows end."),
        *_in_any_dtype(_counts, "Your boundaries are the lengths of the rows, not where they begin and end."),
        *_in_any_dtype(
            lambda mask: torch.cat([torch.zeros(1, dtype=torch.int32), _counts(mask)]),
            "Your boundaries are a 0 and the lengths of the rows, not where they begin and end.",
        ),
        *_in_any_dtype(_padded_boundaries, "Your boundaries are those of the padded rows."),
        *_in_any_dtype(
            lambda mask: _boundaries(mask).unique(),
            "Rows without tokens have lost their boundary.",
        ),
        *_either(indices, "Your mask is taken for places: its 1 and 0 pick rows.", "What picks by yes and no?"),
        *_either(
            lambda hidden, mask: _vectors(hidden, 1 - mask),
            "You keep the padding and throw the tokens away.",
            "What does 1 mean in the mask?",
        ),
        *_either(
            lambda hidden, mask: _vectors(hidden.transpose(0, 1), mask.mT),
            "Your tokens come position by position: the first of each row, then the second.",
            "A row must stay together: which index runs fastest in `packed`?",
        ),
        *_either(
            lambda hidden, mask: (hidden * mask[..., None]).flatten(0, 1),
            "The padding is still there, as zeros.",
            "A zero vector costs as much as any other. How many rows should `packed` have?",
        ),
        *_either(
            lambda hidden, mask: hidden.flatten(0, 1),
            "The padding is still there: the rows are joined as they were.",
            "How many rows should `packed` have?",
        ),
        *_either(
            _in_front,
            "You take the first tokens of each row, as many as it has.",
            "The mask says where tokens stand. Nothing else says that they stand in front.",
        ),
    ),
    start="Begin with the vectors alone: how does a mask of truth values pick them, and in which order?",
    onward="What does a kernel for attention need the boundaries for?",
)
