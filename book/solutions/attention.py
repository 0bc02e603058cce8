"""Worked solutions to the exercises of the chapter "Attention". They use its imports and no more."""

import math

import numpy as np
import torch


def my_attention(query, key, value):
    """query (*B, S, d), key (*B, T, d), value (*B, T, d_v)
    → mixed (*B, S, d_v), weights (*B, S, T)"""
    # One number for each query and key. mT swaps the last two axes.
    scores = query @ key.mT  # (*B, S, T)
    # A sum of d products has d times the variance of one. Divided by √d: that of one.
    scores = scores / math.sqrt(query.shape[-1])
    # Along the keys: each query shares out 1. This softmax is safe with large scores.
    weights = scores.softmax(dim=-1)
    return weights @ value, weights


def my_mask(lengths, size):
    """lengths (B,) → bool (B, 1, 1, size): True at the first lengths[b] keys of row b"""
    # Position j holds a token of row b when j < lengths[b]. Broadcasting does all.
    is_token = torch.arange(size, device=lengths.device) < lengths[:, None]  # (B, S)
    # The same keys for every head and for every query: these two axes have size 1.
    return is_token[:, None, None, :]


def my_multi_head(hidden, W_Q, W_K, W_V, W_O, num_heads):
    """hidden (B, S, H); four matrices (H, H), applied as hidden @ W; no biases
    → (B, S, H)"""

    def split(x):
        """(B, S, H) → (B, h, S, d): head k takes the k-th run of d numbers"""
        return x.unflatten(-1, (num_heads, -1)).transpose(1, 2)

    # The heads stand before S now: for exercise 1, one more batch axis.
    query, key, value = split(hidden @ W_Q), split(hidden @ W_K), split(hidden @ W_V)
    mixed, _ = my_attention(query, key, value)  # (B, h, S, d)
    concatenated = mixed.transpose(1, 2).flatten(-2)  # (B, S, H): side by side again
    return concatenated @ W_O  # only here do the heads mix


def find_head(record, query_token, key_token):
    """An AttentionRecord and two of its tokens (of several alike, the first)
    → (layer, head), counted from 0"""
    i = record.tokens.index(query_token)  # index finds the first
    j = record.tokens.index(key_token)
    strength = record.weights[:, :, i, j]  # (L, h): row i of the query, column j of the key
    # argmax counts as if the array were flat; unravel_index makes two of that one.
    layer, head = np.unravel_index(strength.argmax(), strength.shape)
    return int(layer), int(head)
