"""From a running model to records that can be looked at."""

import torch
from torch import nn

from bertbook.model.evaluating import evaluating
from bertbook.model.hooks import encoder_of
from bertbook.model.inputs import check_inputs
from bertbook.records import AttentionRecord, EmbeddingRecord
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


def record_embeddings(
    model: nn.Module, tokenizer: Tokenizer, text: str, pair: str | None = None, *, positions: int = 128
) -> EmbeddingRecord:
    """Look up one text, or one pair, and keep what its first vectors are made of. Nothing else of the model runs.

    Args:
        positions: how many rows of the position table to keep, for a look at positions beyond the text; fewer where
            the table ends.

    Returns:
        A record with .token (S, E), .segment (T, E), .position (P, E), and the LayerNorm: NumPy, on the CPU.
        E = H but in ALBERT, whose matrix from E to H comes after.

    Raises:
        ValueError: the text is longer than the model's positions.
        TypeError: ``text`` or ``pair`` is no string; ``model`` holds no ``Bert``.
    """
    encoder = encoder_of(model)
    tables, norm = encoder.embeddings, encoder.embeddings.norm
    batch = tokenizer([text if pair is None else (text, pair)]).to(next(encoder.parameters()).device)
    ids = batch["input_ids"]
    check_inputs(encoder.config, ids, batch["token_type_ids"], batch["attention_mask"])
    count = max(ids.shape[1], positions)
    if encoder.config.max_length is not None:
        count = min(count, encoder.config.max_length)
    with torch.inference_mode():
        rows = tables.position(torch.arange(count, device=ids.device) + tables.offset)  # (P, E)
        tensors = {
            "token": tables.token(ids[0]),
            "segment": tables.segment.weight,
            "position": rows,
            "weight": norm.weight,
            "bias": norm.bias,
        }
        arrays = {name: tensor.detach().float().cpu().numpy().copy() for name, tensor in tensors.items()}
    return EmbeddingRecord(
        tokens=tuple(tokenizer.ids_to_tokens(ids[0].tolist())),
        segments=batch["token_type_ids"][0].cpu().numpy(),
        eps=norm.eps,
        model=str(getattr(model, "name", "")),
        **arrays,
    )
