"""The sizes of a BERT, under the names that every published ``config.json`` uses."""

import difflib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Self

# Keys of published files that would change the computation if we ignored them, and the one value we compute.
_MUST_BE: dict[str, Any] = {
    "model_type": "bert",
    "position_embedding_type": "absolute",
    "is_decoder": False,
    "add_cross_attention": False,
}


@dataclass(frozen=True)
class BertConfig:
    """The sizes of one BERT. The defaults are bert-base-uncased (Devlin et al. 2019, section 3).

    Args:
        vocab_size: V, rows of the token table.
        hidden_size: H, numbers per token vector.
        num_hidden_layers: L, encoder layers.
        num_attention_heads: h; each head works on d = H / h numbers.
        intermediate_size: width of the feed-forward layer, 4 H in every published BERT.
        hidden_act: ``"gelu"`` (the exact one, with erf), ``"gelu_new"`` (its tanh approximation) or ``"relu"``.
        hidden_dropout_prob: dropout on the embeddings and on each sub-layer's output.
        attention_probs_dropout_prob: dropout on the attention weights.
        max_position_embeddings: rows of the position table; no longer sequence exists for the model.
        type_vocab_size: rows of the segment table.
        initializer_range: standard deviation of the truncated normal that weights start from.
        layer_norm_eps: added to the variance in LayerNorm.
        pad_token_id: id of [PAD].
        classifier_dropout: dropout before a classifier; ``hidden_dropout_prob`` when not given.
        id2label: the names of the labels, 0 to their number − 1, for heads that classify.
        crf: token classification ends in a CRF.
        position_embedding_type: ``"absolute"``, a learned table as BERT has it, or ``"sinusoidal"``, the
            Transformer's sin/cos, which has no last position.
        position_offset: number of the first position: 0; RoBERTa counts from ``pad_token_id + 1``.
        norm_first: LayerNorm before each sub-layer ("pre-norm") instead of after it.
        embedding_size: E, columns of the tables where it is not H (ALBERT's factorised embeddings).
        share_layers: one layer, run L times (ALBERT).

    Raises:
        ValueError: a size is impossible; the message names the field, the value and what is allowed.
    """

    vocab_size: int = 30522
    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    intermediate_size: int = 3072
    hidden_act: str = "gelu"
    hidden_dropout_prob: float = 0.1
    attention_probs_dropout_prob: float = 0.1
    max_position_embeddings: int = 512
    type_vocab_size: int = 2
    initializer_range: float = 0.02
    layer_norm_eps: float = 1e-12
    pad_token_id: int = 0
    classifier_dropout: float | None = None
    id2label: Mapping[int, str] | None = None
    crf: bool = False
    position_embedding_type: str = "absolute"
    position_offset: int = 0
    norm_first: bool = False
    embedding_size: int | None = None
    share_layers: bool = False

    def __post_init__(self) -> None:
        for name in (
            "vocab_size",
            "hidden_size",
            "num_hidden_layers",
            "num_attention_heads",
            "intermediate_size",
            "max_position_embeddings",
            "type_vocab_size",
        ):
            value = getattr(self, name)
            if type(value) is not int or value < 1:  # True is an int too
                raise ValueError(f"{name}={value!r}: it must be a whole number of at least 1")
        if self.hidden_size % self.num_attention_heads:
            heads = [h for h in range(1, self.hidden_size + 1) if self.hidden_size % h == 0]
            near = min(heads, key=lambda h: abs(h - self.num_attention_heads))
            raise ValueError(
                f"hidden_size={self.hidden_size} cannot be split into num_attention_heads="
                f"{self.num_attention_heads} heads of equal size: the number of heads must divide it; "
                f"the nearest that does is {near}"
            )
        if self.hidden_act not in ACTIVATIONS:
            raise ValueError(f"hidden_act={self.hidden_act!r}: choose one of {', '.join(ACTIVATIONS)}")
        for name in ("hidden_dropout_prob", "attention_probs_dropout_prob"):
            value = getattr(self, name)
            if not _is_number(value) or not 0 <= value < 1:
                raise ValueError(f"{name}={value!r}: a probability from 0 up to, not including, 1")
        for name in ("initializer_range", "layer_norm_eps"):
            value = getattr(self, name)
            if not _is_number(value) or not 0 < value < float("inf"):
                raise ValueError(f"{name}={value!r}: it must be a positive number")
        if type(self.pad_token_id) is not int or not 0 <= self.pad_token_id < self.vocab_size:
            raise ValueError(
                f"pad_token_id={self.pad_token_id!r}: it must be an id of the vocabulary, 0 to {self.vocab_size - 1}"
            )

    @property
    def head_size(self) -> int:
        """d = H / h, the numbers that one head works on: 64 in every published BERT but the smallest."""
        return self.hidden_size // self.num_attention_heads

    @property
    def embedding_width(self) -> int:
        """E, columns of the embedding tables: H unless ``embedding_size`` says otherwise."""
        return self.hidden_size if self.embedding_size is None else self.embedding_size

    @property
    def max_length(self) -> int | None:
        """The longest sequence, in tokens; None where positions are computed and never end."""
        if self.position_embedding_type == "sinusoidal":
            return None
        return self.max_position_embeddings - self.position_offset

    @property
    def num_labels(self) -> int:
        """How many labels the heads that classify tell apart; 2 when none are named."""
        return 2 if self.id2label is None else len(self.id2label)

    @classmethod
    def preset(cls, name: str, **changes: Any) -> Self:
        """The published sizes by name, e.g. ``BertConfig.preset("large")``; keyword arguments change fields.

        Sources: Devlin et al. 2019 (base, large); Turc et al. 2019 (tiny to medium).

        Raises:
            ValueError: an unknown name; the message lists the known ones.
        """
        if name not in PRESETS:
            raise ValueError(f"unknown preset {name!r}: choose one of {', '.join(PRESETS)}")
        return cls(**{**PRESETS[name], **changes})

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """A config from the keys of a published ``config.json``.

        Keys that do not touch the computation (``architectures``, ``use_cache``, …) are left out.

        Raises:
            ValueError: a key that is nearly a field's name (a typing error would otherwise pass in
                silence), or one that asks for a computation that this model does not do.
        """
        for key, only in _MUST_BE.items():
            if values.get(key, only) != only:
                raise ValueError(
                    f"config has {key}={values[key]!r}; this model computes {key}={only!r} only. Load a BERT checkpoint"
                )
        names = [field.name for field in fields(cls)]
        for key in values:
            if key not in names and (near := difflib.get_close_matches(key, names, n=1, cutoff=0.85)):
                raise ValueError(f"config has the unknown key {key!r}; did you mean {near[0]!r}?")
        return cls(**{name: values[name] for name in names if name in values})

    @classmethod
    def from_json(cls, path: str | Path) -> Self:
        """Read a ``config.json``.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: the file is no JSON object, or its values are impossible; the message names the file.
        """
        path = Path(path)
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
            if not isinstance(values, dict):
                raise ValueError(f"expected a JSON object, found {type(values).__name__}")  # noqa: TRY004
            return cls.from_dict(values)
        except ValueError as error:  # also what json and a wrong encoding raise
            raise ValueError(f"{path}: {error}") from error

    def to_dict(self) -> dict[str, Any]:
        """The fields under their published names, with the ``model_type`` that other readers look for."""
        return {"model_type": "bert", **asdict(self)}

    def to_json(self, path: str | Path) -> None:
        """Write a ``config.json`` that this class and other libraries read."""
        Path(path).write_text(json.dumps(self.to_dict(), indent=2) + "\n", encoding="utf-8")


ACTIVATIONS = ("gelu", "gelu_new", "relu")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _small(layers: int, hidden: int) -> dict[str, int]:
    """The rule of Turc et al. 2019 for sizes: heads of 64, a feed-forward layer of 4 H."""
    return {
        "num_hidden_layers": layers,
        "hidden_size": hidden,
        "num_attention_heads": hidden // 64,
        "intermediate_size": 4 * hidden,
    }


PRESETS: dict[str, dict[str, int]] = {
    "tiny": _small(2, 128),
    "mini": _small(4, 256),
    "small": _small(4, 512),
    "medium": _small(8, 512),
    "base": _small(12, 768),
    "large": _small(24, 1024),
    "base-chinese": {**_small(12, 768), "vocab_size": 21128},
}
