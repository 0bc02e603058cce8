"""Exercise 1: wrong answers as readers write them, and what they are told."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertbook import check
from bertbook.check.nsp.truncate import TRUNCATE


def loop(pick: Callable[[list[int], list[int]], Any], at: int = -1, least: int = 0) -> Callable[..., Any]:
    """The solution's loop; ``pick`` chooses the list that loses, at which end, and while longer than room − least."""

    def truncate(first: list[int], second: list[int], room: int) -> Any:
        first, second = list(first), list(second)
        while len(first) + len(second) > room - least:
            pick(first, second).pop(at)
        return first, second

    return truncate


def longer(first: list[int], second: list[int]) -> list[int]:
    return first if len(first) > len(second) else second


def evenly(first: list[int], second: list[int], room: int) -> Any:
    return first[: room // 2], second[: room - room // 2]


WRONG: dict[str, tuple[Any, str]] = {
    "nothing": (lambda first, second, room: (first, second), "nothing is cut"),
    "the first of equals": (
        loop(lambda a, b: a if len(a) >= len(b) else b),
        "of two equally long texts, the first loses",
    ),
    "the front": (loop(longer, at=0), "the ids go from the front"),
    "one too many": (loop(longer, least=1), "one id too many goes"),
    "halves": (evenly, "each text gets half of the room"),
    "halves, the other way": (
        lambda first, second, room: (first[: -(-room // 2)], second[: room // 2]),
        "each text gets half of the room",
    ),
    "the second alone": (loop(lambda a, b: b or a), "only the second text is cut"),
    "the first alone": (loop(lambda a, b: a or b), "only the first text is cut"),
    "the shorter": (loop(lambda a, b: (a if len(a) < len(b) else b) or a or b), "only the second text is cut"),
    "the whole": (lambda first, second, room: (first + second)[:room], "should return 2 things"),
    "the first only": (lambda first, second, room: loop(longer)(first, second, room)[0], "alone, which is right"),
    "swapped": (lambda first, second, room: loop(longer)(first, second, room)[::-1], "not in the order"),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_nsp_1(mistake: str, refused: Callable[..., None]) -> None:
    refused(check.nsp_1, *WRONG[mistake])


def test_cutting_the_readers_own_lists(refused: Callable[..., None]) -> None:
    def in_place(first: list[int], second: list[int], room: int) -> Any:
        while len(first) + len(second) > room:
            longer(first, second).pop()
        return first, second

    refused(check.nsp_1, in_place, "changes `first` in place")


@given(st.integers(0, 20), st.integers(0, 20), st.integers(0, 50))
def test_what_is_expected_is_the_loop(a: int, b: int, room: int) -> None:
    first, second = list(range(a)), list(range(b))
    assert TRUNCATE.reference(first, second, room) == loop(longer)(first, second, room)


def test_the_solution_is_the_package_without_its_coin(solutions: Callable[[str], ModuleType]) -> None:
    from random import Random

    from bertbook.text import truncate_seq_pair

    class Tails(Random):
        def random(self) -> float:
            return 0.9

    for a, b, room in ((11, 3, 11), (5, 5, 7), (2, 12, 9)):
        first, second = list(range(a)), list(range(b))
        assert solutions("nsp").my_truncate(first, second, room) == truncate_seq_pair(first, second, room, Tails())
