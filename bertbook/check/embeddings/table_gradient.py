"""Exercise 4: the gradient that a table gets from its lookups."""

from collections.abc import Callable

import torch
from torch import Tensor

from bertbook.check.exercise import Case, Exercise, looks_like, normals


def _exact(ids: Tensor, gradient: Tensor, vocab_size: int) -> Tensor:
    """By the other road: the one-hot matrix, transposed."""
    one_hot = (ids.reshape(-1, 1) == torch.arange(vocab_size)).double()
    return (one_hot.T @ gradient.reshape(len(one_hot), -1).double()).to(gradient.dtype)


def _loop(change: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Tensor, Tensor, int], Tensor]:
    """Place by place; ``change`` takes what the row holds and what comes, and gives what it then holds."""

    def table(ids: Tensor, gradient: Tensor, vocab_size: int) -> Tensor:
        rows = torch.zeros(vocab_size, gradient.shape[-1])
        for number, part in zip(ids.reshape(-1).tolist(), gradient.reshape(-1, gradient.shape[-1]), strict=True):
            rows[number] = change(rows[number], part)
        return rows

    return table


def _mean(ids: Tensor, gradient: Tensor, vocab_size: int) -> Tensor:
    return _exact(ids, gradient, vocab_size) / ids.reshape(-1).bincount(minlength=vocab_size).clamp(min=1)[:, None]


def _last_text(ids: Tensor, gradient: Tensor, vocab_size: int) -> Tensor:
    return _exact(ids[-1:], gradient[-1:], vocab_size)


def _first_text(ids: Tensor, gradient: Tensor, vocab_size: int) -> Tensor:
    return _exact(ids[:1], gradient[:1], vocab_size)


def _cases() -> list[Case]:
    draw = normals(31)
    twice = torch.tensor([[2, 5, 5, 3], [2, 7, 5, 3], [2, 0, 9, 3]])
    every = torch.tensor([[0, 1, 2, 3, 4]])
    return [
        Case("3 texts of 4 tokens with ids that repeat", (twice, draw(3, 4, 6), 11), "Follow the id 5 by hand."),
        Case("every id once", (every, draw(1, 5, 3), 5), "Here the rows of the result are those of `gradient`."),
        Case("one token alone", (torch.tensor([[1]]), draw(1, 1, 2), 4), "All other rows are zero."),
        Case("the same id everywhere", (torch.full((2, 8), 3), draw(2, 8, 4), 4), "Follow the id by hand."),
    ]


_TWICE = "The same row was used at two places, and the loss depends on it through both: what does the chain rule say?"

TABLE_GRADIENT = Exercise(
    title="exercise 4, the gradient of a lookup",
    name="my_table_gradient",
    takes=("ids", "gradient", "vocab_size"),
    gives=("table",),
    reference=_exact,
    cases=_cases,
    diagnoses=(
        looks_like(
            _loop(lambda old, new: new), "A row that was looked up twice keeps the last of its gradients.", _TWICE
        ),
        looks_like(
            _loop(lambda old, new: old if old.any() else new),
            "A row that was looked up twice keeps the first of its gradients.",
            _TWICE,
        ),
        looks_like(_mean, "A row that was looked up twice gets the mean of its gradients.", _TWICE),
        looks_like(_last_text, "Your table gets the gradients of the last text alone.", "A batch has one table."),
        looks_like(_first_text, "Your table gets the gradients of the first text alone.", "A batch has one table."),
        looks_like(
            _loop(lambda old, new: old - new), "Your gradient has the wrong sign.", "The step downhill comes later."
        ),
    ),
    start="Begin with a table of zeros. Which rows change, and what is added to each?",
    onward="BERT's table is also its output layer. Do rows that nobody looked up get a gradient there, and why?",
)
