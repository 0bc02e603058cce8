"""Exercise 1: wrong answers as readers write them, and what they are told."""

import math
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor

from bertbook import check


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    divisor: Callable[[Tensor, Tensor, Tensor], float] = lambda q, k, v: math.sqrt(q.shape[-1]),
    shares: Callable[[Tensor], Tensor] = lambda scores: torch.softmax(scores, -1),
) -> tuple[Tensor, Tensor]:
    """Attention with its two steps open for mistakes."""
    weights = shares(torch.matmul(query, key.transpose(-1, -2)) / divisor(query, key, value))
    return torch.matmul(weights, value), weights


def without_max(scores: Tensor) -> Tensor:
    return scores.exp() / scores.exp().sum(-1, keepdim=True)


def with_one_max(scores: Tensor) -> Tensor:
    return without_max(scores - scores.max())


def with_numpy(q: Tensor, k: Tensor, v: Tensor) -> Any:
    return tuple(part.numpy() for part in attend(q, k, v))


def in_two_axes(q: Tensor, k: Tensor, v: Tensor) -> Any:
    return attend(q, k.transpose(0, 1).transpose(-1, -2), v) if q.ndim == 2 else attend(q, k.transpose(0, 1), v)


def scaled_in_place(q: Tensor, k: Tensor, v: Tensor) -> Any:
    q /= math.sqrt(q.shape[-1])
    return attend(q, k, v, lambda *_: 1)


ATTENTION: dict[str, tuple[Any, str]] = {
    "no scaling": (partial(attend, divisor=lambda *_: 1), "those of attention without scaling"),
    "by d": (partial(attend, divisor=lambda q, k, v: q.shape[-1]), "divided by 8, that is by d itself"),
    "multiplied": (partial(attend, divisor=lambda q, k, v: q.shape[-1] ** -0.5), "divided by 0.3536"),
    "by √S": (
        partial(attend, divisor=lambda q, k, v: math.sqrt(q.shape[-2])),
        "divided by 2.236, which is not what d = 8",
    ),
    "by √d_v": (
        partial(attend, divisor=lambda q, k, v: math.sqrt(v.shape[-1])),
        "4 keys and values of another size: your scores are divided by 3.162",
    ),
    "by √768": (partial(attend, divisor=lambda *_: math.sqrt(768)), "divided by 27.71"),
    "by the 8 of the worked case": (
        partial(attend, divisor=lambda *_: math.sqrt(8)),
        "divided by 2.828, which is not what d = 6",
    ),
    "shares by query": (
        partial(attend, shares=lambda s: s.softmax(-2)),
        "sum to 1 along axis 0, not along each row",
    ),
    "shares by axis 1": (
        partial(attend, shares=lambda s: s.softmax(1)),
        "2 texts and 3 heads: your weights sum to 1 along axis 1",
    ),
    "shares of everything": (
        partial(attend, shares=lambda s: s.flatten(-2).softmax(-1).view_as(s)),
        "every row of weights should sum to 1; one",
    ),
    "scaled too late": (
        partial(attend, divisor=lambda *_: 1, shares=lambda s: s.softmax(-1) / math.sqrt(8)),
        "one of yours sums to 0.3536",
    ),
    "no softmax": (partial(attend, shares=lambda s: s), "weights are negative"),
    "normalised without exp": (
        partial(attend, shares=lambda s: s / s.sum(-1, keepdim=True)),
        "weights are negative",
    ),
    "no maximum subtracted": (
        partial(attend, shares=without_max),
        "With scores near +900 and −900: 96 of 96 numbers in `mixed` are NaN",
    ),
    "one maximum for all": (
        partial(attend, shares=with_one_max),
        "With scores near +900 and −900: 48 of 96 numbers in `mixed` are NaN",
    ),
    "rounded weights": (
        partial(attend, shares=lambda s: s.softmax(-1).round(decimals=3)),
        "`weights` are rounded to 3 decimals",
    ),
    "rounded result": (lambda *a: tuple(x.round(decimals=2) for x in attend(*a)), "`mixed` are rounded to 2 decimals"),
    "mixed alone": (lambda *a: attend(*a)[0], "returns `mixed` alone, which is right, but `weights` is missing"),
    "weights alone": (lambda *a: attend(*a)[1], "returns `weights` alone, which is right, but `mixed` is missing"),
    "unscaled and alone": (
        lambda q, k, v: attend(q, k, v, lambda *_: 1)[0],
        "returns a tensor of shape (5, 8); it should return 2",
    ),
    "order": (lambda *a: attend(*a)[::-1], "but not in the order `mixed`, `weights`"),
    "wrong axes": (in_two_axes, "2 texts and 3 heads: it stops in line 2 of the function with RuntimeError"),
    "all axes": (
        lambda q, k, v: attend(q, k.permute(*range(k.ndim - 1, -1, -1)).mT, v),
        "With a batch of 2 texts and 3 heads: it stops",
    ),
    "query and key swapped": (lambda q, k, v: attend(k, q, v), "queries and keys have changed places"),
    "keys mixed": (lambda q, k, v: (attend(q, k, k)[0], attend(q, k, v)[1]), "they mix the keys"),
    "queries mixed": (lambda q, k, v: (attend(q, k, q)[0], attend(q, k, v)[1]), "they mix the queries"),
    "shape from the values": (
        lambda q, k, v: tuple(x[..., : q.shape[-1]] for x in attend(q, k, v)),
        "`mixed` has shape (3, 7, 6) and should have (3, 7, 10)",
    ),
    "squeezed": (
        lambda *a: tuple(x.squeeze() for x in attend(*a)),
        "With a single token, d = 64: `mixed` has shape (3,)",
    ),
    "arrays": (with_numpy, "`mixed` is a NumPy array of shape (5, 8) and should be a tensor"),
    "double": (
        lambda *a: attend(*(x.double() for x in a)),
        "has the dtype torch.float64 and should have torch.float32",
    ),
    "in place": (scaled_in_place, "right, but it changes `query` in place"),
    "zeros": (
        lambda q, k, v: (torch.zeros(5, 8), torch.full((5, 5), 0.2)),
        "40 of 40 numbers in `mixed` are wrong; the first is `mixed[0, 0]`: it is 0 and",
    ),
}


@pytest.mark.parametrize("mistake", ATTENTION)
def test_attention_1(mistake: str, refused: Callable[..., None]) -> None:
    refused(check.attention_1, *ATTENTION[mistake])


def test_attention_1_accepts_other_roads() -> None:
    def in_double(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        mixed, weights = attend(q.double(), k.double(), v.double())
        return mixed.float(), weights.float()

    def by_hand(q: Tensor, k: Tensor, v: Tensor) -> list[Tensor]:
        scores = torch.einsum("...id,...jd->...ij", q / q.shape[-1] ** 0.25, k / q.shape[-1] ** 0.25)
        weights = without_max(scores - scores.amax(-1, keepdim=True))
        return [torch.einsum("...ij,...jd->...id", weights, v), weights]

    assert check.attention_1(attend), check.attention_1(attend)
    assert check.attention_1(in_double), check.attention_1(in_double)
    assert check.attention_1(by_hand), check.attention_1(by_hand)


def test_the_solution_agrees_with_the_worked_example(solutions: Callable[[str], ModuleType]) -> None:
    """The book's example leaves the scaling out, so the query is multiplied by √d beforehand."""
    K, Q, V = ([[0, 1, 1], [4, 4, 0], [2, 3, 1]], [[1, 0, 2], [2, 2, 2], [2, 1, 3]], [[1, 2, 3], [2, 8, 0], [2, 6, 3]])
    query, key, value = (torch.tensor(rows).double() for rows in (Q, K, V))
    mixed, weights = solutions("attention").my_attention(query * math.sqrt(3), key, value)
    assert weights[0].tolist() == pytest.approx([0.06338, 0.46831, 0.46831], abs=5e-6)
    assert mixed[0].tolist() == pytest.approx([1.93662, 6.68310, 1.59507], abs=1e-5)
