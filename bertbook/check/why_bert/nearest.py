"""Exercise 1: the nearest words, by cosine."""

from collections.abc import Callable

import torch
from torch import Tensor

from bertbook.check.exercise import Case, Exercise, looks_like, normals

Likeness = Callable[[Tensor, Tensor], Tensor]  # (V, H), (H,) → (V,)


def _cosine(vectors: Tensor, of: Tensor) -> Tensor:
    return torch.cosine_similarity(vectors, of[None], dim=-1)


def _ranked(vectors: Tensor, row: int, n: int, likeness: Likeness = _cosine, *, itself: bool = False) -> Tensor:
    """By sorting all of them; ``itself`` leaves the word in."""
    order = likeness(vectors, vectors[row]).argsort(descending=True)
    return (order if itself else order[order != row])[:n]


def _by(likeness: Likeness) -> Callable[[Tensor, int, int], Tensor]:
    return lambda vectors, row, n: _ranked(vectors, row, n, likeness)


def _one_length(vectors: Tensor, of: Tensor) -> Tensor:
    """The word's vector is brought to length 1, which changes no order, and the others are not."""
    return vectors @ (of / of.norm())


def _cases() -> list[Case]:
    draw = normals(0)
    some = draw(9, 5) * torch.linspace(0.5, 3, 9)[:, None]
    twin = draw(7, 4)
    twin[1] = 2 * twin[4]
    away = draw(6, 3).abs()
    away[2] *= -1
    cosine = "Print the cosines of all rows, and sort them by hand. Which three should come first?"
    return [
        Case("9 vectors of different lengths, and n = 3", (some, 2, 3), cosine),
        Case("the last row", (some, 8, 4), "Is it left out wherever it stands?"),
        Case("all others asked for", (some, 0, 8), "There are V − 1 of them."),
        Case("another row in the same direction", (twin, 4, 2), "Leave the word out by its number, not by its cosine."),
        Case("cosines below 0", (away, 2, 5), "What do you put in the place of the word itself? Is it small enough?"),
    ]


NEAREST = Exercise(
    title="exercise 1, the nearest words",
    name="my_nearest",
    takes=("vectors", "row", "n"),
    gives=("nearest",),
    reference=_ranked,
    cases=_cases,
    diagnoses=(
        looks_like(
            lambda *a: _ranked(*a, itself=True),
            "The word itself is among its neighbours.",
            "Its cosine to itself is 1: it is always the first.",
        ),
        looks_like(
            _by(_one_length),
            "The vectors of the others keep their lengths.",
            "Which two lengths has a cosine below it?",
        ),
        looks_like(
            _by(lambda vectors, of: -(vectors - of).norm(dim=-1)),
            "The neighbours are the nearest by distance.",
            "A long vector and a short one can have a cosine of 1 and be far apart.",
        ),
        looks_like(
            _by(lambda vectors, of: -_cosine(vectors, of)),
            "These are the farthest.",
            "The larger the cosine, the nearer.",
        ),
        looks_like(
            lambda vectors, row, n: _cosine(vectors, vectors[row])[_ranked(vectors, row, n)],
            "These are the cosines, and the numbers of the rows are wanted.",
            "What comes with the values when you sort?",
        ),
        looks_like(lambda *a: _ranked(*a).flip(0), "The order is from far to near.", "Which one comes first?"),
    ),
    start="Begin with the cosines of all rows to the one: a dot product divided by two lengths.",
    onward="Frequent words tend to have longer vectors. Which neighbours would the plain dot product find?",
)
