"""Exercise 1: scaled dot-product attention."""

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from bertbook.check.compare import Finding
from bertbook.check.exercise import Case, Exercise, looks_like, normals


def _attend(query: Tensor, key: Tensor, value: Tensor, scale: float | None = None) -> tuple[Tensor, Tensor]:
    """(mixed, weights), the fused kernel's. It gives no weights away, but mixing the rows of an identity shows them."""
    identity = torch.eye(key.shape[-2], dtype=torch.float64).expand(*key.shape[:-1], -1)
    mixed, weights = (
        F.scaled_dot_product_attention(query.double(), key.double(), mixable, scale=scale).to(value.dtype)
        for mixable in (value.double(), identity)
    )
    return mixed, weights


def _cases() -> list[Case]:
    draw = normals(1)
    front = "How many axes stand before the last two is not yours to know: count axes from the end."
    steps = "Print each step, scores, weights, mixed, its shape first: which is the first that surprises you?"
    # One number of each vector makes all scores of a text large, up or down; the others decide between the keys.
    query, key = draw(2, 6, 8), draw(2, 6, 8)
    query[0, :, 0], query[1, :, 0], key[..., 0] = 50, -50, 50
    return [
        Case("one text of 5 tokens, d = 8", (draw(5, 8), draw(5, 8), draw(5, 8)), steps),
        Case("a batch of 2 texts and 3 heads", (draw(2, 3, 5, 8), draw(2, 3, 5, 8), draw(2, 3, 5, 8)), front),
        Case(
            "7 queries, 4 keys and values of another size",
            (draw(3, 7, 6), draw(3, 4, 6), draw(3, 4, 10)),
            "Queries and keys may come from two texts, and values may be longer than keys: which size is read where?",
        ),
        Case("a single token, d = 64", (draw(1, 64), draw(1, 64), draw(1, 3)), "What is the softmax of one number?"),
        Case(
            "scores near +900 and −900",
            (query, key, draw(2, 6, 8)),
            "e^900 is too large for a float, e^−900 is 0. What may you add to all scores of one row without changing "
            "its weights?",
            tolerance=2e-3,  # scores this large are themselves rounded to about 1e-4
        ),
    ]


def _weights(case: Case, given: Any) -> Tensor:
    """The weights of an answer. An answer without any, or of another shape, raises: the diagnosis does not apply."""
    query, key, _ = case.arguments
    _, weights = given
    if weights.shape != (*query.shape[:-1], key.shape[-2]):
        raise ValueError("no weights")
    return weights.detach().double()


def _wrong_scale(case: Case, given: Any) -> Finding | None:
    """Read back from the weights what the scores were divided by: log softmax(s / c) is s / c plus a number a row."""
    query, key, _ = case.arguments
    d = query.shape[-1]
    scores = torch.einsum("...sd,...td->...st", query.double(), key.double())
    scores, logs = (x - x.mean(-1, keepdim=True) for x in (scores, _weights(case, given).log()))
    divisor = float((scores**2).sum() / (scores * logs).sum())
    explained = divisor > 0 and torch.allclose(logs * divisor, scores, rtol=1e-3, atol=1e-3)
    if not explained or math.isclose(divisor, math.sqrt(d), rel_tol=1e-3):
        return None
    if math.isclose(divisor, 1, rel_tol=1e-3):
        return Finding(
            "Your numbers are those of attention without scaling.",
            "The dot product of two vectors of d numbers grows with d. The chapter measures how fast.",
        )
    if math.isclose(divisor, d, rel_tol=1e-3):
        return Finding(
            f"Your scores are divided by {d}, that is by d itself, which makes the weights too even.",
            "It is not the variance of the scores that they are divided by.",
        )
    return Finding(
        f"Your scores are divided by {divisor:.4g}, which is not what d = {d} asks for.",
        "The divisor follows from the size of the vectors that are compared: not from the number of tokens, not from "
        "the values, and never from a fixed number.",
    )


def _no_shares(case: Case, given: Any) -> Finding | None:
    """The weights of a query are shares: positive, 1 together."""
    weights = _weights(case, given)
    if (weights < 0).any():
        return Finding("Some of your weights are negative.", "Which function makes shares of scores?")

    def is_one(sums: Tensor) -> bool:
        return torch.allclose(sums, torch.ones_like(sums), atol=1e-4)

    if not weights.isfinite().all() or is_one(weights.sum(-1)):
        return None
    for axis in range(weights.ndim - 1):
        if is_one(weights.sum(axis)):
            return Finding(
                f"Your weights sum to 1 along axis {axis}, not along each row.",
                "One query, one row. Whose weights must sum to 1: those one query gives, or those one key gets?",
            )
    row = (weights.sum(-1) - 1).abs().flatten().argmax()
    return Finding(
        f"Every row of weights should sum to 1; one of yours sums to {weights.sum(-1).flatten()[row]:.4g}.",
        "Look at the order of the steps: nothing comes between the softmax and the weighted sum.",
    )


_WRONG_WAY = "A score has a query and a key. The output has one row a query: which of the two indexes the rows?"

DOT_PRODUCT = Exercise(
    title="exercise 1, scaled dot-product attention",
    name="my_attention",
    takes=("query", "key", "value"),
    gives=("mixed", "weights"),
    reference=_attend,
    cases=_cases,
    diagnoses=(
        _no_shares,
        _wrong_scale,
        looks_like(lambda q, k, v: _attend(k, q, v), "Your queries and keys have changed places.", _WRONG_WAY),
        looks_like(
            lambda q, k, v: (_attend(q, k, k)[0], _attend(q, k, v)[1]),
            "Your weights are right, but they mix the keys.",
            "Keys decide how much is taken from each token; what is taken is something else.",
        ),
        looks_like(
            lambda q, k, v: (_attend(q, k, q)[0], _attend(q, k, v)[1]),
            "Your weights are right, but they mix the queries.",
            "Queries decide how much is taken from each token; what is taken is something else.",
        ),
    ),
    start="Begin with the scores: one number for each query and key. What shape do they have together?",
    onward="What do the weights of one query look like if all keys are equal?",
)
