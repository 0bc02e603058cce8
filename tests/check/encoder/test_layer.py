"""Exercise 3: wrong answers as readers write them, and what they are told."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from bertbook import BertConfig, check
from bertbook.model.encoder import EncoderLayer


def with_first(second: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A right first half; ``second`` gets its result, the input of the layer and the functions."""

    def layer(hidden: Tensor, att: Any, ff: Any, n1: Any, n2: Any) -> Tensor:
        return second(n1(hidden + att(hidden)), hidden, ff, n1, n2)

    return layer


def with_second(first: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A right second half, after ``first``."""

    def layer(hidden: Tensor, att: Any, ff: Any, n1: Any, n2: Any) -> Tensor:
        x = first(hidden, att, ff, n1, n2)
        return n2(x + ff(x))

    return layer


def pre_norm(hidden: Tensor, att: Any, ff: Any, n1: Any, n2: Any) -> Tensor:
    x = hidden + att(n1(hidden))
    return x + ff(n2(x))


def past_the_norm(hidden: Tensor, att: Any, ff: Any, n1: Any, n2: Any) -> Tensor:
    x = hidden + att(hidden)
    return n2(x + ff(n1(x)))


def in_place(hidden: Tensor, att: Any, ff: Any, n1: Any, n2: Any) -> Tensor:
    hidden += att(hidden)
    x = n1(hidden)
    return n2(x + ff(x))


LAYER: dict[str, tuple[Any, str]] = {
    "pre-norm": (pre_norm, "that is pre-norm, and BERT is post-norm"),
    "pre-norm first": (with_second(lambda x, att, ff, n1, n2: x + att(n1(x))), "first half of your layer is pre-norm"),
    "pre-norm second": (with_first(lambda x, _, ff, n1, n2: x + ff(n2(x))), "second half of your layer is pre-norm"),
    "no residual": (lambda x, att, ff, n1, n2: n2(ff(n1(att(x)))), "both residual connections are missing"),
    "no residual at the attention": (
        with_second(lambda x, att, ff, n1, n2: n1(att(x))),
        "residual connection around the attention is missing",
    ),
    "no residual at the feed-forward network": (
        with_first(lambda x, _, ff, n1, n2: n2(ff(x))),
        "residual connection around `feed_forward` is missing",
    ),
    "normalised, then added": (
        lambda x, att, ff, n1, n2: x + n1(att(x)) + n2(ff(x + n1(att(x)))),
        "normalise a sub-layer's output before it is added",
    ),
    "normalised, then added, first": (with_second(lambda x, att, ff, n1, n2: x + n1(att(x))), "before it is added"),
    "normalised, then added, second": (with_first(lambda x, _, ff, n1, n2: x + n2(ff(x))), "before it is added"),
    "no norm": (lambda x, att, ff, n1, n2: x + att(x) + ff(x + att(x)), "normalises nothing"),
    "no first norm": (with_second(lambda x, att, ff, n1, n2: x + att(x)), "LayerNorm after the attention is missing"),
    "no second norm": (with_first(lambda x, _, ff, n1, n2: x + ff(x)), "LayerNorm after `feed_forward` is missing"),
    "norm_1 twice": (with_first(lambda x, _, ff, n1, n2: n1(x + ff(x))), "use `norm_1` in both halves"),
    "norm_2 twice": (with_second(lambda x, att, ff, n1, n2: n2(x + att(x))), "use `norm_2` in both halves"),
    "norms swapped": (
        lambda x, att, ff, n1, n2: with_second(lambda *a: n2(x + att(x)))(x, att, ff, n2, n1),
        "`norm_1` and `norm_2` have changed places",
    ),
    "residual of the input": (
        with_first(lambda x, hidden, ff, n1, n2: n2(hidden + ff(x))),
        "second residual connection comes from the input of the whole layer",
    ),
    "residual past the norm": (past_the_norm, "goes past `norm_1`"),
    "feed-forward of the input": (
        with_first(lambda x, hidden, ff, n1, n2: n2(x + ff(hidden))),
        "`feed_forward` gets the input of the whole layer",
    ),
    "side by side": (lambda x, att, ff, n1, n2: n2(x + att(x) + ff(x)), "side by side on the same input"),
    "feed-forward first": (
        lambda x, att, ff, n1, n2: n2(n1(x + ff(x)) + att(n1(x + ff(x)))),
        "attention and `feed_forward` have changed places",
    ),
    "first half alone": (with_first(lambda x, *_: x), "80 of 80 numbers in `output` are wrong"),
    "a norm of its own": (
        with_first(lambda x, _, ff, n1, n2: F.layer_norm(x + ff(x), x.shape[-1:])),
        "80 of 80 numbers in `output` are wrong",
    ),
    "functions of the first input": (
        lambda x, att, ff, n1, n2: with_first(lambda y, _, ff, n1, n2: n2(y + ff(y)) + (len(x) == 1))(
            x, att, ff, n1, n2
        ),
        "With other functions, one text of a single token: 12 of 12 numbers",
    ),
    "in place": (in_place, "right, but it changes `hidden` in place"),
    "pair": (lambda *a: (pre_norm(*a), 1), "`output` is a tuple of 2"),
}


@pytest.mark.parametrize("mistake", LAYER)
def test_encoder_3(mistake: str, refused: Callable[..., None]) -> None:
    refused(check.encoder_3, *LAYER[mistake])


def test_encoder_3_accepts_steps_one_by_one() -> None:
    def one_by_one(hidden: Tensor, att: Any, ff: Any, n1: Any, n2: Any) -> Tensor:
        x = hidden.clone()
        for sublayer, norm in ((att, n1), (ff, n2)):
            x += sublayer(x)
            x = norm(x)
        return x

    assert check.encoder_3(one_by_one), check.encoder_3(one_by_one)


def test_the_solution_is_the_layer_of_the_package(solutions: Callable[[str], ModuleType]) -> None:
    torch.manual_seed(0)
    layer = EncoderLayer(BertConfig.preset("tiny")).eval()
    for norm in (layer.attention_norm, layer.feed_forward_norm):
        torch.nn.init.normal_(norm.weight)
    hidden = torch.randn(2, 5, 128)
    given = solutions("encoder").my_encoder_layer(
        hidden, lambda x: layer.attention(x)[0], layer.feed_forward, layer.attention_norm, layer.feed_forward_norm
    )
    torch.testing.assert_close(given, layer(hidden)[0])
