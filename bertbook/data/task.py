"""A task: examples with what is right about them, in three parts."""

from collections.abc import Sequence
from dataclasses import dataclass

from bertbook.data.cards import Card


@dataclass(frozen=True)
class SentenceExample:
    """One text and its label."""

    text: str
    label: str


@dataclass(frozen=True)
class PairExample:
    """Two texts and their label: a name, or a number where the task is graded."""

    first: str
    second: str
    label: str | float


@dataclass(frozen=True)
class TokensExample:
    """Words, or Chinese characters, and the tag of each."""

    words: tuple[str, ...]
    tags: tuple[str, ...]


@dataclass(frozen=True)
class AnswerExample:
    """A question, and where in the context its answer stands: ``context[start:end]``.

    Where the context does not hold the answer, ``start`` and ``end`` are None and ``answer`` is "".
    """

    question: str
    context: str
    start: int | None
    end: int | None

    @property
    def answer(self) -> str:
        """The characters of the answer."""
        return "" if self.start is None else self.context[self.start : self.end]


Example = SentenceExample | PairExample | TokensExample | AnswerExample
KINDS: dict[str, type[Example]] = {
    "sentence": SentenceExample,
    "pair": PairExample,
    "tokens": TokensExample,
    "answers": AnswerExample,
}


@dataclass(frozen=True)
class Task:
    """Examples to train on, to choose by and to report on. No text of one part stands in another.

    Attributes:
        name: as given to :func:`~bertbook.data.load_task`.
        kind: ``"sentence"``, ``"pair"``, ``"tokens"`` or ``"answers"``; see :data:`KINDS`.
        labels: the names of the labels or tags, by id; one name where the task is graded; none for answers.
        metric: ``"accuracy"``, ``"spearman"`` (graded), ``"token_accuracy"``, ``"span_f1"`` (tags in the BIO
            scheme) or ``"answer_f1"``.
        train, dev, test: the examples.
        language: ``"en"``, ``"zh"``, or None where it is not known.
        card: where the text is from; None for the reader's own.
    """

    name: str
    kind: str
    labels: tuple[str, ...]
    metric: str
    train: Sequence[Example]
    dev: Sequence[Example]
    test: Sequence[Example]
    language: str | None = None
    card: Card | None = None

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        """How many examples are in each split, and how many of each label."""
        return {split: count(getattr(self, split)) for split in ("train", "dev", "test")}

    def __repr__(self) -> str:
        sizes = " + ".join(f"{len(getattr(self, split)):,}" for split in ("train", "dev", "test"))
        return f"Task({self.name!r}, {self.kind}, {sizes} examples)"


def count(examples: Sequence[Example]) -> dict[str, int]:
    """How many examples; and of a classification, how many of each label, of tags, how many words and spans."""
    counts = {"examples": len(examples)}
    for example in examples:
        if isinstance(example, TokensExample):
            counts["words"] = counts.get("words", 0) + len(example.words)
            names = [f"spans of {tag[2:]}" for tag in example.tags if tag.startswith("B-")]
        elif isinstance(example, AnswerExample):
            names = ["without an answer"] if example.start is None else []
        else:
            names = [example.label] if isinstance(example.label, str) else []
        for name in names:
            counts[name] = counts.get(name, 0) + 1
    return counts
