"""A small tokenizer whose every id says what kind of entry it is, and batches of its ids."""

import torch
from torch import Tensor

from bertbook.text.tokenizer import Tokenizer

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
UNUSED = [f"[unused{n}]" for n in range(3)]
WORDS = [f"w{n}" for n in range(20)]
PIECES = [f"##p{n}" for n in range(12)]
CHINESE = list("今天气很好我们去北京")
VOCAB = [*SPECIAL, *UNUSED, *WORDS, *PIECES, *CHINESE]
PAD, UNK, CLS, SEP, MASK = range(5)
FIRST = len(SPECIAL) + len(UNUSED)  # of the ids that may be drawn
DRAWABLE = range(FIRST, len(VOCAB))

TOKENIZER = Tokenizer.from_vocab(VOCAB)


def plain_batch(rows: int, length: int, seed: int = 0) -> Tensor:
    """(rows, length): [CLS], ids of words, pieces and characters, [SEP]."""
    ids = torch.randint(FIRST, len(VOCAB), (rows, length), generator=torch.Generator().manual_seed(seed))
    ids[:, 0], ids[:, -1] = CLS, SEP
    return ids
