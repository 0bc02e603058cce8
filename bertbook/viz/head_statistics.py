"""What one attention head does on one text, in seven numbers. NumPy only."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bertbook.records import AttentionRecord


@dataclass(frozen=True, eq=False)
class HeadStatistics:
    """Each field is (L, h) float64, NaN where the text has nothing to measure.

    With w[i, j] the weight from query i to key j, S tokens, and means over the queries i:

    Args:
        entropy: mean of −Σ_j w[i, j] log2 w[i, j], in bits: 0 if each query looks at one token, log2 S if at all alike.
        distance: mean of Σ_j w[i, j] · |i − j|, in tokens.
        cls: mean weight on [CLS]; NaN without one.
        sep: mean weight on all [SEP] together; NaN without one.
        itself: mean of w[i, i].
        previous: mean of w[i, i − 1] over the queries that have a token before them; NaN for one token.
        next: mean of w[i, i + 1] over the queries that have a token after them; NaN for one token.
    """

    entropy: NDArray[np.float64]
    distance: NDArray[np.float64]
    cls: NDArray[np.float64]
    sep: NDArray[np.float64]
    itself: NDArray[np.float64]
    previous: NDArray[np.float64]
    next: NDArray[np.float64]


def head_statistics(record: AttentionRecord) -> HeadStatistics:
    """The statistics of every head of ``record``, from its exact weights."""
    layers = [_of_layer(layer, record.tokens) for layer in record.weights]  # one at a time: 512 tokens stay in memory
    return HeadStatistics(**{name: np.stack([layer[name] for layer in layers]) for name in layers[0]})


def _of_layer(weights: NDArray[np.float32], tokens: tuple[str, ...]) -> dict[str, NDArray[np.float64]]:
    w = weights.astype(np.float64)  # (h, S, S)
    place = np.arange(len(tokens))
    distances = np.abs(place[:, None] - place[None, :])
    bits = -w * np.log2(np.where(w > 0, w, 1))  # 0 · log 0 = 0
    return {
        "entropy": bits.sum(-1).mean(-1),
        "distance": (w * distances).sum(-1).mean(-1),
        "cls": _share(w, tokens, "[CLS]"),
        "sep": _share(w, tokens, "[SEP]"),
        "itself": _diagonal(w, 0),
        "previous": _diagonal(w, -1),
        "next": _diagonal(w, 1),
    }


def _share(w: NDArray[np.float64], tokens: tuple[str, ...], token: str) -> NDArray[np.float64]:
    here = np.array([t == token for t in tokens])
    return w[:, :, here].sum(-1).mean(-1) if here.any() else np.full(len(w), np.nan)


def _diagonal(w: NDArray[np.float64], offset: int) -> NDArray[np.float64]:
    diagonal = w.diagonal(offset, axis1=1, axis2=2)
    return diagonal.mean(-1) if diagonal.size else np.full(len(w), np.nan)


# A head is named after the place that takes at least half of its attention; after none, "broad" if its entropy
# comes near that of a head that looks at everything alike. Both borders are conventions, not findings.
_NAMED_FROM = 0.5
_BROAD_FROM = 0.8
PLACES = ("cls", "sep", "itself", "previous", "next")


def kinds(statistics: HeadStatistics, count: int) -> NDArray[np.str_]:
    """What each head mostly does on a text of ``count`` tokens: one of PLACES, ``"broad"`` or ``"mixed"``; (L, h)."""
    shares = np.nan_to_num(np.stack([getattr(statistics, place) for place in PLACES]))  # (5, L, h)
    otherwise = np.where(statistics.entropy >= _BROAD_FROM * np.log2(max(count, 2)), "broad", "mixed")
    return np.where(shares.max(0) >= _NAMED_FROM, np.array(PLACES)[shares.argmax(0)], otherwise)
