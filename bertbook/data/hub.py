"""Data sets of the Hugging Face hub, or folders in its form, through the `datasets` library."""

from array import array
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bertbook.data.own_corpus import record_texts
from bertbook.data.own_text import DataError, is_blank
from bertbook.data.splits import held_out_blocks
from bertbook.text.documents import Document
from bertbook.text.sentences import split_sentences

PREFIX = "hf:"
_HELD_OUT = ("validation", "dev", "test")


@dataclass(frozen=True)
class HubRows:
    """Reads documents from the rows of a memory-mapped table."""

    rows: Any
    name: str
    column: str
    language: str | None

    def read(self, number: int) -> Document:
        """The document in a row."""
        number = int(number)
        where = f"{self.name}, row {number}"
        texts = record_texts({"text": self.rows[number][self.column]}, where)
        sentences = [s for text in texts for s in split_sentences(text, self.language) if not is_blank(s)]
        return Document(tuple(sentences), self.name, where)


def load_hub(name: str) -> Any:
    """``"hf:owner/name"``, with ``":configuration"`` behind it if need be, or ``"hf:folder"``: all its splits.

    Raises:
        ImportError: `datasets` is not installed.
        DataError: what `datasets` could not load, and why.
    """
    try:
        import datasets
    except ImportError:
        raise ImportError(
            f"{name} is loaded through the `datasets` library, which is not installed: pip install 'bertbook[data]'"
        ) from None
    source, configuration = name.removeprefix(PREFIX), ""
    allowed = "A source is 'hf:owner/name', 'hf:owner/name:configuration' or 'hf:folder'"
    if not source:  # would be the working directory
        raise DataError(f"{name!r} names nothing. {allowed}")
    if not Path(source).expanduser().exists():
        source, _, configuration = source.partition(":")
    try:
        return datasets.load_dataset(str(Path(source).expanduser()), configuration or None)
    except Exception as error:  # of many kinds: no network, no such set, a gated one, files it cannot parse
        raise DataError(
            f"{name} could not be loaded: {type(error).__name__}: {error}. {allowed}; sets that need a script no "
            "longer load"
        ) from error


def hub_corpus(name: str, split: str, language: str | None, column: str) -> tuple[Any, HubRows]:
    """The numbers of a split's rows, and the reader of them. Blank rows are left out, and so are repeated ones.

    Held out is the set's own validation (or test) split; where it has none, blocks of its rows.

    Raises:
        DataError: as :func:`load_hub`; a set without the column; without a training split.
    """
    sets = load_hub(name)
    own = next((other for other in _HELD_OUT if other in sets), None)
    if "train" not in sets:
        raise DataError(f"{name} has the splits {', '.join(sets)}, and none is called train")
    if split == "all" and own:
        import datasets

        rows = datasets.concatenate_datasets([sets["train"], sets[own]])
    else:
        rows = sets[own] if split == "held-out" and own else sets["train"]
    if column not in rows.column_names:
        raise DataError(f"{name} has the columns {', '.join(rows.column_names)}: say which holds the text, column=...")
    numbers, digests = array("Q"), array("q")
    for start in range(0, len(rows), 1000):
        for number, text in enumerate(rows[start : start + 1000][column], start):
            if isinstance(text, str) and not is_blank(text):
                numbers.append(number)
                digests.append(hash(text.strip()))
    if not numbers:
        raise DataError(f"{name} is empty: no row of the column {column} holds text")
    _, first = np.unique(np.array(digests), return_index=True)
    chosen = np.array(numbers)[np.sort(first)]
    if split != "all" and not own:
        held_out = held_out_blocks(len(chosen))
        chosen = chosen[held_out if split == "held-out" else ~held_out]
    return chosen, HubRows(rows, name, column, language)
