"""Worked solutions to the exercises of the chapter "Attention"."""

import math

import numpy as np
import torch
from torch import Tensor

from bertbook import AttentionRecord


def my_attention(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """Scaled dot-product attention. (..., S, d), (..., T, d), (..., T, d_v) → (..., S, d_v), (..., S, T)."""
    # One number for each query and key. mT swaps the last two axes, however many stand before them.
    scores = query @ key.mT  # (..., S, T)
    # A sum of d products has variance d; divided by √d, it has variance 1, whatever d is.
    scores = scores / math.sqrt(query.shape[-1])
    # Along the keys: each query shares out 1. torch's softmax takes care of large scores.
    weights = scores.softmax(dim=-1)
    return weights @ value, weights


def my_mask(lengths: Tensor, size: int) -> Tensor:
    """The lengths (B) of the texts in a batch padded to ``size`` → (B, 1, 1, S), True where a key may be looked at."""
    # Position j holds a token of text b exactly when j < lengths[b]: every j against every b, by broadcasting.
    is_token = torch.arange(size, device=lengths.device) < lengths[:, None]  # (B, S)
    # The same keys are allowed for every head and for every query: these axes have size 1.
    return is_token[:, None, None, :]


def my_multi_head(hidden: Tensor, W_Q: Tensor, W_K: Tensor, W_V: Tensor, W_O: Tensor, num_heads: int) -> Tensor:
    """Multi-head self-attention without biases. hidden (B, S, H), each matrix (H, H) → (B, S, H)."""

    def split(x: Tensor) -> Tensor:
        """(B, S, H) → (B, h, S, d): head k takes the k-th run of d numbers of each token."""
        return x.unflatten(-1, (num_heads, -1)).transpose(1, 2)

    # With the heads on an axis of their own before S, the attention of exercise 1 treats them like a batch.
    mixed, _ = my_attention(split(hidden @ W_Q), split(hidden @ W_K), split(hidden @ W_V))  # (B, h, S, d)
    concatenated = mixed.transpose(1, 2).flatten(-2)  # (B, S, H), the heads side by side again
    return concatenated @ W_O  # here the heads mix


def find_head(record: AttentionRecord, query_token: str, key_token: str) -> tuple[int, int]:
    """The (layer, head), both from 0, where the first ``query_token`` gives the first ``key_token`` most weight."""
    i = record.tokens.index(query_token)  # index finds the first occurrence
    j = record.tokens.index(key_token)
    strength = record.weights[:, :, i, j]  # (L, h): the row is the query, the column is the key
    # argmax counts through the array as if it were flat; unravel_index turns that count into two indices.
    layer, head = np.unravel_index(strength.argmax(), strength.shape)
    return int(layer), int(head)
