"""Exercise 3: wrong answers as readers write them, and what they are told; the right one on real offsets."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from bertbook import Tokenizer, check


def by(matches: Callable[[int, int, int, int], bool]) -> Callable[..., tuple[int, int]]:
    def answer(offsets: Any, start: int, end: int) -> tuple[int, int]:
        found = [k for k in range(len(offsets)) if matches(offsets[k][0], offsets[k][1], start, end)]
        return found[0], found[-1]

    return answer


right = by(lambda a, b, s, e: max(a, s) < min(b, e))


def moved(first: int, last: int) -> Callable[..., tuple[int, int]]:
    return lambda *arguments: (right(*arguments)[0] + first, right(*arguments)[1] + last)


def exact(offsets: Any, start: int, end: int) -> tuple[int, int]:
    return [a for a, b in offsets].index(start), [b for a, b in offsets].index(end)


WRONG: dict[str, tuple[Any, str]] = {
    "the place after": (moved(0, 1), "your last place is the one after the answer."),
    "[CLS] not counted": (moved(-1, -1), "your places are one too small"),
    "touching at the end": (by(lambda a, b, s, e: a <= e and b > s), "one token too many at the end."),
    "touching at the start": (by(lambda a, b, s, e: a < e and b >= s), "one token too many at the start."),
    "touching": (by(lambda a, b, s, e: a <= e and b >= s), "a neighbour too many."),
    "whole tokens only": (by(lambda a, b, s, e: a >= s and b <= e), "tokens that lie only partly in the answer"),
    "the first twice": (by(lambda a, b, s, e: a <= s < b), "you find the token in which the answer begins, for both."),
    "all places": (
        lambda *arguments: list(range(right(*arguments)[0], right(*arguments)[1] + 1)),
        "you return all places of the answer.",
    ),
    "exact offsets": (exact, "With an answer that begins and ends inside tokens: it stops in line 2"),
    "the first token twice": (
        lambda o, s, e: (right(o, s, e)[0],) * 2,
        "you find the token in which the answer begins",
    ),
    "the other way round": (lambda *arguments: right(*arguments)[::-1], "not in the order `first`, `last`"),
    "characters": (lambda o, s, e: (s, e), "`first` is 4 and should be 2."),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers(name: str, refused: Callable[..., None]) -> None:
    answer, words = WRONG[name]
    refused(check.tokens_3, answer, words)


def test_another_right_answer() -> None:
    assert check.tokens_3(right)


@pytest.mark.parametrize(
    ("text", "answer", "tokens"),
    [
        ("Café owners grow STRAWBERRIES in May.", "STRAWBERRIES", ["straw", "##berries"]),
        ("Café owners grow STRAWBERRIES in May.", "Café", ["cafe"]),
        ("He was born on 28 May 1961 in London.", "28 May 1961", ["28", "may", "1961"]),
        ("今天北京天气很好", "北京", ["北", "京"]),
    ],
)
def test_the_solution_on_real_offsets(
    solutions: Callable[[str], ModuleType], minilm: tuple[object, Tokenizer], text: str, answer: str, tokens: list[str]
) -> None:
    _, tokenizer = minilm
    batch = tokenizer(text, return_offsets=True)
    start = text.index(answer)
    offsets = [tuple(offset) for offset in batch["offset_mapping"][0].tolist()]
    first, last = solutions("tokens").answer_tokens(offsets, start, start + len(answer))
    assert tokenizer.ids_to_tokens(batch["input_ids"][0, first : last + 1]) == tokens
