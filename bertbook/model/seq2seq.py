"""The whole Transformer: an encoder that reads, a decoder that writes (Vaswani et al. 2017)."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from bertbook.config import BertConfig
from bertbook.model.bert import Bert, BertOutput, initialise
from bertbook.model.decoder import DecoderLayer, LayerCache, Weights, causal_mask
from bertbook.model.heads import cross_entropy
from bertbook.model.inputs import IGNORED, check_labels, check_target


def shift_right(
    labels: Int[Tensor, "B T"],
    start_id: int,
    pad_id: int = 0,
) -> Int[Tensor, "B T"]:
    """The decoder's input: position t is given label t − 1, the first one the start.

    Labels of −100 are no ids and become ``pad_id``. They belong at the end, where no
    real token looks at them.
    """
    ids = labels.masked_fill(labels == IGNORED, pad_id)
    return F.pad(ids[:, :-1], (1, 0), value=start_id)


@dataclass
class Seq2SeqOutput:
    """``logits[b, t]`` scores the token that follows decoder input t.

    On request, one entry a layer: ``attentions`` (target to target) and
    ``cross_attentions`` (target to source). The encoder's own are in ``encoder``.
    """

    loss: Float[Tensor, ""] | None
    logits: Float[Tensor, "B T V"]
    encoder: BertOutput
    attentions: tuple[Float[Tensor, "B h T T"], ...] | None = None
    cross_attentions: tuple[Float[Tensor, "B h T S"], ...] | None = None


class Seq2Seq(nn.Module):
    """Encoder and decoder, L layers each, over one vocabulary.

    One table embeds both sides and scores the output (section 3.4). The paper's
    shape: ``position_embedding_type="sinusoidal"``, ``hidden_act="relu"``, L = 6,
    H = 512, h = 8, feed-forward 2048. BERT's, not the paper's, are: the LayerNorm
    that ends the embeddings, in place of the factor √H; dropout on attention
    weights; the output's bias; a loss without label smoothing.

    Raises:
        ValueError: ``embedding_size`` is not ``hidden_size``.
    """

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        size = config.hidden_size
        if config.embedding_width != size:
            raise ValueError(
                f"embedding_size={config.embedding_size} with hidden_size={size}: the token table also scores "
                "the output, so the two must be equal; leave embedding_size out"
            )
        self.config = config
        self.encoder = Bert(config, pooler=False)
        count = 1 if config.share_layers else config.num_hidden_layers
        self.layers = nn.ModuleList(DecoderLayer(config) for _ in range(count))
        closing = nn.LayerNorm(size, eps=config.layer_norm_eps)
        self.norm = closing if config.norm_first else nn.Identity()
        self.bias = nn.Parameter(torch.zeros(config.vocab_size))
        initialise(self, config)

    def forward(
        self,
        input_ids: Int[Tensor, "B S"],
        decoder_input_ids: Int[Tensor, "B T"],
        *,
        attention_mask: Int[Tensor, "B S"] | None = None,
        labels: Int[Tensor, "B T"] | None = None,
        output_attentions: bool = False,
    ) -> Seq2SeqOutput:
        """Read a source and score, at each position of the target, what comes next.

        Args:
            decoder_input_ids: in training ``shift_right(labels, …)``: the target
                itself, one position late ("teacher forcing"). Padding belongs at its
                end, where the causal mask hides it from every real token.
            attention_mask: 1 for tokens of the source, 0 for its padding.
            labels: the target, −100 where nothing counts. ``loss`` is the mean of
                −ln p(label).

        Raises:
            TypeError, ValueError: as :meth:`Bert.forward`, for either side; labels
                or batches that do not fit.
        """
        encoded = self.encoder(
            input_ids,
            attention_mask=attention_mask,
            output_attentions=output_attentions,
        )
        logits, weights = self.decode(
            decoder_input_ids,
            encoded.last_hidden_state,
            attention_mask=attention_mask,
            output_attentions=output_attentions,
        )
        output = Seq2SeqOutput(None, logits, encoded)
        if labels is not None:
            shape = tuple(decoder_input_ids.shape)
            check_labels("labels", labels, shape, self.config.vocab_size)
            output.loss = cross_entropy(logits, labels)
        if output_attentions:
            own, cross = zip(*weights, strict=True)
            output.attentions, output.cross_attentions = own, cross
        return output

    def decode(
        self,
        decoder_input_ids: Int[Tensor, "B U"],
        source: Float[Tensor, "B S H"],
        *,
        attention_mask: Int[Tensor, "B S"] | None = None,
        caches: list[LayerCache] | None = None,
        output_attentions: bool = False,
    ) -> tuple[Float[Tensor, "B T V"], list[Weights]]:
        """The decoder alone: logits, and each layer's weights.

        The ids are the whole target so far. Positions that ``caches`` (one a layer)
        hold already are not computed again, and have no logits: T of the U are new.
        """
        known = caches[0].length if caches else 0
        if not torch.compiler.is_compiling():
            check_target(self.config, decoder_input_ids, len(source), known)
        mask = causal_mask(decoder_input_ids.shape[1], source.device)[:, :, known:]
        source_mask = None  # (B, 1, 1, S): padding of the source stays hidden
        if attention_mask is not None:
            source_mask = attention_mask[:, None, None, :] == 1

        segments = torch.zeros_like(decoder_input_ids)
        hidden = self.encoder.embeddings(decoder_input_ids, segments)[:, known:]
        weights = []
        for index in range(self.config.num_hidden_layers):
            layer = self.layers[index % len(self.layers)]
            cache = caches[index] if caches else None
            hidden, pair = layer(
                hidden,
                source,
                mask,
                source_mask,
                cache=cache,
                need_weights=output_attentions,
            )
            weights.append(pair)
        table = self.encoder.embeddings.token.weight  # (V, H)
        return F.linear(self.norm(hidden), table, self.bias), weights
