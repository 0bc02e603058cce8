"""Exercise 4: wrong answers as readers write them, and what they are told."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from bertbook import check


def cross_entropy(logits: Tensor, labels: Tensor, **others: Any) -> Tensor:
    return F.cross_entropy(logits.transpose(1, 2), labels, **others)


def by_softmax(logits: Tensor, labels: Tensor) -> Tensor:
    asked = labels != -100
    p = logits[asked].softmax(-1)
    return -p[torch.arange(len(p)), labels[asked]].log().mean()


def by_exp(logits: Tensor, labels: Tensor) -> Tensor:
    asked = labels != -100
    p = logits[asked].exp() / logits[asked].exp().sum(-1, keepdim=True)
    return -p[torch.arange(len(p)), labels[asked]].log().mean()


def by_text(logits: Tensor, labels: Tensor) -> Tensor:
    """A mean of each text's mean."""
    means = [F.cross_entropy(row, label) for row, label in zip(logits, labels, strict=True) if (label != -100).any()]
    return torch.stack(means).mean()


WRONG: dict[str, tuple[Any, str]] = {
    "sign": (lambda x, y: -cross_entropy(x, y), "the sign is wrong"),
    "sum": (lambda x, y: cross_entropy(x, y, reduction="sum"), "yours is the sum, not the mean"),
    "mean over all": (lambda x, y: cross_entropy(x, y, reduction="none").mean(), "goes over all places"),
    "mean over texts": (lambda x, y: cross_entropy(x, y, reduction="sum") / len(x), "divided by the number of texts"),
    "0 left out": (
        lambda x, y: cross_entropy(x, y.masked_fill(y == -100, 0), ignore_index=0),
        "your loss leaves out a label of 0",
    ),
    "padding asked": (lambda x, y: cross_entropy(x, y.clamp(min=0)), "takes −100 for a token"),
    "log2": (lambda x, y: cross_entropy(x, y) / torch.log(torch.tensor(2.0)), "has the base 2"),
    "log10": (lambda x, y: cross_entropy(x, y) / torch.log(torch.tensor(10.0)), "has the base 10"),
    "log after mean": (
        lambda x, y: -torch.exp(-cross_entropy(x, y, reduction="none")[y != -100]).mean().log(),
        "the logarithm of the mean probability",
    ),
    "no log": (
        lambda x, y: -torch.exp(-cross_entropy(x, y, reduction="none")[y != -100]).mean(),
        "without a logarithm",
    ),
    "softmax, then log": (by_softmax, "With large logits"),
    "exp / sum": (by_exp, "With large logits"),
    "text by text": (by_text, "the mean of each text's own mean"),
    "each": (lambda x, y: cross_entropy(x, y, reduction="none"), "has shape (2, 5) and should have ()"),
    "a number": (lambda x, y: cross_entropy(x, y).item(), "is a float and should be a tensor of shape ()"),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_mlm_4(mistake: str, refused: Callable[..., None]) -> None:
    refused(check.mlm_4, *WRONG[mistake])


@pytest.mark.parametrize("right", [cross_entropy, lambda x, y: F.nll_loss(x.log_softmax(-1).mT, y)])
def test_mlm_4_accepts_other_roads(right: Any) -> None:
    assert check.mlm_4(right), check.mlm_4(right)
