"""Exercise 3: wrong answers as readers write them, and what they are told."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor

from bertbook import check


def product(
    step: Callable[[Tensor, Tensor], Tensor] = lambda state, W: torch.diag(1 - state**2) @ W,
    join: Callable[[Tensor, Tensor], Tensor] = lambda one, before: one @ before,
    states_of: Callable[[Tensor], Tensor] = lambda states: states[1:],
) -> Callable[..., Any]:
    """Factor by factor, with a part of it done otherwise."""

    def my_jacobian(states: Tensor, W: Tensor) -> Tensor:
        result = torch.eye(len(W))
        for state in states_of(states):
            result = join(step(state, W), result)
        return result

    return my_jacobian


WRONG: dict[str, tuple[Any, str]] = {
    "no slope": (product(lambda state, W: W), "the slope of tanh is missing"),
    "tanh twice": (product(lambda state, W: torch.diag(1 - state.tanh() ** 2) @ W), "tanh is taken twice"),
    "the other order": (product(join=lambda one, before: before @ one), "the steps are multiplied in the other order"),
    "transposed": (lambda *a: product()(*a).T, "it is transposed"),
    "slopes on the columns": (
        product(lambda state, W: W @ torch.diag(1 - state**2)),
        "the slopes stand on the wrong side of W",
    ),
    "slopes broadcast": (product(lambda state, W: (1 - state**2) * W), "the slopes stand on the wrong side of W"),
    "the first state": (product(states_of=lambda states: states), "With 4 states of 3 numbers"),
    "the first state twice": (
        product(states_of=lambda states: torch.cat([states[:1], states[1:]])),
        "there is one step too many",
    ),
    "not the last state": (product(states_of=lambda states: states[1:-1]), "there is one step too few"),
    "elementwise": (product(join=lambda one, before: one * before), "With 4 states of 3 numbers"),
    "the norm": (lambda *a: product()(*a).norm(), "`jacobian` has shape ()"),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_why_bert_3(mistake: str, refused: Callable[..., None]) -> None:
    refused(check.why_bert_3, *WRONG[mistake])


def test_another_road_is_right() -> None:
    assert check.why_bert_3(product())


def test_the_solution_is_what_autograd_finds(solutions: Callable[[str], ModuleType]) -> None:
    torch.manual_seed(0)
    W, x = torch.randn(3, 3), torch.randn(5, 3)

    def last(first: Tensor) -> Tensor:
        for t in range(1, 5):
            first = torch.tanh(W @ first + x[t])
        return first

    states = [torch.tanh(torch.randn(3))]
    for t in range(1, 5):
        states.append(torch.tanh(W @ states[-1] + x[t]))
    expected = torch.autograd.functional.jacobian(last, states[0])
    ours = solutions("why_bert").my_jacobian(torch.stack(states), W)
    torch.testing.assert_close(ours, expected)
