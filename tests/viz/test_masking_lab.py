"""The Python side of the masking lab: what it accepts, and what it writes."""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from bertbook.records import TokenRecord
from bertbook.viz import MaskingLab
from bertbook.viz.embed import bundle_css, bundle_js

CAT = TokenRecord(
    ("[CLS]", "the", "straw", "##berries", "[SEP]"),
    (True, False, False, False, True),
    (-1, 0, 1, 1, -1),
    ("run", "##ing", "blue"),
)
DOG = TokenRecord(("[CLS]", "dog", "[SEP]"), (True, False, True), (-1, 0, -1), ("run", "##ing", "blue"))
WEATHER = TokenRecord(("[CLS]", "天", "气", "[SEP]"), (True, False, False, True), (-1, 0, 0, -1), ("好", "热"))
STATE = ["text", "rate", "mask_share", "random_share", "whole_words", "seed", "rolls"]


def payload(html: str) -> dict[str, Any]:
    return json.loads(re.search(r'<script type="application/json">(.*?)</script>', html, re.DOTALL)[1])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"text": 1.0}, TypeError, r"text=1.0: a whole number is needed"),
        ({"text": 2}, IndexError, r"text=2: choose 0 to 1"),
        ({"text": -1}, IndexError, r"text=-1: choose 0 to 1"),
        ({"rate": 15}, ValueError, r"rate=15: a share from 0 to 1"),
        ({"rate": "0.15"}, TypeError, r"rate='0.15': a share from 0 to 1"),
        ({"rate": float("nan")}, ValueError, r"rate=nan: a share"),
        ({"mask_share": True}, TypeError, r"mask_share=True: a share"),
        ({"random_share": 0.3}, ValueError, r"mask_share=0.8 and random_share=0.3 are more than 1 together"),
        ({"whole_words": 1}, TypeError, r"whole_words=1: True or False"),
        ({"seed": -1}, ValueError, r"seed=-1: a whole number from 0 to 4294967295"),
        ({"seed": 2**32}, ValueError, r"seed=4294967296: a whole number"),
        ({"rolls": 0}, ValueError, r"rolls=0: a whole number from 1 to 10000"),
        ({"rolls": 10_001}, ValueError, r"rolls=10001: a whole number from 1 to 10000"),
        ({"id": "two words"}, ValueError, r"id='two words': use letters"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        MaskingLab(CAT, DOG, **arguments)


def test_bad_records() -> None:
    with pytest.raises(ValueError, match=r"no text to mask: pass at least one record"):
        MaskingLab()
    with pytest.raises(TypeError, match=r"found a str; pass records, as record_tokens\(tokenizer, text\) makes"):
        MaskingLab("The cat sat.")  # type: ignore[arg-type]
    many = TokenRecord(("a",) * 65, (False,) * 65, tuple(range(65)), ("b",))
    with pytest.raises(ValueError, match=r"a text has 65 tokens; at most 64 fit"):
        MaskingLab(CAT, many)


@pytest.mark.parametrize("name", ["mask_share", "random_share"])
def test_setting_is_checked(name: str) -> None:
    lab = MaskingLab(CAT)
    with pytest.raises(ValueError, match="more than 1 together"):
        setattr(lab, name, 0.95)
    for other, value in {"text": 1, "rate": 2.0, "whole_words": None, "seed": 0.5, "rolls": 0}.items():
        with pytest.raises((IndexError, TypeError, ValueError)):
            setattr(lab, other, value)
    assert payload(lab.html())["state"] == payload(MaskingLab(CAT).html())["state"]


def test_setting_changes_the_picture() -> None:
    lab = MaskingLab(CAT, WEATHER)
    values = {
        "text": 1,
        "rate": 0.5,
        "mask_share": 0.25,
        "random_share": 0.75,
        "whole_words": True,
        "seed": 9,
        "rolls": 3,
    }
    for name, value in values.items():
        setattr(lab, name, value)
        assert getattr(lab, name) == value
    written = payload(lab.html())
    assert written["state"] == values
    assert list(written["state"]) == STATE
    assert written["initial"] == payload(MaskingLab(CAT, WEATHER).html())["state"]  # what the button goes back to
    assert repr(lab) == "MaskingLab(2 texts, text=1, rolls=3)"
    assert repr(MaskingLab(CAT)) == "MaskingLab(1 text, text=0, rolls=1)"


def test_texts_of_one_tokenizer_share_their_sample() -> None:
    written = payload(MaskingLab(CAT, WEATHER, DOG).html())
    assert written["samples"] == [["run", "##ing", "blue"], ["好", "热"]]
    assert [text["sample"] for text in written["texts"]] == [0, 1, 0]
    assert written["texts"][0] == {
        "tokens": list(CAT.tokens),
        "special": [1, 0, 0, 0, 1],
        "words": [-1, 0, 1, 1, -1],
        "sample": 0,
    }


def test_can_be_read_without_a_script() -> None:
    html = MaskingLab(CAT, mask="<mask>").html()
    assert "Of the tokens [CLS] the straw ##berries [SEP], special ones apart, 15% are chosen; of these 80%" in html
    assert "80% become &lt;mask&gt;, 10% another token, 10% stay." in html


def test_nothing_breaks_out() -> None:
    nasty = ("</script><script>alert(1)</script>", "<!--", "<img src=x onerror=alert(1)>")
    record = TokenRecord(nasty, (False,) * 3, (0, 1, 2), nasty)
    html = MaskingLab(record, caption="</strong><script>alert(2)</script>").html()
    assert payload(html)["texts"][0]["tokens"] == list(nasty)
    for text in ("<script>alert", "<img", "<!--"):
        assert text not in html


def test_module_is_whole_and_alone() -> None:
    module = bundle_js("masking-lab")
    assert not re.search(r"^\s*import\b", module, re.MULTILINE)
    assert re.findall(r"^export .*$", module, re.MULTILINE) == [
        "export { mount, render };",
        "export default { render };",
    ]
    for code in (module, bundle_css("masking-lab")):
        assert not re.search(r"https?:(?!//www\.w3\.org/2000/svg)|@import|url\(|</script|</style|<!--", code)


def test_ids_are_stable_and_told_apart() -> None:
    assert MaskingLab(CAT).id == MaskingLab(CAT, rate=0.5).id
    assert re.fullmatch(r"masking-[0-9a-f]{8}", MaskingLab(CAT).id)
    assert MaskingLab(CAT).id != MaskingLab(DOG).id
    assert MaskingLab(CAT, caption="Masking lab").id == "masking-masking-lab"
    assert MaskingLab(CAT, id="mine").id == "mine"


def test_payload_is_small(tmp_path: Path) -> None:
    sample = tuple(f"token{number}" for number in range(200))
    full = TokenRecord(tuple(f"t{i}" for i in range(64)), (False,) * 64, tuple(range(64)), sample)
    lab = MaskingLab(full, full, full)
    text = lab.save_html(tmp_path / "page.html").read_text(encoding="utf-8")
    assert lab.html() in text
    assert len(gzip.compress(text.encode())) < 16_000
