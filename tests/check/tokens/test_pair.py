"""Exercise 2: wrong answers as readers write them, and what they are told; the right one is the tokenizer's."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from bertbook import Tokenizer, check


def join(*parts: tuple[list[int], int]) -> tuple[list[int], list[int]]:
    ids: list[int] = []
    segments: list[int] = []
    for part, segment in parts:
        ids += part
        segments += [segment] * len(part)
    return ids, segments


def right(a: list[int], b: list[int], c: int, s: int) -> tuple[list[int], list[int]]:
    return join(([c], 0), (a, 0), ([s], 0), (b, 1), ([s], 1))


WRONG: dict[str, tuple[Any, str]] = {
    "first [SEP] in the second": (
        lambda a, b, c, s: join(([c], 0), (a, 0), ([s], 1), (b, 1), ([s], 1)),
        "the first [SEP] is given to the second text.",
    ),
    "last [SEP] in the first": (
        lambda a, b, c, s: join(([c], 0), (a, 0), ([s], 0), (b, 1), ([s], 0)),
        "the last [SEP] is given to the first text.",
    ),
    "no last [SEP]": (lambda a, b, c, s: join(([c], 0), (a, 0), ([s], 0), (b, 1)), "the last [SEP] is missing."),
    "no [SEP] between": (lambda a, b, c, s: join(([c], 0), (a, 0), (b, 1), ([s], 1)), "nothing stands between"),
    "two [CLS]": (
        lambda a, b, c, s: join(([c], 0), (a, 0), ([s], 0), ([c], 1), (b, 1), ([s], 1)),
        "the second text has a [CLS] of its own.",
    ),
    "as RoBERTa": (
        lambda a, b, c, s: join(([c], 0), (a, 0), ([s], 0), ([s], 1), (b, 1), ([s], 1)),
        "two [SEP] stand between the texts. That is RoBERTa's way.",
    ),
    "no special tokens": (lambda a, b, c, s: join((a, 0), (b, 1)), "no special token is there."),
    "all 0": (lambda a, b, c, s: (right(a, b, c, s)[0], [0] * (len(a + b) + 3)), "all segments are 0."),
    "a mask": (lambda a, b, c, s: (right(a, b, c, s)[0], [1] * (len(a + b) + 3)), "all segments are 1."),
    "from 1": (lambda a, b, c, s: (right(a, b, c, s)[0], [x + 1 for x in right(a, b, c, s)[1]]), "texts from 1."),
    "swapped": (
        lambda a, b, c, s: (right(a, b, c, s)[0], [1 - x for x in right(a, b, c, s)[1]]),
        "0 and 1 are swapped.",
    ),
    "segments of the texts alone": (
        lambda a, b, c, s: (right(a, b, c, s)[0], [0] * len(a) + [1] * len(b)),
        "the special tokens have no segments.",
    ),
    "101 and 102": (lambda a, b, c, s: right(a, b, 101, 102), "With other special ids:"),
    "only the ids": (
        lambda a, b, c, s: right(a, b, c, s)[0],
        "it returns `ids` alone, which is right, but `segments` is missing.",
    ),
    "in the other order": (lambda a, b, c, s: right(a, b, c, s)[::-1], "not in the order `ids`, `segments`"),
    "changes its argument": (
        lambda a, b, c, s: (a.insert(0, c), right(a[1:], b, c, s))[1],
        "it changes `first` in place",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers(name: str, refused: Callable[..., None]) -> None:
    answer, words = WRONG[name]
    refused(check.tokens_2, answer, words)


def test_another_right_answer() -> None:
    assert check.tokens_2(right)


def test_the_solution_is_what_the_tokenizer_does(
    solutions: Callable[[str], ModuleType], minilm: tuple[object, Tokenizer]
) -> None:
    _, tokenizer = minilm
    for first, second in [("The cat sat.", "It rained."), ("", "北京"), ("a", ""), ("", "")]:
        alone = [tokenizer.tokens_to_ids(tokenizer.tokenize(text)) for text in (first, second)]
        ids, segments = solutions("tokens").build_pair(*alone, tokenizer.cls_token_id, tokenizer.sep_token_id)
        batch = tokenizer((first, second))
        assert ids == batch["input_ids"][0].tolist()
        assert segments == batch["token_type_ids"][0].tolist()
