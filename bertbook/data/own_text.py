"""The reader's own files, line by line: what is no text is refused, with its file, its line and its byte."""

import codecs
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ZERO_WIDTH = "\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"  # nothing to be seen, and no blanks to Python either
_BOMS = {  # UTF-32 before UTF-16, whose mark it begins with
    codecs.BOM_UTF32_LE: "UTF-32 (little-endian)",
    codecs.BOM_UTF32_BE: "UTF-32 (big-endian)",
    codecs.BOM_UTF16_LE: "UTF-16 (little-endian)",
    codecs.BOM_UTF16_BE: "UTF-16 (big-endian)",
}
_BINARY = {
    b"PK\x03\x04": "a zip archive (as .docx, .xlsx and .epub are)",
    b"%PDF": "a PDF",
    b"\x1f\x8b": "a gzip archive",
    b"BZh": "a bzip2 archive",
    b"\x89PNG": "a PNG picture",
    b"\xff\xd8\xff": "a JPEG picture",
    b"\xd0\xcf\x11\xe0": "an old Office file",
}
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_HAN = re.compile(r"[\u4e00-\u9fff]")


class DataError(ValueError):
    """A file that cannot be used as it is. The message names the file, the line and what to do."""


class Line(NamedTuple):
    """One line without its end: its number from 1, where it begins and where the next begins, in bytes."""

    number: int
    start: int
    end: int
    text: str


def read_lines(path: Path) -> Iterator[Line]:
    """The lines of a UTF-8 file, one in memory at a time.

    Lines end at "\\n" or "\\r\\n" and nowhere else: U+2028, a form feed, a lone "\\r" are characters of the line.
    A byte-order mark at the beginning is left out.

    Raises:
        DataError: another encoding, or no text at all.
    """
    position = 0
    with path.open("rb") as file:
        _check_beginning(path, file.read(4096))
        file.seek(0)
        for number, raw in enumerate(file, 1):
            start, position = position, position + len(raw)
            if number == 1 and raw.startswith(codecs.BOM_UTF8):
                raw = raw[len(codecs.BOM_UTF8) :]
                start = len(codecs.BOM_UTF8)
            raw = raw.removesuffix(b"\n").removesuffix(b"\r")
            if b"\0" in raw:
                offset = start + raw.index(b"\0")
                raise DataError(f"{path}, line {number}: byte 0x00 at offset {offset}: this is binary data, no text")
            try:
                yield Line(number, start, position, raw.decode("utf-8"))
            except UnicodeDecodeError as error:
                raise DataError(_wrong_encoding(path, number, start, raw, error)) from None


def is_blank(text: str) -> bool:
    """Whether there is nothing to be seen: white space and characters of no width."""
    return not text.strip().strip(ZERO_WIDTH).strip()


def check_surrogates(text: str, where: str) -> str:
    """The text; an error if it holds half of a pair of surrogates, which JSON can write and UTF-8 cannot."""
    if match := _SURROGATE.search(text):
        raise DataError(
            f"{where}: character {match.start()} is \\u{ord(match[0]):04x}, half of a pair of surrogates, which is no "
            "character. Whoever wrote the file cut an emoji in two: remove it"
        )
    return text


def _check_beginning(path: Path, beginning: bytes) -> None:
    for mark, encoding in _BOMS.items():
        if beginning.startswith(mark):
            raise DataError(f"{path} is {encoding}, as its byte-order mark at offset 0 says. {_save_as_utf8(encoding)}")
    for magic, kind in _BINARY.items():
        if beginning.startswith(magic):
            raise DataError(f"{path} is {kind}, as its first bytes say, and no text. Save the text in it as UTF-8")
    # Text in Latin letters in UTF-16 has a zero in every other byte.
    for first, encoding in ((1, "UTF-16 (little-endian)"), (0, "UTF-16 (big-endian)")):
        zeros, others = beginning[first::2], beginning[1 - first :: 2]
        if len(beginning) > 7 and zeros.count(0) > 0.8 * len(zeros) and others.count(0) < 0.1 * len(others):
            raise DataError(
                f"{path} seems to be {encoding} without a byte-order mark: byte 0x00 at offset {first}. "
                f"{_save_as_utf8(encoding)}"
            )


def _wrong_encoding(path: Path, number: int, start: int, raw: bytes, error: UnicodeDecodeError) -> str:
    """What the line reads as in the encodings that one meets: the Chinese one if that makes Chinese of it."""
    encoding, reads = "Windows-1252", raw.decode("cp1252", errors="replace")
    try:
        chinese = raw.decode("gb18030")
        foreign = [character for character in chinese if ord(character) > 127]
        if len(_HAN.findall(chinese)) > 0.7 * len(foreign) and len(foreign) > 1:
            encoding, reads = "GB18030", chinese
    except UnicodeDecodeError:
        pass
    before = len(raw[: error.start].decode("utf-8", errors="replace"))
    return (
        f"{path}, line {number}: byte 0x{raw[error.start]:02x} at offset {start + error.start} is not UTF-8. As "
        f"{encoding} the place reads {reads[max(0, before - 10) : before + 10]!r}. {_save_as_utf8(encoding)}"
    )


def _save_as_utf8(encoding: str) -> str:
    return f"Save it as UTF-8 (`iconv -f {encoding.split()[0].upper()} -t UTF-8`, or an editor) and load that"
