"""Exercise 3: the loss of next-sentence prediction."""

from collections.abc import Callable

import torch
from torch import Tensor

from bertbook.check.exercise import Case, Exercise, looks_like, normals

Loss = Callable[..., Tensor]


def _scores(vectors: Tensor, W_pool: Tensor, b_pool: Tensor, W: Tensor, b: Tensor, *, squash: bool = True) -> Tensor:  # noqa: N803
    """(B, 2), from one vector for each pair."""
    pooled = torch.einsum("bh,oh->bo", vectors, W_pool).add(b_pool)
    return torch.einsum("bh,oh->bo", pooled.tanh() if squash else pooled, W).add(b)


def _surprise(scores: Tensor, labels: Tensor) -> Tensor:
    """(B), −ln p of the right label: how far the other score is ahead, through a softplus."""
    right, wrong = scores.gather(1, labels[:, None])[:, 0], scores.gather(1, 1 - labels[:, None])[:, 0]
    return torch.nn.functional.softplus(wrong - right)


def _loss(hidden: Tensor, *rest: Tensor) -> Tensor:
    *weights, labels = rest
    return _surprise(_scores(hidden[:, 0], *weights), labels).mean()


def _variant(
    vectors: Callable[[Tensor], Tensor] = lambda hidden: hidden[:, 0],
    *,
    squash: bool = True,
    label: Callable[[Tensor], Tensor] = lambda labels: labels,
    surprise: Callable[[Tensor, Tensor], Tensor] = _surprise,
    reduce: Callable[[Tensor], Tensor] = Tensor.mean,
) -> Loss:
    """The loss with one thing done otherwise."""

    def loss(hidden: Tensor, *rest: Tensor) -> Tensor:
        *weights, labels = rest
        return reduce(surprise(_scores(vectors(hidden), *weights, squash=squash), label(labels)))

    return loss


def _twice(scores: Tensor, labels: Tensor) -> Tensor:
    return _surprise(scores.softmax(-1), labels)


def _two_questions(scores: Tensor, labels: Tensor) -> Tensor:
    wanted = torch.eye(2)[labels]
    return torch.nn.functional.softplus(scores * (1 - 2 * wanted)).mean(-1)


def _probability(scores: Tensor, labels: Tensor) -> Tensor:
    return -_surprise(scores, labels).neg().exp()


def _transposed(hidden: Tensor, *rest: Tensor) -> Tensor:
    W_pool, *others = rest  # noqa: N806
    return _loss(hidden, W_pool.T, *others)


def _cases() -> list[Case]:
    draw = normals(7)

    def case(title: str, size: int, labels: list[int], hint: str, scale: float = 1.0) -> Case:
        hidden, pool = draw(size, 6, 8), (draw(8, 8) / 2, draw(8))
        return Case(title, (hidden, *pool, scale * draw(2, 8), draw(2), torch.tensor(labels)), hint)

    steps = "Print the shape after each step: (B, H), (B, H), (B, 2), (B), and one number."
    return [
        case("a batch of 5 pairs", 5, [0, 1, 1, 0, 1], steps),
        case("pairs that all follow", 3, [0, 0, 0], "Label 0 is a class like the other: no pair may be left out."),
        case("a batch of one", 1, [1], steps),
        case("scores in the hundreds", 4, [0, 1, 0, 1], "exp(500) is infinite. Which function knows?", 200.0),
    ]


NSP_LOSS = Exercise(
    title="exercise 3, the loss of next-sentence prediction",
    name="my_nsp_loss",
    takes=("hidden", "W_pool", "b_pool", "W", "b", "labels"),
    gives=("loss",),
    reference=_loss,
    cases=_cases,
    diagnoses=(
        looks_like(
            _variant(squash=False), "The tanh of the pooler is missing.", "What stands between the linear maps?"
        ),
        looks_like(
            _variant(label=lambda labels: 1 - labels),
            "The two classes are swapped.",
            "0 is IsNext: column 0.",
        ),
        looks_like(_variant(reduce=Tensor.sum), "The losses are added up.", "One number for the batch: their mean."),
        looks_like(
            _variant(lambda hidden: hidden.mean(1)),
            "The mean of all tokens is pooled.",
            "One token speaks for all.",
        ),
        looks_like(_variant(lambda hidden: hidden[:, -1]), "The last token is pooled.", "Where does [CLS] stand?"),
        looks_like(
            _variant(surprise=_twice),
            "The softmax is taken twice.",
            "`cross_entropy` takes the scores as they are: it has a softmax of its own.",
        ),
        looks_like(
            _variant(surprise=_two_questions),
            "Each class gets a sigmoid of its own.",
            "The two probabilities must sum to 1: that is a softmax.",
        ),
        looks_like(_variant(surprise=_probability), "The logarithm is missing.", "The loss is −ln p."),
        looks_like(
            _transposed, "The pooler's matrix is not transposed.", "A matrix of `nn.Linear` is (outputs, inputs)."
        ),
        looks_like(lambda *a: -_loss(*a), "The sign is wrong.", "A probability below 1 has a negative logarithm."),
    ),
    start="Begin with the vectors of [CLS]: which part of `hidden` (B, S, H) are they?",
    onward="A fresh model gives both classes about the same score. What is its loss, and what is that number good for?",
)
