"""Whole sentences one after the other into sequences, without pairs."""

from collections.abc import Iterable, Iterator
from random import Random

from bertbook.text.pair_examples import Layout, PairExample, Place
from bertbook.text.segments import TokenizedDocument


def pack_sentences(
    documents: Iterable[tuple[int, TokenizedDocument]],
    layout: Layout,
    room: int,
    short_rate: float,
    random: Random,
    *,
    across: bool,
) -> Iterator[PairExample]:
    """Fill sequences with sentences: RoBERTa's FULL-SENTENCES if they may run ``across`` documents, else DOC-SENTENCES.

    Between two documents in one sequence stands one more [SEP]. A sentence longer than a sequence goes on in the next.

    Args:
        documents: each with its number.
        room: ids of a sequence, [CLS] and the last [SEP] not counted.
    """

    def new_target() -> int:
        return random.randint(2, room) if random.random() < short_rate else room

    ids: list[int] = []
    places: list[Place] = []
    target = new_target()
    for number, document in documents:
        for index in range(len(document.ends) - 1):
            sentence = document.segment(index, index + 1)
            start, stop = int(document.numbers[index]), int(document.numbers[index + 1])
            for offset in range(0, len(sentence), room):
                piece = sentence[offset : offset + room]
                other_document = bool(places) and places[-1].document != number
                if ids and (len(ids) + other_document + len(piece) > target or (other_document and not across)):
                    yield layout.single(ids, tuple(places))
                    ids, places, target, other_document = [], [], new_target(), False
                if other_document:
                    ids.append(layout.sep)
                ids += piece
                if places and not other_document:
                    start = places.pop().start
                places.append(Place(number, start, stop))
    if ids:
        yield layout.single(ids, tuple(places))
