"""Batches with gaps, for the exercises that take padding out and put it back."""

import torch
from torch import Tensor

from bertbook.check.exercise import Case, normals

# Each row of a mask as text: 1 for a token.
RIGHT = ("11100", "10000", "11111")
_MASKS = {
    "3 rows padded on the right": (
        RIGHT,
        "Follow one row: where does it begin and end in `packed`, and where in the batch?",
    ),
    "padding in front and in between": (
        ("00111", "01011"),
        "The mask says where tokens stand. Nothing else says that they stand in front.",
    ),
    "a row of padding alone": (
        ("1100", "0000", "0111", "0000"),
        "A row without tokens is still a row: where does it begin, and where does it end?",
    ),
    "no padding at all": (("1111", "1111"), "What is left to do where every position holds a token?"),
    "a batch of padding alone": (("000", "000"), "N may be 0: an axis of size 0 is an axis."),
    "one token": (("1",), "An axis of size 1 must stay an axis."),
}


def cases(seed: int, packed: bool) -> list[Case]:
    """One for each kind of mask, on hidden (B, S, H) or, if ``packed``, on its tokens (N, H); then two for what else
    must be kept: the dtype, and the way back of the gradient."""
    draw = normals(seed)

    def arguments(rows: tuple[str, ...], size: int = 4) -> tuple[Tensor, Tensor]:
        mask = torch.tensor([[int(digit) for digit in row] for row in rows])
        return draw(*((int(mask.sum()),) if packed else mask.shape), size), mask

    made = [Case(title, arguments(rows), hint) for title, (rows, hint) in _MASKS.items()]
    numbers, mask = arguments(RIGHT)
    kept = "New tensors take their dtype from those given, not from the session."
    made.append(Case("numbers of double precision", (numbers.double(), mask), kept))
    flows = "`.detach()`, `.data`, NumPy and `torch.tensor(…)` give numbers that no longer know where they came from."
    made.append(Case("vectors that a gradient must reach", (numbers.clone().requires_grad_(), mask), flows))
    return made


def indices(tensor: Tensor, mask: Tensor) -> Tensor:
    """What an integer mask picks: its 1 and 0 are taken for places."""
    return tensor[mask.long()]
