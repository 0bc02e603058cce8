"""The padding and packing widget: one batch in three layouts, what each wastes and what it costs."""

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bertbook.viz.embed import BookWidget, name_from_caption, name_from_content
from bertbook.viz.layouts import LAYOUTS, Layout, LayoutCost, layout_costs

# What can still be drawn, and what a browser can still count exactly.
MAX_ROWS, MAX_LENGTH, MAX_SIZE = 512, 16_384, 65_536


class PackingExplorer(BookWidget):
    """One batch padded to its longest row, in groups of like length, and packed without padding, side by side.

    Show it as the last line of a cell, or call :meth:`html` or :meth:`save_html`. The reader changes lengths and
    groups, draws other batches from the given lengths, and finds a row in all three pictures. In a running notebook
    ``lengths``, ``groups``, ``layout`` and ``focus`` follow the reader, and setting them moves the picture.
    :attr:`costs` are the numbers beside the pictures; :func:`~bertbook.viz.layouts.layout_costs` says what is counted.

    Args:
        batch: the length of each row, in tokens; or the rows themselves, as lists of tokens, which the picture then
            names. ``[PAD]`` at the end of a row is not counted. Up to 512 rows of up to 16,384 tokens.
        groups: into how many groups of like length the rows are sorted to begin with; by default 4, or fewer if there
            are fewer rows.
        layout: the layout that is described in words: ``"padded"``, ``"bucketed"`` or ``"packed"``.
        focus: the row in focus, counted from 0, or None.
        hidden_size, intermediate_size, num_layers: those of the encoder whose operations are counted. By default
            BERT-base's; the intermediate size is 4 times the hidden size unless given.
        caption: the title and accessible name; by default the size of the batch.
        id: the widget's name in links to a view; by default made from the caption, or from the batch.

    Raises:
        TypeError: something other than whole numbers, or than strings for the tokens.
        ValueError: no rows, too many, an empty or too long row, sizes below 1, more groups than rows, an unknown
            layout, an unusable id.
        IndexError: ``focus`` lies outside the batch.
    """

    front_end = "packing-explorer"

    def __init__(
        self,
        batch: ArrayLike | Sequence[Sequence[str]],
        *,
        groups: int | None = None,
        layout: Layout = "padded",
        focus: int | None = None,
        hidden_size: int = 768,
        intermediate_size: int | None = None,
        num_layers: int = 12,
        caption: str | None = None,
        id: str | None = None,
    ) -> None:
        self.tokens = _tokens(batch)
        lengths = _lengths([len(row) for row in self.tokens] if self.tokens else batch)
        self.hidden_size = _whole("hidden_size", hidden_size, 1, MAX_SIZE)
        given = 4 * self.hidden_size if intermediate_size is None else intermediate_size
        self.intermediate_size = _whole("intermediate_size", given, 1, 4 * MAX_SIZE)
        self.num_layers = _whole("num_layers", num_layers, 1, MAX_SIZE)
        state: dict[str, Any] = {
            "lengths": lengths,
            "groups": min(4, len(lengths)) if groups is None else _groups(groups, lengths),
            "layout": _layout(layout),
            "focus": _focus(focus, lengths),
            "seed": None,
        }
        self._initial = dict(state)
        if caption is None:
            caption = f"Padding and packing: {_size(lengths)}"
            id = id or self._name()
        super().__init__(caption, id or name_from_caption("packing", caption) or self._name(), state)

    def __repr__(self) -> str:
        return f"PackingExplorer({_size(self._get('lengths'))})"

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The length of each row, (B,). A copy: set the property to change the picture.

        The number of rows may change: ``groups`` and ``focus`` give way if they no longer fit.
        """
        return np.array(self._get("lengths"), np.int64)

    @lengths.setter
    def lengths(self, value: ArrayLike) -> None:
        lengths = _lengths(value)
        if self.groups > len(lengths):
            self._set("groups", len(lengths))
        if self.focus is not None and self.focus >= len(lengths):
            self._set("focus", None)
        self._set("seed", None)
        self._set("lengths", lengths)

    @property
    def groups(self) -> int:
        """Into how many groups of like length the rows are sorted, from 1 to the number of rows."""
        return int(self._get("groups"))

    @groups.setter
    def groups(self, value: int) -> None:
        self._set("groups", _groups(value, self._get("lengths")))

    @property
    def layout(self) -> Layout:
        """The layout that is described in words."""
        return _layout(self._get("layout"))

    @layout.setter
    def layout(self, value: Layout) -> None:
        self._set("layout", _layout(value))

    @property
    def focus(self) -> int | None:
        """The row in focus, or None."""
        value = self._get("focus")
        return None if value is None else int(value)

    @focus.setter
    def focus(self, value: int | None) -> None:
        self._set("focus", _focus(value, self._get("lengths")))

    @property
    def seed(self) -> int | None:
        """The seed that the reader last drew lengths with; None while they are the given ones."""
        value = self._get("seed")
        return None if value is None else int(value)

    @property
    def costs(self) -> dict[Layout, LayoutCost]:
        """Tokens and operations of each layout, as things stand."""
        return layout_costs(
            self.lengths.tolist(),
            self.groups,
            hidden_size=self.hidden_size,
            intermediate_size=self.intermediate_size,
            num_layers=self.num_layers,
        )

    @property
    def cu_seqlens(self) -> NDArray[np.int32]:
        """Where each row begins in the packed batch, and where the last one ends, (B + 1,)."""
        return np.concatenate([[0], self.lengths.cumsum()]).astype(np.int32)

    def _name(self) -> str:
        tokens = (token for row in self.tokens for token in row)
        return name_from_content("packing", *tokens, *(str(length) for length in self._initial["lengths"]))

    def _data(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "caption": self.caption,
            "tokens": self.tokens,
            "hidden_size": self.hidden_size,
            "intermediate_size": self.intermediate_size,
            "num_layers": self.num_layers,
            "limits": {"rows": MAX_ROWS, "length": MAX_LENGTH},
            "initial": self._initial,
        }

    def _text(self) -> str:
        costs, real = self.costs, int(self.lengths.sum())
        told = "; ".join(
            f"{layout}, {cost.tokens:,} tokens ({1 - real / cost.tokens:.0%} padding) and {cost.flops:.2e} operations"
            for layout, cost in costs.items()
        )
        groups = f"{self.groups} group{'s' if self.groups > 1 else ''}"
        return f"An interactive picture of a batch of {real:,} tokens in three layouts, bucketed in {groups}: {told}."


def _tokens(batch: Any) -> list[list[str]]:
    """The rows as lists of tokens, without padding at the end; none where lengths are given."""
    rows = batch if isinstance(batch, list | tuple) else []
    if isinstance(batch, str) or any(isinstance(row, str) for row in rows):
        raise TypeError(
            f"batch={_short(batch)}: text is not cut here. Pass a list of tokens for each row, or the rows' lengths"
        )
    if not any(isinstance(row, list | tuple) and any(isinstance(token, str) for token in row) for row in rows):
        return []
    found = []
    for number, row in enumerate(rows):
        if not isinstance(row, list | tuple) or not all(isinstance(token, str) for token in row):
            raise TypeError(f"batch[{number}]={_short(row)}: a list of tokens is needed, as in the other rows")
        size = len(row)
        while size and row[size - 1] == "[PAD]":
            size -= 1
        found.append(list(row[:size]))
    return found


def _lengths(value: Any) -> list[int]:
    wanted = "whole numbers, one a row, are needed"
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:  # ragged lists; tensors elsewhere, or with a gradient
        raise TypeError(f"the lengths cannot be read as an array ({error}); {wanted}") from None
    if array.size == 0:
        raise ValueError("there are no rows; a batch has at least one")
    if array.dtype.kind not in "iu":
        raise TypeError(f"the lengths hold {array.dtype}; {wanted}")
    if array.ndim != 1:
        hint = ": of an attention mask, attention_mask.sum(1)" if array.ndim == 2 else ""
        raise ValueError(f"the lengths have shape {array.shape}; {wanted}{hint}")
    if len(array) > MAX_ROWS:
        raise ValueError(f"there are {len(array):,} rows; at most {MAX_ROWS} can be drawn: pass lengths[:{MAX_ROWS}]")
    for row, length in enumerate(array.tolist()):
        if not 1 <= length <= MAX_LENGTH:
            raise ValueError(f"row {row} has length {length:,}; 1 to {MAX_LENGTH:,} tokens can be drawn")
    lengths: list[int] = array.tolist()
    return lengths


def _whole(name: str, value: Any, least: int, most: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}={value!r}: a whole number from {least} to {most:,} is needed") from None
    if not least <= number <= most:
        raise ValueError(f"{name}={number}: choose {least} to {most:,}")
    return number


def _groups(value: Any, lengths: list[int]) -> int:
    return _whole("groups", value, 1, len(lengths))


def _layout(value: Any) -> Layout:
    if value not in LAYOUTS:
        raise ValueError(f"layout={value!r}: choose {', '.join(map(repr, LAYOUTS[:-1]))} or {LAYOUTS[-1]!r}")
    layout: Layout = value
    return layout


def _focus(value: Any, lengths: list[int]) -> int | None:
    if value is None:
        return None
    try:
        return _whole("focus", value, 0, len(lengths) - 1)
    except ValueError as error:
        raise IndexError(str(error)) from None


def _size(lengths: list[int]) -> str:
    least, most = min(lengths), max(lengths)
    rows = f"{len(lengths)} row{'s' if len(lengths) > 1 else ''}"
    return f"{rows} of {'' if least == most else f'{least:,} to '}{most:,} token{'s' if most > 1 else ''}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 60 else f"{text[:56]}…"
