"""A document: its sentences, and where it comes from."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Document:
    """One text as sentences, the unit that sentence pairs and whole-text batches are made of.

    Attributes:
        sentences: in their order; at least one, none of them blank. A list is kept as a tuple.
        source: where the document comes from, such as ``"bbc-news/business"``. The random segment of a
            next-sentence pair is drawn from another document of the same source, so that its subject and its
            style do not give the answer away.
        name: of the document, for messages and cards, such as ``"business/001.txt"``.

    Raises:
        TypeError: sentences that are one string, or no strings; a source or a name that is no string.
        ValueError: no sentence, or a blank one.
    """

    sentences: tuple[str, ...]
    source: str = ""
    name: str = ""

    def __post_init__(self) -> None:
        for field in ("source", "name"):
            value = getattr(self, field)
            if not isinstance(value, str):
                raise TypeError(f"{field} is {type(value).__name__}: expected str")
        whose = f"document {self.name!r}" if self.name else "a document"
        if not isinstance(self.sentences, tuple | list):
            hint = "; split_sentences(text) cuts a text into them" if isinstance(self.sentences, str) else ""
            raise TypeError(
                f"{whose}: sentences is {type(self.sentences).__name__}: expected a tuple or list of str{hint}"
            )
        object.__setattr__(self, "sentences", tuple(self.sentences))
        if not self.sentences:
            raise ValueError(f"{whose} has no sentence: leave out documents that are empty")
        for index, sentence in enumerate(self.sentences):
            if not isinstance(sentence, str):
                raise TypeError(f"{whose}: sentences[{index}] is {type(sentence).__name__}: expected str")
            if not sentence or sentence.isspace():
                raise ValueError(f"{whose}: sentences[{index}] is blank ({sentence!r}): leave out blank sentences")

    def __len__(self) -> int:
        """The number of sentences."""
        return len(self.sentences)
