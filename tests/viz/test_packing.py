"""The Python side of the padding and packing widget: what it accepts, what it computes, and what it writes."""

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bertbook.viz import PackingExplorer
from bertbook.viz.embed import bundle_css, bundle_js
from bertbook.viz.layouts import layout_costs

LENGTHS = [5, 2, 9, 2]
TOKENS = [["[CLS]", "a", "b", "c", "[SEP]"], ["[CLS]", "[SEP]"]]


def payload(html: str) -> dict[str, Any]:
    return json.loads(re.search(r'<script type="application/json">(.*?)</script>', html, re.DOTALL)[1])


@pytest.mark.parametrize(
    ("batch", "error", "message"),
    [
        ([], ValueError, r"there are no rows; a batch has at least one"),
        (np.zeros((0, 3), int), ValueError, r"there are no rows"),
        ([3, 0, 2], ValueError, r"row 1 has length 0; 1 to 16,384 tokens can be drawn"),
        ([3, -1], ValueError, r"row 1 has length -1; 1 to"),
        ([16_385], ValueError, r"row 0 has length 16,385; 1 to 16,384 tokens"),
        ([1] * 513, ValueError, r"there are 513 rows; at most 512 can be drawn: pass lengths\[:512\]"),
        (np.ones(200_000, int), ValueError, r"there are 200,000 rows; at most 512"),
        ([2.0, 3.0], TypeError, r"the lengths hold float64; whole numbers, one a row, are needed"),
        ([True, False], TypeError, r"the lengths hold bool; whole numbers"),
        (["two", "rows"], TypeError, r"batch=\['two', 'rows'\]: text is not cut here. Pass a list of tokens for each"),
        ("text", TypeError, r"batch='text': text is not cut here"),
        (None, TypeError, r"the lengths hold object"),
        (7, ValueError, r"the lengths have shape \(\); whole numbers, one a row"),
        ([[1, 1, 0], [1, 0, 0]], ValueError, r"shape \(2, 3\); .*: of an attention mask, attention_mask\.sum\(1\)"),
        ([[1, 2], [3]], TypeError, r"the lengths cannot be read as an array"),
        ([["a", "b"], 3], TypeError, r"batch\[1\]=3: a list of tokens is needed, as in the other rows"),
        ([["a", "b"], ["c", 3]], TypeError, r"batch\[1\]=\['c', 3\]: a list of tokens"),
        ([["a"], []], ValueError, r"row 1 has length 0"),
        ([["a"], ["[PAD]", "[PAD]"]], ValueError, r"row 1 has length 0"),
        ([["a"] * 3, ["b"] * 20_000], ValueError, r"row 1 has length 20,000"),
    ],
)
def test_bad_batches(batch: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        PackingExplorer(batch)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"groups": 0}, ValueError, r"groups=0: choose 1 to 4"),
        ({"groups": 5}, ValueError, r"groups=5: choose 1 to 4"),
        ({"groups": 2.0}, TypeError, r"groups=2.0: a whole number from 1 to 4 is needed"),
        ({"layout": "sorted"}, ValueError, r"layout='sorted': choose 'padded', 'bucketed' or 'packed'"),
        ({"focus": 4}, IndexError, r"focus=4: choose 0 to 3"),
        ({"focus": -1}, IndexError, r"focus=-1: choose 0 to 3"),
        ({"focus": "0"}, TypeError, r"focus='0': a whole number from 0 to 3"),
        ({"hidden_size": 0}, ValueError, r"hidden_size=0: choose 1 to 65,536"),
        ({"hidden_size": 768.0}, TypeError, r"hidden_size=768.0: a whole number"),
        ({"intermediate_size": 0}, ValueError, r"intermediate_size=0: choose 1"),
        ({"num_layers": -2}, ValueError, r"num_layers=-2: choose 1"),
        ({"id": "two words"}, ValueError, r"id='two words': use letters"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        PackingExplorer(LENGTHS, **arguments)


@pytest.mark.parametrize("make", [list, tuple, np.array, torch.tensor, lambda x: np.array(x, np.uint8)])
def test_lists_arrays_and_tensors_are_alike(make: Callable[[Any], Any]) -> None:
    assert PackingExplorer(make(LENGTHS)).html() == PackingExplorer(LENGTHS).html()


def test_tokens_give_their_lengths_and_padding_is_none_of_them() -> None:
    shown = PackingExplorer([TOKENS[0], [*TOKENS[1], "[PAD]", "[PAD]", "[PAD]"]])
    assert shown.lengths.tolist() == [5, 2]
    assert payload(shown.html())["tokens"] == TOKENS
    assert shown.html() == PackingExplorer(tuple(map(tuple, TOKENS))).html()
    inside = PackingExplorer([["a", "[PAD]", "b"]])
    assert inside.lengths.tolist() == [3]  # in between, it is a token that somebody wrote


def test_defaults() -> None:
    shown = PackingExplorer(range(1, 33))
    assert (shown.groups, shown.layout, shown.focus, shown.seed) == (4, "padded", None, None)
    assert (shown.hidden_size, shown.intermediate_size, shown.num_layers) == (768, 3072, 12)
    assert PackingExplorer([3], hidden_size=256).intermediate_size == 1024
    assert PackingExplorer([3, 4]).groups == 2
    assert shown.caption == "Padding and packing: 32 rows of 1 to 32 tokens"
    assert PackingExplorer([1]).caption == "Padding and packing: 1 row of 1 token"
    assert repr(PackingExplorer([7, 7])) == "PackingExplorer(2 rows of 7 tokens)"


def test_costs_follow_the_state() -> None:
    sizes = {"hidden_size": 8, "intermediate_size": 20, "num_layers": 3}
    shown = PackingExplorer(LENGTHS, groups=2, **sizes)
    assert shown.costs == layout_costs(LENGTHS, 2, **sizes)
    shown.groups, shown.lengths = 3, [4, 4, 1]
    assert shown.costs == layout_costs([4, 4, 1], 3, **sizes)
    assert shown.cu_seqlens.tolist() == [0, 4, 8, 9]
    assert shown.cu_seqlens.dtype == np.int32


def test_setting_is_checked_and_kept() -> None:
    shown = PackingExplorer(LENGTHS, focus=3)
    shown.groups, shown.layout, shown.focus = np.int64(3), "packed", 2
    assert payload(shown.html())["state"] == {
        "lengths": LENGTHS, "groups": 3, "layout": "packed", "focus": 2, "seed": None,
    }  # fmt: skip
    for name, value, error in [
        ("groups", 5, ValueError), ("layout", "", ValueError), ("focus", 4, IndexError), ("lengths", [0], ValueError),
    ]:  # fmt: skip
        before = shown.html()
        with pytest.raises(error):
            setattr(shown, name, value)
        assert shown.html() == before
    shown.lengths = [8, 1]  # groups and focus no longer fit
    assert (shown.groups, shown.focus) == (2, None)
    assert payload(shown.html())["initial"]["lengths"] == LENGTHS  # what the button goes back to


def test_reading_gives_copies() -> None:
    shown = PackingExplorer(LENGTHS)
    shown.lengths[0] = 99
    assert shown.lengths.tolist() == LENGTHS


def test_numbers_can_be_read_without_a_script() -> None:
    html = PackingExplorer(LENGTHS, groups=2, hidden_size=8, intermediate_size=20, num_layers=3).html()
    assert "a batch of 18 tokens in three layouts, bucketed in 2 groups: padded, 36 tokens (50% padding) and " in html
    assert "packed, 18 tokens (0% padding) and " in html


def test_nothing_breaks_out() -> None:
    nasty = [["</script><script>alert(1)</script>", "<!--", "<img src=x onerror=alert(1)>"]]
    html = PackingExplorer(nasty, caption="</strong><script>alert(2)</script>").html()
    assert payload(html)["tokens"] == nasty
    for text in ("<script>alert", "<img", "<!--"):
        assert text not in html


def test_module_is_whole_and_alone() -> None:
    module = bundle_js("packing-explorer")
    assert not re.search(r"^\s*import\b", module, re.MULTILINE)
    assert re.findall(r"^export .*$", module, re.MULTILINE) == [
        "export { mount, render };",
        "export default { render };",
    ]
    for code in (module, bundle_css("packing-explorer")):
        assert not re.search(r"https?:(?!//www\.w3\.org/2000/svg)|@import|url\((?!#)|</script|</style|<!--", code)


def test_ids_are_stable_and_told_apart() -> None:
    assert PackingExplorer(LENGTHS).id == PackingExplorer(LENGTHS, groups=1, focus=2).id
    assert re.fullmatch(r"packing-[0-9a-f]{8}", PackingExplorer(LENGTHS).id)
    assert PackingExplorer([5, 2, 9]).id != PackingExplorer(LENGTHS).id
    assert PackingExplorer([["a"]]).id != PackingExplorer([["b"]]).id
    assert PackingExplorer(LENGTHS, caption="One batch").id == "packing-one-batch"
    assert PackingExplorer(LENGTHS, caption="One batch", id="mine").id == "mine"


def test_payload_is_small(tmp_path: Path) -> None:
    lengths = np.random.default_rng(0).integers(1, 513, 256)
    text = PackingExplorer(lengths).save_html(tmp_path / "page.html").read_text(encoding="utf-8")
    assert len(gzip.compress(text.encode())) < 20_000
