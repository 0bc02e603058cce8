"""The rules of the schemes, each against an independent reading: the spans that tags write down."""

import re
from collections.abc import Sequence
from itertools import pairwise, product

import pytest

from bertbook.model.tag_schemes import SCHEMES, TagConstraints, tag_constraints

LABELS = {
    "BIO": ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"],
    "IOBES": ["O", "B-PER", "I-PER", "E-PER", "S-PER", "S-LOC", "E-LOC", "B-LOC"],
    "BMES": ["B", "M", "E", "S"],
}


def allows(tables: TagConstraints, path: Sequence[int]) -> bool:
    moves = pairwise(path)
    return bool(
        tables.allowed_start[path[0]]
        and tables.allowed_end[path[-1]]
        and all(tables.allowed_transitions[move] for move in moves)
    )


def write(spans: Sequence[tuple[int, str | None]], scheme: str) -> list[str]:
    """Spans as (length, type), None outside, to tags: what the scheme is for."""
    tags = []
    for length, kind in spans:
        suffix = f"-{kind}" if kind else ""
        if kind is None:
            tags += ["O"] * length
        elif scheme == "BIO":
            tags += [f"B{suffix}"] + [f"I{suffix}"] * (length - 1)
        elif length == 1:
            tags += [f"S{suffix}"]
        else:
            inner = "I" if scheme == "IOBES" else "M"
            tags += [f"B{suffix}"] + [f"{inner}{suffix}"] * (length - 2) + [f"E{suffix}"]
    return tags


def splits(length: int) -> list[list[int]]:
    """All ways to cut a text of this length into spans."""
    return [[]] if length == 0 else [[n, *rest] for n in range(1, length + 1) for rest in splits(length - n)]


@pytest.mark.parametrize("length", [1, 2, 3, 4])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_exactly_what_spans_can_write(scheme: str, length: int) -> None:
    """A tag sequence is allowed if and only if some spans are written so."""
    labels = LABELS[scheme]
    kinds: list[str | None] = [""] if scheme == "BMES" else [None, "PER", "LOC"]
    written = {
        tuple(write(list(zip(lengths, chosen, strict=True)), scheme))
        for lengths in splits(length)
        for chosen in product(kinds, repeat=len(lengths))
    }
    written = {tags for tags in written if set(tags) <= set(labels)}  # IOBES above has no I-LOC
    tables = tag_constraints(labels, scheme)
    allowed = {
        tuple(labels[i] for i in path) for path in product(range(len(labels)), repeat=length) if allows(tables, path)
    }
    assert written
    assert allowed == written


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_order_of_the_labels_is_free(scheme: str) -> None:
    labels = LABELS[scheme]
    tables, turned = tag_constraints(labels, scheme), tag_constraints(labels[::-1], scheme)
    assert turned.labels == tuple(labels[::-1])
    assert turned.allowed_start.tolist() == tables.allowed_start.flip(0).tolist()
    assert turned.allowed_end.tolist() == tables.allowed_end.flip(0).tolist()
    assert turned.allowed_transitions.tolist() == tables.allowed_transitions.flip(0, 1).tolist()


def test_bio_in_full() -> None:
    tables = tag_constraints(["O", "B-PER", "I-PER", "I-a-b", "B-a-b"], "BIO")  # a type may have dashes
    assert tables.allowed_start.tolist() == [True, True, False, False, True]
    assert tables.allowed_end.all()
    assert tables.allowed_transitions.tolist() == [
        [True, True, False, False, True],
        [True, True, True, False, True],
        [True, True, True, False, True],
        [True, True, False, True, True],
        [True, True, False, True, True],
    ]


@pytest.mark.parametrize(
    ("labels", "scheme", "message"),
    [
        (["O", "B-PER"], "IOB1", "unknown scheme 'IOB1': expected BIO, IOBES, BMES"),
        (["O"], "bio", "unknown scheme 'bio'"),
        ([], "BIO", "no labels"),
        (["O", "B-PER", "O"], "BIO", "label 'O' is given twice"),
        (["O", "X-PER"], "BIO", "label 'X-PER' has no place in BIO: expected O, B, I, or one of these with a type"),
        (["O", "PER"], "BIO", "label 'PER' has no place in BIO"),
        (["O", "B-PER", "E-PER"], "BIO", "label 'E-PER' has no place in BIO: expected O, B, I, or one of these with a"),
        (["O", "B-PER", "M-PER"], "IOBES", "label 'M-PER' has no place in IOBES: expected O, B, E, I, S"),
        (["B", "I", "E", "S"], "BMES", "label 'I' has no place in BMES: expected O, B, E, M, S, or one of these"),
        (["O", "B-"], "BIO", "label 'B-' has no place"),
        (["O", "O-PER"], "BIO", "label 'O-PER' has no place"),
        (["o", "B-PER"], "BIO", "label 'o' has no place"),
        (["O", ""], "BIO", "label '' has no place"),
        (["O", "I-PER"], "BIO", "no legal BIO sequence of these labels contains I-PER: add the labels that must stand"),
        (["O", "B-PER", "I-LOC"], "BIO", "contains I-LOC"),
        (["O", "S-PER", "B-LOC"], "IOBES", "contains B-LOC"),
        (["S", "B", "M"], "BMES", "contains B, M"),
    ],
)
def test_labels_refused(labels: list[str], scheme: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        tag_constraints(labels, scheme)


def test_one_string() -> None:
    with pytest.raises(TypeError, match="labels is the string 'BMES': expected a list of names"):
        tag_constraints("BMES", "BMES")
