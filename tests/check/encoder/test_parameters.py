"""Exercise 2: wrong answers as readers write them, and what they are told."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
import torch

from bertbook import Bert, BertConfig, check


def count(  # every part on its own, so that a mistake can change one
    V: int, H: int, L: int, F: int, P: int, T: int,
    tables: Callable[..., int] = lambda V, H, P, T: V * H + P * H + T * H,
    norm: Callable[[int], int] = lambda H: 2 * H,
    norms: tuple[int, int] = (1, 2),
    attention: Callable[[int], int] = lambda H: 4 * H * H + 4 * H,
    feed_forward: Callable[[int, int], int] = lambda H, F: 2 * H * F + F + H,
    pooler: Callable[[int], int] = lambda H: H * H + H,
) -> int:  # fmt: skip
    once, in_layer = norms
    layer = attention(H) + feed_forward(H, F) + in_layer * norm(H)
    return tables(V, H, P, T) + once * norm(H) + L * layer + pooler(H)


def without(**changed: Any) -> Callable[..., int]:
    return lambda *sizes: count(*sizes, **changed)


def more(extra: Callable[..., int]) -> Callable[..., int]:
    return lambda *sizes: count(*sizes) + extra(*sizes)


def masked_head(V: int, H: int, *_: int) -> int:
    return H * H + H + 2 * H + V


no_biases = {
    "attention": lambda H: 4 * H * H,
    "feed_forward": lambda H, F: 2 * H * F,
    "pooler": lambda H: H * H,
}

COUNTS: dict[str, tuple[Any, str]] = {
    "no biases": (without(**no_biases), "470 too small. So many are in the bias of every linear map."),
    "matrices only": (without(**no_biases, norm=lambda H: H), "every bias, of linear maps and of LayerNorms"),
    "no LayerNorm": (without(norms=(0, 0)), "280 too small. So many are in every LayerNorm."),
    "no LayerNorm in the embeddings": (without(norms=(0, 2)), "in the LayerNorm of the embeddings."),
    "no LayerNorm in the layers": (
        without(norms=(1, 0)),
        "in both LayerNorms of every layer, and as many in the four biases of every attention.",
    ),
    "no biases in the attention": (
        without(attention=lambda H: 4 * H * H),
        "in both LayerNorms of every layer, and as many in the four biases of every attention.",
    ),
    "one LayerNorm a layer": (without(norms=(1, 1)), "in one of the two LayerNorms of every layer."),
    "LayerNorm without bias": (without(norm=lambda H: H), "in the bias of every LayerNorm."),
    "no pooler": (without(pooler=lambda H: 0), "420 too small. So many are in the pooler."),
    "pooler without bias": (without(pooler=lambda H: H * H), "in the pooler's bias."),
    "no segments": (without(tables=lambda V, H, P, T: (V + P) * H), "in the table of segments."),
    "no positions": (without(tables=lambda V, H, P, T: (V + T) * H), "in the table of positions."),
    "words alone": (
        without(tables=lambda V, H, P, T: V * H),
        "in the table of positions and the table of segments together.",
    ),
    "Q, K, V once": (
        without(attention=lambda H: 2 * (H * H + H)),
        "in two of the four matrices of every attention, with their biases.",
    ),
    "Q, K, V once, biases apart": (
        without(attention=lambda H: 2 * H * H + 4 * H),
        "in two of the four matrices of every attention.",
    ),
    "no W_O": (without(attention=lambda H: 3 * (H * H + H)), "in W_O of every layer, with its bias."),
    "feed-forward once": (
        without(feed_forward=lambda H, F: H * F + F),
        "one matrix of every feed-forward network, with",
    ),
    "feed-forward once, both biases": (
        without(feed_forward=lambda H, F: H * F + F + H),
        "in one matrix of every feed-forward network.",
    ),
    "feed-forward of matrices": (
        without(feed_forward=lambda H, F: 2 * H * F),
        "in the two biases of every feed-forward network.",
    ),
    "no biases, no pooler": (
        without(**{**no_biases, "pooler": lambda H: 0}),
        "in the bias of every linear map and the pooler's matrix together.",
    ),
    "one layer": (lambda V, H, L, *rest: count(V, H, 1, *rest), "in 2 of the 3 layers."),
    "Q, K, V for each head": (
        without(attention=lambda H: 4 * 3 * (H * H + H) + H * H + H),
        "too large, as if each head had matrices of size H × H",
    ),
    "a whole attention for each head": (
        without(attention=lambda H: 10 * 4 * (H * H + H)),
        "too large, as if each head had matrices of size H × H",
    ),
    "head for masked words": (
        more(masked_head),
        "960 too large, as much as a head for masked language modelling holds",
    ),
    "head for masked words, not tied": (
        more(lambda V, H, *_: masked_head(V, H) + V * H),
        "as much as a head for masked language modelling holds",
    ),
    "head for next sentence": (more(lambda V, H, *_: 2 * H + 2), "a head for next sentence prediction"),
    "both": (more(lambda V, H, *_: masked_head(V, H) + 2 * H + 2), "both heads of the pretraining"),
    "words twice": (more(lambda V, H, *_: V * H), "a second table of word vectors"),
    "a LayerNorm for each table": (without(norms=(3, 2)), "as much as two more LayerNorms hold"),
    "a pooler in every layer": (more(lambda V, H, L, *_: (L - 1) * (H * H + H)), "a pooler in every layer"),
    "a layer too many": (lambda V, H, L, *rest: count(V, H, L + 1, *rest), "as much as one more layer holds"),
    "two segments for ever": (
        lambda V, H, L, F, P, T: count(V, H, L, F, P, 2),
        "60 too small. So many are in 3 of the 5 segments.",
    ),
    "F = 4 H": (
        lambda V, H, L, F, P, T: count(V, H, L, 4 * H, P, T),
        "3,690 too large, as if the intermediate size were 4 H",
    ),
    "the paper's number": (lambda *_: 110_000_000, "`number` is 110000000 and should be 22850"),
    "base for ever": (
        lambda *a: count(*a) if a[0] == 500 else 109_482_240,
        "With the sizes of BERT-large: `number` is 109482240",
    ),
    "a float": (lambda *a: float(count(*a)), "`number` is a float and should be an int"),
    "text": (lambda *a: f"{count(*a):,}", "`number` is a str and should be an int"),
}


@pytest.mark.parametrize("mistake", COUNTS)
def test_encoder_2(mistake: str, refused: Callable[..., None]) -> None:
    refused(check.encoder_2, *COUNTS[mistake])


def test_encoder_2_accepts_other_roads() -> None:
    assert check.encoder_2(count), check.encoder_2(count)
    assert check.encoder_2(lambda *sizes: torch.tensor(count(*sizes)))


@pytest.mark.parametrize(
    "config",
    [
        BertConfig.preset("tiny"),
        BertConfig(50, 12, 3, 4, 40, max_position_embeddings=9, type_vocab_size=1),
        BertConfig(),
    ],
)
def test_the_solution_counts_what_the_model_has(config: BertConfig, solutions: Callable[[str], ModuleType]) -> None:
    with torch.device("meta"):  # shapes alone
        parameters = Bert(config).parameters()
    number = solutions("encoder").count_parameters(
        config.vocab_size,
        config.hidden_size,
        config.num_hidden_layers,
        config.intermediate_size,
        config.max_position_embeddings,
        config.type_vocab_size,
    )
    assert number == sum(tensor.numel() for tensor in parameters)


@pytest.mark.parametrize(
    ("sizes", "published"),
    [
        ((30522, 768, 12, 3072, 512, 2), 109_482_240),
        ((30522, 1024, 24, 4096, 512, 2), 335_141_888),
        ((21128, 768, 12, 3072, 512, 2), 102_267_648),
    ],
)
def test_the_published_sizes(sizes: tuple[int, ...], published: int, solutions: Callable[[str], ModuleType]) -> None:
    assert solutions("encoder").count_parameters(*sizes) == published
