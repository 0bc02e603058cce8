"""Exercise 3: one encoder layer, post-norm."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from bertbook.check.exercise import Case, Exercise, looks_like, normals

Map = Callable[[Tensor], Tensor]
# How a sub-layer and a LayerNorm are put around x.
Half = Callable[[Tensor, Map, Map], Tensor]


def _post(x: Tensor, sublayer: Map, norm: Map) -> Tensor:
    return norm(sublayer(x).add(x))


def _pre(x: Tensor, sublayer: Map, norm: Map) -> Tensor:
    return sublayer(norm(x)).add(x)


def _norm_inside(x: Tensor, sublayer: Map, norm: Map) -> Tensor:
    return norm(sublayer(x)).add(x)


def _no_residual(x: Tensor, sublayer: Map, norm: Map) -> Tensor:
    return norm(sublayer(x))


def _no_norm(x: Tensor, sublayer: Map, norm: Map) -> Tensor:
    return sublayer(x).add(x)


def _layer(first: Half, second: Half, norms: tuple[int, int] = (0, 1), swapped: bool = False) -> Callable[..., Tensor]:
    """Two halves, one after the other; ``norms`` says which LayerNorm each gets, ``swapped`` which sub-layer."""

    def layer(hidden: Tensor, attention: Map, feed_forward: Map, *both: Map) -> Tensor:
        one, two = (feed_forward, attention) if swapped else (attention, feed_forward)
        return second(first(hidden, one, both[norms[0]]), two, both[norms[1]])

    return layer


def _fed_with_the_input(hidden: Tensor, attention: Map, feed_forward: Map, norm_1: Map, norm_2: Map) -> Tensor:
    return norm_2(_post(hidden, attention, norm_1).add(feed_forward(hidden)))


def _residual_of_the_input(hidden: Tensor, attention: Map, feed_forward: Map, norm_1: Map, norm_2: Map) -> Tensor:
    return norm_2(feed_forward(_post(hidden, attention, norm_1)).add(hidden))


def _unnormalised_residual(hidden: Tensor, attention: Map, feed_forward: Map, norm_1: Map, norm_2: Map) -> Tensor:
    added = attention(hidden).add(hidden)
    return norm_2(feed_forward(norm_1(added)).add(added))


def _side_by_side(hidden: Tensor, attention: Map, feed_forward: Map, norm_1: Map, norm_2: Map) -> Tensor:
    return norm_2(hidden + attention(hidden) + feed_forward(hidden))


def _cases() -> list[Case]:
    draw = normals(13)

    def functions(S: int, H: int) -> tuple[Map, Map, Map, Map]:  # noqa: N803
        mixing, values, matrix = draw(S, S).softmax(-1), draw(H, H) / H**0.5, draw(H, H) / H**0.5

        def attention(x: Tensor) -> Tensor:
            return mixing @ x @ values

        def feed_forward(x: Tensor) -> Tensor:
            return torch.tanh(x @ matrix)

        def norm() -> Map:
            weight, bias = 1 + draw(H) / 2, draw(H) / 2
            return lambda x: F.layer_norm(x, (H,), weight, bias)

        return attention, feed_forward, norm(), norm()

    steps = "Draw your layer as boxes and arrows, beside the chapter's picture: where do they part?"
    own = "Which line of your function holds for the sizes or the functions of the first input only?"
    return [
        Case("2 texts of 5 tokens, H = 8", (draw(2, 5, 8), *functions(5, 8)), steps),
        Case("other functions, one text of a single token", (draw(1, 1, 12), *functions(1, 12)), own),
    ]


_AROUND = "What goes around each of the two sub-layers, and where does it meet what went through?"
_AFTER = "In BERT's layer, what is the very last step? Which of the two orders has its name from that?"
_WHICH = "Each half of the layer has a LayerNorm with weights of its own."
_FIRST_HALF = "Give the result of the first half a name. How often does that name occur in the second?"

ENCODER_LAYER = Exercise(
    title="exercise 3, an encoder layer",
    name="my_encoder_layer",
    takes=("hidden", "attention", "feed_forward", "norm_1", "norm_2"),
    gives=("output",),
    reference=_layer(_post, _post),
    cases=_cases,
    diagnoses=(
        looks_like(
            _layer(_pre, _pre),
            "Your layer normalises before each sub-layer: that is pre-norm, and BERT is post-norm.",
            _AFTER,
        ),
        looks_like(_layer(_pre, _post), "The first half of your layer is pre-norm.", _AFTER),
        looks_like(_layer(_post, _pre), "The second half of your layer is pre-norm.", _AFTER),
        looks_like(_layer(_no_residual, _no_residual), "Both residual connections are missing.", _AROUND),
        looks_like(_layer(_no_residual, _post), "The residual connection around the attention is missing.", _AROUND),
        looks_like(_layer(_post, _no_residual), "The residual connection around `feed_forward` is missing.", _AROUND),
        *(
            looks_like(_layer(*halves), "You normalise a sub-layer's output before it is added, not the sum.", _AFTER)
            for halves in ((_norm_inside, _norm_inside), (_norm_inside, _post), (_post, _norm_inside))
        ),
        looks_like(_layer(_no_norm, _no_norm), "Your layer normalises nothing.", _AFTER),
        looks_like(_layer(_no_norm, _post), "The LayerNorm after the attention is missing.", _AFTER),
        looks_like(_layer(_post, _no_norm), "The LayerNorm after `feed_forward` is missing.", _AFTER),
        looks_like(_layer(_post, _post, norms=(0, 0)), "You use `norm_1` in both halves.", _WHICH),
        looks_like(_layer(_post, _post, norms=(1, 1)), "You use `norm_2` in both halves.", _WHICH),
        looks_like(_layer(_post, _post, norms=(1, 0)), "`norm_1` and `norm_2` have changed places.", _WHICH),
        looks_like(
            _residual_of_the_input,
            "Your second residual connection comes from the input of the whole layer.",
            _FIRST_HALF,
        ),
        looks_like(_unnormalised_residual, "Your second residual connection goes past `norm_1`.", _FIRST_HALF),
        looks_like(_fed_with_the_input, "Your `feed_forward` gets the input of the whole layer.", _FIRST_HALF),
        looks_like(
            _side_by_side,
            "Attention and `feed_forward` work side by side on the same input.",
            "The feed-forward network works on what the attention has gathered: one comes after the other.",
        ),
        looks_like(
            _layer(_post, _post, swapped=True),
            "Attention and `feed_forward` have changed places.",
            "A token first gathers from the others. What is done with what it gathered?",
        ),
    ),
    start="Begin with what the attention adds to `hidden`. What comes before the feed-forward network?",
    onward="What does the layer return if both sub-layers return zeros? And what would a pre-norm layer return?",
)
