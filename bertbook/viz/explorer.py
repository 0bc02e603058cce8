"""The attention explorer: every head of a record at a glance, and one head in detail."""

import math
import operator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bertbook.records import AttentionRecord
from bertbook.viz.embed import BookWidget, name_from_caption, name_from_content
from bertbook.viz.head_statistics import head_statistics, kinds

View = Literal["matrix", "lines"]


class AttentionExplorer(BookWidget):
    """Look at a record: every head as a thumbnail, one head as a matrix or as lines, one token's weights as bars.

    Show it as the last line of a cell, or call :meth:`html` or :meth:`save_html`. In a running notebook ``layer``,
    ``head``, ``focus`` and ``view`` follow the reader, and setting them moves the picture.

    The picture carries each weight w as one byte, round(255 √w): off by at most √w / 255, so by less than
    0.4 percentage points, and by less for small weights. It shows whole percents, and tenths below 1.5 %. The head
    statistics come from the exact weights.

    Args:
        record: what to look at.
        layer, head: the head to start with, counted from 0 as in ``record.weights[layer, head]``.
        focus: position of the token whose attention is shown, or None for the whole head.
        view: ``"matrix"`` or ``"lines"``.
        caption: the title and accessible name; by default the model's name and the size of the text.
        id: the widget's name in links to a view; by default made from the caption, or from the text.

    Raises:
        TypeError: ``record`` is no AttentionRecord, or an index is no whole number.
        IndexError: an index lies outside the record.
        ValueError: an unknown view or an unusable id.
    """

    front_end = "attention-explorer"

    def __init__(
        self,
        record: AttentionRecord,
        *,
        layer: int = 0,
        head: int = 0,
        focus: int | None = None,
        view: View = "matrix",
        caption: str | None = None,
        id: str | None = None,
    ) -> None:
        if not isinstance(record, AttentionRecord):
            raise TypeError(
                f"record is a {type(record).__name__}; pass an AttentionRecord, "
                "as record_attention(model, tokenizer, text) makes"
            )
        self.record = record
        if caption is None:
            name = f"Attention in {record.model}" if record.model else "Attention"
            caption = f"{name}, {len(record)} token{'s' if len(record) > 1 else ''}"
            id = id or _name_of(record)
        state = {
            "layer": self._index("layer", layer, record.num_layers),
            "head": self._index("head", head, record.num_heads),
            "focus": None if focus is None else self._index("focus", focus, len(record)),
            "view": self._view(view),
        }
        super().__init__(caption, id or name_from_caption("explorer", caption) or _name_of(record), state)

    def __repr__(self) -> str:
        return f"AttentionExplorer({self.record!r}, layer={self.layer}, head={self.head})"

    @property
    def layer(self) -> int:
        """The layer shown, from 0."""
        return int(self._get("layer"))

    @layer.setter
    def layer(self, value: int) -> None:
        self._set("layer", self._index("layer", value, self.record.num_layers))

    @property
    def head(self) -> int:
        """The head shown, from 0."""
        return int(self._get("head"))

    @head.setter
    def head(self, value: int) -> None:
        self._set("head", self._index("head", value, self.record.num_heads))

    @property
    def focus(self) -> int | None:
        """Position of the token in focus, or None."""
        value = self._get("focus")
        return None if value is None else int(value)

    @focus.setter
    def focus(self, value: int | None) -> None:
        self._set("focus", None if value is None else self._index("focus", value, len(self.record)))

    @property
    def view(self) -> View:
        """``"matrix"`` or ``"lines"``."""
        return self._view(self._get("view"))

    @view.setter
    def view(self, value: View) -> None:
        self._set("view", self._view(value))

    def _data(self) -> dict[str, Any]:
        statistics = head_statistics(self.record)
        return {
            "id": self.id,
            "caption": self.caption,
            "tokens": list(self.record.tokens),
            "segments": self.record.segments.tolist(),
            "layers": self.record.num_layers,
            "heads": self.record.num_heads,
            "weights": quantise(self.record.weights),
            "statistics": {name: _numbers(values) for name, values in vars(statistics).items()},
            "kinds": kinds(statistics, len(self.record)).ravel().tolist(),
        }

    def _text(self) -> str:
        return f"An interactive picture of the attention between these tokens: {' '.join(self.record.tokens)}"

    @staticmethod
    def _index(name: str, value: Any, count: int) -> int:
        try:
            index = operator.index(value)
        except TypeError:
            raise TypeError(f"{name}={value!r}: a whole number from 0 to {count - 1} is needed") from None
        if not 0 <= index < count:
            raise IndexError(f"{name}={index} is outside the record: choose 0 to {count - 1}")
        return index

    @staticmethod
    def _view(value: Any) -> View:
        if value not in ("matrix", "lines"):
            raise ValueError(f"view={value!r}: choose 'matrix' or 'lines'")
        view: View = value
        return view


def quantise(weights: NDArray[np.float32]) -> bytes:
    """Weights from 0 to 1 as one byte each, q = round(255 √w), in C order. Read back as (q / 255)².

    Since √w is off by at most 1/510, w is off by at most √w / 255 + 1/510². The root spends the 256 steps where weights
    of long texts are: 1/512 is step 11, where round(255 w) has step 0 or 1.
    """
    return np.rint(255 * np.sqrt(np.minimum(weights, 1))).astype(np.uint8).tobytes()


def _numbers(values: NDArray[np.float64]) -> list[float | None]:
    return [None if math.isnan(value) else round(value, 4) for value in values.ravel().tolist()]


def _name_of(record: AttentionRecord) -> str:
    """From the text and the model, not from the weights: these differ in the last digit from machine to machine."""
    return name_from_content("explorer", record.model, *record.tokens)
