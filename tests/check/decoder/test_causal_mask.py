"""Exercise 1: wrong answers as readers write them, and what they are told."""

import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from bertbook import check


def ones(size: int) -> Tensor:
    return torch.ones(1, 1, size, size, dtype=torch.bool)


MASK: dict[str, tuple[Any, str]] = {
    "strict": (lambda n: ones(n).tril(-1), "no token of yours may look at itself"),
    "one ahead": (lambda n: ones(n).tril(1), "may look one token ahead"),
    "upper": (lambda n: ones(n).triu(), "look at itself and at what comes after it"),
    "inverted": (lambda n: ones(n).triu(1), "inverted"),
    "additive": (
        lambda n: torch.full((1, 1, n, n), -math.inf).triu(1),
        "numbers to be added to the scores, not True and False",
    ),
    "additive, finite": (lambda n: ones(n).triu(1) * -1e9, "numbers to be added to the scores"),
    "floats": (lambda n: torch.ones(1, 1, n, n).tril(), "holds numbers (float32), not True and False"),
    "integers": (lambda n: ones(n).tril().int(), "holds numbers (int32), not True and False"),
    "two axes": (lambda n: ones(n).tril()[0, 0], "the shape is (size, size)"),
    "three axes": (lambda n: ones(n).tril()[0], "the shape is (1, size, size)"),
    "axes behind": (lambda n: ones(n).tril()[0, 0, :, :, None, None], "the axes of size 1 come last"),
    "one row": (lambda n: ones(n)[:, :, :1], "has one row, the same for every query"),
    "nothing hidden": (ones, "hides nothing"),
    "itself alone": (lambda n: torch.eye(n, dtype=torch.bool)[None, None], "10 of 25 numbers in `mask` are wrong"),
    "from the right": (lambda n: ones(n).tril().flip(-1), "numbers in `mask` are wrong"),
    "5 for ever": (lambda n: ones(5).tril(), "With size 8: `mask` has shape (1, 1, 5, 5)"),
    "squeezed": (lambda n: ones(n).tril().squeeze()[(None, None) if n > 1 else ()], "a single token: `mask` has"),
    "nothing for one": (lambda n: ones(n).tril() & (n > 1), "With a single token: no token"),
    "lists": (lambda n: [[j <= i for j in range(n)] for i in range(n)], "`mask` is a list of 5"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MASK)
def test_decoder_1(mistake: str, refused: Callable[..., None]) -> None:
    refused(check.decoder_1, *MASK[mistake])


def test_decoder_1_accepts_a_comparison() -> None:
    def compare(size: int) -> Tensor:
        places = torch.arange(size)
        return (places[:, None] >= places).view(1, 1, size, size)

    assert check.decoder_1(compare), check.decoder_1(compare)


def test_the_solution_is_what_pytorch_calls_causal(solutions: Callable[[str], ModuleType]) -> None:
    torch.manual_seed(0)
    query, key, value = torch.randn(3, 2, 4, 6, 8)
    given = scaled_dot_product_attention(query, key, value, solutions("decoder").my_causal_mask(6))
    torch.testing.assert_close(given, scaled_dot_product_attention(query, key, value, is_causal=True))
