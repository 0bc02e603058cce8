"""The files that hold a tokenizer, read with care."""

import json
from pathlib import Path
from typing import Any

import tokenizers


def parse_tokenizer(content: str) -> tokenizers.Tokenizer:
    """The tokenizer in the text of a ``tokenizer.json``. Raises ValueError for anything else."""
    try:
        return tokenizers.Tokenizer.from_str(content)
    except Exception as error:  # the library raises bare Exception
        raise ValueError(f"not a tokenizer.json: {error}") from error


def read_vocab(path: Path) -> list[str]:
    """The entries of a ``vocab.txt``, one a line. Raises ValueError for a file that is not UTF-8."""
    content = path.read_bytes()
    try:
        # Split on \n alone: the Chinese vocabulary has the line separator U+2028 as a token.
        lines = content.decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8: byte {error.start} is 0x{content[error.start]:02x}") from error
    if lines[-1] == "":
        lines.pop()  # the file ends with a line's end
    return [line.removesuffix("\r") for line in lines]


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file; an empty one if there is no such file."""
    if not path.is_file():
        return {}
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is not JSON: {error}") from error
    if not isinstance(values, dict):
        raise ValueError(f"{path}: expected a JSON object, found {type(values).__name__}")  # noqa: TRY004
    return values
