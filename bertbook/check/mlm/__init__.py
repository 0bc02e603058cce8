"""The exercises of the chapter "Guessing hidden words", one module each: what is tried, and the mistakes recognised."""

from bertbook.check.mlm.head import HEAD
from bertbook.check.mlm.loss import LOSS
from bertbook.check.mlm.masking import MASKING
from bertbook.check.mlm.words import WHOLE_WORDS
from bertbook.check.result import CheckResult


def mlm_1(my_masking: object) -> CheckResult:
    """Exercise 1. ``my_masking(input_ids, special, lot, fate, drawn, mask_id) → corrupted, labels``.

    input_ids, drawn (B, S) ids; special (B, S) bool; lot, fate (B, S) floats from 0 to 1 → two of (B, S).
    """
    return MASKING.check(my_masking)


def mlm_2(my_whole_words: object) -> CheckResult:
    """Exercise 2. ``my_whole_words(continues, lot, rate) → chosen``.

    continues (B, S) bool, lot (B, S) floats, rate a float → bool (B, S).
    """
    return WHOLE_WORDS.check(my_whole_words)


def mlm_3(my_head: object) -> CheckResult:
    """Exercise 3. ``my_head(hidden, dense_weight, dense_bias, norm_weight, norm_bias, table, bias) → logits``.

    hidden (N, H), dense_weight (H, H), table (V, H), bias (V), the others (H) → (N, V).
    """
    return HEAD.check(my_head)


def mlm_4(my_loss: object) -> CheckResult:
    """Exercise 4. ``my_loss(logits, labels) → loss``.

    logits (B, S, V), labels (B, S), −100 where nothing is asked → a tensor of shape ().
    """
    return LOSS.check(my_loss)
