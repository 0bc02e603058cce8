"""Exercise 3: wrong answers as readers write them, and what they are told."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from bertbook import check


def greedy(
    logits: Any, start: int, end: int, limit: int,
    choose: Callable[[Tensor], int] = lambda row: int(row.argmax()),
    give: Callable[[list[int]], Any] = lambda ids: ids,
    ends: Callable[[list[int], int], bool] = lambda ids, end: ids[-1] == end,
) -> list[int]:  # fmt: skip
    """Greedy decoding with its steps open for mistakes. The start is still in front."""
    ids = [start]
    while len(ids) - 1 < limit:
        ids.append(choose(logits(give(ids))))
        if ends(ids, end):
            break
    return ids


def wrong(change: Callable[..., list[int]] = lambda ids, *_: ids[1:], **steps: Any) -> Callable[..., list[int]]:
    return lambda logits, start, end, limit: change(greedy(logits, start, end, limit, **steps), start, end, limit)


def sampled(row: Tensor) -> int:
    return int(torch.multinomial(row.softmax(-1), 1, generator=torch.Generator().manual_seed(1)))


def for_ever(logits: Any, start: int, end: int, limit: int) -> list[int]:
    ids = [start]
    while ids[-1] != end or len(ids) == 1:
        ids.append(int(logits(ids[-1:]).argmax()))
    return ids[1:]


def end_looked_for_first(logits: Any, start: int, end: int, limit: int) -> list[int]:
    ids = [start]
    while ids[-1] != end and len(ids) <= limit:
        ids.append(int(logits(ids).argmax()))
    return ids[1:]


def cut_afterwards(logits: Any, start: int, end: int, limit: int) -> list[int]:
    ids = greedy(logits, start, end, limit, ends=lambda *_: False)[1:]
    return ids[: ids.index(end) + 1] if end in ids else ids


def one_call_too_many(logits: Any, start: int, end: int, limit: int) -> list[int]:
    ids: list[int] = []
    new = int(logits([start]).argmax())
    while len(ids) < limit:
        ids.append(new)
        if new == end:
            break
        new = int(logits([start, *ids]).argmax())
    return ids


def start_dropped_by_value(logits: Any, start: int, end: int, limit: int) -> list[int]:
    return [i for i in greedy(logits, start, end, limit) if i != start]


GREEDY: dict[str, tuple[Any, str]] = {
    "start included": (greedy, "begins with `start_id`"),
    "start included, limit counts it": (
        lambda logits, start, end, limit: (
            greedy(logits, start, end, limit - 1) if limit < 10 else greedy(logits, start, end, limit)[1:]
        ),
        "max_length = 4: your answer begins with `start_id`",
    ),
    "end missing": (wrong(lambda ids, start, end, _: ids[1:-1] if ids[-1] == end else ids[1:]), "`end_id` is missing"),
    "last missing": (wrong(lambda ids, *_: ids[1:-1]), "`end_id` is missing"),
    "both": (wrong(lambda ids, *_: ids[:-1]), "begins with `start_id`"),
    "end added": (
        wrong(lambda ids, start, end, _: ids[1:] if ids[-1] == end else [*ids[1:], end]),
        "max_length = 4: you add `end_id` where the model did not choose it",
    ),
    "on and on": (wrong(ends=lambda *_: False), "goes on after the end"),
    "one more after the end": (
        wrong(ends=lambda ids, end: len(ids) > 2 and ids[-2] == end),
        "goes on after the end",
    ),
    "limit less one": (
        lambda logits, start, end, limit: greedy(logits, start, end, limit - 1)[1:],
        "max_length = 4: your answer is one id short of 4",
    ),
    "limit and one": (
        lambda logits, start, end, limit: greedy(logits, start, end, limit + 1)[1:],
        "max_length = 4: your answer has 5 ids, and at most 4 are allowed",
    ),
    "no limit": (
        lambda logits, start, end, limit: greedy(logits, start, end, 99)[1:],
        "max_length = 4: your answer has 6 ids, and at most 4 are allowed",
    ),
    "smallest": (wrong(choose=lambda row: int(row.argmin())), "the id with the smallest logit"),
    "second best": (wrong(choose=lambda row: int(row.topk(2).indices[1])), "your id at place 0 is"),
    "sampled": (wrong(choose=sampled), "of the 20 logits are larger"),
    "always 7": (wrong(choose=lambda row: 7), "your id at place 0 is 7, and"),
    "last id alone": (wrong(give=lambda ids: ids[-1:]), "given the last id only"),
    "start alone": (wrong(give=lambda ids: ids[:1]), "given the same ids every time"),
    "no start": (wrong(give=lambda ids: ids[1:] or ids), "does not see the start"),
    "reversed": (wrong(give=lambda ids: ids[::-1]), "in reverse"),
    "for ever": (for_ever, "RuntimeError: next_logits has been called 1000 times: this goes on for ever"),
    "end looked for first": (
        end_looked_for_first,
        "With start_id = end_id, as some models have it: `ids` is [] and should be [",
    ),
    "start dropped by its value": (
        start_dropped_by_value,
        "With start_id = end_id, as some models have it: `end_id` is missing",
    ),
    "cut afterwards": (
        cut_afterwards,
        "With a model that may not be called after the end: it stops in line 2 of the function with RuntimeError",
    ),
    "one call too many": (
        one_call_too_many,
        "RuntimeError: next_logits was called again when all max_length ids were there",
    ),
    "a tensor to the model": (
        wrong(give=lambda ids: torch.tensor([ids])),
        "TypeError: next_logits takes a list of whole numbers, and was given a tensor of shape (1, 1)",
    ),
    "tensors in the list": (
        wrong(choose=lambda row: row.argmax()),
        "TypeError: next_logits takes a list of whole numbers, and was given a tensor of shape ()",
    ),
    "one id": (wrong(give=lambda ids: ids[-1]), "a list of whole numbers, and was given an int"),
    "a tensor": (
        lambda *a: torch.tensor(greedy(*a)[1:]),
        "`ids` is a tensor of shape (6,) and should be a list of 6",
    ),
    "a tuple": (lambda *a: tuple(greedy(*a)[1:]), "`ids` is a tuple of 6 and should be a list of 6"),
    "three ids for ever": (
        wrong(lambda ids, *_: ids[1:4]),
        "`ids` is [14, 19, 15] and should be [14, 19, 15, 17, 6, 2]",
    ),
    "nothing": (lambda *a: [], "`ids` is [] and should be ["),
}


@pytest.mark.parametrize("mistake", GREEDY)
def test_decoder_3(mistake: str, refused: Callable[..., None]) -> None:
    refused(check.decoder_3, *GREEDY[mistake])


def test_decoder_3_accepts_other_roads() -> None:
    def by_recursion(logits: Any, start: int, end: int, limit: int) -> list[int]:
        def after(ids: list[int]) -> list[int]:
            if len(ids) == limit:
                return ids
            ids = [*ids, logits([start, *ids]).max(dim=-1).indices.item()]
            return ids if ids[-1] == end else after(ids)

        return after([])

    for right in (wrong(), by_recursion):
        assert check.decoder_3(right), check.decoder_3(right)
