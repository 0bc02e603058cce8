"""Bad input, refused in words before a lookup fails on the device with an assert that names nothing."""

import torch
from torch import Tensor

from bertbook.config import BertConfig


def check_inputs(
    config: BertConfig, input_ids: Tensor, token_type_ids: Tensor | None, attention_mask: Tensor | None
) -> None:
    """Raise one ValueError that says what was given, what is allowed and what to do."""
    if input_ids.ndim != 2:
        raise ValueError(
            f"input_ids of shape {tuple(input_ids.shape)}: expected (B, S), a batch of sequences"
            + ("; for one sequence pass input_ids[None]" if input_ids.ndim == 1 else "")
        )
    batch, length = input_ids.shape
    if batch == 0 or length == 0:
        raise ValueError(f"input_ids of shape {(batch, length)}: the batch is empty; there is nothing to run")
    if length > config.max_position_embeddings:
        raise ValueError(
            f"sequence of {length} tokens; this model has {config.max_position_embeddings} positions; "
            f"pass max_length={config.max_position_embeddings} to the tokenizer, or split the text"
        )
    _check_integers("input_ids", input_ids, config.vocab_size, "a row of the token table (vocab_size)")
    if token_type_ids is not None:
        _check_shape("token_type_ids", token_type_ids, input_ids)
        _check_integers(
            "token_type_ids",
            token_type_ids,
            config.type_vocab_size,
            "a row of the segment table (type_vocab_size)",
        )
    if attention_mask is not None:
        _check_shape("attention_mask", attention_mask, input_ids)
        _check_integers("attention_mask", attention_mask, 2, "1 for a token, 0 for padding")


def _check_shape(name: str, given: Tensor, input_ids: Tensor) -> None:
    if given.shape != input_ids.shape:
        raise ValueError(
            f"{name} of shape {tuple(given.shape)} does not fit input_ids of shape {tuple(input_ids.shape)}: "
            "the two must be equal"
        )


def _check_integers(name: str, given: Tensor, limit: int, meaning: str) -> None:
    if given.is_floating_point() or given.is_complex():
        raise ValueError(f"{name} of type {given.dtype}: expected whole numbers; pass {name}.long()")
    low, high = (int(x) for x in torch.stack(given.aminmax()))  # one wait for the device, not two
    if low < 0 or high >= limit:
        raise ValueError(f"{name} from {low} to {high}: each must be from 0 to {limit - 1}, {meaning}")
