"""From the fields of a record to an example: the names that people give their columns."""

from typing import Any

from bertbook.data.own_text import DataError, is_blank
from bertbook.data.task import AnswerExample, Example, PairExample, SentenceExample, TokensExample

# The first names that are all there decide what kind of task it is.
_COLUMNS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("answers", ("question", "context")),
    ("pair", ("first", "second")),
    ("pair", ("text_a", "text_b")),
    ("pair", ("sentence1", "sentence2")),
    ("pair", ("question1", "question2")),
    ("pair", ("premise", "hypothesis")),
    ("pair", ("question", "sentence")),
    ("pair", ("question", "passage")),
    ("tokens", ("words", "tags")),
    ("tokens", ("tokens", "tags")),
    ("tokens", ("tokens", "ner_tags")),
    ("tokens", ("tokens", "pos_tags")),
    ("sentence", ("text",)),
    ("sentence", ("sentence",)),
    ("sentence", ("review",)),
)
Kind = tuple[str, tuple[str, ...]]


def kind_of(fields: dict[str, Any], where: str) -> Kind:
    """The kind of a task and the fields that hold its input.

    Raises:
        DataError: the fields make no task.
    """
    for kind, columns in _COLUMNS:
        if all(column in fields for column in columns):
            return kind, columns
    raise DataError(
        f"{where}: the fields {', '.join(fields)} make no task. Expected text and label; text_a, text_b and label (or "
        "score, a number); words and tags; or question, context and answer"
    )


def example_of(kind: Kind, fields: dict[str, Any], where: str) -> Example:
    """The example in a record.

    Raises:
        DataError: a field is missing, empty or of another type; a label is missing; not as many tags as words; an
            answer that does not stand in its context.
    """
    name, columns = kind
    first, second = columns[0], columns[-1]
    if name == "tokens":
        return _tokens(_names(fields, first, where), _names(fields, second, where), where)
    text = _text(fields, first, where)
    if name == "answers":
        return _answer(text, _text(fields, second, where), fields, where)
    if name == "pair":
        score = _score(fields, where)
        return PairExample(text, _text(fields, second, where), _label(fields, where) if score is None else score)
    return SentenceExample(text, _label(fields, where))


def _text(fields: dict[str, Any], column: str, where: str) -> str:
    text = fields.get(column)
    if not isinstance(text, str):
        raise DataError(f"{where}: the field {column!r} is {_shown(text)}; expected a string")
    if is_blank(text):
        raise DataError(f"{where}: the field {column!r} is empty")
    return text


def _label(fields: dict[str, Any], where: str) -> str:
    label = fields.get("label")
    if isinstance(label, bool):
        return "yes" if label else "no"
    if isinstance(label, int):
        label = str(label)
    if label is None or (isinstance(label, str) and is_blank(label)):
        raise DataError(f"{where}: the label is missing; the fields are {', '.join(fields)}")
    if not isinstance(label, str):
        raise DataError(f"{where}: the label is {_shown(label)}; expected a name, or a number in a field 'score'")
    return label.strip()


def _score(fields: dict[str, Any], where: str) -> float | None:
    if "score" not in fields:
        return None
    try:
        score = float(fields["score"])
    except (TypeError, ValueError):
        score = float("nan")
    if not abs(score) < float("inf"):
        raise DataError(f"{where}: the score is {_shown(fields['score'])}; expected a number")
    return score


def _names(fields: dict[str, Any], column: str, where: str) -> tuple[str, ...]:
    """A list of strings, or one string of names between blanks."""
    value = fields.get(column)
    names = value.split() if isinstance(value, str) else value
    if not isinstance(names, list) or not all(isinstance(one, str) and not is_blank(one) for one in names):
        raise DataError(f"{where}: the field {column!r} is {_shown(value)}; expected a list of strings, none empty")
    if not names:
        raise DataError(f"{where}: the field {column!r} is empty")
    return tuple(names)


def _tokens(words: tuple[str, ...], tags: tuple[str, ...], where: str) -> TokensExample:
    if len(words) != len(tags):
        raise DataError(f"{where}: {len(words)} words and {len(tags)} tags: each word needs one")
    return TokensExample(words, tags)


def _answer(question: str, context: str, fields: dict[str, Any], where: str) -> AnswerExample:
    """As ``answer`` and, if it is known, ``start``; or as ``answers``, in the form of SQuAD."""
    answer, start = fields.get("answer", ""), fields.get("start")
    if isinstance(answers := fields.get("answers"), dict):
        answer, start = (next(iter(answers.get(key) or []), None) for key in ("text", "answer_start"))
    if answer is None or answer == "":
        return AnswerExample(question, context, None, None)
    if not isinstance(answer, str):
        raise DataError(f"{where}: the answer is {_shown(answer)}; expected a string")
    try:
        begin = context.find(answer) if start is None or start == "" else int(start)
    except (TypeError, ValueError):
        raise DataError(f"{where}: the start is {_shown(start)}; expected the number of a character") from None
    if begin < 0 or context[begin : begin + len(answer)] != answer:
        place = "" if start is None or start == "" else f" at character {start}"
        raise DataError(f"{where}: the answer {answer!r} does not stand in the context{place}")
    return AnswerExample(question, context, begin, begin + len(answer))


def _shown(value: object) -> str:
    return "missing" if value is None else f"{str(value)[:40]!r} ({type(value).__name__})"
