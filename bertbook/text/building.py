"""BERT's tokenizer put together from its vocabulary."""

from collections.abc import Sequence

import tokenizers
from tokenizers import decoders, models, pre_tokenizers, processors
from tokenizers.normalizers import Normalizer

from bertbook.text.checks import require_special_tokens

LONGEST_WORD = 100  # characters; a longer word is [UNK]


def wordpiece(ids: dict[str, int], normalizer: Normalizer) -> tokenizers.Tokenizer:
    """A tokenizer of the `tokenizers` library, as BERT's was published, from its entries and their ids."""
    backend = tokenizers.Tokenizer(
        models.WordPiece(
            ids,
            unk_token="[UNK]",
            max_input_chars_per_word=LONGEST_WORD,
        )
    )
    backend.normalizer = normalizer
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[(token, ids[token]) for token in ("[CLS]", "[SEP]")],
    )
    backend.decoder = decoders.WordPiece(prefix="##")
    return backend


def numbered(vocab: Sequence[str], source: str) -> dict[str, int]:
    """The ids of the entries, by their order.

    Raises:
        ValueError: no entry at all, one twice, a special token missing. ``source`` is what to call the vocabulary.
    """
    if not vocab:
        raise ValueError(f"{source} is empty: expected one token a line, [PAD], [UNK], [CLS], [SEP], [MASK] included")
    ids: dict[str, int] = {}
    for number, token in enumerate(vocab):
        if token in ids:
            raise ValueError(f"{source} has {token!r} twice, in lines {ids[token] + 1} and {number + 1}")
        ids[token] = number
    require_special_tokens(ids, source)
    return ids
