"""Exercise 2: wrong answers as readers write them, and what they are told."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from bertbook import check


def beside(*parts: Tensor) -> Tensor:
    return torch.cat(parts, dim=1)


def start_of(target: Tensor, start_id: int) -> Tensor:
    return torch.full((len(target), 1), start_id)


def shift(target: Tensor, start_id: int) -> Tensor:
    return beside(start_of(target, start_id), target[:, :-1])


def in_place(target: Tensor, start_id: int) -> Tensor:
    target[:, 1:] = target[:, :-1].clone()
    target[:, 0] = start_id
    return target


def row_by_row(target: Tensor, start_id: int, drop: Callable[[list[int]], list[int]]) -> Tensor:
    rows = [[start_id, *drop(row)] for row in target.tolist()]
    return torch.tensor([row + [0] * (target.shape[1] - len(row)) for row in rows])


SHIFT: dict[str, tuple[Any, str]] = {
    "left": (
        lambda t, s: beside(t[:, 1:], start_of(t, s)),
        "each place holds the id after the one it has to predict",
    ),
    "rolled left": (lambda t, s: torch.roll(t, -1, 1), "rolled, and to the left"),
    "rolled": (lambda t, s: torch.roll(t, 1, 1), "rolled: the last id comes back at the front"),
    "rolled as if flat": (lambda t, s: torch.roll(t, 1), "numbers in `inputs` are wrong"),
    "not at all": (lambda t, s: t, "nothing is shifted: the decoder is given the very ids"),
    "longer": (lambda t, s: beside(start_of(t, s), t), "longer by one: nothing has left them"),
    "last dropped": (lambda t, s: t[:, :-1], "lost their last id and gained nothing"),
    "first dropped": (lambda t, s: t[:, 1:], "lost their first id and gained nothing"),
    "first replaced": (lambda t, s: beside(start_of(t, s), t[:, 1:]), "takes the place of the first id"),
    "rows": (lambda t, s: torch.cat([torch.full_like(t[:1], s), t[:-1]]), "shift whole rows down"),
    "rows, longer": (lambda t, s: torch.cat([torch.full_like(t[:1], s), t]), "shift whole rows down"),
    "rows, rolled": (lambda t, s: torch.roll(t, 1, 0), "shift whole rows down"),
    "the end taken out": (
        lambda t, s: row_by_row(t, s, lambda row: [i for i in row if i != 102][: len(row) - 1]),
        "With a text that is shorter than its row: the end symbol is gone",
    ),
    "the last of the text taken out": (
        lambda t, s: row_by_row(t, s, lambda row: [i for i in row if i][:-1]),
        "With a text that is shorter than its row: the end symbol is gone",
    ),
    "the end overwritten": (
        lambda t, s: shift(t, s).masked_fill(shift(t, s) == 102, 0),
        "With a text that is shorter than its row: the end symbol is gone",
    ),
    "101 for ever": (lambda t, s: shift(t, 101), "With the padding's id as start: 2 of 12 numbers"),
    "a start twice": (lambda t, s: shift(shift(t, s), s), "numbers in `inputs` are wrong"),
    "nothing from one": (lambda t, s: shift(t, s) if t.shape[1] > 1 else t, "With one text of a single id"),
    "floats": (lambda t, s: shift(t, s).float(), "has the dtype torch.float32 and should have torch.int64"),
    "lists": (lambda t, s: [[s, *row[:-1]] for row in t.tolist()], "`inputs` is a list of 3"),
    "in place": (in_place, "right, but it changes `target` in place"),
    "one row": (lambda t, s: shift(t, s)[0], "`inputs` has shape (5,) and should have (3, 5)"),
    "start of shape (B,)": (lambda t, s: beside(start_of(t, s)[:, 0], t[:, :-1]), "it stops in line 1"),
}


@pytest.mark.parametrize("mistake", SHIFT)
def test_decoder_2(mistake: str, refused: Callable[..., None]) -> None:
    refused(check.decoder_2, *SHIFT[mistake])


def test_decoder_2_accepts_other_roads() -> None:
    def by_clone(target: Tensor, start_id: int) -> Tensor:
        return in_place(target.clone(), start_id)

    def by_roll(target: Tensor, start_id: int) -> Tensor:
        rolled = target.roll(1, -1)
        rolled[:, 0] = start_id
        return rolled

    for right in (shift, by_clone, by_roll):
        assert check.decoder_2(right), check.decoder_2(right)
