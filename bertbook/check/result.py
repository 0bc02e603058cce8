"""What a check returns: a verdict that shows itself in a notebook, on a page and in a terminal."""

import re
import textwrap
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True, repr=False)
class CheckResult:
    """The verdict on one exercise. True where a truth value is asked for, if the answer is right.

    Args:
        ok: is the answer right?
        title: which exercise.
        message: what was found. `Backticks` mark code.
        hint: where to look next; if the answer is right, a question to go on with.
    """

    ok: bool
    title: str
    message: str
    hint: str

    @property
    def verdict(self) -> str:
        """The answer in words: "Right" or "Not yet"."""
        return "Right" if self.ok else "Not yet"

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        lines = (f"{self.verdict}: {self.title}", self.message, f"{self._hint_label}: {self.hint}")
        return "\n".join(
            textwrap.fill(line, 100, initial_indent=indent, subsequent_indent="  ")
            for line, indent in zip(lines, ("", "  ", "  "), strict=True)
        )

    def _repr_html_(self) -> str:
        # Colours and type are the page's own, so that it fits any theme; the verdict is in words, and
        # in the line beside it (unbroken or dashed), never in a colour.
        line = "solid" if self.ok else "dashed"
        return (
            f'<div class="bertbook-check" role="status" style="border-inline-start: 0.25em {line} currentColor; '
            'padding: 0.25em 0 0.25em 1em; margin: 0.5em 0; max-width: 48em; overflow-wrap: anywhere">'
            f'<p style="margin: 0"><strong>{self.verdict}</strong>: {_html(self.title)}</p>'
            f'<p style="margin: 0.5em 0 0">{_html(self.message)}</p>'
            f'<p style="margin: 0.5em 0 0"><strong>{self._hint_label}</strong>: {_html(self.hint)}</p>'
            "</div>"
        )

    @property
    def _hint_label(self) -> str:
        return "To go on" if self.ok else "Hint"


def _html(text: str) -> str:
    """Escaped first, whatever it holds; then `code` becomes <code>code</code>."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
