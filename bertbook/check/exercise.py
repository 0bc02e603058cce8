"""How an exercise is checked: the reader's function runs on several inputs; the first that goes wrong is explained."""

import copy
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from bertbook.check.compare import Finding, difference, kind, listed, printable, rounding, same, unchanged
from bertbook.check.result import CheckResult


@dataclass(frozen=True)
class Case:
    """One input that the reader's function is tried on.

    Args:
        title: what is special about it, to follow "with": ``"a batch of 2 texts"``.
        arguments: what the function is called with (it gets a copy).
        hint: where to look when this input is the first to go wrong, and nothing more exact is known.
        tolerance: allowed difference of floats, absolute and relative.
    """

    title: str
    arguments: tuple[Any, ...]
    hint: str
    tolerance: float = 1e-5


@dataclass(frozen=True)
class Stopped:
    """A call that ended in an error instead of a value."""

    error: BaseException

    def __str__(self) -> str:
        text = attempt(str, self.error)
        text = printable(text) if type(text) is str else ""
        return type(self.error).__name__ + (f": {text}" if text else "")

    @property
    def before_start(self) -> bool:
        """Did the call fail before it reached any code of the function, on its arguments?"""
        return len(list(traceback.walk_tb(self.error.__traceback__))) == 1  # the one frame is attempt's

    def line_in(self, function: Callable[..., Any]) -> int | None:
        """The line of ``function`` where it stopped, its first line being 1. None if it shows no code."""
        code = getattr(function, "__code__", None)
        lines = [line for frame, line in traceback.walk_tb(self.error.__traceback__) if frame.f_code is code]
        return lines[-1] - code.co_firstlineno + 1 if code and lines else None


def attempt(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call it. What it raises, even SystemExit, comes back as a :class:`Stopped`; only Ctrl-C goes through."""
    try:
        return function(*arguments)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return Stopped(error)


# Looks at one case and what the reader's function returned for it, which is known to be wrong. Knows why, or returns
# None. One that raises does not apply (a shape that does not fit, say).
Diagnosis = Callable[[Case, Any], Finding | None]


@dataclass(frozen=True)
class Exercise:
    """One exercise of the book.

    Args:
        title: its number and subject.
        name: the function to write, as the chapter calls it.
        takes: names of the arguments.
        gives: names of what it returns; more than one means a tuple.
        reference: computes what is expected, by another road than the solution in the book.
        cases: makes the inputs, from plain to peculiar. The sizes of the first should all differ, so that
            a mistake shows at once and can be told from the others.
        diagnoses: the typical mistakes, the most telling first.
        start: the first step, for whoever has written nothing yet.
        onward: a question for whoever is done.
    """

    title: str
    name: str
    takes: tuple[str, ...]
    gives: tuple[str, ...]
    reference: Callable[..., Any]
    cases: Callable[[], Sequence[Case]]
    diagnoses: Sequence[Diagnosis]
    start: str
    onward: str

    def check(self, function: object) -> CheckResult:
        """Try the reader's function on every case. Returns the verdict; raises nothing but KeyboardInterrupt."""
        if not callable(function):
            passed = attempt(kind, function)
            what = passed if type(passed) is str else type(function).__name__
            return self._not_yet(Finding(f"You passed {what}, not a function.", f"Pass `{self.name}`, no brackets."))
        with _usual_defaults():
            cases = self.cases()
            for case in cases:
                found = attempt(self._try, function, case)
                if type(found) is Stopped:  # what came back may be an object that fights being looked at
                    found = Finding(f"What it returns cannot be compared with {listed(self.gives)} ({found}).")
                if found:
                    return self._not_yet(Finding(found.message, found.hint or case.hint))
        titles = "; ".join(case.title for case in cases)
        return CheckResult(True, self.title, f"`{self.name}` passes with {titles}.", self.onward)

    def _try(self, function: Callable[..., Any], case: Case) -> Finding | None:
        arguments = copy.deepcopy(case.arguments)
        given = attempt(function, *arguments)
        if type(given) is Stopped:
            return self._explain_stop(given, function, case)
        if given is None or given is ...:
            return Finding("It returns nothing yet.", f"{self.start} If it is written: does it end with `return`?")
        if type(given) in (tuple, list) and any(part is None or part is ... for part in given):
            return Finding("A part of what it returns is not written yet.", self.start)

        expected = self.reference(*case.arguments)
        found = difference(given, expected, self.gives, case.tolerance)
        if found:
            causes = (attempt(diagnosis, case, given) for diagnosis in self.diagnoses)
            cause = next((cause for cause in causes if type(cause) is Finding), None)
            found = rounding(given, expected, self.gives) or cause or found
            return Finding(f"With {case.title}: {found.message[0].lower()}{found.message[1:]}", found.hint)
        for name, after, before in zip(self.takes, arguments, case.arguments, strict=True):
            if not unchanged(after, before):
                return Finding(
                    f"What it returns is right, but it changes `{name}` in place, and that belongs to the caller.",
                    "Operators such as `/=` and methods that end in `_` write into the tensor they are given.",
                )
        return None

    def _explain_stop(self, stopped: Stopped, function: Callable[..., Any], case: Case) -> Finding:
        if isinstance(stopped.error, NotImplementedError):
            return Finding("It is not written yet.", self.start)
        if isinstance(stopped.error, TypeError) and stopped.before_start:
            call = f"{self.name}({', '.join(self.takes)})"
            return Finding(
                f"It cannot be called as `{call}` ({stopped}).", "Compare its `def` line with the chapter's."
            )
        line = stopped.line_in(function)
        where = f" in line {line} of the function" if line else ""
        shapes = [
            f"`{name}` {tuple(argument.shape)}"
            for name, argument in zip(self.takes, case.arguments, strict=True)
            if isinstance(argument, Tensor)
        ]
        shown = f" It was given {', '.join(shapes)}." if shapes else ""
        misnamed = isinstance(stopped.error, NameError)
        hint = "Is the name spelt right, and has the cell that defines it run?" if misnamed else ""
        return Finding(f"With {case.title}: it stops{where} with {stopped}.{shown}", hint)

    def _not_yet(self, found: Finding) -> CheckResult:
        return CheckResult(False, self.title, found.message, found.hint)


@contextmanager
def _usual_defaults() -> Iterator[None]:
    """Cases are float32 on the CPU, and so is what a function makes anew, whatever defaults the session has set."""
    dtype = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    try:
        with torch.device("cpu"):
            yield
    finally:
        torch.set_default_dtype(dtype)


def looks_like(variant: Callable[..., Any], message: str, hint: str) -> Diagnosis:
    """Recognise a mistake by making it: ``variant`` computes, from the exercise's arguments, what the mistake gives."""

    def diagnosis(case: Case, given: Any) -> Finding | None:
        return Finding(message, hint) if same(given, variant(*case.arguments), case.tolerance) else None

    return diagnosis


def normals(seed: int) -> Callable[..., Tensor]:
    """A source of tensors for cases: ``draw = normals(0)``, then ``draw(2, 3)`` is (2, 3), standard normal, float32.

    It has a generator of its own: checking leaves the session's random numbers as they were.
    """
    generator = torch.Generator().manual_seed(seed)
    return lambda *shape: torch.randn(shape, generator=generator)
