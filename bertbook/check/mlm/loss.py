"""Exercise 4: the loss."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from bertbook.check.exercise import Case, Exercise, looks_like, normals

_IGNORED = -100


def _surprises(logits: Tensor, labels: Tensor) -> Tensor:
    """−ln p of each label that counts, one by one."""
    found = []
    for row, label in zip(logits.flatten(0, 1), labels.flatten().tolist(), strict=True):
        if label != _IGNORED:
            found.append(row.logsumexp(0) - row[label])
    return torch.stack(found)


def _loss(logits: Tensor, labels: Tensor) -> Tensor:
    return _surprises(logits, labels).mean()


def _over(count: Callable[[Tensor], int]) -> Callable[[Tensor, Tensor], Tensor]:
    """The sum over another number."""
    return lambda logits, labels: _surprises(logits, labels).sum() / count(labels)


def _text_by_text(logits: Tensor, labels: Tensor) -> Tensor:
    """The mean of each text's mean, of the texts that have one."""
    asked = [row for row, text in enumerate(labels) if (text != _IGNORED).any()]
    return torch.stack([_loss(logits[row : row + 1], labels[row : row + 1]) for row in asked]).mean()


def _without_zeros(logits: Tensor, labels: Tensor) -> Tensor:
    return _loss(logits, labels.masked_fill(labels == 0, _IGNORED))


def _all_asked(logits: Tensor, labels: Tensor) -> Tensor:
    """−100 taken for an id: as an index it counts from the end, or is brought to 0."""
    return _loss(logits, labels.clamp(min=0))


def _cases() -> list[Case]:
    draw = normals(1)
    labels = torch.tensor([[-100, 3, -100, 6, -100], [-100, -100, 0, -100, -100]])
    few = torch.tensor([[-100, 2, -100, -100], [-100, -100, -100, -100], [-100, 4, 1, -100]])
    return [
        Case("2 texts of 5 tokens, V = 7", (2 * draw(2, 5, 7), labels), "Over which places is the mean taken?"),
        Case(
            "a text in which nothing is asked", (draw(3, 4, 6), few), "Is it one mean, or a mean of each text's mean?"
        ),
        Case(
            "large logits",
            (200 * draw(2, 5, 7), labels),
            "exp of 89 is more than float32 can hold, and exp of −104 is 0. Which function takes both steps at once?",
        ),
    ]


_WHERE = "Divide by as many as there are answers to give."

LOSS = Exercise(
    title="exercise 4, the loss",
    name="my_loss",
    takes=("logits", "labels"),
    gives=("loss",),
    reference=_loss,
    cases=_cases,
    diagnoses=(
        looks_like(lambda logits, labels: -_loss(logits, labels), "The sign is wrong.", "What is ln of 0.1?"),
        looks_like(_over(lambda labels: 1), "Yours is the sum, not the mean.", _WHERE),
        looks_like(_over(Tensor.numel), "Your mean goes over all places, not over those that are asked.", _WHERE),
        looks_like(_over(len), "Your sum is divided by the number of texts.", _WHERE),
        looks_like(
            _text_by_text,
            "Yours is the mean of each text's own mean.",
            "A text with one answer then counts as much as a text with twenty. Over what is the mean taken?",
        ),
        looks_like(
            _without_zeros,
            "Your loss leaves out a label of 0.",
            "0 is the id of a token like any other. Which label says that nothing is asked?",
        ),
        looks_like(
            _all_asked,
            "Your loss asks at every place, and takes −100 for a token.",
            "Which places have a label that counts?",
        ),
        looks_like(
            lambda logits, labels: _loss(logits, labels) / math.log(2),
            "Your logarithm has the base 2.",
            "PyTorch's losses are natural logarithms, ln.",
        ),
        looks_like(
            lambda logits, labels: _loss(logits, labels) / math.log(10),
            "Your logarithm has the base 10.",
            "PyTorch's losses are natural logarithms, ln.",
        ),
        looks_like(
            lambda logits, labels: -(-_surprises(logits, labels)).exp().mean().log(),
            "You take the logarithm of the mean probability.",
            "Which comes first, the logarithm or the mean?",
        ),
        looks_like(
            lambda logits, labels: -(-_surprises(logits, labels)).exp().mean(),
            "Your loss is made of probabilities, without a logarithm.",
            "What does −ln p do to a guess that is confident and wrong?",
        ),
    ),
    start="Begin with a bool tensor: which labels count?",
    onward="What is the loss of a model that gives every token of V the same probability?",
)
