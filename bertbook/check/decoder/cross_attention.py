"""Exercise 4: cross-attention."""
# ruff: noqa: N803, N806  # sizes and matrices carry their names from the papers

import math
from collections.abc import Callable
from itertools import product

import torch
import torch.nn.functional as F
from torch import Tensor

from bertbook.check.exercise import Case, Diagnosis, Exercise, looks_like, normals


def _cross(target: Tensor, source: Tensor, source_mask: Tensor, W_Q: Tensor, W_K: Tensor, W_V: Tensor) -> Tensor:
    allowed = source_mask.unsqueeze(-2)
    texts, matrices = (target, source, source), (W_Q, W_K, W_V)
    query, key, value = (text.double() @ W.double() for text, W in zip(texts, matrices, strict=True))
    return F.scaled_dot_product_attention(query, key, value, allowed).float()


def _wrong(*changed: str, texts: tuple[str, ...] = ("target", "source", "source")) -> Callable[..., Tensor]:
    """Cross-attention in which one or more steps go wrong; ``texts``: where query, key and value come from."""

    def attend(target: Tensor, source: Tensor, source_mask: Tensor, W_Q: Tensor, W_K: Tensor, W_V: Tensor) -> Tensor:
        H = target.shape[-1]
        of = {"target": target, "source": source}
        if "matrices transposed" in changed:
            W_Q, W_K, W_V = W_Q.mT, W_K.mT, W_V.mT
        if "matrices swapped" in changed:
            W_Q, W_K = W_K, W_Q
        if "no projections" in changed:
            W_Q = W_K = W_V = torch.eye(H)
        query, key, value = (of[text] @ W for text, W in zip(texts, (W_Q, W_K, W_V), strict=True))
        divisor = 1 if "not scaled" in changed else H if "scaled by H" in changed else math.sqrt(H)
        scores = torch.einsum("bth,bsh->bts", query, key) / divisor
        hidden = source_mask.logical_not()[:, None]  # (B, 1, S)
        if "inverted" in changed:
            hidden = hidden.logical_not()
        if "queries" in changed:
            hidden = hidden.mT
        if "both" in changed:
            hidden = hidden | hidden.mT
        if "multiplied scores" in changed:
            scores = scores * source_mask[:, None]
        elif "no mask" not in changed and "masked weights" not in changed:
            scores = scores.masked_fill(hidden, -1e9 if "finite" in changed else -math.inf)
        weights = scores.softmax(-2 if "over queries" in changed else -1)
        if "masked weights" in changed:
            weights = weights * source_mask[:, None]
        return torch.einsum("bts,bsh->bth", weights, value)

    return attend


def _cases() -> list[Case]:
    draw = normals(24)

    def case(title: str, T: int, H: int, mask: list[list[bool]], hint: str) -> Case:
        source_mask = torch.tensor(mask)
        # Of this size, queries and keys have entries near 1.4: weights neither even nor all on one token.
        matrices = [draw(H, H) * math.sqrt(2 / H) for _ in range(3)]
        return Case(title, (draw(len(mask), T, H), draw(*mask_shape(mask), H), source_mask, *matrices), hint)

    def mask_shape(mask: list[list[bool]]) -> tuple[int, int]:
        return len(mask), len(mask[0])

    def lengths(size: int, *of: int) -> list[list[bool]]:
        return [[place < length for place in range(size)] for length in of]

    roles = "In a row of weights, whose token looks, and at whose tokens? Name the text of each before you write it."
    sizes = "Source and target differ in length. What is the shape of your scores, and which axis is which text?"
    return [
        # Equally long, so that texts in the wrong place give wrong numbers, which can be named, and no error.
        case("2 texts, source and target of 5 tokens", 5, 8, lengths(5, 3, 4), roles),
        case("3 tokens of target, 7 of source", 3, 12, lengths(7, 7, 2, 5), sizes),
        case("a single target token, H = 64", 1, 64, lengths(4, 4, 3), "An axis of size 1 must stay an axis."),
        case("hidden tokens in the middle", 4, 6, [[True, False, True, False, True]], "Read the mask token by token."),
    ]


def _recognise(message: str, hint: str, *ways: Callable[..., Tensor]) -> list[Diagnosis]:
    """One mistake, in every way that it is made."""
    return [looks_like(way, message, hint) for way in ways]


def _wrong_texts() -> list[Diagnosis]:
    """Query, key or value from the wrong text; with the mask, or without, since it then may not fit."""
    found = []
    for texts in product(("target", "source"), repeat=3):
        wrong = [
            f"{role} from `{text}`"
            for role, text, right in zip(
                ("queries", "keys", "values"), texts, ("target", "source", "source"), strict=True
            )
            if text != right
        ]
        if wrong:
            found += _recognise(
                f"You take your {' and your '.join(wrong)}.",
                "One text is being written and asks; the other has been read and is asked. Which is which?",
                _wrong(texts=texts),
                _wrong("no mask", texts=texts),
            )
    return found


_KEYS = "A token of the source that is padding may not be looked at, by any query."

CROSS_ATTENTION = Exercise(
    title="exercise 4, cross-attention",
    name="my_cross_attention",
    takes=("target", "source", "source_mask", "W_Q", "W_K", "W_V"),
    gives=("output",),
    reference=_cross,
    cases=_cases,
    diagnoses=(
        *_recognise("Your mask does nothing: the padding is looked at.", _KEYS, _wrong("no mask")),
        *_recognise(
            "Your mask is inverted: the padding is looked at, and nothing else.",
            "True stands at a token. Which scores are to be hidden?",
            _wrong("inverted"),
            _wrong("inverted", "finite"),
        ),
        *_recognise(
            "Your mask hides queries, not keys.",
            "In scores of shape (B, T, S), which axis is the text that the mask belongs to?",
            _wrong("queries"),
            _wrong("queries", "finite"),
        ),
        *_recognise(
            "Your mask hides queries as well as keys.",
            "The mask belongs to the source. Which axis of the scores is that?",
            _wrong("both"),
            _wrong("both", "finite"),
        ),
        *_recognise(
            "You multiply the scores by the mask: padding gets the score 0, and that is no small one.",
            "Which score becomes 0 in the softmax?",
            _wrong("multiplied scores"),
        ),
        *_recognise(
            "You hide the padding after the softmax: the weights that are left no longer sum to 1.",
            "The shares of a query are to be divided among the tokens it may look at.",
            _wrong("masked weights"),
        ),
        *_wrong_texts(),
        *_recognise(
            "Your scores are not scaled.",
            "Look at the chapter on attention again: what happens to the scores before the softmax?",
            _wrong("not scaled"),
        ),
        *_recognise(
            "Your scores are divided by H.",
            "The dot product of two vectors of H numbers grows with H, but not as fast.",
            _wrong("scaled by H"),
        ),
        *_recognise(
            "Your softmax runs over the queries.",
            "Whose weights must sum to 1: those one query gives, or those one key gets?",
            _wrong("over queries"),
            _wrong("over queries", "finite"),
        ),
        *_recognise(
            "Your matrices are applied the other way round.",
            "A row of `target` or `source` is a token. `nn.Linear` keeps its matrix transposed; the exercise does not.",
            _wrong("matrices transposed"),
        ),
        *_recognise(
            "`W_Q` and `W_K` have changed places.",
            "Each matrix has its name from what it makes.",
            _wrong("matrices swapped"),
        ),
        *_recognise(
            "Your vectors are compared as they come, without the matrices.",
            "Which arguments have you not used yet?",
            _wrong("no projections"),
        ),
    ),
    start="Begin with the queries, keys and values. From which of the two texts does each come?",
    onward="While a text is written, token by token, which of the three products would be the same at every step?",
)
