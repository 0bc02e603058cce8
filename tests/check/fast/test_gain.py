"""Exercise 2: wrong answers as readers write them, and what they are told."""

import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bertbook import check


def flops(S: float, H: int, F: int) -> float:
    return 8 * S * H * H + 4 * S * S * H + 4 * S * H * F


def gain(lengths: list[int], H: int, F: int) -> float:
    padded = [flops(max(lengths), H, F) for _ in lengths]
    return sum(padded) / sum(flops(length, H, F) for length in lengths)


def packed_to_one(lengths: list[int], H: int, F: int) -> float:
    return len(lengths) * flops(max(lengths), H, F) / flops(sum(lengths), H, F)


def sorting(lengths: list[int], H: int, F: int) -> float:
    lengths.sort()
    return gain(lengths, H, F)


GAIN: dict[str, tuple[Any, str]] = {
    "upside down": (lambda *a: 1 / gain(*a), "upside down: real cost to padded cost"),
    "share saved": (lambda *a: 1 - 1 / gain(*a), "the share that is saved"),
    "more paid": (lambda *a: gain(*a) - 1, "how much more is paid"),
    "tokens": (lambda x, H, F: len(x) * max(x) / sum(x), "that of the tokens, padded to real."),
    "tokens, upside down": (
        lambda x, H, F: sum(x) / (len(x) * max(x)),
        "that of the tokens, padded to real. Your ratio is upside down",
    ),
    "tokens, share of padding": (
        lambda x, H, F: 1 - sum(x) / (len(x) * max(x)),
        "that of the tokens, padded to real. Your number is the share that is saved",
    ),
    "squares": (
        lambda x, H, F: len(x) * max(x) ** 2 / sum(n * n for n in x),
        "squares of the lengths, as if attention were all",
    ),
    "mean length": (
        lambda x, H, F: flops(max(x), H, F) / flops(statistics.mean(x), H, F),
        "a row of mean length for the mean cost",
    ),
    "mean length, whole": (
        lambda x, H, F: flops(max(x), H, F) / flops(sum(x) // len(x), H, F),
        "a row of mean length for the mean cost",
    ),
    "one long text": (packed_to_one, "look at each other as if they were one text"),
    "one long text, twice": (
        lambda x, H, F: flops(len(x) * max(x), H, F) / flops(sum(x), H, F),
        "one long text, before and after",
    ),
    "mean of gains": (
        lambda x, H, F: statistics.mean(flops(max(x), H, F) / flops(n, H, F) for n in x),
        "the gain of each row and then the mean",
    ),
    "one row": (
        lambda x, H, F: flops(max(x), H, F) / sum(flops(n, H, F) for n in x),
        "one padded row with all the real ones",
    ),
    "the last row": (
        lambda x, H, F: len(x) * flops(x[-1], H, F) / sum(flops(n, H, F) for n in x),
        "pad to the last row, not to the longest",
    ),
    "the difference": (
        lambda x, H, F: len(x) * flops(max(x), H, F) - sum(flops(n, H, F) for n in x),
        "With the lengths 9, 3, 12, 5 and H = 8: `gain` is ",
    ),
    "percent": (lambda *a: 100 * gain(*a), "`gain` is 1"),
    "whole": (lambda *a: round(gain(*a)), "`gain` is 2.0 and should be 1."),
    "F = 4 H": (lambda x, H, F: gain(x, H, 4 * H), "`gain` is"),
    "in place": (sorting, "changes `lengths` in place"),
    "zero": (lambda *a: 0.0, "`gain` is 0.0"),
    "text": (lambda *a: f"{gain(*a):.2f}", "`gain` is a str and should be a float"),
}


@pytest.mark.parametrize("mistake", GAIN)
def test_fast_2(mistake: str, refused: Callable[..., None]) -> None:
    refused(check.fast_2, *GAIN[mistake])


def test_fast_2_accepts_other_roads() -> None:
    def by_arrays(lengths: list[int], H: int, F: int) -> Any:
        return flops(max(lengths), H, F) / np.mean([flops(length, H, F) for length in lengths])

    def by_half_the_operations(lengths: list[int], H: int, F: int) -> float:  # what is counted double cancels out
        cost = [flops(length, H, F) // 2 for length in lengths]
        return len(cost) * max(cost) / sum(cost)

    for right in (gain, by_arrays, by_half_the_operations):
        assert check.fast_2(right), check.fast_2(right)
