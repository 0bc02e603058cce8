"""The heads: what stands on the encoder for each task, and its loss (Devlin et al. 2019, sections 3.1 and 4).

Labels of −100 count for nothing. A batch without a single label has the loss 0 (under a CRF it is refused).
Losses are computed in float32 at least.
"""

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from bertbook.config import BertConfig
from bertbook.model.bert import Bert, BertOutput, initialise
from bertbook.model.crf import LinearChainCRF
from bertbook.model.encoder import ACTIVATION
from bertbook.model.inputs import IGNORED, check_labels, check_positions, check_targets


@dataclass
class HeadOutput:
    """What a model with a head returns.

    ``loss`` is a mean, None without labels. Each head says what its ``logits`` are.
    ``encoder`` is all that the encoder returned.
    """

    loss: Float[Tensor, ""] | None
    logits: Float[Tensor, "..."]
    encoder: BertOutput

    @property
    def hidden_states(self) -> tuple[Float[Tensor, "B S H"], ...] | None:
        """As in :class:`~bertbook.model.bert.BertOutput`."""
        return self.encoder.hidden_states

    @property
    def attentions(self) -> tuple[Float[Tensor, "B h S S"], ...] | None:
        """As in :class:`~bertbook.model.bert.BertOutput`."""
        return self.encoder.attentions


@dataclass
class PreTrainingOutput(HeadOutput):
    """``logits`` are those of the vocabulary; those of the next sentence have the published name.

    ``losses`` has each mean that is in ``loss``, by name: ``"mlm"``, ``"nsp"``.
    """

    seq_relationship_logits: Float[Tensor, "B 2"]
    losses: dict[str, Float[Tensor, ""]]


@dataclass
class AnswerOutput(HeadOutput):
    """``logits`` (B, S, 2): column 0 scores each token as the start of the answer, column 1 as its end."""

    @property
    def start_logits(self) -> Float[Tensor, "B S"]:
        """Column 0."""
        return self.logits[..., 0]

    @property
    def end_logits(self) -> Float[Tensor, "B S"]:
        """Column 1."""
        return self.logits[..., 1]


def cross_entropy(logits: Float[Tensor, "*B K"], labels: Int[Tensor, "*B"]) -> Float[Tensor, ""]:
    """Mean of −ln p(label) over the labels that count; 0, with gradient 0, where none does."""
    logits = full(logits).flatten(0, -2)
    total = F.cross_entropy(logits, labels.flatten().long(), ignore_index=IGNORED, reduction="sum")
    return total / (labels != IGNORED).sum().clamp(min=1)


def full(logits: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """At least float32: the losses of 10 000 tokens, summed, are more than float16 can hold."""
    return logits.to(torch.promote_types(logits.dtype, torch.float32))


class MaskedLMHead(nn.Module):
    """Dense + activation + LayerNorm, then the transposed token table, plus a bias.

    The table is that which embeds the tokens ("tied"): passed in, never stored twice.
    """

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.embedding_width)
        self.activation = ACTIVATION[config.hidden_act]
        self.norm = nn.LayerNorm(config.embedding_width, eps=config.layer_norm_eps)
        self.bias = nn.Parameter(torch.zeros(config.vocab_size))

    def forward(
        self,
        hidden: Float[Tensor, "*B H"],
        table: Float[Tensor, "V E"],
    ) -> Float[Tensor, "*B V"]:
        x = self.norm(self.activation(self.dense(hidden)))  # (*B, E)
        return F.linear(x, table, self.bias)


class BertWithHead(nn.Module):
    """An encoder under a head. ``forward`` takes what :meth:`Bert.forward` takes, and labels."""

    def __init__(self, config: BertConfig, *, pooler: bool = True) -> None:
        super().__init__()
        self.config = config
        self.name = ""
        self.bert = Bert(config, pooler=pooler)


class BertForMaskedLM(BertWithHead):
    """Guess the masked tokens."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__(config, pooler=False)
        self.mlm = MaskedLMHead(config)
        initialise(self.mlm, config)

    def forward(
        self,
        input_ids: Int[Tensor, "B S"],
        *,
        labels: Int[Tensor, "B S"] | None = None,
        output_logits: bool = False,
        **inputs: Any,
    ) -> HeadOutput:
        """Logits of the vocabulary, and with labels the loss.

        Args:
            labels: the original id where a token was masked, −100 elsewhere.
            output_logits: with labels, compute the logits of every position all the same.

        Returns:
            ``logits`` (B, S, V) without labels or on request; otherwise (N, V) at the N labelled
            positions only, row by row: the product with the vocabulary is most of the work.
        """
        encoded = self.bert(input_ids, **inputs)
        loss, logits = masked_lm(self, encoded.last_hidden_state, labels, output_logits, inputs.get("attention_mask"))
        return HeadOutput(loss, logits, encoded)


class BertForPreTraining(BertWithHead):
    """Both of BERT's objectives at once: masked tokens and next sentence."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__(config, pooler=True)
        self.mlm = MaskedLMHead(config)
        self.nsp = nn.Linear(config.hidden_size, 2)
        initialise(self.mlm, config)
        initialise(self.nsp, config)

    def forward(
        self,
        input_ids: Int[Tensor, "B S"],
        *,
        labels: Int[Tensor, "B S"] | None = None,
        next_sentence_label: Int[Tensor, "B"] | None = None,  # noqa: F821 (a shape)
        output_logits: bool = False,
        **inputs: Any,
    ) -> PreTrainingOutput:
        """As :class:`BertForMaskedLM`, and ``next_sentence_label``: 0 the second text follows (IsNext), 1 it does not.

        The loss is the sum of the two means; with one kind of label, that one alone.
        """
        encoded = self.bert(input_ids, **inputs)
        words, logits = masked_lm(self, encoded.last_hidden_state, labels, output_logits, inputs.get("attention_mask"))
        follows = self.nsp(encoded.pooler_output)  # (B, 2)
        losses = {} if words is None else {"mlm": words}
        if next_sentence_label is not None:
            check_labels("next_sentence_label", next_sentence_label, (len(input_ids),), 2)
            losses["nsp"] = cross_entropy(follows, next_sentence_label)
        loss = torch.stack(list(losses.values())).sum() if losses else None
        return PreTrainingOutput(loss, logits, encoded, follows, losses)


class BertForSequenceClassification(BertWithHead):
    """One label a text, or one number: pooler, dropout, one linear layer."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__(config, pooler=True)
        self.dropout = nn.Dropout(config.head_dropout)
        self.classifier = nn.Linear(config.hidden_size, config.num_labels)
        initialise(self.classifier, config)

    def forward(
        self,
        input_ids: Int[Tensor, "B S"],
        *,
        labels: Tensor | None = None,
        **inputs: Any,
    ) -> HeadOutput:
        """``logits`` (B, K). Labels: (B,) whole numbers; with one label only (K = 1), (B,) floats: regression.

        The loss is cross-entropy, or for regression the mean squared error.
        """
        encoded = self.bert(input_ids, **inputs)
        logits = self.classifier(self.dropout(encoded.pooler_output))  # (B, K)
        loss = None
        if labels is not None and self.config.num_labels == 1:
            check_targets(labels, len(input_ids))
            predicted = full(logits[:, 0])
            loss = F.mse_loss(predicted, labels.to(predicted.dtype))
        elif labels is not None:
            check_labels("labels", labels, (len(input_ids),), self.config.num_labels)
            loss = cross_entropy(logits, labels)
        return HeadOutput(loss, logits, encoded)


class BertForTokenClassification(BertWithHead):
    """One label a token: dropout, one linear layer; with ``config.crf`` a CRF over the labels of a text."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__(config, pooler=False)
        self.dropout = nn.Dropout(config.head_dropout)
        self.classifier = nn.Linear(config.hidden_size, config.num_labels)
        self.crf = LinearChainCRF(config.num_labels) if config.crf else None
        initialise(self.classifier, config)

    def forward(
        self, input_ids: Int[Tensor, "B S"], *, labels: Int[Tensor, "B S"] | None = None, **inputs: Any
    ) -> HeadOutput:
        """``logits`` (B, S, K). Labels: one at the first piece of each word, −100 elsewhere.

        The loss is cross-entropy over the labelled tokens, or the CRF's.
        """
        encoded = self.bert(input_ids, **inputs)
        logits = self.classifier(self.dropout(encoded.last_hidden_state))  # (B, S, K)
        loss = None
        if labels is not None:
            mask = inputs.get("attention_mask")
            check_labels("labels", labels, tuple(input_ids.shape), self.config.num_labels, mask)
            loss = cross_entropy(logits, labels) if self.crf is None else self.crf(logits, labels)
        return HeadOutput(loss, logits, encoded)


class BertForQuestionAnswering(BertWithHead):
    """Start and end of the answer in the text: one layer of [H, 2]."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__(config, pooler=False)
        self.answer = nn.Linear(config.hidden_size, 2)
        initialise(self.answer, config)

    def forward(
        self,
        input_ids: Int[Tensor, "B S"],
        *,
        start_positions: Int[Tensor, "B"] | None = None,  # noqa: F821 (a shape)
        end_positions: Int[Tensor, "B"] | None = None,  # noqa: F821 (a shape)
        **inputs: Any,
    ) -> AnswerOutput:
        """``logits`` (B, S, 2). Positions count tokens from 0; 0, [CLS], says that there is no answer; −100 nothing.

        The loss is the mean of two cross-entropies over the tokens of a text, that of the start and that of the end.
        Padding can be neither: its logits are the lowest number there is. (The released code let it take part, so
        that an answer's probability hung on how much padding the batch had.)
        """
        if (start_positions is None) != (end_positions is None):
            raise ValueError("start_positions and end_positions go together: pass both, or neither")
        mask = inputs.get("attention_mask")
        encoded = self.bert(input_ids, **inputs)
        logits = self.answer(encoded.last_hidden_state)  # (B, S, 2)
        if mask is not None:
            logits = logits.masked_fill(mask[..., None] == 0, torch.finfo(logits.dtype).min)
        loss = None
        if start_positions is not None and end_positions is not None:
            for name, positions in (("start_positions", start_positions), ("end_positions", end_positions)):
                check_positions(name, positions, input_ids, mask)
            start, end = cross_entropy(logits[..., 0], start_positions), cross_entropy(logits[..., 1], end_positions)
            loss = (start + end) / 2
        return AnswerOutput(loss, logits, encoded)


def masked_lm(
    model: BertForMaskedLM | BertForPreTraining,
    hidden: Float[Tensor, "B S H"],
    labels: Int[Tensor, "B S"] | None,
    output_logits: bool,
    attention_mask: Int[Tensor, "B S"] | None,
) -> tuple[Float[Tensor, ""] | None, Float[Tensor, "..."]]:
    """Loss and logits of the masked tokens; see :meth:`BertForMaskedLM.forward`."""
    table = model.bert.embeddings.token.weight  # (V, E)
    if labels is None:
        return None, model.mlm(hidden, table)
    shape = tuple(hidden.shape[:2])
    check_labels("labels", labels, shape, model.config.vocab_size, attention_mask)
    if output_logits:
        logits = model.mlm(hidden, table)
        return cross_entropy(logits, labels), logits
    chosen = labels != IGNORED  # (B, S)
    logits = model.mlm(hidden[chosen], table)  # (N, V)
    return cross_entropy(logits, labels[chosen]), logits


# By the name of its task, as load_pretrained takes it.
HEADS: dict[str, type[BertWithHead]] = {
    "mlm": BertForMaskedLM,
    "pretraining": BertForPreTraining,
    "classify": BertForSequenceClassification,
    "tag": BertForTokenClassification,
    "answer": BertForQuestionAnswering,
}
