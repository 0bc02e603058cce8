"""The reader's own examples."""

import json
import warnings
from pathlib import Path

import pytest

from bertbook.data import DataError, load_task
from bertbook.data.task import AnswerExample, PairExample, SentenceExample, TokensExample
from tests.data.test_own_corpus import write

NUMBERED = "text,label\n" + "".join(f"Text number {n},{'good' if n % 2 else 'bad'}\n" for n in range(100))


def folder(root: Path, name: str = "{}.jsonl", **splits: list[dict[str, object]]) -> Path:
    for split, rows in splits.items():
        write(root / name.format(split), "".join(json.dumps(row) + "\n" for row in rows))
    return root


def test_a_file_is_split_by_its_texts(tmp_path: Path) -> None:
    task = load_task(write(tmp_path / "reviews.csv", NUMBERED))
    assert (task.kind, task.labels, task.metric, task.card) == ("sentence", ("bad", "good"), "accuracy", None)
    assert sum(len(part) for part in (task.train, task.dev, task.test)) == 100
    assert min(len(task.dev), len(task.test)) > 3
    shuffled = "text,label\n" + "".join(sorted(NUMBERED.splitlines(keepends=True)[1:], reverse=True))
    again = load_task(write(tmp_path / "again.csv", shuffled))
    assert set(again.dev) == set(task.dev)  # whatever the order
    assert task.counts["train"]["good"] == sum(e.label == "good" for e in task.train)  # type: ignore[union-attr]


def test_a_folder_is_split_already(tmp_path: Path) -> None:
    rows = [{"text": f"{n}", "label": n % 3} for n in range(9)]
    task = load_task(folder(tmp_path, train=rows[:6], validation=rows[6:8], test=rows[8:]))
    assert task.labels == ("0", "1", "2")
    assert task.dev == (SentenceExample("6", "0"), SentenceExample("7", "1"))
    assert [len(task.train), len(task.test)] == [6, 1]


@pytest.mark.parametrize(
    ("row", "example", "kind", "metric"),
    [
        ({"sentence": "a", "label": True}, SentenceExample("a", "yes"), "sentence", "accuracy"),
        ({"text_a": "a", "text_b": "b", "label": "x"}, PairExample("a", "b", "x"), "pair", "accuracy"),
        ({"sentence1": "a", "sentence2": "b", "score": "2.5"}, PairExample("a", "b", 2.5), "pair", "spearman"),
        ({"premise": "a", "hypothesis": "b", "label": 1}, PairExample("a", "b", "1"), "pair", "accuracy"),
        ({"words": "a b", "tags": "X Y"}, TokensExample(("a", "b"), ("X", "Y")), "tokens", "token_accuracy"),
        ({"tokens": ["a b"], "ner_tags": ["B-X"]}, TokensExample(("a b",), ("B-X",)), "tokens", "span_f1"),
        (
            {"question": "q", "context": "a b a", "answer": "a"},
            AnswerExample("q", "a b a", 0, 1),
            "answers",
            "answer_f1",
        ),
        (
            {"question": "q", "context": "a b a", "answer": "a", "start": 4},
            AnswerExample("q", "a b a", 4, 5),
            "answers",
            "answer_f1",
        ),
        ({"question": "q", "context": "a", "answer": ""}, AnswerExample("q", "a", None, None), "answers", "answer_f1"),
        (
            {"question": "q", "context": "a b", "answers": {"text": ["b"], "answer_start": [2]}},
            AnswerExample("q", "a b", 2, 3),
            "answers",
            "answer_f1",
        ),
        (
            {"question": "q", "context": "a b", "answers": {"text": [], "answer_start": []}},
            AnswerExample("q", "a b", None, None),
            "answers",
            "answer_f1",
        ),
    ],
)
def test_kinds(row: dict[str, object], example: object, kind: str, metric: str, tmp_path: Path) -> None:
    task = load_task(folder(tmp_path, train=[row]))
    assert (task.train, task.kind, task.metric) == ((example,), kind, metric)


def test_questions_on_a_context_stay_together(tmp_path: Path) -> None:
    rows = [{"question": f"q{n}", "context": f"c{n // 5}", "answer": "c"} for n in range(100)]
    task = load_task(write(tmp_path / "a.jsonl", "".join(json.dumps(row) + "\n" for row in rows)))
    where: dict[str, set[str]] = {}
    for split in ("train", "dev", "test"):
        for example in getattr(task, split):
            where.setdefault(example.context, set()).add(split)
    assert len(where) == 20
    assert all(len(splits) == 1 for splits in where.values())


def test_repeats_and_contradictions_are_left_out_with_a_warning(tmp_path: Path) -> None:
    def row(text: str, label: str) -> dict[str, object]:
        return {"text": text, "label": label}

    path = folder(
        tmp_path,
        train=[row("a", "x"), row("b", "y"), row("B!", "y"), row("of test", "x"), row("both", "x")],
        dev=[row("both", "y"), row("c", "x")],
        test=[row("of test", "x")],
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        task = load_task(path)
    assert [[e.text for e in part] for part in (task.train, task.dev, task.test)] == [["a", "b"], ["c"], ["of test"]]  # type: ignore[union-attr]
    one, two = (str(warning.message) for warning in caught)
    assert "1 texts have two labels and are left out, as is" in one
    assert "dev.jsonl, line 1, and" in one
    assert "train.jsonl, line 5" in one
    assert "2 examples repeat another and are left out, as is" in two
    assert {Path(warning.filename).name for warning in caught} == {Path(__file__).name}


def test_labels_can_be_given(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "text,label\na,good\n")
    assert load_task(path, labels=["bad", "good"]).labels == ("bad", "good")
    with pytest.raises(DataError, match=r"a.csv, line 2: the label 'good' is unknown; .* 'bad'$"):
        load_task(path, labels=["bad"])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "", r"a.csv is empty: there is no example"),
        ("a.csv", "text,label\n", r"a.csv is empty: there is no example"),
        ("a.csv", "text,label\na,x\nb,\n", r"line 3: the label is missing; the fields are text, label"),
        ("a.csv", "text\na\n", r"line 2: the label is missing; the fields are text"),
        ("a.csv", "text,label\n ,x\n", r"line 2: the field 'text' is empty"),
        ("a.csv", 'text,label\n"a,x\n', r"line 2: a quote \(\"\) is opened here and not closed"),
        ("a.csv", "one,two\na,x\n", r"line 2: the fields one, two make no task. Expected text and label"),
        ("a.jsonl", '{"text": 3, "label": "x"}', r"line 1: the field 'text' is '3' \(int\); expected a string"),
        ("a.jsonl", '{"text": "a", "label": 0.5}', r"line 1: the label is '0.5' \(float\); .* a field 'score'"),
        ("a.jsonl", '{"text": "a", "label": "x"}\n{"sentence": "b"}', r"line 2: the field 'text' is missing"),
        ("a.jsonl", '{"words": ["a"], "tags": []}', r"line 1: the field 'tags' is empty"),
        ("a.jsonl", '{"words": ["a", "b"], "tags": ["X"]}', r"line 1: 2 words and 1 tags: each word needs one"),
        ("a.jsonl", '{"words": ["a", ""], "tags": ["X", "Y"]}', r"line 1: the field 'words' is .*none empty"),
        ("a.jsonl", '{"first": "a", "second": "b", "score": "high"}', r"line 1: the score is 'high' \(str\)"),
        ("a.jsonl", '{"first": "a", "second": "b", "score": NaN}', r"line 1: the score is 'nan'"),
        (
            "a.jsonl",
            '{"question": "q", "context": "c", "answer": "d"}',
            r"the answer 'd' does not stand in the context$",
        ),
        (
            "a.jsonl",
            '{"question": "q", "context": "cd", "answer": "d", "start": 0}',
            r"the answer 'd' does not stand in the context at character 0",
        ),
        ("a.jsonl", '{"question": "q", "context": "c", "answer": "c", "start": "x"}', r"the start is 'x'"),
        ("a.jsonl", '{"question": "q", "context": "c", "answer": 3}', r"the answer is '3' \(int\)"),
        ("a.jsonl", '{"text": "\\ud800", "label": "x"}', r"line 1: character 0 is \\ud800"),
        ("a.txt", "a", r"a.txt: .* it ends in one of .jsonl, .csv, .tsv"),
    ],
)
def test_refused(name: str, content: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message) as failed:
        load_task(write(tmp_path / name, content))
    assert name in str(failed.value)


def test_folders_that_are_refused(tmp_path: Path) -> None:
    good = {"text": "a", "label": "x"}
    with pytest.raises(DataError, match=r"reviews.jsonl: the files of a task's folder are called train, dev"):
        load_task(folder(tmp_path / "1", reviews=[good]))
    with pytest.raises(DataError, match=r"dev.jsonl, line 1: the label 'y' is unknown; the training examples have 'x'"):
        load_task(folder(tmp_path / "2", train=[good], dev=[{"text": "b", "label": "y"}]))
    with pytest.raises(DataError, match=r"mixes examples of different kinds \(sentence, tokens\)"):
        load_task(folder(tmp_path / "3", train=[good], dev=[{"words": "a", "tags": "x"}]))
    with pytest.raises(DataError, match="has no example to train on"):
        load_task(folder(tmp_path / "4", test=[good]))
    folder(tmp_path / "5", dev=[good], validation=[good])
    with pytest.raises(DataError, match=r"validation.jsonl: the files of a task's folder .*one each"):
        load_task(tmp_path / "5")


def test_names_that_mean_nothing() -> None:
    with pytest.raises(ValueError, match=r"there is no task 'boolqq': choose one of rotten-tomatoes, .*mean 'boolq'\?"):
        load_task("boolqq")
    with pytest.raises(FileNotFoundError, match=r"there is no file or folder missing.csv"):
        load_task("missing.csv")
