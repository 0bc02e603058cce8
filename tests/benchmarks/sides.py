"""Contestants that are ready at once. In a module of its own, for the processes that must find them by name."""

import os
import time

import numpy as np

from benchmarks.case import MissingError, Side

WORK = np.array([3.0, -4.0])


def sleeper(seconds: float, *, off: float = 0.0, tolerance: float = 1e-4) -> Side:
    """Does nothing for a while; its result is ``off`` the right one, relative to the largest number."""
    result = WORK + np.array([4 * off, 0.0])
    return Side(lambda: time.sleep(seconds), result, tolerance, note=f"slept {seconds}")


def absent() -> Side:
    raise MissingError("not installed: somelibrary")


def broken() -> Side:
    raise ZeroDivisionError("a mistake in the build")


def dying() -> Side:
    os._exit(7)


def logging(name: str, path: str) -> Side:
    """Writes its name and its process at each run."""

    def run() -> None:
        with open(path, "a", encoding="utf-8") as file:  # noqa: PTH123
            file.write(f"{name} {os.getpid()}\n")

    return Side(run, WORK)
