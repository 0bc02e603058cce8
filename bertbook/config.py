"""The sizes of a BERT, under the names that every published ``config.json`` uses."""

import difflib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Self

from bertbook.families import fields_of, published_values


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
        embedding_size: E, columns of the tables; where given, one matrix leads from E to H (ALBERT's
            factorised embeddings).
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
    id2label: Mapping[int, str] | None = field(default=None, hash=False)
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
        for name, known in (("hidden_act", ACTIVATIONS), ("position_embedding_type", POSITIONS)):
            if getattr(self, name) not in known:
                raise ValueError(f"{name}={getattr(self, name)!r}: choose one of {', '.join(known)}")
        for name in ("hidden_dropout_prob", "attention_probs_dropout_prob", "classifier_dropout"):
            value = getattr(self, name)
            if name == "classifier_dropout" and value is None:
                continue
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
        self._check_variant()
        if self.id2label is not None:
            object.__setattr__(self, "id2label", _checked_labels(self.id2label))

    def _check_variant(self) -> None:
        for name in ("crf", "norm_first", "share_layers"):
            if type(getattr(self, name)) is not bool:
                raise ValueError(f"{name}={getattr(self, name)!r}: it must be True or False")
        size = self.embedding_size
        if size is not None and (type(size) is not int or size < 1):
            raise ValueError(f"embedding_size={size!r}: a whole number of at least 1, or None for hidden_size")
        if type(self.position_offset) is not int or not 0 <= self.position_offset < self.max_position_embeddings:
            raise ValueError(
                f"position_offset={self.position_offset!r}: it must be a whole number from 0 to "
                f"{self.max_position_embeddings - 1}, so that a position is left (max_position_embeddings)"
            )
        if self.position_embedding_type == "sinusoidal" and self.embedding_width % 2:
            raise ValueError(
                f"embeddings of {self.embedding_width} numbers: sinusoidal positions are pairs of a sine and a "
                "cosine; choose an even size"
            )

    @property
    def model_type(self) -> str:
        """``"bert"``, ``"roberta"`` or ``"albert"``: the published architecture that the fields describe.

        ``"bertbook"`` where nobody published one, as with pre-norm or sinusoidal positions.
        """
        if self.norm_first or self.position_embedding_type != "absolute":
            return "bertbook"
        parts = (self.share_layers, self.embedding_size is not None, self.position_offset)
        if parts == (False, False, 0):
            return "bert"
        if parts == (False, False, self.pad_token_id + 1) and self.hidden_act == "gelu":
            return "roberta"
        return "albert" if parts == (True, True, 0) else "bertbook"

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

    @property
    def head_dropout(self) -> float:
        """Dropout before a classifier."""
        return self.hidden_dropout_prob if self.classifier_dropout is None else self.classifier_dropout

    @classmethod
    def preset(cls, name: str, **changes: Any) -> Self:
        """The published sizes by name, e.g. ``BertConfig.preset("large")``; keyword arguments change fields.

        Sources: Devlin et al. 2019 (base, large); Turc et al. 2019 (tiny to medium, and
        all 24 of their shapes as ``"L-2_H-128"`` to ``"L-12_H-768"``).

        Raises:
            ValueError: an unknown name; the message lists the known ones.
        """
        if name not in PRESETS and name not in SMALL_PRESETS:
            raise ValueError(
                f"unknown preset {name!r}: choose one of {', '.join(PRESETS)}, or a small one by its layers and its "
                f"hidden size, L-2_H-128 to L-12_H-768"
            )
        return cls(**{**(PRESETS | SMALL_PRESETS)[name], **changes})

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """A config from the keys of a published ``config.json`` of a BERT, RoBERTa or ALBERT.

        A key that is left out has the default of its family. Keys that do not touch the computation
        (``architectures``, ``use_cache``, …) are left out here.

        Raises:
            ValueError: a key that is nearly a field's name (a typing error would otherwise pass in
                silence), or one that asks for a computation that this model does not do.
        """
        given = fields_of(values)
        names = [field.name for field in fields(cls)]
        for key in given:
            if key not in names and (near := difflib.get_close_matches(key, names, n=1, cutoff=0.85)):
                raise ValueError(f"config has the unknown key {key!r}; did you mean {near[0]!r}?")
        return cls(**{name: given[name] for name in names if name in given})

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
        """The fields under their published names, with the ``model_type`` that other readers look for.

        `transformers` reads what is of a published architecture. ``model_type`` is ``"bertbook"`` where
        no other library has the model: they refuse it by that name, and :meth:`from_dict` reads it.
        """
        return published_values(self.model_type, asdict(self))

    def to_json(self, path: str | Path) -> None:
        """Write a ``config.json`` that this class and other libraries read."""
        Path(path).write_text(json.dumps(self.to_dict(), indent=2) + "\n", encoding="utf-8")


ACTIVATIONS = ("gelu", "gelu_new", "relu")
POSITIONS = ("absolute", "sinusoidal")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _checked_labels(labels: object) -> dict[int, str]:
    """In the order of the numbers, and a copy: a config does not change."""
    wanted = "the names of the labels by number, from 0 and without a gap, as {0: 'negative', 1: 'positive'}"
    if not isinstance(labels, Mapping) or not labels or set(labels) != set(range(len(labels))):
        raise ValueError(f"id2label={labels!r}: expected {wanted}")
    if not all(isinstance(name, str) and name for name in labels.values()):
        raise ValueError(f"id2label={labels!r}: a name is empty or no text; expected {wanted}")
    return {number: labels[number] for number in range(len(labels))}


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
SMALL_PRESETS = {
    f"L-{layers}_H-{hidden}": _small(layers, hidden)
    for layers in (2, 4, 6, 8, 10, 12)
    for hidden in (128, 256, 512, 768)
}
