"""What a training run is told: every field, its default, and what is allowed."""

import difflib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from bertbook.config import BertConfig

SCHEDULES = ("linear", "cosine", "constant")
PRECISIONS = ("float32", "bf16", "fp16")
OBJECTIVES = (None, "nsp", "sop", "none")
BUDGETS = ("steps", "tokens", "minutes")


@dataclass(frozen=True)
class Phase:
    """One leg of a run: until which share of the budget, with sequences of which length, how many of them a step."""

    until: float
    max_length: int
    batch_size: int


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """How any model is trained.

    Args:
        steps, tokens, minutes: the budget; one of the three. A step is one update of the weights. Tokens are counted
            without padding, over all processes. Minutes are those of the clock, pauses between sessions left out:
            such a run resumes where it was, but how far it comes hangs on the machine.
        learning_rate: at its peak.
        warmup: the share of the budget in which it climbs to the peak from 0.
        schedule: what follows: ``"linear"`` down to 0, half a ``"cosine"``, or ``"constant"``.
        weight_decay: of AdamW (Loshchilov and Hutter 2019); never on biases and LayerNorm.
        betas, eps: of AdamW.
        max_grad_norm: a longer gradient is scaled down to this length; None: never.
        accumulation: parts of a step's batch that are computed one after the other, for less memory.
        precision: ``"float32"``, or ``"bf16"`` or ``"fp16"`` for the matrix products (autocast); weights and optimiser
            stay in float32.
        compile: ``torch.compile`` for the encoder's layers.
        gradient_checkpointing: less memory for more time; see :class:`~bertbook.Bert`.
        device: None for the best there is, or ``"cpu"``.
        seed: of weights, order, masking and dropout.
        log_every: steps between two lines of the log.
        eval_every, save_every: steps between two evaluations, two checkpoints. There is one of each at the end, and
            before the first evaluation that is due there are some at steps 32, 64, 128, …
        keep: the newest checkpoints that are kept; from 2, so that there is another if one is damaged.

    Raises:
        ValueError: a value that is impossible; the message names the field, the value and what is allowed.
    """

    steps: int | None = None
    tokens: int | None = None
    minutes: float | None = None
    learning_rate: float = 1e-3
    warmup: float = 0.1
    schedule: str = "linear"
    weight_decay: float = 0.01
    betas: tuple[float, float] = (0.9, 0.98)
    eps: float = 1e-6
    max_grad_norm: float | None = 1.0
    accumulation: int = 1
    precision: str = "float32"
    compile: bool = False
    gradient_checkpointing: bool = False
    device: str | None = None
    seed: int = 0
    log_every: int = 10
    eval_every: int = 500
    save_every: int = 500
    keep: int = 3

    def __post_init__(self) -> None:
        budgets = {name: getattr(self, name) for name in BUDGETS if getattr(self, name) is not None}
        if len(budgets) != 1:
            given = " and ".join(f"{name}={value}" for name, value in budgets.items()) or "none"
            raise ValueError(f"the budget is {given}: give one of steps, tokens and minutes")
        for name in ("steps", "tokens", "accumulation", "log_every", "eval_every", "save_every"):
            self._check(name, whole(getattr(self, name), 1), "a whole number of at least 1", optional=name in BUDGETS)
        self._check("keep", whole(self.keep, 2), "a whole number of at least 2: one more, if the newest is damaged")
        self._check("seed", whole(self.seed, 0), "a whole number of at least 0")
        for name in ("minutes", "learning_rate", "eps", "max_grad_norm"):
            optional = name in ("minutes", "max_grad_norm")
            self._check(name, _number(getattr(self, name)) and getattr(self, name) > 0, "above 0", optional=optional)
        self._check("warmup", _number(self.warmup) and 0 <= self.warmup < 1, "a share from 0 up to, not including, 1")
        self._check("weight_decay", _number(self.weight_decay) and self.weight_decay >= 0, "a number of at least 0")
        self._check(
            "betas",
            isinstance(self.betas, Sequence) and len(self.betas) == 2
            and all(_number(beta) and 0 <= beta < 1 for beta in self.betas),
            "two numbers from 0 up to, not including, 1",
        )  # fmt: skip
        object.__setattr__(self, "betas", tuple(self.betas))
        for name, allowed in (("schedule", SCHEDULES), ("precision", PRECISIONS), ("device", (None, "cpu"))):
            self._check(name, getattr(self, name) in allowed, f"one of {', '.join(map(str, allowed))}")
        for name in ("compile", "gradient_checkpointing"):
            self._check(name, type(getattr(self, name)) is bool, "true or false")

    def _check(self, name: str, holds: bool, allowed: str, *, optional: bool = False) -> None:
        if not holds and not (optional and getattr(self, name) is None):
            raise ValueError(f"{name}={getattr(self, name)!r}: expected {allowed}")

    @property
    def unit(self) -> str:
        """What the budget counts: ``"steps"``, ``"tokens"`` or ``"minutes"``."""
        return next(name for name in BUDGETS if getattr(self, name) is not None)

    @property
    def budget(self) -> float:
        """How many of them."""
        return float(getattr(self, self.unit))


#: A model that two cores train in minutes: 2 layers, H = 128, without dropout, which small models do not need.
SMALL: dict[str, Any] = {
    "hidden_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 512,
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
}

#: Fields that change nothing in what is learnt: a run may go on with others.
FREE = frozenset({"log_every", "eval_every", "save_every", "keep", "workers", "out"})


@dataclass(frozen=True, kw_only=True)
class PretrainConfig(TrainConfig):
    """How a model is pretrained: text, tokens, objectives and sizes, and all of :class:`TrainConfig`.

    Args:
        corpus: what :func:`~bertbook.load_corpus` takes: a name, a file or folder of your own, ``"hf:…"``; or a list
            of several.
        out: the run's folder. All that it leaves lies there, and it goes on from there.
        language, documents, column: of your own text, as for :func:`~bertbook.load_corpus`.
        start: a trained model to go on from, as :func:`~bertbook.load_pretrained` takes it; None: random weights.
        tokenizer: what :func:`~bertbook.load_tokenizer` takes; None: that of ``start``, or a WordPiece vocabulary
            trained on the corpus.
        vocab_size: of that vocabulary, at most.
        objective: beside masked words: ``"nsp"``, next sentence; ``"sop"``, sentence order; ``"none"``; None for
            the first of these that the text allows.
        max_length, batch_size: tokens of a sequence at most, and sequences a step, over all processes.
        phases: instead, several legs, as ``[{until: 0.9, max_length: 128, batch_size: 64}, {until: 1, …}]``: BERT
            itself ran 90% of its steps at 128 tokens, and the rest at 512.
        mask_rate, mask_share, random_share, whole_words: see :class:`~bertbook.text.MaskingPolicy`. A word is what
            ``##`` holds together, so that of Chinese text it is one character.
        model: fields of :class:`~bertbook.BertConfig`; those that are not given are those of :data:`SMALL`, or of the
            ``preset`` that is named. ``vocab_size`` is the vocabulary's where it is not given. Not with ``start``.
        eval_examples: sequences of the held-out text that are evaluated, at most.
        workers: processes that prepare batches; 0: none.
    """

    corpus: str | tuple[str, ...] = ""
    out: str = ""
    start: str | None = None
    language: str | None = None
    documents: str = "blank-line"
    column: str = "text"
    tokenizer: str | None = None
    vocab_size: int = 8000
    objective: str | None = None
    max_length: int = 128
    batch_size: int = 32
    phases: tuple[Phase, ...] = ()
    mask_rate: float = 0.15
    mask_share: float = 0.8
    random_share: float = 0.1
    whole_words: bool = False
    model: Mapping[str, Any] = field(default_factory=dict, hash=False)
    eval_examples: int = 512
    workers: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.corpus, list):
            object.__setattr__(self, "corpus", tuple(self.corpus))
        named = (
            isinstance(self.corpus, str | tuple)
            and bool(self.corpora)
            and all(isinstance(name, str) and name for name in self.corpora)
        )
        self._check("corpus", named, "a name, a file or a folder, or a list of them")
        self._check("out", isinstance(self.out, str) and self.out != "", "a folder")
        for name in ("start", "tokenizer"):
            self._check(name, isinstance(getattr(self, name), str), "a name or a folder", optional=True)
        for name in ("vocab_size", "max_length", "batch_size", "eval_examples"):
            self._check(name, whole(getattr(self, name), 1), "a whole number of at least 1")
        self._check("workers", whole(self.workers, 0), "a whole number of at least 0")
        for name in ("mask_rate", "mask_share", "random_share"):
            self._check(name, _number(getattr(self, name)) and 0 <= getattr(self, name) <= 1, "a share from 0 to 1")
        self._check("mask_rate", self.mask_rate > 0, "more than 0: else there is nothing to learn")
        self._check("objective", self.objective in OBJECTIVES, "nsp, sop, none, or nothing to have it chosen")
        self._check("whole_words", type(self.whole_words) is bool, "true or false")
        self._check("model", isinstance(self.model, Mapping), "sizes by name, as {hidden_size: 256}")
        if "preset" not in self.model:
            object.__setattr__(self, "model", {**SMALL, **self.model})
        if self.start and self.model != SMALL:
            raise ValueError(f"start={self.start!r} has its sizes: leave the settings of model out")
        self._check_phases()
        longest = max(phase.max_length for phase in self.legs)
        positions = None if self.start else self.model_config(1).max_length
        if positions is not None and longest > positions:
            raise ValueError(
                f"max_length={longest}, and the model has {positions} positions: "
                "shorten the sequences, or raise model.max_position_embeddings"
            )

    def _check_phases(self) -> None:
        wanted = "legs with until, max_length and batch_size, of which until rises up to 1"
        try:
            legs = tuple(leg if isinstance(leg, Phase) else Phase(**leg) for leg in self.phases)
        except TypeError as error:
            raise ValueError(f"phases={self.phases!r}: expected {wanted}") from error
        ends = [leg.until for leg in legs]
        if legs and not (all(map(_number, ends)) and ends == sorted(set(ends)) and ends[0] > 0 and ends[-1] == 1):
            raise ValueError(f"phases until {', '.join(map(str, ends))}: expected {wanted}")
        for leg in legs:
            if not (whole(leg.max_length, 1) and whole(leg.batch_size, 1)):
                raise ValueError(f"{leg}: max_length and batch_size are whole numbers of at least 1")
        object.__setattr__(self, "phases", legs)

    @property
    def corpora(self) -> tuple[str, ...]:
        """The names of the corpora."""
        return (self.corpus,) if isinstance(self.corpus, str) else self.corpus

    @property
    def legs(self) -> tuple[Phase, ...]:
        """The phases; without any, the whole run as one."""
        return self.phases or (Phase(1.0, self.max_length, self.batch_size),)

    def model_config(self, tokens: int, pad_token_id: int = 0) -> BertConfig:
        """The sizes of the model, for a vocabulary of so many tokens.

        Raises:
            ValueError: an unknown field or an impossible size; a ``vocab_size`` that the tokens do not fit into.
        """
        sizes = {name: value for name, value in self.model.items() if name != "preset"}
        known = {field.name for field in fields(BertConfig)} - {"pad_token_id"}
        if unknown := sizes.keys() - known:
            raise ValueError(unknown_key(f"model.{min(unknown)}", [f"model.{name}" for name in sorted(known)]))
        sizes = {"vocab_size": tokens, **sizes, "pad_token_id": pad_token_id}
        try:
            config = BertConfig.preset(self.model["preset"], **sizes) if "preset" in self.model else BertConfig(**sizes)
        except ValueError as error:
            raise ValueError(f"model: {error}") from error
        if config.vocab_size < tokens:
            raise ValueError(
                f"model.vocab_size={config.vocab_size}, and the tokenizer has {tokens} tokens: leave model.vocab_size "
                "out, or make it larger"
            )
        return config


def unknown_key(key: str, known: Sequence[str]) -> str:
    """What to say to a key that does not exist."""
    near = difflib.get_close_matches(key, known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
    return f"there is no setting {key}; {hint}"


def whole(value: object, least: int) -> bool:
    """A whole number of at least so much."""
    return type(value) is int and value >= least


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
