"""Differences in words, of kinds of value that the exercises so far do not ask for."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch

from bertbook.check.compare import difference, kind, printable, rounding, same, unchanged


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (1.00000001, 1.0),
        (1, 1.0),
        (np.float64(0.5), 0.5),
        (torch.tensor(0.5), 0.5),
        (np.int32(3), 3),
        (["[CLS]", "a"], ["[CLS]", "a"]),
        (torch.tensor([torch.inf, torch.nan]), torch.tensor([torch.inf, torch.nan])),
        ([1, "a"], (1, "a")),
    ],
)
def test_no_difference(given: object, expected: object) -> None:
    assert difference(given, expected, ("a", "b"), 1e-5) is None
    assert same(given, expected, 1e-5)


@pytest.mark.parametrize(
    ("given", "expected", "words"),
    [
        (1.1, 1.0, "`a` is 1.1 and should be 1.0."),
        (True, 1, "`a` is a bool and should be an int."),
        (np.int32(4), 3, "`a` is 4 and should be 3."),
        (["[CLS]"], ["[CLS]", "a"], "`a` is ['[CLS]'] and should be ['[CLS]', 'a']."),
        (("x",), ["x"], "`a` is a tuple of 1 and should be a list of 1."),
        (torch.ones(2), torch.zeros(3), "`a` has shape (2,) and should have (3,)."),
        (
            torch.tensor(2),
            torch.tensor(3),
            "1 of 1 numbers in `a` are wrong; the first is `a`: it is 2 and should be 3.",
        ),
        (
            torch.tensor([1.0, torch.inf]),
            torch.tensor([1.0, 2.0]),
            "1 of 2 numbers in `a` are NaN (not a number) or infinite.",
        ),
        (torch.tensor([1.0, 5.0]), torch.tensor([1.0, torch.nan]), "the first is `a[1]`: it is 5 and should be nan."),
        ((1, 2), (1, 3), "`b` is 2 and should be 3."),
        ((2, 1), (1, 2), "It returns the right things, but not in the order `a`, `b`."),
        ((1, 2, 3), (1, 2), "It returns a tuple of 3; it should return 2 things: `a`, `b`."),
        (2, (1, 2), "It returns `b` alone, which is right, but `a` is missing."),
    ],
)
def test_a_difference_in_words(given: object, expected: object, words: str) -> None:
    found = difference(given, expected, ("a", "b"), 1e-5)
    assert found is not None
    assert found.message.endswith(words)
    assert not same(given, expected, 1e-5)


def test_rounding_needs_numbers_that_were_rounded() -> None:
    expected = torch.tensor([0.12345678, 2 / 3])
    found = rounding(torch.tensor([0.12, 0.67]), expected, ("a",))
    assert found is not None
    assert "rounded to 2 decimals" in found.message
    for other in (torch.tensor([0.12, 0.66]), torch.tensor([0.12]), torch.tensor([1, 2]), expected, 3, None, [0.12]):
        assert rounding(other, expected, ("a",)) is None


@dataclass
class Holder:
    numbers: Any


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (torch.zeros(2), torch.tensor([0.0, 1e-30])),
        (torch.zeros(2), torch.zeros(1, 2)),
        (torch.zeros(2), torch.zeros(2, dtype=torch.float64)),
        (np.zeros(2), np.array([0.0, 1e-30])),
        (np.zeros(2), np.zeros(2, dtype=np.float32)),
        (Holder(np.zeros(2)), Holder(np.ones(2))),
        ([1, 2], [2, 1]),
    ],
)
def test_a_change_of_an_argument(before: object, after: object) -> None:
    assert unchanged(before, before)
    assert not unchanged(after, before)


def test_kinds_have_their_article() -> None:
    assert [kind(value) for value in (1, "a", [1, 2], None, np.zeros((2, 1)))] == [
        "an int",
        "a str",
        "a list of 2",
        "`None`",
        "a NumPy array of shape (2, 1)",
    ]


def test_printable_is_one_short_line() -> None:
    assert printable("a\n  b\tc.") == "a b c"
    assert printable("\x1b[31mred\ud800") == "\ufffd[31mred\ufffd"
    assert len(printable("x" * 10_000)) == 300


def test_a_gradient_that_is_asked_for() -> None:
    numbers = torch.ones(2)
    expected = torch.ones(2, requires_grad=True) * 1
    found = difference(numbers, expected, ("a",), 1e-5)
    assert found is not None
    assert found.message == "The numbers in `a` are right, but no gradient flows back through them."
    assert same(expected.clone(), expected, 1e-5)
    assert same(expected, numbers, 1e-5)  # one that is not asked for does no harm
    wrong = difference(2 * numbers, expected, ("a",), 1e-5)
    assert wrong is not None
    assert "2 of 2 numbers" in wrong.message
