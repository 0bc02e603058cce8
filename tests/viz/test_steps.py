"""The Python side of the step-by-step widget: what it accepts, what it computes, and what it writes."""

import gzip
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bertbook.model.attention import scaled_dot_product_attention
from bertbook.viz import AttentionSteps
from bertbook.viz.embed import bundle_css, bundle_js

QUERY = [1, 0, 2]
KEYS = [[0, 1, 1], [4, 4, 0], [2, 3, 1]]
VALUES = [[1, 2, 3], [2, 8, 0], [2, 6, 3]]


def steps(**arguments: Any) -> AttentionSteps:
    return AttentionSteps(**{"query": QUERY, "keys": KEYS, "values": VALUES, **arguments})


def payload(html: str) -> dict[str, Any]:
    return json.loads(re.search(r'<script type="application/json">(.*?)</script>', html, re.DOTALL)[1])


def replaced(rows: list[list[int]], value: float) -> list[list[float]]:
    """The rows with one number, at [1][2], changed."""
    return [rows[0], [*rows[1][:2], value], *rows[2:]]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"query": [1, 0]}, ValueError, r"query has 2 entries and keys have 3: both need the same d"),
        ({"values": VALUES[:2]}, ValueError, r"there are 3 keys and 2 values: one value a key is needed"),
        ({"query": [QUERY]}, ValueError, r"query has shape \(1, 3\); \(d,\) .*: one query at a time, as query\[0\]"),
        ({"keys": QUERY}, ValueError, r"keys has shape \(3,\); \(T, d\) is needed"),
        ({"values": [VALUES]}, ValueError, r"values has shape \(1, 3, 3\); \(T, d_v\) is needed"),
        ({"query": 1.0}, ValueError, r"query has shape \(\); \(d,\) is needed"),
        ({"query": []}, ValueError, r"query is empty: shape \(0,\); \(d,\) with no 0 in it is needed"),
        ({"keys": np.zeros((0, 3))}, ValueError, r"keys is empty: shape \(0, 3\)"),
        ({"values": np.zeros((3, 0))}, ValueError, r"values is empty: shape \(3, 0\)"),
        ({"query": [1, math.nan, 2]}, ValueError, r"query\[1\] is nan; numbers from -1,000,000 to 1,000,000"),
        ({"keys": replaced(KEYS, math.inf)}, ValueError, r"keys\[1, 2\] is inf; numbers from"),
        ({"values": replaced(VALUES, -1e6 - 1)}, ValueError, r"values\[1, 2\] is -1000001.0; numbers from"),
        ({"query": "one"}, TypeError, r"query holds <U3; numbers of shape \(d,\) are needed"),
        ({"keys": [["a", "b"]]}, TypeError, r"keys holds <U1; numbers"),
        ({"query": None}, TypeError, r"query holds object; numbers"),
        ({"query": [1j, 0, 2]}, TypeError, r"query holds complex128; numbers"),
        ({"query": [True, False, True]}, TypeError, r"query holds bool; numbers"),
        ({"keys": [[1, 2, 3], [4]]}, TypeError, r"keys cannot be read as an array .*; pass numbers of shape \(T, d\)"),
        ({"query": torch.ones(3, requires_grad=True)}, TypeError, r"query cannot be read .*\.detach\(\)\.cpu\(\)"),
        ({"keys": np.zeros((13, 3)), "values": np.zeros((13, 3))}, ValueError, r"keys has 13 rows; .* keys\[:12\]"),
        ({"query": np.zeros(9), "keys": np.zeros((3, 9))}, ValueError, r"query has 9 .*query\[:8\], keys\[:, :8\]"),
        ({"values": np.zeros((3, 9))}, ValueError, r"values has 9 columns; .* Slice them: values\[:, :8\]"),
        ({"mask": [1, 0, 1]}, TypeError, r"mask holds int64; True \(may be looked at\) or False .*: mask == 1"),
        ({"mask": [True]}, ValueError, r"mask has shape \(1,\); \(3,\) is needed"),
        ({"scaled": 1}, TypeError, r"scaled=1: True"),
        ({"tokens": "abc"}, TypeError, r"tokens='abc': a list of strings"),
        ({"tokens": [1, 2, 3]}, TypeError, r"a list of strings is needed"),
        ({"tokens": ["a"]}, ValueError, r"there are 3 keys and 1 tokens"),
        ({"id": "two words"}, ValueError, r"id='two words': use letters"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        steps(**arguments)


def test_the_largest_that_fits() -> None:
    shown = AttentionSteps(np.ones(8), np.ones((12, 8)), np.full((12, 8), 1e6))
    assert shown.output.tolist() == pytest.approx([1e6] * 8)
    assert repr(shown) == "AttentionSteps(12 keys, d=8, d_v=8)"
    assert repr(AttentionSteps([1], [[1]], [[1]])) == "AttentionSteps(1 key, d=1, d_v=1)"


@pytest.mark.parametrize("make", [list, np.array, torch.tensor, lambda rows: torch.tensor(rows).float()])
def test_lists_arrays_and_tensors_are_alike(make: Callable[[Any], Any]) -> None:
    assert steps(query=make(QUERY), keys=make(KEYS), values=make(VALUES)).html() == steps().html()


def test_by_hand() -> None:
    # The weights of the scores 2, 4, 4, undivided: exp(−2), 1 and 1 over their sum.
    shown = steps(scaled=False)
    e = math.exp(-2)
    assert shown.weights.tolist() == pytest.approx([e / (e + 2), 1 / (e + 2), 1 / (e + 2)])
    assert shown.output.round(3).tolist() == [1.937, 6.683, 1.595]


numbers = st.floats(-30, 30)


@given(st.data(), st.booleans())
def test_the_numbers_are_those_of_the_package(data: st.DataObject, scaled: bool) -> None:
    size, d, d_v = (data.draw(st.integers(1, most)) for most in (12, 8, 8))
    query, keys, values = (
        np.array(data.draw(st.lists(numbers, min_size=n, max_size=n))) for n in (d, size * d, size * d_v)
    )
    mask = data.draw(st.lists(st.booleans(), min_size=size, max_size=size))
    shown = AttentionSteps(
        query, keys.reshape(size, d), values.reshape(size, d_v), mask=np.array(mask, bool), scaled=scaled
    )
    # Undone before it is done: the package always divides.
    factor = 1 if scaled else math.sqrt(d)
    output, weights = scaled_dot_product_attention(
        torch.tensor(query * factor)[None],
        torch.tensor(keys.reshape(size, d)),
        torch.tensor(values.reshape(size, d_v)),
        torch.tensor(mask),
    )
    np.testing.assert_allclose(shown.weights, weights[0], atol=1e-12)
    np.testing.assert_allclose(shown.output, output[0], atol=1e-10)
    if not any(mask):
        assert not shown.weights.any()


def test_setting_changes_the_result() -> None:
    shown = steps()
    shown.query, shown.keys, shown.values = [0, 0, 1], np.eye(3), torch.ones(3, 3)
    shown.mask, shown.scaled = [True, False, True], False
    assert shown.weights.tolist() == pytest.approx([1 / (1 + math.e), 0, math.e / (1 + math.e)])
    state = payload(shown.html())["state"]
    assert state == {
        "query": [0, 0, 1],
        "key": np.eye(3).tolist(),
        "value": [[1] * 3] * 3,
        "mask": [True, False, True],
        "scaled": False,
    }
    assert payload(shown.html())["initial"] == payload(steps().html())["initial"]  # what the button goes back to


@pytest.mark.parametrize(
    ("name", "value", "error", "message"),
    [
        ("query", [1, 2], ValueError, r"query has shape \(2,\); it must stay \(3,\)"),
        ("keys", [[1, 2, 3]], ValueError, r"keys has shape \(1, 3\); it must stay \(3, 3\)"),
        ("values", [[math.nan] * 3] * 3, ValueError, r"values\[0, 0\] is nan"),
        ("mask", [True], ValueError, r"mask has shape \(1,\)"),
        ("scaled", None, TypeError, r"scaled=None"),
    ],
)
def test_setting_is_checked(name: str, value: Any, error: type[Exception], message: str) -> None:
    shown = steps()
    before = shown.html()
    with pytest.raises(error, match=message):
        setattr(shown, name, value)
    assert shown.html() == before


def test_reading_gives_copies() -> None:
    shown = steps()
    shown.query[0], shown.keys[0, 0], shown.mask[0] = 9, 9, False
    assert shown.html() == steps().html()


def test_numbers_can_be_read_without_a_script() -> None:
    html = steps(tokens=["猫", "<b>", "c"], mask=[False, True, True]).html()
    assert "Weights: 0.000 for 猫, 0.500 for &lt;b&gt;, 0.500 for c. Output: 2.000, 7.000, 1.500.</p>" in html


def test_nothing_breaks_out() -> None:
    nasty = ["</script><script>alert(1)</script>", "<!--", "<img src=x onerror=alert(1)>"]
    html = steps(tokens=nasty, caption="</strong><script>alert(2)</script>").html()
    assert payload(html)["tokens"] == nasty
    for text in ("<script>alert", "<img", "<!--"):
        assert text not in html


def test_module_is_whole_and_alone() -> None:
    module = bundle_js("attention-steps")
    assert not re.search(r"^\s*import\b", module, re.MULTILINE)
    assert re.findall(r"^export .*$", module, re.MULTILINE) == [
        "export { mount, render };",
        "export default { render };",
    ]
    for code in (module, bundle_css("attention-steps")):
        assert not re.search(r"https?:(?!//www\.w3\.org/2000/svg)|@import|url\(|</script|</style|<!--", code)


def test_ids_are_stable_and_told_apart() -> None:
    assert steps().id == steps(query=[5, 5, 5]).id  # numbers of a model differ from machine to machine
    assert re.fullmatch(r"steps-[0-9a-f]{8}", steps().id)
    assert steps(tokens=list("abc")).id != steps().id
    assert steps(values=[[1], [2], [3]]).id != steps().id
    assert steps(caption="One query").id == "steps-one-query"
    assert re.fullmatch(r"steps-[0-9a-f]{8}", steps(caption="注意力").id)
    assert steps(caption="One query", id="mine").id == "mine"


def test_payload_is_small(tmp_path: Path) -> None:
    full = AttentionSteps(*(np.random.default_rng(0).normal(size=size) for size in (8, (12, 8), (12, 8))))
    text = full.save_html(tmp_path / "page.html").read_text(encoding="utf-8")
    assert full.html() in text
    assert len(gzip.compress(text.encode())) < 18_000
