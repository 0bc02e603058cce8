"""The log: whole lines or none, and a full disk does not stop a run."""

import json
import sys
import types
import warnings
from pathlib import Path
from typing import Any, Self

import pytest

from bertbook.training import read_journal
from bertbook.training.journal import Journal


@pytest.fixture(autouse=True)
def no_tensorboard(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where it is not installed."""
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)


def written(folder: Path, count: int = 4) -> Journal:
    journal = Journal(folder)
    journal.rewind(0)
    for step in range(1, count + 1):
        journal.write({"step": step, "loss": 1 / step})
    journal.close()
    return journal


def test_out_and_back(tmp_path: Path) -> None:
    path = written(tmp_path / "new" / "folder", 3).path
    assert path == tmp_path / "new" / "folder" / "log.jsonl"
    assert read_journal(path) == [{"step": 1, "loss": 1.0}, {"step": 2, "loss": 0.5}, {"step": 3, "loss": 1 / 3}]
    assert read_journal(str(path))[0] == {"step": 1, "loss": 1.0}
    assert not (path.parent / "tensorboard").exists()


def test_there_from_the_start(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.rewind(0)
    assert read_journal(journal.path) == []


def test_none(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_journal(tmp_path / "log.jsonl")


@pytest.mark.parametrize("half", ['{"step": 5, "lo', '{"step": 5, "loss": 0.2}', "\x00\x00\x00"])
def test_half_a_line_is_dropped(half: str, tmp_path: Path) -> None:
    """Also one that looks whole: without its line break nobody knows whether the number goes on."""
    journal = written(tmp_path)
    with journal.path.open("a", encoding="utf-8") as file:
        file.write(half)
    assert [entry["step"] for entry in read_journal(journal.path)] == [1, 2, 3, 4]
    journal.rewind(3)
    journal.write({"step": 4, "loss": 7.0})
    assert [entry["loss"] for entry in read_journal(journal.path)] == [1.0, 0.5, 1 / 3, 7.0]


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    path = written(tmp_path).path
    lines = path.read_text(encoding="utf-8").splitlines()
    lines[2] = lines[2][:9]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r'log\.jsonl, line 3 is no JSON: \{"step": '):
        read_journal(path)


def test_rewind_forgets_what_came_after(tmp_path: Path) -> None:
    journal = written(tmp_path)
    before = journal.path.read_text(encoding="utf-8")
    journal.rewind(2)
    assert [entry["step"] for entry in read_journal(journal.path)] == [1, 2]
    for step in (3, 4):
        journal.write({"step": step, "loss": 1 / step})
    assert journal.path.read_text(encoding="utf-8") == before


class Full:
    """A file on a disk without room: half of what is written fits."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def write(self, text: str) -> None:
        with open(self.path, "a", encoding="utf-8") as file:  # noqa: PTH123 (Path.open is what is replaced)
            file.write(text[: len(text) // 2])
        raise OSError(28, "No space left on device")


def test_a_full_disk_warns_once_and_costs_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = written(tmp_path, 2)
    with monkeypatch.context() as full:
        full.setattr(Path, "open", lambda path, *_, **__: Full(path))
        with pytest.warns(UserWarning, match=r"log\.jsonl cannot be written \(.*No space left.*\): the run goes on"):
            journal.write({"step": 3, "loss": 1.0})
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            journal.write({"step": 4, "loss": 1.0})
    journal.write({"step": 5, "loss": 1.0})  # somebody made room
    assert [entry["step"] for entry in read_journal(journal.path)] == [1, 2, 5]


def test_tensorboard_where_it_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    class SummaryWriter:
        def __init__(self, folder: Path, purge_step: int) -> None:
            seen.append((folder, purge_step))

        def add_scalar(self, name: str, value: float, step: int) -> None:
            seen.append((name, value, step))

        def close(self) -> None:
            seen.append("closed")

    module = types.ModuleType("torch.utils.tensorboard")
    module.SummaryWriter = SummaryWriter  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", module)
    journal = Journal(tmp_path)
    journal.rewind(0)
    journal.write({"step": 1, "loss": 0.5, "name": "no number"})
    journal.rewind(0)
    journal.close()
    folder = tmp_path / "tensorboard"
    assert seen == [(folder, 1), ("loss", 0.5, 1), (folder, 1), "closed"]


def test_every_line_is_json_by_itself(tmp_path: Path) -> None:
    path = written(tmp_path, 3).path
    assert [json.loads(line)["step"] for line in path.read_text(encoding="utf-8").splitlines()] == [1, 2, 3]
