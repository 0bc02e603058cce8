"""The reader's own files as a corpus: read through once, then each document when it is asked for.

In memory stay 20 bytes a document, so a corpus may be larger than memory.
"""

import hashlib
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray
from tqdm.auto import tqdm

from bertbook.data.own_files import find_files
from bertbook.data.own_records import RECORDS, parse_object, parse_row, read_records
from bertbook.data.own_text import DataError, is_blank, read_lines
from bertbook.data.splits import block_splits
from bertbook.text.documents import Document
from bertbook.text.sentences import split_sentences

_WORTH_A_BAR = 100_000_000  # bytes


class Span(NamedTuple):
    """Where a document lies: the number of its file, its first byte, and the byte behind its last."""

    file: int
    start: int
    end: int


class Spans(Sequence[Span]):
    """The spans of many documents, as arrays."""

    def __init__(self, files: NDArray[np.uint32], starts: NDArray[np.uint64], ends: NDArray[np.uint64]) -> None:
        self.files, self.starts, self.ends = files, starts, ends

    def __len__(self) -> int:
        return len(self.files)

    @overload
    def __getitem__(self, index: int) -> Span: ...
    @overload
    def __getitem__(self, index: slice) -> "Spans": ...
    def __getitem__(self, index: int | slice) -> "Span | Spans":
        if isinstance(index, slice):
            return Spans(self.files[index], self.starts[index], self.ends[index])
        return Span(int(self.files[index]), int(self.starts[index]), int(self.ends[index]))

    def take(self, chosen: NDArray[Any]) -> "Spans":
        """Those with the chosen numbers, or where ``chosen`` is True."""
        return Spans(self.files[chosen], self.starts[chosen], self.ends[chosen])


@dataclass(frozen=True)
class OwnFiles:
    """Files, and how a document is read from them.

    Attributes:
        root: the folder under which they lie.
        paths: the files, in the order of their names.
        whole: each .txt is one document, whatever blank lines it has.
        language: for the cut into sentences; None to see from each line.
        sizes: of the files, in bytes, when they were read through.
        columns: of a .csv or .tsv; of the others, none.
    """

    root: Path
    paths: tuple[Path, ...]
    whole: bool
    language: str | None
    sizes: tuple[int, ...] = ()
    columns: tuple[tuple[str, ...], ...] = ()

    def read(self, span: Span) -> Document:
        """One document.

        Raises:
            DataError: its file has changed since it was read through.
        """
        path = self.paths[span.file]
        inside = path.relative_to(self.root)
        where = f"{inside.as_posix()}, byte {span.start}"
        with path.open("rb") as file:
            if file.seek(0, 2) != self.sizes[span.file]:
                raise DataError(f"{path} has changed since the corpus was loaded: load it again")
            file.seek(span.start)
            text = file.read(span.end - span.start).decode("utf-8")
        if path.suffix.lower() in RECORDS:
            columns = self.columns[span.file]
            fields = parse_row(text, columns, path.suffix.lower()) if columns else parse_object(text, where)
            texts = record_texts(fields, where)
        else:
            texts = [text]
        sentences = [s for text in texts for s in split_sentences(text, self.language) if not is_blank(s)]
        return Document(tuple(sentences), (Path(self.root.name) / inside.parent).as_posix(), where)


def own_corpus(path: Path, split: str, language: str | None, whole: bool) -> tuple[Spans, OwnFiles]:
    """The documents of a file or folder that are in a split, and their reader. Every byte is read once, and checked.

    A document that stands earlier, word for word, is left out; held out are blocks of documents, as
    :func:`~bertbook.data.splits.block_splits` says.

    Raises:
        DataError: what :func:`~bertbook.data.own_text.read_lines` and ``read_records`` refuse; no document at all;
            too few to hold some out.
    """
    root, paths = find_files(path, (".txt", *RECORDS))
    found = OwnFiles(root, paths, whole, language)
    spans, columns = _read_through(found)
    if not len(spans):
        raise DataError(
            f"{path} is empty: there is no text in it" if path.is_file() else f"{path}: all files are empty"
        )
    if split != "all":
        held_out = np.array([name == "held-out" for name in block_splits(len(spans))])
        if split == "held-out" and not held_out.any():
            raise DataError(
                f"{path}: text is held out of at least 20 documents, and here are {len(spans)}. Load split='train', "
                "which has them all"
            )
        spans = spans.take(held_out if split == "held-out" else ~held_out)
    sizes = tuple(path.stat().st_size for path in paths)
    return spans, OwnFiles(root, paths, whole, language, sizes, columns)


def record_texts(fields: dict[str, Any], where: str) -> list[str]:
    """The text of a record: of its "text", or of its "sentences", a list.

    Raises:
        DataError: it has neither.
    """
    texts = fields.get("sentences", [fields.get("text")])
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise DataError(
            f'{where}: expected a field "text" (a string) or "sentences" (a list of strings); there is '
            f"{', '.join(f'{name} ({type(value).__name__})' for name, value in fields.items()) or 'none'}"
        )
    return texts


def _read_through(found: OwnFiles) -> tuple[Spans, tuple[tuple[str, ...], ...]]:
    files, starts, ends, digests = array("I"), array("Q"), array("Q"), array("Q")
    columns = []
    total = sum(path.stat().st_size for path in found.paths)
    with tqdm(total=total, unit="B", unit_scale=True, desc="Reading through", disable=total < _WORTH_A_BAR) as bar:
        for number, path in enumerate(found.paths):
            names: tuple[str, ...] = ()
            if path.suffix.lower() == ".txt":
                documents = _text_documents(path, found.whole)
            else:
                documents = _record_documents(path)
                if path.suffix.lower() != ".jsonl":
                    names = next((tuple(record.fields) for record in read_records(path)), ())
            columns.append(names)
            for start, end, digest in documents:
                files.append(number)
                starts.append(start)
                ends.append(end)
                digests.append(digest)
                bar.update(end - start)
    spans = Spans(np.array(files), np.array(starts), np.array(ends))
    _, first = np.unique(np.array(digests), return_index=True)
    return spans.take(np.sort(first)), tuple(columns)


def _text_documents(path: Path, whole: bool) -> Iterator[tuple[int, int, int]]:
    """Start, end and digest of each run of lines that are not blank; or of the file, if ``whole``."""
    start = end = 0
    digest = None
    for line in read_lines(path):
        if not is_blank(line.text):
            if digest is None:
                start, digest = line.start, hashlib.blake2b(digest_size=8)
            digest.update(line.text.strip().encode() + b"\n")
            end = line.end
        elif digest is not None and not whole:
            yield start, end, int.from_bytes(digest.digest(), "big")
            digest = None
    if digest is not None:
        yield start, end, int.from_bytes(digest.digest(), "big")


def _record_documents(path: Path) -> Iterator[tuple[int, int, int]]:
    for record in read_records(path):
        text = "\n".join(record_texts(record.fields, f"{path}, line {record.line}"))
        if not is_blank(text):
            digest = hashlib.blake2b(text.strip().encode(), digest_size=8)
            yield record.start, record.end, int.from_bytes(digest.digest(), "big")
