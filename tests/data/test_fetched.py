"""The real data sets: their numbers are those of the cards, and nothing stands where it must not."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from itertools import pairwise

import pytest
from bs4 import BeautifulSoup

from bertbook.data import CARDS, load_corpus, load_task
from bertbook.data.corpora import READERS, Parsed
from bertbook.data.corpus_cards import CORPUS_CARDS
from bertbook.data.normal import fingerprint
from bertbook.data.task import (
    KINDS,
    AnswerExample,
    Example,
    PairExample,
    SentenceExample,
    TokensExample,
    count,
)
from bertbook.data.task_cards import TASK_CARDS
from bertbook.data.tasks import SOURCES
from bertbook.data.text_tasks import ParsedTask
from bertbook.fetch import fetch
from bertbook.model.tag_schemes import tag_constraints
from bertbook.text.sentences import split_sentences


@cache
def corpus(name: str) -> Parsed:
    return READERS[name](fetch(CARDS[name].package))


@cache
def task(name: str) -> ParsedTask:
    return SOURCES[name].read(fetch(CARDS[name].package))


@cache
def sentences_of(name: str) -> set[str]:
    """The fingerprints of the sentences of a corpus, of all its splits."""
    return {fingerprint(s) for part in corpus(name)[0].values() for d in part for s in d.sentences}


def texts(example: Example) -> tuple[str, ...]:
    """The texts that must not stand in two places: of an answer, its context; a question may be asked twice."""
    match example:
        case SentenceExample():
            return (example.text,)
        case PairExample():
            return (example.first, example.second)
        case TokensExample():
            return ("".join(example.words),)
        case AnswerExample():
            return (example.context,)


def test_every_card_has_its_reader() -> None:
    assert list(CORPUS_CARDS) == list(READERS)
    assert list(TASK_CARDS) == list(SOURCES)
    for name, card in CARDS.items():
        assert card.name == name
        assert (name in READERS) == (card.kind == "corpus")
        assert card.kind in {"corpus", *KINDS}
        for part in (card.purpose, card.origin, card.licence, *card.notes):
            assert part.strip()


@pytest.mark.parametrize("name", CARDS)
def test_a_card_shows_its_numbers(name: str) -> None:
    card = CARDS[name]
    page = BeautifulSoup(card._repr_html_(), "html.parser")
    shown = page.get_text(" ")
    for part in (card.purpose, card.origin, card.licence, *card.notes, *card.dropped, card.package.sha256[:16]):
        assert part in shown
    _, *columns = (cell.get_text() for cell in page.select("thead th"))
    for row in page.select("tbody tr"):
        split, *numbers = (cell.get_text().replace(",", "") for cell in row.select("th, td"))
        counts = {name: int(number) for name, number in zip(columns, numbers, strict=True) if int(number)}
        assert counts == card.splits[split]
    assert len(page.select("tbody tr")) == len(card.splits)


@pytest.mark.parametrize("name", READERS)
def test_a_corpus_is_what_its_card_says(name: str) -> None:
    splits, dropped = corpus(name)
    for split, documents in splits.items():
        sentences = [sentence for document in documents for sentence in document.sentences]
        counts = {"documents": len(documents), "sentences": len(sentences), "characters": sum(map(len, sentences))}
        assert CARDS[name].splits[split] == counts
    assert dropped == CARDS[name].dropped
    assert set(CARDS[name].splits) == {"train", "held-out"}


@pytest.mark.parametrize("name", SOURCES)
def test_a_task_is_what_its_card_says(name: str) -> None:
    splits, dropped = task(name)
    assert {split: count(splits[split]) for split in ("train", "dev", "test")} == CARDS[name].splits
    assert set(splits) == {"train", "dev", "test"}
    assert dropped == CARDS[name].dropped


def test_loading() -> None:
    train, held_out, both = (load_corpus("bbc-news", split) for split in ("train", "held-out", "all"))
    assert train.counts == train.card.splits["train"]  # type: ignore[union-attr]
    assert list(both) == [*train, *held_out]
    assert (both.name, both.split, both.language, both.card) == ("bbc-news", "all", "en", CARDS["bbc-news"])
    assert held_out[-1].name == held_out[len(held_out) - 1].name
    assert [document.name for document in train[3:5]] == [train[3].name, train[4].name]
    loaded = load_task("disfl-qa")
    assert loaded.counts == CARDS["disfl-qa"].splits
    assert (loaded.kind, loaded.metric, loaded.labels, loaded.card) == (
        "answers",
        "answer_f1",
        (),
        CARDS["disfl-qa"],
    )


@pytest.mark.parametrize("name", READERS)
def test_no_paragraph_of_a_corpus_stands_twice_and_held_out_text_is_in_blocks(name: str) -> None:
    splits, _ = corpus(name)
    # Whole documents, as the cut into sentences hides the paragraphs.
    prints = [fingerprint("".join(document.sentences)) for part in splits.values() for document in part]
    assert len(set(prints)) == len(prints)
    train = set(map(fingerprint, (s for document in splits["train"] for s in document.sentences)))
    held_out = [fingerprint(s) for document in splits["held-out"] for s in document.sentences]
    again = [s for s in held_out if s in train]
    assert len(again) < 0.02 * len(held_out)  # "Thank you.", and what agencies write over and over
    # Five blocks: so few neighbours of a held-out document are in training.
    order = {document.name: "train" for document in splits["train"]}
    order |= {document.name: "held-out" for document in splits["held-out"]}
    by_place = sorted(order, key=lambda name: [int(p) if p.isdigit() else p for p in name.replace(",", "").split()])
    borders = Counter(order[a] + order[b] for a, b in pairwise(by_place))
    assert borders["trainheld-out"] <= 5


def long_enough(prints: Iterable[str]) -> set[str]:
    """Without "Thank you." and 谢谢, which anybody may say: at least 10 letters, or 4 Chinese characters."""
    return {text for text in prints if len(text) >= (10 if text.isascii() else 4)}


@pytest.mark.parametrize("name", SOURCES)
def test_no_dev_or_test_text_is_in_a_corpus(name: str) -> None:
    splits, _ = task(name)
    whole = [text for split in ("dev", "test") for example in splits[split] for text in texts(example)]
    sentences = [sentence for text in whole for sentence in split_sentences(text)]
    prints = long_enough(map(fingerprint, [*whole, *sentences]))
    assert len(prints) > 50
    for other in READERS:
        known = sentences_of(other)
        assert not prints & known, (other, sorted(prints & known)[:5])


def test_the_search_for_leaks_would_find_one() -> None:
    """The training sentences of the tagged People's Daily are in its corpus: there the same search finds them."""
    known = sentences_of("peoples-daily")
    prints = [fingerprint(text) for example in task("peoples-daily-ner")[0]["train"] for text in texts(example)]
    assert sum(text in known for text in prints) > 0.98 * len(prints)


@pytest.mark.parametrize("name", SOURCES)
def test_no_text_of_a_task_stands_in_two_splits(name: str) -> None:
    splits, _ = task(name)
    found = {
        split: {fingerprint(text) for example in part for text in texts(example)} for split, part in splits.items()
    }
    for one, other in (("train", "dev"), ("train", "test"), ("dev", "test")):
        assert not found[one] & found[other], (one, other)


@pytest.mark.parametrize("name", SOURCES)
def test_examples_hold_together(name: str) -> None:
    splits, _ = task(name)
    for part in splits.values():
        assert len({(type(e), *texts(e), getattr(e, "question", "")) for e in part}) >= 0.99 * len(part)
        for example in part:
            assert type(example) is KINDS[CARDS[name].kind]
            assert all(text.strip() == text and text for text in texts(example))
            if isinstance(example, TokensExample):
                assert len(example.words) == len(example.tags) > 0
                assert all(example.words)
                assert all(example.tags)
            elif isinstance(example, AnswerExample):
                assert (example.start is None) == (example.end is None)
                assert example.answer.strip() == example.answer
                assert bool(example.answer) == (example.start is not None)
            elif name == "sts-b":
                assert isinstance(example.label, float)
                assert 0 <= example.label <= 5


@pytest.mark.parametrize("name", [name for name in SOURCES if CARDS[name].kind != "answers" and name != "sts-b"])
def test_labels_are_those_that_occur(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = task(name)  # once for all tests
    monkeypatch.setitem(SOURCES, name, replace(SOURCES[name], read=lambda _: parsed))
    loaded = load_task(name)
    for part in (loaded.train, loaded.dev, loaded.test):
        used = {tag for e in part for tag in (e.tags if isinstance(e, TokensExample) else [e.label])}  # type: ignore[union-attr]
        assert used <= set(loaded.labels)
        if part is loaded.train:
            assert len(used) == len(loaded.labels) > 1


def test_entities_obey_the_bio_scheme() -> None:
    labels = SOURCES["peoples-daily-ner"].labels
    assert labels
    rules = tag_constraints(labels, "BIO")
    allowed = {(labels[one], labels[other]) for one, other in rules.allowed_transitions.nonzero().tolist()}
    for part in task("peoples-daily-ner")[0].values():
        for example in part:
            assert isinstance(example, TokensExample)
            assert not example.tags[0].startswith("I-")
            assert allowed.issuperset(pairwise(example.tags))


def test_a_person_is_one_span() -> None:
    example = next(
        e
        for e in task("peoples-daily-ner")[0]["train"]
        if isinstance(e, TokensExample) and "江泽民" in "".join(e.words)
    )
    at = "".join(example.words).index("江泽民")
    assert example.tags[at : at + 3] == ("B-PER", "I-PER", "I-PER")
