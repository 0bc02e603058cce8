"""From a segmentation to the word of each token, through the offsets."""

import builtins
import subprocess
import sys
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bertbook.text.masking import IGNORED, MaskingPolicy
from bertbook.text.words import segment_chinese, words_from_segmentation
from tests.text.mask_samples import TOKENIZER

WEATHER = ["今天", "天气", "很", "好"]
TRIP = ["我们", "去", "北京"]


def word_ids(*rows: Any) -> list[list[int]]:
    texts = [tuple("".join(text) for text in row) if isinstance(row, tuple) else "".join(row) for row in rows]
    return words_from_segmentation(TOKENIZER(texts, return_offsets=True), list(rows)).tolist()


def test_rows_of_words() -> None:
    assert word_ids(WEATHER, TRIP) == [[-1, 0, 0, 1, 1, 2, 3, -1], [-1, 0, 0, 1, 2, 2, -1, -1]]


def test_a_pair_counts_on() -> None:
    assert word_ids((WEATHER, TRIP)) == [[-1, 0, 0, 1, 1, 2, 3, -1, 4, 4, 5, 6, 6, -1]]
    assert word_ids(([], TRIP), (WEATHER, [])) == [
        [-1, -1, 0, 0, 1, 2, 2, -1, -1],
        [-1, 0, 0, 1, 1, 2, 3, -1, -1],
    ]


def test_english_with_its_spaces() -> None:
    """Spaces are words without tokens; a token that reaches over the end of a word belongs to where it begins."""
    assert word_ids(["w0", " ", "w1", "p2", " ", "w3"]) == [[-1, 0, 2, 3, 5, -1]]
    assert word_ids(["w", "0", " ", "w1"]) == [[-1, 0, 3, -1]]


def test_is_what_whole_word_masking_takes() -> None:
    batch = TOKENIZER("".join(WEATHER), return_offsets=True)
    words = words_from_segmentation(batch, [WEATHER])
    policy = MaskingPolicy(TOKENIZER, rate=0.5, whole_words=True)
    seen = {tuple((policy(batch["input_ids"], words)[1][0] != IGNORED).tolist()[1:-1]) for _ in range(300)}
    assert len(seen) == 2 ** len(WEATHER)
    assert all(chosen[0] == chosen[1] and chosen[2] == chosen[3] for chosen in seen)


@given(st.lists(st.lists(st.sampled_from("今天气很好我们去"), min_size=1, max_size=4), max_size=8))
def test_every_character_has_its_word(words: list[list[str]]) -> None:
    rows = ["".join(word) for word in words]
    expected = [number for number, word in enumerate(rows) for _ in word]
    assert word_ids(rows) == [[-1, *expected, -1]]


@given(st.text(alphabet="今天气很好我们去北京，。 abc12\n", max_size=40))
def test_jieba_leaves_nothing_out(text: str) -> None:
    words = segment_chinese(text)
    assert "".join(words) == text
    batch = TOKENIZER(text, return_offsets=True)
    found = words_from_segmentation(batch, [words])
    assert torch.equal(found >= 0, batch["offset_mapping"][..., 1] > 0)


def test_jieba_finds_words() -> None:
    assert segment_chinese("我们去北京") == TRIP


def test_jieba_says_nothing() -> None:
    """Not even the first time: a chapter whose cell writes to standard error fails the book's build."""
    code = "from bertbook.text.words import segment_chinese; segment_chinese('我们去北京')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stderr == done.stdout == b""


def test_without_jieba(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name: str, *arguments: Any, **keywords: Any) -> Any:
        if name == "jieba":
            raise ImportError("No module named 'jieba'")
        return real(name, *arguments, **keywords)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(ImportError, match=r"needs jieba, which is not installed: pip install jieba; or pass words"):
        segment_chinese("我们")


def test_what_is_refused() -> None:
    batch = TOKENIZER("今天天气很好", return_offsets=True)
    with pytest.raises(TypeError, match=r"text is list: expected str"):
        segment_chinese(WEATHER)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"no offset_mapping: make it with tokenizer\(texts, return_offsets=True\)"):
        words_from_segmentation(TOKENIZER("今天"), [["今天"]])
    with pytest.raises(ValueError, match=r"words for 4 rows and a batch of 1: one list of words for each row"):
        words_from_segmentation(batch, WEATHER)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"words\[0\] is '今天天气很好': expected a list of words"):
        words_from_segmentation(batch, ["今天天气很好"])
    with pytest.raises(ValueError, match=r"words\[0\] joined have 4 characters, and there is a token from 4 to 5"):
        words_from_segmentation(batch, [WEATHER[:2]])
    pair = TOKENIZER([("今天", "天气")], return_offsets=True)
    with pytest.raises(ValueError, match=r"joined have 0 characters in the second text, and there is a token from 0"):
        words_from_segmentation(pair, [["今天"]])
    pair["token_type_ids"].zero_()  # as RoBERTa's are
    with pytest.raises(ValueError, match=r"words\[0\] is a pair, and its token_type_ids are all 0"):
        words_from_segmentation(pair, [(["今天"], ["天气"])])
