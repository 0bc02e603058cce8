"""Exercise 4: wrong answers as readers write them, and what they are told."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from bertbook import check
from bertbook.model.packing import Packing


def zeros(packed: Tensor, mask: Tensor) -> Tensor:
    return packed.new_zeros(*mask.shape, packed.shape[-1])


def unpack(packed: Tensor, mask: Tensor) -> Tensor:
    return zeros(packed, mask).masked_scatter(mask[..., None].bool(), packed)


def padded(packed: Tensor, mask: Tensor) -> Tensor:
    return pad_sequence(list(packed.split(mask.sum(1).tolist())), batch_first=True)


def row_by_row(packed: Tensor, mask: Tensor) -> Tensor:
    hidden, start = zeros(packed, mask), 0
    for row, count in enumerate(mask.sum(1).tolist()):
        hidden[row, :count] = packed[start : start + count]
        start += count
    return hidden


def at_the_end(packed: Tensor, mask: Tensor) -> Tensor:
    hidden = zeros(packed, mask).flatten(0, 1)
    hidden[: len(packed)] = packed
    return hidden.unflatten(0, mask.shape)


def by_position(packed: Tensor, mask: Tensor) -> Tensor:
    return unpack(packed, mask.mT).transpose(0, 1)


def ones(packed: Tensor, mask: Tensor) -> Tensor:
    return unpack(packed, mask) + (mask == 0)[..., None]


def through_data(packed: Tensor, mask: Tensor) -> Tensor:
    hidden = zeros(packed, mask)
    hidden[mask.bool()] = packed.data
    return hidden


def repeated(packed: Tensor, mask: Tensor) -> Tensor:
    return packed[(mask.flatten().cumsum(0) - 1).clamp(0)].unflatten(0, mask.shape)


def in_single_precision(packed: Tensor, mask: Tensor) -> Tensor:
    hidden = torch.zeros(*mask.shape, packed.shape[-1])
    hidden[mask.bool()] = packed
    return hidden


def inverted(packed: Tensor, mask: Tensor) -> Tensor:
    hidden = zeros(packed, mask)
    hidden[mask == 0] = packed
    return hidden


def in_place(packed: Tensor, mask: Tensor) -> Tensor:
    hidden = unpack(packed, mask)
    packed[:] = 0
    return hidden


UNPACKED: dict[str, tuple[Any, str]] = {
    "all padding last": (at_the_end, "without a gap, and all the padding comes last"),
    "by position": (by_position, "position by position"),
    "as wide as the longest": (
        padded,
        "With padding in front and in between: your rows are as long as the longest of them has tokens",
    ),
    "in front": (row_by_row, "With padding in front and in between: each of your rows begins in front"),
    "flat": (lambda *a: unpack(*a).flatten(0, 1), "share one axis: the shape is (B · S, H)"),
    "ones": (ones, "the padding does not hold zeros"),
    "repeated": (repeated, "the padding does not hold zeros"),
    "nan": (lambda p, m: unpack(p, m) / m[..., None], "the padding does not hold zeros"),
    "not at all": (lambda packed, mask: packed, "`hidden` has shape (9, 4) and should have (3, 5, 4)"),
    "inverted": (inverted, "it stops in line 3 of the function"),
    "single precision": (in_single_precision, "With numbers of double precision: it stops in line 3"),
    "rounded down": (lambda *a: unpack(*a).float(), "With numbers of double precision: `hidden` has the dtype"),
    "a list": (lambda *a: list(unpack(*a)), "`hidden` is a list of 3"),
    "detached": (
        lambda *a: unpack(*a).detach(),
        "a gradient must reach: the numbers in `hidden` are right, but no gradient flows back",
    ),
    "through data": (through_data, "right, but no gradient flows back"),
    "in place": (in_place, "right, but it changes `packed` in place"),
}


@pytest.mark.parametrize("mistake", UNPACKED)
def test_fast_4(mistake: str, refused: Callable[..., None]) -> None:
    refused(check.fast_4, *UNPACKED[mistake])


def test_fast_4_accepts_other_roads() -> None:
    def by_scatter(packed: Tensor, mask: Tensor) -> Tensor:
        places = mask.flatten().nonzero().expand(-1, packed.shape[-1])
        return zeros(packed, mask).flatten(0, 1).scatter(0, places, packed).unflatten(0, mask.shape)

    def by_copy(packed: Tensor, mask: Tensor) -> Tensor:
        places = mask.flatten().nonzero()[:, 0]
        return zeros(packed, mask).flatten(0, 1).index_copy(0, places, packed).view(*mask.shape, -1)

    for right in (unpack, by_scatter, by_copy):
        assert check.fast_4(right), check.fast_4(right)


def test_the_solutions_undo_each_other(solutions: Callable[[str], ModuleType]) -> None:
    fast = solutions("fast")
    generator = torch.Generator().manual_seed(0)
    hidden = torch.randn(4, 7, 3, generator=generator)
    mask = torch.randint(2, (4, 7), generator=generator)
    packed, cu_seqlens = fast.my_pack(hidden, mask)
    assert torch.equal(fast.my_unpack(packed, mask), hidden * mask[..., None])
    for row, tokens, start, end in zip(hidden, mask.bool(), cu_seqlens, cu_seqlens[1:], strict=False):
        assert torch.equal(packed[start:end], row[tokens])


def test_the_solutions_do_what_the_model_does(solutions: Callable[[str], ModuleType]) -> None:
    """On rows that need no sorting first, which the model does for its kernels."""
    fast = solutions("fast")
    mask = torch.tensor([[0, 0, 1, 0], [1, 1, 0, 0], [1, 0, 1, 1], [1, 1, 1, 1]])
    hidden = torch.randn(4, 4, 3, generator=torch.Generator().manual_seed(0))
    packing = Packing(mask)
    packed, cu_seqlens = fast.my_pack(hidden, mask)
    assert torch.equal(packed, packing.pack(hidden)[0])
    assert torch.equal(cu_seqlens, packing.cu_seqlens)
    assert torch.equal(fast.my_unpack(packed, mask), packing.unpack(packed[None]))
