"""Replacements and a Unicode form before BERT's own normaliser, and offsets that lead back through all of it."""

import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer as Backend
from tokenizers import normalizers

from bertbook import Tokenizer, load_tokenizer
from bertbook.text.normalising import PLAIN_PUNCTUATION

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
TEXT = "“ＢＥＲＴ”——１９９８年…"


@pytest.fixture(scope="module")
def chinese() -> Tokenizer:
    return load_tokenizer("bert-base-chinese")


@pytest.fixture(scope="module")
def plain(chinese: Tokenizer) -> Tokenizer:
    return chinese.with_normalisation(unicode="NFKC", replace=PLAIN_PUNCTUATION)


def pieces(tokenizer: Tokenizer, text: str) -> list[tuple[str, str]]:
    """Each token, and what of the text it comes from."""
    batch = tokenizer(text, return_offsets=True)
    offsets = batch["offset_mapping"][0].tolist()
    tokens = tokenizer.ids_to_tokens(batch["input_ids"][0])
    return [(token, text[start:end]) for token, (start, end) in zip(tokens, offsets, strict=True)][1:-1]


def test_another_preparation_of_a_published_vocabulary(chinese: Tokenizer, plain: Tokenizer) -> None:
    assert chinese.tokenize("“１９９８”") == ["[UNK]", "１", "##９", "##９", "##８", "[UNK]"]
    assert pieces(plain, TEXT) == [
        ('"', "“"),
        ("be", "ＢＥ"),
        ("##rt", "ＲＴ"),
        ('"', "”"),
        ("-", "—"),
        ("-", "—"),
        ("1998", "１９９８"),
        ("年", "年"),
        (".", "…"),
        (".", "…"),
        (".", "…"),
    ]
    assert chinese.tokenize("“１９９８”")[0] == "[UNK]", "the one it was made from stays as it was"
    assert plain.vocab == chinese.vocab
    assert repr(chinese.with_normalisation()) == repr(chinese)


def test_it_can_be_done_again(chinese: Tokenizer, plain: Tokenizer) -> None:
    twice = chinese.with_normalisation(unicode="NFKC").with_normalisation(replace=PLAIN_PUNCTUATION)
    assert pieces(twice, TEXT) == pieces(plain, TEXT)


@pytest.mark.parametrize("unicode", ["NFC", "NFD", "NFKC", "NFKD"])
def test_saved_and_read_again(tmp_path: Path, chinese: Tokenizer, unicode: Any) -> None:
    tokenizer = chinese.with_normalisation(unicode=unicode, replace={"年": "岁"})
    tokenizer.save(tmp_path)
    again = Tokenizer.from_folder(tmp_path)
    assert pieces(again, TEXT) == pieces(tokenizer, TEXT)
    assert ("岁", "年") in pieces(again, TEXT)
    # In tokenizer.json alone, so that nobody reads half of it.
    assert {path.name for path in tmp_path.iterdir()} == {"tokenizer.json", "tokenizer_config.json"}


def test_the_list_of_plain_punctuation(chinese: Tokenizer, plain: Tokenizer) -> None:
    assert [mark for mark in PLAIN_PUNCTUATION if mark in chinese.vocab] == ["„"]
    assert "[UNK]" not in plain.tokenize("".join(PLAIN_PUNCTUATION))
    for old, new in PLAIN_PUNCTUATION.items():
        assert unicodedata.category(old).startswith("P")
        assert new.isascii()


WORDS = st.text("aéÉ1Ａ１ﬁ㈱①“—…狗Ω", min_size=1, max_size=8)


@given(words=st.lists(WORDS, max_size=6), blank=st.sampled_from([" ", "\u3000", "\u200b ", "\t"]))
def test_offsets_lead_back_through_normalising(plain: Tokenizer, words: list[str], blank: str) -> None:
    """What stands at a token's offsets, normalised in the same way, contains the token."""
    text = blank.join(words)
    for token, original in pieces(plain, text):
        assert original
        changed = "".join(PLAIN_PUNCTUATION.get(character, character) for character in original)
        form = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", changed).lower())
        bare = "".join(character for character in form if unicodedata.category(character) != "Mn")
        assert token == "[UNK]" or token.removeprefix("##") in bare


def test_what_is_refused(chinese: Tokenizer) -> None:
    with pytest.raises(ValueError, match="unicode='UTF-8': choose one of 'NFC'"):
        chinese.with_normalisation(unicode="UTF-8")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="replace is list: expected a mapping"):
        chinese.with_normalisation(replace=[("a", "b")])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("steps", "found"),
    [
        ([normalizers.Lowercase(), normalizers.BertNormalizer()], "Lowercase + BertNormalizer"),
        ([normalizers.BertNormalizer(), normalizers.NFKC()], "BertNormalizer + NFKC"),
        ([normalizers.NFKC()], "NFKC"),
    ],
)
def test_other_normalisers_are_no_berts(steps: list[Any], found: str) -> None:
    backend = Backend.from_str(Tokenizer.from_vocab(SPECIAL).backend.to_str())
    backend.normalizer = normalizers.Sequence(steps)
    with pytest.raises(ValueError, match="not a BERT tokenizer") as caught:
        Tokenizer(backend)
    assert f"its normalizer is {found}, BERT's is BertNormalizer" in str(caught.value)
