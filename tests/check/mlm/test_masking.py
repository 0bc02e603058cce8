"""Exercise 1: wrong answers as readers write them, and what they are told."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from bertbook import check


def masking(
    ids: Tensor,
    special: Tensor,
    lot: Tensor,
    fate: Tensor,
    drawn: Tensor,
    mask_id: int,
    *,
    mask: float = 0.8,
    replace: float = 0.9,
    spare: bool = True,
    flip: bool = False,
) -> tuple[Tensor, Tensor]:
    """A right answer, with a switch for each mistake."""
    chosen = (lot >= 0.15) if flip else (lot < 0.15)
    if spare:
        chosen = chosen & ~special
    corrupted, labels = ids.clone(), ids.clone()
    labels[~chosen] = -100
    corrupted[chosen & (fate < mask)] = mask_id
    put = chosen & (fate >= mask) & (fate < replace)
    corrupted[put] = drawn[put]
    return corrupted, labels


def with_labels(change: Callable[[Tensor, Tensor, Tensor], Tensor]) -> Callable[..., tuple[Tensor, Tensor]]:
    def answer(ids: Tensor, *others: Any) -> tuple[Tensor, Tensor]:
        corrupted, labels = masking(ids, *others)
        return corrupted, change(ids, corrupted, labels)

    return answer


def in_place(ids: Tensor, special: Tensor, lot: Tensor, fate: Tensor, drawn: Tensor, mask_id: int) -> Any:
    corrupted, labels = masking(ids, special, lot, fate, drawn, mask_id)
    ids[:] = corrupted
    return corrupted, labels


def aliased(ids: Tensor, special: Tensor, lot: Tensor, fate: Tensor, drawn: Tensor, mask_id: int) -> Any:
    """labels = input_ids, then input_ids is changed: the labels with it."""
    corrupted, labels = masking(ids, special, lot, fate, drawn, mask_id)
    return corrupted, torch.where(labels == -100, labels, corrupted)


def swapped(ids: Tensor, special: Tensor, lot: Tensor, fate: Tensor, drawn: Tensor, mask_id: int) -> Any:
    corrupted, labels = masking(ids, special, lot, fate, drawn, mask_id, replace=0.8)
    put = (labels != -100) & (fate >= 0.9)
    return torch.where(put, drawn, corrupted), labels


WRONG: dict[str, tuple[Any, str]] = {
    "special tokens": (lambda *a: masking(*a, spare=False), "special tokens are chosen too"),
    "the wrong side": (lambda *a: masking(*a, flip=True), "you choose what should stay"),
    "always [MASK]": (lambda *a: masking(*a, mask=1.1), "all chosen tokens of yours become [MASK]"),
    "80/0/20": (lambda *a: masking(*a, replace=0.8), "80/0/20"),
    "80/20/0": (lambda *a: masking(*a, replace=1.1), "80/20/0"),
    "80/10/10 the other way": (swapped, "from 0.8 to 0.9 yours stay"),
    "labels everywhere": (with_labels(lambda ids, new, labels: ids), "the labels ask about every token"),
    "no labels where kept": (
        with_labels(lambda ids, new, labels: labels.masked_fill(new == ids, -100)),
        "leave out the chosen tokens that stay as they were",
    ),
    "labels at [MASK] alone": (
        with_labels(lambda ids, new, labels: torch.where(new == 4, labels, -100)),
        "numbers in `labels` are wrong",
    ),
    "labels of the new text": (aliased, "the labels hold what the model reads"),
    "labels of 0": (with_labels(lambda i, n, labels: labels.masked_fill(labels == -100, 0)), "your labels hold 0"),
    "labels of −1": (with_labels(lambda i, n, labels: labels.masked_fill(labels == -100, -1)), "your labels hold -1"),
    "103 for ever": (lambda i, s, lot, f, d, m: masking(i, s, lot, f, d, 4), "With another id for [MASK]"),
    "labels first": (lambda *a: masking(*a)[::-1], "not in the order `corrupted`, `labels`"),
    "no labels": (lambda *a: masking(*a)[0], "`labels` is missing"),
    "in place": (in_place, "changes `input_ids` in place"),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_mlm_1(mistake: str, refused: Callable[..., None]) -> None:
    refused(check.mlm_1, *WRONG[mistake])


def test_mlm_1_accepts_other_roads() -> None:
    assert check.mlm_1(masking), check.mlm_1(masking)
