"""Exercise 5: wrong answers as readers write them, and what they are told."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from bertbook import check


def share(counts: Tensor) -> Tensor:
    return counts / counts.sum()


def in_a_loop(counts: Tensor) -> Tensor:
    total = sum(int(count) for row in counts for count in row)
    return torch.tensor([[len(counts) * int(count) / total for count in row] for row in counts])


def in_place(counts: Tensor) -> Tensor:
    factors = len(counts) * counts / counts.sum()
    counts.zero_()
    return factors


WRONG: dict[str, tuple[Any, str]] = {
    "no mean over processes": (share, "add up to 1"),
    "one over parts": (lambda c: torch.full(c.shape, 1 / c.shape[1]), "a mean of means"),
    "one over all parts": (lambda c: torch.full(c.shape, 1 / c.numel()), "a mean of means"),
    "own labels": (lambda c: c / c.sum(1, keepdim=True), "all processes count alike"),
    "by places": (lambda c: c / c.sum(0), "the same place of different processes"),
    "parts for processes": (lambda c: c.shape[1] * share(c), "the number of parts where"),
    "both": (lambda c: c.numel() * share(c), "too large by the number of parts"),
    "mean of parts too": (lambda c: len(c) * share(c) / c.shape[1], "too small by the number of parts"),
    "twice n": (lambda c: len(c) ** 2 * share(c), "too large by the number of processes"),
    "upside down": (lambda c: c.sum() / (len(c) * c), "upside down"),
    "whole numbers": (lambda c: len(c) * c // c.sum(), "With 2 processes of 3 parts"),
    "empty parts count": (lambda c: len(c) * c.clamp(min=1) / c.clamp(min=1).sum(), "With parts without labels"),
    "in place": (in_place, "changes `counts` in place"),
    "of one process": (lambda c: share(c)[0], "shape"),
    "nothing": (lambda c: None, "nothing yet"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_is_told(name: str) -> None:
    function, told = WRONG[name]
    result = check.fast_5(function)
    assert not result.ok
    assert told in result.message, result
    assert result.hint


@pytest.mark.parametrize("right", [in_a_loop, lambda c: c * (len(c) / c.sum()), lambda c: share(c) * len(c)])
def test_other_ways_are_right(right: Callable[[Tensor], Tensor]) -> None:
    assert check.fast_5(right).ok


def test_the_factors_do_what_the_exercise_says() -> None:
    """The gradient of the mean over all labels, by parts of a linear model."""
    torch.manual_seed(0)
    counts = torch.tensor([[2, 5, 1], [4, 3, 7]])
    weight = torch.randn(4, requires_grad=True)
    rows, target = torch.randn(22, 4), torch.randn(22)

    def loss(some: slice) -> Tensor:
        return ((rows[some] @ weight - target[some]) ** 2).mean()

    (exact,) = torch.autograd.grad(loss(slice(None)), weight)
    ends = [0, *counts.flatten().cumsum(0).tolist()]
    parts = [torch.autograd.grad(loss(slice(a, b)), weight)[0] for a, b in itertools.pairwise(ends)]
    factors = in_a_loop(counts)
    assert check.fast_5(lambda c: in_a_loop(c)).ok
    of_processes = (factors.flatten()[:, None] * torch.stack(parts)).unflatten(0, counts.shape).sum(1)
    torch.testing.assert_close(of_processes.mean(0), exact)
