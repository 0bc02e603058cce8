"""Exercise 2: wrong answers as readers write them, and what they are told."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from bertbook import check
from bertbook.text import sentence_pairs
from tests.text.pair_samples import TOKENIZER, documents


def inputs(segments: str = "00011", ids: str = "cfssS") -> Callable[..., Any]:
    """Ids and segments part by part; a part may be left out by a "-" in both."""

    def pair(first: list[int], second: list[int], cls_id: int, sep_id: int) -> Any:
        parts = [[cls_id], first, [sep_id], second, [sep_id]]
        kept = [(part, int(number)) for part, number in zip(parts, segments, strict=True) if number != "-"]
        return [i for part, _ in kept for i in part], [number for part, number in kept for _ in part]

    return pair


WRONG: dict[str, tuple[Any, str]] = {
    "the middle [SEP] in segment 1": (inputs("00111"), "the [SEP] between the texts has segment id 1"),
    "the last [SEP] in segment 0": (inputs("00010"), "the last [SEP] has segment id 0"),
    "1 and 2": (inputs("11122"), "the segment ids are 1 and 2"),
    "swapped": (inputs("11100"), "the segment ids are swapped"),
    "zeros": (inputs("00000"), "every segment id is 0"),
    "no last [SEP]": (inputs("0001-"), "the last [SEP] is missing"),
    "no middle [SEP]": (inputs("00-11"), "between the texts a [SEP] is missing"),
    "no [CLS]": (inputs("-0011"), "[CLS] is missing"),
    "segments of the texts": (
        lambda first, second, c, s: (inputs()(first, second, c, s)[0], [0] * len(first) + [1] * len(second)),
        "the three special tokens have no segment ids",
    ),
    "fixed ids": (lambda first, second, c, s: inputs()(first, second, 101, 102), "With other ids for [CLS] and [SEP]"),
    "by searching": (
        lambda first, second, c, s: (
            (ids := inputs()(first, second, c, s)[0]),
            [0] * (ids.index(s) + 1) + [1] * (len(ids) - ids.index(s) - 1),
        ),
        "With an id of the text that is also that of [SEP]",
    ),
    "the ids alone": (lambda *a: inputs()(*a)[0], "`input_ids` alone, which is right, but `token_type_ids` is missing"),
    "the other order": (lambda *a: inputs()(*a)[::-1], "not in the order"),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_nsp_2(mistake: str, refused: Callable[..., None]) -> None:
    refused(check.nsp_2, *WRONG[mistake])


def test_the_solution_writes_what_the_package_writes(solutions: Callable[[str], ModuleType]) -> None:
    from random import Random

    special = TOKENIZER.cls_token_id, TOKENIZER.sep_token_id
    for pair in sentence_pairs(documents(6, Random(0)), TOKENIZER, max_length=30):
        assert pair.second is not None
        written = solutions("nsp").my_pair_inputs(list(pair.first), list(pair.second), *special)
        assert written == (list(pair.input_ids), list(pair.token_type_ids))
