"""Exercise 3: the Transformer's positions."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from bertbook.check.exercise import Case, Exercise, looks_like


def _way(*changed: str, base: float = 10000.0, first: int = 0, step: float = 2.0) -> Callable[[int, int], Tensor]:
    """Number by number. ``step``: what i is multiplied by in the exponent."""

    def sinusoids(length: int, size: int) -> Tensor:
        half = size // 2
        table = torch.empty(length, size, dtype=torch.float64)
        for row in range(length):
            for i in range(half):
                angle = (row + first) / base ** (step * i / size)
                if "multiplied" in changed:
                    angle = (row + first) * base ** (step * i / size)
                pair = (
                    (math.cos(angle), math.sin(angle)) if "swapped" in changed else (math.sin(angle), math.cos(angle))
                )
                where = (i, half + i) if "halves" in changed else (2 * i, 2 * i + 1)
                table[row, where[0]], table[row, where[1]] = pair
        return table.float()

    return sinusoids


def _one_angle_a_dimension(length: int, size: int) -> Tensor:
    """Sine on even, cosine on odd dimensions, each at a rate of its own: pos / 10000^(dimension / size)."""
    places, dimensions = torch.arange(length).double()[:, None], torch.arange(size)
    angles = places / 10000.0 ** (dimensions / size)
    return torch.where(dimensions % 2 == 0, angles.sin(), angles.cos()).float()


def _cases() -> list[Case]:
    line_up = "Write out the first two dimensions of position 1: which angle do they share?"
    return [
        Case("7 positions, size 10", (7, 10), line_up),
        Case("one position, size 2", (1, 2), "What is the sine of 0, and what its cosine?"),
        Case(
            "600 positions, size 64",
            (600, 64),
            "Nothing ends at 512 here. Do your angles keep their digits when positions are large?",
            tolerance=1e-3,  # float32 angles of 600 are rounded to 3e-5
        ),
    ]


SINUSOIDS = Exercise(
    title="exercise 3, sines and cosines",
    name="my_sinusoids",
    takes=("length", "size"),
    gives=("positions",),
    reference=_way(),
    cases=_cases,
    diagnoses=(
        looks_like(
            _way("halves"),
            "Your sines fill the first half and your cosines the second.",
            "The first code of the Transformer did that; the formula puts the two of a rate side by side.",
        ),
        looks_like(_way("swapped"), "Sine and cosine have changed places.", "What is position 0, by the formula?"),
        looks_like(
            _way("halves", "swapped"),
            "Sine and cosine have changed places, and each fills a half.",
            "What is position 0, by the formula?",
        ),
        looks_like(
            _one_angle_a_dimension,
            "Each of your dimensions has a rate of its own.",
            "How many different rates are there in the formula, and how many dimensions?",
        ),
        looks_like(_way(step=1.0), "Your exponent is i / d; the formula has 2 i / d.", "How large does i become?"),
        looks_like(_way(step=4.0), "Your exponent is twice that of the formula.", "How large does i become?"),
        looks_like(_way("multiplied"), "You multiply by the power; the formula divides.", "Which pair turns fastest?"),
        looks_like(_way(first=1), "Your positions begin at 1.", "Where does a text begin in BERT?"),
        looks_like(_way(base=1000.0), "Your base is 1,000.", "Count the zeros in the formula."),
        looks_like(_way(base=100000.0), "Your base is 100,000.", "Count the zeros in the formula."),
        looks_like(_way(base=math.e), "Your base is e.", "exp is one way to write a power, with another exponent."),
    ),
    start="Begin with the d / 2 rates. Which shape must they have to meet the positions?",
    onward="Which two positions have the same first pair, nearly? What tells them apart?",
)
