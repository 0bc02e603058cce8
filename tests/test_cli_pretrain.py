"""`bertbook pretrain`, as people call it: a folder and no more, a file of settings, and what is refused."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from bertbook import cli
from bertbook.training import DivergedError, PretrainResult, pretraining
from bertbook.training.config import PretrainConfig

TINY = ["model.hidden_size=16", "model.num_hidden_layers=1", "model.intermediate_size=16", "vocab_size=60"]


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[PretrainConfig]:
    """What training would be told; nothing is trained. The working directory is a new one."""
    seen: list[PretrainConfig] = []

    def pretrain(config: PretrainConfig, **_: Any) -> PretrainResult:
        seen.append(config)
        return PretrainResult(Path("model"), [], None, "")

    monkeypatch.setattr(pretraining, "pretrain", pretrain)
    monkeypatch.chdir(tmp_path)
    return seen


def test_a_folder_and_no_more(given: list[PretrainConfig], tmp_path: Path) -> None:
    (tmp_path / "my texts").mkdir()
    assert cli.main(["pretrain", "my texts/"]) == 0
    assert given == [PretrainConfig(corpus="my texts/", out="pretrained/my texts", minutes=10)]


@pytest.mark.parametrize(
    ("what", "out"), [("bbc-news", "bbc-news"), ("hf:owner/name", "hf-owner-name"), ("a.b.txt", "a.b")]
)
def test_each_text_has_an_out_of_its_own(what: str, out: str, given: list[PretrainConfig], tmp_path: Path) -> None:
    (tmp_path / "a.b.txt").touch()
    assert cli.main(["pretrain", what]) == 0
    assert given[0].out == f"pretrained/{out}"


def test_settings_take_the_place_of_defaults(given: list[PretrainConfig], tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    assert cli.main(["pretrain", "texts", "steps=20", "out=here", "learning_rate=1e-4", "model.hidden_size=64"]) == 0
    assert given == [
        PretrainConfig(corpus="texts", out="here", steps=20, learning_rate=1e-4, model={"hidden_size": 64})
    ]


@pytest.mark.parametrize("suffix", [".yaml", ".yml", ".YAML"])
def test_a_file_of_settings(suffix: str, given: list[PretrainConfig], tmp_path: Path) -> None:
    path = tmp_path / f"settings{suffix}"
    path.write_text(yaml.safe_dump({"corpus": "texts", "out": "run", "steps": 5, "seed": 3}), encoding="utf-8")
    assert cli.main(["pretrain", str(path), "minutes=2"]) == 0
    assert given == [PretrainConfig(corpus="texts", out="run", minutes=2, seed=3)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["texts", "step=5"], "bertbook: there is no setting step; did you mean steps?\n"),
        (["texts", "steps"], "bertbook: 'steps': expected name=value, as steps=1000\n"),
        (["texts", "steps=-1"], "bertbook: steps=-1: expected a whole number of at least 1\n"),
        (["texts", "steps=5", "tokens=5"], "bertbook: the budget is steps=5 and tokens=5: give one of"),
        (["texts", "device=cuda:1"], "bertbook: device='cuda:1': expected one of None, cpu\n"),
        (["none.yaml"], "bertbook: there is no file none.yaml\n"),
        (["broken.yaml"], "bertbook: broken.yaml is no YAML: "),
        (["other.yaml"], "bertbook: there is no setting corpsu; did you mean corpus?\n"),
        (["short.yaml"], "bertbook: corpus='': expected a name, a file or a folder, or a list of them\n"),
    ],
)
def test_wrong_settings_are_one_line_and_status_2(
    arguments: list[str], message: str, given: list[PretrainConfig], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("broken.yaml").write_text("steps: [", encoding="utf-8")
    Path("other.yaml").write_text("corpsu: texts\n", encoding="utf-8")
    Path("short.yaml").write_text("steps: 5\nout: run\n", encoding="utf-8")
    assert cli.main(["pretrain", *arguments]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith(message)
    assert shown.err.count("\n") == 1
    assert given == []


@pytest.mark.parametrize(
    ("signal", "status"), [("", 0), ("SIGINT", 130), ("SIGTERM", 143), ("a signal to another process", 143)]
)
def test_the_status_says_how_it_ended(signal: str, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pretraining, "pretrain", lambda *_, **__: PretrainResult(Path("model"), [], None, signal))
    assert cli.main(["pretrain", "texts"]) == status


@pytest.mark.parametrize("error", [ValueError, OSError, RuntimeError, DivergedError])
def test_a_run_that_fails_is_one_line_and_status_1(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def pretrain(*_: Any, **__: Any) -> None:
        raise error("what is wrong")

    monkeypatch.setattr(pretraining, "pretrain", pretrain)
    assert cli.main(["pretrain", "texts"]) == 1
    assert capsys.readouterr().err == "bertbook: what is wrong\n"


def test_no_text_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main(["pretrain"])
    assert stopped.value.code == 2
    assert "usage: bertbook pretrain" in capsys.readouterr().err


def test_for_real(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pretraining, "fast_float32", lambda: "float32 stays as it was")
    (tmp_path / "texts").mkdir()
    assert cli.main(["pretrain", "texts", "steps=2", *TINY]) == 1
    assert "bertbook: texts is empty: there is no file in it that ends in .txt" in capsys.readouterr().err
    sentences = ["The old owl eats moths.", "A young fox hunts geese.", "Hares eat clover.", "Dogs eat bones."]
    documents = ["\n".join(sentences[n % 4 :] + sentences[: n % 4] + [f"Number {n} ends."]) for n in range(40)]
    (tmp_path / "texts" / "a.txt").write_text("\n\n".join(documents), encoding="utf-8")
    assert cli.main(["pretrain", "texts", "steps=2", "batch_size=4", "eval_every=1", *TINY]) == 0
    shown = capsys.readouterr().out
    told = ["Model: 1 layers, hidden size 16", "objective: masked words and next sentence", "Budget: 2 steps, about",
            "All goes into pretrained/texts", "step      1: mlm_loss ", "step      2: mlm_loss ", "Done:"]  # fmt: skip
    places = [shown.index(text) for text in told]
    assert places == sorted(places)
    assert (tmp_path / "pretrained" / "texts" / "model" / "model.safetensors").is_file()
