"""Characters to ids, and documents to examples. The names below load on first use."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bertbook.text.batches import pad_batch as pad_batch
    from bertbook.text.collating import Masked as Masked
    from bertbook.text.collating import Padded as Padded
    from bertbook.text.documents import Document as Document
    from bertbook.text.epochs import plan_epoch as plan_epoch
    from bertbook.text.loader import BatchLoader as BatchLoader
    from bertbook.text.loader import ExampleError as ExampleError
    from bertbook.text.masking import MaskingPolicy as MaskingPolicy
    from bertbook.text.masking import geometric as geometric
    from bertbook.text.pair_baselines import length_baseline as length_baseline
    from bertbook.text.pair_baselines import overlap_baseline as overlap_baseline
    from bertbook.text.pair_examples import PairExample as PairExample
    from bertbook.text.pair_examples import truncate_seq_pair as truncate_seq_pair
    from bertbook.text.pairs import sentence_pairs as sentence_pairs
    from bertbook.text.recording import record_tokens as record_tokens
    from bertbook.text.sentences import split_sentences as split_sentences
    from bertbook.text.tokenizer import Batch as Batch
    from bertbook.text.tokenizer import Tokenizer as Tokenizer
    from bertbook.text.training import train_wordpiece as train_wordpiece
    from bertbook.text.words import segment_chinese as segment_chinese
    from bertbook.text.words import words_from_segmentation as words_from_segmentation

# public name -> the module it lives in
_PUBLIC = {
    "Batch": "bertbook.text.tokenizer",
    "BatchLoader": "bertbook.text.loader",
    "Document": "bertbook.text.documents",
    "ExampleError": "bertbook.text.loader",
    "Masked": "bertbook.text.collating",
    "MaskingPolicy": "bertbook.text.masking",
    "Padded": "bertbook.text.collating",
    "PairExample": "bertbook.text.pair_examples",
    "Tokenizer": "bertbook.text.tokenizer",
    "geometric": "bertbook.text.masking",
    "length_baseline": "bertbook.text.pair_baselines",
    "overlap_baseline": "bertbook.text.pair_baselines",
    "pad_batch": "bertbook.text.batches",
    "plan_epoch": "bertbook.text.epochs",
    "record_tokens": "bertbook.text.recording",
    "segment_chinese": "bertbook.text.words",
    "sentence_pairs": "bertbook.text.pairs",
    "split_sentences": "bertbook.text.sentences",
    "train_wordpiece": "bertbook.text.training",
    "truncate_seq_pair": "bertbook.text.pair_examples",
    "words_from_segmentation": "bertbook.text.words",
}

__all__ = [*_PUBLIC]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'bertbook.text' has no attribute {name!r}; it has {', '.join(__all__)}")
    value = getattr(import_module(_PUBLIC[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
