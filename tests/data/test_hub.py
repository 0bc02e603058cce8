"""Sources `hf:`, from folders on this machine: no hub is asked."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bertbook.data import DataError, Task, load_corpus, load_task
from bertbook.data.task import AnswerExample, PairExample, SentenceExample, TokensExample

datasets = pytest.importorskip("datasets")


@pytest.fixture(autouse=True)
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    datasets.disable_progress_bars()


def table(folder: Path, **splits: "datasets.Dataset") -> str:
    folder.mkdir(exist_ok=True)
    for split, rows in splits.items():
        rows.to_parquet(folder / f"{split}-00000-of-00001.parquet")
    return f"hf:{folder}"


def texts(*texts: str | None) -> "datasets.Dataset":
    return datasets.Dataset.from_dict(
        {"text": list(texts)}, features=datasets.Features({"text": datasets.Value("string")})
    )


def test_a_corpus(tmp_path: Path) -> None:
    name = table(
        tmp_path / "wiki",
        train=texts("One here. Two here.", "", None, "第三。第四。", "One here. Two here."),
        validation=texts("Held out."),
    )
    train, held_out, both = (load_corpus(name, split) for split in ("train", "held-out", "all"))
    assert [(d.sentences, d.name) for d in train] == [
        (("One here.", "Two here."), f"{name}, row 0"),
        (("第三。", "第四。"), f"{name}, row 3"),
    ]
    assert [d.sentences for d in held_out] == [("Held out.",)]
    assert [d.sentences for d in both] == [*(d.sentences for d in train), ("Held out.",)]
    assert train._read.__self__.rows.cache_files  # type: ignore[union-attr]  # mapped from the disk, not in memory


def test_blocks_are_held_out_where_the_set_holds_out_none(tmp_path: Path) -> None:
    name = table(tmp_path / "set", train=texts(*(f"Text {n}." for n in range(40))))
    parts = [{d.sentences for d in load_corpus(name, split)} for split in ("train", "held-out", "all")]
    assert [len(part) for part in parts] == [38, 2, 40]
    assert parts[0] | parts[1] == parts[2]


def test_another_column(tmp_path: Path) -> None:
    name = table(tmp_path / "set", train=datasets.Dataset.from_dict({"content": ["A text."]}))
    assert [d.sentences for d in load_corpus(name, column="content")] == [("A text.",)]
    with pytest.raises(DataError, match=r"has the columns content: say which holds the text, column="):
        load_corpus(name)


def test_tasks(tmp_path: Path) -> None:
    label = datasets.ClassLabel(names=["bad", "good"])
    features = datasets.Features({"sentence": datasets.Value("string"), "label": label, "idx": datasets.Value("int32")})
    rows = {"sentence": ["a", "b"], "label": [1, 0], "idx": [0, 1]}
    hidden = {"sentence": ["c"], "label": [-1], "idx": [0]}
    name = table(
        tmp_path / "sst",
        train=datasets.Dataset.from_dict(rows, features=features),
        test=datasets.Dataset.from_dict(hidden, features=features),
    )
    task = load_task(name)
    assert task.train == (SentenceExample("a", "good"), SentenceExample("b", "bad"))
    assert (task.dev, task.test, task.labels) == ((), (), ("bad", "good"))

    def load(**columns: list[object]) -> Task:
        rows = datasets.Dataset.from_dict(columns)
        return load_task(table(tmp_path / "-".join(columns), train=rows.select([0]), validation=rows.select([1])))

    task = load(sentence1=["a", "c"], sentence2=["b", "d"], label=[2.5, 0.0])
    assert (task.train, task.metric) == ((PairExample("a", "b", 2.5),), "spearman")
    squad = [{"text": ["b"], "answer_start": [2]}, {"text": [], "answer_start": []}]
    task = load(question=["q", "q"], context=["a b", "c"], answers=squad)
    assert (task.train, task.dev) == ((AnswerExample("q", "a b", 2, 3),), (AnswerExample("q", "c", None, None),))

    tags = datasets.Sequence(datasets.ClassLabel(names=["O", "B-PER"]))
    features = datasets.Features({"tokens": datasets.Sequence(datasets.Value("string")), "ner_tags": tags})
    tagged = datasets.Dataset.from_dict(
        {"tokens": [["He", "Ann"], ["It"]], "ner_tags": [[0, 1], [0]]}, features=features
    )
    task = load_task(table(tmp_path / "conll", train=tagged.select([0]), validation=tagged.select([1])))
    assert task.train == (TokensExample(("He", "Ann"), ("O", "B-PER")),)


def test_a_folder_of_plain_files(tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    for split, number in (("train", 3), ("test", 1)):
        rows = (json.dumps({"text": f"{split} {n}", "label": f"l{n % 2}"}) for n in range(number))
        (tmp_path / f"set/{split}.jsonl").write_text("\n".join(rows), encoding="utf-8")
    task = load_task(f"hf:{tmp_path / 'set'}")
    assert [len(part) for part in (task.train, task.dev, task.test)] == [3, 0, 1]


def test_errors(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"hf:nobody/nothing could not be loaded: .*A source is 'hf:owner/name'"):
        load_corpus("hf:nobody/nothing")
    name = table(tmp_path / "set", test=texts("a"))
    for load in (load_corpus, load_task):
        with pytest.raises(DataError, match=r"has the splits test, and none is called train"):
            load(name)
    with pytest.raises(DataError, match=r"is empty: no row of the column text holds text"):
        load_corpus(table(tmp_path / "none", train=texts("", None)))
    with pytest.raises(DataError, match=r"row 0: the label is missing"):
        load_task(table(tmp_path / "bare", train=texts("a")))


def test_without_the_library() -> None:
    code = (
        "import sys; sys.modules['datasets'] = None\n"
        "from bertbook.data import load_corpus\n"
        "try: load_corpus('hf:owner/name')\n"
        "except ImportError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "hf:owner/name is loaded through the `datasets` library" in done.stdout
    assert "pip install 'bertbook[data]'" in done.stdout
