"""The pair builder: documents become next-sentence pairs, sentence-order pairs, or sequences without pairs."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from bertbook.viz.embed import BookWidget, name_from_caption, name_from_content

# What fits on a page, as boxes of sentences and as tokens in its payload.
MAX_DOCUMENTS, MAX_SENTENCES, MAX_PIECES = 12, 40, 6000
SHORTEST, LONGEST, MAX_SEED = 8, 128, 9999
OBJECTIVES = ("nsp", "sop", "none")


class DocumentLike(Protocol):
    """What is shown of a document: :class:`bertbook.text.Document` has it."""

    @property
    def sentences(self) -> Sequence[str]: ...
    @property
    def source(self) -> str: ...
    @property
    def name(self) -> str: ...


class PairBuilder(BookWidget):
    """Pairs drawn from a few documents, one at a time: where the segments lie, what is cut, what goes into the model.

    The rules are those of :func:`bertbook.text.sentence_pairs`; the random numbers are the page's own. The reader
    chooses objective, length and seed and steps through the pairs. In a running notebook ``objective``,
    ``max_length``, ``seed`` and ``pair`` follow the reader, and setting them changes the picture.

    Args:
        documents: at most 12, of at most 40 sentences. Anything with ``sentences``, ``source`` and ``name`` will do.
        tokenize: gives the pieces of a sentence: a tokenizer's ``tokenize``.
        objective: "nsp", "sop" or "none", to begin with.
        max_length: tokens of a sequence, 8 to 128, [CLS] and [SEP] included.
        seed: of the draw, 0 to 9999.
        caption: the title and accessible name.
        id: the widget's name in links; by default made from the caption, or from the documents.

    Raises:
        TypeError: something that is no document; pieces that are no list of strings.
        ValueError: too many documents, sentences or pieces; fewer than two documents of two sentences in a source;
            a sentence without pieces; another objective; a length or a seed outside its range.
    """

    front_end = "pair-builder"

    def __init__(
        self,
        documents: Sequence[DocumentLike],
        tokenize: Callable[[str], Sequence[str]],
        *,
        objective: str = "nsp",
        max_length: int = 64,
        seed: int = 0,
        caption: str | None = None,
        id: str | None = None,
    ) -> None:
        self._documents = [_shown(document, index, tokenize) for index, document in enumerate(_counted(documents))]
        _check_sources(self._documents)
        pieces = sum(len(sentence) for document in self._documents for sentence in document["pieces"])
        if pieces > MAX_PIECES:
            raise ValueError(
                f"the documents have {pieces} pieces; at most {MAX_PIECES} fit: pass fewer, or shorter ones"
            )
        state: dict[str, Any] = {
            "objective": _objective(objective),
            "max_length": _within("max_length", max_length, SHORTEST, LONGEST),
            "seed": _within("seed", seed, 0, MAX_SEED),
            "pair": 0,
        }
        self._initial = dict(state)
        named = id or (name_from_caption("pairs", caption) if caption else "")
        texts = [text for document in self._documents for text in document["sentences"]]
        super().__init__(caption or "Pair builder", named or name_from_content("pairs", *texts), state)

    def __repr__(self) -> str:
        return f"PairBuilder({len(self._documents)} documents, {self.objective}, max_length={self.max_length})"

    @property
    def objective(self) -> str:
        """What the pairs are for: "nsp", "sop" or "none"."""
        return str(self._get("objective"))

    @objective.setter
    def objective(self, value: str) -> None:
        self._set("objective", _objective(value))

    @property
    def max_length(self) -> int:
        """Tokens of a sequence at most."""
        return int(self._get("max_length"))

    @max_length.setter
    def max_length(self, value: int) -> None:
        self._set("max_length", _within("max_length", value, SHORTEST, LONGEST))

    @property
    def seed(self) -> int:
        """Of the draw."""
        return int(self._get("seed"))

    @seed.setter
    def seed(self, value: int) -> None:
        self._set("seed", _within("seed", value, 0, MAX_SEED))

    @property
    def pair(self) -> int:
        """Which pair is shown, from 0. A number beyond the last one shows the last."""
        return int(self._get("pair"))

    @pair.setter
    def pair(self, value: int) -> None:
        self._set("pair", _within("pair", value, 0, MAX_PIECES))

    def _data(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "caption": self.caption,
            "documents": self._documents,
            "limits": {"shortest": SHORTEST, "longest": LONGEST, "seed": MAX_SEED},
            "initial": self._initial,
        }

    def _text(self) -> str:
        listed = "; ".join(
            f"{document['name']} ({len(document['sentences'])} sentences)" for document in self._documents
        )
        return f"An interactive picture of how pairs of segments are drawn from documents: {listed}."


def _counted(documents: Sequence[DocumentLike]) -> Sequence[DocumentLike]:
    if isinstance(documents, str) or not isinstance(documents, Sequence):
        raise TypeError(f"documents is {type(documents).__name__}: a list of documents is needed")
    if not 2 <= len(documents) <= MAX_DOCUMENTS:
        raise ValueError(f"there are {len(documents)} documents; 2 to {MAX_DOCUMENTS} can be shown: slice them")
    return documents


def _shown(document: DocumentLike, index: int, tokenize: Callable[[str], Sequence[str]]) -> dict[str, Any]:
    """The front-end's view of a document."""
    try:
        sentences, source, name = list(document.sentences), str(document.source), str(document.name)
    except AttributeError:
        kind = type(document).__name__
        raise TypeError(f"documents[{index}] is {kind}: sentences, source and name are needed") from None
    if len(sentences) > MAX_SENTENCES:
        hint = f"shorten it, as Document(document.sentences[:{MAX_SENTENCES}], document.source, document.name)"
        raise ValueError(f"documents[{index}] has {len(sentences)} sentences; at most {MAX_SENTENCES} fit: {hint}")
    pieces = []
    for number, sentence in enumerate(sentences):
        cut = list(tokenize(sentence))
        if not all(isinstance(piece, str) for piece in cut):
            raise TypeError(f"tokenize({sentence!r:.60}) gives {cut!r:.60}: a list of strings is needed")
        if not cut:
            raise ValueError(f"sentence {number} of documents[{index}], {sentence!r:.60}, has no pieces: leave it out")
        pieces.append(cut)
    return {"name": name or f"document {index}", "source": source, "sentences": sentences, "pieces": pieces}


def _check_sources(documents: Sequence[dict[str, Any]]) -> None:
    """As for pairs of the package: a random segment comes from another document, so there must be one."""
    for document in documents:
        others = [other for other in documents if other["source"] == document["source"] and len(other["sentences"]) > 1]
        if len(document["sentences"]) > 1 and len(others) < 2:
            raise ValueError(
                f"source {document['source']!r} has one document of two sentences or more, {document['name']!r}: "
                "a random segment comes from another document of the same source, so two are needed"
            )


def _objective(value: Any) -> str:
    if value not in OBJECTIVES:
        raise ValueError(f"objective={value!r}: expected one of {', '.join(map(repr, OBJECTIVES))}")
    return str(value)


def _within(name: str, value: Any, least: int, most: int) -> int:
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"{name}={value!r}: a whole number from {least} to {most} is needed")
    return value
