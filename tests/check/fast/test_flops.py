"""Exercise 1: wrong answers as readers write them, and what they are told."""

from collections import defaultdict
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from bertbook import BertConfig, check
from bertbook.check.fast.flops import _MISTAKES, _cases, _count
from bertbook.model.encoder import EncoderLayer


def flops(  # every part on its own, so that a mistake can change one
    S: int, H: int, F: int,
    projections: Callable[[int, int], float] = lambda S, H: 2 * 4 * S * H * H,
    attention: Callable[[int, int], float] = lambda S, H: 2 * 2 * S * S * H,
    feed_forward: Callable[[int, int, int], float] = lambda S, H, F: 2 * 2 * S * H * F,
) -> Any:  # fmt: skip
    return projections(S, H) + attention(S, H) + feed_forward(S, H, F)


def without(**changed: Any) -> Callable[..., Any]:
    return lambda *sizes: flops(*sizes, **changed)


FLOPS: dict[str, tuple[Any, str]] = {
    "one operation": (lambda *a: flops(*a) // 2, "half of what is asked"),
    "twice": (lambda *a: 2 * flops(*a), "twice what is asked"),
    "forward and backward": (lambda *a: 3 * flops(*a), "as much as a training step takes"),
    "n − 1 additions": (
        lambda S, H, F: 4 * S * H * (2 * H - 1) + S * S * (2 * H - 1) + S * H * (2 * S - 1)
        + S * F * (2 * H - 1) + S * H * (2 * F - 1),
        "n − 1 additions for n products",
    ),
    "biases": (lambda S, H, F: flops(S, H, F) + 4 * S * H + S * F + S * H, "by the additions of the biases"),
    "no W_O": (without(projections=lambda S, H: 2 * 3 * S * H * H), "when W_O is missing."),
    "Q, K, V once": (without(projections=lambda S, H: 2 * S * H * H), "one projection is counted where there are four"),
    "no projections": (without(projections=lambda S, H: 0), "no projection is counted"),
    "scores alone": (without(attention=lambda S, H: 2 * S * S * H), "only one of attention's two products"),
    "no attention": (without(attention=lambda S, H: 0), "neither of attention's products"),
    "S for S²": (without(attention=lambda S, H: 4 * S * H), "attention grows with S, not with S²"),
    "no H in attention": (without(attention=lambda S, H: 4 * S * S), "a score counts as one product, whatever H"),
    "d of 12 heads": (without(attention=lambda S, H: 4 * S * S * (H // 12)), "one head of 12, of size 2"),
    "d of 4 heads": (without(attention=lambda S, H: 4 * S * S * (H // 4)), "one head of 4, of size 6"),
    "d = 64": (without(attention=lambda S, H: 4 * S * S * 64), "takes 64 numbers for each score"),
    "12 heads of size H": (without(attention=lambda S, H: 12 * 4 * S * S * H), "as if each of 12 heads had size H"),
    "feed-forward once": (without(feed_forward=lambda S, H, F: 2 * S * H * F), "one matrix of the feed-forward"),
    "no feed-forward": (without(feed_forward=lambda S, H, F: 0), "the feed-forward network is missing."),
    "F = 4 H": (lambda S, H, F: flops(S, H, 4 * H), "the intermediate size is taken to be 4 H"),
    "F = 3072": (lambda S, H, F: flops(S, H, 3072), "`number` is 1500000 and should be 49440"),
    "one token's": (
        lambda S, H, F: 8 * H * H + 4 * S * S * H + 4 * H * F,
        "the linear maps are counted for one token, not for S",
    ),
    "no W_O, one operation": (
        lambda S, H, F: flops(S, H, F, projections=lambda S, H: 6 * S * H * H) // 2,
        "when W_O is missing, and each multiplication with its addition counts once.",
    ),
    "no W_O, scores alone": (
        without(projections=lambda S, H: 6 * S * H * H, attention=lambda S, H: 2 * S * S * H),
        "when W_O is missing and only one of attention's two products over S × S is counted.",
    ),
    "BERT-base for ever": (
        lambda S, H, F: flops(S, 768, 3072) if S != 5 else flops(S, H, F),
        "With the sizes of BERT-large and 512 tokens: ",
    ),
    "a float": (lambda *a: float(flops(*a)), "`number` is a float and should be an int"),
    "by division": (lambda *a: 2 * flops(*a) / 2, "`number` is a float and should be an int"),
    "text": (lambda *a: f"{flops(*a):,}", "`number` is a str and should be an int"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", FLOPS)
def test_fast_1(mistake: str, refused: Callable[..., None]) -> None:
    refused(check.fast_1, *FLOPS[mistake])


def test_fast_1_accepts_other_roads() -> None:
    for right in (flops, lambda S, H, F: 4 * S * H * (2 * H + S + F), lambda *a: torch.tensor(flops(*a))):
        assert check.fast_1(right), check.fast_1(right)


def test_the_first_sizes_tell_all_mistakes_apart() -> None:
    """Else a reader would be told of one mistake who made another."""
    S, H, F = _cases()[0].arguments
    right, attention = _count(S, H, F), 4 * S * S * H
    found = defaultdict(set)
    for name, number in {"right": right, "twice": 2 * right, "three times": 3 * right}.items():
        found[number].add(name)
    for heads in range(3, H):
        if H % heads == 0:
            found[right - attention + attention // heads].add(f"one of {heads} heads")
            found[right - attention + attention * heads].add(f"{heads} heads of size H")
    for factor in (1, 2):
        for name, (_, change) in _MISTAKES.items():
            found[_count(S, H, F, change) // factor].add(f"{name} / {factor}")
    assert {number: names for number, names in found.items() if len(names) > 1} == {}


@pytest.mark.parametrize(("S", "H", "F", "heads"), [(5, 24, 50, 3), (128, 768, 3072, 12), (1, 8, 4, 2)])
def test_the_solution_counts_what_the_model_does(
    S: int, H: int, F: int, heads: int, solutions: Callable[[str], ModuleType]
) -> None:
    config = BertConfig(hidden_size=H, num_attention_heads=heads, intermediate_size=F)
    with torch.device("meta"):  # shapes alone
        layer, hidden = EncoderLayer(config).eval(), torch.zeros(1, S, H)
    with FlopCounterMode(display=False) as counter:
        layer(hidden)
    assert solutions("fast").layer_flops(S, H, F) == counter.get_total_flops()
