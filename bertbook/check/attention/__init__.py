"""The exercises of the chapter "Attention", one module each: what is tried, and the mistakes that are recognised.

What is expected is computed by PyTorch's fused kernel or by other roads than the book's, so that reading these
modules answers no exercise.
"""

from bertbook.check.attention.dot_product import DOT_PRODUCT
from bertbook.check.attention.find_head import FIND_HEAD
from bertbook.check.attention.multi_head import MULTI_HEAD
from bertbook.check.attention.padding_mask import PADDING_MASK
from bertbook.check.result import CheckResult


def attention_1(my_attention: object) -> CheckResult:
    """Exercise 1. ``my_attention(query, key, value) → (mixed, weights)``.

    query (..., S, d), key (..., T, d), value (..., T, d_v) → mixed (..., S, d_v), weights (..., S, T).
    """
    return DOT_PRODUCT.check(my_attention)


def attention_2(my_mask: object) -> CheckResult:
    """Exercise 2. ``my_mask(lengths, size) → mask``: lengths (B), size S → (B, 1, 1, S), True = may be looked at."""
    return PADDING_MASK.check(my_mask)


def attention_3(my_multi_head: object) -> CheckResult:
    """Exercise 3. ``my_multi_head(hidden, W_Q, W_K, W_V, W_O, num_heads) → output``.

    hidden (B, S, H), each matrix (H, H) and applied as ``hidden @ W``, no biases, no mask → (B, S, H).
    """
    return MULTI_HEAD.check(my_multi_head)


def attention_4(find_head: object) -> CheckResult:
    """Exercise 4. ``find_head(record, query_token, key_token) → (layer, head)``, both counted from 0."""
    return FIND_HEAD.check(find_head)
