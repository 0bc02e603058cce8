"""A card: what a data set is, whose text it is, and what was done to it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

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

    def _repr_html_(self) -> str:
        """The card as a notebook and a page show it."""
        package = self.package
        lines = [
            ("The text", self.origin),
            ("Licence", self.licence),
            ("Package", f"{package}, {package.size / 1e6:.1f} MB, SHA-256 {package.sha256[:16]}…"),
            *(("Mind", note) for note in self.notes),
            *([("Left out", "; ".join(f"{what}: {n:,}" for what, n in self.dropped.items()))] if self.dropped else []),
        ]
        items = "".join(f"<li><em>{what}.</em> {escape(text)}</li>" for what, text in lines)
        columns = list(dict.fromkeys(name for counts in self.splits.values() for name in counts))
        rows = [[split, *(f"{counts.get(name, 0):,}" for name in columns)] for split, counts in self.splits.items()]
        return (
            f"<p><strong>{escape(self.name)}</strong> ({self.kind}, {_LANGUAGES[self.language]}): "
            f"{escape(self.purpose)}</p><ul>{items}</ul>{html_table(['split', *columns], rows)}"
        )


def html_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; what begins with a digit stands at the right."""

    def cell(text: str) -> str:
        side = "right" if text[:1].isdigit() else "left"
        return f'<td style="text-align: {side}; white-space: nowrap">{escape(text)}</td>'

    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)
    body = "".join(
        f'<tr><th scope="row" style="white-space: nowrap">{escape(row[0])}</th>{"".join(map(cell, row[1:]))}</tr>'
        for row in rows
    )
    return f'<table class="table"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


_LANGUAGES = {"en": "English", "zh": "Chinese"}
