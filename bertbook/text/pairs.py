"""Documents to sentence pairs: next sentence, sentence order, or full sentences without pairs."""

import copy
from collections.abc import Iterator, Sequence
from random import Random
from typing import Literal, Self, overload

import numpy as np
from numpy.typing import NDArray

from bertbook.text.documents import Document
from bertbook.text.packing import pack_sentences
from bertbook.text.pair_checks import check_documents, check_numbers
from bertbook.text.pair_examples import Layout, PairExample, Place, truncate_seq_pair
from bertbook.text.segments import (
    Cut,
    TokenizedDocument,
    TokenizedDocuments,
    closest_segment,
    cut_document,
    cut_from_either_end,
)
from bertbook.text.sources import Sources
from bertbook.text.tokenizer import Tokenizer

Objective = Literal["nsp", "sop", "none"]

_TRIES = 10  # documents looked at for a random segment
_BLOCK = 64  # documents that sequences without pairs may run across


def sentence_pairs(
    documents: Sequence[Document],
    tokenizer: Tokenizer,
    *,
    objective: Objective = "nsp",
    max_length: int = 128,
    short_rate: float = 0.1,
    seed: int = 0,
    epoch: int = 0,
    across_documents: bool = False,
) -> "SentencePairs":
    """Pretraining examples from documents, after the original recipe (:class:`SentencePairs` says where it differs).

    Args:
        documents: a list, or any sequence with random access that reads its documents when asked: one at a time is
            held, and the tokens of some. All are read once to learn their sources, unless the sequence has an
            attribute ``sources``: the source of each document, in their order.
        objective: "nsp", next-sentence prediction: the second segment follows (label 0) or comes from another
            document of the same source (1). "sop", sentence order: two segments in order (0) or swapped (1).
            "none": full sentences packed into one segment, no label.
        max_length: ids of a sequence, [CLS] and [SEP] included.
        short_rate: share of the sequences that aim at a shorter length, drawn evenly from 2 to the full one.
        seed, epoch: of all that is drawn. The same two give the same examples; another epoch gives others.
        across_documents: with "none" only: sequences run on into the next document (RoBERTa's FULL-SENTENCES, in
            blocks of 64 documents). Otherwise they end with it (DOC-SENTENCES).

    Raises:
        TypeError: documents that are no sequence of :class:`Document`.
        ValueError: no documents; an unknown objective; no room; a rate outside 0 to 1; for "nsp" a source with one
            document only; no document of two sentences where pairs are asked for.
    """
    return SentencePairs(
        documents, tokenizer, objective, max_length, short_rate, seed, epoch, across_documents=across_documents
    )


class SentencePairs(Sequence[PairExample]):
    """The examples of one epoch: iterate over them, or take them by number.

    An example depends on the seed, the epoch and its own place, not on the others. So workers can share the work, and
    begin anywhere. Iterating goes through the documents in their order. The length, and taking by number, first count
    the pairs of all documents, once.

    What differs from the original recipe, each time so that nothing but the text tells the label:

    - Segments are whole sentences that fit. (There, one sentence too many was taken, and cut off inside.) Only where
      two sentences alone are too long, :func:`truncate_seq_pair` cuts.
    - The random segment has as many sentences as the true one, and nearly as many tokens: of up to ten documents
      the best run of sentences is taken. (There, it filled the sequence, and the true one ended with its document.)
    - It never holds the first sentence of its document, as no true next segment does.
    - For sentence order a document is cut from its front or from its back: see :func:`cut_from_either_end`.
    - A shorter length is drawn for a pair. (There, for a document, which gives more of the short ones.)
    - A sentence alone is no pair. (There, it could only be NotNext.) A document of one sentence gives none.
    """

    def __init__(
        self,
        documents: Sequence[Document],
        tokenizer: Tokenizer,
        objective: Objective,
        max_length: int,
        short_rate: float,
        seed: int,
        epoch: int,
        *,
        across_documents: bool,
    ) -> None:
        check_documents(documents)
        self._layout = Layout(tokenizer)
        specials = 2 if objective == "none" else self._layout.around_pair
        check_numbers(objective, max_length, specials, short_rate, seed, epoch, across_documents=across_documents)
        self._documents = TokenizedDocuments(documents, tokenizer)
        self.objective = objective
        self._room, self._short_rate, self._across = max_length - specials, short_rate, across_documents
        self.seed, self.epoch = seed, epoch
        self._sources = Sources(documents) if objective == "nsp" else None
        self._firsts: NDArray[np.int64] | None = None

    def at_epoch(self, epoch: int) -> Self:
        """The examples of another epoch, of the same documents and in the same way."""
        if type(epoch) is not int or epoch < 0:
            raise ValueError(f"epoch={epoch!r}: it must be a whole number of at least 0")
        other = copy.copy(self)
        other.epoch, other._firsts = epoch, None
        return other

    def __iter__(self) -> Iterator[PairExample]:
        """All examples, document by document."""
        none = True
        for block in range(self._blocks):
            for example in self._block(block):
                none = False
                yield example
        if none:
            raise self._nothing()

    def __len__(self) -> int:
        """The number of examples in this epoch. Counted when first asked, which tokenizes every document once."""
        return int(self._first_numbers()[-1])

    @overload
    def __getitem__(self, number: int) -> PairExample: ...
    @overload
    def __getitem__(self, number: slice) -> list[PairExample]: ...
    def __getitem__(self, number: int | slice) -> PairExample | list[PairExample]:
        """Example ``number``, made anew each time."""
        if isinstance(number, slice):
            return [self[i] for i in range(*number.indices(len(self)))]
        count = len(self)
        if not -count <= number < count:
            raise IndexError(f"example {number} of {count}: they are counted from 0 to {count - 1}")
        firsts = self._first_numbers()
        block = int(np.searchsorted(firsts, number % count, side="right")) - 1
        within = number % count - int(firsts[block])
        if self.objective == "none":
            return self._block(block)[within]
        return self._pair(block, within, self._cuts(block)[within])

    @property
    def _blocks(self) -> int:
        """What is cut by itself: a document, or 64 that sequences run across."""
        return -(-len(self._documents) // (_BLOCK if self._across else 1))

    def _block(self, block: int) -> list[PairExample]:
        if self.objective != "none":
            return [self._pair(block, within, cut) for within, cut in enumerate(self._cuts(block))]
        numbers = range(block, block + 1)
        if self._across:
            numbers = range(block * _BLOCK, min((block + 1) * _BLOCK, len(self._documents)))
        documents = ((number, self._documents[number]) for number in numbers)
        random = self._random(block)
        return list(pack_sentences(documents, self._layout, self._room, self._short_rate, random, across=self._across))

    def _cuts(self, index: int) -> list[Cut]:
        document, random = self._documents[index], self._random(index)
        if self.objective == "sop":
            return cut_from_either_end(document, self._room, self._short_rate, random)
        return list(cut_document(document, self._room, self._short_rate, random, give_back=True))

    def _pair(self, index: int, within: int, cut: Cut) -> PairExample:
        random = self._random(index, within)
        document = self._documents[index]
        segments = [(index, document, cut.start, cut.middle), (index, document, cut.middle, cut.stop)]
        if cut.changed and self.objective == "sop":
            segments.reverse()
        elif cut.changed:
            segments[1] = self._random_segment(index, document, cut, random)
        one, two = (whole.segment(start, stop) for _, whole, start, stop in segments)
        first, second = truncate_seq_pair(one, two, self._room, random)
        places = [
            Place(number, int(whole.numbers[start]), int(whole.numbers[stop - 1]) + 1)
            for number, whole, start, stop in segments
        ]
        return self._layout.pair(first, second, int(cut.changed), (places[0], places[1]))

    def _random_segment(
        self, index: int, document: TokenizedDocument, cut: Cut, random: Random
    ) -> tuple[int, TokenizedDocument, int, int]:
        """From another document of the same source, nearly as long as the segment that it replaces."""
        assert self._sources is not None
        sentences, tokens = cut.stop - cut.middle, int(document.ends[cut.stop] - document.ends[cut.middle])
        best: tuple[int, int, TokenizedDocument, int, int] | None = None
        for attempt in range(100 * _TRIES):
            if best is not None and attempt >= _TRIES:
                break
            number = self._sources.other(index, random)
            other = self._documents[number]
            found = closest_segment(other, sentences, tokens, random)
            if found is not None:
                difference = found[0] + tokens * (found[2] - found[1] != sentences)
                if best is None or difference < best[0]:
                    best = difference, number, other, *found[1:]
                if difference <= tokens // 20:
                    break
        if best is None:
            raise ValueError(self._sources.complaint(index))
        return best[1:]

    def _random(self, *where: int) -> Random:
        return Random("/".join(map(str, (self.objective, self.seed, self.epoch, *where))))

    def _first_numbers(self) -> NDArray[np.int64]:
        """(blocks + 1,): the number of each block's first example, and behind them the number of all."""
        if self._firsts is None:
            pairs = self.objective != "none"
            counts = (len(self._cuts(block) if pairs else self._block(block)) for block in range(self._blocks))
            self._firsts = np.append(0, np.cumsum(np.fromiter(counts, np.int64)))
            if self._firsts[-1] == 0:
                raise self._nothing()
        return self._firsts

    def _nothing(self) -> ValueError:
        documents = f"the {len(self._documents)} documents"
        if self.objective == "none":
            return ValueError(f"no sequences: none of {documents} has a token")
        return ValueError(f"no pairs: none of {documents} gives one; a pair needs two sentences of one document")
