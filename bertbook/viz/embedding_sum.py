"""The embedding sum: token + segment + position, then LayerNorm, number by number; and which positions are alike."""

import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bertbook.records import EmbeddingRecord
from bertbook.viz.embed import BookWidget, name_from_caption, name_from_content

PARTS = ("token", "segment", "position")
MAX_TOKENS = 64  # every token comes with two whole vectors, in a page that should stay light
MAX_POSITIONS = 128


class EmbeddingSum(BookWidget):
    """Look at a record: a token's three parts, their sum and what LayerNorm makes of it, as strips of colour.

    Parts can be switched off; the page then adds and normalises what is left. Beside it stands a map of the cosines
    between positions. In a running notebook ``focus``, ``token``, ``segment`` and ``position`` follow the
    reader, and setting them changes the picture.

    The page carries each number x as a whole number q from −32,767 to 32,767, x ≈ q · s with one s a table: off by at
    most s / 2, so by 1/65,534 of the table's largest number. From these it computes in float64. The map has
    one byte a cosine, off by at most 1/255.

    Args:
        record: what to look at, at most 64 tokens.
        focus: the position of the token whose parts are shown to begin with.
        token, segment, position: which parts are added to begin with.
        caption: the title and accessible name.
        id: the widget's name in links to a view; by default made from the caption, or from the text.

    Raises:
        TypeError: ``record`` is no EmbeddingRecord, ``focus`` no whole number, a switch neither True nor False.
        IndexError: ``focus`` lies outside the record.
        ValueError: more than 64 tokens, or an unusable id.
    """

    front_end = "embedding-sum"

    def __init__(
        self,
        record: EmbeddingRecord,
        *,
        focus: int = 0,
        token: bool = True,
        segment: bool = True,
        position: bool = True,
        caption: str | None = None,
        id: str | None = None,
    ) -> None:
        if not isinstance(record, EmbeddingRecord):
            raise TypeError(
                f"record is a {type(record).__name__}; pass an EmbeddingRecord, "
                "as record_embeddings(model, tokenizer, text) makes"
            )
        if len(record) > MAX_TOKENS:
            raise ValueError(f"{len(record)} tokens: at most {MAX_TOKENS} fit on a page; record a shorter text")
        self.record = record
        switches = {"token": token, "segment": segment, "position": position}
        state = {"focus": self._index(focus), **{name: _switch(name, value) for name, value in switches.items()}}
        named = id or (name_from_caption("sum", caption) if caption else "")
        super().__init__(
            caption or f"Embeddings{f' in {record.model}' if record.model else ''}, {len(record)} tokens",
            named or name_from_content("sum", record.model, *record.tokens),
            state,
        )

    def __repr__(self) -> str:
        return f"EmbeddingSum({self.record!r}, focus={self.focus})"

    @property
    def focus(self) -> int:
        """Position of the token whose parts are shown."""
        return int(self._get("focus"))

    @focus.setter
    def focus(self, value: int) -> None:
        self._set("focus", self._index(value))

    @property
    def token(self) -> bool:
        """Whether the token's own vector is added."""
        return bool(self._get("token"))

    @token.setter
    def token(self, value: bool) -> None:
        self._set("token", _switch("token", value))

    @property
    def segment(self) -> bool:
        """Whether the segment's vector is added."""
        return bool(self._get("segment"))

    @segment.setter
    def segment(self, value: bool) -> None:
        self._set("segment", _switch("segment", value))

    @property
    def position(self) -> bool:
        """Whether the position's vector is added."""
        return bool(self._get("position"))

    @position.setter
    def position(self, value: bool) -> None:
        self._set("position", _switch("position", value))

    @property
    def output(self) -> NDArray[np.float64]:
        """(E,): what LayerNorm makes of the parts that are on, for the token in focus."""
        on = {name: bool(self._get(name)) for name in PARTS}
        return self.record.normalised(**on)[self.focus]

    def _data(self) -> dict[str, Any]:
        record = self.record
        tables = [record.token, record.segment, record.position[: len(record)], record.weight, record.bias]
        quantised = [quantise(table) for table in tables]
        return {
            "id": self.id,
            "caption": self.caption,
            "tokens": list(record.tokens),
            "segments": record.segments.tolist(),
            "segmentRows": len(record.segment),
            "width": record.token.shape[1],
            "eps": record.eps,
            "numbers": b"".join(data for data, _ in quantised),
            "scales": [scale for _, scale in quantised],
            "positions": min(len(record.position), MAX_POSITIONS),
            "cosines": _cosines(record.position[:MAX_POSITIONS]),
        }

    def _text(self) -> str:
        lengths = {
            "token": self.record.token[self.focus],
            "segment": self.record.segment[self.record.segments[self.focus]],
            "position": self.record.position[self.focus],
        }
        parts = ", ".join(f"{name} {np.linalg.norm(row):.2f}" for name, row in lengths.items())
        return (
            f"An interactive picture of the first vectors of these tokens: {' '.join(self.record.tokens)}. "
            f"Lengths of the parts of {self.record.tokens[self.focus]}: {parts}."
        )

    def _index(self, value: Any) -> int:
        last = len(self.record) - 1
        try:
            index = operator.index(value)
        except TypeError:
            raise TypeError(f"focus={value!r}: a whole number from 0 to {last} is needed") from None
        if not 0 <= index <= last:
            raise IndexError(f"focus={index} is outside the record: choose 0 to {last}")
        return index


def quantise(table: NDArray[np.float32]) -> tuple[bytes, float]:
    """Each number as two bytes, little-endian, in C order, and the scale: x ≈ q · scale."""
    scale = float(np.abs(table).max()) / 32767 or 1.0  # a table of zeros stays one
    return np.rint(table / np.float64(scale)).astype("<i2").tobytes(), scale


def _cosines(rows: NDArray[np.float32]) -> bytes:
    """(P, P) cosines from −1 to 1 as one byte each, q = round(127.5 · (cosine + 1))."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit = rows / np.where(lengths > 0, lengths, 1)
    return np.rint(127.5 * (np.clip(unit @ unit.T, -1, 1) + 1)).astype(np.uint8).tobytes()


def _switch(name: str, value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name}={value!r}: True (added) or False is needed")
    return bool(value)
