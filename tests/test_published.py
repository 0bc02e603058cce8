"""Names of weights, against the library that gave the published ones."""

from typing import Any

import pytest
import transformers

from bertbook import Bert, BertConfig
from bertbook.published import belongs_elsewhere, own_key, published_key

SIZES: dict[str, Any] = {
    "vocab_size": 11,
    "hidden_size": 8,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "num_hidden_layers": 11,
}


def test_the_names_are_those_of_transformers() -> None:
    ours = Bert(BertConfig(**SIZES)).state_dict()
    theirs = transformers.BertModel(transformers.BertConfig(**SIZES)).state_dict()
    shapes = {published_key(key): tensor.shape for key, tensor in ours.items()}
    assert shapes == {key: tensor.shape for key, tensor in theirs.items()}


def test_there_and_back() -> None:
    for key in Bert(BertConfig(**SIZES)).state_dict():
        assert own_key(published_key(key)) == key
        assert own_key("bert." + published_key(key)) == key


@pytest.mark.parametrize(
    ("published", "own"),
    [
        ("bert.embeddings.LayerNorm.gamma", "embeddings.norm.weight"),
        ("encoder.layer.10.attention.output.LayerNorm.beta", "layers.10.attention_norm.bias"),
        ("encoder.layer.3.output.dense.weight", "layers.3.feed_forward.down.weight"),
        ("encoder.layer.3.attention.output.dense.weight", "layers.3.attention.output.weight"),
    ],
)
def test_old_and_easily_confused_names(published: str, own: str) -> None:
    assert own_key(published) == own


@pytest.mark.parametrize("head", ["cls.predictions.bias", "classifier.weight", "qa_outputs.bias"])
def test_heads_belong_elsewhere(head: str) -> None:
    assert own_key(head) is None
    assert belongs_elsewhere(head)


def test_positions_that_old_files_store_belong_elsewhere() -> None:
    assert belongs_elsewhere("embeddings.position_ids")
    assert belongs_elsewhere("bert.embeddings.position_ids")


@pytest.mark.parametrize(
    "other", ["roberta.pooler.dense.weight", "encoder.layer.x.output.dense.weight", "pooler.dense"]
)
def test_other_names_are_neither(other: str) -> None:
    assert own_key(other) is None
    assert not belongs_elsewhere(other)


def test_a_name_that_is_not_ours() -> None:
    with pytest.raises(KeyError, match=r"layers.0.attention.querry.weight.* is no weight of Bert"):
        published_key("layers.0.attention.querry.weight")
