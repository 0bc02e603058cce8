"""Contestants in processes of their own, or in one together, that take turns: only one of them works at a time."""

import multiprocessing
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Self, TypeVar

import numpy as np
import torch
from tqdm import tqdm

from benchmarks.case import Contestant, FailedError, MissingError, Row, Side
from bertbook.speed import Timings, interleave

T = TypeVar("T")
_SPAWN = multiprocessing.get_context("spawn")  # forked, a process would inherit threads and switches
_SETTLE = 0.05  # seconds, until the threads of the one before have stopped looking for work


@dataclass(frozen=True)
class Measured:
    """The times of those that ran, a note on each, and why the others did not."""

    contestants: Mapping[str, Contestant]
    timings: Timings
    notes: Mapping[str, str]
    missing: Mapping[str, str]

    def rows(self, case: str, flops: int, units: int = 1) -> Iterator[Row]:
        """One row a contestant. A run did ``units`` units of work, each of ``flops`` useful operations."""
        for name, who in self.contestants.items():
            if name in self.missing:
                yield Row(case, name, dtype=who.dtype, note=self.missing[name])
                continue
            ran = who.against is not None and who.against not in self.missing
            yield Row(
                case,
                name,
                seconds=tuple(seconds / units for seconds in self.timings.seconds[name]),
                flops=flops,
                dtype=who.dtype,
                ratio=self.timings.ratio(who.against, name) if ran and who.against else None,
                against=who.against,
                note=self.notes[name],
            )


def measure(
    contestants: Mapping[str, Contestant], *, together: bool, rounds: int, threads: int, device: str = "cpu"
) -> Measured:
    """Build all, check that they do the same work, and time them round by round.

    Args:
        together: in one process, where whatever one of them switches is switched for all; otherwise each in its
            own, as it would run for somebody who uses nothing else. Each turn then begins with a run that is not
            timed: the caches are cold after the turns of the others.

    Raises:
        FailedError: two of them disagree, or one fails; the message says which.
    """
    groups = [dict(contestants)] if together else [{name: who} for name, who in contestants.items()]
    with ExitStack() as stack:
        workers: list[_Worker] = []
        built: dict[str, _Ready | str] = {}
        for group in tqdm(groups, desc="building", leave=False):  # one by one: some time their own choices
            workers.append(stack.enter_context(_Worker(group, threads, device, warmup=not together)))
            built |= workers[-1].built()
        missing = {name: answer for name, answer in built.items() if isinstance(answer, str)}
        ready = {name: answer for name, answer in built.items() if isinstance(answer, _Ready)}
        _check_agreement(ready)
        seconds: dict[str, list[float]] = {name: [] for name in ready}
        for number in tqdm(range(-1, rounds), desc="rounds", leave=False):
            for worker in _rotated(workers, number):
                time.sleep(_SETTLE)
                for name, took in worker.turn(_rotated([name for name in worker.names if name in ready], number)):
                    if number >= 0:  # the first round warms up
                        seconds[name].append(took)
    return Measured(contestants, Timings(seconds), {name: answer.note for name, answer in ready.items()}, missing)


def alone(function: Callable[..., T], *arguments: Any) -> T:
    """Call a function in a fresh process, whose switches nobody else sees."""
    with ProcessPoolExecutor(1, _SPAWN, _leave_interrupts_to_the_parent) as pool:
        return pool.submit(function, *arguments).result()


@dataclass(frozen=True)
class _Ready:
    """What a process tells of a side that it has built."""

    result: np.ndarray[Any, np.dtype[np.float64]]
    tolerance: float
    note: str


class _Worker:
    """A process that builds its contestants and runs them when it is told to."""

    def __init__(self, group: Mapping[str, Contestant], threads: int, device: str, warmup: bool) -> None:
        self.names = list(group)
        self._connection, theirs = _SPAWN.Pipe()
        self._process = _SPAWN.Process(target=_serve, args=(theirs, group, threads, device, warmup), daemon=True)
        self._process.start()
        theirs.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()  # a process that waits for its turn ends by this
        self._process.join(timeout=1)
        self._process.terminate()
        self._process.join()

    def built(self) -> dict[str, "_Ready | str"]:
        """By name: what is ready, or why it is missing."""
        return self._receive()

    def turn(self, names: Sequence[str]) -> Iterator[tuple[str, float]]:
        """Run these once, in this order: their seconds."""
        if names:
            self._connection.send(names)
            yield from self._receive().items()

    def _receive(self) -> dict[str, Any]:
        try:
            answer = self._connection.recv()
        except EOFError:
            self._process.join()
            end = f"ended with exit code {self._process.exitcode}; is there enough memory?"
            raise FailedError(f"the process of {', '.join(self.names)} {end}") from None
        if isinstance(answer, str):  # its traceback
            raise FailedError(f"the process of {', '.join(self.names)} failed: {answer}")
        return answer


def _serve(connection: Connection, group: Mapping[str, Contestant], threads: int, device: str, warmup: bool) -> None:
    """The other end of a :class:`_Worker`."""
    _leave_interrupts_to_the_parent()
    torch.set_num_threads(threads)
    try:
        sides: dict[str, Side] = {}
        answers: dict[str, _Ready | str] = {}
        for name, who in group.items():
            try:
                sides[name] = side = who.build()
                answers[name] = _Ready(side.result, side.tolerance, side.note)
            except MissingError as reason:
                answers[name] = str(reason)
        connection.send(answers)
        while True:
            names = connection.recv()
            runs = {name: sides[name].run for name in names}
            seconds = interleave(runs, rounds=1, warmup=int(warmup), device=device).seconds
            connection.send({name: took for name, (took,) in seconds.items()})
    except (EOFError, BrokenPipeError):
        return  # the parent is gone
    except Exception:
        said = traceback.format_exc()
        connection.send(f"{said.strip().splitlines()[-1]}\n{said}")


def _leave_interrupts_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _check_agreement(ready: Mapping[str, _Ready]) -> None:
    """Every result must be the first one's, within the larger of the two tolerances."""
    names = list(ready)
    for name in names[1:]:
        first, other = ready[names[0]], ready[name]
        allowed = max(first.tolerance, other.tolerance)
        if first.result.shape != other.result.shape:
            off = float("inf")
        else:
            off = float(np.abs(first.result - other.result).max() / np.abs(first.result).max())
        if not off <= allowed:  # NaN is off too
            raise FailedError(
                f"{name} and {names[0]} do not compute the same: {off:.2g} apart where {allowed:g} is allowed. "
                "Times of different work say nothing, so none were taken"
            )


def _rotated(items: Sequence[T], by: int) -> list[T]:
    first = by % max(1, len(items))
    return [*items[first:], *items[:first]]
