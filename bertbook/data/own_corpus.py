"""The reader's own files as a corpus: read through once, then each document when it is asked for.

In memory stay 16 bytes a document, so a corpus may be larger than memory.
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
from bertbook.data.splits import held_out_blocks
from bertbook.text.documents import Document
from bertbook.text.sentences import split_sentences

_WORTH_A_BAR = 100_000_000  # bytes


class Span(NamedTuple):
    """Where a document lies: the number of its file, its first byte, and how many bytes it has."""

    file: int
    start: int
    size: int


class Spans(Sequence[Span]):
    """The spans of many documents, as arrays."""

    def __init__(self, files: NDArray[np.uint32], starts: NDArray[np.uint64], sizes: NDArray[np.uint32]) -> None:
        self.files, self.starts, self.sizes = files, starts, sizes

    def __len__(self) -> int:
        return len(self.files)

    @overload
    def __getitem__(self, index: int) -> Span: ...
    @overload
    def __getitem__(self, index: slice) -> "Spans": ...
    def __getitem__(self, index: int | slice) -> "Span | Spans":
        if isinstance(index, slice):
            return Spans(self.files[index], self.starts[index], self.sizes[index])
        return Span(int(self.files[index]), int(self.starts[index]), int(self.sizes[index]))

    def where(self, chosen: NDArray[np.bool_]) -> "Spans":
        """Those where ``chosen`` is True."""
        return Spans(self.files[chosen], self.starts[chosen], self.sizes[chosen])


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
            text = file.read(span.size).decode("utf-8")
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
    spans, digests, columns = _read_through(found)
    if not len(spans):
        raise DataError(
            f"{path} is empty: there is no text in it" if path.is_file() else f"{path}: all files are empty"
        )
    chosen = _first_ones(digests)
    if split != "all":
        count = int(chosen.sum())
        held_out = held_out_blocks(count)
        if split == "held-out" and not held_out.any():
            raise DataError(
                f"{path}: text is held out of at least 20 documents, and here are {count}. Load split='train', "
                "which has them all"
            )
        chosen[chosen] = held_out if split == "held-out" else ~held_out
    spans = spans.where(chosen)
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


def _read_through(found: OwnFiles) -> tuple[Spans, NDArray[np.uint64], tuple[tuple[str, ...], ...]]:
    """Where all documents lie, a digest of each, and the columns of each file."""
    files, starts, sizes, digests = array("I"), array("Q"), array("I"), array("Q")
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
                sizes.append(end - start)
                digests.append(digest)
                bar.update(end - start)
    # Views, no copies: this is where memory would grow with the corpus.
    spans = Spans(np.frombuffer(files, np.uint32), np.frombuffer(starts, np.uint64), np.frombuffer(sizes, np.uint32))
    return spans, np.frombuffer(digests, np.uint64), tuple(columns)


def _first_ones(digests: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """True where a digest stands for the first time. Sorts a copy, and looks at the repeated ones alone."""
    in_order = np.sort(digests)
    repeated = np.unique(in_order[1:][in_order[1:] == in_order[:-1]])
    del in_order
    first = np.ones(len(digests), dtype=np.bool_)
    seen = set()
    for index in np.flatnonzero(np.isin(digests, repeated)) if len(repeated) else ():
        first[index] = digests[index] not in seen
        seen.add(digests[index])
    return first


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
