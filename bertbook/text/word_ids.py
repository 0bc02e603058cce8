"""Which tokens are pieces of the same word."""

import tokenizers


def running_word_ids(encoding: tokenizers.Encoding) -> list[int]:
    """The word of each token, counted from 0 through both texts of a pair; −1 for the tokens that frame them.

    The library counts from 0 again in the second text: taken as they are, the first words of the two would be one.
    """
    pieces = list(zip(encoding.word_ids, encoding.sequence_ids, strict=True))  # (None, None) for [CLS] and [SEP]
    in_first = max((word for word, text in pieces if word is not None and text == 0), default=-1) + 1
    return [-1 if word is None else word + in_first * (text == 1) for word, text in pieces]
