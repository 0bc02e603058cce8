"""Exercise 3: wrong answers as readers write them, and what they are told."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from bertbook import check

GELU = F.gelu


def head(
    hidden: Tensor, w: Tensor, b: Tensor, g: Tensor, c: Tensor, table: Tensor, bias: Tensor, bend: Any = GELU
) -> Tensor:
    x = bend(hidden @ w.T + b)
    return F.layer_norm(x, (x.shape[-1],), g, c, 1e-12) @ table.T + bias


WRONG: dict[str, tuple[Any, str]] = {
    "the table alone": (lambda h, w, b, g, c, t, bias: h @ t.T, "yours is the transposed table alone"),
    "table and bias": (lambda h, w, b, g, c, t, bias: h @ t.T + bias, "the transposed table with its bias"),
    "no bias": (lambda h, w, b, g, c, t, bias: head(h, w, b, g, c, t, bias * 0), "bias of the vocabulary is missing"),
    "no LayerNorm": (lambda h, w, b, g, c, t, bias: GELU(h @ w.T + b) @ t.T + bias, "the LayerNorm is missing"),
    "no GELU": (lambda *a: head(*a, bend=lambda x: x), "the GELU is missing"),
    "ReLU": (lambda *a: head(*a, bend=F.relu), "yours has a ReLU"),
    "tanh": (lambda *a: head(*a, bend=lambda x: F.gelu(x, approximate="tanh")), "yours has the GELU by tanh"),
    "LayerNorm first": (
        lambda h, w, b, g, c, t, bias: GELU(F.layer_norm(h @ w.T + b, (len(b),), g, c, 1e-12)) @ t.T + bias,
        "your LayerNorm comes before the GELU",
    ),
    "matrix the wrong way": (lambda h, w, *a: head(h, w.T, *a), "matrix of your linear layer is the wrong way round"),
    "no dense bias": (lambda h, w, b, *a: head(h, w, b * 0, *a), "bias of the linear layer is missing"),
    "no LayerNorm bias": (lambda h, w, b, g, c, *a: head(h, w, b, g, c * 0, *a), "bias of the LayerNorm is missing"),
    "plain LayerNorm": (
        lambda h, w, b, g, c, *a: head(h, w, b, torch.ones_like(g), c * 0, *a),
        "your LayerNorm has neither weight nor bias",
    ),
    "softmax": (lambda *a: head(*a).softmax(-1), "what you return are probabilities"),
    "log-softmax": (lambda *a: head(*a).log_softmax(-1), "logarithms of probabilities"),
    "table not transposed": (lambda h, w, b, g, c, t, bias: h @ t + bias, "it stops in line 1"),
    "rounded": (lambda *a: head(*a).round(decimals=3), "are rounded to 3 decimals"),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_mlm_3(mistake: str, refused: Callable[..., None]) -> None:
    refused(check.mlm_3, *WRONG[mistake])


def test_mlm_3_accepts_other_roads() -> None:
    assert check.mlm_3(head), check.mlm_3(head)
