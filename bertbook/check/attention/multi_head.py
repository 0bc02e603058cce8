"""Exercise 3: multi-head attention."""
# ruff: noqa: N803, N806  # sizes and matrices carry their names from the papers

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from bertbook.check.exercise import Case, Diagnosis, Exercise, looks_like, normals


def _multi_head(*changed: str) -> Callable[..., Tensor]:
    """Multi-head attention; with ``changed``, one or more of its steps go wrong in one of the usual ways."""

    def attend(hidden: Tensor, W_Q: Tensor, W_K: Tensor, W_V: Tensor, W_O: Tensor, num_heads: int) -> Tensor:
        B, S, H = hidden.shape
        if "transposed matrices" in changed:
            W_Q, W_K, W_V, W_O = W_Q.mT, W_K.mT, W_V.mT, W_O.mT
        if "roles swapped" in changed:
            W_Q, W_K = W_K, W_Q
        if "no projections" in changed:
            W_Q = W_K = W_V = torch.eye(H)
        if "one head" in changed:
            num_heads = 1

        def split(W: Tensor) -> Tensor:  # (H, H) → (B, h, S, d)
            if "chopped" in changed:
                return (hidden @ W).reshape(B, num_heads, S, -1)
            if "strided" in changed:
                return torch.einsum("bsi,idk->bksd", hidden, W.unflatten(1, (-1, num_heads)))
            return torch.einsum("bsi,ikd->bksd", hidden, W.unflatten(1, (num_heads, -1)))

        scale = H**-0.5 if "scaled by H" in changed else 1.0 if "not scaled" in changed else None
        query, key, value = split(W_Q), split(W_K), split(W_V)
        if "across heads" in changed:  # attend over the second axis from the end, as ever, but that is h now
            query, key, value = query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2)
        mixed = F.scaled_dot_product_attention(query, key, value, scale=scale)
        if "across heads" in changed:
            mixed = mixed.transpose(1, 2)

        if "glued" in changed:
            joined = mixed.reshape(B, S, H)
        else:
            joined = torch.einsum("bksd->bsdk" if "interleaved" in changed else "bksd->bskd", mixed).reshape(B, S, H)
        return joined if "no output" in changed else joined @ W_O

    return attend


def _cases() -> list[Case]:
    draw = normals(3)

    def case(title: str, B: int, S: int, H: int, num_heads: int, hint: str) -> Case:
        # Of this size, queries and keys have entries near 1.4: weights neither even nor all on one token.
        matrices = [draw(H, H) * math.sqrt(2 / H) for _ in range(4)]
        return Case(title, (draw(B, S, H), *matrices, num_heads), hint)

    follow = "Follow one number: which token, which head, which entry is it, before and after each change of shape?"
    one = "One token gives itself the weight 1. An axis of size 1 must stay an axis."
    return [
        case("2 texts of 5 tokens, H = 12, 3 heads", 2, 5, 12, 3, follow),
        case("one text of 7 tokens, H = 64, 2 heads", 1, 7, 64, 2, "Which of your sizes is a fixed number?"),
        case("one head", 2, 3, 8, 1, "With one head, nothing is split: what is left of your function?"),
        case("heads of size 1", 2, 4, 6, 6, "An axis of size 1 must stay an axis."),
        case("a single token", 3, 1, 8, 2, one),
    ]


def _recognise(message: str, hint: str, *ways: tuple[str, ...]) -> list[Diagnosis]:
    """One mistake, in every way that it is made."""
    return [looks_like(_multi_head(*changed), message, hint) for changed in ways]


MULTI_HEAD = Exercise(
    title="exercise 3, multi-head attention",
    name="my_multi_head",
    takes=("hidden", "W_Q", "W_K", "W_V", "W_O", "num_heads"),
    gives=("output",),
    reference=_multi_head(),
    cases=_cases,
    diagnoses=(
        *_recognise(
            "All heads are right and side by side, but the last step is missing.",
            "So far, no number of one head has met a number of another. Which argument have you not used?",
            ("no output",),
        ),
        *_recognise(
            "Your heads attend to slices of the token vectors themselves.",
            "Each head learns what to ask for: three of the matrices come before the split.",
            ("no projections",),
            ("no projections", "no output"),
        ),
        *_recognise(
            "Your numbers are those of one head of size H.",
            "Each head has scores and a softmax of its own: where does `num_heads` come in?",
            ("one head",),
            ("one head", "no output"),
        ),
        *_recognise(
            "Your scores are scaled for vectors of size H.",
            "How many numbers does the dot product of one head add up?",
            ("scaled by H",),
        ),
        *_recognise(
            "Your heads attend without scaling.",
            "Look at exercise 1 again: what happens to the scores before the softmax?",
            ("not scaled",),
        ),
        *_recognise(
            "A change of shape has thrown tokens and heads together.",
            "A view walks through the numbers in the order they lie: token by token, and in each token head by head.",
            ("chopped", "glued"),
            ("chopped",),
            ("glued",),
        ),
        *_recognise(
            "Your heads are interleaved, not side by side.",
            "Which numbers of a token belong to head 0: the first d of them, or every h-th?",
            ("interleaved",),
            ("strided",),
            ("strided", "interleaved"),
        ),
        *_recognise(
            "Your softmax runs over the heads: the heads of one token attend to each other.",
            "Attention mixes along the second axis from the end. What stands there in your tensors?",
            ("across heads",),
        ),
        *_recognise(
            "Your matrices are applied the other way round.",
            "A row of `hidden` is a token. `nn.Linear` keeps its matrix transposed; here it is applied as it stands.",
            ("transposed matrices",),
        ),
        *_recognise(
            "Your queries and keys have changed places.",
            "A score has a query and a key. The output has one row a query: which of the two indexes the rows?",
            ("roles swapped",),
        ),
    ),
    start="Begin with the queries of all heads at once, (B, S, H). Then give the heads an axis of their own.",
    onward="How many multiplications do the scores of one head of size H take, and those of h heads of size H / h?",
)
