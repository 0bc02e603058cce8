"""Exercise 2: wrong answers as readers write them, and what they are told."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from bertbook import check


def numbered(continues: Tensor) -> Tensor:
    """(B, S): the number of each token's word; a piece that continues nothing begins one."""
    begins = ~continues
    begins[:, 0] = True
    return begins.cumsum(1) - 1


def by_number(continues: Tensor, lot: Tensor, reduce: str) -> Tensor:
    word = numbered(continues)
    return torch.zeros_like(lot).scatter_reduce(1, word, lot, reduce, include_self=False).gather(1, word)


def right(continues: Tensor, lot: Tensor, rate: float) -> Tensor:
    lot = lot.clone()
    for position in range(1, lot.shape[1]):
        lot[:, position] = torch.where(continues[:, position], lot[:, position - 1], lot[:, position])
    return lot < rate


def in_place(continues: Tensor, lot: Tensor, rate: float) -> Tensor:
    for position in range(1, lot.shape[1]):
        lot[:, position] = torch.where(continues[:, position], lot[:, position - 1], lot[:, position])
    return lot < rate


WRONG: dict[str, tuple[Any, str]] = {
    "piece by piece": (lambda c, lot, rate: lot < rate, "each piece of yours goes by its own lot"),
    "first pieces": (lambda c, lot, rate: (lot < rate) & ~c, "you choose first pieces alone"),
    "the piece before": (
        lambda c, lot, rate: torch.where(c, torch.roll(lot, 1, 1), lot) < rate,
        "by the lot of the piece before it",
    ),
    "any": (lambda c, lot, rate: by_number(c, lot, "amin") < rate, "when any of its pieces draws a low lot"),
    "all": (lambda c, lot, rate: by_number(c, lot, "amax") < rate, "only when all of its pieces"),
    "mean": (lambda c, lot, rate: by_number(c, lot, "mean") < rate, "by the mean of its pieces' lots"),
    "inverted": (lambda c, lot, rate: right(c, lot, 1 - rate).logical_not() | True, "numbers in `chosen` are wrong"),
    "not": (lambda c, lot, rate: ~right(c, lot, rate), "your answer is inverted"),
    "0.15 for ever": (lambda c, lot, rate: right(c, lot, 0.15), "With a rate of 0.5"),
    "lots": (lambda c, lot, rate: by_number(c, lot, "amin"), "has the dtype torch.float32"),
    "in place": (in_place, "changes `lot` in place"),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_mlm_2(mistake: str, refused: Callable[..., None]) -> None:
    refused(check.mlm_2, *WRONG[mistake])


def test_mlm_2_accepts_other_roads() -> None:
    assert check.mlm_2(right), check.mlm_2(right)
