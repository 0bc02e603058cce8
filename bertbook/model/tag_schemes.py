"""Which tag may follow which: the rules of BIO, IOBES and BMES, as tables for a CRF."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool
from torch import Tensor


@dataclass(frozen=True)
class TagConstraints:
    """What a path may do; True: allowed. K labels, in the order of their ids."""

    labels: tuple[str, ...]
    allowed_start: Bool[Tensor, " K"]
    allowed_end: Bool[Tensor, " K"]
    allowed_transitions: Bool[Tensor, "K K"]  # [from, to]

    def __post_init__(self) -> None:
        count = len(self.labels)
        for name, shape in (("start", (count,)), ("end", (count,)), ("transitions", (count, count))):
            table = getattr(self, f"allowed_{name}")
            if table.shape != shape or table.dtype != torch.bool:
                raise ValueError(
                    f"allowed_{name} is {tuple(table.shape)} of {table.dtype}: "
                    f"for {count} labels it must be {shape} of torch.bool"
                )


@dataclass(frozen=True)
class _Scheme:
    """Prefixes by what they may do in a span of tokens. O counts as a span of one token."""

    first: str  # may begin a span; the others go on with one of their own type
    last: str  # may end a span
    open: str  # may be gone on with


SCHEMES = {
    "BIO": _Scheme(first="OB", last="OBI", open="BI"),  # Ramshaw and Marcus 1995, in the form called IOB2
    "IOBES": _Scheme(first="OBS", last="OES", open="BI"),
    "BMES": _Scheme(first="OBS", last="OES", open="BM"),  # the same, I called M; O only where not all is segmented
}


def tag_constraints(labels: Sequence[str], scheme: str) -> TagConstraints:
    """The starts, ends and moves that a scheme allows among these labels.

    Args:
        labels: names by id: "O", and a prefix with or without a type, "B-PER" or "B".
        scheme: "BIO", "IOBES" or "BMES". Types are free; a label goes on only with a label of its own type.

    Raises:
        ValueError: an unknown scheme; no labels; a label twice; one that the scheme has no place for, or that no
            legal sequence of these labels could contain.
        TypeError: ``labels`` is one string.
    """
    if isinstance(labels, str):
        raise TypeError(f"labels is the string {labels!r}: expected a list of names, by id")
    if scheme not in SCHEMES:
        raise ValueError(f"unknown scheme {scheme!r}: expected {', '.join(SCHEMES)}")
    if not labels:
        raise ValueError("no labels: a tagger needs at least one")
    repeated = sorted({label for label in labels if list(labels).count(label) > 1})
    if repeated:
        raise ValueError(f"label {repeated[0]!r} is given twice: each id has a name of its own")
    rules = SCHEMES[scheme]
    tags = [_parse(label, scheme, rules) for label in labels]
    start = torch.tensor([prefix in rules.first for prefix, _ in tags])
    end = torch.tensor([prefix in rules.last for prefix, _ in tags])
    moves = torch.tensor([[_may_follow(rules, before, after) for after in tags] for before in tags])
    _check_usable(labels, scheme, start, end, moves)
    return TagConstraints(tuple(labels), start, end, moves)


def _parse(label: str, scheme: str, rules: _Scheme) -> tuple[str, str]:
    """``"B-PER"`` to ``("B", "PER")``; a type is optional, and O has none."""
    prefix, dash, kind = label.partition("-")
    known = sorted(set(rules.first + rules.last + rules.open) - {"O"})
    if label != "O" and (prefix not in known or (dash and not kind)):
        raise ValueError(
            f"label {label!r} has no place in {scheme}: expected O, {', '.join(known)}, or one of these with a type, "
            f"as {known[0]}-PER; of another scheme? There are {', '.join(SCHEMES)}"
        )
    return prefix, kind


def _may_follow(rules: _Scheme, before: tuple[str, str], after: tuple[str, str]) -> bool:
    if after[0] in rules.first:
        return before[0] in rules.last
    return before[0] in rules.open and before[1] == after[1]


def _check_usable(labels: Sequence[str], scheme: str, start: Tensor, end: Tensor, moves: Tensor) -> None:
    """Every label must be on some way from a start to an end; one that is not was forgotten a partner."""
    reached, leads_on = start, end
    for _ in labels:
        reached = reached | (reached[:, None] & moves).any(0)
        leads_on = leads_on | (leads_on & moves).any(1)
    useless = [label for label, used in zip(labels, (reached & leads_on).tolist(), strict=True) if not used]
    if useless:
        raise ValueError(
            f"no legal {scheme} sequence of these labels contains {', '.join(useless)}: "
            "add the labels that must stand before or after, or leave these out"
        )
