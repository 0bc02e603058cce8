"""Sentences: English and Chinese by example, and nothing is ever lost."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertbook.text.sentences import split_sentences
from tests.text.samples import AWKWARD

# One list a text: joined by blanks (English) or by nothing (Chinese) they must come apart again.
ENGLISH = [
    ["Mr. Smith met Dr. Jones in Washington.", "They talked."],
    ["J. K. Rowling wrote it.", "It sold well."],
    ["It costs $3.50, up 2.5%.", "Nobody minded."],
    ["The U.S. economy grew.", "So did the U.K. economy."],
    ["She got a Ph.D. in 1990.", "He left at 5 p.m. on Monday."],
    ['"Is it so?" he asked.', '"It is."', "She left."],
    ["He said “Go away.”", "Then he left."],
    ["What?!", "No!", "Yes..."],
    ["See the list (e.g. No. 5).", "Then go on."],
    ["😀 Hello there.", "😀 Goodbye."],
]
CHINESE = [
    ["今天天气很好。", "我们去公园吧！", "你来吗？"],
    ["他说：“我走了。”", "然后他离开了。"],
    ["“真的吗？！”", "她问。"],
    ["「好。」", "走了。"],
    ["（这是说明。）", "《书》很好。"],
    ["增幅为２８．３％，人均3.5元。", "３月１日到期。"],
    ["也许吧……", "天黑了。"],
    ["他问“你好吗？”，我没有回答。", "后来也没有。"],
    ['他说："好。"', "然后走了。", '"是吗？"'],
    ["网址是a.com/x?b=1，请看。", "真的!", "好?"],
]


@pytest.mark.parametrize("sentences", ENGLISH, ids=lambda sentences: sentences[0])
def test_english(sentences: list[str]) -> None:
    assert split_sentences(" ".join(sentences)) == sentences
    assert split_sentences(" ".join(sentences), "en") == sentences


@pytest.mark.parametrize("sentences", CHINESE, ids=lambda sentences: sentences[0])
def test_chinese(sentences: list[str]) -> None:
    assert split_sentences("".join(sentences)) == sentences
    assert split_sentences("".join(sentences), "zh") == sentences


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\u2028", "\n \n"])
def test_a_line_end_ends_a_sentence(end: str) -> None:
    assert split_sentences(f"A title{end}One. Two.{end}今天。明天。{end}") == [
        "A title",
        "One.",
        "Two.",
        "今天。",
        "明天。",
    ]


def test_each_line_has_its_own_language() -> None:
    text = "Dr. Jones came. He left.\nDr. Jones是谁？他来了。"
    assert split_sentences(text) == ["Dr. Jones came.", "He left.", "Dr. Jones是谁？", "他来了。"]


@given(
    st.lists(
        st.sampled_from([*"ab A。！？…”「」\"'.?!,，()（） \n\r\u2028３．é", "Mr. ", "e.g. ", "…… "]), max_size=60
    ).map("".join)
    | st.text()
    | st.sampled_from(list(AWKWARD.values())),
    st.sampled_from([None, "en", "zh"]),
)
def test_nothing_is_lost(text: str, language: str | None) -> None:
    sentences = split_sentences(text, language)
    assert all(sentence.strip() == sentence != "" for sentence in sentences)
    assert "".join("".join(sentences).split()) == "".join(text.split())
    assert not any(len(sentence.splitlines()) != 1 for sentence in sentences)


@pytest.mark.parametrize(
    "unit", ["a", "A cat. ", "“Ah. ", "(He said, ", "今天。", "“啊", "…", '"', "a "], ids=lambda unit: repr(unit)
)
def test_a_line_of_a_million_characters(unit: str) -> None:
    text = (unit * 1_000_000)[:1_000_000] + "，"
    start = time.process_time()
    sentences = split_sentences(text)
    assert time.process_time() - start < 30  # seconds; unbounded, some of these take minutes
    assert "".join("".join(sentences).split()) == "".join(text.split())


def test_english_without_an_end_is_cut_at_a_blank() -> None:
    words = ["word"] * 5000 + ["end."]
    sentences = split_sentences(" ".join(words))
    assert len(sentences) == 3
    assert " ".join(sentences).split() == words


def test_refusals() -> None:
    with pytest.raises(ValueError, match='language=\'fr\': expected "en", "zh", or None'):
        split_sentences("Bonjour.", "fr")
    with pytest.raises(TypeError, match="text is bytes"):
        split_sentences(b"One.")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"text is not valid Unicode.*U\+D800, at character 2"):
        split_sentences("a \ud800")
    assert split_sentences("") == split_sentences(" \n\u3000") == []
