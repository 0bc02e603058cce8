"""The reader's own files, or a set from the hub, as a task."""

import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path

from bertbook.data.fields import example_of, kind_of
from bertbook.data.normal import fingerprint
from bertbook.data.own_files import find_files
from bertbook.data.own_records import RECORDS, read_records
from bertbook.data.own_text import DataError
from bertbook.data.splits import hash_split
from bertbook.data.task import AnswerExample, Example, PairExample, SentenceExample, Task, TokensExample

_SPLIT_NAMES = {
    "train": "train",
    "dev": "dev",
    "val": "dev",
    "valid": "dev",
    "validation": "dev",
    "test": "test",
}
Located = tuple[str, Example]  # "reviews.csv, line 3", and the example that begins there


def own_task(path: Path, labels: Sequence[str] | None) -> Task:
    """A file, split by the hash of its texts, or a folder of train, dev and test files.

    Raises:
        DataError: what the files are refused for; see :func:`~bertbook.data.load_task`.
    """
    _, paths = find_files(path, RECORDS)
    if path.is_file():
        found = {"all": _read(path)}
    else:
        found = {}
        for inside in paths:
            split = _SPLIT_NAMES.get(inside.stem.lower())
            if split is None or split in found:
                raise DataError(
                    f"{inside}: the files of a task's folder are called train, dev (or validation) and test, one each"
                )
            found[split] = _read(inside)
    return build_task(str(path), found, labels)


def build_task(name: str, found: dict[str, list[Located]], labels: Sequence[str] | None) -> Task:
    """The task of examples that are split already, or all under "all".

    Repeats are left out, with a warning that counts them, and so are texts with two labels, and training texts
    that stand in dev or test.
    """
    kinds = {type(example) for part in found.values() for _, example in part}
    if not found.get("train", found.get("all")):
        raise DataError(f"{name} has no example to train on")
    if len(kinds) != 1:
        mixed = ", ".join(sorted(_KINDS[one][0] for one in kinds))
        raise DataError(f"{name} mixes examples of different kinds ({mixed}): a task has one kind")
    found = _without_repeats(name, found)
    names = _labels(found.get("train", found.get("all", [])), labels)
    for where, example in (located for part in found.values() for located in part):
        _check_labels(where, example, names)
    splits: dict[str, list[Example]] = {"train": [], "dev": [], "test": []}
    for split, part in found.items():
        for _, example in part:
            splits[hash_split(_split_key(example)) if split == "all" else split].append(example)
    if not splits["train"]:
        raise DataError(f"{name} has no example to train on: what it has went to dev and test, or was left out")
    kind, metric = _KINDS[kinds.pop()]
    if names == ("score",):
        metric = "spearman"
    elif any(label.startswith("B-") for label in names):
        metric = "span_f1"
    train, dev, test = (tuple(splits[split]) for split in ("train", "dev", "test"))
    return Task(name, kind, names, metric, train, dev, test)


_KINDS: dict[type[Example], tuple[str, str]] = {
    SentenceExample: ("sentence", "accuracy"),
    PairExample: ("pair", "accuracy"),
    TokensExample: ("tokens", "token_accuracy"),
    AnswerExample: ("answers", "answer_f1"),
}


def _read(path: Path) -> list[Located]:
    """The examples of a file. All its records are of the kind that the first one is."""
    examples: list[Located] = []
    kind = None
    for record in read_records(path):
        where = f"{path}, line {record.line}"
        kind = kind or kind_of(record.fields, where)
        examples.append((where, example_of(kind, record.fields, where)))
    if not examples:
        raise DataError(f"{path} is empty: there is no example in it")
    return examples


def _labels(examples: Iterable[Located], labels: Sequence[str] | None) -> tuple[str, ...]:
    """Those given, or those found: "O" before other tags, otherwise by name."""
    if labels is not None:
        return tuple(labels)
    names: set[str] = set()
    for _, example in examples:
        if isinstance(example, TokensExample):
            names.update(example.tags)
        elif not isinstance(example, AnswerExample):
            names.add(example.label if isinstance(example.label, str) else "score")
    return tuple(sorted(names, key=lambda name: (name != "O", name)))


def _check_labels(where: str, example: Example, names: tuple[str, ...]) -> None:
    if isinstance(example, TokensExample):
        used: Iterable[str] = example.tags
    elif isinstance(example, AnswerExample) or isinstance(example.label, float):
        used = ()
    else:
        used = (example.label,)
    for label in used:
        if label not in names:
            shown = ", ".join(map(repr, names[:20])) + (", ..." if len(names) > 20 else "")
            raise DataError(f"{where}: the label {label!r} is unknown; the training examples have {shown}")


def _split_key(example: Example) -> str:
    """Examples with the same one go into the same split."""
    if isinstance(example, SentenceExample):
        return fingerprint(example.text) or example.text
    if isinstance(example, PairExample):
        return f"{fingerprint(example.first)} {fingerprint(example.second)}"
    if isinstance(example, TokensExample):
        return " ".join(example.words)
    return fingerprint(example.context)


def _identity(example: Example) -> tuple[str, ...]:
    """Examples with the same one ask the same."""
    if isinstance(example, AnswerExample):
        return (_split_key(example), fingerprint(example.question))
    return (_split_key(example),)


def _right(example: Example) -> object:
    """What is to be found out."""
    if isinstance(example, TokensExample):
        return example.tags
    return example.start if isinstance(example, AnswerExample) else example.label


def _without_repeats(name: str, found: dict[str, list[Located]]) -> dict[str, list[Located]]:
    """What stands in test stays there and nowhere else, then what stands in dev; each example once."""
    kept: dict[str, list[Located]] = {}
    first: dict[tuple[str, ...], Located] = {}
    repeated: list[str] = []
    contradicted: dict[tuple[str, ...], str] = {}
    for split in sorted(found, key=["test", "dev", "train", "all"].index):
        kept[split] = []
        for where, example in found[split]:
            identity = _identity(example)
            if identity not in first:
                first[identity] = (where, example)
                kept[split].append((where, example))
            elif _right(first[identity][1]) == _right(example):
                repeated.append(f"{where}, as {first[identity][0]}")
            else:
                contradicted.setdefault(identity, f"{first[identity][0]}, and {where}")
    if contradicted:
        kept = {split: [one for one in part if _identity(one[1]) not in contradicted] for split, part in kept.items()}
        one = next(iter(contradicted.values()))
        _warn(f"{name}: {len(contradicted)} texts have two labels and are left out, as is {one}")
    if repeated:
        _warn(f"{name}: {len(repeated)} examples repeat another and are left out, as is {repeated[0]}")
    return kept


def _warn(message: str) -> None:
    warnings.warn(message, stacklevel=6)  # the line that called load_task
