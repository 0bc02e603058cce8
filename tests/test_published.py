"""Names of weights, against the library that gave the published ones."""

from typing import Any

import pytest
import transformers

from bertbook import Bert, BertConfig
from bertbook.model.heads import HEADS
from bertbook.published import belongs_elsewhere, duplicate_of, own_keys, plain_key, published_key

SIZES: dict[str, Any] = {
    "vocab_size": 11,
    "hidden_size": 8,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "num_hidden_layers": 11,
    "max_position_embeddings": 16,
}
FAMILIES = {
    "bert": transformers.BertConfig(**SIZES),
    "roberta": transformers.RobertaConfig(**SIZES),
    "albert": transformers.AlbertConfig(**SIZES, embedding_size=4),
}
THEIRS = {
    None: "Model",
    "mlm": "ForMaskedLM",
    "pretraining": "ForPreTraining",
    "classify": "ForSequenceClassification",
    "tag": "ForTokenClassification",
    "answer": "ForQuestionAnswering",
}
EVERY_MODEL = [(family, head) for family in FAMILIES for head in THEIRS if (family, head) != ("roberta", "pretraining")]


def ours(family: str, head: str | None) -> dict[str, Any]:
    config = BertConfig.from_dict(FAMILIES[family].to_dict())
    return dict((Bert(config) if head is None else HEADS[head](config)).state_dict())


@pytest.mark.parametrize(("family", "head"), EVERY_MODEL)
def test_the_names_and_shapes_are_those_of_transformers(family: str, head: str | None) -> None:
    prefix = {"bert": "Bert", "roberta": "Roberta", "albert": "Albert"}[family]
    theirs = getattr(transformers, prefix + THEIRS[head])(FAMILIES[family]).state_dict()
    given = {published_key(key, family, head): tensor.shape for key, tensor in ours(family, head).items()}
    tied = {key for key in theirs if duplicate_of(plain_key(key, family), family)}
    assert len(tied) == (2 if head in ("mlm", "pretraining") else 0)
    assert given == {
        key: tensor.shape for key, tensor in theirs.items() if key not in tied and "position_ids" not in key
    }


@pytest.mark.parametrize(("family", "head"), EVERY_MODEL)
def test_there_and_back(family: str, head: str | None) -> None:
    keys = ours(family, head)
    names = own_keys(keys, family, head)
    assert len(names) == len(keys)  # no two under one name
    for key in keys:
        published = published_key(key, family, head)
        assert names[plain_key(published, family)] == key
        assert names[plain_key(published.removeprefix(f"{family}."), family)] == key


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
    assert own_keys(ours("bert", None), "bert", None)[plain_key(published)] == own


@pytest.mark.parametrize(
    "key",
    [
        "cls.predictions.bias",
        "classifier.weight",
        "qa_outputs.bias",
        "lm_head.layer_norm.weight",
        "sop_classifier.classifier.bias",
        "predictions.decoder.weight",
        "pooler.dense.weight",
        "pooler.weight",
        "embeddings.position_ids",
    ],
)
def test_heads_and_constants_belong_elsewhere(key: str) -> None:
    assert belongs_elsewhere(key)


@pytest.mark.parametrize("key", ["decoder.weight", "encoder.layer.x.output.dense.weight", "pooler", "classifier"])
def test_other_names_do_not(key: str) -> None:
    assert not belongs_elsewhere(key)
    assert key not in own_keys(ours("bert", None), "bert", None)


@pytest.mark.parametrize("family", ["bert", "roberta", "albert", "bertbook"])
def test_what_is_stored_twice(family: str) -> None:
    mlm = published_key("mlm.bias", family, "mlm").removesuffix(".bias")
    assert duplicate_of(f"{mlm}.decoder.weight", family) == "bert.embeddings.token.weight"
    assert duplicate_of(f"{mlm}.decoder.bias", family) == "mlm.bias"
    assert duplicate_of(f"{mlm}.bias", family) is None


@pytest.mark.parametrize("name", ["layers.0.attention.querry.weight", "embeddings.projection.weight", "weight"])
def test_a_name_that_is_not_ours(name: str) -> None:
    with pytest.raises(KeyError, match=f"{name}.* is no weight of a model of the family 'bert'"):
        published_key(name)
