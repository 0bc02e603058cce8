"""Fair timing: what is compared takes turns, so that whatever else the machine does falls on all alike."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from tqdm import tqdm


class Spread(NamedTuple):
    """The middle of some figures, and where the middle half of them lies."""

    median: float
    lower: float  # a quarter of the figures are smaller
    upper: float  # a quarter are larger

    @classmethod
    def of(cls, figures: Sequence[float]) -> "Spread":
        lower, median, upper = np.quantile(figures, [0.25, 0.5, 0.75]).tolist()
        return cls(median, lower, upper)


@dataclass(frozen=True)
class Timings:
    """``seconds[name][i]`` is how long ``name`` took in round i."""

    seconds: Mapping[str, Sequence[float]]

    def spread(self, name: str) -> Spread:
        """Median and quartiles of the seconds of one of them.

        Raises:
            KeyError: nothing of this name was timed; the message lists what was.
        """
        return Spread.of(self._of(name))

    def median(self, name: str) -> float:
        """The median alone, in seconds."""
        return self.spread(name).median

    def ratio(self, slow: str, fast: str) -> Spread:
        """How many times as long ``slow`` took as ``fast``: median and quartiles of the ratios, round by round.

        Two runs of one round met the machine in nearly the same state, so that their ratio is steadier than
        either time.

        Raises:
            KeyError: as :meth:`spread`.
        """
        return Spread.of([a / b for a, b in zip(self._of(slow), self._of(fast), strict=True)])

    def _of(self, name: str) -> Sequence[float]:
        if name not in self.seconds:
            raise KeyError(f"nothing called {name!r} was timed; there are {', '.join(self.seconds)}")
        return self.seconds[name]


def interleave(
    runs: Mapping[str, Callable[[], object]],
    *,
    rounds: int = 7,
    warmup: int = 1,
    device: str | torch.device = "cpu",
    progress: bool = False,
) -> Timings:
    """Time several callables against each other: a, b, c, then b, c, a, then c, a, b, …

    Each round runs every one of them once. The order moves on by one from round to round, so that nobody always
    runs first.

    Args:
        runs: what to time, by name. What a call returns is dropped before the clock is read.
        rounds: how many times each is timed.
        warmup: rounds before that, whose times are thrown away.
        device: where the work goes. A GPU is given work and does it later: it is waited for before each reading.
        progress: show a bar on stderr.

    Raises:
        ValueError: there is nothing to time; ``rounds`` below 1; ``warmup`` below 0.
    """
    if not runs:
        raise ValueError("there is nothing to time: pass at least one callable, by its name")
    if rounds < 1 or warmup < 0:
        raise ValueError(f"rounds={rounds}, warmup={warmup}: expected at least 1 and at least 0")
    names = list(runs)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for number in tqdm(range(-warmup, rounds), desc=", ".join(names), leave=False, disable=not progress):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            took = timed(runs[name], device)
            if number >= 0:
                seconds[name].append(took)
    return Timings(seconds)


def timed(run: Callable[[], object], device: str | torch.device = "cpu") -> float:
    """Seconds of one call, all work on ``device`` included."""
    wait_for(device)
    start = time.perf_counter()
    run()
    wait_for(device)
    return time.perf_counter() - start


def wait_for(device: str | torch.device) -> None:
    """Return when the device has done all that it was given. A CPU has, always."""
    device = torch.device(device)
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "mps":
        torch.mps.synchronize()
