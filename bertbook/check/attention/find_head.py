"""Exercise 4: the head that looks most strongly from one token to another."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bertbook.check.exercise import Case, Diagnosis, Exercise, looks_like
from bertbook.records import AttentionRecord

Strengths = NDArray[np.float32]  # (L, h)


def _strengths(
    record: AttentionRecord, query_token: str, key_token: str, of_query: Any = min, of_key: Any = min
) -> Strengths:
    """The weights from one token to the other; ``of_query``, ``of_key`` choose among the places where each occurs."""

    def places(token: str) -> list[int]:
        return [place for place, other in enumerate(record.tokens) if other == token]

    return record.weights[..., of_query(places(query_token)), of_key(places(key_token))]


def _strongest(strengths: Strengths) -> tuple[int, int]:
    (layer, head), *_ = np.argwhere(strengths == strengths.max()).tolist()
    return layer, head


def _find_head(record: AttentionRecord, query_token: str, key_token: str) -> tuple[int, int]:
    return _strongest(_strengths(record, query_token, key_token))


def _average_first(record: AttentionRecord, query_token: str, key_token: str) -> tuple[int, int]:
    strengths = _strengths(record, query_token, key_token)
    return int(strengths.mean(1).argmax()), int(strengths.mean(0).argmax())


def _cases() -> list[Case]:
    generator = np.random.default_rng(4)

    def record(text: str, *layers_and_heads: int) -> AttentionRecord:
        tokens = text.split()
        weights = generator.dirichlet(np.ones(len(tokens)), size=(*layers_and_heads, len(tokens)))
        return AttentionRecord(tokens, [0] * len(tokens), weights)

    # As many heads as bert-large has: an answer that is wrong in another way hardly hits a typical mistake's by chance.
    cat = record("[CLS] the cat saw the dog chase the cat [SEP]", 24, 16)
    count = "Layers and heads count from 0."
    return [
        Case("24 layers of 16 heads", (cat, "the", "cat"), "Write down the shape of the numbers you choose from."),
        Case("the same record, the other way round", (cat, "cat", "the"), "Who looks at whom?"),
        Case("one layer of 12 heads", (record("[CLS] it slept [SEP]", 1, 12), "it", "[SEP]"), count),
        Case("6 layers of one head", (record("[CLS] 它 睡 着 了 [SEP]", 6, 1), "着", "它"), count),
        Case("a token and itself", (record("[CLS] it [SEP]", 2, 3), "it", "it"), "A token may look at itself."),
    ]


def _choosing_from(choose: Callable[..., Strengths], message: str, hint: str) -> Diagnosis:
    """Recognise an answer chosen from other numbers: ``choose`` makes them from the exercise's arguments."""
    return looks_like(lambda *arguments: _strongest(choose(*arguments)), message, hint)


FIND_HEAD = Exercise(
    title="exercise 4, find the head",
    name="find_head",
    takes=("record", "query_token", "key_token"),
    gives=("layer", "head"),
    reference=_find_head,
    cases=_cases,
    diagnoses=(
        _choosing_from(
            lambda record, query, key: _strengths(record, key, query),
            "You look at the weight that the key gives to the query.",
            "In `weights[l, k, i, j]`, which of `i` and `j` is the token that looks?",
        ),
        looks_like(
            lambda *arguments: int(_strengths(*arguments).argmax()),
            "You return one number that counts through all heads of all layers.",
            "argmax counts as if the array were flat. How many heads does it pass in each layer?",
        ),
        looks_like(
            lambda *arguments: tuple(index + 1 for index in _find_head(*arguments)),
            "You count layers and heads from 1.",
            "The record counts from 0, as Python does.",
        ),
        looks_like(
            _average_first,
            "You average before you choose: the best layer on average, the best head on average.",
            "One single head is asked for. It may stand in a layer that is weak on the whole.",
        ),
        *(
            _choosing_from(
                lambda *arguments, chosen=chosen: _strengths(*arguments, *chosen),
                "You take the last occurrence of a token.",
                "`the` and `cat` stand there more than once: the first of each is meant.",
            )
            for chosen in ((max, max), (max, min), (min, max))
        ),
        _choosing_from(
            lambda record, query, key: record.weights.max(axis=(2, 3)),
            "You look for the largest weight between any two tokens.",
            "Choose the two tokens first, then the head.",
        ),
        _choosing_from(
            lambda *arguments: -_strengths(*arguments),
            "You found the head with the smallest weight.",
            "The strongest weight is the largest.",
        ),
    ),
    start="Begin with the places of the two tokens in `record.tokens`. Which weights of (L, h, S, S) are left then?",
    onward="Does the head you found look from `it` to a noun in other sentences too, or only in this one?",
)
