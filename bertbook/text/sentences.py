"""A text to its sentences."""

import re
from collections.abc import Iterator

import sentencex

from bertbook.text.checks import check_text

# Chinese characters, kana, and the full-width signs that go with them.
_CHINESE = re.compile(r"[\u3001-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff01-\uffee\U00020000-\U0003ffff]")
_LATIN = re.compile(r"[A-Za-z]")
# The end of a Chinese sentence: its marks, the quotes and brackets that they close, and the comma, if one follows.
_END = re.compile(r"(?:[。！？…]|[!?](?![A-Za-z0-9]))++[”’」』》〉）)】\]]*+([，、；：,;:]?)")
_WINDOW = 10_000  # characters


def split_sentences(text: str, language: str | None = None) -> list[str]:
    """The sentences of a text in their order, without the blanks around them. The end of a line ends a sentence.

    English is left to the `sentencex` library, which knows abbreviations ("Dr. Smith"), initials, decimals, and
    quotes and brackets after the full stop. Its Chinese rules take the full-width point of ２８．３％ for a full
    stop, so Chinese is cut here: after 。！？…, with the quotes and brackets that close behind them, unless a
    comma follows. English that goes on for 10,000 characters without an end is cut at a blank. No character but
    white space is lost: the pieces joined are the text without its blanks.

    Args:
        language: "en", "zh", or ``None``: each line by itself, Chinese where it has more Chinese characters and
            signs than Latin letters.

    Raises:
        TypeError: a text that is no string.
        ValueError: another language, or a text that is not valid Unicode.
    """
    check_text(text, "text")
    if language not in (None, "en", "zh"):
        raise ValueError(f'language={language!r}: expected "en", "zh", or None to see from each line')
    pieces: list[str] = []
    for line in text.splitlines():
        chinese = language == "zh" or (language is None and len(_CHINESE.findall(line)) > len(_LATIN.findall(line)))
        pieces += _chinese(line) if chinese else _english(line)
    return [stripped for piece in pieces if (stripped := piece.strip())]


def _english(line: str) -> Iterator[str]:
    """In windows: the library's time grows with the square of a line's quotes that open and never close."""
    while len(line) > _WINDOW:
        whole = sentencex.segment("en", line[:_WINDOW])
        end = sum(map(len, whole[:-1]))  # the last piece may go on beyond the window
        end = end or line.rfind(" ", 0, _WINDOW) + 1 or _WINDOW
        yield from whole[:-1] or [line[:end]]
        line = line[end:]
    yield from sentencex.segment("en", line)


def _chinese(line: str) -> Iterator[str]:
    start = quotes = 0
    for match in _END.finditer(line):
        if match[1]:
            continue
        end = match.end()
        # A straight quote closes if an odd number stand before it.
        quotes += line.count('"', start, end)
        if quotes % 2 and line.startswith('"', end):
            end += 1
            quotes += 1
        yield line[start:end]
        start = end
    yield line[start:]
