"""Turns, order, and what is made of the seconds. A clock of our own: no test waits, none depends on the machine."""

from collections.abc import Callable
from unittest.mock import Mock

import pytest
import torch

from bertbook.speed import Spread, Timings, interleave, matmul_peak, memory_bandwidth, timing


class Clock:
    """Stands still until a run moves it."""

    def __init__(self) -> None:
        self.now = 100.0
        self.log: list[str] = []

    def run(self, name: str, seconds: float) -> Callable[[], None]:
        def work() -> None:
            self.now += seconds
            self.log.append(name)

        return work


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(timing.time, "perf_counter", lambda: clock.now)
    return clock


def test_everyone_runs_once_a_round_and_the_first_moves_on(clock: Clock) -> None:
    runs = {name: clock.run(name, seconds) for name, seconds in (("a", 2.0), ("b", 0.5), ("c", 1.0))}
    times = interleave(runs, rounds=4, warmup=0)
    assert "".join(clock.log) == "abc bca cab abc".replace(" ", "")
    assert times.seconds == {"a": [2.0] * 4, "b": [0.5] * 4, "c": [1.0] * 4}
    assert times.median("a") == 2.0
    assert times.ratio("a", "b") == Spread(4.0, 4.0, 4.0)


def test_warming_up_is_not_counted(clock: Clock) -> None:
    times = interleave({"a": clock.run("a", 1.0), "b": clock.run("b", 1.0)}, rounds=1, warmup=3)
    assert len(clock.log) == 8
    assert times.seconds == {"a": [1.0], "b": [1.0]}


def test_figures_of_several_rounds() -> None:
    times = Timings({"slow": [2.0, 8.0, 3.0, 40.0, 10.0], "fast": [1.0, 2.0, 1.0, 10.0, 2.0]})
    assert times.spread("slow") == Spread(median=8.0, lower=3.0, upper=10.0)
    # The ratios are 2, 4, 3, 4, 5: round by round, not the ratio of the medians, which is 8 / 2.
    assert times.ratio("slow", "fast") == Spread(median=4.0, lower=3.0, upper=4.0)
    assert times.ratio("fast", "slow").median == 0.25


@pytest.mark.parametrize("kind", ["cuda", "mps"])
def test_a_device_is_waited_for_before_each_reading(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    monkeypatch.setattr(getattr(torch, kind), "synchronize", lambda *_: events.append("wait"))
    monkeypatch.setattr(timing.time, "perf_counter", lambda: events.append("clock") or float(len(events)))
    interleave({"a": lambda: events.append("run")}, rounds=1, warmup=0, device=kind)
    assert events == ["wait", "clock", "run", "wait", "clock"]


def test_an_exception_of_a_run_comes_through() -> None:
    with pytest.raises(ZeroDivisionError):
        interleave({"a": Mock(side_effect=ZeroDivisionError)})


def test_nothing_to_time() -> None:
    with pytest.raises(ValueError, match="there is nothing to time: pass at least one callable, by its name"):
        interleave({})


@pytest.mark.parametrize(("rounds", "warmup"), [(0, 1), (-2, 1), (3, -1)])
def test_impossible_rounds(rounds: int, warmup: int) -> None:
    with pytest.raises(ValueError, match=f"rounds={rounds}, warmup={warmup}: expected at least 1 and at least 0"):
        interleave({"a": list}, rounds=rounds, warmup=warmup)


def test_a_name_that_was_not_timed() -> None:
    with pytest.raises(KeyError, match="nothing called 'theirs' was timed; there are ours"):
        Timings({"ours": [1.0]}).ratio("theirs", "ours")


def test_the_peak_is_the_best_of_its_sizes(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """A product of two n × n matrices is 2 n³ operations; here the machine does 1e9 a second, 2e9 at n = 1024."""

    def product(a: torch.Tensor, b: torch.Tensor, *, out: torch.Tensor) -> torch.Tensor:
        assert a.dtype == b.dtype == out.dtype == torch.bfloat16
        size = len(a)
        clock.now += 2 * size**3 / (2e9 if size == 1024 else 1e9)
        return out

    monkeypatch.setattr(torch, "mm", product)
    assert matmul_peak(torch.bfloat16) == pytest.approx(2e9)


def test_bandwidth_counts_what_is_read_and_what_is_written(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    def multiply(numbers: torch.Tensor, factor: float) -> None:
        assert numbers.nbytes >= 2**28
        clock.now += numbers.nbytes / 1e9

    monkeypatch.setattr(torch.Tensor, "mul_", multiply)
    assert memory_bandwidth() == pytest.approx(2e9)


def test_the_peaks_are_finite_and_positive_on_the_real_machine(device: str) -> None:
    assert 1e8 < matmul_peak(torch.float32, device) < 1e17
    assert 1e8 < memory_bandwidth(device) < 1e15


def test_products_of_whole_numbers_are_no_peak() -> None:
    with pytest.raises(ValueError, match=r"dtype=torch.int64: choose a floating-point type"):
        matmul_peak(torch.int64)
