"""The two published vocabularies by name, and that they give what the reference library gives, whatever the text."""

import re
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import BertTokenizerFast

from bertbook import Tokenizer, load_corpus, load_tokenizer
from bertbook.pretrained import locate
from bertbook.wheel import sha256
from tests.text.samples import AWKWARD

# The files of these names on the hub have these hashes.
VOCAB_TXT = {
    "bert-base-uncased": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
    "bert-base-chinese": "45bbac6b341c319adc98a532532882e91a9cefc0329aa57bac9ae761c27b291c",
}
Both = tuple[Tokenizer, BertTokenizerFast]


@pytest.fixture(scope="module", params=VOCAB_TXT)
def both(request: pytest.FixtureRequest) -> Both:
    """Ours and theirs."""
    path = locate(request.param, tokenizer_only=True) / "vocab.txt"
    return load_tokenizer(request.param), BertTokenizerFast(vocab=str(path))


@pytest.fixture(scope="module")
def cased() -> Both:
    """Both vocabularies are made for lower case; without it the awkward cases are others."""
    path = locate("bert-base-chinese", tokenizer_only=True) / "vocab.txt"
    return Tokenizer.from_vocab(path, lowercase=False), BertTokenizerFast(vocab=str(path), do_lower_case=False)


def assert_same(both: Both, text: str, pair: str | None) -> None:
    ours, theirs = both
    item = text if pair is None else (text, pair)
    batch = ours([item], return_offsets=True, return_word_ids=True)
    expected = theirs([item], return_offsets_mapping=True)
    word_ids = batch.pop("word_ids")[0].tolist()
    for name, tensor in batch.items():
        wanted = [list(x) if isinstance(x, tuple) else x for x in expected[name][0]]
        alike = tensor[0].tolist() == wanted  # on its own: of a million ids pytest shows no difference in time
        assert alike, name
    words = [-1 if word is None else word for word in expected.word_ids(0)]
    first = words[: word_ids.index(-1, 1)]  # in the second text the reference counts from 0 again
    alike = word_ids[: len(first)] == first
    assert alike


@pytest.mark.parametrize("name", VOCAB_TXT)
def test_the_files_are_the_published_ones(name: str) -> None:
    assert sha256(locate(name, tokenizer_only=True) / "vocab.txt") == VOCAB_TXT[name]


def test_the_vocabularies_are_the_references(both: Both) -> None:
    ours, theirs = both
    # The reference strips its lines, so that the line separator, which no text reaches, is "" there.
    assert {token.replace("\u2028", ""): number for token, number in ours.vocab.items()} == theirs.get_vocab()


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_texts(both: Both, cased: Both, name: str) -> None:
    for pair in (both, cased):
        assert_same(pair, AWKWARD[name], None)
        assert_same(pair, "北京 The start", AWKWARD[name])


CHARACTERS = sorted({character for text in AWKWARD.values() for character in text})
PIECES = st.one_of(
    st.sampled_from(CHARACTERS),
    st.characters(exclude_categories=["Cs"]),
    st.sampled_from(["[MASK]", "[SEP]", "##", "the", "ing", "北京", "e\u0301", "Ａ１", " ", "  ", "\u200b", "-", "’s"]),
    st.sampled_from([" ", "a", "狗", "é"]).flatmap(lambda part: st.integers(90, 110).map(lambda count: part * count)),
)
TEXTS = st.lists(PIECES, max_size=40).map("".join)


@settings(max_examples=150)
@given(text=TEXTS, pair=st.none() | TEXTS)
def test_any_text(both: Both, cased: Both, text: str, pair: str | None) -> None:
    assert_same(both, text, pair)
    assert_same(cased, text, pair)


def test_every_character_that_there_is(both: Both) -> None:
    """Every assigned code point, alone and inside a word; a few thousand in each text."""
    assigned = [c for c in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(c) not in ("Cn", "Co", "Cs")]
    assert len(assigned) > 140_000
    ours, theirs = both
    for start in range(0, len(assigned), 4096):
        text = " ".join(f"{c} x{c}y" for c in assigned[start : start + 4096])
        alike = ours.encode(text) == theirs.encode(text)
        assert alike, f"U+{ord(assigned[start]):04X} and the 4095 that follow"


@pytest.mark.parametrize("corpus", ["bbc-news", "peoples-daily"])
def test_real_text(both: Both, corpus: str) -> None:
    ours, theirs = both
    texts = [" ".join(document.sentences) for document in load_corpus(corpus, "held-out")]
    assert len(texts) > 100
    batch = ours(texts)
    for ids, mask, expected in zip(
        batch["input_ids"], batch["attention_mask"].bool(), theirs(texts)["input_ids"], strict=True
    ):
        assert ids[mask].tolist() == expected


@pytest.mark.parametrize("part", ["a", "e\u0301", "The 狗 “ate” １２. "], ids=["a word", "accents", "a text"])
def test_a_line_of_a_million_characters(part: str) -> None:
    both = load_tokenizer("bert-base-chinese"), BertTokenizerFast(vocab=load_tokenizer("bert-base-chinese").vocab)
    text = (part * 1_000_000)[:1_000_000]
    ids = both[0].encode(text)
    alike = ids == both[1].encode(text)
    assert alike
    batch = both[0](text, max_length=512, return_offsets=True)
    assert batch["input_ids"][0].tolist() == [*ids[:511], ids[-1]][: len(ids)]


# --- by name ----------------------------------------------------------------------------------------------------


def test_the_chinese_vocabulary() -> None:
    tokenizer = load_tokenizer("bert-base-chinese")
    assert len(tokenizer) == 21_128
    assert tokenizer.tokens_to_ids(["狗", "\u2028", "[MASK]"]) == [4318, tokenizer.vocab["\u2028"], 103]
    assert tokenizer.tokenize("BERT读北京。") == ["be", "##rt", "读", "北", "京", "。"]
    capitals = {token for token in tokenizer.vocab if any(map(str.isupper, token))}
    assert capitals == {*tokenizer.special_tokens, "<S>", "<T>"}  # so it wants lower case


def test_the_english_vocabulary(minilm: tuple[object, Tokenizer]) -> None:
    tokenizer = load_tokenizer("bert-base-uncased")
    assert len(tokenizer) == 30_522
    assert tokenizer.vocab == load_tokenizer("minilm").vocab == minilm[1].vocab


def test_a_folder(tmp_path: Path) -> None:
    Tokenizer.from_vocab(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a"]).save(tmp_path)
    assert len(load_tokenizer(tmp_path)) == len(load_tokenizer(str(tmp_path))) == 6


def test_unknown_names(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"'bert-base-chines' is no tokenizer .*did you mean 'bert-base-chinese'\?"):
        load_tokenizer("bert-base-chines")
    with pytest.raises(
        ValueError, match=re.escape("load_tokenizer takes the names 'minilm', 'bert-base-uncased', 'be")
    ):
        load_tokenizer("nothing")
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere.*load_tokenizer takes"):
        load_tokenizer(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match=r"looked for tokenizer\.json, then for vocab\.txt"):
        load_tokenizer(tmp_path)
