"""The published architectures, BERT, RoBERTa and ALBERT: what their ``config.json`` says, and what our fields say.

A model that mixes them, or that nobody published (pre-norm, sin/cos positions), is of the family ``"bertbook"``:
its ``config.json`` holds our fields as they are, and other libraries refuse it by that name.
"""

from collections.abc import Mapping
from typing import Any

# What a published file means where it leaves a key out; BERT's own are the defaults of BertConfig.
_DEFAULTS: dict[str, dict[str, Any]] = {
    "bert": {},
    "roberta": {"vocab_size": 50265, "pad_token_id": 1},
    "albert": {
        "vocab_size": 30000,
        "embedding_size": 128,
        "hidden_size": 4096,
        "num_attention_heads": 64,
        "intermediate_size": 16384,
        "hidden_act": "gelu_new",
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
        "classifier_dropout_prob": 0.1,
    },
    "bertbook": {},
}
# Keys that would change the computation if we ignored them, and the one value we compute.
_MUST_BE: dict[str, dict[str, Any]] = {
    "bert": {"is_decoder": False, "add_cross_attention": False, "pruned_heads": {}},
    "roberta": {
        "is_decoder": False,
        "add_cross_attention": False,
        "pruned_heads": {},
        "position_embedding_type": "absolute",
        "hidden_act": "gelu",  # the head for masked words has it whatever the config says
    },
    "albert": {
        "pruned_heads": {},
        "position_embedding_type": "absolute",
        "num_hidden_groups": 1,
        "inner_group_num": 1,
    },
    "bertbook": {},
}
_VARIANT_FIELDS = ("position_offset", "norm_first", "embedding_size", "share_layers")
_UNNAMED = {0: "LABEL_0", 1: "LABEL_1"}  # what other libraries write for two labels without names


def fields_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a ``config.json``, those that only its family has turned into fields of ``BertConfig``.

    Raises:
        ValueError: another architecture, or a value that asks for a computation that this model does not do.
    """
    family = values.get("model_type", "bert")  # the first files had no such key
    if family not in _DEFAULTS:
        raise ValueError(f"config has model_type={family!r}; this package computes {', '.join(_DEFAULTS)}")
    for key, only in _MUST_BE[family].items():
        if values.get(key, only) != only:
            raise ValueError(
                f"config has {key}={values[key]!r}; this package computes {family} with {key}={only!r} only"
            )
    fields = {**_DEFAULTS[family], **values}
    if family == "roberta":
        _require_number("pad_token_id", fields["pad_token_id"])
        fields["position_offset"] = fields["pad_token_id"] + 1
    if family == "albert":
        fields["share_layers"] = True
        fields["classifier_dropout"] = fields.pop("classifier_dropout_prob")
    fields["id2label"] = _labels(values)
    return fields


def published_values(family: str, fields: dict[str, Any]) -> dict[str, Any]:
    """The way back: ``fields`` of ``BertConfig`` under the keys of the family's ``config.json``."""
    values = {"model_type": family, **fields}
    if family != "bertbook":
        for name in _VARIANT_FIELDS:  # what the family itself says, but for ALBERT's one number
            if not (family == "albert" and name == "embedding_size"):
                del values[name]
    if family == "albert":
        dropout = values.pop("classifier_dropout")
        values["classifier_dropout_prob"] = values["hidden_dropout_prob"] if dropout is None else dropout
        values |= {"num_hidden_groups": 1, "inner_group_num": 1}
    if not values["crf"]:
        del values["crf"]
    if values["id2label"] is None:
        del values["id2label"]
    else:
        values["label2id"] = {label: number for number, label in values["id2label"].items()}
    return values


def _labels(values: Mapping[str, Any]) -> dict[int, str] | None:
    """The names by number; a JSON file has numbers as text, or says no more than how many there are."""
    named, count = values.get("id2label"), values.get("num_labels")
    if named is None:
        if count is None:
            return None
        _require_number("num_labels", count)
        named = {number: f"LABEL_{number}" for number in range(count)}
    if not isinstance(named, Mapping):
        raise ValueError(f"id2label={named!r}: expected the names of the labels by number")  # noqa: TRY004
    try:
        labels = {int(number): name for number, name in named.items()}
    except (TypeError, ValueError):
        raise ValueError(f"id2label={named!r}: its keys must be whole numbers, from 0") from None
    if count not in (None, len(labels)):
        raise ValueError(f"config has num_labels={count!r} and {len(labels)} names in id2label: the two must agree")
    return None if labels == _UNNAMED else labels


def _require_number(key: str, value: object) -> None:
    if type(value) is not int or value < 0:
        raise ValueError(f"{key}={value!r}: it must be a whole number of at least 0")
