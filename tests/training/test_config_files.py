"""Settings as YAML and from the command line: nothing is lost, and a slip is named."""

from pathlib import Path
from typing import Any

import pytest

from bertbook.training import Phase, PretrainConfig
from bertbook.training.config_files import differences, make_config, override, read_settings, write_config

RUN: dict[str, Any] = {"steps": 10, "corpus": "texts", "out": "run"}
CONFIGS = {
    "defaults": PretrainConfig(**RUN),
    "much": PretrainConfig(
        corpus=("one", "zwölf und 十二"), out="a b/c", minutes=1.5, learning_rate=3e-4, betas=(0.9, 0.999),
        max_grad_norm=None, phases=(Phase(0.9, 32, 16), Phase(1, 64, 4)), model={"preset": "tiny", "crf": False},
        whole_words=True, objective="sop", language="zh", seed=3,
    ),
    "start": PretrainConfig(**RUN, start="minilm", tokenizer="some folder"),
}  # fmt: skip


@pytest.mark.parametrize("name", CONFIGS)
def test_out_and_back(name: str, tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    write_config(CONFIGS[name], path)
    again = make_config(read_settings(path))
    assert again == CONFIGS[name]
    assert differences(again, CONFIGS[name]) == []
    assert [file.name for file in tmp_path.iterdir()] == ["config.yaml"]


def test_a_file_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(
        "# a first try\ncorpus: [a, b]\nout: run\ntokens: 1e6\nlearning_rate: 1e-3  # no point: text in YAML 1.1\n"
        "objective: none\nmodel: {hidden_size: 64}\n",
        encoding="utf-8",
    )
    assert make_config(read_settings(path)) == PretrainConfig(
        corpus=("a", "b"), out="run", tokens=1_000_000, learning_rate=0.001, objective="none",
        model={"hidden_size": 64},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected settings, a `name: value` a line; found NoneType"),
        ("- a\n- b\n", "expected settings, .* found list"),
        ("just words", "found str"),
        ("steps: 3\n  out: x\n", r"config\.yaml is no YAML: .*line 2"),
        ("steps: [3\n", r"config\.yaml is no YAML"),
        (b"out: \xff\xfe", r"config\.yaml is no YAML: 'utf-8' codec"),
    ],
)
def test_files_that_are_no_settings(text: str | bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ValueError, match=message):
        read_settings(path)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no file .*config\.yml"):
        read_settings(tmp_path / "config.yml")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"step": 3}, r"there is no setting step; did you mean steps\?"),
        ({"learning-rate": 3}, r"there is no setting learning-rate; did you mean learning_rate\?"),
        ({"qqq": 3}, "there is no setting qqq; known are steps, tokens, minutes, learning_rate"),
        ({5: 3}, "there is no setting 5; known are"),
    ],
)
def test_unknown_settings(settings: dict[Any, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_config(RUN | settings)


class TestOverrides:
    def test_values_are_yaml(self) -> None:
        changed = override(
            RUN,
            ["learning_rate=3e-4", "out=my eel", "whole_words=true", "max_grad_norm=null", "corpus=[a, b]",
             "phases=[{until: 1, max_length: 8, batch_size: 2}]", "start=a=b"],
        )  # fmt: skip
        assert changed == {
            "steps": 10, "out": "my eel", "learning_rate": 3e-4, "whole_words": True, "max_grad_norm": None,
            "corpus": ["a", "b"], "phases": [{"until": 1, "max_length": 8, "batch_size": 2}], "start": "a=b",
        }  # fmt: skip
        assert RUN == {"steps": 10, "corpus": "texts", "out": "run"}

    def test_the_last_one_holds(self) -> None:
        assert override(RUN, ["seed=1", "seed=2"])["seed"] == 2

    def test_a_budget_takes_the_place_of_the_one_before(self) -> None:
        assert override(RUN, ["minutes=3"]) == {"corpus": "texts", "out": "run", "minutes": 3}

    def test_but_two_are_too_many(self) -> None:
        with pytest.raises(ValueError, match="the budget is steps=20 and minutes=3: give one"):
            make_config(override(RUN, ["minutes=3", "steps=20"]))

    def test_one_size_of_the_model(self) -> None:
        changed = override(RUN | {"model": {"num_hidden_layers": 3}}, ["model.hidden_size=64"])
        assert changed["model"] == {"num_hidden_layers": 3, "hidden_size": 64}
        assert make_config(override(RUN, ["model.preset=base"])).model_config(300).num_hidden_layers == 12

    @pytest.mark.parametrize(
        ("setting", "message"),
        [
            ("steps", "'steps': expected name=value, as steps=1000"),
            ("step=5", r"there is no setting step; did you mean steps\?"),
            ("modle.hidden_size=5", r"there is no setting modle; did you mean model\?"),
            ("steps.a=5", r"'steps\.a=5': only the model has settings of its own"),
            ("steps=[5", r"'steps=\[5': the value is no YAML"),
        ],
    )
    def test_refused(self, setting: str, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            override(RUN, [setting])

    def test_an_unknown_size(self) -> None:
        with pytest.raises(ValueError, match=r"no setting model\.hiddensize; did you mean model\.hidden_size\?"):
            make_config(override(RUN, ["model.hiddensize=64"]))


def test_differences_are_those_that_change_what_is_learnt() -> None:
    one = PretrainConfig(**RUN)
    same = PretrainConfig(**{**RUN, "out": "elsewhere"}, log_every=1, eval_every=7, save_every=3, keep=5, workers=2)
    assert differences(one, same) == []
    other = PretrainConfig(**{**RUN, "steps": 20}, model={"hidden_size": 64})
    told = differences(one, other)
    assert told[0] == "steps: 10, now 20"
    assert [line.split(":")[0] for line in told] == ["steps", "model"]
