"""Exercise 3: how the last state of a recurrent network depends on its first."""

from collections.abc import Callable

import torch
from torch import Tensor

from bertbook.check.exercise import Case, Exercise, looks_like, normals


def _slope(state: Tensor) -> Tensor:
    """Of tanh, where its value is ``state``."""
    return (1 - state) * (1 + state)


def _columns(states: Tensor, W: Tensor, slope: Callable[[Tensor], Tensor] = _slope) -> Tensor:  # noqa: N803
    """Column by column: what becomes of a small change of one number of the first state."""
    columns = []
    for change in torch.eye(len(W)):
        for after in range(1, len(states)):
            change = slope(states[after]) * (W @ change)
        columns.append(change)
    return torch.stack(columns, dim=1)


def _product(factors: list[Tensor], like: Tensor) -> Tensor:
    return torch.linalg.multi_dot([*factors, torch.eye(len(like)), torch.eye(len(like))])


def _early_to_late(states: Tensor, W: Tensor) -> Tensor:  # noqa: N803
    return _product([torch.diag(_slope(state)) @ W for state in states[1:]], W)


def _slope_on_the_columns(states: Tensor, W: Tensor) -> Tensor:  # noqa: N803
    return _product([W @ torch.diag(_slope(state)) for state in states[1:].flip(0)], W)


def _first_counted(states: Tensor, W: Tensor) -> Tensor:  # noqa: N803
    return _columns(torch.cat([states[:1], states]), W)


def _cases() -> list[Case]:
    draw = normals(0)

    def case(title: str, S: int, H: int, hint: str, size: float = 1.0) -> Case:  # noqa: N803
        return Case(title, (torch.tanh(size * draw(S, H)), draw(H, H)), hint)

    two = "With two states there is one step: one matrix with the slopes of tanh, and W. Write it out for H = 2."
    return [
        case("4 states of 3 numbers", 4, 3, two),
        case("2 states: one step", 2, 3, two),
        case("a first state alone", 1, 4, "Nothing has happened: how does a state depend on itself?"),
        case("12 states", 12, 2, "Print it after each step. Does each step come on the same side?"),
        case("states near ±1", 3, 5, "Where tanh is flat, nothing comes through.", 4.0),
    ]


JACOBIAN = Exercise(
    title="exercise 3, from the first state to the last",
    name="my_jacobian",
    takes=("states", "W"),
    gives=("jacobian",),
    reference=_columns,
    cases=_cases,
    diagnoses=(
        looks_like(
            lambda states, W: _columns(states, W, torch.ones_like),  # noqa: N803
            "The slope of tanh is missing.",
            "Each number of a state has one: 1 minus its square.",
        ),
        looks_like(
            lambda states, W: _columns(states, W, lambda state: _slope(state.tanh())),  # noqa: N803
            "tanh is taken twice.",
            "The states are what tanh gave.",
        ),
        looks_like(
            _early_to_late, "The steps are multiplied in the other order.", "In A B v, which of the two acts first?"
        ),
        looks_like(lambda *a: _columns(*a).T, "It is transposed.", "Row i is about number i of the *last* state."),
        looks_like(
            _slope_on_the_columns,
            "The slopes stand on the wrong side of W.",
            "tanh comes after W: number i of its result has slope i, so they scale rows.",
        ),
        looks_like(
            _first_counted, "There is one step too many.", "From S states to each other, how many steps are there?"
        ),
        looks_like(
            lambda states, W: _columns(states[:-1], W),  # noqa: N803
            "There is one step too few.",
            "From S states to each other, how many steps are there?",
        ),
    ),
    start="Begin with one step: what is the derivative of tanh(W h + x) by h, for two states?",
    onward="Slopes are at most 1. If W halves every vector, how large can the result be after 20 steps?",
)
