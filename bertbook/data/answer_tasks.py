"""Tasks of answers that stand in a text: where they stand had to be found."""

import re
from collections import Counter, defaultdict
from pathlib import Path

from bertbook.data.normal import Seen, fingerprint
from bertbook.data.splits import hash_split
from bertbook.data.task import AnswerExample
from bertbook.data.text_tasks import EXAMPLE_AGAIN, ParsedTask, json_lines

NOT_VERBATIM = "questions whose answer does not stand in the text word for word"
_MOJIBAKE = re.compile(r"[\xc2-\xf4][\x80-\xbf]+")


def read_disfl_qa(folder: Path) -> ParsedTask:
    """passage, question, answer; "unknown" is no answer. Signs stand apart in the passage, but not in the answer."""
    splits, dropped = _empty()
    seen = Seen()
    for row in json_lines(folder / "Bigbench/DisflQA/test.jsonl"):
        passage, question = row["passage"].strip(), row["question"].strip()
        span = None if row["answer"] == "unknown" else find_span(passage, row["answer"])
        if span is None and row["answer"] != "unknown":
            dropped[NOT_VERBATIM] += 1
        elif seen.again(question + passage):
            dropped[EXAMPLE_AGAIN] += 1
        else:
            split = hash_split(fingerprint(passage))
            splits[split].append(AnswerExample(question, passage, *(span or (None, None))))
    return splits, dropped


def read_narrative_qa(folder: Path) -> ParsedTask:
    """passage, question, and two answers by two readers; the first that stands in the passage is taken."""
    splits, dropped = _empty()
    seen = Seen()
    for row in json_lines(folder / "NarrativeQA/test.jsonl"):
        passage, question = mended(row["passage"]).strip(), mended(row["question"]).strip()
        spans = (find_span(passage, mended(answer)) for answer in row["answer"])
        span = next(filter(None, spans), None)
        if span is None:
            dropped[NOT_VERBATIM] += 1
        elif seen.again(question + passage):
            dropped[EXAMPLE_AGAIN] += 1
        else:
            splits[hash_split(fingerprint(passage))].append(AnswerExample(question, passage, *span))
    return splits, dropped


def read_quac(folder: Path) -> ParsedTask:
    """passage; the questions of one conversation; for each, the answers of several readers, run together.

    The first reader's answer is taken: as many of the words as stand in the passage one after the other. A
    question comes with those before it, as "did they have any children?" means nothing alone.
    """
    splits, dropped = _empty()
    for row in json_lines(folder / "Quac/test.jsonl"):
        passage = row["passage"].strip()
        split = hash_split(fingerprint(passage))
        questions = re.findall(r"^question\d+: *(.*)$", row["question"], re.MULTILINE)
        answers = re.findall(r"^possible answers for question\d+:\n(.*)$", row["answer"], re.MULTILINE)
        for turn, answer in enumerate(answers):
            question = " ".join(map(str.strip, questions[: turn + 1]))
            if answer.startswith("CANNOTANSWER"):
                splits[split].append(AnswerExample(question, passage, None, None))
            elif span := _longest_start(passage, answer):
                splits[split].append(AnswerExample(question, passage, *span))
            else:
                dropped[NOT_VERBATIM] += 1
    return splits, dropped


def find_span(context: str, answer: str) -> tuple[int, int] | None:
    """The first place where the words of an answer stand in a text, as (start, end); or None.

    Case, blanks and the answer's full stop do not count: "40,000." is found in "some 40 , 000 people".
    """
    pieces = re.findall(r"\w+|[^\w\s]", answer.strip().removesuffix("."))
    if not pieces:
        return None
    words = r"\s*".join(map(re.escape, pieces))
    match = re.search(rf"(?<!\w){words}(?!\w)", context, re.IGNORECASE)
    return match and match.span()


def mended(text: str) -> str:
    """UTF-8 that was read as Latin-1 once too often: "suicideâ\\x80\\x94at" to "suicide—at"."""

    def mend(match: re.Match[str]) -> str:
        try:
            return match[0].encode("latin-1").decode("utf-8")
        except UnicodeDecodeError:
            return match[0]

    return _MOJIBAKE.sub(mend, text)


def _longest_start(context: str, answers: str) -> tuple[int, int] | None:
    """Where the most words from the beginning of ``answers`` stand in the context."""
    words = answers.split(" ")
    number = 0
    while number < len(words) and " ".join(words[: number + 1]) in context:
        number += 1
    if number < len(words) and " ".join(words[: number + 1]).rstrip(",") in context:  # a comma between two answers
        number += 1
    # By chance the first words of the next answer may go on where this one ends. Then they go on further.
    for begin in range(max(1, number - 3), number):
        if number < len(words) and " ".join(words[begin : number + 2]) in context:
            number = begin
            break
    text = " ".join(words[:number]).rstrip(" ,")
    start = context.find(text)
    return (start, start + len(text)) if text else None


def _empty() -> ParsedTask:
    return defaultdict(list), Counter()
