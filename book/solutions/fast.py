"""Worked solutions to the exercises of the chapter "Fast". They use its imports and no more."""

import torch


def layer_flops(length, hidden_size, intermediate_size):
    """→ the floating-point operations of one layer on one text, an int"""

    def linear(inputs, outputs):  # each of the outputs: a product and a sum per input
        return 2 * length * inputs * outputs

    projections = 4 * linear(hidden_size, hidden_size)  # Q, K, V and W_O
    # A score for each pair of tokens, over all heads H products; then the same
    # number again to mix the values. Only these two grow with the square.
    attention = 2 * (2 * length**2 * hidden_size)
    up = linear(hidden_size, intermediate_size)
    down = linear(intermediate_size, hidden_size)
    return projections + attention + up + down


def padding_gain(lengths, hidden_size, intermediate_size):
    """lengths: one int a row → cost when padded / cost without, a float"""

    def cost(length):
        return layer_flops(length, hidden_size, intermediate_size)

    # Row by row: a sum of costs is not the cost of a sum, for attention is square.
    return len(lengths) * cost(max(lengths)) / sum(map(cost, lengths))


def my_pack(hidden, attention_mask):
    """hidden (B, S, H), attention_mask (B, S) → packed (N, H), cu_seqlens (B + 1,)"""
    # A mask of truth values picks vectors in the order they lie: row after row.
    packed = hidden[attention_mask == 1]
    # The first boundary is 0, the last one N; an empty row repeats a boundary.
    lengths = attention_mask.sum(dim=1)
    cu_seqlens = lengths.new_zeros(len(lengths) + 1, dtype=torch.int32)
    cu_seqlens[1:] = lengths.cumsum(dim=0)
    return packed, cu_seqlens


def my_unpack(packed, attention_mask):
    """packed (N, H), attention_mask (B, S) → hidden (B, S, H), zeros at padding"""
    # new_zeros takes dtype and device from packed.
    restored = packed.new_zeros(*attention_mask.shape, packed.shape[-1])
    # What was picked in this order is put back in this order.
    restored[attention_mask == 1] = packed
    return restored


def loss_factors(counts):
    """counts (n, k): labels in k parts of n processes → factors (n, k)"""
    # Its share of all labels makes of a part's mean what it adds to the whole mean.
    shares = counts / counts.sum()
    # The parts of a process are added up, but the processes are averaged.
    return len(counts) * shares
