"""Our names of the weights, and the names under which every BERT, RoBERTa and ALBERT is published."""

import re
from collections.abc import Mapping

_BERT = {  # ours -> published; * stands for the number of a layer
    "embeddings.token": "embeddings.word_embeddings",
    "embeddings.segment": "embeddings.token_type_embeddings",
    "embeddings.position": "embeddings.position_embeddings",
    "embeddings.norm": "embeddings.LayerNorm",
    "layers.*.attention.query": "encoder.layer.*.attention.self.query",
    "layers.*.attention.key": "encoder.layer.*.attention.self.key",
    "layers.*.attention.value": "encoder.layer.*.attention.self.value",
    "layers.*.attention.output": "encoder.layer.*.attention.output.dense",
    "layers.*.attention_norm": "encoder.layer.*.attention.output.LayerNorm",
    "layers.*.feed_forward.up": "encoder.layer.*.intermediate.dense",
    "layers.*.feed_forward.down": "encoder.layer.*.output.dense",
    "layers.*.feed_forward_norm": "encoder.layer.*.output.LayerNorm",
    "pooler.dense": "pooler.dense",
    "mlm": "cls.predictions",  # its own bias, a number a token
    "mlm.dense": "cls.predictions.transform.dense",
    "mlm.norm": "cls.predictions.transform.LayerNorm",
    "nsp": "cls.seq_relationship",
    "classifier": "classifier",
    "answer": "qa_outputs",
    "crf": "crf",  # published nowhere
}
_ROBERTA = _BERT | {
    "mlm": "lm_head",
    "mlm.dense": "lm_head.dense",
    "mlm.norm": "lm_head.layer_norm",
}
# RoBERTa was trained without next sentences: its classifier of texts brings a pooler of its own.
_ROBERTA_CLASSIFY = _ROBERTA | {"pooler.dense": "classifier.dense", "classifier": "classifier.out_proj"}
_ALBERT_LAYER = "encoder.albert_layer_groups.0.albert_layers.*"  # one layer, number 0, run L times
_ALBERT = _BERT | {
    "embeddings.projection": "encoder.embedding_hidden_mapping_in",
    "layers.*.attention.query": f"{_ALBERT_LAYER}.attention.query",
    "layers.*.attention.key": f"{_ALBERT_LAYER}.attention.key",
    "layers.*.attention.value": f"{_ALBERT_LAYER}.attention.value",
    "layers.*.attention.output": f"{_ALBERT_LAYER}.attention.dense",
    "layers.*.attention_norm": f"{_ALBERT_LAYER}.attention.LayerNorm",
    "layers.*.feed_forward.up": f"{_ALBERT_LAYER}.ffn",
    "layers.*.feed_forward.down": f"{_ALBERT_LAYER}.ffn_output",
    "layers.*.feed_forward_norm": f"{_ALBERT_LAYER}.full_layer_layer_norm",
    "pooler.dense": "pooler",
    "mlm": "predictions",
    "mlm.dense": "predictions.dense",
    "mlm.norm": "predictions.LayerNorm",
    "nsp": "sop_classifier.classifier",
}
# No published model has these two: names in the style of BERT.
_BERTBOOK = _BERT | {"embeddings.projection": "embeddings.projection", "norm": "encoder.LayerNorm"}
_TABLES = {"bert": _BERT, "roberta": _ROBERTA, "albert": _ALBERT, "bertbook": _BERTBOOK}
_PREFIXES = {"bert": "bert.", "roberta": "roberta.", "albert": "albert.", "bertbook": "bert."}
_KIND = {"gamma": "weight", "beta": "bias"}  # what the first checkpoints called LayerNorm's two
# Stored a second time by some: the product with the vocabulary, tied to the token table, and its bias.
_DUPLICATES = {"decoder.weight": "embeddings.token.weight", "decoder.bias": "mlm.bias"}
# What a checkpoint may hold besides: heads, and a constant (0, 1, 2, …) that old versions of transformers stored.
_OTHERS = re.compile(
    r"(cls|lm_head|predictions|sop_classifier|classifier|qa_outputs|crf)\..+|embeddings\.position_ids|pooler(\.dense)?\..+"
)


def published_key(own: str, family: str = "bert", head: str | None = None) -> str:
    """``layers.0.attention_norm.weight`` → ``encoder.layer.0.attention.output.LayerNorm.weight``.

    Args:
        own: a key of the ``state_dict`` of :class:`bertbook.Bert`, or of a model with a head.
        family: ``model_type`` of the config.
        head: ``"mlm"``, ``"classify"``, …; None for the encoder alone. Under a head the encoder's weights have the
            name of the family in front.

    Raises:
        KeyError: no weight has this name.
    """
    table = _ROBERTA_CLASSIFY if (family, head) == ("roberta", "classify") else _TABLES[family]
    module, _, kind = own.removeprefix("bert.").rpartition(".")
    layer = re.search(r"\.(\d+)\.", module)
    pattern = re.sub(r"\.\d+\.", ".*.", module)
    if pattern not in table:
        raise KeyError(f"{own!r} is no weight of a model of the family {family!r}")
    published = table[pattern].replace("*", layer[1] if layer else "")
    is_encoder = published.startswith(("embeddings.", "encoder.", "pooler"))
    return f"{_PREFIXES[family] if head and is_encoder else ''}{published}.{kind}"


def plain_key(published: str, family: str = "bert") -> str:
    """A published name in one form, whatever the file's age: no ``bert.`` in front, ``weight`` for ``gamma``."""
    module, dot, kind = published.removeprefix(_PREFIXES[family]).rpartition(".")
    return module + dot + _KIND.get(kind, kind)


def own_keys(model_keys: Mapping[str, object], family: str, head: str | None) -> dict[str, str]:
    """The way back, for the weights of one model: :func:`plain_key` of each published name → ours."""
    return {plain_key(published_key(own, family, head), family): own for own in model_keys}


def duplicate_of(plain: str, family: str) -> str | None:
    """The key, as in an encoder under a head, of the weight that ``plain`` is stored a second time of; or None."""
    for end, own in _DUPLICATES.items():
        if plain == f"{_TABLES[family]['mlm']}.{end}":
            return own if own.startswith("mlm.") else f"bert.{own}"
    return None


def belongs_elsewhere(plain: str) -> bool:
    """True for what checkpoints hold besides the model in hand: heads, a pooler, ``position_ids``."""
    return _OTHERS.fullmatch(plain) is not None
