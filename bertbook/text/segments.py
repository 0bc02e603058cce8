"""A document in tokens, and where it is cut into segments."""

from collections.abc import Iterable, Iterator, Sequence
from random import Random
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bertbook.text.documents import Document
from bertbook.text.pair_checks import check_document
from bertbook.text.tokenizer import Tokenizer


class TokenizedDocument(NamedTuple):
    """The sentences of a document that have tokens. (A sentence of zero-width characters has none.)

    ``ids`` (T,): one sentence after the other. ``ends`` (n + 1,): sentence i is ``ids[ends[i] : ends[i + 1]]``.
    ``numbers`` (n + 1,): which sentence of the document that is, and behind the last one their count.
    """

    ids: NDArray[np.int32]
    ends: NDArray[np.int64]
    numbers: NDArray[np.int64]

    @classmethod
    def of(cls, sentences: Iterable[list[int]]) -> "TokenizedDocument":
        """From the ids of each sentence."""
        rows = list(sentences)
        lengths = np.array([len(row) for row in rows], np.int64)
        numbers = np.append(np.flatnonzero(lengths), len(rows))
        ids = np.array([i for row in rows for i in row], np.int32)
        return cls(ids, np.append(0, np.cumsum(lengths[lengths > 0])), numbers)

    def segment(self, start: int, stop: int) -> list[int]:
        """The ids of sentences ``start`` to ``stop`` − 1."""
        return self.ids[self.ends[start] : self.ends[stop]].tolist()

    def fitting(self, start: int, tokens: int) -> int:
        """The largest ``stop`` so that sentences ``start`` to ``stop`` − 1 have at most so many tokens."""
        return int(np.searchsorted(self.ends, self.ends[start] + tokens, side="right")) - 1


class TokenizedDocuments:
    """Documents tokenized when asked for; of those seen before about ``keep`` tokens are kept, 4 bytes each."""

    def __init__(self, documents: Sequence[Document], tokenizer: Tokenizer, keep: int = 2_000_000) -> None:
        self._documents, self._tokenizer, self._keep = documents, tokenizer, keep
        self._seen: dict[int, TokenizedDocument] = {}
        self._tokens = 0

    def __len__(self) -> int:
        return len(self._documents)

    def __getitem__(self, index: int) -> TokenizedDocument:
        if (found := self._seen.get(index)) is not None:
            return found
        sentences = check_document(self._documents[index], index).sentences
        encodings = self._tokenizer.backend.encode_batch(sentences, add_special_tokens=False)
        document = TokenizedDocument.of(encoding.ids for encoding in encodings)
        self._seen[index] = document
        self._tokens += len(document.ids)
        while self._tokens > self._keep and len(self._seen) > 1:
            oldest = next(iter(self._seen))
            self._tokens -= len(self._seen.pop(oldest).ids)
        return document


class Cut(NamedTuple):
    """A pair: sentences ``start`` to ``middle`` − 1, and ``middle`` to ``stop`` − 1; ``changed``: by label 1."""

    start: int
    middle: int
    stop: int
    changed: bool


def cut_document(
    document: TokenizedDocument,
    room: int,
    short_rate: float,
    random: Random,
    *,
    give_back: bool,
) -> Iterator[Cut]:
    """Cut a document into pairs of segments, whole sentences each.

    As many sentences as fit make a pair, two at least; where they part is drawn, and
    the label by the toss of a coin that depends on nothing. With ``give_back`` the
    second segment of a changed pair goes back: the next pair begins with it.

    A sentence alone makes no pair. One more is taken, or one less, so that none is left
    alone at the end. Only where the last two make a changed pair, one stays over.
    """
    count = len(document.ends) - 1
    start = 0
    while count - start >= 2:
        target = random.randint(2, room) if random.random() < short_rate else room
        stop = max(document.fitting(start, target), start + 2)
        if count - stop == 1:
            stop += 1 if stop - start == 2 else -1
        last_pair = stop == count and stop - start > 2
        middle = random.randint(start + 1, stop - (2 if last_pair and give_back else 1))
        changed = random.random() < 0.5
        yield Cut(start, middle, stop, changed)
        start = middle if changed and give_back else stop


def cut_from_either_end(document: TokenizedDocument, room: int, short_rate: float, random: Random) -> list[Cut]:
    """As :func:`cut_document`, from the front or from the back by the toss of a coin.

    A pair begins with a sentence that did not fit into the one before, so with a long one. Where the label is the
    order of the segments, that would tell it. From the back it is the last sentence that is long.
    """
    if random.random() < 0.5:
        return list(cut_document(document, room, short_rate, random, give_back=False))
    count = len(document.ends) - 1
    mirrored = document._replace(ends=document.ends[-1] - document.ends[::-1])
    cuts = list(cut_document(mirrored, room, short_rate, random, give_back=False))
    return [Cut(count - cut.stop, count - cut.middle, count - cut.start, cut.changed) for cut in reversed(cuts)]


def closest_segment(
    document: TokenizedDocument, sentences: int, tokens: int, random: Random
) -> tuple[int, int, int] | None:
    """Of all runs of so many sentences, one whose length comes closest: (difference, start, stop).

    The first sentence of a document is never in it. It is its title or opens it, and no true next segment has one.
    None where nothing is behind it; a run of fewer sentences where there are not so many.
    """
    ends = document.ends
    sentences = min(sentences, len(ends) - 2)
    if sentences < 1:
        return None
    differences = np.abs(ends[sentences + 1 :] - ends[1 : len(ends) - sentences] - tokens)
    closest = np.flatnonzero(differences == differences.min())
    start = 1 + int(closest[random.randrange(len(closest))])
    return int(differences.min()), start, start + sentences
