"""Exercise 2: two texts as one sequence."""

from collections.abc import Callable

from bertbook.check.exercise import Case, Exercise, looks_like

Ids = list[int]
Pair = tuple[Ids, Ids]


def _runs(*runs: tuple[Ids, int]) -> Pair:
    """Runs of ids one after another, each with the segment of all its tokens."""
    return [number for run, _ in runs for number in run], [segment for run, segment in runs for _ in run]


def _pair(first: Ids, second: Ids, cls_id: int, sep_id: int) -> Pair:
    return _runs(([cls_id], 0), (first, 0), ([sep_id], 0), (second, 1), ([sep_id], 1))


def _segments(change: Callable[[Ids], Ids]) -> Callable[..., Pair]:
    """The right ids with other segments."""

    def variant(*arguments: object) -> Pair:
        ids, segments = _pair(*arguments)  # type: ignore[arg-type]
        return ids, change(segments)

    return variant


def _cases() -> list[Case]:
    count = "How many special tokens does a pair have, and to which text does each belong?"
    return [
        Case("texts of 3 and 2 ids", ([7, 12, 9], [4, 23], 101, 102), count),
        Case("a longer second text", ([5], [8, 6, 7, 5, 3], 101, 102), count),
        Case("other special ids", ([7, 12], [9], 2, 3), "Which id in your function is a fixed one?"),
        Case("an empty second text", ([7, 12, 9], [], 101, 102), "An empty text is still a text of the pair."),
        Case("two empty texts", ([], [], 101, 102), "What is left of a pair without words?"),
    ]


_THREE = "[CLS] A [SEP] B [SEP]: one at the start, one after each text."

BUILD_PAIR = Exercise(
    title="exercise 2, a pair",
    name="build_pair",
    takes=("first", "second", "cls_id", "sep_id"),
    gives=("ids", "segments"),
    reference=_pair,
    cases=_cases,
    diagnoses=(
        looks_like(
            lambda first, second, cls, sep: _runs(([cls], 0), (first, 0), ([sep], 1), (second, 1), ([sep], 1)),
            "The first [SEP] is given to the second text.",
            "[SEP] ends the text that stands before it.",
        ),
        looks_like(
            lambda first, second, cls, sep: _runs(([cls], 0), (first, 0), ([sep], 0), (second, 1), ([sep], 0)),
            "The last [SEP] is given to the first text.",
            "[SEP] ends the text that stands before it.",
        ),
        looks_like(
            lambda first, second, cls, sep: _runs(([cls], 0), (first, 0), ([sep], 0), (second, 1)),
            "The last [SEP] is missing.",
            _THREE,
        ),
        looks_like(
            lambda first, second, cls, sep: _runs(([cls], 0), (first, 0), (second, 1), ([sep], 1)),
            "Nothing stands between the two texts.",
            _THREE,
        ),
        looks_like(
            lambda first, second, cls, sep: _runs(
                ([cls], 0), (first, 0), ([sep], 0), ([cls], 1), (second, 1), ([sep], 1)
            ),
            "The second text has a [CLS] of its own.",
            _THREE,
        ),
        looks_like(
            lambda first, second, cls, sep: _runs(
                ([cls], 0), (first, 0), ([sep], 0), ([sep], 1), (second, 1), ([sep], 1)
            ),
            "Two [SEP] stand between the texts. That is RoBERTa's way.",
            _THREE,
        ),
        looks_like(
            lambda first, second, cls, sep: _runs((first, 0), (second, 1)), "No special token is there.", _THREE
        ),
        looks_like(
            _segments(lambda segments: [0] * len(segments)),
            "All segments are 0.",
            "The model tells the two texts apart by their segments.",
        ),
        looks_like(
            _segments(lambda segments: [1] * len(segments)),
            "All segments are 1. That is what an attention mask looks like.",
            "Which text does a token belong to: the first, 0, or the second, 1?",
        ),
        looks_like(
            _segments(lambda segments: [s + 1 for s in segments]), "You count texts from 1.", "BERT has 0 and 1."
        ),
        looks_like(
            _segments(lambda segments: [1 - s for s in segments]), "0 and 1 are swapped.", "The first text is 0."
        ),
        looks_like(
            lambda first, second, cls, sep: (_pair(first, second, cls, sep)[0], [0] * len(first) + [1] * len(second)),
            "The special tokens have no segments.",
            "Each id needs one: the two lists are equally long.",
        ),
    ),
    start="Begin with the ids alone: which five parts stand one after another?",
    onward="Which segment has padding, and does it matter?",
)
