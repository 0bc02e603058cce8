"""BERT without a head: embeddings, L encoder layers, pooler (Devlin et al. 2019)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from bertbook.config import BertConfig
from bertbook.model.attention import Attend
from bertbook.model.embeddings import Embeddings
from bertbook.model.encoder import EncoderLayer
from bertbook.model.inputs import check_inputs
from bertbook.model.packing import Packing


@dataclass
class BertOutput:
    """What one forward pass returns.

    ``hidden_states`` (on request) has L + 1 entries: the embeddings' output, then each layer's
    (with ``norm_first``, before the LayerNorm that closes the stack).
    ``attentions`` (on request) has L entries; ``attentions[l][b, k, i, j]`` is the weight that
    token i gives to token j in head k of layer l.
    """

    last_hidden_state: Float[Tensor, "B S H"]
    pooler_output: Float[Tensor, "B H"] | None = None  # None: the model has no pooler
    hidden_states: tuple[Float[Tensor, "B S H"], ...] | None = None
    attentions: tuple[Float[Tensor, "B h S S"], ...] | None = None


class Pooler(nn.Module):
    """The vector at [CLS], dense and tanh: next-sentence prediction was trained on it."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, hidden: Float[Tensor, "B S H"]) -> Float[Tensor, "B H"]:
        return self.dense(hidden[:, 0]).tanh()


class Bert(nn.Module):
    """The encoder that every BERT shares. ``Bert(BertConfig())`` is bert-base with fresh weights.

    Args:
        pooler: False leaves the pooler out, for heads that never use it.

    Two attributes trade one thing for another; neither changes a result but by rounding, and dropout's draws:

    ``packing``, True: padding is taken out before the first layer and put back, as zeros, after the last. Not done
    where all attention weights are asked for, or the whole model is compiled. The tools of
    :mod:`bertbook.model.inspect` show (B, S, …) all the same; a forward hook of your own sees packed rows, (1, N, H).

    ``gradient_checkpointing``, False: in training keep only what goes into each layer, and run the layer once more in
    the backward pass (Chen et al. 2016). Memory for one layer's activations, not L; a third more work.
    """

    def __init__(self, config: BertConfig, *, pooler: bool = True) -> None:
        super().__init__()
        self.config = config
        self.name = ""  # set by load_pretrained; used in captions
        self.packing = True
        self.gradient_checkpointing = False
        self.inspected = 0  # how many blocks of inspect.py look at this model; each wants to see a layer run once
        self.embeddings = Embeddings(config)
        # ALBERT runs one and the same layer L times (Lan et al. 2020, section 3.1).
        count = 1 if config.share_layers else config.num_hidden_layers
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(count))
        # Pre-norm layers leave their sum as it is; one LayerNorm closes the stack.
        self.norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps) if config.norm_first else nn.Identity()
        self.pooler = Pooler(config) if pooler else None
        initialise(self, config)

    def forward(
        self,
        input_ids: Int[Tensor, "B S"],
        *,
        token_type_ids: Int[Tensor, "B S"] | None = None,
        attention_mask: Int[Tensor, "B S"] | None = None,
        output_hidden_states: bool = False,
        output_attentions: bool = False,
    ) -> BertOutput:
        """Run the encoder.

        Args:
            token_type_ids: 0 for the first text, 1 for the second; all 0 when not given.
            attention_mask: 1 for tokens, 0 for padding; all 1 when not given. Vectors at padding
                positions come out too, and mean nothing (zeros, if the rows were packed): all of
                them, in a row of 0 alone.
            output_hidden_states: keep the vectors after every layer.
            output_attentions: keep the attention weights of every head (the readable path of
                :mod:`bertbook.model.attention`; same result, more memory: L · B · h · S² numbers).

        Raises:
            ValueError: a shape, an id, a segment or a mask value that this model has no place for.
        """
        if not torch.compiler.is_compiling():
            check_inputs(self.config, input_ids, token_type_ids, attention_mask)
        if token_type_ids is None:
            token_type_ids = torch.zeros_like(input_ids)
        mask: Bool[Tensor, "B 1 1 S"] | Attend | None = None
        positions = None
        packing = self.packing_of(attention_mask, output_attentions)
        if packing is not None:
            input_ids = packing.pack(input_ids)  # (1, N)
            token_type_ids = packing.pack(token_type_ids)  # (1, N)
            mask, positions = packing.attend, packing.positions
        elif attention_mask is not None and _hides(attention_mask):
            # (B, 1, 1, S): the same keys for every head and every query
            mask = attention_mask[:, None, None, :] == 1

        hidden, hidden_states, attentions = self.encode(
            self.embeddings(input_ids, token_type_ids, positions),
            mask,
            output_hidden_states,
            output_attentions,
        )
        if packing is not None:
            hidden = packing.unpack(hidden)
            hidden_states = tuple(packing.unpack(x) for x in hidden_states)
        return BertOutput(
            last_hidden_state=hidden,
            pooler_output=None if self.pooler is None else self.pooler(hidden),
            hidden_states=hidden_states if output_hidden_states else None,
            attentions=attentions if output_attentions else None,
        )

    def encode(
        self,
        hidden: Float[Tensor, "B S H"],
        mask: Bool[Tensor, "B 1 1 S"] | Attend | None = None,
        output_hidden_states: bool = False,
        output_attentions: bool = False,
    ) -> tuple[Float[Tensor, "B S H"], tuple[Float[Tensor, "B S H"], ...], tuple[Float[Tensor, "B h S S"], ...]]:
        """The layers, one after the other: the last vectors, and what was asked for on the way."""
        hidden_states = [hidden]
        attentions = []
        for index in range(self.config.num_hidden_layers):
            hidden, weights = self._layer(index)(hidden, mask, output_attentions)
            if output_hidden_states:
                hidden_states.append(hidden)
            if output_attentions:
                attentions.append(weights)
        return self.norm(hidden), tuple(hidden_states), tuple(attentions)

    def _layer(self, index: int) -> Callable[..., Any]:
        layer = self.layers[index % len(self.layers)]
        if self.gradient_checkpointing and self.training and not self.inspected:
            return partial(checkpoint, layer, use_reentrant=False)
        return layer

    def packing_of(
        self, attention_mask: Int[Tensor, "B S"] | None = None, output_attentions: bool = False
    ) -> Packing | None:
        """How :meth:`forward` packs such a batch; None where it does not: nothing is padding, or all is."""
        if attention_mask is None or output_attentions or not self.packing or torch.compiler.is_compiling():
            return None
        return Packing(attention_mask) if 0 < int(attention_mask.sum()) < attention_mask.numel() else None


def _hides(attention_mask: Int[Tensor, "B S"]) -> bool:
    """Whether anything is padding. Compiled code, which cannot stop to look, takes it that something is."""
    return torch.compiler.is_compiling() or not bool(attention_mask.all())


def initialise(module: nn.Module, config: BertConfig) -> None:
    """Fresh weights: truncated normal for matrices and tables, zeros for biases (Devlin et al. 2019, released code).

    LayerNorm starts as the identity by itself.
    """
    std = config.initializer_range
    for part in module.modules():
        if isinstance(part, nn.Linear | nn.Embedding):
            nn.init.trunc_normal_(part.weight, std=std, a=-2 * std, b=2 * std)
        if isinstance(part, nn.Linear) and part.bias is not None:
            nn.init.zeros_(part.bias)
