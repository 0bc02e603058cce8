"""What a run is told: defaults, and what is refused in which words."""

from dataclasses import FrozenInstanceError, fields
from typing import Any

import pytest

from bertbook import BertConfig
from bertbook.training import Phase, PretrainConfig, TrainConfig
from bertbook.training.config import FREE, SMALL

RUN: dict[str, Any] = {"steps": 10, "corpus": "texts", "out": "run"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "the budget is none: give one of steps, tokens and minutes"),
        ({"steps": 5, "minutes": 2}, "the budget is steps=5 and minutes=2: give one"),
        ({"steps": 0}, "steps=0: expected a whole number of at least 1"),
        ({"steps": 2.5}, r"steps=2\.5: expected a whole number"),
        ({"steps": True}, "steps=True: expected a whole number"),
        ({"tokens": -1}, "tokens=-1: expected a whole number"),
        ({"minutes": 0}, "minutes=0: expected above 0"),
        ({"minutes": "ten"}, "minutes='ten': expected above 0"),
        ({"minutes": float("inf")}, "minutes=inf"),
    ],
)
def test_budgets_that_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TrainConfig(**settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"learning_rate": 0}, "learning_rate=0: expected above 0"),
        ({"learning_rate": float("nan")}, "learning_rate=nan: expected above 0"),
        ({"learning_rate": "1e-3"}, "learning_rate='1e-3': expected above 0"),
        ({"eps": 0}, "eps=0: expected above 0"),
        ({"max_grad_norm": -1}, "max_grad_norm=-1: expected above 0"),
        ({"warmup": 1}, "warmup=1: expected a share from 0 up to, not including, 1"),
        ({"warmup": -0.1}, r"warmup=-0\.1: expected a share"),
        ({"weight_decay": -0.01}, r"weight_decay=-0\.01: expected a number of at least 0"),
        ({"betas": 0.9}, r"betas=0\.9: expected two numbers"),
        ({"betas": (0.9,)}, r"betas=\(0\.9,\): expected two numbers"),
        ({"betas": (0.9, 1.0)}, r"betas=\(0\.9, 1\.0\): expected two numbers from 0 up to, not including, 1"),
        ({"accumulation": 0}, "accumulation=0: expected a whole number of at least 1"),
        ({"log_every": 0}, "log_every=0"),
        ({"eval_every": 0}, "eval_every=0"),
        ({"save_every": None}, "save_every=None: expected a whole number"),
        ({"keep": 1}, "keep=1: expected a whole number of at least 2: one more, if the newest is damaged"),
        ({"seed": -1}, "seed=-1: expected a whole number of at least 0"),
        ({"schedule": "linaer"}, "schedule='linaer': expected one of linear, cosine, constant"),
        ({"precision": "fp8"}, "precision='fp8': expected one of float32, bf16, fp16"),
        ({"device": "cuda:7"}, "device='cuda:7': expected one of None, cpu"),
        ({"compile": "yes"}, "compile='yes': expected true or false"),
        ({"gradient_checkpointing": 1}, "gradient_checkpointing=1: expected true or false"),
    ],
)
def test_settings_of_training_that_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TrainConfig(steps=5, **settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"corpus": ""}, "corpus='': expected a name, a file or a folder, or a list of them"),
        ({"corpus": []}, r"corpus=\(\): expected a name"),
        ({"corpus": ["texts", ""]}, r"corpus=\('texts', ''\): expected a name"),
        ({"corpus": 5}, "corpus=5: expected a name"),
        ({"out": ""}, "out='': expected a folder"),
        ({"start": 3}, "start=3: expected a name or a folder"),
        ({"tokenizer": 3}, "tokenizer=3: expected a name or a folder"),
        ({"vocab_size": 0}, "vocab_size=0: expected a whole number of at least 1"),
        ({"batch_size": 0}, "batch_size=0: expected a whole number of at least 1"),
        ({"batch_size": 8.0}, r"batch_size=8\.0: expected a whole number"),
        ({"max_length": 0}, "max_length=0: expected a whole number of at least 1"),
        ({"max_length": 513}, "max_length=513, and the model has 512 positions: shorten .*max_position_embeddings"),
        ({"eval_examples": 0}, "eval_examples=0: expected a whole number of at least 1"),
        ({"workers": -1}, "workers=-1: expected a whole number of at least 0"),
        ({"objective": "mlm"}, "objective='mlm': expected nsp, sop, none, or nothing to have it chosen"),
        ({"mask_rate": 0}, "mask_rate=0: expected more than 0: else there is nothing to learn"),
        ({"mask_rate": 1.5}, r"mask_rate=1\.5: expected a share from 0 to 1"),
        ({"mask_share": "half"}, "mask_share='half': expected a share from 0 to 1"),
        ({"random_share": -0.1}, r"random_share=-0\.1: expected a share from 0 to 1"),
        ({"whole_words": "no"}, "whole_words='no': expected true or false"),
        ({"model": 5}, "model=5: expected sizes by name, as {hidden_size: 256}"),
        ({"model": {"hidden": 64}}, r"there is no setting model\.hidden; did you mean model\.hidden_"),
        ({"model": {"hidden_size": 100, "num_attention_heads": 3}}, "model: hidden_size=100 cannot be split into"),
        ({"model": {"preset": "huge"}}, "model: unknown preset 'huge': choose one of"),
        ({"model": {"hidden_size": 64}, "start": "minilm"}, "start='minilm' has its sizes: leave the settings"),
        ({"phases": 3}, "phases=3: expected legs with until"),
        ({"phases": [{"until": 1}]}, "expected legs with until, max_length and batch_size"),
        ({"phases": [Phase(0.5, 32, 8)]}, r"phases until 0\.5: expected legs .* until rises up to 1"),
        ({"phases": [Phase(0.9, 32, 8), Phase(0.5, 64, 4), Phase(1, 64, 4)]}, r"phases until 0\.9, 0\.5, 1: expected"),
        ({"phases": [Phase(1, 32, 0)]}, "batch_size=0.*: max_length and batch_size are whole numbers of at least 1"),
        ({"phases": [Phase(0.5, 32, 8), Phase(1, 600, 8)]}, "max_length=600, and the model has 512 positions"),
    ],
)
def test_settings_of_pretraining_that_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PretrainConfig(**{**RUN, **settings})


def test_the_budget_and_its_unit() -> None:
    assert (TrainConfig(steps=7).unit, TrainConfig(steps=7).budget) == ("steps", 7.0)
    assert (TrainConfig(tokens=1000).unit, TrainConfig(tokens=1000).budget) == ("tokens", 1000.0)
    assert (TrainConfig(minutes=0.5).unit, TrainConfig(minutes=0.5).budget) == ("minutes", 0.5)


def test_one_leg_or_several() -> None:
    plain = PretrainConfig(**RUN, max_length=64, batch_size=16)
    assert plain.legs == (Phase(1.0, 64, 16),)
    two = PretrainConfig(**RUN, phases=[{"until": 0.9, "max_length": 32, "batch_size": 16}, Phase(1, 64, 4)])  # type: ignore[arg-type]
    assert two.legs == (Phase(0.9, 32, 16), Phase(1, 64, 4))


def test_one_corpus_or_several() -> None:
    assert PretrainConfig(**RUN).corpora == ("texts",)
    assert PretrainConfig(**{**RUN, "corpus": ["one", "two"]}).corpora == ("one", "two")


class TestModel:
    def test_the_small_one_where_nothing_is_said(self) -> None:
        assert PretrainConfig(**RUN).model_config(300, 4) == BertConfig(**SMALL, vocab_size=300, pad_token_id=4)

    def test_what_is_not_given_is_that_of_the_small_one(self) -> None:
        config = PretrainConfig(**RUN, model={"num_hidden_layers": 3})
        assert config.model_config(300) == BertConfig(**{**SMALL, "num_hidden_layers": 3}, vocab_size=300)

    def test_a_preset_has_its_own_sizes(self) -> None:
        config = PretrainConfig(**RUN, model={"preset": "base", "hidden_dropout_prob": 0.2})
        assert config.model_config(300) == BertConfig.preset("base", vocab_size=300, hidden_dropout_prob=0.2)

    def test_a_table_with_more_rows_than_tokens(self) -> None:
        config = PretrainConfig(**RUN, model={"vocab_size": 320})
        assert config.model_config(300).vocab_size == 320
        with pytest.raises(ValueError, match=r"model\.vocab_size=320, and the tokenizer has 321 tokens: leave"):
            config.model_config(321)


def test_nothing_can_be_changed_afterwards() -> None:
    with pytest.raises(FrozenInstanceError):
        PretrainConfig(**RUN).steps = 5  # type: ignore[misc]


def test_every_free_setting_exists() -> None:
    assert {field.name for field in fields(PretrainConfig)} > FREE
