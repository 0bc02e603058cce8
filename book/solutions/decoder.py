"""Worked solutions to the exercises of the chapter "The decoder, which BERT left out".

They use its imports and no more.
"""

import torch


def my_causal_mask(size):
    """→ bool (1, 1, size, size): True = query (row) may look at key (column)"""
    # tril keeps the diagonal: a token may look at itself, and at all before it.
    mask = torch.ones(size, size, dtype=torch.bool).tril()
    # The same for every text and every head: these two axes have size 1.
    return mask[None, None]


def my_shift(target, start_id):
    """target (B, T) ids → (B, T): start_id, then each row's ids without the last"""
    # Like target in dtype and device, whatever these are.
    start = torch.full_like(target[:, :1], start_id)  # (B, 1)
    # At each place the decoder now sees the ids before the one it has to predict.
    return torch.cat([start, target[:, :-1]], dim=1)


def my_greedy(next_logits, start_id, end_id, max_length):
    """next_logits(ids) gives the logits (V,) of the id after the list ids
    → list of the new ids, at most max_length, the last of them end_id if it came"""
    ids = [start_id]
    for _ in range(max_length):
        # All ids so far, each time: the function remembers nothing.
        new = int(next_logits(ids).argmax())
        ids.append(new)
        # Asked after the append, so that the end belongs to the answer.
        if new == end_id:
            break
    return ids[1:]


def my_cross_attention(target, source, source_mask, W_Q, W_K, W_V):
    """target (B, T, H), source (B, S, H), source_mask bool (B, S), True = a token;
    matrices (H, H), applied as x @ W; one head, no W_O → (B, T, H)"""
    # The text being written asks, the text that was read answers.
    query = target @ W_Q  # (B, T, H)
    key, value = source @ W_K, source @ W_V  # (B, S, H)
    scores = query @ key.mT / query.shape[-1] ** 0.5  # (B, T, S): one head, d = H
    # Padding stays hidden here too, from every query alike: (B, 1, S).
    scores = scores.masked_fill(~source_mask[:, None, :], float("-inf"))
    return scores.softmax(dim=-1) @ value
