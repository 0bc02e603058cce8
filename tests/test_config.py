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
        ({"classifier_dropout": 1.5}, "classifier_dropout=1.5: a probability"),
        ({"position_embedding_type": "rotary"}, "position_embedding_type='rotary': choose one of absolute, sinusoidal"),
        ({"norm_first": 1}, "norm_first=1: it must be True or False"),
        ({"share_layers": None}, "share_layers=None: it must be True or False"),
        ({"crf": "yes"}, "crf='yes': it must be True or False"),
        ({"embedding_size": 0}, "embedding_size=0: a whole number of at least 1, or None for hidden_size"),
        ({"position_offset": 512}, "position_offset=512: it must be a whole number from 0 to 511, so that a position"),
        ({"position_offset": -1}, "position_offset=-1: it must be a whole number from 0 to 511"),
        (
            {"position_embedding_type": "sinusoidal", "embedding_size": 5},
            "embeddings of 5 numbers: sinusoidal positions are pairs of a sine and a cosine; choose an even size",
        ),
        ({"id2label": {}}, "id2label={}: expected the names of the labels by number, from 0 and without a gap"),
        ({"id2label": {1: "a", 2: "b"}}, "id2label={1: 'a', 2: 'b'}: expected the names"),
        ({"id2label": {0: "a", 1: ""}}, "id2label={0: 'a', 1: ''}: a name is empty or no text"),
        ({"id2label": ["a", "b"]}, "id2label=['a', 'b']: expected the names"),
    ],
)
def test_impossible_sizes(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        BertConfig(**changes)
    with pytest.raises(ValueError, match=re.escape(message)):
        BertConfig.from_dict(changes)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"model_type": "gpt2"}, "config has model_type='gpt2'; this package computes bert, roberta, albert, bertbook"),
        ({"position_embedding_type": "relative_key"}, "'relative_key': choose one of absolute, sinusoidal"),
        ({"is_decoder": True}, "is_decoder=True; this package computes bert with is_decoder=False only"),
        ({"add_cross_attention": True}, "add_cross_attention=True; this package computes bert with"),
        ({"pruned_heads": {"0": [1]}}, "pruned_heads={'0': [1]}; this package computes bert with pruned_heads={} only"),
        ({"model_type": "roberta", "is_decoder": True}, "is_decoder=True; this package computes roberta with"),
        ({"model_type": "roberta", "hidden_act": "relu"}, "hidden_act='relu'; this package computes roberta with"),
        ({"model_type": "roberta", "pad_token_id": None}, "pad_token_id=None: it must be a whole number"),
        ({"model_type": "albert", "num_hidden_groups": 2}, "num_hidden_groups=2; this package computes albert with"),
        ({"model_type": "albert", "inner_group_num": 3}, "inner_group_num=3; this package computes albert with"),
        (
            {"model_type": "albert", "position_embedding_type": "relative_key"},
            "this package computes albert with position_embedding_type='absolute' only",
        ),
    ],
)
def test_computations_that_this_model_does_not_do(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        BertConfig.from_dict(values)


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
        (json.dumps({"id2label": {"one": "a"}}).encode(), "its keys must be whole numbers, from 0"),
        (json.dumps({"id2label": {"0": "a"}, "num_labels": 2}).encode(), "num_labels=2 and 1 names in id2label"),
        (json.dumps({"num_labels": "2"}).encode(), "num_labels='2': it must be a whole number"),
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


# --- families ---------------------------------------------------------------------------------------------------

SIZES: dict[str, Any] = {
    "vocab_size": 50,
    "hidden_size": 12,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 24,
    "max_position_embeddings": 20,
}


@pytest.mark.parametrize("family", ["roberta", "albert"])
@pytest.mark.parametrize("given", ["nothing", "everything"])
def test_a_key_left_out_has_the_default_of_its_family(family: str, given: str) -> None:
    """Not that of BERT: an ALBERT without ``hidden_size`` has 4096."""
    theirs = {"roberta": transformers.RobertaConfig, "albert": transformers.AlbertConfig}[family]().to_dict()
    config = BertConfig.from_dict({"model_type": family} if given == "nothing" else theirs)
    for name, value in config.to_dict().items():
        assert name == "position_embedding_type" or theirs[name] == value, name
    assert config.model_type == family
    assert BertConfig.from_dict(config.to_dict()) == config


def test_what_the_families_mean() -> None:
    roberta = BertConfig.from_dict({"model_type": "roberta", "max_position_embeddings": 514, "type_vocab_size": 1})
    assert (roberta.position_offset, roberta.max_length, roberta.max_position_embeddings) == (2, 512, 514)
    albert = BertConfig.from_dict({"model_type": "albert", "hidden_size": 768, "num_attention_heads": 12})
    assert (albert.share_layers, albert.embedding_width, albert.head_dropout) == (True, 128, 0.1)
    assert BertConfig(position_embedding_type="sinusoidal").max_length is None


@pytest.mark.parametrize(
    "changes",
    [
        {"norm_first": True},
        {"position_embedding_type": "sinusoidal"},
        {"share_layers": True},
        {"embedding_size": 4},
        {"position_offset": 5},
        {"position_offset": 1, "hidden_act": "relu"},
        {"share_layers": True, "embedding_size": 4, "position_offset": 1},
    ],
    ids=str,
)
def test_what_nobody_published_says_so_and_others_refuse_it(changes: dict[str, Any], tmp_path: Path) -> None:
    config = BertConfig(**SIZES, **changes)
    assert config.model_type == "bertbook"
    config.to_json(tmp_path / "config.json")
    assert BertConfig.from_json(tmp_path / "config.json") == config
    with pytest.raises(ValueError, match="bertbook"):
        transformers.AutoConfig.from_pretrained(tmp_path)


@pytest.mark.parametrize(
    ("changes", "family"),
    [
        ({"id2label": {0: "no", 1: "yes", 2: "perhaps"}, "classifier_dropout": 0.25}, transformers.BertConfig),
        ({"position_offset": 4, "pad_token_id": 3, "id2label": {0: "score"}}, transformers.RobertaConfig),
        ({"embedding_size": 6, "share_layers": True, "classifier_dropout": 0.0}, transformers.AlbertConfig),
        ({"embedding_size": 12, "share_layers": True, "classifier_dropout": 0.3}, transformers.AlbertConfig),
    ],
)
def test_variants_both_ways(changes: dict[str, Any], family: type, tmp_path: Path) -> None:
    config = BertConfig(**SIZES, **changes)
    config.to_json(tmp_path / "config.json")
    assert BertConfig.from_json(tmp_path / "config.json") == config
    theirs = transformers.AutoConfig.from_pretrained(tmp_path)
    assert type(theirs) is family
    assert theirs.num_labels == config.num_labels
    for name, value in config.to_dict().items():
        assert getattr(theirs, name) == value, name
    theirs.save_pretrained(tmp_path)
    assert BertConfig.from_json(tmp_path / "config.json") == config


def test_labels_as_files_have_them() -> None:
    assert BertConfig.from_dict({"id2label": {"1": "b", "0": "a"}}).id2label == {0: "a", 1: "b"}
    assert BertConfig.from_dict({"num_labels": 3}).id2label == {0: "LABEL_0", 1: "LABEL_1", 2: "LABEL_2"}
    assert BertConfig.from_dict({"num_labels": 2}) == BertConfig()
    labels = {0: "a", 1: "b"}
    config = BertConfig(id2label=labels)
    labels[2] = "c"
    assert (config.num_labels, hash(config)) == (2, hash(BertConfig()))


def test_the_24_small_shapes() -> None:
    shapes = [(layers, hidden) for layers in (2, 4, 6, 8, 10, 12) for hidden in (128, 256, 512, 768)]
    for layers, hidden in shapes:
        config = BertConfig.preset(f"L-{layers}_H-{hidden}")
        assert (config.num_hidden_layers, config.hidden_size, config.head_size) == (layers, hidden, 64)
    assert BertConfig.preset("L-4_H-256") == BertConfig.preset("mini")
