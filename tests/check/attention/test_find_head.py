"""Exercise 4: wrong answers as readers write them, and what they are told."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from bertbook import AttentionRecord, Bert, Tokenizer, check, record_attention


def pair(record: AttentionRecord, *tokens: str, query_last: bool = False, key_last: bool = False) -> Any:
    """(L, h): the weights from one token to the other."""
    query, key = tokens
    where = {token: place for place, token in enumerate(record.tokens)}  # the last
    i = where[query] if query_last else record.tokens.index(query)
    j = where[key] if key_last else record.tokens.index(key)
    return record.weights[:, :, i, j]


def best(strength: Any) -> tuple[int, int]:
    """By a plain loop over layers and heads."""
    return max(np.ndindex(strength.shape), key=lambda place: float(strength[place]))


FIND_HEAD: dict[str, tuple[Any, str]] = {
    "the other way round": (lambda r, q, k: best(pair(r, k, q)), "weight that the key gives to the query"),
    "flat": (lambda *a: pair(*a).argmax(), "one number that counts through all heads"),
    "flat, as an int": (lambda *a: int(pair(*a).argmax()), "one number that counts through all heads"),
    "from 1": (lambda *a: tuple(x + 1 for x in best(pair(*a))), "count layers and heads from 1"),
    "averages": (lambda *a: (pair(*a).mean(1).argmax(), pair(*a).mean(0).argmax()), "average before you choose"),
    "last of both": (lambda *a: best(pair(*a, query_last=True, key_last=True)), "the last occurrence"),
    "last query": (lambda *a: best(pair(*a, query_last=True)), "the last occurrence"),
    "last key": (lambda *a: best(pair(*a, key_last=True)), "the last occurrence"),
    "any two tokens": (lambda r, q, k: best(r.weights.max((2, 3))), "the largest weight between any two tokens"),
    "the weakest": (lambda *a: best(-pair(*a)), "smallest weight"),
    "head first": (lambda *a: best(pair(*a))[::-1], "but not in the order `layer`, `head`"),
    "the layer alone": (lambda *a: best(pair(*a))[0], "returns `layer` alone, which is right, but `head` is missing"),
    "the weight too": (lambda *a: (*best(pair(*a)), pair(*a).max()), "it returns a tuple of 3; it should return 2"),
    "floats": (lambda *a: tuple(float(x) for x in best(pair(*a))), "`layer` is a float and should be an int"),
    "one answer for ever": (lambda *a: (0, 0), "and should be"),
}


@pytest.mark.parametrize("mistake", FIND_HEAD)
def test_attention_4(mistake: str, refused: Callable[..., None]) -> None:
    refused(check.attention_4, *FIND_HEAD[mistake])


def test_attention_4_accepts_a_loop_and_numbers_of_every_kind() -> None:
    assert check.attention_4(lambda *a: best(pair(*a)))
    assert check.attention_4(lambda *a: np.unravel_index(pair(*a).argmax(), pair(*a).shape))
    assert check.attention_4(lambda *a: torch.tensor(best(pair(*a))).unbind())


def test_the_solution_finds_a_head_in_the_real_model(
    minilm: tuple[Bert, Tokenizer], solutions: Callable[[str], ModuleType]
) -> None:
    sentence = "The animal didn't cross the street because it was too tired."
    record = record_attention(*minilm, sentence)
    layer, head = solutions("attention").find_head(record, "it", "animal")
    i, j = record.tokens.index("it"), record.tokens.index("animal")
    strongest = max(float(record.weights[index][i, j]) for index in np.ndindex(record.num_layers, record.num_heads))
    assert float(record.weights[layer, head, i, j]) == strongest
    assert best(pair(record, "it", "animal")) == (layer, head)
