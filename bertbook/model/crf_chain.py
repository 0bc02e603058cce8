"""What a linear-chain CRF computes: the score of one path, the sum over all paths, the best of them.

Each takes T steps of K² terms, where a list of the paths would have Kᵀ entries (Sutton and McCallum 2012, section 4.1).
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

# The score of a move that the constraints forbid. exp gives exactly 0, as for -inf; but the logsumexp of nothing
# but -inf has the gradient NaN, and a tag that no path reaches is such a sum.
FORBIDDEN = -1e30


@dataclass(frozen=True)
class Chain:
    """What the algorithms work on: of each row the labelled positions only, moved together to the left.

    T is the length of the longest chain of the batch; shorter ones are padded at the right, with score 0.
    """

    scores: Float[Tensor, "B T K"]  # of each tag at each position, start and end scores included
    transitions: Float[Tensor, "K K"]  # [from, to]
    inside: Bool[Tensor, "B T"]  # False in the padding
    positions: Int[Tensor, "B T"]  # where in its row each position came from
    offset: Float[Tensor, " B"]  # taken off every path of the row, to keep the sums small


def path_score(chain: Chain, tags: Int[Tensor, "B T"]) -> Float[Tensor, " B"]:
    """The score of one path a row, less the row's offset. ``tags`` in the padding: any tag."""
    at_tags = chain.scores.gather(2, tags[..., None]).squeeze(2)  # (B, T)
    moves = chain.transitions[tags[:, :-1], tags[:, 1:]]  # (B, T - 1)
    return at_tags.sum(1) + moves.masked_fill(~chain.inside[:, 1:], 0.0).sum(1)


def forward_scores(chain: Chain) -> Float[Tensor, "B T K"]:
    """α[t, j] = log Σ exp(score) over all paths up to position t that end in tag j."""
    first, *rest = chain.scores.unbind(1)  # T times (B, K)
    alphas = [first]
    for here in rest:
        arriving = alphas[-1][:, :, None] + chain.transitions  # (B, K, K): [from, to]
        alphas.append(arriving.logsumexp(1) + here)
    return torch.stack(alphas, dim=1)


def backward_scores(chain: Chain) -> Float[Tensor, "B T K"]:
    """β[t, i] = log Σ exp(score) over all ways to go on from tag i at position t; 0 at the end of a chain."""
    betas = [torch.zeros_like(chain.scores[:, 0])]
    for t in range(chain.scores.shape[1] - 1, 0, -1):
        leaving = chain.transitions + (chain.scores[:, t] + betas[-1])[:, None, :]  # (B, K, K): [from, to]
        betas.append(leaving.logsumexp(2).masked_fill(~chain.inside[:, t, None], 0.0))
    return torch.stack(betas[::-1], dim=1)


def log_z(chain: Chain) -> Float[Tensor, " B"]:
    """log Z = log Σ exp(score) over all paths, less the row's offset. An empty chain has one path, of score 0."""
    last = (chain.inside.sum(1) - 1).clamp(min=0)  # (B,)
    alphas = forward_scores(chain).take_along_dim(last[:, None, None], dim=1).squeeze(1)  # (B, K)
    return alphas.logsumexp(1).masked_fill(~chain.inside[:, 0], 0.0)


def best_paths(chain: Chain, k: int) -> tuple[Int[Tensor, "B k T"], Float[Tensor, "B k"]]:
    """The k best paths, best first, and their scores less the row's offset (-inf: the row has no k paths).

    The forward algorithm with the maximum for the sum, and a note of where each maximum came from (Viterbi 1967).
    A state is a tag and a rank: the best path into the tag, the second best, and so on. Plain Viterbi is k = 1.
    """
    batch, _, num_tags = chain.scores.shape
    first, *rest = chain.scores.unbind(1)
    none = first.new_full((batch, num_tags, k - 1), -math.inf)  # at the first position, each tag has one path
    score = torch.cat([first[..., None], none], dim=2)  # (B, K, k)
    same = torch.arange(num_tags * k, device=score.device)  # in the padding each state comes from itself
    origins = []
    for here, inside in zip(rest, chain.inside[:, 1:, None].unbind(1), strict=True):  # (B, K), (B, 1)
        arriving = score[..., None] + chain.transitions[:, None, :]  # (B, K, k, K): [from, rank, to]
        best, origin = arriving.flatten(1, 2).topk(k, dim=1)  # (B, k, K), out of K · k states
        score = torch.where(inside[..., None], best.transpose(1, 2) + here[..., None], score)
        origins.append(torch.where(inside, origin.transpose(1, 2).flatten(1), same))  # (B, K · k)

    scores, state = score.flatten(1).topk(k, dim=1)  # (B, k)
    states = [state]
    for origin in reversed(origins):
        states.append(origin.gather(1, states[-1]))
    empty = ~chain.inside[:, :1] & (torch.arange(k, device=score.device) > 0)  # one path, not one a tag
    return torch.stack(states[::-1], dim=2) // k, scores.masked_fill(empty, -math.inf)
