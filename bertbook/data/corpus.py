"""A corpus: documents to pretrain on, by number."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

from bertbook.data.cards import Card
from bertbook.text.documents import Document


class Corpus(Sequence[Document]):
    """Documents in a fixed order. They are in memory, or are read when they are asked for.

    Attributes:
        name: as given to :func:`~bertbook.data.load_corpus`.
        split: ``"train"``, ``"held-out"`` or ``"all"``.
        language: ``"en"``, ``"zh"``, or None where it is not known.
        card: where the text is from; None for the reader's own.
    """

    def __init__(
        self,
        documents: Sequence[Any],
        *,
        name: str,
        split: str,
        language: str | None = None,
        card: Card | None = None,
        read: Callable[[Any], Document] | None = None,
    ) -> None:
        """``documents`` are the documents, or, with ``read``, what it makes one from (an offset in a file)."""
        self.name, self.split, self.language, self.card = name, split, language, card
        self._documents = documents
        self._read = read

    def __len__(self) -> int:
        return len(self._documents)

    @overload
    def __getitem__(self, index: int) -> Document: ...
    @overload
    def __getitem__(self, index: slice) -> "Corpus": ...
    def __getitem__(self, index: int | slice) -> "Document | Corpus":
        """One document, or a corpus of some of them."""
        if not isinstance(index, slice):
            document = self._documents[index]
            return document if self._read is None else self._read(document)
        return Corpus(
            self._documents[index],
            name=self.name,
            split=self.split,
            language=self.language,
            card=self.card,
            read=self._read,
        )

    def __iter__(self) -> Iterator[Document]:
        return (self[index] for index in range(len(self)))

    def __repr__(self) -> str:
        return f"Corpus({self.name!r}, split={self.split!r}, {len(self):,} documents)"

    @property
    def counts(self) -> dict[str, int]:
        """How many documents, sentences and characters (of sentences). Reads the whole corpus."""
        sentences = characters = 0
        for document in self:
            sentences += len(document)
            characters += sum(map(len, document.sentences))
        return {"documents": len(self), "sentences": sentences, "characters": characters}
