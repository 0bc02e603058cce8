"""Our names of the weights, and the names under which every published BERT stores them."""

import re

_NAMES = {  # ours -> published; those of a layer follow "layers.N." and "encoder.layer.N."
    "embeddings.token": "embeddings.word_embeddings",
    "embeddings.segment": "embeddings.token_type_embeddings",
    "embeddings.position": "embeddings.position_embeddings",
    "embeddings.norm": "embeddings.LayerNorm",
    "attention.query": "attention.self.query",
    "attention.key": "attention.self.key",
    "attention.value": "attention.self.value",
    "attention.output": "attention.output.dense",
    "attention_norm": "attention.output.LayerNorm",
    "feed_forward.up": "intermediate.dense",
    "feed_forward.down": "output.dense",
    "feed_forward_norm": "output.LayerNorm",
    "pooler.dense": "pooler.dense",
}
_OWN = {published: own for own, published in _NAMES.items()}
_KIND = {"gamma": "weight", "beta": "bias"}  # what the first checkpoints called LayerNorm's two

_OWN_KEY = re.compile(r"(?:layers\.(?P<layer>\d+)\.)?(?P<name>.+)\.(?P<kind>weight|bias)")
_PUBLISHED_KEY = re.compile(
    r"(?:bert\.)?(?:encoder\.layer\.(?P<layer>\d+)\.)?(?P<name>.+)\.(?P<kind>weight|bias|gamma|beta)"
)
# Not the encoder's: heads, and a constant (0, 1, 2, …) that old versions of transformers stored.
_OTHERS = re.compile(r"(cls|classifier|qa_outputs)\..+|(bert\.)?embeddings\.position_ids")


def published_key(own: str) -> str:
    """``layers.0.attention_norm.weight`` → ``encoder.layer.0.attention.output.LayerNorm.weight``.

    Raises:
        KeyError: no weight of :class:`bertbook.Bert` has this name.
    """
    match = _OWN_KEY.fullmatch(own)
    if match is None or match["name"] not in _NAMES:
        raise KeyError(f"{own!r} is no weight of Bert")
    layer = f"encoder.layer.{match['layer']}." if match["layer"] else ""
    return f"{layer}{_NAMES[match['name']]}.{match['kind']}"


def own_key(published: str) -> str | None:
    """The way back. A ``bert.`` in front and the old ``gamma`` and ``beta`` are understood; None for other names."""
    match = _PUBLISHED_KEY.fullmatch(published)
    if match is None or match["name"] not in _OWN:
        return None
    layer = f"layers.{match['layer']}." if match["layer"] else ""
    return f"{layer}{_OWN[match['name']]}.{_KIND.get(match['kind'], match['kind'])}"


def belongs_elsewhere(published: str) -> bool:
    """True for what checkpoints hold besides the encoder: the weights of heads, ``position_ids``."""
    return _OTHERS.fullmatch(published) is not None
