"""One decoder layer, and what lets it write: a mask over the future, a memory of the past."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from bertbook.config import BertConfig
from bertbook.model.attention import MultiHeadAttention
from bertbook.model.encoder import FeedForward

KeysValues = tuple[Float[Tensor, "B h N d"], Float[Tensor, "B h N d"]]
# Of the self-attention, and of the attention to the source. None unless asked for.
Weights = tuple[Float[Tensor, "B h T U"] | None, Float[Tensor, "B h T S"] | None]


def causal_mask(
    length: int,
    device: torch.device | str | None = None,
) -> Bool[Tensor, "1 1 T T"]:
    """True where row i may look at column j: at itself and at what stands before it.

    Without it teacher forcing would cheat: each position could read its own answer
    in the next one's input (Vaswani et al. 2017, section 3.2.3).
    """
    everything = torch.ones(1, 1, length, length, dtype=torch.bool, device=device)
    return everything.tril()


@dataclass
class LayerCache:
    """Keys and values that a layer keeps: a step then costs one position, not all.

    Those of the target grow by one position a step. Those of the source are
    computed once.
    """

    target: KeysValues | None = None
    source: KeysValues | None = None

    @property
    def length(self) -> int:
        """Positions of the target so far."""
        return 0 if self.target is None else self.target[0].shape[2]

    def append(
        self,
        key: Float[Tensor, "B h T d"],
        value: Float[Tensor, "B h T d"],
    ) -> KeysValues:
        """Add new positions of the target. Returns all so far."""
        if self.target is not None:
            key = torch.cat([self.target[0], key], dim=2)
            value = torch.cat([self.target[1], value], dim=2)
        self.target = key, value
        return self.target

    def select(self, rows: Tensor) -> None:
        """Keep these rows of the batch, in this order. A row may come twice."""
        if self.target is not None:
            self.target = self.target[0][rows], self.target[1][rows]
        if self.source is not None:
            self.source = self.source[0][rows], self.source[1][rows]


class DecoderLayer(nn.Module):
    """Masked self-attention, attention to the source, feed-forward (section 3.1).

    An encoder layer with one sub-layer more. Residuals, dropout and ``norm_first``
    are as in :class:`~bertbook.model.encoder.EncoderLayer`.
    """

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        size, eps = config.hidden_size, config.layer_norm_eps
        self.norm_first = config.norm_first
        self.attention = MultiHeadAttention(config)
        self.attention_norm = nn.LayerNorm(size, eps=eps)
        self.cross_attention = MultiHeadAttention(config)
        self.cross_norm = nn.LayerNorm(size, eps=eps)
        self.feed_forward = FeedForward(config)
        self.feed_forward_norm = nn.LayerNorm(size, eps=eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(
        self,
        hidden: Float[Tensor, "B T H"],
        source: Float[Tensor, "B S H"],
        mask: Bool[Tensor, "#B 1 #T U"] | None = None,
        source_mask: Bool[Tensor, "#B 1 1 S"] | None = None,
        cache: LayerCache | None = None,
        need_weights: bool = False,
    ) -> tuple[Float[Tensor, "B T H"], Weights]:
        """Returns the new vectors, and on request the weights of both attentions.

        ``hidden`` are the T positions that ``cache`` does not hold yet. They look at
        all U so far. ``source`` is what left the last encoder layer.
        """
        cache = LayerCache() if cache is None else cache
        x = self._before(self.attention_norm, hidden)
        key, value = cache.append(*self.attention.keys_values(x))
        x, own = self.attention.attend(x, key, value, mask, need_weights)
        hidden = self._after(self.attention_norm, hidden, x)

        # The target asks, the source answers.
        x = self._before(self.cross_norm, hidden)
        if cache.source is None:
            cache.source = self.cross_attention.keys_values(source)
        key, value = cache.source
        ask = self.cross_attention.attend
        x, cross = ask(x, key, value, source_mask, need_weights)
        hidden = self._after(self.cross_norm, hidden, x)

        x = self.feed_forward(self._before(self.feed_forward_norm, hidden))
        return self._after(self.feed_forward_norm, hidden, x), (own, cross)

    def _before(self, norm: nn.LayerNorm, hidden: Tensor) -> Tensor:
        return norm(hidden) if self.norm_first else hidden

    def _after(self, norm: nn.LayerNorm, hidden: Tensor, change: Tensor) -> Tensor:
        hidden = hidden + self.dropout(change)
        return hidden if self.norm_first else norm(hidden)
