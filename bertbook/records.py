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
