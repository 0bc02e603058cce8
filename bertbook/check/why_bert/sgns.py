"""Exercise 2: the loss of skip-gram with negative sampling."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from bertbook.check.exercise import Case, Exercise, looks_like, normals

Reduce = Callable[[Tensor, Tensor], Tensor]  # losses of the pairs (B,), of the random words (B, k) → a scalar


def _per_pair(near: Tensor, far: Tensor) -> Tensor:
    return (near + far.sum(dim=1)).mean()


def _loss(
    centre: Tensor,
    context: Tensor,
    noise: Tensor,
    *,
    reduce: Reduce = _per_pair,
    wrong: float = 0.0,
    surprise: Callable[[Tensor], Tensor] = F.softplus,
) -> Tensor:
    """As a two-way decision for each pair, true or random; −ln σ(x) is softplus(−x).

    Args:
        reduce: how the losses become one.
        wrong: the label of a random word; 0 when done right.
        surprise: of a probability σ(−x), from x.
    """
    true = torch.einsum("bh,bh->b", centre, context)
    random = torch.einsum("bh,bkh->bk", centre, noise)
    return reduce(surprise(-true), surprise(-random if wrong else random))


def _variant(**changes: Any) -> Callable[..., Tensor]:
    return lambda *arguments: _loss(*arguments, **changes)


def _against_each_other(centre: Tensor, context: Tensor, noise: Tensor) -> Tensor:
    """One softmax over the true word and the random ones."""
    candidates = torch.cat([context[:, None], noise], dim=1)
    scores = torch.einsum("bh,bkh->bk", centre, candidates)
    return F.cross_entropy(scores, torch.zeros(len(scores), dtype=torch.int64))


def _cases() -> list[Case]:
    draw = normals(0)

    def case(title: str, B: int, k: int, hint: str, size: float = 1.0) -> Case:  # noqa: N803
        return Case(title, (draw(B, 6) * size, draw(B, 6), draw(B, k, 6)), hint)

    steps = "Print the shape after each step: (B,) for the true words, (B, k) for the random ones, and one number."
    return [
        case("a batch of 4 pairs with 3 random words each", 4, 3, steps),
        case("one pair", 1, 5, steps),
        case("one random word a pair", 3, 1, steps),
        case("dot products in the hundreds", 4, 3, "σ(−200) is 0 in float32. Which function knows its logarithm?", 200),
    ]


SGNS_LOSS = Exercise(
    title="exercise 2, the loss of skip-gram",
    name="my_sgns_loss",
    takes=("centre", "context", "noise"),
    gives=("loss",),
    reference=_loss,
    cases=_cases,
    diagnoses=(
        looks_like(
            _variant(wrong=1.0),
            "The random words are pulled near, too.",
            "Their dot products are to become small: what does the formula put before them?",
        ),
        looks_like(_variant(reduce=lambda near, far: near.mean()), "The random words are missing.", "Add the sum."),
        looks_like(
            _variant(reduce=lambda near, far: far.sum(dim=1).mean()), "The true words are missing.", "Add ln σ(u · v)."
        ),
        looks_like(
            _variant(reduce=lambda near, far: near.mean() + far.mean()),
            "The random words of a pair are averaged.",
            "The formula has their sum. Only over pairs it is a mean.",
        ),
        looks_like(
            _variant(reduce=lambda near, far: near.sum() + far.sum()),
            "The losses of the pairs are added up.",
            "One number for the batch: their mean.",
        ),
        looks_like(_variant(surprise=torch.sigmoid), "The logarithm is missing.", "The loss is −ln σ."),
        looks_like(lambda *a: -_loss(*a), "The sign is wrong.", "A probability below 1 has a negative logarithm."),
        looks_like(
            _against_each_other,
            "The true word competes with the random ones in one softmax.",
            "Here each pair is a question of its own, answered by one σ.",
        ),
    ),
    start="Begin with the dot product of each centre with its neighbour, (B,): multiply, then sum over H.",
    onward="At the very first step V is all zeros. What is the loss of a pair with k random words then?",
)
