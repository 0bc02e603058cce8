"""Exercise 1: choose, and decide what becomes of the chosen."""

from collections.abc import Callable

import torch
from torch import Tensor

from bertbook.check.exercise import Case, Exercise, looks_like

_IGNORED = -100
Pair = tuple[Tensor, Tensor]
Variant = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor, int], Pair]


def _masking(input_ids: Tensor, special: Tensor, lot: Tensor, fate: Tensor, drawn: Tensor, mask_id: int) -> Pair:
    """Token by token, in plain Python."""
    corrupted, labels = input_ids.clone(), torch.full_like(input_ids, _IGNORED)
    for place in torch.cartesian_prod(*map(torch.arange, input_ids.shape)).tolist():
        at = tuple(place)
        if special[at] or lot[at] >= 0.15:
            continue
        labels[at] = input_ids[at]
        if fate[at] < 0.8:
            corrupted[at] = mask_id
        elif fate[at] < 0.9:
            corrupted[at] = drawn[at]
    return corrupted, labels


def _cases() -> list[Case]:
    ids = torch.tensor([[2, 31, 47, 12, 25, 38, 44, 3], [2, 18, 29, 33, 21, 40, 3, 0], [2, 16, 50, 27, 3, 0, 0, 0]])
    special = ids < 5
    lot = torch.tensor([
        [0.61, 0.04, 0.93, 0.11, 0.38, 0.02, 0.55, 0.72],
        [0.47, 0.13, 0.29, 0.01, 0.86, 0.09, 0.64, 0.31],
        [0.91, 0.12, 0.27, 0.05, 0.58, 0.83, 0.44, 0.75],
    ])  # fmt: skip
    fate = torch.tensor([
        [0.15, 0.42, 0.88, 0.85, 0.31, 0.97, 0.05, 0.94],
        [0.83, 0.71, 0.99, 0.92, 0.12, 0.87, 0.22, 0.55],
        [0.95, 0.03, 0.86, 0.78, 0.62, 0.11, 0.89, 0.35],
    ])  # fmt: skip
    drawn = ids.flip(0).roll(3, 1) + 7
    spread = "Go through it token by token, on paper: is it chosen, and if it is, which of the three becomes of it?"
    return [
        Case("three texts", (ids, special, lot, fate, drawn, 4), spread),
        Case(
            "low lots at special tokens",
            (ids, special, lot.flip(1) * 0.2, fate, drawn, 4),
            "What does the argument `special` say, and where does your function ask it?",
        ),
        Case("another id for [MASK]", (ids, special, lot, fate, drawn, 103), "Which id in your function is fixed?"),
        Case(
            "nothing chosen",
            (ids, special, lot * 0 + 0.5, fate, drawn, 4),
            "Where nothing is chosen the text stays as it is. And the labels?",
        ),
    ]


def _fates(below_mask: float, below_drawn: float) -> Variant:
    """Other bounds of the two fates."""

    def masking(input_ids: Tensor, special: Tensor, lot: Tensor, fate: Tensor, drawn: Tensor, mask_id: int) -> Pair:
        moved = torch.full_like(fate, 0.95)  # stays
        moved[fate < below_drawn] = 0.85
        moved[fate < below_mask] = 0.5
        return _masking(input_ids, special, lot, moved, drawn, mask_id)

    return masking


def _swapped(input_ids: Tensor, special: Tensor, lot: Tensor, fate: Tensor, drawn: Tensor, mask_id: int) -> Pair:
    moved = torch.where(fate >= 0.9, 0.85, torch.where(fate >= 0.8, 0.95, fate))
    return _masking(input_ids, special, lot, moved, drawn, mask_id)


def _all_special(input_ids: Tensor, special: Tensor, lot: Tensor, fate: Tensor, drawn: Tensor, mask_id: int) -> Pair:
    return _masking(input_ids, torch.zeros_like(special), lot, fate, drawn, mask_id)


def _the_others(input_ids: Tensor, special: Tensor, lot: Tensor, fate: Tensor, drawn: Tensor, mask_id: int) -> Pair:
    return _masking(input_ids, special, torch.where(lot < 0.15, 1.0, 0.0), fate, drawn, mask_id)


def _labels(change: Callable[[Tensor, Tensor, Tensor], Tensor]) -> Variant:
    """Right but for the labels: ``change(input_ids, corrupted, labels)``."""

    def masking(input_ids: Tensor, special: Tensor, lot: Tensor, fate: Tensor, drawn: Tensor, mask_id: int) -> Pair:
        corrupted, labels = _masking(input_ids, special, lot, fate, drawn, mask_id)
        return corrupted, change(input_ids, corrupted, labels)

    return masking


def _filled(number: int) -> Variant:
    return _labels(lambda ids, corrupted, labels: labels.masked_fill(labels == _IGNORED, number))


_ASKED = "At which places does the model have to answer: at all, at the chosen ones, or where the text was changed?"

MASKING = Exercise(
    title="exercise 1, masking",
    name="my_masking",
    takes=("input_ids", "special", "lot", "fate", "drawn", "mask_id"),
    gives=("corrupted", "labels"),
    reference=_masking,
    cases=_cases,
    diagnoses=(
        looks_like(
            _all_special,
            "Special tokens are chosen too.",
            "What would the model have to guess at [CLS], and what at padding?",
        ),
        looks_like(
            _the_others, "You choose what should stay: 85 tokens in 100.", "Which lots are to be chosen, low or high?"
        ),
        looks_like(
            _fates(1.1, 1.1),
            "All chosen tokens of yours become [MASK].",
            "Of 100 chosen ones, 80 do. What becomes of the other 20?",
        ),
        looks_like(
            _fates(0.8, 0.8), "No token of yours is replaced by a drawn one: 80/0/20.", "Where is `drawn` used?"
        ),
        looks_like(_fates(0.8, 1.1), "No chosen token of yours stays as it was: 80/20/0.", "What holds from 0.9 to 1?"),
        looks_like(
            _swapped,
            "From 0.8 to 0.9 yours stay, from 0.9 on they are replaced.",
            "The shares are right, but the exercise wants the two the other way round.",
        ),
        looks_like(
            _labels(lambda ids, corrupted, labels: ids),
            "What the model reads is right, but the labels ask about every token.",
            _ASKED,
        ),
        looks_like(
            _labels(lambda ids, corrupted, labels: labels.masked_fill(ids == corrupted, _IGNORED)),
            "The labels leave out the chosen tokens that stay as they were.",
            _ASKED,
        ),
        looks_like(
            _labels(lambda ids, corrupted, labels: torch.where(labels == _IGNORED, labels, corrupted)),
            "The labels hold what the model reads, not what stood there.",
            "Were the labels made before the tokens were changed, and are they a tensor of their own?",
        ),
        looks_like(
            _labels(
                lambda ids, corrupted, labels: torch.where((labels != _IGNORED) & (corrupted != ids), ids, _IGNORED)
            ),
            "The labels leave out some of the chosen tokens.",
            _ASKED,
        ),
        *(
            looks_like(
                _filled(number),
                f"Where nothing is asked, your labels hold {number}.",
                "Which label does the loss leave out? And which of these numbers is also the id of a token?",
            )
            for number in (0, -1, 1)
        ),
    ),
    start="Begin with one bool tensor: which tokens are chosen?",
    onward="Why does one number decide between the three fates, and not one number for each?",
)
