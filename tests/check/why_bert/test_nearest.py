"""Exercise 1: wrong answers as readers write them, and what they are told."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from bertbook import check


def unit(vectors: Tensor) -> Tensor:
    return F.normalize(vectors, dim=1)


def drop_cosine_one(vectors: Tensor, row: int, n: int) -> Tensor:
    alike = unit(vectors) @ unit(vectors)[row]
    return torch.where(alike > 0.9999, -2.0, alike).topk(n).indices


def zero_for_itself(vectors: Tensor, row: int, n: int) -> Tensor:
    alike = unit(vectors) @ unit(vectors)[row]
    alike[row] = 0
    return alike.topk(n).indices


def all_but(vectors: Tensor, row: int, scores: Tensor) -> Tensor:
    scores[row] = -torch.inf
    return scores


def one_length(vectors: Tensor, row: int, n: int) -> Tensor:
    return all_but(vectors, row, vectors @ vectors[row] / vectors[row].norm()).topk(n).indices


def right(vectors: Tensor, row: int, n: int) -> Tensor:
    return all_but(vectors, row, unit(vectors) @ unit(vectors)[row]).topk(n).indices


WRONG: dict[str, tuple[Any, str]] = {
    "itself": (lambda v, row, n: (unit(v) @ unit(v)[row]).topk(n).indices, "the word itself is among its neighbours"),
    "the dot product": (
        lambda v, row, n: all_but(v, row, v @ v[row]).topk(n).indices,
        "the vectors of the others keep their lengths",
    ),
    "one length": (one_length, "the vectors of the others keep their lengths"),
    "the distance": (
        lambda v, row, n: all_but(v, row, -torch.cdist(v, v)[row]).topk(n).indices,
        "the neighbours are the nearest by distance",
    ),
    "the farthest": (
        lambda v, row, n: (unit(v) @ unit(v)[row]).topk(n, largest=False).indices,
        "these are the farthest",
    ),
    "the cosines": (
        lambda v, row, n: all_but(v, row, unit(v) @ unit(v)[row]).topk(n).values,
        "these are the cosines, and the numbers of the rows are wanted",
    ),
    "reversed": (lambda *a: right(*a).flip(0), "the order is from far to near"),
    "by the cosine": (drop_cosine_one, "With another row in the same direction"),
    "zero for itself": (zero_for_itself, "With all others asked for"),
    "a list": (lambda *a: right(*a).tolist(), "`nearest` is a list of 3 and should be a tensor of shape (3,)"),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_why_bert_1(mistake: str, refused: Callable[..., None]) -> None:
    refused(check.why_bert_1, *WRONG[mistake])


def test_another_road_is_right() -> None:
    assert check.why_bert_1(right)
