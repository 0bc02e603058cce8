"""The command line: what is refused, what survives, and one true run from end to end."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import cli
from benchmarks.case import Case, FailedError, Row, Settings
from benchmarks.cli import main

ROOT = Path(__file__).parents[2]


@pytest.fixture
def light(monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """Cases that cost nothing, and peaks that nobody measures. Returns what the cases were told."""
    told: list[Settings] = []

    def good(settings: Settings) -> Iterator[Row]:
        told.append(settings)
        yield Row("good", "ours", seconds=(0.5,), flops=10**9)

    def failing(settings: Settings) -> Iterator[Row]:
        yield Row("failing", "first half", seconds=(0.5,))
        raise FailedError("the process of ours failed: it is too small\nTraceback …")

    def interrupted(settings: Settings) -> Iterator[Row]:
        yield Row("interrupted", "first half", seconds=(0.5,))
        raise KeyboardInterrupt

    cases = [Case(run.__name__, "a nap", run, default=run is good) for run in (good, failing, interrupted)]
    monkeypatch.setattr(cli, "CASES", {case.name: case for case in cases} | {"gpu": Case("gpu", "a step", good, False)})
    peaks = {"switch": "", "float32": 1e9, "bfloat16": 1e9, "bandwidth": 1e9}
    monkeypatch.setattr(cli, "peaks", lambda threads, device: peaks)
    return told


def test_the_cases_that_run_when_none_is_named(light: list[Settings], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--threads", "3", "--quick"]) == 0
    assert light == [Settings(quick=True, threads=3)]
    out = capsys.readouterr().out
    assert "| good | ours |" in out
    assert out.count("| case") == 1


def test_a_case_that_fails_leaves_the_others(light: list[Settings], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--case", "failing", "--case", "good"]) == 1
    captured = capsys.readouterr()
    assert "| first half |" in captured.out
    assert "failed: the process of ours failed: it is too small" in captured.out
    assert "| good " in captured.out
    assert "Traceback …" in captured.err
    assert "Traceback" not in captured.out


def test_ctrl_c_prints_what_was_measured(
    light: list[Settings], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "figures.json"
    assert main(["--case", "good", "--case", "interrupted", "--case", "failing", "--json", str(file)]) == 130
    out = capsys.readouterr().out
    assert "| good " in out
    assert "| first half |" in out
    assert [row["case"] for row in json.loads(file.read_text(encoding="utf-8"))["rows"]] == ["good", "interrupted"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--case", "trian"], "invalid choice: 'trian' (choose from "),
        (["--threads", "0"], "--threads 0: at least 1"),
        (["--threads", "two"], "invalid int value: 'two'"),
        (["--json", "no/such/folder/x.json"], "--json no/such/folder/x.json: there is no such folder"),
        (["--device", "cuda"], "--device cuda: only the case gpu runs elsewhere than on the CPU; add --gpu"),
        (["--gpu", "--case", "good"], "gpu runs by itself"),
        (["--gpu", "--device", "gpu"], "Without a GPU: --gpu --device cpu --quick"),
        (["--gpu", "--device", "cuda:99"], "Without a GPU: --gpu --device cpu --quick"),
        (["--quik"], "unrecognized arguments: --quik"),
    ],
)
def test_one_clear_error(
    light: list[Settings], arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    assert message in capsys.readouterr().err.splitlines()[-1]
    assert light == []


def test_every_case_is_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    assert (
        "train, train-apart, pretrain, pretrain-apart, infer, record, ladder, gpu; "
        "default: train, train-apart, pretrain, pretrain-apart, infer, record"
    ) in " ".join(capsys.readouterr().out.split())


def test_from_end_to_end(tmp_path: Path) -> None:
    """As a reader starts it: real models in a process of their own, one table, one file."""
    file = tmp_path / "figures.json"
    command = [sys.executable, "-m", "benchmarks", "--quick", "--threads", "1", "--case", "train", "--json", file]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    assert "Measured peaks" in done.stdout
    assert "| train | transformers " in done.stdout
    figures = json.loads(file.read_text(encoding="utf-8"))
    assert figures["quick"] is True
    assert figures["peaks"]["float32"] > 1e8
    assert "float32 " in figures["peaks"]["switch"]
    rows = {row["side"]: row for row in figures["rows"]}
    assert list(rows) == ["transformers", "bertbook", "transformers, bf16", "bertbook, bf16"]
    assert all(len(row["seconds"]) == 2 and min(row["seconds"]) > 0 for row in rows.values())
    assert len({row["flops"] for row in rows.values()}) == 1
    assert rows["bertbook"]["ratio"]["median"] > 0
    assert rows["transformers"]["ratio"] is None


def test_the_code_for_gpus_runs_on_a_cpu(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    peaks = {"switch": "", "float32": 1e9, "bfloat16": 1e9, "bandwidth": 1e9}
    monkeypatch.setattr(cli, "peaks", lambda threads, device: peaks)
    assert main(["--gpu", "--device", "cpu", "--quick", "--threads", "1"]) == 0
    rows = [line.split("|") for line in capsys.readouterr().out.splitlines() if line.startswith("| gpu tiny, 24")]
    assert [cells[2].strip() for cells in rows] == ["transformers", "bertbook"]
    assert float(rows[1][7]) > 0
