"""What a model leaves behind to be looked at, as NumPy arrays. No torch here: a record opens anywhere."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class AttentionRecord:
    """Every attention weight of one forward pass over one text, or over one pair.

    Args:
        tokens: the S tokens as the model read them, [CLS] and [SEP] included.
        segments: (S,), 0 for the first text with its [CLS] and [SEP], 1 for the second.
        weights: (L, h, S, S), float32. ``weights[l, k, i, j]``: in layer l, head k, the share of its
            attention that token i (the query) gives to token j (the key). Each row sums to 1.
        model: what to call the model in captions.

    Raises:
        TypeError: a token is no string.
        ValueError: the shapes do not fit together, a segment is no whole number, or a weight is not a
            number from 0 to 1.
    """

    tokens: tuple[str, ...]
    segments: NDArray[np.int64]
    weights: NDArray[np.float32]
    model: str = ""

    def __init__(
        self, tokens: Sequence[str], segments: Sequence[int] | NDArray[Any], weights: Any, model: str = ""
    ) -> None:
        weights = np.asarray(weights, dtype=np.float32)
        segments = np.asarray(segments)
        count = len(tokens)
        if count == 0:
            raise ValueError("no tokens: a record needs at least one")
        if isinstance(tokens, str) or not all(isinstance(token, str) for token in tokens):
            raise TypeError(f"tokens must be a list of str, found {tokens!r:.80}")
        if weights.ndim != 4 or weights.shape[2:] != (count, count) or 0 in weights.shape:
            raise ValueError(
                f"weights of shape {weights.shape} do not fit {count} tokens: expected (L, h, {count}, {count})"
            )
        if segments.shape != (count,):
            raise ValueError(f"segments of shape {segments.shape} do not fit {count} tokens: expected ({count},)")
        if not np.issubdtype(segments.dtype, np.integer) or (segments < 0).any():
            raise ValueError(f"segments must be whole numbers, 0 for the first text, found {segments!r:.80}")
        # Written so that NaN fails too. Half precision may overshoot 1 by a rounding.
        if not ((weights >= 0) & (weights <= 1.01)).all():
            raise ValueError("attention weights must lie between 0 and 1; found NaN or numbers outside that range")
        object.__setattr__(self, "tokens", tuple(tokens))
        object.__setattr__(self, "segments", segments.astype(np.int64))
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "model", model)

    @property
    def num_layers(self) -> int:
        """L."""
        return int(self.weights.shape[0])

    @property
    def num_heads(self) -> int:
        """h."""
        return int(self.weights.shape[1])

    def __len__(self) -> int:
        """S, the number of tokens."""
        return len(self.tokens)

    def __repr__(self) -> str:
        return (
            f"AttentionRecord({len(self)} tokens, {self.num_layers} layers × {self.num_heads} heads"
            + (f", {self.model}" if self.model else "")
            + ")"
        )

    def save(self, path: str | Path) -> Path:
        """Write the record as one compressed ``.npz`` file and return its path (the suffix is added if missing)."""
        path = Path(path)
        if path.suffix != ".npz":
            path = path.with_name(path.name + ".npz")
        text = json.dumps({"tokens": self.tokens, "model": self.model})  # ASCII: any token comes back as it was
        np.savez_compressed(
            path,
            text=np.frombuffer(text.encode("utf-8"), np.uint8),
            segments=self.segments,
            weights=self.weights,
        )
        return path

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a file that :meth:`save` wrote. Nothing in it is executed (no pickle).

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: the file is no record, or is damaged; the message names the file.
        """
        path = Path(path)
        with path.open("rb") as file:
            try:
                with np.load(file, allow_pickle=False) as arrays:
                    text = json.loads(arrays["text"].tobytes())
                    return cls(text["tokens"], arrays["segments"], arrays["weights"], text["model"])
            except Exception as error:  # damage surfaces in zipfile, zlib, struct, numpy or json, each with its own
                raise ValueError(f"{path} is not a whole AttentionRecord file ({error})") from error


@dataclass(frozen=True, eq=False)
class EmbeddingRecord:
    """What the first vectors of one text, or of one pair, are made of: rows of three tables, and a LayerNorm.

    The vector of token i before LayerNorm is ``token[i] + segment[segments[i]] + position[i]``.

    Args:
        tokens: the S tokens as the model read them, [CLS] and [SEP] included.
        segments: (S,), the number of each token's segment, 0 for the first text.
        token: (S, E), the row of the token table for each token.
        segment: (T, E), the segment table.
        position: (P, E), P ≥ S rows of the position table, the first one being that of the first token.
        weight, bias: (E,), of the LayerNorm; ``eps``: what it adds to the variance.
        model: what to call the model in captions.

    Raises:
        TypeError: a token is no string.
        ValueError: the shapes do not fit together, a number is not finite, a segment is no row of its table.
    """

    tokens: tuple[str, ...]
    segments: NDArray[np.int64]
    token: NDArray[np.float32]
    segment: NDArray[np.float32]
    position: NDArray[np.float32]
    weight: NDArray[np.float32]
    bias: NDArray[np.float32]
    eps: float
    model: str = ""

    def __post_init__(self) -> None:
        count = len(self.tokens)
        if count == 0:
            raise ValueError("no tokens: a record needs at least one")
        if isinstance(self.tokens, str) or not all(isinstance(token, str) for token in self.tokens):
            raise TypeError(f"tokens must be a list of str, found {self.tokens!r:.80}")
        object.__setattr__(self, "tokens", tuple(self.tokens))
        arrays = {name: np.asarray(getattr(self, name), np.float32) for name in _TABLES}
        size = arrays["token"].shape[-1] if arrays["token"].ndim else 0
        for name, array in arrays.items():
            rows = {"token": (count,), "segment": array.shape[:1], "position": array.shape[:1]}.get(name, ())
            if array.shape != (*rows, size) or 0 in array.shape:
                raise ValueError(f"{name} of shape {array.shape} does not fit {count} tokens of {size} numbers")
            if not np.isfinite(array).all():
                raise ValueError(f"{name} holds NaN or infinity")
            object.__setattr__(self, name, array)
        if len(arrays["position"]) < count:
            raise ValueError(f"position has {len(arrays['position'])} rows for {count} tokens: one each is needed")
        segments = np.asarray(self.segments)
        known = len(arrays["segment"])
        whole = segments.shape == (count,) and segments.dtype.kind in "iu"
        if not whole or segments.min() < 0 or segments.max() >= known:
            raise ValueError(f"segments must be {count} whole numbers from 0 to {known - 1}, found {segments!r:.80}")
        object.__setattr__(self, "segments", segments.astype(np.int64))

    def vectors(self, *, token: bool = True, segment: bool = True, position: bool = True) -> NDArray[np.float64]:
        """(S, E): the sum of the parts asked for, before LayerNorm."""
        total = np.zeros(self.token.shape)
        if token:
            total += self.token
        if segment:
            total += self.segment[self.segments]
        if position:
            total += self.position[: len(self)]
        return total

    def normalised(self, *, token: bool = True, segment: bool = True, position: bool = True) -> NDArray[np.float64]:
        """(S, E): LayerNorm of that sum. With all three parts, the model's own first vectors."""
        total = self.vectors(token=token, segment=segment, position=position)
        centred = total - total.mean(-1, keepdims=True)
        spread = np.sqrt((centred**2).mean(-1, keepdims=True) + self.eps)
        normalised: NDArray[np.float64] = self.weight * (centred / spread) + self.bias
        return normalised

    def __len__(self) -> int:
        """S, the number of tokens."""
        return len(self.tokens)

    def __repr__(self) -> str:
        return (
            f"EmbeddingRecord({len(self)} tokens of {self.token.shape[1]} numbers"
            + (f", {self.model}" if self.model else "")
            + ")"
        )


_TABLES = ("token", "segment", "position", "weight", "bias")


@dataclass(frozen=True)
class TokenRecord:
    """One text as the masking sees it: its tokens, which of them may be chosen, which belong together.

    Args:
        tokens: the S tokens as a model reads them, [CLS] and [SEP] included.
        special: S truth values, True for tokens that are never chosen.
        word_ids: S numbers, equal for neighbours that are pieces of one word; −1 for tokens of no word.
        drawable: tokens that may be drawn in the place of another, all of them or a sample.

    Raises:
        TypeError: a token is no string, a flag no truth value, a word's number no whole number.
        ValueError: no tokens, nothing to draw, or lists of different lengths.
    """

    tokens: tuple[str, ...]
    special: tuple[bool, ...]
    word_ids: tuple[int, ...]
    drawable: tuple[str, ...]

    def __post_init__(self) -> None:
        kinds = {"tokens": str, "special": bool, "word_ids": int, "drawable": str}
        for name, kind in kinds.items():
            values = getattr(self, name)
            if isinstance(values, str) or not all(type(value) is kind for value in values):
                raise TypeError(f"{name} must be a list of {kind.__name__}, found {values!r:.80}")
            object.__setattr__(self, name, tuple(values))
        count = len(self.tokens)
        if count == 0 or not self.drawable:
            raise ValueError(f"{count} tokens and {len(self.drawable)} to draw from: at least one of each is needed")
        others = len(self.special), len(self.word_ids)
        if others != (count, count):
            raise ValueError(f"{count} tokens, {others[0]} special flags and {others[1]} word_ids: one each is needed")

    def __len__(self) -> int:
        """S, the number of tokens."""
        return len(self.tokens)
