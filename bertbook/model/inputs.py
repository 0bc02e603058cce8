"""Bad input, refused in words before a lookup fails on the device with an assert that names nothing."""

import warnings
from functools import cache

import torch
from torch import Tensor

from bertbook.config import BertConfig

IGNORED = -100  # the label that says "no label here", as in PyTorch's cross-entropy


def check_inputs(
    config: BertConfig, input_ids: object, token_type_ids: object, attention_mask: object, name: str = "input_ids"
) -> None:
    """Raise one error that says what was given, what is allowed and what to do.

    ``name`` is what the caller called ``input_ids``.

    Raises:
        TypeError: something that is no tensor, a text for instance.
        ValueError: a shape, a type of number, an id, a segment or a mask value with no place in the model.
    """
    input_ids = _tensor(name, input_ids)
    if input_ids.ndim != 2:
        raise ValueError(
            f"{name} of shape {tuple(input_ids.shape)}: expected (B, S), a batch of sequences"
            + (f"; for one sequence pass {name}[None]" if input_ids.ndim == 1 else "")
        )
    batch, length = input_ids.shape
    if batch == 0 or length == 0:
        raise ValueError(f"{name} of shape {(batch, length)}: the batch is empty; there is nothing to run")
    if config.max_length is not None and length > config.max_length:
        raise ValueError(
            f"sequence of {length} tokens; this model has {config.max_length} positions; "
            f"pass max_length={config.max_length} to the tokenizer, or split the text"
        )
    _check_range(name, input_ids, config.vocab_size, "a row of the token table (vocab_size)")
    if token_type_ids is not None:
        segments = _tensor("token_type_ids", token_type_ids)
        _check_shape("token_type_ids", segments, input_ids)
        _check_range("token_type_ids", segments, config.type_vocab_size, "a row of the segment table (type_vocab_size)")
    if attention_mask is not None:
        mask = _tensor("attention_mask", attention_mask)
        _check_shape("attention_mask", mask, input_ids)
        _check_range("attention_mask", mask, 2, "1 for a token, 0 for padding")
        if bool(((mask[:, 0] == 0) & (mask == 1).any(dim=1)).any()):
            _warn_of_hidden_cls()


@cache  # once, however many batches are like this
def _warn_of_hidden_cls() -> None:
    warnings.warn(
        "attention_mask hides position 0 of a text that has tokens elsewhere. The pooler reads that position, "
        "[CLS], which no token can then look at. Is the padding on the left? It belongs on the right",
        stacklevel=2,
    )


def check_target(config: BertConfig, ids: object, sources: int, known: int) -> None:
    """A decoder's ids must fit as ``input_ids`` must, one row a source, and go on after the ``known`` positions.

    Raises:
        TypeError, ValueError: what was given, what is allowed.
    """
    check_inputs(config, ids, None, None, name="decoder_input_ids")
    shape = tuple(_tensor("decoder_input_ids", ids).shape)
    if shape[0] != sources:
        raise ValueError(f"decoder_input_ids of shape {shape} for {sources} sources: expected one row a source")
    if shape[1] <= known:
        raise ValueError(
            f"decoder_input_ids of shape {shape}; the caches hold {known} positions: pass the whole target so far, "
            "which must be longer, or fresh caches"
        )


def _tensor(name: str, given: object) -> Tensor:
    if not isinstance(given, Tensor):
        raise TypeError(f"{name} is {type(given).__name__}: expected a tensor of ids; a Tokenizer makes one from text")
    return given


def _check_shape(name: str, given: Tensor, input_ids: Tensor) -> None:
    if given.shape != input_ids.shape:
        raise ValueError(
            f"{name} of shape {tuple(given.shape)} does not fit input_ids of shape {tuple(input_ids.shape)}: "
            "the two must be equal"
        )


def _check_range(name: str, given: Tensor, limit: int, meaning: str) -> None:
    if given.dtype not in (torch.int64, torch.int32):  # what an embedding looks up
        raise ValueError(f"{name} of type {given.dtype}: expected torch.int64; pass {name}.long()")
    low, high = (int(x) for x in torch.stack(given.aminmax()))  # one wait for the device, not two
    if low < 0 or high >= limit:
        raise ValueError(f"{name} from {low} to {high}: each must be from 0 to {limit - 1}, {meaning}")


def check_labels(
    name: str, labels: object, shape: tuple[int, ...], count: int, attention_mask: Tensor | None = None
) -> None:
    """Labels must be whole numbers from 0 to ``count`` − 1, or −100 for "no label here"; of this shape.

    With ``attention_mask``, for labels of tokens, padding must have none: a loss over padding is a mistake that
    passes in silence elsewhere. Compiled code, which cannot stop to look, passes unchecked.

    Raises:
        TypeError, ValueError: what was given, what is allowed.
    """
    if torch.compiler.is_compiling():
        return
    given = _tensor(name, labels)
    if tuple(given.shape) != shape:
        raise ValueError(f"{name} of shape {tuple(given.shape)}: expected {shape}")
    if given.dtype not in (torch.int64, torch.int32):
        raise ValueError(f"{name} of type {given.dtype}: expected torch.int64; pass {name}.long()")
    wrong = given[(given != IGNORED) & ((given < 0) | (given >= count))]
    if wrong.numel():
        raise ValueError(
            f"{name} holds {int(wrong[0])}: each must be from 0 to {count - 1}, or {IGNORED} where there is no label"
        )
    if attention_mask is not None:
        padding = ((given != IGNORED) & (attention_mask == 0)).nonzero()
        if len(padding):
            row, column = padding[0].tolist()
            raise ValueError(
                f"{name} holds {int(given[row, column])} at token {column} of row {row}, which is padding "
                f"(attention_mask 0), and {len(padding)} such labels in all: padding needs {IGNORED}"
            )


def check_positions(name: str, positions: object, input_ids: Tensor, attention_mask: Tensor | None) -> None:
    """Where an answer starts or ends: one token of each row, or −100 for "no label here". Compiled code is not checked.

    Raises:
        TypeError, ValueError: what was given, what is allowed; padding is not.
    """
    check_labels(name, positions, (len(input_ids),), input_ids.shape[1])
    if attention_mask is None or torch.compiler.is_compiling():
        return
    given = _tensor(name, positions)
    real = attention_mask.gather(1, given.clamp(min=0).long()[:, None])[:, 0] == 1  # (B,)
    wrong = (~real & (given != IGNORED)).nonzero()
    if len(wrong):
        row = int(wrong[0])
        raise ValueError(
            f"{name} names token {int(given[row])} of row {row}, which is padding (attention_mask 0): an answer lies "
            f"among the tokens of its text; {IGNORED} leaves the row out"
        )


def check_targets(labels: object, batch: int) -> None:
    """What a regression learns: one finite float for each of ``batch`` texts. Compiled code passes unchecked.

    Raises:
        TypeError, ValueError: what was given, what is allowed.
    """
    if torch.compiler.is_compiling():
        return
    given = _tensor("labels", labels)
    if given.shape != (batch,) or not given.is_floating_point():
        raise ValueError(
            f"labels of shape {tuple(given.shape)} and type {given.dtype}: this model has one label, so it learns "
            f"numbers; expected floats of shape ({batch},). For classes, name at least two in id2label"
        )
    if not bool(given.isfinite().all()):
        raise ValueError("labels hold a NaN or an infinity: a number to learn must be finite; leave such texts out")
