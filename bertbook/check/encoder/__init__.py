"""The exercises of the chapter "The encoder", one module each: what is tried, and the mistakes that are recognised."""

from bertbook.check.encoder.layer import ENCODER_LAYER
from bertbook.check.encoder.layer_norm import LAYER_NORM
from bertbook.check.encoder.parameters import COUNT_PARAMETERS
from bertbook.check.result import CheckResult


def encoder_1(my_layer_norm: object) -> CheckResult:
    """Exercise 1. ``my_layer_norm(x, weight, bias, eps) → output``.

    x (..., H), weight (H), bias (H), eps a float → (..., H).
    """
    return LAYER_NORM.check(my_layer_norm)


def encoder_2(count_parameters: object) -> CheckResult:
    """Exercise 2. How many parameters a BERT has: embeddings with their LayerNorm, layers and pooler, no head.

    ``count_parameters(vocab_size, hidden_size, num_layers, intermediate_size, max_positions, num_segments) → number``.
    """
    return COUNT_PARAMETERS.check(count_parameters)


def encoder_3(my_encoder_layer: object) -> CheckResult:
    """Exercise 3. ``my_encoder_layer(hidden, attention, feed_forward, norm_1, norm_2) → output``, post-norm.

    hidden (B, S, H); four functions that take (B, S, H) and return (B, S, H) → (B, S, H).
    """
    return ENCODER_LAYER.check(my_encoder_layer)
