"""Exercise 5: what the loss of a part is multiplied by."""

import torch
from torch import Tensor

from bertbook.check.compare import Finding, same
from bertbook.check.exercise import Case, Exercise, looks_like


def _factors(counts: Tensor) -> Tensor:
    """The share of each part, and n for the mean that comes after: one number a label, gathered by parts."""
    each = counts.shape[0] / counts.sum().double()
    return (counts * each).float()


def _by_rows(counts: Tensor) -> Tensor:
    return (counts / counts.sum(1, keepdim=True)).float()


def _by_columns(counts: Tensor) -> Tensor:
    return (counts / counts.sum(0, keepdim=True)).float()


def _scaled(case: Case, given: Tensor) -> Finding | None:
    """Right but for one factor in all places."""
    (counts,) = case.arguments
    n, k = counts.shape
    known = {
        1 / n: (
            "Your factors add up to 1. What is exchanged is then a mean over the processes: n times too small.",
            "All processes together hold the sum. What does a mean make of it?",
        ),
        k: (
            "Your factors are too large by the number of parts.",
            "Gradients of a process add up from part to part; nobody divides by the number of parts.",
        ),
        1 / k: (
            "Your factors are too small by the number of parts.",
            "Gradients of a process add up from part to part; nobody divides by the number of parts.",
        ),
        k / n: (
            "Your factors hold the number of parts where the number of processes belongs.",
            "Which of the two are averaged, and which are added up?",
        ),
        n: (
            "Your factors are too large by the number of processes.",
            "One mean over n processes is made up for by one factor n.",
        ),
    }
    for scale, said in known.items():
        if scale != 1 and same(given, _factors(counts) * scale, case.tolerance):
            return Finding(*said)
    return None


_UNEQUAL = "A label in a part with few labels should count as much as one in a part with many."


def _cases() -> list[Case]:
    def case(title: str, counts: list[list[int]], hint: str) -> Case:
        return Case(title, (torch.tensor(counts),), hint, 1e-6)

    return [
        case("2 processes of 3 parts", [[5, 9, 2], [7, 4, 13]], _UNEQUAL),
        case("a single process", [[3, 8, 1, 6]], "Is there anything to average?"),
        case("3 processes of 1 part", [[12], [5], [1]], _UNEQUAL),
        case("parts without labels", [[4, 0], [0, 6], [0, 0]], "What does a part without labels add to the gradient?"),
        case("equal counts", [[6, 6], [6, 6]], "With equal counts the means may be averaged."),
    ]


LOSS_FACTORS = Exercise(
    title="exercise 5, the loss of a part",
    name="loss_factors",
    takes=("counts",),
    gives=("factors",),
    reference=_factors,
    cases=_cases,
    diagnoses=(
        looks_like(
            lambda counts: torch.full(counts.shape, 1 / counts.shape[1]),
            "Your factors are the same for all parts: a mean of means.",
            _UNEQUAL,
        ),
        looks_like(
            lambda counts: torch.full(counts.shape, 1 / counts.numel()),
            "Your factors are the same for all parts: a mean of means.",
            _UNEQUAL,
        ),
        _scaled,
        looks_like(
            _by_rows,
            "Each process of yours takes the mean over its own labels, and then all processes count alike.",
            "Do all processes hold the same number of labels?",
        ),
        looks_like(
            _by_columns,
            "You compare parts that stand in the same place of different processes.",
            "Over which labels is the mean that is wanted: those of a process, of a place, or all?",
        ),
        looks_like(
            lambda counts: counts.sum() / (counts.shape[0] * counts),
            "Your factors are upside down.",
            "Should a part with many labels count for more, or for less?",
        ),
    ),
    start="Begin with one process: by what must the mean over a part be multiplied, to be its share of the whole?",
    onward="Each process needs the sum over all of them. What must they exchange before the first backward pass?",
)
