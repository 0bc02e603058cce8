"""A text as a record for the masking lab."""

import pytest

from bertbook.records import TokenRecord
from bertbook.text.masking import drawable_ids
from bertbook.text.recording import record_tokens
from tests.text.mask_samples import TOKENIZER, VOCAB


def test_a_text() -> None:
    record = record_tokens(TOKENIZER, "w0 w1p2p3 ? w2")
    assert record.tokens == ("[CLS]", "w0", "w1", "##p2", "##p3", "[UNK]", "w2", "[SEP]")
    assert record.special == (True, False, False, False, False, True, False, True)  # [UNK] is never chosen
    assert record.word_ids == (-1, 0, 1, 1, 1, 2, 3, -1)
    assert len(record) == 8


def test_a_text_cut_into_words() -> None:
    words = ["今天", "天气", "很", "好"]
    record = record_tokens(TOKENIZER, "".join(words), words=words)
    assert record.word_ids == (-1, 0, 0, 1, 1, 2, 3, -1)
    assert record_tokens(TOKENIZER, "".join(words)).word_ids == (-1, 0, 1, 2, 3, 4, 5, -1)


def test_what_may_be_drawn() -> None:
    may = [VOCAB[number] for number in drawable_ids(TOKENIZER)]
    few, many = (record_tokens(TOKENIZER, "w0", sample=size).drawable for size in (8, 1000))
    assert many == tuple(may)  # of so many draws none is missing
    assert 4 <= len(few) <= 8
    assert set(few) < set(may)
    assert record_tokens(TOKENIZER, "w1", sample=8).drawable == few  # the same ones each time


@pytest.mark.parametrize("sample", [0, -1, 1.5, "all"])
def test_a_sample_that_cannot_be(sample: object) -> None:
    with pytest.raises(ValueError, match="expected a whole number of at least 1"):
        record_tokens(TOKENIZER, "w0", sample=sample)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"tokens": "ab"}, TypeError, r"tokens must be a list of str, found 'ab'"),
        ({"tokens": (1, 2)}, TypeError, r"tokens must be a list of str, found \(1, 2\)"),
        ({"special": (0, 1)}, TypeError, r"special must be a list of bool"),
        ({"word_ids": (0.0, 1.0)}, TypeError, r"word_ids must be a list of int"),
        ({"drawable": ()}, ValueError, r"2 tokens and 0 to draw from: at least one of each"),
        ({"tokens": (), "special": (), "word_ids": ()}, ValueError, r"0 tokens and 1 to draw from"),
        ({"special": (True,)}, ValueError, r"2 tokens, 1 special flags and 2 word_ids: one each is needed"),
        ({"word_ids": (0,)}, ValueError, r"2 tokens, 2 special flags and 1 word_ids"),
    ],
)
def test_records_that_do_not_fit(arguments: dict[str, object], error: type[Exception], message: str) -> None:
    fields = {"tokens": ("a", "b"), "special": (False, True), "word_ids": (0, -1), "drawable": ("c",), **arguments}
    with pytest.raises(error, match=message):
        TokenRecord(**fields)  # type: ignore[arg-type]


def test_lists_will_do() -> None:
    record = TokenRecord(["a"], [False], [0], ["b"])  # type: ignore[arg-type]
    assert record == TokenRecord(("a",), (False,), (0,), ("b",))
    assert hash(record)
