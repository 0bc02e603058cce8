"""Sentence pairs: what always holds, and how often each label and each length comes."""

import math
import pickle
from collections import Counter
from functools import cache
from itertools import chain, pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bertbook.text.batches import pad_batch
from bertbook.text.documents import Document
from bertbook.text.pair_baselines import length_baseline, overlap_baseline
from bertbook.text.pair_examples import IN_ORDER, IS_NEXT, NOT_NEXT, SWAPPED, PairExample, truncate_seq_pair
from bertbook.text.pairs import Objective, sentence_pairs
from bertbook.text.tokenizer import Tokenizer
from tests.text.pair_samples import TOKENIZER, documents, ids, is_within, uses

CLS, SEP = TOKENIZER.cls_token_id, TOKENIZER.sep_token_id


def check_pair(example: PairExample, corpus: list[Document], max_length: int) -> None:
    """What holds for every pair of whatever label."""
    assert example.second is not None
    assert example.input_ids == (CLS, *example.first, SEP, *example.second, SEP)
    assert example.token_type_ids == (0,) * (len(example.first) + 2) + (1,) * (len(example.second) + 1)
    assert len(example.input_ids) <= max_length
    wholes = [ids(corpus[place.document], place.start, place.stop) for place in example.places]
    for part, whole in zip((example.first, example.second), wholes, strict=True):
        assert part
        assert is_within(part, whole)
    if sum(map(len, wholes)) <= max_length - 3:
        assert [list(example.first), list(example.second)] == wholes
    else:
        assert len(example.input_ids) == max_length


corpora = st.builds(
    lambda seed, count, last, longest: documents(count, Random(seed), sentences=(2, last), tokens=(2, longest)),
    st.integers(0, 10**6),
    st.integers(4, 8),
    st.integers(2, 12),
    st.integers(2, 40),
)


@given(corpora, st.integers(5, 70), st.integers(0, 10**6), st.sampled_from([0.0, 0.1, 1.0]))
@settings(max_examples=60)
def test_next_sentence_pairs(corpus: list[Document], max_length: int, seed: int, short_rate: float) -> None:
    pairs = sentence_pairs(corpus, TOKENIZER, max_length=max_length, short_rate=short_rate, seed=seed)
    examples = list(pairs)
    for example in examples:
        check_pair(example, corpus, max_length)
        first, second = example.places
        if example.label == IS_NEXT:
            assert (second.document, second.start) == (first.document, first.stop)
        else:
            assert example.label == NOT_NEXT
            assert second.document != first.document
            assert corpus[second.document].source == corpus[first.document].source
            assert second.start >= 1
    # But for random segments every sentence is used once; only the last of a document may stay over, and
    # only where the two last made a pair, and the second of them was exchanged.
    used = uses(examples, random_too=False)
    last_first = {place.document: place.stop for place in (example.places[0] for example in examples)}
    for number, document in enumerate(corpus):
        for sentence in range(len(document)):
            left_over = sentence == len(document) - 1 and last_first[number] == sentence
            assert used[number, sentence] == 1 or (left_over and used[number, sentence] == 0)


@given(corpora, st.integers(5, 70), st.integers(0, 10**6), st.sampled_from([0.0, 0.1, 1.0]))
@settings(max_examples=60)
def test_sentence_order_pairs(corpus: list[Document], max_length: int, seed: int, short_rate: float) -> None:
    pairs = sentence_pairs(corpus, TOKENIZER, objective="sop", max_length=max_length, short_rate=short_rate, seed=seed)
    examples = list(pairs)
    for example in examples:
        check_pair(example, corpus, max_length)
        earlier, later = example.places if example.label == IN_ORDER else example.places[::-1]
        assert example.label in (IN_ORDER, SWAPPED)
        assert (later.document, later.start) == (earlier.document, earlier.stop)
    used = uses(examples, random_too=True)
    assert used == {(number, i): 1 for number, document in enumerate(corpus) for i in range(len(document))}


@given(corpora, st.integers(4, 70), st.integers(0, 10**6), st.sampled_from([0.0, 0.1, 1.0]), st.booleans())
@settings(max_examples=60)
def test_full_sentences(corpus: list[Document], max_length: int, seed: int, short_rate: float, across: bool) -> None:
    pairs = sentence_pairs(
        corpus, TOKENIZER, objective="none", max_length=max_length, short_rate=short_rate, seed=seed,
        across_documents=across,
    )  # fmt: skip
    examples = list(pairs)
    texts: dict[int, list[int]] = {number: [] for number in range(len(corpus))}
    for example in examples:
        assert example.second is None
        assert example.label is None
        assert len(example.input_ids) <= max_length
        assert example.input_ids == (CLS, *example.first, SEP)
        assert set(example.token_type_ids) == {0}
        numbers = [place.document for place in example.places]
        assert numbers == list(range(numbers[0], numbers[-1] + 1))
        assert across or len(numbers) == 1
        parts = [list(part) for part in split(example.first, SEP)]
        for number, part in zip(numbers, parts, strict=True):
            texts[number] += part
    assert texts == {number: ids(document, 0, len(document)) for number, document in enumerate(corpus)}
    assert len(examples) == len(pairs)


def split(values: tuple[int, ...], at: int) -> list[tuple[int, ...]]:
    where = [-1, *(i for i, value in enumerate(values) if value == at), len(values)]
    return [values[a + 1 : b] for a, b in pairwise(where)]


def test_full_sentences_waste_less_across_documents() -> None:
    corpus = documents(200, Random(0), sentences=(2, 6))
    fills = [
        np.mean([len(e.input_ids) for e in sentence_pairs(
            corpus, TOKENIZER, objective="none", short_rate=0, across_documents=across)])
        for across in (False, True)
    ]  # fmt: skip
    assert fills[1] > 110 > fills[0]


CORPUS = documents(400, Random(1), sentences=(2, 30))


@cache
def three_epochs(objective: Objective, max_length: int) -> list[list[PairExample]]:
    pairs = sentence_pairs(CORPUS, TOKENIZER, objective=objective, max_length=max_length, seed=7)
    return [[*iter(pairs.at_epoch(epoch))] for epoch in range(3)]


@pytest.mark.parametrize("objective", ["nsp", "sop"])
@pytest.mark.parametrize("max_length", [40, 128])
def test_labels_are_even_by_chi_square(objective: Objective, max_length: int) -> None:
    statistics = []
    for examples in three_epochs(objective, max_length):
        labels = Counter(pair.label for pair in examples)
        expected = labels.total() / 2
        statistics.append(sum((labels[label] - expected) ** 2 / expected for label in (0, 1)))
    assert max(statistics) < 10.83  # p = 0.001 with one degree of freedom
    assert sum(statistics) < 16.27  # the same with three


@pytest.mark.parametrize("objective", ["nsp", "sop"])
@pytest.mark.parametrize("max_length", [40, 128])
def test_lengths_do_not_tell_the_label(objective: Objective, max_length: int) -> None:
    """Two-sample Kolmogorov-Smirnov: tokens of both segments and together, sentences of the second."""
    examples = list(chain.from_iterable(three_epochs(objective, max_length)))
    measures = {
        "first": [len(e.first) for e in examples],
        "second": [len(e.second or ()) for e in examples],
        "both": [len(e.input_ids) for e in examples],
        "sentences": [e.places[1].stop - e.places[1].start for e in examples],
    }
    labels = np.array([e.label for e in examples])
    for name, values in measures.items():
        zero, one = (np.sort(np.array(values)[labels == label]) for label in (0, 1))
        grid = np.unique(values)
        shares = [np.searchsorted(part, grid, side="right") / len(part) for part in (zero, one)]
        gap = float(np.abs(shares[0] - shares[1]).max())
        assert gap < 1.95 * math.sqrt(1 / len(zero) + 1 / len(one)), name  # p = 0.001


@pytest.mark.parametrize("objective", ["nsp", "sop"])
@pytest.mark.parametrize("max_length", [40, 128])
def test_neither_lengths_nor_marks_nor_words_tell_the_label_of_random_text(
    objective: Objective, max_length: int
) -> None:
    """The sentences are independent of each other, so that there is nothing to guess from."""
    examples = list(chain.from_iterable(three_epochs(objective, max_length)))
    deviation = 0.5 / math.sqrt(len(examples) / 2)
    for seed in range(2):
        assert abs(length_baseline(examples, TOKENIZER, seed=seed) - 0.5) < 3.3 * deviation  # p = 0.001
        assert abs(overlap_baseline(examples, seed=seed) - 0.5) < 3.3 * deviation


def test_a_document_is_not_always_cut_in_the_same_places() -> None:
    pairs = sentence_pairs(CORPUS[:20], TOKENIZER)
    firsts = [{example.places[0] for example in pairs.at_epoch(epoch)} for epoch in range(3)]
    assert all(len(a & b) < len(a) / 2 for a, b in pairwise(firsts))


def test_random_segments_come_from_all_documents() -> None:
    pairs = sentence_pairs(documents(6, Random(3), sentences=(10, 12), sources=1), TOKENIZER)
    drawn = Counter(
        (example.places[0].document, example.places[1].document)
        for epoch in range(100)
        for example in pairs.at_epoch(epoch)
        if example.label == NOT_NEXT
    )
    assert set(drawn) == {(a, b) for a in range(6) for b in range(6) if a != b}


@pytest.mark.parametrize("objective", ["nsp", "sop", "none"])
def test_the_share_of_short_sequences(objective: Objective) -> None:
    """Sentences of one token fill every sequence, except at the end of a document and where a short one was drawn."""
    corpus = [Document(("a1",) * 2000, "s", str(number)) for number in range(20)]
    rate, room = 0.3, 30
    pairs = sentence_pairs(
        corpus, TOKENIZER, objective=objective, max_length=room + (2 if objective == "none" else 3), short_rate=rate
    )
    inside = [
        e for e in pairs if max(place.stop for place in e.places if place.document == e.places[0].document) < 1960
    ]
    lengths = [len(example.first) + len(example.second or ()) for example in inside]
    share = np.mean([length < room for length in lengths])
    expected = rate * (1 - 1 / (room - 1))  # evenly from 2 to room, which is not short
    assert abs(share - expected) < 4 * math.sqrt(expected * (1 - expected) / len(lengths))
    short = Counter(length for length in lengths if length < room)
    assert set(short) == set(range(2, room))


def test_the_same_seed_and_epoch_give_the_same_examples() -> None:
    corpus = CORPUS[:40]
    for objective in ("nsp", "sop", "none"):
        make = lambda **more: sentence_pairs(corpus, TOKENIZER, objective=objective, **more)  # noqa: B023, E731
        once = list(make(seed=3, epoch=1))
        assert list(make(seed=3, epoch=1)) == once
        assert list(make(seed=3).at_epoch(1)) == once
        assert list(make(seed=4, epoch=1)) != once
        assert list(make(seed=3, epoch=2)) != once


@pytest.mark.parametrize("objective", ["nsp", "sop", "none"])
def test_examples_by_number(objective: Objective) -> None:
    pairs = sentence_pairs(CORPUS[:30], TOKENIZER, objective=objective, max_length=50)
    examples = list(pairs)
    assert len(pairs) == len(examples)
    order = Random(0).sample(range(len(examples)), len(examples))
    copy = pickle.loads(pickle.dumps(pairs))  # as a worker gets it
    assert [copy[i] for i in order] == [examples[i] for i in order]
    assert pairs[-1] == examples[-1]
    assert pairs[2:9:3] == examples[2:9:3]
    with pytest.raises(IndexError, match=f"example {len(examples)} of {len(examples)}: .* 0 to {len(examples) - 1}"):
        pairs[len(examples)]


class Lazy(list[Document]):
    """Counts what is read of it."""

    def __init__(self, documents: list[Document]) -> None:
        super().__init__(documents)
        self.sources = [document.source for document in documents]
        self.read: list[int] = []

    def __getitem__(self, index: int) -> Document:  # type: ignore[override]
        self.read.append(index)
        return super().__getitem__(index)


def test_documents_are_read_when_they_are_needed() -> None:
    corpus = Lazy(CORPUS)
    pairs = sentence_pairs(corpus, TOKENIZER)
    assert corpus.read == []
    iterator = iter(pairs)
    examples = [next(iterator) for _ in range(20)]
    assert len(corpus.read) < 100
    assert examples == list(sentence_pairs(CORPUS, TOKENIZER))[:20]


def test_a_corpus_larger_than_what_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = list(sentence_pairs(CORPUS[:50], TOKENIZER))
    pairs = sentence_pairs(CORPUS[:50], TOKENIZER)
    monkeypatch.setattr(pairs._documents, "_keep", 500)
    for number in range(50):
        pairs._documents[number]
    kept = [len(document.ids) for document in pairs._documents._seen.values()]
    assert sum(kept) <= 500 or len(kept) == 1
    assert list(pairs) == expected


def test_sentences_without_tokens_are_passed_over() -> None:
    corpus = [
        Document(("a1 .", "\u200b", "b1 .", "c1 ."), "s", "1"),
        Document(("\u200b", "d1 .", "e1 ."), "s", "2"),
        Document(("\u200b", "f1 ."), "s", "3"),
    ]
    for epoch in range(30):
        for example in sentence_pairs(corpus, TOKENIZER, objective="sop", epoch=epoch):
            check_pair(example, corpus, 128)
        for example in sentence_pairs(corpus, TOKENIZER, epoch=epoch):
            check_pair(example, corpus, 128)


def test_documents_of_one_sentence_give_no_pair_and_no_random_segment() -> None:
    corpus = [*documents(4, Random(0), sources=1), *documents(20, Random(1), sentences=(1, 1), sources=1)]
    for objective in ("nsp", "sop"):
        examples = [
            e for epoch in range(10) for e in sentence_pairs(corpus, TOKENIZER, objective=objective, epoch=epoch)
        ]
        assert {place.document for example in examples for place in example.places} == {0, 1, 2, 3}
    whole = sentence_pairs(corpus, TOKENIZER, objective="none")
    assert {place.document for example in whole for place in example.places} == set(range(24))


def original_truncate(tokens_a: list[int], tokens_b: list[int], max_num_tokens: int, rng: Random) -> None:
    """As the recipe describes it, token by token, in place: the peer of ours."""
    while len(tokens_a) + len(tokens_b) > max_num_tokens:
        tokens = tokens_a if len(tokens_a) > len(tokens_b) else tokens_b
        if rng.random() < 0.5:
            del tokens[0]
        else:
            tokens.pop()


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 60), st.integers(0, 10**6))
def test_truncation_is_that_of_the_recipe(a: int, b: int, room: int, seed: int) -> None:
    first, second = list(range(a)), list(range(100, 100 + b))
    ours = truncate_seq_pair(first, second, room, Random(seed))
    assert first == list(range(a))
    assert second == list(range(100, 100 + b))  # not in place
    original_truncate(first, second, room, Random(seed))
    assert ours == (first, second)


def test_truncation_keeps_the_balance_and_cuts_both_ends() -> None:
    first, second = truncate_seq_pair(list(range(1000)), list(range(300)), 400, Random(0))
    assert len(first) == len(second) == 200
    assert 350 < first[0] < 450  # about half of what goes goes from the front


def test_roberta_writes_two_separators_and_one_segment() -> None:
    from tokenizers import Tokenizer as Backend
    from tokenizers import models, pre_tokenizers, processors

    words = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", *pre_tokenizers.ByteLevel.alphabet()]
    backend = Backend(models.BPE({word: i for i, word in enumerate(words)}, [], unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    tokenizer = Tokenizer(backend)
    corpus = [Document(("ab", "cd", "ef"), "s", str(n)) for n in range(2)]
    example = sentence_pairs(corpus, tokenizer, objective="sop", max_length=20)[0]
    assert example.second is not None
    assert example.input_ids == (0, *example.first, 2, 2, *example.second, 2)
    assert set(example.token_type_ids) == {0}


def test_a_batch() -> None:
    examples = list(sentence_pairs(CORPUS[:10], TOKENIZER))[:8]
    batch = pad_batch(examples, TOKENIZER.pad_token_id)
    assert batch["next_sentence_label"].tolist() == [example.label for example in examples]
    for row, example in enumerate(examples):
        length = len(example.input_ids)
        assert batch["input_ids"][row, :length].tolist() == list(example.input_ids)
        assert batch["token_type_ids"][row, :length].tolist() == list(example.token_type_ids)
    packed = sentence_pairs(CORPUS[:10], TOKENIZER, objective="none")
    assert "next_sentence_label" not in pad_batch(list(packed), TOKENIZER.pad_token_id)
