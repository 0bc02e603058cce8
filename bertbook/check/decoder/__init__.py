"""The exercises of the chapter "The decoder, which BERT left out", one module each.

Each says what is tried, and which mistakes are recognised.
"""

from bertbook.check.decoder.causal_mask import CAUSAL_MASK
from bertbook.check.decoder.cross_attention import CROSS_ATTENTION
from bertbook.check.decoder.greedy import GREEDY
from bertbook.check.decoder.shift import DECODER_INPUTS
from bertbook.check.result import CheckResult


def decoder_1(my_causal_mask: object) -> CheckResult:
    """Exercise 1. ``my_causal_mask(size) → mask``: bool (1, 1, size, size), True = the query may look at the key."""
    return CAUSAL_MASK.check(my_causal_mask)


def decoder_2(my_shift: object) -> CheckResult:
    """Exercise 2. ``my_shift(target, start_id) → inputs``: ids (B, T) → what the decoder is given, (B, T)."""
    return DECODER_INPUTS.check(my_shift)


def decoder_3(my_greedy: object) -> CheckResult:
    """Exercise 3. ``my_greedy(next_logits, start_id, end_id, max_length) → ids``.

    ``next_logits(ids)`` takes a list of ids and returns the logits (V) of the one that follows.
    """
    return GREEDY.check(my_greedy)


def decoder_4(my_cross_attention: object) -> CheckResult:
    """Exercise 4. ``my_cross_attention(target, source, source_mask, W_Q, W_K, W_V) → output``.

    target (B, T, H), source (B, S, H), source_mask bool (B, S), True = a token; each matrix (H, H) and
    applied as ``x @ W``; one head, no W_O → (B, T, H).
    """
    return CROSS_ATTENTION.check(my_cross_attention)
