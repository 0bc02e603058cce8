"""Which other documents a random segment may come from."""

from array import array
from collections.abc import Sequence
from random import Random

from bertbook.text.documents import Document
from bertbook.text.pair_checks import check_document


class Sources:
    """The documents by their source.

    Read from ``documents.sources`` if there is such an attribute. Otherwise every document is read once, and those
    of one sentence are left out: neither a pair begins in them nor a random segment lies there.

    Raises:
        ValueError: a source with one document: there is no other to draw from.
    """

    def __init__(self, documents: Sequence[Document]) -> None:
        sources = getattr(documents, "sources", None)
        if sources is not None and len(sources) != len(documents):
            raise ValueError(f"documents.sources has {len(sources)} entries for {len(documents)} documents")
        self._members: dict[str, array[int]] = {}  # of each source, its documents
        self._rank = array("q")  # of each document, where it stands among them
        self._source: list[str] = []  # of each document
        for index in range(len(documents)):
            if sources is not None:
                source = sources[index]
            else:
                document = check_document(documents[index], index)
                source = document.source
            self._source.append(source)
            if sources is None and len(document) < 2:
                self._rank.append(-1)
                continue
            members = self._members.setdefault(source, array("q"))
            self._rank.append(len(members))
            members.append(index)
        if not self._members:
            raise ValueError("every document has one sentence only: a pair needs two of them from one document")
        for members in self._members.values():
            if len(members) == 1:
                raise ValueError(self.complaint(members[0]))

    def other(self, index: int, random: Random) -> int:
        """Another document of the same source, drawn at random."""
        members, rank = self._members[self._source[index]], self._rank[index]
        drawn = random.randrange(len(members) - 1)
        return members[drawn + (drawn >= rank)]

    def complaint(self, index: int) -> str:
        """That a document has no other to draw from, and what to do."""
        return (
            "next-sentence pairs need two documents of a source, to draw a random segment from another one than the "
            f"first; source {self._source[index]!r} has one document of two sentences or more, documents[{index}]: "
            'add documents, join sources, or use objective="sop" or "none"'
        )
