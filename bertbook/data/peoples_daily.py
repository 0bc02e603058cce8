"""People's Daily of January 1998: words with their tags, in paragraphs, without a mark where an article begins."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bertbook.data.normal import AGAIN, TWIN, Seen, Twins
from bertbook.data.splits import block_splits
from bertbook.text.sentences import split_sentences

_FINAL_BRACKET = re.compile(r"（[^（）]*）$")
_NO_TITLE_ENDS_IN = "。！？：；…，”’』"
_LONGEST_TITLE = 40  # characters

Word = tuple[str, str]  # the word and its tag, 中国/ns


@dataclass(frozen=True)
class TaggedDocument:
    """An article: the number of its first line in the file, its paragraphs as tagged words, and its split."""

    line: int
    paragraphs: tuple[tuple[Word, ...], ...]
    split: str


def read_tagged(path: Path) -> tuple[list[TaggedDocument], Counter[str]]:
    """The articles of 199801.txt without what repeats, and how much that was."""
    dropped: Counter[str] = Counter()
    seen = Seen()
    articles: list[tuple[int, list[tuple[Word, ...]]]] = []
    was_title = False
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        words = tuple((word, tag) for word, _, tag in (token.rpartition("/") for token in line.split()))
        if not words:
            continue
        text = plain(words)
        # A title goes before its article; a second one directly below it is its subtitle.
        is_title = looks_like_title(text)
        if not articles or (is_title and not was_title):
            articles.append((number, []))
        was_title = is_title
        if seen.again(text):
            dropped[AGAIN] += 1
        else:
            articles[-1][1].append(words)
    twins = Twins()
    kept = []
    for number, paragraphs in articles:
        if not paragraphs:
            dropped["documents without a paragraph of their own"] += 1
        elif twins.is_twin(s for words in paragraphs for s in split_sentences(plain(words), "zh")):
            dropped[TWIN] += 1
        else:
            kept.append((number, tuple(paragraphs)))
    splits = block_splits(len(kept))
    documents = [TaggedDocument(*article, split) for article, split in zip(kept, splits, strict=True)]
    return documents, dropped


def plain(words: Iterable[Word]) -> str:
    """The text of tagged words. Chinese has no blanks between them."""
    return "".join(word for word, _ in words)


def looks_like_title(paragraph: str) -> bool:
    """At most 40 characters that do not end as a sentence, a quotation or a list does; a closing bracket aside."""
    text = _FINAL_BRACKET.sub("", paragraph)
    return 0 < len(text) <= _LONGEST_TITLE and text[-1] not in _NO_TITLE_ENDS_IN
