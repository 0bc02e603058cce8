"""Exercise 3: wrong answers as readers write them, and what they are told."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention as attend

from bertbook import check


def heads_first(x: Tensor, h: int) -> Tensor:
    return x.reshape(*x.shape[:2], h, x.shape[-1] // h).permute(0, 2, 1, 3)


def heads_beside(x: Tensor) -> Tensor:
    return x.permute(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1)


def multi_head(
    hidden: Tensor, W_Q: Tensor, W_K: Tensor, W_V: Tensor, W_O: Tensor, num_heads: int,
    split: Callable[[Tensor, int], Tensor] = heads_first,
    merge: Callable[[Tensor], Tensor] = heads_beside,
    divisor: Callable[[Tensor], float] = lambda q: math.sqrt(q.shape[-1]),
    shares: Callable[[Tensor], Tensor] = lambda scores: scores.softmax(-1),
) -> Tensor:  # fmt: skip
    """Multi-head attention with its steps open for mistakes."""
    q, k, v = (split(hidden @ W, num_heads) for W in (W_Q, W_K, W_V))
    return merge(shares(q @ k.mT / divisor(q)) @ v) @ W_O


def eye(W: Tensor) -> Tensor:
    return torch.eye(len(W))


def chop(x: Tensor, h: int) -> Tensor:
    return x.view(x.shape[0], h, x.shape[1], -1)


def glue(x: Tensor) -> Tensor:
    return x.reshape(x.shape[0], x.shape[2], -1)


def stride(x: Tensor, h: int) -> Tensor:
    return x.view(*x.shape[:2], -1, h).permute(0, 3, 1, 2)


def interleave(x: Tensor) -> Tensor:
    return x.permute(0, 2, 3, 1).flatten(2)


MULTI_HEAD: dict[str, tuple[Any, str]] = {
    "no W_O": (lambda x, q, k, v, o, h: multi_head(x, q, k, v, eye(o), h), "the last step is missing"),
    "no projections": (
        lambda x, q, k, v, o, h: multi_head(x, eye(q), eye(k), eye(v), o, h),
        "slices of the token vectors",
    ),
    "slices only": (
        lambda x, q, k, v, o, h: multi_head(x, eye(q), eye(k), eye(v), eye(o), h),
        "slices of the token vectors",
    ),
    "one head": (lambda x, q, k, v, o, h: multi_head(x, q, k, v, o, 1), "those of one head of size H"),
    "one head, no W_O": (lambda x, q, k, v, o, h: multi_head(x, q, k, v, eye(o), 1), "those of one head of size H"),
    "by √H": (
        lambda x, q, k, v, o, h: multi_head(x, q, k, v, o, h, divisor=lambda _: math.sqrt(x.shape[-1])),
        "scaled for vectors of size H",
    ),
    "no scaling": (partial(multi_head, divisor=lambda _: 1), "attend without scaling"),
    "views all the way": (partial(multi_head, split=chop, merge=glue), "thrown tokens and heads together"),
    "split by a view": (partial(multi_head, split=chop), "thrown tokens and heads together"),
    "joined by a view": (partial(multi_head, merge=glue), "thrown tokens and heads together"),
    "every h-th": (partial(multi_head, split=stride, merge=interleave), "interleaved"),
    "split at every h-th": (partial(multi_head, split=stride), "interleaved"),
    "joined d before h": (partial(multi_head, merge=interleave), "interleaved"),
    "across heads": (
        partial(multi_head, split=lambda x, h: x.unflatten(-1, (h, -1)), merge=lambda x: x.flatten(2)),
        "heads of one token attend to each other",
    ),
    "matrices transposed": (
        lambda x, q, k, v, o, h: multi_head(x, q.T, k.T, v.T, o.T, h),
        "applied the other way round",
    ),
    "matrices swapped": (lambda x, q, k, v, o, h: multi_head(x, k, q, v, o, h), "queries and keys have changed places"),
    "head size 4 for ever": (
        partial(multi_head, divisor=lambda _: 2),
        "one text of 7 tokens, H = 64, 2 heads: 448 of 448 numbers in `output` are wrong",
    ),
    "three heads for ever": (
        lambda x, q, k, v, o, h: multi_head(x, q, k, v, o, 3),
        "one text of 7 tokens, H = 64, 2 heads: it stops in line",
    ),
    "weights by query": (partial(multi_head, shares=lambda s: s.softmax(-2)), "numbers in `output` are wrong"),
    "heads not joined": (
        partial(multi_head, merge=lambda x: x.permute(0, 2, 1, 3) @ torch.eye(4, 12)),
        "`output` has shape (2, 5, 3, 12) and should have (2, 5, 12)",
    ),
    "tuple": (lambda *a: (multi_head(*a), None), "part of what it returns is not written"),
    "pair": (lambda *a: (multi_head(*a), 1), "`output` is a tuple of 2 and should be a tensor"),
    "rounded": (lambda *a: multi_head(*a).round(decimals=4), "`output` are rounded to 4 decimals"),
}


@pytest.mark.parametrize("mistake", MULTI_HEAD)
def test_attention_3(mistake: str, refused: Callable[..., None]) -> None:
    refused(check.attention_3, *MULTI_HEAD[mistake])


def test_attention_3_accepts_a_loop_over_heads() -> None:
    def looped(x: Tensor, q: Tensor, k: Tensor, v: Tensor, o: Tensor, h: int) -> Tensor:
        columns = torch.arange(x.shape[-1]).chunk(h)
        return torch.cat([attend(x @ q[:, c], x @ k[:, c], x @ v[:, c]) for c in columns], -1) @ o

    assert check.attention_3(multi_head), check.attention_3(multi_head)
    assert check.attention_3(looped), check.attention_3(looped)
