"""Worked solutions to the exercises of the chapter "Why BERT". They use its imports and no more."""

import torch
import torch.nn.functional as F


def my_nearest(vectors, row, n):
    """vectors (V, H), the number of a word → the numbers of its n nearest (n,)"""
    unit = F.normalize(vectors, dim=1)  # of length 1: then dot products are cosines
    alike = unit @ unit[row]  # (V,)
    others = torch.arange(len(vectors)) != row
    # Less than any cosine, so that the word itself is never among the best.
    return torch.where(others, alike, -2.0).topk(n).indices


def my_sgns_loss(centre, context, noise):
    """centre (B, H), context (B, H), noise (B, k, H) → the mean loss, a scalar"""
    near = (centre * context).sum(-1)  # (B,)
    far = (noise * centre[:, None]).sum(-1)  # (B, k)
    # logsigmoid, not log(sigmoid): that is −∞ from about −100 on.
    return -(F.logsigmoid(near) + F.logsigmoid(-far).sum(-1)).mean()


def my_jacobian(states, W):
    """states (S, H), W (H, H) → d states[S − 1] / d states[0], (H, H);
    entry [i, j] is the derivative of number i by number j"""
    jacobian = torch.eye(len(W), dtype=W.dtype)
    for state in states[1:]:
        # Of one step: diag(1 − h²) W. The later step stands to the left.
        jacobian = (1 - state**2)[:, None] * (W @ jacobian)
    return jacobian
