"""Exercise 4: put the padding back."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from bertbook.check.compare import Finding, same
from bertbook.check.exercise import Case, Exercise, looks_like
from bertbook.check.fast.masks import cases


def _unpack(packed: Tensor, mask: Tensor) -> Tensor:
    """Each place takes its vector, or the row of zeros put before them all."""
    flat = mask.flatten()
    source = torch.where(flat == 1, flat.cumsum(0), 0)  # 0 at padding
    return F.pad(packed, (0, 0, 1, 0))[source].unflatten(0, mask.shape)


def _in_front(packed: Tensor, mask: Tensor) -> Tensor:
    """Each row from its first place on."""
    counts = mask.sum(1, keepdim=True)
    return _unpack(packed, (torch.arange(mask.shape[1]) < counts).long())


def _at_the_end(packed: Tensor, mask: Tensor) -> Tensor:
    """All tokens first, all padding last."""
    return F.pad(packed, (0, 0, 0, mask.numel() - len(packed))).unflatten(0, mask.shape)


def _by_position(packed: Tensor, mask: Tensor) -> Tensor:
    return _unpack(packed, mask.mT).transpose(0, 1)


def _cut(unpack: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The same, as wide as the longest row."""
    return lambda packed, mask: unpack(packed, mask)[:, : int(mask.sum(1).max())]


def _not_zero(case: Case, given: Tensor) -> Finding | None:
    """Right at the tokens, something else at the padding."""
    packed, mask = case.arguments
    zeros = torch.where(mask[..., None] == 1, given, torch.zeros_like(given))
    if not same(zeros, _unpack(packed, mask), case.tolerance):
        return None
    return Finding(
        "Your tokens are where they belong, but the padding does not hold zeros.",
        "Memory that nobody has written to holds anything, and a copy of a token is no padding.",
    )


UNPACK = Exercise(
    title="exercise 4, put the padding back",
    name="my_unpack",
    takes=("packed", "attention_mask"),
    gives=("hidden",),
    reference=_unpack,
    cases=lambda: cases(41, packed=True),
    diagnoses=(
        looks_like(
            _at_the_end,
            "Your tokens follow each other without a gap, and all the padding comes last.",
            "Which row of the batch does the first token of row 1 end up in?",
        ),
        looks_like(
            _by_position,
            "You fill the batch position by position: the first of each row, then the second.",
            "In which order do the vectors lie in `packed`?",
        ),
        looks_like(
            _cut(_in_front),
            "Your rows are as long as the longest of them has tokens, and each begins in front.",
            "The mask says how long rows are, and where tokens stand.",
        ),
        looks_like(
            _in_front,
            "Each of your rows begins in front.",
            "The mask says where tokens stand. Nothing else says that they stand in front.",
        ),
        looks_like(
            lambda packed, mask: _unpack(packed, mask).flatten(0, 1),
            "The numbers are right, but rows and positions share one axis: the shape is (B · S, H).",
            "The mask knows B and S.",
        ),
        _not_zero,
    ),
    start="Begin with a batch of zeros. Which shape, which dtype, on which device?",
    onward="Where in a model would you call the two: around each layer, or once around all of them?",
)
