"""Sizes: the published ones, the impossible ones, and config.json both ways."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import transformers

from bertbook import BertConfig

# As published with the checkpoint, keys that we do not use included.
BASE_CHINESE = {
    "architectures": ["BertForMaskedLM"],
    "attention_probs_dropout_prob": 0.1,
    "directionality": "bidi",
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1,
    "hidden_size": 768,
    "initializer_range": 0.02,
    "intermediate_size": 3072,
    "layer_norm_eps": 1e-12,
    "max_position_embeddings": 512,
    "model_type": "bert",
    "num_attention_heads": 12,
    "num_hidden_layers": 12,
    "pad_token_id": 0,
    "pooler_fc_size": 768,
    "pooler_num_attention_heads": 12,
    "pooler_num_fc_layers": 3,
    "pooler_size_per_head": 128,
    "pooler_type": "first_token_transform",
    "type_vocab_size": 2,
    "vocab_size": 21128,
}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"vocab_size": 0}, "vocab_size=0: it must be a whole number of at least 1"),
        ({"hidden_size": -768}, "hidden_size=-768: it must be a whole number of at least 1"),
        ({"num_hidden_layers": 2.0}, "num_hidden_layers=2.0: it must be a whole number of at least 1"),
        ({"num_attention_heads": "12"}, "num_attention_heads='12': it must be a whole number of at least 1"),
        ({"intermediate_size": None}, "intermediate_size=None: it must be a whole number of at least 1"),
        ({"max_position_embeddings": True}, "max_position_embeddings=True: it must be a whole number of at least 1"),
        ({"type_vocab_size": 0}, "type_vocab_size=0: it must be a whole number of at least 1"),
        (
            {"num_attention_heads": 10},
            "hidden_size=768 cannot be split into num_attention_heads=10 heads of equal size: "
            "the number of heads must divide it; the nearest that does is 8",
        ),
        ({"hidden_act": "swish"}, "hidden_act='swish': choose one of gelu, gelu_new, relu"),
        ({"hidden_dropout_prob": 1}, "hidden_dropout_prob=1: a probability from 0 up to, not including, 1"),
        ({"hidden_dropout_prob": -0.1}, "hidden_dropout_prob=-0.1: a probability"),
        ({"attention_probs_dropout_prob": float("nan")}, "attention_probs_dropout_prob=nan: a probability"),
        ({"attention_probs_dropout_prob": "0.1"}, "attention_probs_dropout_prob='0.1': a probability"),
        ({"initializer_range": 0}, "initializer_range=0: it must be a positive number"),
        ({"layer_norm_eps": float("inf")}, "layer_norm_eps=inf: it must be a positive number"),
        ({"layer_norm_eps": float("nan")}, "layer_norm_eps=nan: it must be a positive number"),
        ({"pad_token_id": 30522}, "pad_token_id=30522: it must be an id of the vocabulary, 0 to 30521"),
        ({"pad_token_id": -1}, "pad_token_id=-1: it must be an id of the vocabulary"),
        ({"pad_token_id": None}, "pad_token_id=None: it must be an id of the vocabulary"),
        ({"pad_token_id": False}, "pad_token_id=False: it must be an id of the vocabulary"),
    ],
)
def test_impossible_sizes(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        BertConfig(**changes)
    with pytest.raises(ValueError, match=re.escape(message)):
        BertConfig.from_dict(changes)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("model_type", "roberta"),
        ("position_embedding_type", "relative_key"),
        ("is_decoder", True),
        ("add_cross_attention", True),
    ],
)
def test_computations_that_this_model_does_not_do(key: str, value: Any) -> None:
    message = f"config has {key}={value!r}; this model computes {key}=.* only. Load a BERT checkpoint"
    with pytest.raises(ValueError, match=message):
        BertConfig.from_dict({key: value})


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("hidden_sizes", "hidden_size"),
        ("num_attention_head", "num_attention_heads"),
        ("layer_norm_epsilon", "layer_norm_eps"),
        ("max_positions_embeddings", "max_position_embeddings"),
    ],
)
def test_a_misspelt_key_is_not_ignored(wrong: str, right: str) -> None:
    with pytest.raises(ValueError, match=f"unknown key '{wrong}'; did you mean '{right}'"):
        BertConfig.from_dict({wrong: 4})


def test_published_configs() -> None:
    assert BertConfig.from_dict(BASE_CHINESE) == BertConfig.preset("base-chinese")
    assert BertConfig() == BertConfig.preset("base")
    assert BertConfig.from_dict(transformers.BertConfig().to_dict()) == BertConfig()
    everything = transformers.PretrainedConfig().to_dict()  # keys that any published file may carry
    everything = {key: value for key, value in everything.items() if key not in ("model_type", "pad_token_id")}
    assert BertConfig.from_dict(everything) == BertConfig()
    for token in ("bos", "eos", "sep", "cls", "mask", "unk"):
        assert BertConfig.from_dict({f"{token}_token_id": 5}) == BertConfig()


@pytest.mark.parametrize(
    ("name", "layers", "hidden", "heads"),
    [
        ("tiny", 2, 128, 2),
        ("mini", 4, 256, 4),
        ("small", 4, 512, 8),
        ("medium", 8, 512, 8),
        ("base", 12, 768, 12),
        ("large", 24, 1024, 16),
    ],
)
def test_presets(name: str, layers: int, hidden: int, heads: int) -> None:
    config = BertConfig.preset(name, vocab_size=100)
    assert (config.num_hidden_layers, config.hidden_size, config.num_attention_heads) == (layers, hidden, heads)
    assert config.intermediate_size == 4 * hidden
    assert config.head_size == 64
    assert config.vocab_size == 100
    assert BertConfig.preset("base-chinese").vocab_size == 21128


def test_unknown_preset() -> None:
    with pytest.raises(ValueError, match=r"unknown preset 'huge': choose one of tiny, mini, .*base-chinese"):
        BertConfig.preset("huge")


def test_json_both_ways(tmp_path: Path) -> None:
    config = BertConfig.preset("mini", hidden_act="relu", layer_norm_eps=1e-6, pad_token_id=3)
    path = tmp_path / "config.json"
    config.to_json(path)
    assert BertConfig.from_json(path) == BertConfig.from_json(str(path)) == config
    theirs = transformers.AutoConfig.from_pretrained(tmp_path)
    assert isinstance(theirs, transformers.BertConfig)
    for name, value in config.to_dict().items():
        assert getattr(theirs, name) == value


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "Expecting value"),
        (b'{"hidden_size": 768', "Expecting"),
        (b"[1, 2]", "expected a JSON object, found list"),
        (b'{"a": "\xff"}', "can't decode byte 0xff"),
        (json.dumps({"num_attention_heads": 5}).encode(), "the nearest that does is 4"),
        (json.dumps({"model_type": "gpt2"}).encode(), "model_type='gpt2'"),
    ],
)
def test_bad_files_are_named(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        BertConfig.from_json(path)
    assert str(path) in str(caught.value)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere.json"):
        BertConfig.from_json(tmp_path / "nowhere.json")


def test_a_config_does_not_change() -> None:
    with pytest.raises(AttributeError):
        BertConfig().hidden_size = 5  # type: ignore[misc]
