"""A task from the hub: the names of its labels, which stand apart from its rows."""

from collections.abc import Callable, Sequence
from typing import Any

from bertbook.data.fields import example_of, kind_of
from bertbook.data.hub import load_hub
from bertbook.data.own_task import Located, build_task
from bertbook.data.own_text import DataError
from bertbook.data.task import Task

_SPLITS = {"train": "train", "validation": "dev", "dev": "dev", "validation_matched": "dev", "test": "test"}


def hub_task(name: str, labels: Sequence[str] | None) -> Task:
    """The splits as they are published; with a training split alone, all of it is split by the hash of its texts.

    A split without labels (-1, as the test sets of GLUE have) is left empty.

    Raises:
        DataError: as :func:`~bertbook.data.hub.load_hub`; no training split; columns that make no task.
    """
    sets = load_hub(name)
    if "train" not in sets:
        raise DataError(f"{name} has the splits {', '.join(sets)}, and none is called train")
    found: dict[str, list[Located]] = {}
    for published, rows in sets.items():
        split = _SPLITS.get(published)
        if split and split not in found:
            found[split] = _examples(f"{name}, {published}", rows)
    if set(found) == {"train"}:
        found = {"all": found["train"]}
    return build_task(name, found, labels)


def _examples(where: str, rows: Any) -> list[Located]:
    kind = kind_of(dict.fromkeys(rows.column_names), where)
    named = {column: _namer(feature) for column, feature in rows.features.items()}
    examples: list[Located] = []
    for number, row in enumerate(rows):
        if row.get("label") == -1:
            continue
        fields = {column: named[column](value) for column, value in row.items()}
        if isinstance(fields.get("label"), float):
            fields["score"] = fields.pop("label")
        examples.append((f"{where}, row {number}", example_of(kind, fields, f"{where}, row {number}")))
    return examples


def _namer(feature: Any) -> Callable[[Any], Any]:
    """What makes names of the numbers in a column, if it holds numbers for names."""
    if hasattr(feature, "int2str"):
        return lambda value: None if value is None else feature.int2str(value)
    if (inner := getattr(feature, "feature", None)) is not None and hasattr(inner, "int2str"):
        return lambda value: [inner.int2str(one) for one in value]
    return lambda value: value
