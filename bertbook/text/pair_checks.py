"""What the making of sentence pairs refuses, and in which words."""

from collections.abc import Sequence

from bertbook.text.documents import Document

OBJECTIVES = ("nsp", "sop", "none")


def check_documents(documents: object) -> None:
    if not isinstance(documents, Sequence) or isinstance(documents, str | bytes):
        hint = "; list(documents) makes one" if hasattr(documents, "__iter__") else ""
        raise TypeError(
            f"documents is {type(documents).__name__}: expected a sequence of Document with random access{hint}"
        )
    if not len(documents):
        raise ValueError("documents is empty: there is nothing to make pairs of")


def check_document(document: object, index: int) -> Document:
    if not isinstance(document, Document):
        raise TypeError(
            f"documents[{index}] is {type(document).__name__}: expected Document; "
            "Document(split_sentences(text)) makes one of a text"
        )
    return document


def check_numbers(
    objective: object,
    max_length: object,
    specials: int,
    short_rate: object,
    seed: object,
    epoch: object,
    *,
    across_documents: bool,
) -> None:
    if objective not in OBJECTIVES:
        raise ValueError(f"objective={objective!r}: expected one of {', '.join(map(repr, OBJECTIVES))}")
    least = specials + 2
    if type(max_length) is not int or max_length < least:
        raise ValueError(
            f"max_length={max_length!r}: it must be a whole number of at least {least}, "
            f"{specials} special tokens and two more"
        )
    if isinstance(short_rate, bool) or not isinstance(short_rate, int | float) or not 0 <= short_rate <= 1:
        raise ValueError(f"short_rate={short_rate!r}: it must be a share from 0 to 1")
    for name, value in (("seed", seed), ("epoch", epoch)):
        if type(value) is not int or value < 0:
            raise ValueError(f"{name}={value!r}: it must be a whole number of at least 0")
    if across_documents and objective != "none":
        raise ValueError(
            f'across_documents=True with objective={objective!r}: pairs stay within a document; it goes with "none"'
        )
