"""Head statistics against numbers worked out by hand."""

import numpy as np
import pytest

from bertbook.records import AttentionRecord
from bertbook.viz.head_statistics import head_statistics, kinds


def record(*heads: list[list[float]], tokens: list[str]) -> AttentionRecord:
    return AttentionRecord(tokens, [0] * len(tokens), np.array([heads]))


def test_by_hand() -> None:
    weights = [[0.5, 0.25, 0.25], [0.0, 0.0, 1.0], [0.25, 0.25, 0.5]]
    statistics = head_statistics(record(weights, tokens=["[CLS]", "a", "[SEP]"]))
    expected = {
        "entropy": (1.5 + 0 + 1.5) / 3,
        "distance": ((0.25 * 1 + 0.25 * 2) + 1 + (0.25 * 2 + 0.25 * 1)) / 3,
        "cls": (0.5 + 0 + 0.25) / 3,
        "sep": (0.25 + 1 + 0.5) / 3,
        "itself": (0.5 + 0 + 0.5) / 3,
        "previous": (0 + 0.25) / 2,  # the first token has none before it
        "next": (0.25 + 1) / 2,  # the last has none after it
    }
    assert {name: value.item() for name, value in vars(statistics).items()} == pytest.approx(expected)


def test_several_separators_count_together() -> None:
    weights = [[0.0, 0.5, 0.5], [0.0, 0.5, 0.5], [0.0, 0.5, 0.5]]
    assert head_statistics(record(weights, tokens=["[CLS]", "[SEP]", "[SEP]"])).sep.item() == pytest.approx(1)


def test_uniform_head_has_the_full_entropy() -> None:
    for size in (2, 8, 64):
        uniform = np.full((size, size), 1 / size).tolist()
        statistics = head_statistics(record(uniform, tokens=["a"] * size))
        assert statistics.entropy.item() == pytest.approx(np.log2(size), abs=1e-6)
        # the mean of |i - j| over all pairs
        assert statistics.distance.item() == pytest.approx((size**2 - 1) / (3 * size), rel=1e-6)


def test_what_a_text_lacks_is_nan() -> None:
    statistics = head_statistics(record([[1.0]], tokens=["a"]))
    assert np.isnan([statistics.cls, statistics.sep, statistics.previous, statistics.next]).all()
    assert (statistics.entropy.item(), statistics.distance.item(), statistics.itself.item()) == (0, 0, 1)


def test_shapes_and_order_of_heads() -> None:
    eye, flat = np.eye(4), np.full((4, 4), 0.25)
    statistics = head_statistics(
        AttentionRecord(list("abcd"), [0] * 4, np.array([[eye, flat], [flat, eye], [eye, eye]]))
    )
    np.testing.assert_allclose(statistics.itself, [[1, 0.25], [0.25, 1], [1, 1]])


def test_kinds() -> None:
    size = 5
    tokens = ["[CLS]", "a", "b", "c", "[SEP]"]

    def to(column: int) -> np.ndarray:
        return np.eye(size)[np.full(size, column)]

    before = np.eye(size, k=-1) + np.eye(size)[0] * np.eye(size)[:, [0]]  # the first looks at itself
    after = np.eye(size, k=1) + np.eye(size)[-1] * np.eye(size)[:, [-1]]
    half = 0.49 * to(1) + 0.51 * to(2)  # one bit, no place named
    heads = np.array([[to(0), to(4), np.eye(size), before, after, np.full((size, size), 0.2), half]])
    names = kinds(head_statistics(AttentionRecord(tokens, [0] * size, heads)), size)
    assert names.tolist() == [["cls", "sep", "itself", "previous", "next", "broad", "mixed"]]
