"""Beam search: several beginnings at once, so that one unlucky token does not decide."""

import math

import torch
from jaxtyping import Int
from torch import Tensor

from bertbook.model.decoding import Decoded, Steps, check_request
from bertbook.model.evaluating import evaluating
from bertbook.model.seq2seq import Seq2Seq


def beam_search(
    model: Seq2Seq,
    input_ids: Int[Tensor, "B S"],
    *,
    attention_mask: Int[Tensor, "B S"] | None = None,
    start_id: int,
    end_id: int,
    max_length: int,
    num_beams: int = 4,
    length_penalty: float = 0.6,
) -> Decoded:
    """Keep the K = ``num_beams`` best beginnings of each target; return the best.

    A target of n tokens ranks by score / ((5 + n) / 6)^``length_penalty`` (Wu et al.
    2016, section 7): 0 ranks by the score alone, which favours short targets. The
    defaults are the Transformer's (Vaswani et al. 2017, section 6.1).

    Raises:
        ValueError: as :func:`~bertbook.model.decoding.greedy`; no beam; a bad
            penalty.
    """
    check_request(model, start_id, end_id, max_length)
    if type(num_beams) is not int or num_beams < 1:
        raise ValueError(f"num_beams={num_beams!r}: expected a whole number of at least 1")
    if not 0 <= length_penalty < math.inf:
        raise ValueError(f"length_penalty={length_penalty!r}: expected 0 for none, or a positive number")

    def rank(scores: Tensor, sizes: Tensor | int) -> Tensor:
        return scores / ((5 + sizes) / 6) ** length_penalty

    batch, pad = len(input_ids), model.config.pad_token_id
    with evaluating(model):
        steps = Steps(model, input_ids, attention_mask)
        rows = torch.arange(batch, device=input_ids.device)  # the unfinished targets
        steps.select(rows.repeat_interleave(num_beams))
        best = input_ids.new_full((batch, max_length), pad)
        best_scores = torch.zeros(batch, device=rows.device)
        # Of each unfinished target, its beams, best first:
        ids = input_ids.new_full((batch, num_beams, max_length + 1), pad)
        ids[:, :, 0] = start_id
        scores = best_scores[:, None].repeat(1, num_beams)
        scores[:, 1:] = -math.inf  # all begin alike, so only one may go on
        sizes = torch.zeros_like(scores, dtype=torch.long)
        ended = torch.zeros_like(scores, dtype=torch.bool)
        for length in range(1, max_length + 1):
            log_p = steps.next(ids[:, :, :length].flatten(0, 1))
            log_p = log_p.unflatten(0, (-1, num_beams))  # (B, K, V)
            # An ended beam stays in the race: padding follows, and costs nothing.
            log_p.masked_fill_(ended[..., None], -math.inf)
            log_p[..., pad].masked_fill_(ended, 0.0)
            sizes = sizes.where(ended, length)
            sums = scores[..., None] + log_p  # (B, K, V)
            ranks, chosen = rank(sums, sizes[..., None]).flatten(1).topk(num_beams)
            beam = chosen // log_p.shape[-1]  # (B, K): which beginning
            token = chosen % log_p.shape[-1]  # (B, K): and what follows it
            ids = ids.take_along_dim(beam[..., None], dim=1)
            ids[:, :, length] = token.to(ids.dtype)
            scores = sums.flatten(1).gather(1, chosen)
            sizes = sizes.gather(1, beam)
            ended = ended.gather(1, beam) | (token == end_id)
            best[rows], best_scores[rows] = ids[:, 0, 1:], scores[:, 0]
            # Scores only fall. The most an open beam can hope for is to reach the
            # last length with the score it has now.
            hope = rank(scores, max_length).masked_fill(ended, -math.inf)
            going = ~ended[:, 0] | (hope > ranks[:, :1]).any(dim=1)
            if not going.any():
                break
            places = torch.arange(len(rows), device=rows.device)[:, None] * num_beams
            steps.select((places + beam)[going].flatten())
            rows, ids, scores = rows[going], ids[going], scores[going]
            sizes, ended = sizes[going], ended[going]
    return Decoded(best[:, :length], best_scores)
