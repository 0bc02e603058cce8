"""Words for whole-word masking where pieces do not show them: Chinese is split into characters, and has no spaces."""

import logging
import warnings
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate

import torch
from torch import Tensor

Words = Sequence[str]


def segment_chinese(text: str) -> list[str]:
    """The words of a text, as `jieba` finds them. Joined, they are the text: spaces count as words of their own.

    Raises:
        ImportError: jieba is not installed.
    """
    if not isinstance(text, str):
        raise TypeError(f"text is {type(text).__name__}: expected str")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an old package: newer Pythons complain of its escapes
            import jieba
    except ImportError as error:
        raise ImportError(
            "segmenting Chinese needs jieba, which is not installed: pip install jieba; or pass words of your own "
            "to words_from_segmentation"
        ) from error
    jieba.setLogLevel(logging.WARNING)  # it reports on standard error that it has loaded its dictionary
    return list(jieba.cut(text))


def words_from_segmentation(batch: Mapping[str, Tensor], words: Sequence[Words | tuple[Words, Words]]) -> Tensor:
    """``word_ids`` for a batch whose texts come cut into words: by hand, from a corpus, or by :func:`segment_chinese`.

    ::

        words = [["今天", "天气", "很", "好"]]
        batch = tokenizer(["".join(row) for row in words], return_offsets=True)
        word_ids = words_from_segmentation(batch, words)

    Args:
        batch: from a :class:`~bertbook.text.tokenizer.Tokenizer`, with ``offset_mapping``.
        words: a list of words for each row, which joined must be the row's text, with its spaces; for a pair a tuple
            of two such lists.

    Returns:
        (B, S): the number of each token's word, from 0 and through both texts of a pair; −1 for special tokens and
        padding. A token that reaches over the end of a word belongs to the word it begins in.

    Raises:
        TypeError: a row that is no list of words.
        ValueError: no offsets in the batch, another number of rows, or words that end before the tokens do.
    """
    if "offset_mapping" not in batch:
        raise ValueError("the batch has no offset_mapping: make it with tokenizer(texts, return_offsets=True)")
    offsets, second = batch["offset_mapping"].tolist(), batch["token_type_ids"].tolist()
    if isinstance(words, str) or len(words) != len(offsets):
        raise ValueError(f"words for {len(words)} rows and a batch of {len(offsets)}: one list of words for each row")
    rows = [_word_ids(row, *of_row) for row, of_row in enumerate(zip(words, offsets, second, strict=True))]
    return torch.tensor(rows, device=batch["offset_mapping"].device)


def _word_ids(
    row: int, words: Words | tuple[Words, Words], offsets: list[tuple[int, int]], segments: list[int]
) -> list[int]:
    texts = words if isinstance(words, tuple) else (words,)
    if len(texts) > 2 or not all(isinstance(text, Sequence) and not isinstance(text, str) for text in texts):
        raise TypeError(f"words[{row}] is {words!r:.80}: expected a list of words, or for a pair a tuple of two lists")
    if len(texts) == 2 and not any(segments):
        raise ValueError(
            f"words[{row}] is a pair, and its token_type_ids are all 0: a tokenizer like RoBERTa's does not "
            "tell the two texts apart there, so words of pairs cannot be found"
        )
    ends = [list(accumulate(map(len, text))) for text in texts]  # of each word, in characters
    found = []
    for (start, end), segment in zip(offsets, segments, strict=True):
        if start == end:  # a special token, or padding
            found.append(-1)
        elif segment >= len(ends) or not ends[segment] or end > ends[segment][-1]:
            length = ends[segment][-1] if segment < len(ends) and ends[segment] else 0
            raise ValueError(
                f"words[{row}] joined have {length} characters{' in the second text' if segment else ''}, and there is "
                f"a token from {start} to {end}: they must be the whole text that was tokenized, with its spaces"
            )
        else:
            found.append(bisect_right(ends[segment], start) + (len(ends[0]) if segment else 0))
    return found
