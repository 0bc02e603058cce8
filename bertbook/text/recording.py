"""A text as a record that a picture of the masking is drawn from."""

import torch

from bertbook.records import TokenRecord
from bertbook.text.draws import BITS, draws, key_of
from bertbook.text.masking import drawable_ids, special_ids
from bertbook.text.tokenizer import Text, Tokenizer
from bertbook.text.words import Words, words_from_segmentation


def record_tokens(
    tokenizer: Tokenizer, text: Text, words: Words | tuple[Words, Words] | None = None, *, sample: int = 200
) -> TokenRecord:
    """One text, or one pair, as :class:`~bertbook.viz.MaskingLab` shows it.

    Args:
        words: the text cut into words, as :func:`~bertbook.text.words_from_segmentation` takes it. Without it words
            are those of the tokenizer: in Chinese, single characters.
        sample: how many tokens of the vocabulary the record brings along to draw from. The same ones each time.

    Raises:
        TypeError, ValueError: a text that cannot be tokenized, words that are not the text's.
    """
    if not isinstance(sample, int) or sample < 1:
        raise ValueError(f"sample={sample!r}: expected a whole number of at least 1")
    batch = tokenizer([text], return_offsets=True, return_word_ids=True)
    word_ids = batch["word_ids"] if words is None else words_from_segmentation(batch, [words])
    ids = batch["input_ids"][0].tolist()
    special, drawable = special_ids(tokenizer), drawable_ids(tokenizer)
    picked = draws(key_of(2), torch.arange(sample))[0] * len(drawable) >> BITS
    return TokenRecord(
        tokens=tuple(tokenizer.ids_to_tokens(ids)),
        special=tuple(number in special for number in ids),
        word_ids=tuple(word_ids[0].tolist()),
        drawable=tuple(tokenizer.ids_to_tokens([drawable[place] for place in sorted(set(picked.tolist()))])),
    )
