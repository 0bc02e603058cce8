"""Attention, twice: once to be read, once to be fast. Tests hold the two equal."""

import math
from collections.abc import Callable

import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from bertbook.config import BertConfig

# Stands in a mask's place where rows lie end to end (packing.py): query, key, value, dropout → mixed values.
Attend = Callable[[Tensor, Tensor, Tensor, float], Tensor]


def scaled_dot_product_attention(
    query: Float[Tensor, "*B S d"],
    key: Float[Tensor, "*B T d"],
    value: Float[Tensor, "*B T d_v"],
    mask: Bool[Tensor, "..."] | None = None,
    dropout: float = 0.0,
) -> tuple[Float[Tensor, "*B S d_v"], Float[Tensor, "*B S T"]]:
    """softmax(Q Kᵀ / √d) V, written out (Vaswani et al. 2017, section 3.2.1).

    Args:
        mask: True where a query may look at a key; broadcasts to (*B, S, T).
        dropout: share of the weights set to zero; the others grow to make up for it.

    Returns:
        The mixed values, and the weights that mixed them. Each row of weights sums
        to 1 (before dropout), or is all zeros where every key is masked.
    """
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])  # (*B, S, T)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)  # exp(-inf) = 0: no weight
    weights = scores.softmax(dim=-1)  # (*B, S, T)
    if mask is not None:
        weights = weights.masked_fill(~mask, 0.0)  # a row of -inf alone gave NaN
    weights = F.dropout(weights, dropout)
    return weights @ value, weights  # (*B, S, d_v), (*B, S, T)


class MultiHeadAttention(nn.Module):
    """h heads of size d = H / h side by side, then W_O mixes them (section 3.2.2)."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.num_heads = config.num_attention_heads
        self.dropout = float(config.attention_probs_dropout_prob)
        self.query = nn.Linear(config.hidden_size, config.hidden_size)
        self.key = nn.Linear(config.hidden_size, config.hidden_size)
        self.value = nn.Linear(config.hidden_size, config.hidden_size)
        self.output = nn.Linear(config.hidden_size, config.hidden_size)  # W_O

    def forward(
        self,
        hidden: Float[Tensor, "B S H"],
        mask: Bool[Tensor, "#B 1 #S S"] | Attend | None = None,
        need_weights: bool = False,
    ) -> tuple[Float[Tensor, "B S H"], Float[Tensor, "B h S S"] | None]:
        """Self-attention: let every token gather from those that ``mask`` allows (True: may be looked at)."""
        return self.attend(hidden, *self.keys_values(hidden), mask, need_weights)

    def keys_values(self, source: Float[Tensor, "B T H"]) -> tuple[Float[Tensor, "B h T d"], Float[Tensor, "B h T d"]]:
        """What the tokens of ``source`` are compared by, and what they hand over."""
        return self._split(self.key(source)), self._split(self.value(source))

    def attend(
        self,
        hidden: Float[Tensor, "B S H"],
        key: Float[Tensor, "B h T d"],
        value: Float[Tensor, "B h T d"],
        mask: Bool[Tensor, "#B 1 #S T"] | Attend | None = None,
        need_weights: bool = False,
    ) -> tuple[Float[Tensor, "B S H"], Float[Tensor, "B h S T"] | None]:
        """Ask with ``hidden`` among keys and values, its own or those of another text.

        ``need_weights`` takes the readable path and returns its weights too. Otherwise
        PyTorch's fused kernel does the same and never stores the S × T weights; for packed
        rows, what stands in the mask's place does (packing.py).
        """
        query = self._split(self.query(hidden))  # (B, h, S, d)
        dropout = self.dropout if self.training else 0.0
        weights = None
        if callable(mask):
            mixed = mask(query, key, value, dropout)
        elif need_weights:
            mixed, weights = scaled_dot_product_attention(query, key, value, mask, dropout)
        else:
            mixed = F.scaled_dot_product_attention(query, key, value, mask, dropout)
        return self.output(self._merge(mixed)), weights

    def _split(self, x: Float[Tensor, "B S H"]) -> Float[Tensor, "B h S d"]:
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)

    def _merge(self, x: Float[Tensor, "B h S d"]) -> Float[Tensor, "B S H"]:
        return x.transpose(1, 2).flatten(-2)
