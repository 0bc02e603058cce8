"""Random numbers that depend on the place where they are used, and on nothing drawn before.

A usual generator hands its numbers out in a row: what an example gets depends on which examples came first, on the
worker that made it, on the device. Here a number is a function of its place, computed with whole numbers alone. So it
is the same whatever the order, the number of workers and the device, and a run that is resumed goes on as if it had
never stopped.

The function is SplitMix64 (Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators"), of which
every number can be computed without those before it.
"""

import torch
from jaxtyping import Int
from torch import Tensor

_GAMMA = 0x9E3779B97F4A7C15 - 2**64  # int64 is what tensors have: the same 64 bits, read with a sign
_FIRST = 0xBF58476D1CE4E5B9 - 2**64
_SECOND = 0x94D049BB133111EB - 2**64
BITS = 32


def number(key: Int[Tensor, "*#B"], place: Int[Tensor, "*#B"]) -> Int[Tensor, "*B"]:
    """Number ``place``, counted from 0, of the SplitMix64 generator that starts at ``key``: any int64."""
    x = key + (place + 1) * _GAMMA
    x = (x ^ _shift(x, 30)) * _FIRST
    x = (x ^ _shift(x, 27)) * _SECOND
    return x ^ _shift(x, 31)


def key_of(*parts: int | Int[Tensor, " B"]) -> Int[Tensor, "*B"]:
    """A key for each combination of whole numbers from 0 to 2⁶³ − 1; parts that are tensors are combined row by row."""
    key = torch.tensor(0)
    for part in parts:
        key = number(key, torch.as_tensor(part))
    return key


def draws(key: Int[Tensor, "*#B"], place: Int[Tensor, "*#B"]) -> tuple[Int[Tensor, "*B"], Int[Tensor, "*B"]]:
    """Two numbers from 0 to 2³² − 1, all equally likely: the upper and the lower half of :func:`number`."""
    x = number(key, place)
    return _shift(x, 64 - BITS), x & (2**BITS - 1)


def below(share: float) -> int:
    """The bound under which a draw lies with the probability ``share``."""
    return round(share * 2**BITS)


def _shift(x: Tensor, places: int) -> Tensor:
    """``x`` moved to the right, with zeros from the left whatever its sign."""
    return (x >> places) & ((1 << (64 - places)) - 1)
