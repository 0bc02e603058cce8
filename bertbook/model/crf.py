"""A linear-chain conditional random field: the tags of a text scored as a whole (Lafferty et al. 2001)."""

import torch
from jaxtyping import Bool, Float, Int, Integer
from torch import Tensor, nn

from bertbook.model.crf_chain import FORBIDDEN, Chain, backward_scores, best_paths, forward_scores, log_z, path_score
from bertbook.model.crf_inputs import (
    check_constraints,
    check_emissions,
    check_gold,
    check_labels,
    check_mask,
    check_some_path,
)
from bertbook.model.inputs import IGNORED
from bertbook.model.tag_schemes import TagConstraints

Mask = Bool[Tensor, "B S"] | Integer[Tensor, "B S"]


class LinearChainCRF(nn.Module):
    """p(y | x) = exp(score(x, y)) / Z, with a score for each tag where it stands and for each pair of neighbours:

        score(x, y) = start[y₁] + Σₜ emissions[t, yₜ] + Σₜ transitions[yₜ₋₁, yₜ] + end[yₙ]

    Its own scores start at 0: each tag by itself, which is the linear layer with softmax.

    The chain of a row is its labelled positions. Those with label -100, or mask 0, are stepped over wherever they are
    ([CLS], [SEP], padding, the later pieces of a word): the tags on either side of them are neighbours.
    A row without any chain position has one path, the empty one: its score and its log-likelihood are 0.

    Sums run in float32, or in float64 where the emissions or the parameters are; gradients come in the type given.

    Args:
        num_tags: K.
        constraints: moves that no path may make, from :func:`bertbook.model.tag_schemes.tag_constraints`. They are
            not in the state dict: they follow from the names of the labels, which a tagger keeps.

    Raises:
        ValueError: no tag, or constraints for another number of tags. Methods: shapes that do not fit, labels out of
            range, labels that make a forbidden move, a mask of other values, a row that has no allowed path.
        TypeError: something that is no tensor.
    """

    allowed_start: Bool[Tensor, " K"]
    allowed_end: Bool[Tensor, " K"]
    allowed_transitions: Bool[Tensor, "K K"]

    def __init__(self, num_tags: int, constraints: TagConstraints | None = None) -> None:
        super().__init__()
        check_constraints(num_tags, constraints)
        self.num_tags = num_tags
        self.labels = constraints.labels if constraints else None
        self.start = nn.Parameter(torch.zeros(num_tags))
        self.end = nn.Parameter(torch.zeros(num_tags))
        self.transitions = nn.Parameter(torch.zeros(num_tags, num_tags))  # [from, to]
        for table in ("start", "end", "transitions"):
            free = torch.ones_like(getattr(self, table), dtype=torch.bool)
            allowed = getattr(constraints, f"allowed_{table}") if constraints else free
            self.register_buffer(f"allowed_{table}", allowed, persistent=False)

    @property
    def constraints(self) -> TagConstraints | None:
        """The constraints it was made with, on the device where it is now."""
        if self.labels is None:
            return None
        return TagConstraints(self.labels, self.allowed_start, self.allowed_end, self.allowed_transitions)

    def extra_repr(self) -> str:
        return f"num_tags={self.num_tags}" + (f", labels={self.labels}" if self.labels else "")

    def forward(self, emissions: Float[Tensor, "B S K"], labels: Int[Tensor, "B S"]) -> Float[Tensor, ""]:
        """The loss: -log p(labels | emissions), summed over the batch, divided by the number of labelled tokens.

        That is the unit of the linear layer's cross-entropy; with all scores of the CRF at 0, it is that number.

        Raises:
            ValueError: as for :meth:`log_likelihood`.
        """
        return -self.log_likelihood(emissions, labels).sum() / (labels != IGNORED).sum()

    def log_likelihood(self, emissions: Float[Tensor, "B S K"], labels: Int[Tensor, "B S"]) -> Float[Tensor, " B"]:
        """log p(labels | emissions) of each row; 0 for a row whose labels are all -100.

        Raises:
            ValueError: a label that is neither -100 nor from 0 to K - 1; every label of the batch -100; labels that
                the constraints forbid, named with their positions.
        """
        if not torch.compiler.is_compiling():
            check_emissions(self.num_tags, emissions)
            check_labels(self.num_tags, labels, emissions)
        chain = self._chain(emissions, labels != IGNORED)
        tags = labels.long().gather(1, chain.positions).masked_fill(~chain.inside, 0)  # (B, T)
        if not torch.compiler.is_compiling():
            check_gold(self.constraints, tags, chain.inside, chain.positions)
        return path_score(chain, tags) - log_z(chain)

    def log_partition(self, emissions: Float[Tensor, "B S K"], mask: Mask) -> Float[Tensor, " B"]:
        """log Z of each row: what turns the score of a path into its log-probability, score - log Z.

        Args:
            mask: True or 1 where a token is part of the chain, holes anywhere.
        """
        chain = self._checked_chain(emissions, mask)
        log_zs = log_z(chain)
        check_some_path(log_zs)
        return log_zs + chain.offset

    def viterbi(self, emissions: Float[Tensor, "B S K"], mask: Mask) -> tuple[Int[Tensor, "B S"], Float[Tensor, " B"]]:
        """The best path of each row, -100 outside the mask, and its score. Of equal paths, one."""
        chain = self._checked_chain(emissions, mask)
        paths, scores = best_paths(chain, 1)
        check_some_path(scores[:, 0])
        return _placed(chain, paths, mask)[:, 0], scores[:, 0] + chain.offset

    def k_best(self, emissions: Float[Tensor, "B S K"], mask: Mask, k: int) -> list[list[tuple[Tensor, float]]]:
        """For each row its k best paths as (path (S,), score), best first; fewer where fewer are allowed.

        Raises:
            ValueError: k below 1.
        """
        if k < 1:
            raise ValueError(f"k = {k}: how many paths are wanted? At least 1")
        chain = self._checked_chain(emissions, mask)
        paths, scores = best_paths(chain, min(k, self.num_tags ** chain.scores.shape[1]))
        check_some_path(scores[:, 0])
        placed = _placed(chain, paths, mask)  # (B, k, S)
        counts = (scores > FORBIDDEN / 2).sum(1).tolist()
        totals = (scores + chain.offset[:, None]).tolist()
        return [
            list(zip(row[:n], total[:n], strict=True)) for row, total, n in zip(placed, totals, counts, strict=True)
        ]

    def marginals(self, emissions: Float[Tensor, "B S K"], mask: Mask) -> Float[Tensor, "B S K"]:
        """p(yₜ = j | x): how sure the model is of each tag, the other tags left open; 0 outside the mask.

        exp(α + β) / Z, which is also the gradient of log Z with respect to the emissions.
        """
        chain = self._checked_chain(emissions, mask)
        alphas = forward_scores(chain)
        scores = alphas + backward_scores(chain)  # (B, T, K): the sum over all paths through the tag
        check_some_path(scores[:, 0].logsumexp(1))  # log Z
        marginals = scores.softmax(2).masked_fill(~chain.inside[..., None], 0.0)
        return marginals.new_zeros(emissions.shape).scatter(
            1, chain.positions[..., None].expand_as(marginals), marginals
        )

    def _checked_chain(self, emissions: Float[Tensor, "B S K"], mask: Mask) -> Chain:
        if not torch.compiler.is_compiling():
            check_emissions(self.num_tags, emissions)
            check_mask(mask, emissions)
        return self._chain(emissions, mask.bool())

    def _chain(self, emissions: Float[Tensor, "B S K"], mask: Bool[Tensor, "B S"]) -> Chain:
        """Gather what the mask lets through to the left and add the start and end scores.

        No operation here or in the algorithms is one of those that autocast runs in half precision.
        """
        lengths = mask.sum(1, keepdim=True)  # (B, 1)
        positions = mask.long().argsort(dim=1, descending=True, stable=True)  # chain positions first, in their order
        if not torch.compiler.is_compiling():  # a compiled graph has fixed shapes: there T = S
            positions = positions[:, : max(1, int(lengths.max()))]
        step = torch.arange(positions.shape[1], device=mask.device)  # (T,)
        inside = step < lengths  # (B, T)

        dtype = torch.promote_types(torch.promote_types(emissions.dtype, self.transitions.dtype), torch.float32)
        scores = emissions.take_along_dim(positions[..., None], dim=1).to(dtype)  # (B, T, K)
        # Every path passes each position once, so a number taken off all tags of it changes no probability. With the
        # highest at 0 the best paths score near 0, where floating point is finest; sums of 512 × 1e4 would drown 1.0.
        highest = scores.detach().amax(2, keepdim=True)
        scores = (scores - highest).masked_fill(~inside[..., None], 0.0)
        start = self.start.to(dtype).masked_fill(~self.allowed_start, FORBIDDEN)
        end = self.end.to(dtype).masked_fill(~self.allowed_end, FORBIDDEN)
        transitions = self.transitions.to(dtype).masked_fill(~self.allowed_transitions, FORBIDDEN)
        first, last = inside & (step == 0), step == lengths - 1  # (B, T)
        scores = scores + first[..., None] * start + last[..., None] * end
        offset = highest.squeeze(2).masked_fill(~inside, 0.0).sum(1)
        return Chain(scores, transitions, inside, positions, offset)


def _placed(chain: Chain, paths: Int[Tensor, "B k T"], mask: Mask) -> Int[Tensor, "B k S"]:
    """Paths back at the positions that they came from, -100 elsewhere."""
    tags = paths.masked_fill(~chain.inside[:, None], IGNORED)
    index = chain.positions[:, None].expand_as(tags)
    return tags.new_full((*tags.shape[:2], mask.shape[1]), IGNORED).scatter(2, index, tags)
