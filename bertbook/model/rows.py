"""Attention within rows that lie end to end, on the CPU: the formula row by row, and its derivative by hand.

To PyTorch it is one operator, so ``torch.compile`` passes over it whatever the lengths are. The weights are not kept
for the backward pass. They are computed again there, a few rows at a time, and never leave the cache.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

# How many weights are made at a time: 2^18 of them, 1 MB in float32, stay in a core's second cache.
AT_A_TIME = 2**18


def attend_rows(query: Tensor, key: Tensor, value: Tensor, lengths: Tensor, dropout: float = 0.0) -> Tensor:
    """softmax(Q Kᵀ / √d) V within each row.

    Args:
        query, key, value: (N, h, d), row after row.
        lengths: (R,), on the CPU: how many tokens each row has, N in all. Rows of equal length that stand together
            are computed together.
        dropout: share of the weights set to zero; the others grow to make up for it.

    Returns:
        (N, h, d).
    """
    # What is kept of the dropout is its seed: it must fall alike in the backward pass.
    seed = torch.randint(2**62, ()) if dropout else torch.zeros((), dtype=torch.int64)
    return _attend(query, key, value, lengths, dropout, seed)


def attend_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    lengths: Tensor,
    dropout: float,
    seed: Tensor,
) -> Tensor:
    """The formula, a few rows at a time."""
    mixed = torch.empty_like(value, memory_format=torch.contiguous_format)
    draw = _dropping(dropout, seed)
    for rows in _blocks(lengths, query.shape[1]):
        q, k, v = rows(query), rows(key), rows(value)  # (b, h, n, d)
        weights = draw(_weights(q, k))[1]
        rows(mixed).copy_(weights @ v)
    return mixed


def attend_backward(
    gradient: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mixed: Tensor,
    lengths: Tensor,
    dropout: float,
    seed: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """From the gradient of the result to those of queries, keys and values (Dao et al. 2022, appendix B)."""
    for_query, for_key, for_value = (
        torch.empty_like(x, memory_format=torch.contiguous_format) for x in (query, key, value)
    )
    draw = _dropping(dropout, seed)
    for rows in _blocks(lengths, query.shape[1]):
        q, k, v, g = rows(query), rows(key), rows(value), rows(gradient)
        weights = _weights(q, k)
        keep, kept = draw(weights)
        rows(for_value).copy_(kept.mT @ g)
        through = g @ v.mT  # (b, h, n, n), the gradient of the weights after dropout
        if keep is not None:
            through *= keep
        # The softmax: what all weights of a row gain together is taken off each.
        through -= (g * rows(mixed)).sum(-1, keepdim=True)
        through *= weights
        through *= 1 / math.sqrt(q.shape[-1])
        rows(for_query).copy_(through @ k)
        rows(for_key).copy_(through.mT @ q)
    return for_query, for_key, for_value


def _blocks(lengths: Tensor, heads: int) -> Iterator[Callable[[Tensor], Tensor]]:
    """For every few rows of equal length: how to cut them out of (N, h, d), as a view (b, h, n, d)."""
    start, sizes = 0, lengths.tolist()
    at = 0
    while at < len(sizes):
        n, b = sizes[at], 1
        most = AT_A_TIME // (heads * n * n)
        while b < most and at + b < len(sizes) and sizes[at + b] == n:
            b += 1

        def rows(x: Tensor, begin: int = start, end: int = start + b * n, shape: tuple[int, int] = (b, n)) -> Tensor:
            return x[begin:end].unflatten(0, shape).transpose(1, 2)

        yield rows
        start += b * n
        at += b


def _weights(q: Tensor, k: Tensor) -> Tensor:
    return ((q * (1 / math.sqrt(q.shape[-1]))) @ k.mT).softmax(-1)


def _dropping(dropout: float, seed: Tensor) -> Callable[[Tensor], tuple[Tensor | None, Tensor]]:
    """weights → what each is multiplied by, and the weights after dropout; the same draws for the same seed."""
    generator = torch.Generator().manual_seed(int(seed))

    def draw(weights: Tensor) -> tuple[Tensor | None, Tensor]:
        if not dropout:
            return None, weights
        keep = torch.rand(weights.shape, generator=generator).ge_(dropout).mul_(1 / (1 - dropout)).to(weights.dtype)
        return keep, weights * keep

    return draw


_attend = torch.library.custom_op("bertbook::attend_rows", attend_forward, mutates_args=())
_attend_backward = torch.library.custom_op("bertbook::attend_rows_backward", attend_backward, mutates_args=())


@_attend.register_fake
def _(query: Tensor, key: Tensor, value: Tensor, lengths: Tensor, dropout: float, seed: Tensor) -> Tensor:
    return torch.empty_like(value, memory_format=torch.contiguous_format)


@_attend_backward.register_fake
def _(
    gradient: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mixed: Tensor,
    lengths: Tensor,
    dropout: float,
    seed: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    query, key, value = (torch.empty_like(x, memory_format=torch.contiguous_format) for x in (query, key, value))
    return query, key, value


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    query, key, value, lengths, ctx.dropout, seed = inputs
    ctx.save_for_backward(query, key, value, output, lengths, seed)


def _backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    query, key, value, mixed, lengths, seed = ctx.saved_tensors
    gradients = _attend_backward(gradient, query, key, value, mixed, lengths, ctx.dropout, seed)
    return *gradients, None, None, None


_attend.register_autograd(_backward, setup_context=_keep)
