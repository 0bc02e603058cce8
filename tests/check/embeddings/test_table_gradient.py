"""Exercise 4: wrong answers as readers write them, and what they are told."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from bertbook import check


def zeros(gradient: Tensor, size: int) -> Tensor:
    return torch.zeros(size, gradient.shape[-1])


def assigned(ids: Tensor, gradient: Tensor, size: int) -> Tensor:
    table = zeros(gradient, size)
    table[ids.flatten()] = gradient.flatten(0, 1)
    return table


def added(ids: Tensor, gradient: Tensor, size: int) -> Tensor:
    table = zeros(gradient, size)
    table[ids.flatten()] += gradient.flatten(0, 1)
    return table


def first_kept(ids: Tensor, gradient: Tensor, size: int) -> Tensor:
    table = zeros(gradient, size)
    for i, g in reversed(list(zip(ids.flatten().tolist(), gradient.flatten(0, 1), strict=True))):
        table[i] = g
    return table


def exact(ids: Tensor, gradient: Tensor, size: int) -> Tensor:
    return zeros(gradient, size).index_add(0, ids.flatten(), gradient.flatten(0, 1))


def averaged(ids: Tensor, gradient: Tensor, size: int) -> Tensor:
    return exact(ids, gradient, size) / ids.flatten().bincount(minlength=size).clamp(min=1)[:, None]


WRONG: dict[str, tuple[Any, str]] = {
    "assigned": (assigned, "looked up twice keeps the last of its gradients"),
    "+= with an index": (added, "looked up twice keeps the last of its gradients"),
    "the first": (first_kept, "looked up twice keeps the first of its gradients"),
    "mean": (averaged, "looked up twice gets the mean of its gradients"),
    "last text": (lambda i, g, n: exact(i[-1], g[-1:], n), "of the last text alone"),
    "first text": (lambda i, g, n: exact(i[0], g[:1], n), "of the first text alone"),
    "downhill": (lambda i, g, n: -exact(i, g, n), "wrong sign"),
    "too many rows": (lambda i, g, n: exact(i, g, n + 1), "`table` has shape (12, 6) and should have (11, 6)"),
    "rows that occur": (lambda i, g, n: exact(i, g, n)[i.unique()], "`table` has shape (6, 6)"),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_embeddings_4(mistake: str, refused: Callable[..., None]) -> None:
    refused(check.embeddings_4, *WRONG[mistake])


def test_embeddings_4_accepts_other_roads() -> None:
    def by_autograd(ids: Tensor, gradient: Tensor, size: int) -> Tensor:
        table = zeros(gradient, size).requires_grad_()
        F.embedding(ids, table).backward(gradient)
        assert table.grad is not None
        return table.grad

    assert check.embeddings_4(exact), check.embeddings_4(exact)
    assert check.embeddings_4(by_autograd), check.embeddings_4(by_autograd)


def test_the_solution_is_autograd_s(solutions: Callable[[str], ModuleType]) -> None:
    torch.manual_seed(0)
    table = torch.zeros(30, 4, requires_grad=True)
    ids, gradient = torch.randint(30, (5, 20)), torch.randn(5, 20, 4)
    F.embedding(ids, table).backward(gradient)
    torch.testing.assert_close(solutions("embeddings").my_table_gradient(ids, gradient, 30), table.grad)
