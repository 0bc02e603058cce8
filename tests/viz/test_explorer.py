"""The Python side of the explorer: what it accepts, what it writes, and how large that is."""

import base64
import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertbook import viz
from bertbook.records import AttentionRecord
from bertbook.viz.embed import bundle_css, bundle_js
from bertbook.viz.explorer import quantise

Make = Callable[..., AttentionRecord]


def payload(html: str) -> dict[str, Any]:
    return json.loads(re.search(r'<script type="application/json">(.*?)</script>', html, re.DOTALL)[1])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"layer": 2}, IndexError, r"layer=2 is outside the record: choose 0 to 1"),
        ({"layer": -1}, IndexError, r"layer=-1 is outside the record: choose 0 to 1"),
        ({"head": 3}, IndexError, r"head=3 is outside the record: choose 0 to 2"),
        ({"focus": 5}, IndexError, r"focus=5 is outside the record: choose 0 to 4"),
        ({"head": 1.0}, TypeError, r"head=1.0: a whole number from 0 to 2 is needed"),
        ({"head": None}, TypeError, r"head=None: a whole number"),
        ({"view": "graph"}, ValueError, r"view='graph': choose 'matrix' or 'lines'"),
        ({"id": "two words"}, ValueError, r"id='two words': use letters"),
        ({"id": "a\n"}, ValueError, r"use letters"),
    ],
)
def test_bad_arguments(random_record: Make, arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        viz.AttentionExplorer(random_record(), **arguments)


def test_bad_record() -> None:
    with pytest.raises(TypeError, match=r"record is a ndarray; pass an AttentionRecord, as record_attention"):
        viz.AttentionExplorer(np.zeros((1, 1, 2, 2)))


def test_state_is_checked_when_set(random_record: Make) -> None:
    explorer = viz.AttentionExplorer(random_record())
    explorer.layer, explorer.head, explorer.focus, explorer.view = np.int64(1), 2, 4, "lines"
    assert payload(explorer.html())["state"] == {"layer": 1, "head": 2, "focus": 4, "view": "lines"}
    for name, value in {"layer": 2, "head": -1, "focus": 5}.items():
        with pytest.raises(IndexError, match=f"{name}={value}"):
            setattr(explorer, name, value)
    with pytest.raises(ValueError, match="view='both'"):
        explorer.view = "both"
    explorer.focus = None
    assert (explorer.layer, explorer.head, explorer.focus, explorer.view) == (1, 2, None, "lines")


@given(st.lists(st.floats(0, 1, width=32), min_size=1))
def test_quantisation_error(weights: list[float]) -> None:
    exact = np.array(weights)
    read = (np.frombuffer(quantise(exact.astype(np.float32)), np.uint8) / 255.0) ** 2
    assert (np.abs(read - exact) <= np.sqrt(exact) / 255 + 1 / 510**2 + 1e-7).all()
    assert (np.abs(read - exact) < 0.004).all()


def test_rounding_above_one_is_no_wrap_around() -> None:
    assert quantise(np.float32([1.005, 1, 0])) == bytes([255, 255, 0])


def test_data_is_the_record(random_record: Make) -> None:
    record = random_record(2, 3, 5)
    data = payload(viz.AttentionExplorer(record).html())
    weights = np.frombuffer(base64.b64decode(data["weights"]["base64"]), np.uint8).reshape(2, 3, 5, 5)
    np.testing.assert_allclose((weights / 255.0) ** 2, record.weights, atol=0.004)
    assert (data["tokens"], data["layers"], data["heads"]) == (list(record.tokens), 2, 3)


def test_nothing_breaks_out(random_record: Make) -> None:
    nasty = ["</script><script>alert(1)</script>", "<!--", "<img src=x onerror=alert(1)>", '"', "&amp;", "\u2028"]
    record = random_record(1, 1, nasty, model="<b>m</b>")
    html = viz.AttentionExplorer(record, caption="</strong><script>alert(2)</script>").html()
    assert payload(html)["tokens"] == nasty
    assert "<script>alert" not in html
    assert "<img" not in html
    assert "<!--" not in html
    assert "<b>" not in html


def test_code_can_stand_in_inline_elements() -> None:
    assert "</script" not in bundle_js("attention-explorer").lower()
    assert "<!--" not in bundle_js("attention-explorer")
    assert "</style" not in bundle_css("attention-explorer").lower()


def test_module_is_whole_and_alone() -> None:
    module = bundle_js("attention-explorer")
    assert not re.search(r"^\s*import\b", module, re.MULTILINE)
    assert re.findall(r"^export .*$", module, re.MULTILINE) == [
        "export { mount, render };",
        "export default { render };",
    ]
    for code in (module, bundle_css("attention-explorer")):
        assert not re.search(r"https?:(?!//www\.w3\.org/2000/svg)|@import|url\(", code)


def test_ids_are_stable_and_told_apart(random_record: Make) -> None:
    def name(**arguments: Any) -> str:
        return payload(viz.AttentionExplorer(random_record(1, 1, ["a"]), **arguments).html())["id"]

    assert name(caption="One head, two sentences!") == "explorer-one-head-two-sentences"
    assert name(caption="One head", id="mine") == "mine"
    assert name() == name()
    assert re.fullmatch(r"explorer-[0-9a-f]{8}", name())
    assert re.fullmatch(r"explorer-[0-9a-f]{8}", name(caption="注意力"))
    other = viz.AttentionExplorer(random_record(1, 1, ["b"]))
    assert other.id != name()


def test_default_caption_names_model_and_size(random_record: Make) -> None:
    assert viz.AttentionExplorer(random_record(1, 1, 5, model="MiniLM")).caption == "Attention in MiniLM, 5 tokens"
    assert viz.AttentionExplorer(random_record(1, 1, 1)).caption == "Attention, 1 token"


def test_tokens_can_be_read_without_a_script(random_record: Make) -> None:
    html = viz.AttentionExplorer(random_record(1, 1, ["[CLS]", "猫", "<b>"])).html()
    assert "between these tokens: [CLS] 猫 &lt;b&gt;</p>" in html


def test_statistics_without_meaning_are_null(random_record: Make) -> None:
    statistics = payload(viz.AttentionExplorer(random_record(1, 2, 1)).html())["statistics"]
    assert statistics["cls"] == statistics["previous"] == [None, None]
    assert statistics["itself"] == [1, 1]


def test_save_html_writes_a_page(random_record: Make, tmp_path: Path) -> None:
    explorer = viz.AttentionExplorer(random_record(1, 1, ["猫"]), caption="<cats> & {dogs}")
    path = explorer.save_html(tmp_path / "page.html")
    text = path.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert "<title>&lt;cats&gt; &amp; {dogs}</title>" in text
    assert explorer.html() in text


def test_pieces_that_repeat_on_a_page_are_marked(random_record: Make) -> None:
    first, second = (viz.AttentionExplorer(random_record(), id=name).html() for name in ("one", "two"))
    marked = re.compile(r'<(script|style) data-bertbook-module="([^"]*)">.*?</\1>', re.DOTALL)
    assert [m[0] for m in marked.finditer(first)] == [m[0] for m in marked.finditer(second)]
    assert len({m[2] for m in marked.finditer(first)}) == 1
    rest = marked.sub("", second)
    assert payload(rest) == payload(second)
    assert rest.endswith(".mountAll()</script>")
    assert len(rest) < len(second) - 30_000


@pytest.mark.parametrize("size", [16, 32, 64])
def test_page_payload(random_record: Make, size: int) -> None:
    # Random weights hardly compress: a record of a 6 × 12 model never takes more than this.
    zipped = len(gzip.compress(viz.AttentionExplorer(random_record(6, 12, size)).html().encode()))
    assert zipped < 22_000 + 6 * 12 * size**2
    assert zipped < 300_000


def test_code_is_small() -> None:
    code = bundle_js("attention-explorer") + bundle_css("attention-explorer")
    assert len(gzip.compress(code.encode())) < 20_000
