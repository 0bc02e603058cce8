"""Exercise 3: wrong answers as readers write them, and what they are told."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from bertbook import check

Pair = tuple[Tensor, Tensor]


def vectors(hidden: Tensor, mask: Tensor) -> Tensor:
    return hidden[mask.bool()]


def ends(mask: Tensor) -> Tensor:
    return mask.sum(1).cumsum(0).int()


def boundaries(mask: Tensor) -> Tensor:
    return F.pad(ends(mask), (1, 0))


def pack(hidden: Tensor, mask: Tensor) -> Pair:
    return vectors(hidden, mask), boundaries(mask)


def bounded(other: Callable[[Tensor], Any]) -> Callable[..., Pair]:
    return lambda hidden, mask: (vectors(hidden, mask), other(mask))


def by_lengths(hidden: Tensor, mask: Tensor) -> Pair:
    rows = [row[:n] for row, n in zip(hidden, mask.sum(1).tolist(), strict=True)]
    return torch.cat(rows), boundaries(mask)


def without_empty_rows(hidden: Tensor, mask: Tensor) -> Pair:
    return vectors(hidden, mask), boundaries(mask[mask.any(1)])


def in_place(hidden: Tensor, mask: Tensor) -> Pair:
    packed = vectors(hidden, mask)
    hidden *= mask[..., None]
    return packed, boundaries(mask)


PACKED: dict[str, tuple[Any, str]] = {
    "no start": (bounded(ends), "lack the first one, where row 0 begins"),
    "no start, int64": (bounded(lambda mask: ends(mask).long()), "lack the first one, where row 0 begins"),
    "no end": (bounded(lambda mask: boundaries(mask)[:-1]), "lack the last one, where the rows end"),
    "lengths": (bounded(lambda mask: mask.sum(1)), "are the lengths of the rows"),
    "0 and lengths": (bounded(lambda mask: F.pad(mask.sum(1).int(), (1, 0))), "a 0 and the lengths of the rows"),
    "of the padded rows": (
        bounded(lambda mask: torch.arange(0, mask.numel() + 1, mask.shape[1], dtype=torch.int32)),
        "those of the padded rows",
    ),
    "int64": (bounded(lambda mask: boundaries(mask).long()), "right, but in 64 bits"),
    "a list": (bounded(lambda mask: boundaries(mask).tolist()), "`cu_seqlens` is a list of 4"),
    "floats": (bounded(lambda mask: boundaries(mask).float()), "has the dtype torch.float32 and should have"),
    "places": (lambda hidden, mask: (hidden[mask], boundaries(mask)), "taken for places: its 1 and 0 pick rows"),
    "places, int64": (
        lambda hidden, mask: (hidden[mask], boundaries(mask).long()),
        "taken for places: its 1 and 0 pick rows",
    ),
    "inverted": (lambda hidden, mask: (hidden[mask == 0], boundaries(mask)), "keep the padding and throw the tokens"),
    "by position": (
        lambda hidden, mask: (hidden.transpose(0, 1)[mask.mT.bool()], boundaries(mask)),
        "position by position",
    ),
    "zeros": (
        lambda hidden, mask: ((hidden * mask[..., None]).view(-1, hidden.shape[-1]), boundaries(mask)),
        "still there, as zeros",
    ),
    "joined": (lambda hidden, mask: (hidden.flatten(0, 1), boundaries(mask)), "the rows are joined as they were"),
    "right padding": (
        by_lengths,
        "With padding in front and in between: you take the first tokens of each row",
    ),
    "empty rows lost": (
        without_empty_rows,
        "With a row of padding alone: rows without tokens have lost their boundary.",
    ),
    "empty rows merged": (
        bounded(lambda mask: boundaries(mask).unique()),
        "With a row of padding alone: rows without tokens have lost their boundary.",
    ),
    "swapped": (lambda *a: pack(*a)[::-1], "not in the order `packed`, `cu_seqlens`"),
    "vectors alone": (vectors, "`packed` alone, which is right, but `cu_seqlens` is missing"),
    "a batch of one kept": (
        lambda hidden, mask: (vectors(hidden, mask)[None], boundaries(mask)),
        "has shape (1, 9, 4)",
    ),
    "single precision": (
        lambda hidden, mask: (vectors(hidden, mask).float(), boundaries(mask)),
        "With numbers of double precision: `packed` has the dtype torch.float32",
    ),
    "detached": (
        lambda hidden, mask: (vectors(hidden, mask).detach(), boundaries(mask)),
        "a gradient must reach: the numbers in `packed` are right, but no gradient flows back",
    ),
    "in place": (in_place, "right, but it changes `hidden` in place"),
}


@pytest.mark.parametrize("mistake", PACKED)
def test_fast_3(mistake: str, refused: Callable[..., None]) -> None:
    refused(check.fast_3, *PACKED[mistake])


def test_fast_3_accepts_other_roads() -> None:
    def by_places(hidden: Tensor, mask: Tensor) -> Pair:
        places = mask.flatten().nonzero()[:, 0]
        return hidden.flatten(0, 1).index_select(0, places), boundaries(mask)

    def by_selecting(hidden: Tensor, mask: Tensor) -> Pair:
        packed = hidden.masked_select(mask[..., None].bool()).view(-1, hidden.shape[-1])
        starts = [0]
        for row in mask:
            starts.append(starts[-1] + int(row.sum()))
        return packed, torch.tensor(starts, dtype=torch.int32)

    for right in (pack, by_places, by_selecting):
        assert check.fast_3(right), check.fast_3(right)
