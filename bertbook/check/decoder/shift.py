"""Exercise 2: what the decoder is given while it trains."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from bertbook.check.exercise import Case, Exercise, looks_like

_END, _PADDING = 102, 0


def _shift(target: Tensor, start_id: int) -> Tensor:
    return F.pad(target, (1, -1), value=start_id)  # −1 takes one away


def _longer(target: Tensor, start_id: int) -> Tensor:
    return F.pad(target, (1, 0), value=start_id)


def _without_end(target: Tensor, start_id: int) -> Tensor:
    """The end symbol is taken out of each row, not the last place."""
    rows = [[start_id, *(number for number in row if number != _END)] for row in target.tolist()]
    return torch.tensor([(row + [_PADDING] * target.shape[1])[: target.shape[1]] for row in rows])


def _along(shift: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The same, along the batch axis."""
    return lambda target, start_id: shift(target.mT, start_id).mT


def _cases() -> list[Case]:
    three = torch.tensor([[7, 12, 9, 4, 23], [21, 5, 33, 18, 8], [6, 40, 11, 30, 17]])
    padded = torch.tensor([[7, 12, 9, 4, 8, _END], [21, 5, _END, 0, 0, 0]])
    ends = "How long is each row before, and how long after? What leaves it, and on which side?"
    return [
        Case("3 texts of 5 ids", (three, 101), ends),
        Case(
            "a text that is shorter than its row", (padded, 101), "Only the last place is dropped, whatever it holds."
        ),
        Case("the padding's id as start", (padded, _PADDING), "Which id in your function is a fixed one?"),
        Case("one text of a single id", (torch.tensor([[_END]]), 101), "What is left of a row of one?"),
    ]


DECODER_INPUTS = Exercise(
    title="exercise 2, shift by one",
    name="my_shift",
    takes=("target", "start_id"),
    gives=("inputs",),
    reference=_shift,
    cases=_cases,
    diagnoses=(
        looks_like(
            lambda target, start_id: target,
            "Nothing is shifted: the decoder is given the very ids that it has to predict.",
            "At place 0 the first id has to be predicted. What can be known there?",
        ),
        looks_like(
            _longer,
            "Your rows are longer by one: nothing has left them.",
            "There is one input for each id that has to be predicted. For which of yours is there none left?",
        ),
        looks_like(
            lambda target, start_id: target.roll(1, 1),
            "Your rows are rolled: the last id comes back at the front.",
            "An id that comes back at the front gives away how the text ends. What stands before the first id?",
        ),
        looks_like(
            lambda target, start_id: F.pad(target, (-1, 1), value=start_id),
            "Your rows are shifted to the left: each place holds the id after the one it has to predict.",
            "Which ids are known when id t is to be predicted: those before it, or those after?",
        ),
        looks_like(
            lambda target, start_id: target.roll(-1, 1),
            "Your rows are rolled, and to the left.",
            "Which ids are known when id t is to be predicted: those before it, or those after?",
        ),
        looks_like(
            lambda target, start_id: F.pad(target, (-1, 0)),
            "Your rows have lost their first id and gained nothing.",
            "What is the decoder given before there is any id at all?",
        ),
        looks_like(
            lambda target, start_id: target[:, :-1],
            "Your rows have lost their last id and gained nothing.",
            "What is the decoder given before there is any id at all?",
        ),
        looks_like(
            lambda target, start_id: F.pad(target[:, 1:], (1, 0), value=start_id),
            "Your start takes the place of the first id; the others have not moved.",
            "The decoder needs the first id too: to predict which one?",
        ),
        looks_like(
            _without_end,
            "The end symbol is gone, which need not be the last of its row.",
            "What stands after it is left out of the loss. Does the function have to know which id is the end?",
        ),
        *(
            looks_like(
                _along(variant), "You shift whole rows down, not the ids within each row.", "Which axis is time?"
            )
            for variant in (_shift, _longer, lambda target, start_id: target.roll(1, 1))
        ),
    ),
    start="Begin with one row: to predict its first id, its second, its third, what may the decoder know?",
    onward="Shifted like this, all places are trained in one pass. Which mask makes that honest?",
)
