"""Several masks filled together: the chain rule, one mask after the other, over a beam of the best so far.

A masked language model gives each mask a distribution of its own, blind to what stands in the others. Multiplied, these
are the probability of nothing: "the [MASK] [MASK]" may want *United States* or *Soviet Union*, and takes *United
Union*. So one mask is filled, the model is asked again, and so on:

    p(x₁, …, x_k) = p(x₁ | text) · p(x₂ | text, x₁) · … · p(x_k | text, x₁, …, x_(k−1))

over all x₁, …, x_k that sums to 1. Each order of the masks gives a distribution, and they differ: nothing in its
training makes the model agree with itself (Wang and Cho 2019; Ghazvininejad et al. 2019 fill the surest first).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from jaxtyping import Bool
from torch import Tensor

from bertbook.tasks.asking import Guess, MaskedModel, Question

Order = Literal["left to right", "surest first"]
ORDERS = ("left to right", "surest first")
BEAMS = 16


@dataclass(frozen=True)
class Path:
    """Some masks filled: ``steps`` are (place, id, ln p), in the order of filling. ``open`` asks about the others."""

    open: Question
    steps: tuple[tuple[int, int, float], ...] = ()

    @property
    def log_p(self) -> float:
        """ln of the product."""
        return sum(log_p for _, _, log_p in self.steps)

    def further(self, place: int, guesses: Sequence[Guess]) -> list["Path"]:
        """One path for each guess at this place."""
        return [Path(self.open.filled(place, i), (*self.steps, (place, i, log_p))) for i, log_p in guesses]


def fill_together(
    model: MaskedModel,
    questions: Sequence[Question],
    allowed: Sequence[Sequence[Bool[Tensor, " V"]]],
    beams: int,
    order: Order = "left to right",
) -> list[list[Path]]:
    """For each question the ``beams`` best ways found to fill all its places, the most probable first.

    Args:
        allowed: for each question, which tokens may stand at each of its places.
        order: which of the open masks is filled next: the first, or the one whose best token is the most probable,
            given what has been filled so far.
    """
    places = [dict(zip(question.places, may, strict=True)) for question, may in zip(questions, allowed, strict=True)]
    paths = [[Path(question)] for question in questions]
    while any(path.open.places for group in paths for path in group):
        asked = [(number, path) for number, group in enumerate(paths) for path in group if path.open.places]
        seen = [path.open.places if order == "surest first" else path.open.places[:1] for _, path in asked]
        guesses = model.best(
            [Question(path.open.ids, path.open.segments, where) for (_, path), where in zip(asked, seen, strict=True)],
            [[places[number][place] for place in where] for (number, _), where in zip(asked, seen, strict=True)],
            beams,
        )
        grown: dict[int, list[Path]] = {}
        for (number, path), where, found in zip(asked, seen, guesses, strict=True):
            which = max(range(len(where)), key=lambda i: found[i][0][1])
            grown.setdefault(number, []).extend(path.further(where[which], found[which]))
        for number, group in grown.items():
            paths[number] = sorted(group, key=lambda path: path.log_p, reverse=True)[:beams]
    return paths
