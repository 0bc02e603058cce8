"""From a running model to records that can be looked at."""

import torch

from bertbook.model.bert import Bert
from bertbook.records import AttentionRecord
from bertbook.text.tokenizer import Tokenizer


def record_attention(model: Bert, tokenizer: Tokenizer, text: str, pair: str | None = None) -> AttentionRecord:
    """Run one text, or one pair, and keep every attention weight.

    The model runs in evaluation mode (no dropout) and is left in the mode it was in.

    Returns:
        A record with .tokens (S), .segments (S,) and .weights (L, h, S, S), all NumPy, on the CPU.

    Raises:
        ValueError: the text is longer than the model's positions.
        TypeError: ``text`` or ``pair`` is no string.
    """
    batch = tokenizer([text if pair is None else (text, pair)]).to(next(model.parameters()).device)
    was_training = model.training
    model.eval()
    try:
        with torch.inference_mode():
            attentions = model(**batch, output_attentions=True).attentions
    finally:
        model.train(was_training)
    return AttentionRecord(
        tokens=tokenizer.ids_to_tokens(batch["input_ids"][0].tolist()),
        segments=batch["token_type_ids"][0].cpu().numpy(),
        weights=torch.cat(attentions).float().cpu().numpy(),  # (L, h, S, S): the batch of one is joined away
        model=model.name,
    )
