"""Which tokens stay when a sequence is cut to a length."""

from collections.abc import Sequence

import tokenizers


def kept_positions(encoding: tokenizers.Encoding, max_length: int | None) -> Sequence[int]:
    """The positions that fit: the special tokens, and the start of each text, the longer one cut first.

    The library can cut too, but of two long texts it keeps every pair of pieces that it cut off: gigabytes.
    """
    if max_length is None or len(encoding) <= max_length:
        return range(len(encoding))
    texts = encoding.sequence_ids  # 0, 1, or None for a special token
    room = max_length - texts.count(None)
    lengths = texts.count(0), texts.count(1)
    short = min(*lengths, room // 2)
    ends = (room - short, short) if lengths[0] > lengths[1] else (short, room - short)
    starts = [texts.index(number) if number in texts else 0 for number in (0, 1)]
    return [i for i, number in enumerate(texts) if number is None or i < starts[number] + ends[number]]
