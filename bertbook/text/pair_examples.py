"""Two segments to one example: cut to fit, then [CLS] A [SEP] B [SEP]."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from bertbook.text.tokenizer import Tokenizer

IS_NEXT, NOT_NEXT = 0, 1  # as in the official model
IN_ORDER, SWAPPED = 0, 1  # as in ALBERT


class Place(NamedTuple):
    """Where a segment comes from: sentences ``start`` to ``stop`` − 1 of a document, all counted from 0."""

    document: int
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class PairExample:
    """One sequence for pretraining.

    Attributes:
        first, second: the ids of the segments, cut to fit; ``second`` is None without pairs.
        label: 0 = IsNext, 1 = NotNext; or 0 = in order, 1 = swapped; None without pairs.
        input_ids: [CLS] first [SEP] second [SEP], at most ``max_length`` ids.
        token_type_ids: as long; 0 up to the first [SEP], then 1.
        places: where the segments come from, in the order in which they stand.
    """

    first: tuple[int, ...]
    second: tuple[int, ...] | None
    label: int | None
    input_ids: tuple[int, ...]
    token_type_ids: tuple[int, ...]
    places: tuple[Place, ...]


def truncate_seq_pair(
    first: list[int],
    second: list[int],
    room: int,
    random: Random,
) -> tuple[list[int], list[int]]:
    """Take tokens away until both fit into ``room``, as the original recipe does.

    Each time one token of the longer segment goes (of the second, if they are equal),
    from its front or its end by the toss of a coin: so that neither the beginnings of
    segments nor their ends are always there.
    """
    starts, ends = [0, 0], [len(first), len(second)]
    while sum(ends) - sum(starts) > room:
        side = 0 if ends[0] - starts[0] > ends[1] - starts[1] else 1
        if random.random() < 0.5:
            starts[side] += 1
        else:
            ends[side] -= 1
    return first[starts[0] : ends[0]], second[starts[1] : ends[1]]


class Layout:
    """The special tokens around the segments, as this tokenizer's family writes them."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.cls, self.sep = tokenizer.cls_token_id, tokenizer.sep_token_id
        self.around_pair = tokenizer.backend.num_special_tokens_to_add(True)
        # RoBERTa: <s> A </s></s> B </s>, every segment 0. BERT and ALBERT: [CLS] A [SEP] B [SEP].
        self.between = self.around_pair - 2
        self.second_type = 1 if self.between == 1 else 0

    def pair(self, first: Sequence[int], second: Sequence[int], label: int, places: tuple[Place, Place]) -> PairExample:
        """[CLS] first [SEP] second [SEP]."""
        head = (self.cls, *first, *[self.sep] * self.between)
        tail = (*second, self.sep)
        types = (0,) * len(head) + (self.second_type,) * len(tail)
        return PairExample(tuple(first), tuple(second), label, head + tail, types, places)

    def single(self, ids: Sequence[int], places: tuple[Place, ...]) -> PairExample:
        """[CLS] ids [SEP]."""
        whole = (self.cls, *ids, self.sep)
        return PairExample(tuple(ids), None, None, whole, (0,) * len(whole), places)
