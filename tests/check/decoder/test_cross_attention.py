"""Exercise 4: wrong answers as readers write them, and what they are told."""

import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor

from bertbook import BertConfig, check
from bertbook.model.attention import MultiHeadAttention


def hide(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(~mask, -math.inf)


def attend(
    target: Tensor, source: Tensor, mask: Tensor, W_Q: Tensor, W_K: Tensor, W_V: Tensor,
    texts: str = "tss",
    divisor: Callable[[Tensor], float] = lambda q: math.sqrt(q.shape[-1]),
    masked: Callable[[Tensor, Tensor], Tensor] = hide,
    axes: Callable[[Tensor], Tensor] = lambda mask: mask[:, None, :],
    shares: Callable[[Tensor], Tensor] = lambda scores: scores.softmax(-1),
) -> Tensor:  # fmt: skip
    """Cross-attention with its steps open for mistakes."""
    of = {"t": target, "s": source}
    q, k, v = (torch.matmul(of[text], W) for text, W in zip(texts, (W_Q, W_K, W_V), strict=True))
    scores = torch.matmul(q, k.transpose(1, 2)) / divisor(q)
    return torch.matmul(shares(masked(scores, axes(mask))), v)


def wrong(**steps: Any) -> Callable[..., Tensor]:
    return lambda *arguments: attend(*arguments, **steps)


def without_mask(**steps: Any) -> Callable[..., Tensor]:
    return wrong(masked=lambda scores, _: scores, **steps)


def hidden_weights(target: Tensor, source: Tensor, mask: Tensor, W_Q: Tensor, W_K: Tensor, W_V: Tensor) -> Tensor:
    return attend(
        target, source, mask, W_Q, W_K, W_V, masked=lambda s, m: s, shares=lambda s: s.softmax(-1) * mask[:, None]
    )


CROSS: dict[str, tuple[Any, str]] = {
    "no mask": (without_mask(), "the padding is looked at"),
    "inverted": (wrong(axes=lambda m: ~m[:, None]), "inverted: the padding is looked at, and nothing else"),
    "inverted, additive": (
        wrong(masked=lambda s, m: s + m * -1e9),
        "inverted: the padding is looked at, and nothing else",
    ),
    "queries": (wrong(axes=lambda m: m[:, :, None]), "hides queries, not keys"),
    "queries, finite": (
        wrong(masked=lambda s, m: s.masked_fill(~m, -1e9), axes=lambda m: m[:, :, None]),
        "hides queries, not keys",
    ),
    "scores times mask": (wrong(masked=lambda s, m: s * m), "multiply the scores by the mask"),
    "added, as it stands": (wrong(masked=lambda s, m: s + m), "80 of 80 numbers in `output` are wrong"),
    "after the softmax": (hidden_weights, "after the softmax: the weights that are left no longer sum to 1"),
    "query from source": (wrong(texts="sss"), "you take your queries from `source`."),
    "keys from target": (wrong(texts="tts"), "you take your keys from `target`."),
    "values from target": (wrong(texts="tst"), "you take your values from `target`."),
    "keys and values from target": (
        wrong(texts="ttt"),
        "you take your keys from `target` and your values from `target`",
    ),
    "the other way round": (
        wrong(texts="stt"),
        "your queries from `source` and your keys from `target` and your values",
    ),
    "self-attention, no mask": (without_mask(texts="ttt"), "you take your keys from `target` and your values"),
    "no scaling": (wrong(divisor=lambda _: 1), "your scores are not scaled"),
    "by H": (wrong(divisor=lambda q: q.shape[-1]), "your scores are divided by H"),
    "by the length": (wrong(divisor=lambda q: math.sqrt(q.shape[1])), "80 of 80 numbers in `output` are wrong"),
    "by √8 for ever": (
        wrong(divisor=lambda _: math.sqrt(8)),
        "With 3 tokens of target, 7 of source: 107 of 108 numbers",
    ),
    "over the queries": (
        wrong(shares=lambda s: s.softmax(1), masked=lambda s, m: s.masked_fill(~m, -1e9)),
        "softmax runs over the queries",
    ),
    "no softmax": (wrong(shares=lambda s: s, masked=lambda s, m: s * m), "80 of 80 numbers in `output` are wrong"),
    "no matrices": (
        lambda t, s, m, *W: attend(t, s, m, *(torch.eye(len(w)) for w in W)),
        "compared as they come, without the matrices",
    ),
    "matrices transposed": (lambda t, s, m, *W: attend(t, s, m, *(w.T for w in W)), "applied the other way round"),
    "matrices swapped": (lambda t, s, m, q, k, v: attend(t, s, m, k, q, v), "`W_Q` and `W_K` have changed places"),
    "no axis for the queries": (
        wrong(axes=lambda m: m),
        "With 2 texts, source and target of 5 tokens: it stops in line 1 of the function with RuntimeError",
    ),
    "a square mask": (
        wrong(axes=lambda m: m[:, None, :] & m[:, :, None]),
        "hides queries as well as keys",
    ),
    "lengths of the mask": (
        wrong(axes=lambda m: torch.arange(m.shape[1]) < m.sum(1)[:, None, None]),
        "With hidden tokens in the middle: 18 of 24 numbers",
    ),
    "squeezed": (lambda *a: attend(*a).squeeze(1), "With a single target token, H = 64: `output` has shape (2, 64)"),
    "weights too": (lambda *a: (attend(*a), 1), "`output` is a tuple of 2"),
    "double": (lambda *a: attend(*a).double(), "has the dtype torch.float64"),
    "in place": (
        lambda t, s, m, q, k, v: attend(t, s, m, q, k, v) + 0 * t.mul_(2),
        "right, but it changes `target` in place",
    ),
}


@pytest.mark.parametrize("mistake", CROSS)
def test_decoder_4(mistake: str, refused: Callable[..., None]) -> None:
    refused(check.decoder_4, *CROSS[mistake])


def test_decoder_4_accepts_other_roads() -> None:
    def additive(scores: Tensor, mask: Tensor) -> Tensor:
        return scores + (~mask) * -1e9

    for right in (attend, wrong(masked=additive)):
        assert check.decoder_4(right), check.decoder_4(right)


def test_the_solution_is_one_head_of_the_package(solutions: Callable[[str], ModuleType]) -> None:
    torch.manual_seed(0)
    attention = MultiHeadAttention(BertConfig(hidden_size=8, num_attention_heads=1)).eval()
    torch.nn.init.eye_(attention.output.weight)
    linear = (attention.query, attention.key, attention.value)
    for module in (*linear, attention.output):
        torch.nn.init.zeros_(module.bias)
    target, source = torch.randn(2, 3, 8), torch.randn(2, 5, 8)
    mask = torch.tensor([[True] * 5, [True] * 2 + [False] * 3])
    expected, _ = attention.attend(target, *attention.keys_values(source), mask[:, None, None])
    given = solutions("decoder").my_cross_attention(target, source, mask, *(module.weight.T for module in linear))
    torch.testing.assert_close(given, expected)
