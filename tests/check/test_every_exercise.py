"""What holds for the check of every exercise of every chapter: a new one is tested as soon as it has a name."""

import functools
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import numpy as np
import pytest
import torch

from bertbook import check
from bertbook.check.result import CheckResult
from tests.check.leaks import solution_lines

Check = Callable[[object], CheckResult]
Solutions = Callable[[str], ModuleType]


@pytest.fixture(params=check.__all__)
def exercise(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def run(exercise: str) -> Check:
    function: Check = getattr(check, exercise)
    return function


@pytest.fixture
def solution(exercise: str, run: Check, solutions: Solutions) -> Callable[..., Any]:
    """The worked solution: it is called as the check calls its argument."""
    (name,) = inspect.signature(run).parameters
    function: Callable[..., Any] = getattr(solutions(exercise.rpartition("_")[0]), name)
    return function


class TestTheSolution:
    def test_is_right(self, run: Check, solution: Callable[..., Any]) -> None:
        result = run(solution)
        assert result.ok, result
        assert result
        assert result.verdict == "Right"
        assert result.hint.endswith("?")  # a question to go on with

    def test_is_right_again(self, run: Check, solution: Callable[..., Any]) -> None:
        assert run(solution) == run(solution)

    def test_is_right_with_gradients(self, run: Check, solution: Callable[..., Any]) -> None:
        def with_gradients(*arguments: Any) -> Any:
            for argument in arguments:
                if isinstance(argument, torch.Tensor) and argument.is_floating_point():
                    argument.requires_grad_()
            return solution(*arguments)

        assert run(with_gradients), run(with_gradients)

    def test_may_be_any_callable(self, run: Check, solution: Callable[..., Any]) -> None:
        class Model(torch.nn.Module):
            def forward(self, *arguments: Any) -> Any:
                return solution(*arguments)

        assert run(Model())
        assert run(functools.partial(solution))
        assert run(Model().forward)

    def test_is_right_whatever_the_session_has_set(self, run: Check, solution: Callable[..., Any]) -> None:
        torch.set_default_dtype(torch.float64)
        try:
            with torch.device("meta"), torch.inference_mode():
                assert run(solution), run(solution)
        finally:
            torch.set_default_dtype(torch.float32)

    def test_leaves_the_session_as_it_was(self, run: Check, solution: Callable[..., Any]) -> None:
        torch.manual_seed(7)
        expected = torch.rand(3)
        torch.manual_seed(7)
        run(solution)
        assert torch.equal(torch.rand(3), expected)
        assert torch.is_grad_enabled()

    def test_runs_where_the_reader_pastes_it(self, exercise: str, run: Check, solution: Callable[..., Any]) -> None:
        """With what the chapter has imported by then, after the solutions of its earlier exercises."""
        path = Path(inspect.getfile(solution))
        chapter = (path.parents[1] / path.name.replace("_", "-")).with_suffix(".md").read_text(encoding="utf-8")
        notebook: dict[str, Any] = {}
        exec("\n".join(re.findall(r"^import .*", chapter, flags=re.MULTILINE)), notebook)
        for name, function in vars(sys.modules[solution.__module__]).items():
            if inspect.isfunction(function):
                exec(inspect.getsource(function), notebook)
            if name == solution.__name__:
                break
        assert run(notebook[solution.__name__])

    def test_stands_nowhere_in_the_check(self, exercise: str, run: Check, solution: Callable[..., Any]) -> None:
        lines = solution_lines(solution)
        assert lines
        module = sys.modules[run.__module__]
        for source in Path(str(module.__file__)).parent.glob("*.py"):
            text = source.read_text(encoding="utf-8")
            assert not [line for line in lines if line in text], source


class TestTheStartingCode:
    def test_is_not_written_yet(self, run: Check) -> None:
        def as_the_chapter_gives_it(*arguments: Any) -> Any:
            """What it should do."""
            ...

        result = run(as_the_chapter_gives_it)
        assert not result.ok
        assert not result
        assert result.verdict == "Not yet"
        assert result.message == "It returns nothing yet."
        assert "Begin with" in result.hint

    @pytest.mark.parametrize("unfinished", [lambda *a: ..., lambda *a: (..., ...), lambda *a: [None, 1]])
    def test_nor_is_a_part(self, run: Check, unfinished: Any) -> None:
        result = run(unfinished)
        assert not result.ok
        assert re.search("nothing yet|not written yet", result.message)

    def test_nor_is_what_says_so(self, run: Check) -> None:
        def unfinished(*arguments: Any) -> NoReturn:
            raise NotImplementedError

        assert run(unfinished).message == "It is not written yet."


class Fighting:
    """An object that can't be looked at."""

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise SystemError("hands off")

    __eq__ = __ne__ = __len__ = __iter__ = __bool__ = __repr__ = __str__ = __getattr__ = __array__ = _refuse
    __hash__ = None  # type: ignore[assignment]
    __class__ = property(_refuse)
    shape = property(_refuse)


class FightingTensor(torch.Tensor):
    @classmethod
    def __torch_function__(cls, *_: Any, **__: Any) -> NoReturn:
        raise SystemError("hands off")


class UnspeakableError(Exception):
    def __str__(self) -> NoReturn:
        raise ValueError("no words")


class Tuple(tuple[Any, ...]):
    def __iter__(self) -> NoReturn:
        raise SystemError("hands off")


def raising(error: BaseException | type[BaseException]) -> Callable[..., NoReturn]:
    def function(*arguments: Any) -> NoReturn:
        raise error

    return function


def recursing(*arguments: Any) -> Any:
    return recursing(*arguments)


def damaging(*arguments: Any) -> Any:
    for argument in arguments:
        if isinstance(argument, torch.Tensor):
            argument.resize_(0)
        elif hasattr(argument, "weights"):
            argument.weights[:] = np.nan
            object.__delattr__(argument, "tokens")
    return arguments[0]


async def waiting(*arguments: Any) -> None: ...


def yielding(*arguments: Any) -> Iterator[int]:
    yield 1


ZOO: dict[str, Any] = {
    "too few parameters": lambda: 1,
    "too many parameters": lambda a, b, c, d, e, f, g: 1,
    "keyword only": lambda *, query: 1,
    "an error": raising(ValueError("<script>alert(1)</script>")),
    "an error without words": raising(UnspeakableError),
    "a base error": raising(BaseException("odd")),
    "exit": raising(SystemExit(3)),
    "an error about the generator": raising(GeneratorExit),
    "an endless recursion": recursing,
    "damage": damaging,
    "a coroutine": waiting,
    "a generator": yielding,
    "a fighting object": lambda *a: Fighting(),
    "fighting objects": lambda *a: (Fighting(), Fighting()),
    "fighting tensors": lambda *a: (torch.zeros(5, 8).as_subclass(FightingTensor),) * 2,
    "a fighting tensor": lambda *a: torch.zeros(3, 1, 1, 5).as_subclass(FightingTensor),
    "a fighting tuple": lambda *a: Tuple((1, 2)),
    "arrays": lambda *a: (np.zeros((5, 8)), np.zeros((5, 5))),
    "an array": lambda *a: np.zeros((2, 5, 12)),
    "a list": lambda *a: [[1.0], [2.0]],
    "an empty tuple": lambda *a: (),
    "nothing at all": lambda *a: torch.empty(0),
    "a scalar": lambda *a: torch.tensor(1.0),
    "complex": lambda *a: (torch.zeros(5, 8, dtype=torch.complex64), torch.zeros(5, 5)),
    "half": lambda *a: torch.zeros(2, 5, 12).half(),
    "sparse": lambda *a: torch.zeros(2, 5, 12).to_sparse(),
    "meta": lambda *a: torch.zeros(2, 5, 12, device="meta"),
    "quantised": lambda *a: torch.quantize_per_tensor(torch.zeros(2, 5, 12), 1.0, 0, torch.qint8),
    "nan": lambda *a: torch.full((2, 5, 12), torch.nan),
    "its arguments": lambda *a: a,
    "itself": lambda *a: ZOO,
    "a class": dict,
    "a string": lambda *a: "\x1b[31m\ud800<b>",
    "infinity": lambda *a: float("inf"),
}


class TestAnythingElse:
    @pytest.mark.filterwarnings("ignore:coroutine", "ignore:.*quantiz")
    @pytest.mark.parametrize("name", ZOO)
    def test_is_told_so_without_an_error(self, run: Check, name: str) -> None:
        result = run(ZOO[name])
        assert isinstance(result, CheckResult)
        assert not result.ok
        assert result.message
        assert result.hint
        assert "<script" not in result._repr_html_()
        assert "\x1b" not in repr(result)
        repr(result).encode("utf-8")

    @pytest.mark.parametrize(
        ("make", "called"),
        [
            (lambda: None, "`None`"),
            (lambda: ..., "`Ellipsis`"),
            (lambda: 3, "an int"),
            (lambda: torch.zeros(2, 3), "a tensor of shape (2, 3)"),
            (Fighting, "Fighting"),
        ],
    )
    def test_is_no_function(self, run: Check, make: Callable[[], object], called: str) -> None:
        result = run(make())
        assert not result.ok
        assert result.message == f"You passed {called}, not a function."

    def test_ctrl_c_stops_the_cell(self, run: Check) -> None:
        with pytest.raises(KeyboardInterrupt):
            run(raising(KeyboardInterrupt))

    def test_prints_are_let_through(self, run: Check, capsys: pytest.CaptureFixture[str]) -> None:
        run(lambda *arguments: print("here"))
        assert capsys.readouterr().out == "here\n"  # once: the first input went wrong already

    def test_the_line_that_stopped_it_is_named(self, run: Check) -> None:
        def three_lines(*arguments: Any) -> None:
            one = 1
            raise IndexError(f"dimension {one} does not exist")

        assert (
            "stops in line 3 of the function with IndexError: dimension 1 does not exist." in run(three_lines).message
        )

    def test_a_name_that_is_missing(self, run: Check) -> None:
        result = run(lambda *arguments: undefined)  # type: ignore[name-defined]  # noqa: F821
        assert "NameError: name 'undefined' is not defined" in result.message
        assert "the cell that defines it" in result.hint


def writable(arguments: tuple[Any, ...]) -> Any:
    """The first tensor or array among them, also one in a record; None where there are only numbers and functions."""
    held = (getattr(argument, "weights", argument) for argument in arguments)
    return next((part for part in held if isinstance(part, torch.Tensor | np.ndarray)), None)


class TestInPlace:
    def test_a_right_answer_that_writes_into_its_arguments(self, run: Check, solution: Callable[..., Any]) -> None:
        written = 0

        def careless(*arguments: Any) -> Any:
            nonlocal written
            answer = solution(*arguments)
            if (argument := writable(arguments)) is not None:
                argument[0] += 1
                written += 1
            return answer

        result = run(careless)
        if not written:
            pytest.skip("nothing can be written into numbers and functions")
        assert not result.ok
        assert "in place" in result.message
        assert "`_`" in result.hint
