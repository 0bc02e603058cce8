"""A card: what a data set is, whose text it is, and what was done to it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from bertbook.wheel import Wheel


@dataclass(frozen=True)
class Card:
    """What to know about a data set before using it.

    Attributes:
        name: for :func:`~bertbook.data.load_corpus` or :func:`~bertbook.data.load_task`.
        kind: ``"corpus"``, or the kind of the task: ``"sentence"``, ``"pair"``, ``"tokens"``, ``"answers"``.
        language: ``"en"`` or ``"zh"``.
        purpose: what the book uses it for.
        origin: where the text is from.
        licence: what the package states, and whose text it is.
        package: the pinned release that holds it.
        notes: what a user of it should mind.
        splits: the splits, and what is in each: ``{"train": {"documents": 1890, ...}, ...}``.
        dropped: what was left out, and how much of it.
    """

    name: str
    kind: str
    language: str
    purpose: str
    origin: str
    licence: str
    package: Wheel
    notes: tuple[str, ...] = ()
    splits: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)
