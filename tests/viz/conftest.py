"""Records to draw: the mechanics of the pictures do not depend on where the weights come from."""

from collections.abc import Callable

import numpy as np
import pytest

from bertbook.records import AttentionRecord, EmbeddingRecord


@pytest.fixture
def random_record() -> Callable[..., AttentionRecord]:
    """``random_record(layers, heads, tokens)``: softmax of normal scores, seeded."""

    def make(layers: int = 2, heads: int = 3, tokens: int | list[str] = 5, model: str = "") -> AttentionRecord:
        names = tokens if isinstance(tokens, list) else [f"t{i}" for i in range(tokens)]
        scores = np.random.default_rng(0).normal(scale=2, size=(layers, heads, len(names), len(names)))
        weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
        return AttentionRecord(names, [0] * len(names), weights, model)

    return make


@pytest.fixture
def embedding_record() -> Callable[..., EmbeddingRecord]:
    """``embedding_record(tokens, positions=20)``: 12 normal numbers a row, seeded; the second half is segment 1."""

    def make(tokens: int | list[str] = 5, positions: int = 20, model: str = "") -> EmbeddingRecord:
        names = tokens if isinstance(tokens, list) else [f"t{i}" for i in range(tokens)]
        draw, size = np.random.default_rng(0), 12
        segments = [int(2 * i >= len(names)) for i in range(len(names))]
        tables = [draw.normal(size=(n, size)) for n in (len(names), 2, max(positions, len(names)))]
        return EmbeddingRecord(
            tuple(names), segments, *tables, 1 + draw.normal(size=size) / 4, draw.normal(size=size), 1e-12, model
        )

    return make
