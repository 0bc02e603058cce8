"""The exercises of the chapter "Embeddings", one module each: what is tried, and the mistakes that are recognised."""

from bertbook.check.embeddings.first_vectors import FIRST_VECTORS
from bertbook.check.embeddings.segments import SEGMENTS
from bertbook.check.embeddings.sinusoids import SINUSOIDS
from bertbook.check.embeddings.table_gradient import TABLE_GRADIENT
from bertbook.check.result import CheckResult


def embeddings_1(my_embeddings: object) -> CheckResult:
    """Exercise 1. ``my_embeddings(ids, segments, token, segment, position, weight, bias, eps) → output``.

    ids and segments (B, S), int64; tables (V, H), (2, H), (P, H); weight and bias (H,); eps a float → (B, S, H).
    """
    return FIRST_VECTORS.check(my_embeddings)


def embeddings_2(my_segments: object) -> CheckResult:
    """Exercise 2. ``my_segments(ids, sep_id, pad_id) → segments``, (B, S) → (B, S), int64."""
    return SEGMENTS.check(my_segments)


def embeddings_3(my_sinusoids: object) -> CheckResult:
    """Exercise 3. ``my_sinusoids(length, size) → positions``, (length, size)."""
    return SINUSOIDS.check(my_sinusoids)


def embeddings_4(my_table_gradient: object) -> CheckResult:
    """Exercise 4. ``my_table_gradient(ids, gradient, vocab_size) → gradient of the table``.

    ids (B, S), int64; gradient (B, S, H) → (V, H).
    """
    return TABLE_GRADIENT.check(my_table_gradient)
