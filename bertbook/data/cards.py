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

    def _repr_markdown_(self) -> str:
        """The card as a page shows it."""
        package = self.package
        lines = [
            f"**{self.name}** ({self.kind}, {_LANGUAGES[self.language]}): {self.purpose}",
            "",
            f"- *The text.* {self.origin}",
            f"- *Licence.* {self.licence}",
            f"- *Package.* `{package.name}` {package.version}, {package.size / 1e6:.1f} MB, "
            f"SHA-256 `{package.sha256[:16]}…`",
            *(f"- {note}" for note in self.notes),
        ]
        if self.dropped:
            left_out = "; ".join(f"{what}: {number:,}" for what, number in self.dropped.items())
            lines.append(f"- *Left out.* {left_out}.")
        columns = list(dict.fromkeys(name for counts in self.splits.values() for name in counts))
        lines += ["", f"| split | {' | '.join(columns)} |", f"|---|{'---:|' * len(columns)}"]
        for split, counts in self.splits.items():
            lines.append(f"| {split} | {' | '.join(f'{counts.get(name, 0):,}' for name in columns)} |")
        return "\n".join(lines)


_LANGUAGES = {"en": "English", "zh": "Chinese"}
