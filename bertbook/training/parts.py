"""A batch in parts."""

from collections.abc import Mapping

from torch import Tensor


def split_rows(batch: Mapping[str, Tensor], parts: int) -> list[dict[str, Tensor]]:
    """The rows of a batch in so many parts, one after the other; fewer where there are not so many rows."""
    rows = len(next(iter(batch.values())))
    pieces = {name: tensor.tensor_split(min(parts, rows)) for name, tensor in batch.items()}
    return [dict(zip(pieces, part, strict=True)) for part in zip(*pieces.values(), strict=True)]


def tokens_of(batch: Mapping[str, Tensor]) -> int:
    """Tokens without padding; of a batch that has no mask, all ids."""
    if "attention_mask" in batch:
        return int(batch["attention_mask"].sum())
    return batch["input_ids"].numel() if "input_ids" in batch else 0
