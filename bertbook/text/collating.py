"""What makes a batch of examples, wherever it runs: padding, and masking on top."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bertbook.text.batches import pad_batch, pad_column
from bertbook.text.masking import MaskingPolicy
from bertbook.text.tokenizer import Batch

#: Makes a batch of examples. It is told the epoch and each example's index, and must depend on nothing else, so that
#: it does not matter which worker runs it, or when. With workers that are spawned it must be picklable.
Collate = Callable[[Sequence[Any], int, Sequence[int]], Any]


@dataclass(frozen=True)
class Padded:
    """Collate with :func:`~bertbook.text.batches.pad_batch`, whose arguments these are."""

    pad_id: int = 0
    multiple_of: int | None = None
    max_length: int | None = None

    def __call__(self, examples: Sequence[Any], epoch: int, indices: Sequence[int]) -> Batch:
        """Make the batch."""
        return pad_batch(examples, self.pad_id, multiple_of=self.multiple_of, max_length=self.max_length)


@dataclass(frozen=True)
class Masked:
    """Collate for guessing masked words: pad, then mask each example as its index and the epoch say.

    Examples may have ``word_ids``, the number of each token's word, for a policy of whole words.

    Args:
        policy: what to mask.
        pad_id, multiple_of, max_length: as in :func:`~bertbook.text.batches.pad_batch`.

    Raises:
        ValueError: when called, besides what padding refuses: the examples have labels of their own.
    """

    policy: MaskingPolicy
    pad_id: int = 0
    multiple_of: int | None = None
    max_length: int | None = None

    def __call__(self, examples: Sequence[Any], epoch: int, indices: Sequence[int]) -> Batch:
        """Make the batch: ``input_ids`` with tokens hidden, ``labels`` with what they were, −100 elsewhere."""
        batch = pad_batch(examples, self.pad_id, multiple_of=self.multiple_of, max_length=self.max_length)
        if "labels" in batch:
            raise ValueError("the examples have labels of their own: Masked makes labels; use Padded")
        words = pad_column(examples, "word_ids", batch["input_ids"].shape[1], padding=-1)
        batch["input_ids"], batch["labels"] = self.policy.at(epoch, indices)(batch["input_ids"], words)
        return batch
