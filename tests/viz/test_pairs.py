"""The Python side of the pair builder: what it accepts, and what it writes."""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from bertbook.text.documents import Document
from bertbook.viz import PairBuilder
from bertbook.viz.embed import bundle_css, bundle_js

DOCUMENTS = [Document([f"d{n} s{i} ." for i in range(4)], "s", f"doc {n}") for n in range(3)]


def builder(documents: Any = DOCUMENTS, tokenize: Any = str.split, **arguments: Any) -> PairBuilder:
    return PairBuilder(documents, tokenize, **arguments)


def payload(html: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json">(.*?)</script>', html, re.DOTALL)
    assert found
    data: dict[str, Any] = json.loads(found[1])
    return data


LONG = Document(["a"] * 41, "s", "long")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"documents": "text"}, TypeError, "documents is str: a list of documents is needed"),
        ({"documents": DOCUMENTS[:1]}, ValueError, "there are 1 documents; 2 to 12 can be shown"),
        ({"documents": DOCUMENTS * 5}, ValueError, "there are 15 documents; 2 to 12 can be shown: slice them"),
        ({"documents": ["a", "b"]}, TypeError, r"documents\[0\] is str: sentences, source and name are needed"),
        (
            {"documents": [*DOCUMENTS, LONG]},
            ValueError,
            r"documents\[3\] has 41 .* at most 40 .*sentences\[:40\]",
        ),
        ({"documents": [*DOCUMENTS, Document(["a", "b"], "t", "x")]}, ValueError, "source 't' has one document .* 'x'"),
        ({"tokenize": lambda text: [1]}, TypeError, r"tokenize\('d0 s0 \.'\) gives \[1\]: a list of strings"),
        ({"tokenize": lambda text: []}, ValueError, r"sentence 0 of documents\[0\], 'd0 s0 \.', has no pieces"),
        ({"tokenize": lambda text: ["a"] * 600}, ValueError, "the documents have 7200 pieces; at most 6000 fit"),
        ({"objective": "mlm"}, ValueError, "objective='mlm': expected one of 'nsp', 'sop', 'none'"),
        ({"max_length": 7}, ValueError, "max_length=7: a whole number from 8 to 128 is needed"),
        ({"max_length": 129}, ValueError, "max_length=129"),
        ({"max_length": 64.0}, ValueError, r"max_length=64\.0"),
        ({"seed": -1}, ValueError, "seed=-1: a whole number from 0 to 9999 is needed"),
        ({"seed": True}, ValueError, "seed=True"),
        ({"id": "two words"}, ValueError, "id='two words': use letters"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        builder(**arguments)


def test_setting() -> None:
    shown = builder()
    assert repr(shown) == "PairBuilder(3 documents, nsp, max_length=64)"
    shown.objective, shown.max_length, shown.seed, shown.pair = "sop", 32, 9, 2
    assert payload(shown.html())["state"] == {"objective": "sop", "max_length": 32, "seed": 9, "pair": 2}
    assert payload(shown.html())["initial"] == {"objective": "nsp", "max_length": 64, "seed": 0, "pair": 0}
    for name, value in {"objective": "mlm", "max_length": 0, "seed": 10_000, "pair": -1}.items():
        with pytest.raises(ValueError, match=f"{name}="):
            setattr(shown, name, value)
    assert (shown.objective, shown.max_length, shown.seed, shown.pair) == ("sop", 32, 9, 2)


def test_documents_of_one_sentence_may_stand_alone() -> None:
    builder([*DOCUMENTS, Document(["alone ."], "t", "x")])


def test_what_is_written() -> None:
    data = payload(builder().html())
    assert data["documents"][1] == {
        "name": "doc 1",
        "source": "s",
        "sentences": list(DOCUMENTS[1].sentences),
        "pieces": [["d1", f"s{i}", "."] for i in range(4)],
    }
    nameless = payload(builder([Document(["a", "b"]), Document(["c", "d"])]).html())
    assert [document["name"] for document in nameless["documents"]] == ["document 0", "document 1"]


def test_without_a_script_the_documents_are_named() -> None:
    html = builder([Document(["a", "b"], "", "<b>"), Document(["c", "d"], "", "二")]).html()
    assert "drawn from documents: &lt;b&gt; (2 sentences); 二 (2 sentences).</p>" in html


def test_nothing_breaks_out() -> None:
    nasty = "</script><script>alert(1)</script> <!-- <img src=x onerror=alert(1)>"
    documents = [Document([nasty, "b"], nasty, nasty), Document(["c", nasty], nasty, "x")]
    html = builder(documents, caption="</strong><script>alert(2)</script>").html()
    assert payload(html)["documents"][0]["sentences"][0] == nasty
    for text in ("<script>alert", "<img", "<!--"):
        assert text not in html


def test_module_is_whole_and_alone() -> None:
    module = bundle_js("pair-builder")
    assert not re.search(r"^\s*import\b", module, re.MULTILINE)
    assert re.findall(r"^export .*$", module, re.MULTILINE) == [
        "export { mount, render };",
        "export default { render };",
    ]
    for code in (module, bundle_css("pair-builder")):
        assert not re.search(r"https?:(?!//www\.w3\.org/2000/svg)|@import|url\(|</script|</style|<!--", code)


def test_ids_are_stable_and_told_apart() -> None:
    assert re.fullmatch(r"pairs-[0-9a-f]{8}", builder().id)
    assert builder().id == builder(seed=3).id
    assert builder().id != builder(DOCUMENTS[:2]).id
    assert builder(caption="From documents to pairs").id == "pairs-from-documents-to-pairs"
    assert builder(id="mine").id == "mine"


def test_payload_is_small(tmp_path: Path) -> None:
    text = builder().save_html(tmp_path / "page.html").read_text(encoding="utf-8")
    assert len(gzip.compress(text.encode())) < 16_000
