"""The CRF by its definition: every path written down and scored in Python's own numbers."""

import math
from itertools import pairwise, product
from typing import NamedTuple

import torch
from torch import Tensor

from bertbook import LinearChainCRF
from bertbook.model.tag_schemes import TagConstraints


class Scored(NamedTuple):
    path: tuple[int, ...]  # one entry a position; -100 outside the mask
    score: float


def score_of(crf: LinearChainCRF, emissions: list[list[float]], tags: tuple[int, ...]) -> float:
    """start + emissions + transitions + end; -inf where a constraint forbids it; 0 for the empty path."""
    if not tags:
        return 0.0
    start, end, transitions = crf.start.tolist(), crf.end.tolist(), crf.transitions.tolist()
    moves = list(pairwise(tags))
    allowed = (
        bool(crf.allowed_start[tags[0]])
        and bool(crf.allowed_end[tags[-1]])
        and all(bool(crf.allowed_transitions[move]) for move in moves)
    )
    if not allowed:
        return -math.inf
    terms = [start[tags[0]], end[tags[-1]], *(transitions[i][j] for i, j in moves)]
    return math.fsum(terms + [scores[tag] for scores, tag in zip(emissions, tags, strict=True)])


def all_paths(crf: LinearChainCRF, emissions: Tensor, mask: Tensor) -> list[Scored]:
    """The allowed paths of one row, (S, K) and (S,), the best first."""
    where = mask.nonzero().flatten().tolist()
    chosen = emissions[mask.bool()].tolist()
    found = []
    for tags in product(range(crf.num_tags), repeat=len(where)):
        score = score_of(crf, chosen, tags)
        if score > -math.inf:
            path = [-100] * len(mask)
            for position, tag in zip(where, tags, strict=True):
                path[position] = tag
            found.append(Scored(tuple(path), score))
    return sorted(found, key=lambda scored: -scored.score)


def log_z(paths: list[Scored]) -> float:
    highest = paths[0].score
    return highest + math.log(math.fsum(math.exp(path.score - highest) for path in paths))


def marginals(paths: list[Scored], num_tags: int) -> list[list[float]]:
    """(S, K): the summed probability of the paths through each tag."""
    total = log_z(paths)
    table = [[0.0] * num_tags for _ in paths[0].path]
    for path, score in paths:
        for position, tag in enumerate(path):
            if tag != -100:
                table[position][tag] += math.exp(score - total)
    return table


def random_crf(num_tags: int, constraints: TagConstraints | None = None, spread: float = 1.0) -> LinearChainCRF:
    """Float64, with learned scores that differ: zeros would hide an exchanged table. Uses torch's global seed."""
    crf = LinearChainCRF(num_tags, constraints).double()
    with torch.no_grad():
        for parameter in crf.parameters():
            parameter.copy_(spread * torch.randn_like(parameter))
    return crf
