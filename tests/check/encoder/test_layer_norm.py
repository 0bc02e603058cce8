"""Exercise 1: wrong answers as readers write them, and what they are told."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from bertbook import check


def norm(x: Tensor, w: Tensor, b: Tensor, eps: float, axis: Any = -1, unbiased: bool = False) -> Tensor:
    """LayerNorm, with what it runs over open for mistakes."""
    mean, variance = x.mean(axis, True), x.var(axis, unbiased=unbiased, keepdim=True)
    return (x - mean) / torch.sqrt(variance + eps) * w + b


def plain(x: Tensor, eps: float) -> Tensor:
    return norm(x, torch.tensor(1.0), torch.tensor(0.0), eps)


def rms(x: Tensor) -> Tensor:
    return (x**2).mean(-1, True).sqrt()


def by_moments(x: Tensor, w: Tensor, b: Tensor, eps: float) -> Tensor:
    mean = x.mean(-1, True)
    return (x - mean) / torch.sqrt((x**2).mean(-1, True) - mean**2 + eps) * w + b


def in_place(x: Tensor, w: Tensor, b: Tensor, eps: float) -> Tensor:
    x -= x.mean(-1, keepdim=True)
    return norm(x, w, b, eps)


LAYER_NORM: dict[str, tuple[Any, str]] = {
    "over the texts": (lambda *a: norm(*a, axis=0), "across the texts of the batch: that is BatchNorm"),
    "over the texts, unbiased": (lambda *a: norm(*a, 0, True), "across the texts of the batch: that is BatchNorm"),
    "over the tokens": (lambda *a: norm(*a, axis=1), "across the tokens of a text"),
    "BatchNorm": (lambda *a: norm(*a, axis=(0, 1)), "across all tokens, entry by entry: that is BatchNorm"),
    "over a text": (lambda *a: norm(*a, axis=(1, 2)), "all numbers of a text together"),
    "over everything": (
        lambda x, w, b, eps: (x - x.mean()) / (x.var(unbiased=False) + eps).sqrt() * w + b,
        "all numbers of the batch together",
    ),
    "over everything, std": (lambda x, w, b, eps: (x - x.mean()) / (x.std() + eps) * w + b, "of the batch together"),
    "unbiased": (lambda *a: norm(*a, unbiased=True), "divided by H − 1, not by H"),
    "std": (
        lambda x, w, b, eps: w * (x - x.mean(-1, True)) / (x.std(-1, keepdim=True) + eps) + b,
        "divided by H − 1, not by H",
    ),
    "eps outside": (
        lambda x, w, b, eps: w * (x - x.mean(-1, True)) / (x.std(-1, keepdim=True, correction=0) + eps) + b,
        "small numbers and eps = 0.1: you add `eps` to the standard deviation",
    ),
    "no eps": (
        lambda x, w, b, eps: norm(x, w, b, 0),
        "small numbers and eps = 0.1: your numbers are those of `eps` = 0",
    ),
    "another eps": (lambda x, w, b, eps: norm(x, w, b, 1e-5), "small numbers and eps = 0.1: 96 of 96 numbers"),
    "no weight": (lambda x, w, b, eps: plain(x, eps) + b, "your `weight` does nothing"),
    "no bias": (lambda x, w, b, eps: plain(x, eps) * w, "your `bias` does nothing"),
    "neither": (lambda x, w, b, eps: plain(x, eps), "`weight` and `bias` do nothing"),
    "bias first": (lambda x, w, b, eps: (plain(x, eps) + b) * w, "added before the weight is applied"),
    "swapped": (lambda x, w, b, eps: norm(x, b, w, eps), "have changed places"),
    "RMSNorm": (lambda x, w, b, eps: x / rms(x) * w + b, "that is RMSNorm"),
    "the mean stays": (lambda x, w, b, eps: x / x.std(-1, keepdim=True, correction=0) * w + b, "that is RMSNorm"),
    "divided by the mean square": (
        lambda x, w, b, eps: (x - x.mean(-1, True)) / rms(x) * w + b,
        "root of the mean square of `x`, which is not its variance",
    ),
    "mean alone": (lambda x, w, b, eps: (x - x.mean(-1, True)) * w + b, "divide by nothing"),
    "no root": (
        lambda x, w, b, eps: (x - x.mean(-1, True)) / (x.var(-1, keepdim=True) + eps) * w + b,
        "divide by the variance itself",
    ),
    "no keepdim": (
        lambda x, w, b, eps: (x - x.mean(-1)) * w + b,
        "2 texts of 5 tokens, H = 8: it stops in line 1 of the function with RuntimeError",
    ),
    "always three axes": (lambda *a: norm(*a, axis=2), "With one token alone, H = 12: it stops in line 1"),
    "never four axes": (
        lambda x, w, b, eps: norm(x, w, b, eps, axis=min(x.ndim, 3) - 1),
        "With three axes before the last: you normalise across the tokens of a text",
    ),
    "by moments": (by_moments, "With numbers near 1000: "),
    "in place": (in_place, "right, but it changes `x` in place"),
    "rounded": (lambda *a: norm(*a).round(decimals=3), "rounded to 3 decimals"),
    "zeros": (lambda x, *_: torch.zeros_like(x), "80 of 80 numbers in `output` are wrong"),
}


@pytest.mark.parametrize("mistake", LAYER_NORM)
def test_encoder_1(mistake: str, refused: Callable[..., None]) -> None:
    refused(check.encoder_1, *LAYER_NORM[mistake])


def test_encoder_1_accepts_other_roads() -> None:
    def by_standard_deviation(x: Tensor, w: Tensor, b: Tensor, eps: float) -> Tensor:
        centred = x - x.mean(-1, keepdim=True)
        return (
            w * centred * torch.rsqrt(torch.linalg.vector_norm(centred, dim=-1, keepdim=True) ** 2 / len(w) + eps) + b
        )

    def by_pytorch(x: Tensor, w: Tensor, b: Tensor, eps: float) -> Tensor:
        module = nn.LayerNorm(len(w), eps=eps)
        module.weight, module.bias = nn.Parameter(w), nn.Parameter(b)
        return module(x)

    for right in (norm, by_standard_deviation, by_pytorch):
        assert check.encoder_1(right), check.encoder_1(right)
