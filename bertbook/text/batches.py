"""Examples of different lengths to one batch of tensors."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from bertbook.text.tokenizer import Batch

# In cross-entropy, "no label here".
IGNORED = -100


def pad_batch(
    examples: Sequence[Any], pad_id: int = 0, *, multiple_of: int | None = None, max_length: int | None = None
) -> Batch:
    """One batch, padded on the right: ``model(**pad_batch(examples))`` works.

    An example is a dict or an object with

    - ``input_ids``, its S ids, and ``token_type_ids``, its S segments (all 0 when not given);
    - optionally ``labels``: S numbers, one a token, or one number for the whole text;
    - optionally ``next_sentence_label``, or ``label`` as a sentence pair calls it: one whole number.

    Args:
        examples: B of them. All must have the same labels.
        pad_id: the id of [PAD], ``tokenizer.pad_token_id``.
        multiple_of: pad S up to the next multiple, as some hardware likes it.
        max_length: the positions of the model, ``config.max_length``; a longer example is refused.

    Returns:
        ``input_ids``, ``token_type_ids``, ``attention_mask`` (B, S), int64; and, where the examples have them,
        ``labels`` (B, S), −100 at the padding, or (B,); ``next_sentence_label`` (B,).

    Raises:
        ValueError: no examples, an empty or a too long one, fields that do not fit together; the message
            counts the examples of the batch from 0.
        TypeError: an example without ``input_ids``.
    """
    if len(examples) == 0:
        raise ValueError("the batch is empty: at least one example is needed")
    ids = [_ids(example, row) for row, example in enumerate(examples)]
    longest = max(map(len, ids))
    if max_length is not None and longest > max_length:
        row = next(row for row, given in enumerate(ids) if len(given) > max_length)
        raise ValueError(
            f"example {row} of the batch has {len(ids[row])} tokens; the model has {max_length} positions: "
            f"cut it (max_length={max_length} in the tokenizer), or split its text"
        )
    size = longest
    if multiple_of is not None:
        if type(multiple_of) is not int or multiple_of < 1:
            raise ValueError(f"multiple_of={multiple_of!r}: it must be a whole number of at least 1")
        size = -(-longest // multiple_of) * multiple_of
        if max_length is not None:
            size = min(size, max_length)

    lengths = np.array([len(row) for row in ids])
    batch = Batch(
        input_ids=_table(ids, size, pad_id),
        token_type_ids=torch.zeros(len(ids), size, dtype=torch.int64),
        attention_mask=torch.from_numpy((np.arange(size) < lengths[:, None]).astype(np.int64)),
    )
    segments = pad_column(examples, "token_type_ids", size, padding=0)
    if segments is not None:
        batch["token_type_ids"] = segments
    labels = _values(examples, "labels")
    if labels is not None and all(np.ndim(value) == 0 for value in labels):
        batch["labels"] = torch.tensor(labels)  # whole numbers or, for a regression, floats
    elif labels is not None:
        batch["labels"] = _table(_fitting(labels, ids, "labels"), size, IGNORED)
    pairs = _values(examples, "next_sentence_label", "label")
    if pairs is not None:
        batch["next_sentence_label"] = torch.tensor(pairs, dtype=torch.int64)
    return batch


def pad_column(examples: Sequence[Any], name: str, size: int, padding: int) -> torch.Tensor | None:
    """A field that has one whole number a token, as (B, ``size``); None where no example has it.

    Raises:
        ValueError: some examples have it and others not, or it is not as long as the ids.
    """
    values = _values(examples, name)
    if values is None:
        return None
    return _table(_fitting(values, [field(example, "input_ids") for example in examples], name), size, padding)


def field(example: Any, name: str) -> Any:
    """A field of a dict or an object; None where there is none."""
    return example.get(name) if isinstance(example, Mapping) else getattr(example, name, None)


def _ids(example: Any, row: int) -> Sequence[int]:
    ids = field(example, "input_ids")
    if ids is None:
        raise TypeError(
            f"example {row} of the batch, {type(example).__name__}, has no input_ids: pass dicts or objects that do"
        )
    if len(ids) == 0:
        raise ValueError(f"example {row} of the batch has no tokens: even an empty text has [CLS] and [SEP]")
    return ids


def _values(examples: Sequence[Any], *names: str) -> list[Any] | None:
    """Each example's field, by the first of the names it has; None where no example has it."""
    values = [next((v for name in names if (v := field(example, name)) is not None), None) for example in examples]
    missing = [row for row, value in enumerate(values) if value is None]
    if len(missing) == len(values):
        return None
    if missing:
        raise ValueError(
            f"example {missing[0]} of the batch has no {names[0]}, others have: all of a batch must be of one kind"
        )
    return values


def _fitting(values: list[Any], ids: list[Sequence[int]], name: str) -> list[Sequence[int]]:
    for row, (value, own) in enumerate(zip(values, ids, strict=True)):
        if np.ndim(value) != 1 or len(value) != len(own):
            raise ValueError(f"example {row} of the batch has {len(own)} tokens, and {name} do not: one each is needed")
    return values


def _table(rows: Sequence[Sequence[int]], size: int, padding: int) -> torch.Tensor:
    """(B, size), int64."""
    table: NDArray[np.int64] = np.full((len(rows), size), padding, np.int64)
    for line, row in zip(table, rows, strict=True):
        line[: len(row)] = row
    return torch.from_numpy(table)
