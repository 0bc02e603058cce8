"""Worked solutions to the exercises of the chapter "Embeddings". They use its imports and no more."""

import torch
import torch.nn.functional as F


def my_embeddings(ids, segments, token, segment, position, weight, bias, eps):
    """ids, segments (B, S); tables (V, H), (2, H), (P, H); weight, bias (H,)

    → (B, S, H)
    """
    places = torch.arange(ids.shape[1])  # (S,): 0, 1, 2, … in every text
    summed = token[ids] + segment[segments] + position[places]  # (B, S, H)
    # The step that is often forgotten.
    return F.layer_norm(summed, weight.shape, weight, bias, eps)


def my_segments(ids, sep_id, pad_id):
    """ids (B, S), one [SEP] or two in each row → (B, S), int64"""
    # How many [SEP] stand before each place: 0 in the first text, 1 in the second.
    # The running count has the place itself in it; a [SEP] ends its own text.
    is_sep = (ids == sep_id).long()
    before = is_sep.cumsum(dim=1) - is_sep
    # After the last [SEP] there is padding alone, in segment 0.
    return before.masked_fill(ids == pad_id, 0)


def my_sinusoids(length, size):
    """→ (length, size), size even"""
    places = torch.arange(length)[:, None]  # (length, 1)
    rates = 10000.0 ** (-torch.arange(0, size, 2) / size)  # (size / 2,), one for each pair
    angles = places * rates
    # A sine and a cosine side by side, then the next pair.
    return torch.stack([angles.sin(), angles.cos()], dim=2).flatten(start_dim=1)


def my_table_gradient(ids, gradient, vocab_size):
    """ids (B, S), gradient of what was looked up (B, S, H) → that of the table (V, H)"""
    table = gradient.new_zeros(vocab_size, gradient.shape[2])
    # Rows that were looked up twice get the sum of both gradients. Assignment,
    # table[ids] = …, would keep one of them.
    table.index_add_(0, ids.flatten(), gradient.flatten(0, 1))
    return table
