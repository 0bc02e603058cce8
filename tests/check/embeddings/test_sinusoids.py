"""Exercise 3: wrong answers as readers write them, and what they are told."""

import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor

from bertbook import check
from bertbook.model.embeddings import Sinusoids


def angles(length: int, size: int, first: int = 0, base: float = 10000, step: float = 2) -> Tensor:
    i = torch.arange(size // 2)
    return (torch.arange(length) + first)[:, None] * torch.exp(-math.log(base) * step * i / size)


def interleaved(a: Tensor) -> Tensor:
    table = torch.zeros(len(a), 2 * a.shape[1])
    table[:, 0::2], table[:, 1::2] = a.sin(), a.cos()
    return table


def every_dimension(length: int, size: int) -> Tensor:
    a = torch.arange(length)[:, None] / 10000 ** (torch.arange(size) / size)
    a[:, 0::2] = a[:, 0::2].sin()
    a[:, 1::2] = a[:, 1::2].cos()
    return a


WRONG: dict[str, tuple[Any, str]] = {
    "halves": (lambda n, d: torch.cat([angles(n, d).sin(), angles(n, d).cos()], 1), "your sines fill the first half"),
    "swapped": (
        lambda n, d: interleaved(angles(n, d)).reshape(n, -1, 2).flip(-1).reshape(n, d),
        "sine and cosine have changed places.",
    ),
    "halves, swapped": (
        lambda n, d: torch.cat([angles(n, d).cos(), angles(n, d).sin()], 1),
        "changed places, and each fills a half",
    ),
    "a rate a dimension": (every_dimension, "each of your dimensions has a rate of its own"),
    "half the exponent": (lambda n, d: interleaved(angles(n, d, step=1)), "your exponent is i / d"),
    "twice the exponent": (lambda n, d: interleaved(angles(n, d, step=4)), "your exponent is twice"),
    "multiplied": (
        lambda n, d: interleaved(torch.arange(n).double()[:, None] * 10000.0 ** (torch.arange(0, d, 2).double() / d)),
        "you multiply by the power",
    ),
    "from 1": (lambda n, d: interleaved(angles(n, d, first=1)), "your positions begin at 1"),
    "base 1000": (lambda n, d: interleaved(angles(n, d, base=1000)), "your base is 1,000."),
    "base 100000": (lambda n, d: interleaved(angles(n, d, base=1e5)), "your base is 100,000."),
    "base e": (lambda n, d: interleaved(angles(n, d, base=math.e)), "your base is e"),
    "transposed": (lambda n, d: interleaved(angles(n, d)).T, "`positions` has shape (10, 7)"),
    "capped at 512": (lambda n, d: interleaved(angles(n, d).clamp(max=511)), "600 positions, size 64: "),
    "float64": (lambda n, d: interleaved(angles(n, d)).double(), "dtype torch.float64"),
    "sines alone": (lambda n, d: angles(n, d).sin(), "`positions` has shape (7, 5)"),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_embeddings_3(mistake: str, refused: Callable[..., None]) -> None:
    refused(check.embeddings_3, *WRONG[mistake])


def test_embeddings_3_accepts_other_roads() -> None:
    assert check.embeddings_3(lambda n, d: interleaved(angles(n, d)))
    assert check.embeddings_3(lambda n, d: Sinusoids(d)(torch.arange(n)))


def test_the_solution_is_the_package_s(solutions: Callable[[str], ModuleType]) -> None:
    torch.testing.assert_close(solutions("embeddings").my_sinusoids(512, 384), Sinusoids(384)(torch.arange(512)))
