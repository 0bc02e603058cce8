"""What sentence pairs and their baselines refuse."""

from random import Random
from typing import Any

import pytest

from bertbook.text.documents import Document
from bertbook.text.pair_baselines import length_baseline, overlap_baseline
from bertbook.text.pairs import sentence_pairs
from tests.text.pair_samples import TOKENIZER, documents

TWO = (Document(("a1 .", "a2 ."), "s", "one"), Document(("a3 .", "a4 ."), "s", "two"))
SINGLE = Document(("a1 .",), "s", "single")


@pytest.mark.parametrize(
    ("given", "options", "error", "message"),
    [
        ("a text", {}, TypeError, "documents is str: expected a sequence of Document"),
        (iter(TWO), {}, TypeError, r"documents is tuple_iterator: .*; list\(documents\) makes one"),
        (7, {}, TypeError, "documents is int"),
        ((), {}, ValueError, "documents is empty"),
        (["One. Two."], {}, TypeError, r"documents\[0\] is str: expected Document; .*split_sentences"),
        (TWO, {"objective": "NSP"}, ValueError, "objective='NSP': expected one of 'nsp', 'sop', 'none'"),
        (TWO, {"max_length": 4}, ValueError, "max_length=4: it must be a whole number of at least 5, 3 special tokens"),
        (TWO, {"max_length": 3, "objective": "none"}, ValueError, "at least 4, 2 special tokens"),
        (TWO, {"max_length": 128.0}, ValueError, r"max_length=128\.0"),
        (TWO, {"short_rate": 1.5}, ValueError, r"short_rate=1\.5: it must be a share from 0 to 1"),
        (TWO, {"short_rate": float("nan")}, ValueError, "short_rate=nan"),
        (TWO, {"short_rate": True}, ValueError, "short_rate=True"),
        (TWO, {"seed": -1}, ValueError, "seed=-1: it must be a whole number of at least 0"),
        (TWO, {"epoch": 0.5}, ValueError, r"epoch=0\.5"),
        (TWO, {"across_documents": True}, ValueError, "across_documents=True with objective='nsp'"),
        (
            TWO[:1],
            {},
            ValueError,
            r"need two documents of a source.*source 's' has one .*documents\[0\]: add documents",
        ),
        ([*TWO, Document(("a .", "b ."), "t")], {}, ValueError, r"source 't' has one document .* documents\[2\]"),
        ([TWO[0], SINGLE], {}, ValueError, "source 's' has one document of two sentences or more"),
        ([SINGLE, SINGLE], {}, ValueError, "every document has one sentence only"),
    ],
)
def test_refused_at_once(given: Any, options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        sentence_pairs(given, TOKENIZER, **options)


def test_refused_when_nothing_comes() -> None:
    with pytest.raises(ValueError, match=r"no pairs: .* a pair needs two sentences of one document"):
        list(sentence_pairs([SINGLE, SINGLE], TOKENIZER, objective="sop"))
    with pytest.raises(ValueError, match="no sequences: none of the 1 documents has a token"):
        list(sentence_pairs([Document(("\u200b",))], TOKENIZER, objective="none"))


class Listed(list[Document]):
    """With a list of sources, so that nothing is read beforehand."""

    sources: tuple[str, ...] = ()


def test_a_list_of_sources() -> None:
    corpus = Listed(TWO)
    with pytest.raises(ValueError, match=r"documents\.sources has 0 entries for 2 documents"):
        sentence_pairs(corpus, TOKENIZER)
    corpus.sources = ("s", "t")
    with pytest.raises(ValueError, match="source 's' has one document"):
        sentence_pairs(corpus, TOKENIZER)
    lonely = Listed([*documents(1, Random(0), sentences=(9, 9)), SINGLE, SINGLE])
    lonely.sources = ("s", "s", "s")
    with pytest.raises(ValueError, match=r"source 's' has one document of two sentences or more, documents\[0\]"):
        list(sentence_pairs(lonely, TOKENIZER, max_length=20))
    corpus = Listed([TWO[0], "no document"])  # type: ignore[list-item]
    corpus.sources = ("s", "s")
    with pytest.raises(TypeError, match=r"documents\[1\] is str: expected Document"):
        list(sentence_pairs(corpus, TOKENIZER))


@pytest.mark.parametrize("epoch", [-1, 1.0])
def test_epochs(epoch: Any) -> None:
    with pytest.raises(ValueError, match=f"epoch={epoch}: it must be a whole number"):
        sentence_pairs(TWO, TOKENIZER).at_epoch(epoch)


def test_baselines() -> None:
    pairs = list(sentence_pairs(documents(40, Random(0)), TOKENIZER))
    packed = list(sentence_pairs(documents(40, Random(0)), TOKENIZER, objective="none"))
    with pytest.raises(ValueError, match="3 pairs: at least 4 are needed"):
        overlap_baseline(pairs[:3])
    with pytest.raises(ValueError, match="no labels to guess"):
        overlap_baseline(packed)
    with pytest.raises(ValueError, match="no labels to guess"):
        length_baseline(packed, TOKENIZER)
