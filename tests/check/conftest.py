"""The worked solutions, which the book shows folded, and how to try a wrong answer."""

import importlib.util
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType

import pytest

from bertbook.check.result import CheckResult
from tests.check.leaks import solution_lines

SOLUTIONS = Path(__file__).parents[2] / "book" / "solutions"


@cache
def load_solutions(chapter: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"solutions_{chapter}", SOLUTIONS / f"{chapter}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def solutions() -> Callable[[str], ModuleType]:
    """``solutions("attention")`` is book/solutions/attention.py."""
    return load_solutions


@pytest.fixture(scope="session")
def refused(solutions: Callable[[str], ModuleType]) -> Callable[[Callable[[object], CheckResult], object, str], None]:
    """Run a check on a wrong answer: refused, with these words, and nothing of a solution in what is said."""

    def run(exercise: Callable[[object], CheckResult], answer: object, words: str) -> None:
        result = exercise(answer)
        assert not result.ok
        assert words in result.message, result
        for function in vars(solutions(exercise.__name__.rpartition("_")[0])).values():
            if isinstance(function, FunctionType):
                assert not [line for line in solution_lines(function) if line in result.message + result.hint]

    return run
