"""From scores to texts, one token at a time. Greedy here; several at once in :mod:`bertbook.model.beam`."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from bertbook.model.decoder import LayerCache
from bertbook.model.evaluating import evaluating
from bertbook.model.seq2seq import Seq2Seq


class Decoded(NamedTuple):
    """Targets: no start token, the end token if there was room for it, then padding.

    ``scores`` are the sums of their tokens' log-probabilities (natural logarithm).
    """

    ids: Int[Tensor, "B T"]
    scores: Float[Tensor, "B"]  # noqa: F821 (a shape)


class Steps:
    """A model that has read its sources, asked step by step for the next tokens."""

    def __init__(
        self,
        model: Seq2Seq,
        input_ids: Int[Tensor, "B S"],
        attention_mask: Int[Tensor, "B S"] | None,
        use_cache: bool = True,
    ) -> None:
        self.model, self.mask = model, attention_mask
        encoded = model.encoder(input_ids, attention_mask=attention_mask)
        self.source = encoded.last_hidden_state  # (B, S, H)
        layers = range(model.config.num_hidden_layers)
        self.caches = [LayerCache() for _ in layers] if use_cache else None

    def next(self, ids: Int[Tensor, "B U"]) -> Float[Tensor, "B V"]:
        """Log-probabilities of the token after ``ids``, the whole target so far."""
        logits, _ = self.model.decode(
            ids,
            self.source,
            attention_mask=self.mask,
            caches=self.caches,
        )
        return logits[:, -1].float().log_softmax(dim=-1)

    def select(self, rows: Tensor) -> None:
        """Go on with these targets, in this order."""
        self.source = self.source[rows]
        self.mask = None if self.mask is None else self.mask[rows]
        for cache in self.caches or ():
            cache.select(rows)


def greedy(
    model: Seq2Seq,
    input_ids: Int[Tensor, "B S"],
    *,
    attention_mask: Int[Tensor, "B S"] | None = None,
    start_id: int,
    end_id: int,
    max_length: int,
    use_cache: bool = True,
) -> Decoded:
    """Take the likeliest token, each time. Finished targets leave the batch.

    The model runs in evaluation mode and is left in the mode it was in.

    Args:
        max_length: the most tokens to write, the end token included.
        use_cache: False computes earlier positions again at every step: the same
            result, slower.

    Raises:
        ValueError: an id outside the vocabulary; a length below 1 or past the
            model's positions; sources that the encoder refuses.
    """
    check_request(model, start_id, end_id, max_length)
    batch, pad = len(input_ids), model.config.pad_token_id
    with evaluating(model):
        steps = Steps(model, input_ids, attention_mask, use_cache)
        ids = input_ids.new_full((batch, max_length + 1), pad)
        ids[:, 0] = start_id
        scores = torch.zeros(batch, device=ids.device)
        rows = torch.arange(batch, device=ids.device)  # the unfinished targets
        for length in range(1, max_length + 1):
            score, token = steps.next(ids[rows, :length]).max(dim=-1)
            ids[rows, length] = token.to(ids.dtype)
            scores[rows] += score
            going = token != end_id
            if not going.any():
                break
            if not going.all():
                rows = rows[going]
                steps.select(going)
    return Decoded(ids[:, 1 : length + 1], scores)


def check_request(model: Seq2Seq, start_id: int, end_id: int, max_length: int) -> None:
    """Refuse ids that the model has no row for, and lengths that it cannot write.

    Raises:
        ValueError: what was given, what is allowed.
    """
    for name, token in (("start_id", start_id), ("end_id", end_id)):
        if type(token) is not int or not 0 <= token < model.config.vocab_size:
            raise ValueError(f"{name}={token!r}: expected an id, from 0 to {model.config.vocab_size - 1}")
    limit = model.config.max_length
    if type(max_length) is not int or max_length < 1:
        raise ValueError(f"max_length={max_length!r}: expected the most tokens to write, at least 1")
    if limit is not None and max_length > limit:
        raise ValueError(f"max_length={max_length}: this model has {limit} positions; pass at most that")
