"""How much of a pair's label can be guessed without reading: from the words that both share, from lengths and marks."""

import unicodedata
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from bertbook.text.pair_examples import PairExample
from bertbook.text.tokenizer import Tokenizer

Floats = NDArray[np.float64]


def overlap_baseline(pairs: Iterable[PairExample], *, seed: int = 0) -> float:
    """Accuracy of guessing the label from the words that the two segments share.

    The score of a pair is the weight of the tokens that are in both segments, as a share of those in either; a
    token weighs the more, the fewer segments have it (its inverse document frequency). Weights, and the threshold
    between the labels, come from one half of the pairs, drawn by ``seed``; the accuracy is that on the other half.
    0.5 is chance.

    Raises:
        ValueError: fewer than 4 pairs, or pairs without labels.
    """
    examples, labels, train = _halves(pairs, seed)
    segments = [(set(pair.first), set(pair.second or ())) for pair in examples]
    known = [segment for both, use in zip(segments, train, strict=True) if use for segment in both]
    tokens = np.fromiter((i for segment in known for i in segment), np.int64)
    size = max(max(segment, default=0) for both in segments for segment in both) + 1
    weights = np.log((len(known) + 1) / (np.bincount(tokens, minlength=size) + 1))

    def weight(ids: set[int]) -> float:
        return float(weights[list(ids)].sum())

    scores = np.array([weight(a & b) / max(weight(a | b), 1e-9) for a, b in segments])
    # The threshold with the fewest mistakes on the training half, whichever label lies above it.
    order = np.argsort(scores[train])
    ones_below = np.append(0, np.cumsum(labels[train][order]))
    zeros_below = np.arange(len(order) + 1) - ones_below
    right = ones_below + (zeros_below[-1] - zeros_below)  # with label 1 below
    above = 0 if right.max() >= len(order) - right.min() else 1
    best = int(right.argmax() if above == 0 else right.argmin())
    edges = np.concatenate([[-np.inf], scores[train][order], [np.inf]])
    guesses = np.where(scores > (edges[best] + edges[best + 1]) / 2, above, 1 - above)
    return float((guesses == labels)[~train].mean())


def length_baseline(pairs: Iterable[PairExample], tokenizer: Tokenizer, *, seed: int = 0) -> float:
    """Accuracy of guessing the label from lengths and punctuation alone, without any word.

    It sees how many tokens and punctuation marks each segment has, and both together, each in bins; and whether a
    segment begins inside a word, begins with a mark, and with which mark it ends. A linear classifier (least
    squares) is fitted to one half of the pairs, drawn by ``seed``; the accuracy is that on the other half. On pairs
    that are made well it is 0.5, chance: then nothing but the text can tell the label.

    Raises:
        ValueError: fewer than 4 pairs, or pairs without labels.
    """
    examples, labels, train = _halves(pairs, seed)
    vocab = tokenizer.ids_to_tokens(range(len(tokenizer)))
    marks = {i for i, token in enumerate(vocab) if all(unicodedata.category(c)[0] in "PS" for c in token)}
    columns: list[Floats] = [np.ones(len(labels))]
    totals = []
    for segments in ([pair.first for pair in examples], [pair.second or () for pair in examples]):
        lengths = np.array([len(segment) for segment in segments])
        totals.append(lengths)
        columns += _bins(lengths, train)
        columns += _bins(np.array([sum(i in marks for i in segment) for segment in segments]), train)
        starts = [segment[0] if segment else -1 for segment in segments]
        ends = [segment[-1] if segment else -1 for segment in segments]
        columns.append(np.array([i in marks for i in starts], float))
        columns.append(np.array([vocab[i].startswith("##") for i in starts], float))
        columns += [np.array([i == mark for i in ends], float) for mark in sorted(marks & set(ends))]
    columns += _bins(totals[0] + totals[1], train)
    table = np.stack(columns, axis=1)  # (N, F)
    # A little ridge: many columns are sums of others.
    gram = table[train].T @ table[train] + np.eye(table.shape[1])
    fitted = np.linalg.solve(gram, table[train].T @ (2.0 * labels[train] - 1))
    return float((((table @ fitted) > 0) == labels)[~train].mean())


def _halves(
    pairs: Iterable[PairExample], seed: int
) -> tuple[Sequence[PairExample], NDArray[np.int64], NDArray[np.bool_]]:
    """The pairs, their labels (N,), and which of them are for training (N,)."""
    examples = list(pairs)
    if len(examples) < 4:
        raise ValueError(f"{len(examples)} pairs: at least 4 are needed, half of them to learn from")
    if any(pair.label is None for pair in examples):
        raise ValueError('these sequences have no labels to guess: they were made with objective="none"')
    train = np.random.default_rng(seed).permutation(len(examples)) < len(examples) // 2
    return examples, np.array([pair.label for pair in examples]), train


def _bins(values: NDArray[np.int64], train: NDArray[np.bool_], count: int = 10) -> list[Floats]:
    """The values in ``count`` bins, about as many in each: one column of 0 and 1 a bin."""
    edges = np.unique(np.quantile(values[train], np.linspace(0, 1, count + 1)[1:-1]))
    place = np.searchsorted(edges, values, side="right")
    return [(place == number).astype(float) for number in range(len(edges) + 1)]
