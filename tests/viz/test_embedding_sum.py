"""The Python side of the embedding sum: what it accepts, what it computes, and what it writes."""

import gzip
import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from bertbook import Bert, Tokenizer, record_embeddings
from bertbook.records import EmbeddingRecord
from bertbook.viz import EmbeddingSum
from bertbook.viz.embed import bundle_css, bundle_js
from bertbook.viz.embedding_sum import quantise

Make = Callable[..., EmbeddingRecord]


def payload(html: str) -> dict[str, Any]:
    return json.loads(re.search(r'<script type="application/json">(.*?)</script>', html, re.DOTALL)[1])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"focus": 5}, IndexError, "focus=5 is outside the record: choose 0 to 4"),
        ({"focus": -1}, IndexError, "focus=-1"),
        ({"focus": "bank"}, TypeError, "focus='bank': a whole number from 0 to 4 is needed"),
        ({"token": 1}, TypeError, r"token=1: True \(added\) or False is needed"),
        ({"segment": None}, TypeError, "segment=None"),
        ({"position": "no"}, TypeError, "position='no'"),
        ({"id": "two words"}, ValueError, "id='two words': use letters"),
    ],
)
def test_bad_arguments(embedding_record: Make, arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        EmbeddingSum(embedding_record(), **arguments)


def test_not_a_record(embedding_record: Make) -> None:
    with pytest.raises(TypeError, match="record is a str; pass an EmbeddingRecord, as record_embeddings"):
        EmbeddingSum("text")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="65 tokens: at most 64 fit on a page; record a shorter text"):
        EmbeddingSum(embedding_record(65))
    EmbeddingSum(embedding_record(64))


@pytest.mark.parametrize("on", [(t, s, p) for t in (True, False) for s in (True, False) for p in (True, False)])
def test_output_is_layer_norm_of_the_parts_that_are_on(embedding_record: Make, on: tuple[bool, ...]) -> None:
    record = embedding_record()
    shown = EmbeddingSum(record, focus=3, token=on[0], segment=on[1], position=on[2])
    rows = [record.token[3], record.segment[record.segments[3]], record.position[3]]
    total = sum((torch.tensor(row) for row, is_on in zip(rows, on, strict=True) if is_on), torch.zeros(12))
    expected = torch.nn.functional.layer_norm(
        total, (12,), torch.tensor(record.weight), torch.tensor(record.bias), record.eps
    )
    np.testing.assert_allclose(shown.output, expected, atol=1e-5)


def test_setting_is_checked_and_seen(embedding_record: Make) -> None:
    shown = EmbeddingSum(embedding_record())
    shown.focus, shown.position = 4, False
    assert payload(shown.html())["state"] == {"focus": 4, "token": True, "segment": True, "position": False}
    before = shown.html()
    for name, value, error in (("focus", 9, IndexError), ("token", 0, TypeError), ("position", None, TypeError)):
        with pytest.raises(error):
            setattr(shown, name, value)
    assert shown.html() == before
    assert repr(shown) == "EmbeddingSum(EmbeddingRecord(5 tokens of 12 numbers), focus=4)"


@pytest.mark.parametrize("spread", [1e-3, 1.0, 300.0])
def test_numbers_are_off_by_half_a_step(spread: float) -> None:
    table = np.random.default_rng(0).normal(scale=spread, size=(7, 12)).astype(np.float32)
    data, scale = quantise(table)
    back = np.frombuffer(data, "<i2").reshape(7, 12) * scale
    assert np.abs(back - table).max() <= 0.5 * scale * (1 + 1e-6)
    assert scale == pytest.approx(np.abs(table).max() / 32767)
    assert quantise(np.zeros((2, 3), np.float32)) == (b"\0" * 12, 1.0)


def test_cosines(embedding_record: Make) -> None:
    record = embedding_record()
    record.position[5] = 0  # has no direction
    data = EmbeddingSum(record)._data()
    found = np.frombuffer(data["cosines"], np.uint8).reshape(20, 20) / 127.5 - 1
    expected = torch.nn.functional.cosine_similarity(
        torch.tensor(record.position)[:, None], torch.tensor(record.position), dim=-1
    )
    np.testing.assert_allclose(found, expected, atol=1 / 255 + 1e-6)
    assert data["positions"] == 20
    assert EmbeddingSum(embedding_record(positions=300))._data()["positions"] == 128


def test_the_largest_page_stays_light(minilm: tuple[Bert, Tokenizer]) -> None:
    """64 tokens of the real weights, the front-end included."""
    record = record_embeddings(*minilm, "The bank was steep. " * 12, "He")
    assert len(record) == 64
    assert len(gzip.compress(EmbeddingSum(record).html().encode())) < 200_000


def test_words_without_a_script(embedding_record: Make) -> None:
    record = embedding_record(["[CLS]", "<b>", "猫", "", "[SEP]"])
    html = EmbeddingSum(record, focus=1).html()
    length = np.linalg.norm(record.token[1])
    assert "first vectors of these tokens: [CLS] &lt;b&gt; 猫  [SEP]" in html
    assert f"Lengths of the parts of &lt;b&gt;: token {length:.2f}, segment" in html


def test_nothing_breaks_out(embedding_record: Make) -> None:
    nasty = ["</script><script>alert(1)</script>", "<!--", "<img src=x onerror=alert(1)>"]
    html = EmbeddingSum(embedding_record(nasty), caption="</strong><script>alert(2)</script>").html()
    assert payload(html)["tokens"] == nasty
    for text in ("<script>alert", "<img", "<!--"):
        assert text not in html


def test_module_is_whole_and_alone() -> None:
    module = bundle_js("embedding-sum")
    assert not re.search(r"^\s*import\b", module, re.MULTILINE)
    assert re.findall(r"^export .*$", module, re.MULTILINE) == [
        "export { mount, render };",
        "export default { render };",
    ]
    for code in (module, bundle_css("embedding-sum")):
        assert not re.search(r"https?:(?!//www\.w3\.org/2000/svg)|@import|url\(|</script|</style|<!--", code)


def test_ids_are_stable_and_told_apart(embedding_record: Make) -> None:
    assert EmbeddingSum(embedding_record()).id == EmbeddingSum(embedding_record()).id
    assert re.fullmatch(r"sum-[0-9a-f]{8}", EmbeddingSum(embedding_record()).id)
    assert EmbeddingSum(embedding_record(list("abc"))).id != EmbeddingSum(embedding_record(list("abd"))).id
    assert EmbeddingSum(embedding_record(), caption="One sum").id == "sum-one-sum"
    assert EmbeddingSum(embedding_record(), caption="One sum", id="mine").id == "mine"
