"""From a running model to records that can be looked at."""

import torch
from torch import nn

from bertbook.model.evaluating import evaluating
from bertbook.model.hooks import encoder_of
from bertbook.records import AttentionRecord
from bertbook.text.tokenizer import Tokenizer


def record_attention(model: nn.Module, tokenizer: Tokenizer, text: str, pair: str | None = None) -> AttentionRecord:
    """Run one text, or one pair, and keep every attention weight.

    The model, a :class:`~bertbook.model.bert.Bert` or one with a head, runs in evaluation mode (no dropout) and is
    left in the mode it was in.

    Returns:
        A record with .tokens (S), .segments (S,) and .weights (L, h, S, S), all NumPy, on the CPU.

    Raises:
        ValueError: the text is longer than the model's positions.
        TypeError: ``text`` or ``pair`` is no string; ``model`` holds no ``Bert``.
    """
    encoder = encoder_of(model)
    batch = tokenizer([text if pair is None else (text, pair)]).to(next(encoder.parameters()).device)
    with evaluating(encoder):
        attentions = encoder(**batch, output_attentions=True).attentions
    return AttentionRecord(
        tokens=tokenizer.ids_to_tokens(batch["input_ids"][0].tolist()),
        segments=batch["token_type_ids"][0].cpu().numpy(),
        weights=torch.cat(attentions).float().cpu().numpy(),  # (L, h, S, S): the batch of one is joined away
        model=str(getattr(model, "name", "")),
    )
