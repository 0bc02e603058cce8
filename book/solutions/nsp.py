"""Worked solutions to the exercises of the chapter "Does it follow?". They use its imports and no more."""

import torch


def my_truncate(first, second, room):
    """first and second, lists of ids, cut to at most room ids together → both"""
    first, second = list(first), list(second)  # the caller keeps theirs
    while len(first) + len(second) > room:
        longer = first if len(first) > len(second) else second
        longer.pop()
    return first, second


def my_pair_inputs(first, second, cls_id, sep_id):
    """two lists of ids → input_ids, token_type_ids, two lists of equal length"""
    left = [cls_id, *first, sep_id]
    right = [*second, sep_id]
    # Each [SEP] belongs to the text that it ends.
    return left + right, [0] * len(left) + [1] * len(right)


def my_nsp_loss(hidden, W_pool, b_pool, W, b, labels):
    """hidden (B, S, H), labels (B,), 0 = IsNext → the mean loss, a scalar"""
    cls_vectors = hidden[:, 0]  # (B, H)
    pooled = torch.tanh(cls_vectors @ W_pool.T + b_pool)  # (B, H)
    logits = pooled @ W.T + b  # (B, 2)
    # ln p of each class; log_softmax subtracts the maximum before it takes exp.
    log_probabilities = logits.log_softmax(dim=-1)
    rows = torch.arange(len(labels))
    return -log_probabilities[rows, labels].mean()
