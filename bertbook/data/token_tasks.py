"""Tasks on tokens, made from the tagged People's Daily."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from bertbook.data.normal import Seen, fingerprint
from bertbook.data.peoples_daily import TaggedDocument, Word, plain, read_tagged
from bertbook.data.task import Example, TokensExample
from bertbook.data.text_tasks import EXAMPLE_AGAIN, ParsedTask
from bertbook.text.sentences import split_sentences

RARE_TAG = "sentences with a tag that stands fewer than 20 times"
_RARE = 20
_ENTITIES = {"nr": "PER", "ns": "LOC"}


def read_pos(folder: Path) -> ParsedTask:
    """The words as they were cut, each with its part of speech."""
    splits, dropped = _sentences(folder)
    tags = Counter(tag for part in splits.values() for words in part for _, tag in words)
    rare = {tag for tag, number in tags.items() if number < _RARE}
    examples: dict[str, list[Example]] = {}
    for split, part in splits.items():
        kept = [words for words in part if not any(tag in rare for _, tag in words)]
        dropped[RARE_TAG] += len(part) - len(kept)
        examples[split] = [TokensExample(*map(tuple, zip(*words, strict=True))) for words in kept]
    return examples, dropped


def read_ner(folder: Path) -> ParsedTask:
    """Single characters, tagged B-PER, I-PER, B-LOC, I-LOC or O. The cut into words is not given away."""
    splits, dropped = _sentences(folder)
    return {split: [_entities(words) for words in part] for split, part in splits.items()}, dropped


def _entities(words: tuple[Word, ...]) -> TokensExample:
    characters: list[str] = []
    tags: list[str] = []
    before = ""
    for word, tag in words:
        entity = _ENTITIES.get(tag)
        if entity is None:
            tags += ["O"] * len(word)
        else:
            # Family name and given name are two words, 江/nr 泽民/nr, and one person.
            begins = "I" if tag == before == "nr" else "B"
            tags += [f"{begins}-{entity}"] + [f"I-{entity}"] * (len(word) - 1)
        characters += word
        before = tag
    return TokensExample(tuple(characters), tuple(tags))


def _sentences(folder: Path) -> tuple[dict[str, list[tuple[Word, ...]]], Counter[str]]:
    """The sentences of each split, none twice. What stands in a corpus split is in no dev or test split."""
    articles, dropped = read_tagged(folder / "tag/199801.txt")
    splits: dict[str, list[tuple[Word, ...]]] = {"train": [], "dev": [], "test": []}
    seen = Seen()
    for source in ("train", "held-out", "dev", "test"):
        for words in _of_split(articles, source):
            if not fingerprint(plain(words)):
                continue  # a line of signs
            if seen.again(plain(words)):
                if source in splits:
                    dropped[EXAMPLE_AGAIN] += 1
            elif source in splits:
                splits[source].append(words)
    return splits, dropped


def _of_split(articles: list[TaggedDocument], split: str) -> Iterator[tuple[Word, ...]]:
    for article in articles:
        if article.split == split:
            for paragraph in article.paragraphs:
                yield from cut_into_sentences(paragraph)


def cut_into_sentences(paragraph: tuple[Word, ...]) -> Iterator[tuple[Word, ...]]:
    """Tagged words where :func:`~bertbook.text.sentences.split_sentences` cuts their text; never within a word."""
    ends = set()
    position = 0
    for sentence in split_sentences(plain(paragraph), "zh"):
        position += len(sentence)
        ends.add(position)
    start = position = 0
    for index, (word, _) in enumerate(paragraph, 1):
        position += len(word)
        if position in ends or index == len(paragraph):
            yield paragraph[start:index]
            start = index
