"""Exercise 3: the head that turns a vector into a number for each token of the vocabulary."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from bertbook.check.exercise import Case, Exercise, looks_like, normals

_EPS = 1e-12


def _gelu(x: Tensor) -> Tensor:
    return x * (1 + torch.erf(x / math.sqrt(2))) / 2


def _tanh_gelu(x: Tensor) -> Tensor:
    return x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2


def _norm(x: Tensor, weight: Tensor | float, bias: Tensor | float) -> Tensor:
    mean = x.mean(-1, keepdim=True)
    return weight * (x - mean) / ((x - mean).square().mean(-1, keepdim=True) + _EPS).sqrt() + bias


def _head(
    hidden: Tensor,
    dense_weight: Tensor,
    dense_bias: Tensor,
    norm_weight: Tensor,
    norm_bias: Tensor,
    table: Tensor,
    bias: Tensor,
    *,
    bend: Callable[[Tensor], Tensor] = _gelu,
    norm: Callable[..., Tensor] = _norm,
) -> Tensor:
    x = torch.einsum("nh,kh->nk", hidden, dense_weight) + dense_bias
    x = norm(bend(x), norm_weight, norm_bias)
    return torch.einsum("nh,vh->nv", x, table) + bias


def _with(bend: Callable[[Tensor], Tensor] = _gelu, norm: Callable[..., Tensor] = _norm) -> Callable[..., Tensor]:
    """The head with another part in the place of its own."""
    return partial(_head, bend=bend, norm=norm)


def _changed(**at: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    """The head on changed arguments."""
    names = ("hidden", "dense_weight", "dense_bias", "norm_weight", "norm_bias", "table", "bias")

    def head(*arguments: Any) -> Tensor:
        return _head(*(at.get(name, lambda x: x)(value) for name, value in zip(names, arguments, strict=True)))

    return head


def _cases() -> list[Case]:
    draw = normals(0)

    def arguments(n: int, h: int, v: int, scale: float = 1.0) -> tuple[Tensor, ...]:
        return (
            scale * draw(n, h),
            draw(h, h) / math.sqrt(h),
            0.5 * draw(h),
            1 + 0.3 * draw(h),
            0.3 * draw(h),
            draw(v, h) / math.sqrt(h),
            0.5 * draw(v),
        )

    order = "Write the shape behind each line: (N, H), (N, H), (N, H), (N, V)."
    return [
        Case("3 vectors, H = 6, V = 11", arguments(3, 6, 11), order, 1e-4),
        Case("as many tokens as numbers in a vector", arguments(4, 8, 8), "Which way round does the table go?", 1e-4),
        Case("long vectors", arguments(5, 16, 7, 100.0), "Does something overflow?", 1e-3),
        Case("a single vector", arguments(1, 6, 11), order, 1e-4),
    ]


_ZERO = torch.zeros_like
_TRANSFORM = "Between the encoder and the table stand three parts: a linear layer, a GELU and a LayerNorm."

HEAD = Exercise(
    title="exercise 3, the head",
    name="my_head",
    takes=("hidden", "dense_weight", "dense_bias", "norm_weight", "norm_bias", "table", "bias"),
    gives=("logits",),
    reference=_head,
    cases=_cases,
    diagnoses=(
        looks_like(
            lambda hidden, w, b, g, c, table, bias: hidden @ table.mT + bias,
            "Yours is the transposed table with its bias, and nothing before it.",
            _TRANSFORM,
        ),
        looks_like(
            lambda hidden, w, b, g, c, table, bias: hidden @ table.mT,
            "Yours is the transposed table alone.",
            _TRANSFORM,
        ),
        looks_like(_changed(bias=_ZERO), "The bias of the vocabulary is missing.", "It has V numbers, one a token."),
        looks_like(_with(norm=lambda x, g, b: x), "The LayerNorm is missing.", _TRANSFORM),
        looks_like(_with(bend=lambda x: x), "The GELU is missing.", _TRANSFORM),
        looks_like(_with(bend=torch.relu), "Yours has a ReLU.", "BERT has a GELU here too."),
        looks_like(_with(bend=_tanh_gelu), "Yours has the GELU by tanh.", "BERT was trained with the exact one."),
        looks_like(
            lambda hidden, w, b, g, c, table, bias: _gelu(_norm(hidden @ w.mT + b, g, c)) @ table.mT + bias,
            "Your LayerNorm comes before the GELU.",
            "In which order do the three parts stand?",
        ),
        looks_like(
            _changed(dense_weight=lambda w: w.mT),
            "The matrix of your linear layer is the wrong way round.",
            "PyTorch keeps it as (out, in), so that a layer computes x @ weight.mT + bias.",
        ),
        looks_like(_changed(dense_bias=_ZERO), "The bias of the linear layer is missing.", "A linear layer has two."),
        looks_like(_changed(norm_bias=_ZERO), "The bias of the LayerNorm is missing.", "A LayerNorm has two vectors."),
        looks_like(
            _changed(norm_weight=torch.ones_like, norm_bias=_ZERO),
            "Your LayerNorm has neither weight nor bias.",
            "Which of the arguments have you not used yet?",
        ),
        looks_like(
            lambda *arguments: _head(*arguments).softmax(-1),
            "What you return are probabilities.",
            "The loss takes the softmax itself, and can do it without overflowing. What does the exercise ask for?",
        ),
        looks_like(
            lambda *arguments: _head(*arguments).log_softmax(-1),
            "What you return are logarithms of probabilities.",
            "That is the loss's part. What does the exercise ask for?",
        ),
    ),
    start="Begin with the linear layer: (N, H) goes in, (N, H) comes out.",
    onward="The table is the one that embeds the tokens. How many numbers does that save with V = 30,522 and H = 768?",
)
