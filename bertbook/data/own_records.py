"""Records in the reader's own files: the objects of a .jsonl, the rows of a .csv or .tsv."""

import csv
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from bertbook.data.own_text import DataError, Line, check_surrogates, is_blank, read_lines

RECORDS = (".jsonl", ".csv", ".tsv")
_DIALECTS: dict[str, Any] = {
    ".csv": {"strict": True},
    ".tsv": {"strict": True, "delimiter": "\t", "quoting": csv.QUOTE_NONE},
}


class Record(NamedTuple):
    """The fields of one record, the line it begins at, and where it lies in the file, in bytes."""

    fields: dict[str, Any]
    line: int
    start: int
    end: int


def read_records(path: Path) -> Iterator[Record]:
    """The records of a file, one in memory at a time. Blank lines are skipped.

    A .jsonl has one JSON object a line, or one string, which counts as its "text". A .csv has a first row with the
    names of its columns; a field may be quoted with ", and then hold commas and line ends. A .tsv is the same with
    tabs, and a quote in it is a character like any other.

    Raises:
        DataError: no UTF-8, no JSON, half a pair of surrogates, a quote that is never closed, a row with too few
            or too many fields.
    """
    return _objects(path) if path.suffix.lower() == ".jsonl" else _rows(path)


def parse_object(text: str, where: str) -> dict[str, Any]:
    """One line of a .jsonl."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise DataError(f"{where}: no JSON: {error.msg} at character {error.pos} of the line") from None
    except RecursionError:
        raise DataError(f"{where}: brackets within brackets, too many of them") from None
    if isinstance(value, str):
        value = {"text": value}
    if not isinstance(value, dict):
        raise DataError(f'{where}: a JSON {type(value).__name__}; expected an object like {{"text": "..."}}')
    _check_strings(value, where)
    return value


def parse_row(text: str, columns: tuple[str, ...], suffix: str) -> dict[str, Any]:
    """One row of a .csv or .tsv that :func:`read_records` has found."""
    lines = io.StringIO(text.replace("\r\n", "\n"), newline="\n")  # splitlines() would cut at U+2028 too
    rows = csv.reader(lines, **_DIALECTS[suffix])
    return dict(zip(columns, next(rows), strict=True))


def _check_strings(value: Any, where: str) -> None:
    if isinstance(value, str):
        check_surrogates(value, where)
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            _check_strings(item, where)


def _objects(path: Path) -> Iterator[Record]:
    for line in read_lines(path):
        if not is_blank(line.text):
            yield Record(parse_object(line.text, f"{path}, line {line.number}"), line.number, line.start, line.end)


class _Feed:
    """Lines for csv.reader, which asks for as many as a row needs. Remembers where the row lies."""

    def __init__(self, path: Path) -> None:
        self._lines = read_lines(path)
        self.first: Line | None = None
        self.last: Line | None = None

    def __iter__(self) -> Iterator[str]:
        for line in self._lines:
            self.first = self.first or line
            self.last = line
            yield f"{line.text}\n"


def _rows(path: Path) -> Iterator[Record]:
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))  # a long text is no mistake; the default is 131,072
    feed = _Feed(path)
    reader = csv.reader(feed, **_DIALECTS[path.suffix.lower()])
    names: list[str] | None = None
    while True:
        feed.first = None
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise _csv_error(path, feed, error) from None
        if row is None:
            return
        assert feed.first is not None
        assert feed.last is not None
        if not row or (len(row) == 1 and is_blank(row[0])):
            continue
        if names is None:
            names = [name.strip() for name in row]
            if len(set(names)) < len(names) or not all(names):
                raise DataError(
                    f"{path}, line {feed.first.number}: the names of the columns are {names}: "
                    "each needs a name of its own"
                )
        elif len(row) != len(names):
            raise DataError(
                f"{path}, line {feed.first.number}: {len(row)} fields, where the first line names {len(names)} "
                f"({', '.join(names)})"
            )
        else:
            yield Record(dict(zip(names, row, strict=True)), feed.first.number, feed.first.start, feed.last.end)


def _csv_error(path: Path, feed: _Feed, error: csv.Error) -> DataError:
    assert feed.first is not None
    number = feed.first.number
    if "unexpected end of data" in str(error) or "expected after" in str(error):
        return DataError(
            f'{path}, line {number}: a quote (") is opened here and not closed where the field ends. Close it; a quote '
            'that belongs to the text is written twice ("")'
        )
    if "new-line character" in str(error):
        return DataError(f"{path}, line {number}: a carriage return stands in the middle of the line: remove it")
    return DataError(f"{path}, line {number}: {error}")
