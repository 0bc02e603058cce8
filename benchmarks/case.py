"""What a benchmark is, and what it yields: a case has contestants, each of which becomes a row of the table."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bertbook.speed import Spread


@dataclass(frozen=True)
class Settings:
    """What the command line says."""

    quick: bool = False  # small sizes and few rounds: shows that it runs, not how fast
    threads: int = 1
    device: str = "cpu"
    compile: bool = False  # torch.compile as well, which takes its time


class MissingError(Exception):
    """A contestant cannot run here, and says why: a library that is not installed, weights out of reach."""


class FailedError(RuntimeError):
    """A case came to nothing: a process ended, or two sides do not compute the same. The others can go on."""


@dataclass(frozen=True)
class Side:
    """A contestant, ready to run in its process."""

    run: Callable[[], object]  # what is timed
    result: NDArray[np.float64]  # what the same work must yield everywhere, computed before anything is timed
    tolerance: float = 1e-4  # of the result, relative to its largest number
    note: str = ""


@dataclass(frozen=True)
class Contestant:
    """``build`` is called in the process that runs it, so it must be picklable: a function or a partial of one."""

    build: Callable[[], Side]
    dtype: str = "float32"
    against: str | None = None  # the contestant that it is compared with


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    case: str
    side: str
    seconds: tuple[float, ...] = ()  # of one unit of work, in each round; empty where nothing could be timed
    flops: int = 0  # useful ones, of one unit of work
    dtype: str = "float32"
    ratio: Spread | None = None  # how many times as fast as ``against``
    against: str | None = None
    note: str = ""


@dataclass(frozen=True)
class Case:
    """A benchmark by name. ``unit`` says what one time in the table is the time of."""

    name: str
    unit: str
    run: Callable[[Settings], Iterator[Row]]
    default: bool = True  # part of the plain ``python -m benchmarks``
