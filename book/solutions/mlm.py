"""Worked solutions to the exercises of the chapter "Guessing hidden words". They use its imports and no more."""

import torch
import torch.nn.functional as F


def my_masking(input_ids, special, lot, fate, drawn, mask_id):
    """input_ids (B, S); special (B, S) bool; lot, fate (B, S), each from 0 to 1;
    drawn (B, S), an id for each place; mask_id → corrupted (B, S), labels (B, S)"""
    chosen = (lot < 0.15) & ~special
    # where and masked_fill make new tensors: the caller's stay as they were.
    labels = input_ids.masked_fill(~chosen, -100)
    corrupted = input_ids.masked_fill(chosen & (fate < 0.8), mask_id)
    # One number decides, so that the two fates cannot meet.
    replaced = chosen & (fate >= 0.8) & (fate < 0.9)
    return torch.where(replaced, drawn, corrupted), labels


def my_whole_words(continues, lot, rate):
    """continues (B, S) bool, True = goes on with the word before it; lot (B, S);
    a word is chosen if the lot of its first piece is below rate → bool (B, S)"""
    position = torch.arange(continues.shape[1]).expand_as(lot)  # (B, S)
    # Where each token's word begins: the last position so far that continues nothing.
    first = position.masked_fill(continues, 0).cummax(dim=1).values
    return lot.gather(1, first) < rate


def my_head(hidden, dense_weight, dense_bias, norm_weight, norm_bias, table, bias):
    """hidden (N, H), dense_weight (H, H) as in nn.Linear, table (V, H), bias (V,),
    the others (H,); exact GELU, ε of LayerNorm 1e-12 → logits (N, V)"""
    x = F.gelu(F.linear(hidden, dense_weight, dense_bias))  # (N, H)
    x = F.layer_norm(x, x.shape[-1:], norm_weight, norm_bias, eps=1e-12)
    # linear multiplies by the transposed matrix: (N, H) times (H, V).
    return F.linear(x, table, bias)


def my_loss(logits, labels):
    """logits (B, S, V), labels (B, S), -100 where nothing is asked
    → the mean of −ln p(label) over the others, a tensor of shape ()"""
    asked = labels != -100  # (B, S)
    # The logarithm of the softmax in one step: no exp that could overflow.
    ln_p = logits[asked].log_softmax(dim=-1)  # (N, V)
    return -ln_p.gather(1, labels[asked][:, None]).mean()
