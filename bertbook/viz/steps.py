"""Attention step by step: one query through every number of the calculation, each of them open to change."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bertbook.viz.embed import BookWidget, name_from_caption, name_from_content

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# What still fits on a page when every number is shown, and what still fits into a cell.
MAX_KEYS, MAX_ENTRIES, MAX_NUMBER = 12, 8, 1e6


class AttentionSteps(BookWidget):
    """One query's attention in five stages: compare, divide by √d, mask, softmax, mix. Every number can be edited.

    Show it as the last line of a cell, or call :meth:`html` or :meth:`save_html`. In a running notebook ``query``,
    ``keys``, ``values``, ``mask`` and ``scaled`` follow the reader, and setting them changes the picture. (The traits
    of :attr:`widget` bear the names that ``scaled_dot_product_attention`` has for them: ``key``, ``value``.)

    Args:
        query: what one token asks, shape (d,), d ≤ 8. Arrays, tensors on the CPU and nested lists will do.
        keys: what each of T tokens is compared by, shape (T, d), T ≤ 12.
        values: what each of the T tokens hands over, shape (T, d_v), d_v ≤ 8.
        tokens: T names; by default "key 0", "key 1", …
        mask: shape (T,), True where the query may look at a key; by default everywhere.
        scaled: whether the scores are divided by √d to begin with.
        caption: the title and accessible name.
        id: the widget's name in links; by default made from the caption, or from the tokens and sizes.

    Raises:
        TypeError: something other than numbers, truth values for the mask, or strings for the tokens.
        ValueError: an empty, misshapen or too large array; NaN, infinity, a number beyond ±1,000,000; an unusable id.
    """

    front_end = "attention-steps"

    def __init__(
        self,
        query: ArrayLike,
        keys: ArrayLike,
        values: ArrayLike,
        *,
        tokens: Sequence[str] | None = None,
        mask: ArrayLike | None = None,
        scaled: bool = True,
        caption: str | None = None,
        id: str | None = None,
    ) -> None:
        first, second, third = _numbers("query", query, 1), _numbers("keys", keys, 2), _numbers("values", values, 2)
        _fit(first, second, third)
        size = len(second)
        self.tokens = _names(tokens, size)
        state = {
            "query": first.tolist(),
            "key": second.tolist(),
            "value": third.tolist(),
            "mask": [True] * size if mask is None else _truths(mask, size).tolist(),
            "scaled": _truth(scaled),
        }
        self._initial = dict(state)
        named = id or (name_from_caption("steps", caption) if caption else "")
        sizes = f"{size} {second.shape[1]} {third.shape[1]}"
        super().__init__(
            caption or "Attention step by step", named or name_from_content("steps", sizes, *self.tokens), state
        )

    def __repr__(self) -> str:
        size, entries = self.keys.shape
        return f"AttentionSteps({size} key{'s' if size > 1 else ''}, d={entries}, d_v={self.values.shape[1]})"

    @property
    def query(self) -> Floats:
        """The query, shape (d,). A copy: set the property to change the picture. Sizes stay as they were."""
        return np.array(self._get("query"), np.float64)

    @query.setter
    def query(self, value: ArrayLike) -> None:
        self._replace("query", "query", value, self.query)

    @property
    def keys(self) -> Floats:
        """The keys, shape (T, d)."""
        return np.array(self._get("key"), np.float64)

    @keys.setter
    def keys(self, value: ArrayLike) -> None:
        self._replace("key", "keys", value, self.keys)

    @property
    def values(self) -> Floats:
        """The values, shape (T, d_v)."""
        return np.array(self._get("value"), np.float64)

    @values.setter
    def values(self, value: ArrayLike) -> None:
        self._replace("value", "values", value, self.values)

    @property
    def mask(self) -> Bools:
        """Shape (T,), True where the query may look at a key."""
        return np.array(self._get("mask"), np.bool_)

    @mask.setter
    def mask(self, value: ArrayLike) -> None:
        self._set("mask", _truths(value, len(self.tokens)).tolist())

    @property
    def scaled(self) -> bool:
        """Whether the scores are divided by √d."""
        return bool(self._get("scaled"))

    @scaled.setter
    def scaled(self, value: bool) -> None:
        self._set("scaled", _truth(value))

    @property
    def weights(self) -> Floats:
        """The weights as things stand, shape (T,): they sum to 1, or are zeros where every key is masked."""
        scores = self.keys @ self.query / (math.sqrt(len(self.query)) if self.scaled else 1.0)
        mask = self.mask
        if not mask.any():
            return np.zeros(len(mask))
        exps = np.exp(np.where(mask, scores, -math.inf) - scores[mask].max())
        weights: Floats = exps / exps.sum()
        return weights

    @property
    def output(self) -> Floats:
        """The output as things stand, shape (d_v,)."""
        output: Floats = self.weights @ self.values
        return output

    def _replace(self, trait: str, name: str, value: ArrayLike, old: Floats) -> None:
        new = _numbers(name, value, old.ndim)
        if new.shape != old.shape:
            raise ValueError(f"{name} has shape {new.shape}; it must stay {old.shape}: make another AttentionSteps")
        self._set(trait, new.tolist())

    def _data(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "caption": self.caption,
            "tokens": list(self.tokens),
            "limit": MAX_NUMBER,
            "initial": self._initial,
        }

    def _text(self) -> str:
        weights = ", ".join(f"{w:.3f} for {token}" for w, token in zip(self.weights, self.tokens, strict=True))
        output = ", ".join(f"{x:.3f}" for x in self.output)
        return f"An interactive calculation of one query's attention. Weights: {weights}. Output: {output}."


def _numbers(name: str, value: ArrayLike, ndim: int) -> Floats:
    wanted = {"query": "(d,)", "keys": "(T, d)", "values": "(T, d_v)"}[name]
    array = _array(name, value, f"numbers of shape {wanted}")
    if array.dtype.kind not in "iuf":
        raise TypeError(f"{name} holds {array.dtype}; numbers of shape {wanted} are needed")
    if array.ndim != ndim:
        hint = ": one query at a time, as query[0]" if name == "query" else ""
        raise ValueError(f"{name} has shape {array.shape}; {wanted} is needed{hint}")
    if array.size == 0:
        raise ValueError(f"{name} is empty: shape {array.shape}; {wanted} with no 0 in it is needed")
    array = array.astype(np.float64)
    bad = ~(np.abs(array) <= MAX_NUMBER)  # NaN compares as False
    if bad.any():
        at = tuple(int(i) for i in np.argwhere(bad)[0])
        raise ValueError(
            f"{name}[{', '.join(map(str, at))}] is {array[at]}; numbers from -1,000,000 to 1,000,000 can be shown"
        )
    return array


def _array(name: str, value: ArrayLike, wanted: str) -> NDArray[Any]:
    try:
        return np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:  # ragged lists; tensors elsewhere, or with a gradient
        raise TypeError(
            f"{name} cannot be read as an array ({error}); pass {wanted}, of a tensor .detach().cpu().float().numpy()"
        ) from None


def _fit(query: Floats, keys: Floats, values: Floats) -> None:
    if keys.shape[1] != len(query):
        raise ValueError(f"query has {len(query)} entries and keys have {keys.shape[1]}: both need the same d")
    if len(values) != len(keys):
        raise ValueError(f"there are {len(keys)} keys and {len(values)} values: one value a key is needed")
    too_large = "every number is shown, and at most {} fit. Slice them: {}"
    if len(keys) > MAX_KEYS:
        slices = "keys[:12], values[:12], and tokens and mask alike"
        raise ValueError(f"keys has {len(keys)} rows; {too_large.format(MAX_KEYS, slices)}")
    if len(query) > MAX_ENTRIES:
        raise ValueError(f"query has {len(query)} entries; {too_large.format(MAX_ENTRIES, 'query[:8], keys[:, :8]')}")
    if values.shape[1] > MAX_ENTRIES:
        raise ValueError(f"values has {values.shape[1]} columns; {too_large.format(MAX_ENTRIES, 'values[:, :8]')}")


def _truths(value: ArrayLike, size: int) -> Bools:
    array = _array("mask", value, f"{size} truth values")
    if array.dtype != np.bool_:
        raise TypeError(f"mask holds {array.dtype}; True (may be looked at) or False is needed for each key: mask == 1")
    if array.shape != (size,):
        raise ValueError(f"mask has shape {array.shape}; ({size},) is needed, one truth value a key")
    return array


def _truth(value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"scaled={value!r}: True (divide by √d) or False is needed")
    return bool(value)


def _names(tokens: Sequence[str] | None, size: int) -> tuple[str, ...]:
    if tokens is None:
        return tuple(f"key {j}" for j in range(size))
    if isinstance(tokens, str) or not all(isinstance(token, str) for token in tokens):
        raise TypeError(f"tokens={tokens!r}: a list of strings is needed, one a key")
    if len(tokens) != size:
        raise ValueError(f"there are {size} keys and {len(tokens)} tokens: one token a key is needed")
    return tuple(tokens)
