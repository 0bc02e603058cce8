"""Processes that take turns: the order, what is compared, and every way in which a side can fail."""

import os
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.case import Contestant, FailedError
from benchmarks.turns import _check_agreement, _Ready, alone, measure
from tests.benchmarks.sides import absent, broken, dying, logging, sleeper


def runs(path: Path) -> tuple[str, set[str]]:
    """The names in the order of their runs, and the processes."""
    lines = [line.split() for line in path.read_text(encoding="utf-8").splitlines()]
    return "".join(name for name, _ in lines), {process for _, process in lines}


@pytest.mark.parametrize(
    ("together", "order", "processes"),
    [
        # Round −1 warms up and begins with b; each turn in a process of its own begins with a run that is not timed.
        (True, "ba ab ba", 1),
        (False, "bbaa aabb bbaa", 2),
    ],
)
def test_the_order_of_the_runs(together: bool, order: str, processes: int, tmp_path: Path) -> None:
    log = tmp_path / "log"
    sides = {name: Contestant(partial(logging, name, str(log))) for name in "ab"}
    measured = measure(sides, together=together, rounds=2, threads=1)
    names, found = runs(log)
    assert names == order.replace(" ", "")
    assert len(found) == processes
    assert str(os.getpid()) not in found
    assert {name: len(seconds) for name, seconds in measured.timings.seconds.items()} == {"a": 2, "b": 2}


def test_rows_of_those_that_ran_and_of_those_that_could_not() -> None:
    sides = {
        "slow": Contestant(partial(sleeper, 0.04)),
        "fast": Contestant(partial(sleeper, 0.01, off=0.005, tolerance=0.01), "bfloat16", against="slow"),
        "absent": Contestant(absent, against="slow"),
        "lonely": Contestant(partial(sleeper, 0.01), against="absent"),
    }
    measured = measure(sides, together=True, rounds=2, threads=1)
    slow, fast, missing, lonely = measured.rows("nap", flops=12, units=2)
    assert missing.note == "not installed: somelibrary"
    assert missing.seconds == ()
    assert missing.ratio is None
    assert (slow.case, slow.side, slow.note, slow.flops, slow.ratio) == ("nap", "slow", "slept 0.04", 12, None)
    assert min(slow.seconds) >= 0.02  # of one unit: a run does two
    assert (fast.dtype, fast.against) == ("bfloat16", "slow")
    assert fast.ratio is not None
    assert fast.ratio.median > 1
    assert lonely.seconds
    assert lonely.ratio is None


def test_different_work_is_not_timed() -> None:
    sides = {
        "theirs": Contestant(partial(sleeper, 0.0)),
        "ours": Contestant(partial(sleeper, 0.0, off=0.0005)),
    }
    with pytest.raises(FailedError, match=r"ours and theirs do not compute the same: 0.0005 apart where 0.0001"):
        measure(sides, together=True, rounds=1, threads=1)


@pytest.mark.parametrize(
    "other", [np.array([1.0, float("nan")]), np.array([1.0, float("inf")]), np.array([1.0, 2.0, 3.0]), np.array([2.0])]
)
def test_no_number_and_another_shape_are_no_result(other: NDArray[np.float64]) -> None:
    ready = {"a": _Ready(np.array([1.0, 2.0]), 1e-4, ""), "b": _Ready(other, 0.1, "")}
    with pytest.raises(FailedError, match="b and a do not compute the same"):
        _check_agreement(ready)


def test_the_larger_tolerance_counts() -> None:
    _check_agreement({"a": _Ready(np.array([1.0, 2.0]), 1e-4, ""), "b": _Ready(np.array([1.0, 2.1]), 0.1, "")})


def test_a_side_that_fails_is_named_with_its_error() -> None:
    with pytest.raises(FailedError) as raised:
        measure({"ours": Contestant(broken)}, together=True, rounds=1, threads=1)
    first, *rest = str(raised.value).splitlines()
    assert first == "the process of ours failed: ZeroDivisionError: a mistake in the build"
    assert any("in broken" in line for line in rest)


def test_a_process_that_dies() -> None:
    with pytest.raises(FailedError, match=r"the process of ours ended with exit code 7; is there enough memory\?"):
        measure({"ours": Contestant(dying)}, together=True, rounds=1, threads=1)


def test_alone_is_elsewhere() -> None:
    assert alone(os.getpid) != os.getpid()
