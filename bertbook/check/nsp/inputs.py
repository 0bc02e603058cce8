"""Exercise 2: ids and segment ids of a pair."""

from itertools import chain

from bertbook.check.exercise import Case, Exercise, looks_like

Ids = list[int]
# Each part of the sequence with its segment: [CLS], first, [SEP], second, [SEP].
_SEGMENTS = (0, 0, 0, 1, 1)


def _inputs(
    first: Ids,
    second: Ids,
    cls_id: int,
    sep_id: int,
    *,
    segments: tuple[int, ...] = _SEGMENTS,
    drop: tuple[int, ...] = (),
) -> tuple[Ids, Ids]:
    """What is expected; ``drop`` leaves parts out, ``segments`` gives them other segment ids."""
    parts = [[cls_id], first, [sep_id], second, [sep_id]]
    kept = [(part, segment) for i, (part, segment) in enumerate(zip(parts, segments, strict=True)) if i not in drop]
    return (
        list(chain.from_iterable(part for part, _ in kept)),
        list(chain.from_iterable([segment] * len(part) for part, segment in kept)),
    )


def _types_of_the_texts(first: Ids, second: Ids, cls_id: int, sep_id: int) -> tuple[Ids, Ids]:
    return _inputs(first, second, cls_id, sep_id)[0], [0] * len(first) + [1] * len(second)


def _cases() -> list[Case]:
    count = "Write the five parts under each other, [CLS], first, [SEP], second, [SEP], and beside each its segment."
    return [
        Case("a first text of 3 ids and a second of 2", ([7, 8, 9], [5, 6], 101, 102), count),
        Case("other ids for [CLS] and [SEP]", ([7, 8, 9], [5, 6], 2, 3), "Special ids are arguments, no constants."),
        Case("a first text of one id, a second of 5", ([4], [9, 8, 7, 6, 5], 101, 102), count),
        Case("an id of the text that is also that of [SEP]", ([102, 7], [5, 102], 101, 102), "Count, do not search."),
    ]


PAIR_INPUTS = Exercise(
    title="exercise 2, the inputs of a pair",
    name="my_pair_inputs",
    takes=("first", "second", "cls_id", "sep_id"),
    gives=("input_ids", "token_type_ids"),
    reference=_inputs,
    cases=_cases,
    diagnoses=(
        looks_like(
            lambda *a: _inputs(*a, segments=(0, 0, 1, 1, 1)),
            "The [SEP] between the texts has segment id 1.",
            "Which text does it end?",
        ),
        looks_like(
            lambda *a: _inputs(*a, segments=(0, 0, 0, 1, 0)),
            "The last [SEP] has segment id 0.",
            "Which text does it end?",
        ),
        looks_like(
            lambda *a: _inputs(*a, segments=(1, 1, 1, 2, 2)),
            "The segment ids are 1 and 2.",
            "The table of segments has two rows, and rows are counted from 0.",
        ),
        looks_like(
            lambda *a: _inputs(*a, segments=(1, 1, 1, 0, 0)), "The segment ids are swapped.", "The first text has 0."
        ),
        looks_like(
            lambda *a: _inputs(*a, segments=(0, 0, 0, 0, 0)),
            "Every segment id is 0.",
            "How would the model tell the two texts apart?",
        ),
        looks_like(lambda *a: _inputs(*a, drop=(4,)), "The last [SEP] is missing.", "Each text is ended by one."),
        looks_like(
            lambda *a: _inputs(*a, drop=(2,)), "Between the texts a [SEP] is missing.", "Each text ends with one."
        ),
        looks_like(lambda *a: _inputs(*a, drop=(0,)), "[CLS] is missing.", "Whose vector goes into the pooler?"),
        looks_like(
            _types_of_the_texts,
            "The three special tokens have no segment ids.",
            "`token_type_ids` is as long as `input_ids`.",
        ),
    ),
    start="Begin with `input_ids`: lists are joined by `+`.",
    onward="RoBERTa writes two [SEP] between the texts and the segment 0 everywhere. What is left to mark the border?",
)
