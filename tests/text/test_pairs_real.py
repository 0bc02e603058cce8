"""Sentence pairs of real text: words tell much of the label, nothing else may, and careless cuts do."""

import math
from functools import cache
from random import Random

import pytest
from transformers import BertForNextSentencePrediction

from bertbook import Tokenizer, load_tokenizer
from bertbook.data import load_corpus
from bertbook.text.documents import Document
from bertbook.text.pair_baselines import length_baseline, overlap_baseline
from bertbook.text.pair_examples import IS_NEXT, NOT_NEXT, PairExample
from bertbook.text.pairs import Objective, sentence_pairs

SEEDS = range(3)


@cache
def tokenizer() -> Tokenizer:
    return load_tokenizer("bert-base-uncased")


@cache
def news() -> list[Document]:
    return list(load_corpus("bbc-news"))[:350]


@cache
def made(objective: Objective) -> list[PairExample]:
    return list(sentence_pairs(news(), tokenizer(), objective=objective))


def deviation(examples: list[PairExample]) -> float:
    """Of the accuracy of a guess, on the half that is tested."""
    return 0.5 / math.sqrt(len(examples) / 2)


def test_shared_words_tell_much_and_lengths_nothing() -> None:
    examples = made("nsp")
    for seed in SEEDS:
        assert overlap_baseline(examples, seed=seed) > 0.7
        assert abs(length_baseline(examples, tokenizer(), seed=seed) - 0.5) < 3.3 * deviation(examples)


def test_other_sources_make_it_easier() -> None:
    together = [Document(document.sentences) for document in load_corpus("bbc-news")[::6]]
    apart = [Document(document.sentences, document.source) for document in load_corpus("bbc-news")[::6]]
    easy, hard = (overlap_baseline(sentence_pairs(corpus, tokenizer())) for corpus in (together, apart))
    assert easy > hard


def test_shared_words_do_not_tell_the_order() -> None:
    examples = made("sop")
    for seed in SEEDS:
        assert abs(overlap_baseline(examples, seed=seed) - 0.5) < 3.3 * deviation(examples)


def test_headlines_tell_the_order() -> None:
    examples = made("sop")
    rest = [example for example in examples if min(place.start for place in example.places) > 0]
    with_headlines, without = (
        sum(length_baseline(part, tokenizer(), seed=seed) for seed in SEEDS) / len(SEEDS) for part in (examples, rest)
    )
    assert with_headlines > 0.5 + 3.3 * deviation(examples)
    assert without < with_headlines


def test_cuts_at_a_fixed_length_are_found_out() -> None:
    """The baseline that must stay at chance above does see a leak where there is one."""
    draw, size, examples = Random(0), 60, []
    texts = [
        [i for text in document.sentences for i in tokenizer().backend.encode(text, add_special_tokens=False).ids]
        for document in news()
    ]
    for text in texts:
        for start in range(0, len(text) - 2 * size, 2 * size):
            label = int(draw.random() < 0.5)
            second = draw.choice(texts)[:size] if label else text[start + size : start + 2 * size]
            examples.append(PairExample(tuple(text[start : start + size]), tuple(second), label, (), (), ()))
    for seed in SEEDS:
        assert length_baseline(examples, tokenizer(), seed=seed) > 0.58


@pytest.mark.parametrize("name", ["bbc-news", "peoples-daily"])
def test_pairs_of_both_languages(name: str) -> None:
    vocabulary = {"bbc-news": "bert-base-uncased", "peoples-daily": "bert-base-chinese"}[name]
    examples = list(sentence_pairs(load_corpus(name)[:60], load_tokenizer(vocabulary)))
    assert len(examples) > 60
    assert max(len(example.input_ids) for example in examples) <= 128
    assert {example.label for example in examples} == {IS_NEXT, NOT_NEXT}


def test_labels_mean_what_the_published_models_mean() -> None:
    said = BertForNextSentencePrediction.forward.__doc__
    assert said
    assert f"{IS_NEXT} indicates sequence B is a continuation of sequence A" in said
    assert f"{NOT_NEXT} indicates sequence B is a random sequence" in said
