"""The exercises of the chapter "Fast", one module each: what is tried, and the mistakes that are recognised."""

from bertbook.check.fast.factors import LOSS_FACTORS
from bertbook.check.fast.flops import LAYER_FLOPS
from bertbook.check.fast.gain import PADDING_GAIN
from bertbook.check.fast.pack import PACK
from bertbook.check.fast.unpack import UNPACK
from bertbook.check.result import CheckResult


def fast_1(layer_flops: object) -> CheckResult:
    """Exercise 1. ``layer_flops(length, hidden_size, intermediate_size) → number``, an int.

    The floating-point operations of one encoder layer on one text, forward, in its matrix products alone: a
    multiplication and an addition are two operations.
    """
    return LAYER_FLOPS.check(layer_flops)


def fast_2(padding_gain: object) -> CheckResult:
    """Exercise 2. ``padding_gain(lengths, hidden_size, intermediate_size) → gain``, a float.

    How many times as much a batch costs when each row is padded to the longest as when each has its own length.
    """
    return PADDING_GAIN.check(padding_gain)


def fast_3(my_pack: object) -> CheckResult:
    """Exercise 3. ``my_pack(hidden, attention_mask) → (packed, cu_seqlens)``.

    hidden (B, S, H), attention_mask (B, S) of 1 and 0 → packed (N, H), row after row without the padding, and
    cu_seqlens (B + 1,) int32: row b is ``packed[cu_seqlens[b] : cu_seqlens[b + 1]]``.
    """
    return PACK.check(my_pack)


def fast_4(my_unpack: object) -> CheckResult:
    """Exercise 4. ``my_unpack(packed, attention_mask) → hidden``.

    packed (N, H), attention_mask (B, S) of 1 and 0 with N ones → hidden (B, S, H), zeros at the padding.
    """
    return UNPACK.check(my_unpack)


def fast_5(loss_factors: object) -> CheckResult:
    """Exercise 5. ``loss_factors(counts) → factors``.

    counts (n, k) int64: the labels in each of k parts of each of n processes, some perhaps 0, not all → factors
    (n, k) float: by what each part's mean loss is multiplied, so that, with gradients added up over the parts and
    averaged over the processes, the result is the gradient of the mean over all labels.
    """
    return LOSS_FACTORS.check(loss_factors)
