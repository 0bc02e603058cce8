"""One encoder layer: attention mixes tokens, the feed-forward network works on each alone."""

from collections.abc import Callable
from functools import partial

import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from bertbook.config import BertConfig
from bertbook.model.attention import Attend, MultiHeadAttention

ACTIVATION: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": F.gelu,  # the exact one, with erf: what the published weights were trained with
    "gelu_new": partial(F.gelu, approximate="tanh"),
    "relu": F.relu,
}


class FeedForward(nn.Module):
    """H → 4 H → H for each token alone (Vaswani et al. 2017, section 3.3)."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.up = nn.Linear(config.hidden_size, config.intermediate_size)
        self.down = nn.Linear(config.intermediate_size, config.hidden_size)
        self.activation = ACTIVATION[config.hidden_act]

    def forward(self, hidden: Float[Tensor, "B S H"]) -> Float[Tensor, "B S H"]:
        return self.down(self.activation(self.up(hidden)))


class EncoderLayer(nn.Module):
    """Attention, then feed-forward; after each, what came in is added and LayerNorm taken.

    That order, add then normalise ("post-norm"), is BERT's and Vaswani et al.'s (2017).
    ``norm_first`` normalises what goes into a sub-layer ("pre-norm", Xiong et al. 2020).
    """

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        size, eps = config.hidden_size, config.layer_norm_eps
        self.norm_first = config.norm_first
        self.attention = MultiHeadAttention(config)
        self.attention_norm = nn.LayerNorm(size, eps=eps)
        self.feed_forward = FeedForward(config)
        self.feed_forward_norm = nn.LayerNorm(size, eps=eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(
        self,
        hidden: Float[Tensor, "B S H"],
        mask: Bool[Tensor, "#B 1 #S S"] | Attend | None = None,
        need_weights: bool = False,
    ) -> tuple[Float[Tensor, "B S H"], Float[Tensor, "B h S S"] | None]:
        if self.norm_first:
            x = self.attention_norm(hidden)
            mixed, weights = self.attention(x, mask, need_weights)
            hidden = hidden + self.dropout(mixed)
            x = self.feed_forward_norm(hidden)
            hidden = hidden + self.dropout(self.feed_forward(x))
        else:
            mixed, weights = self.attention(hidden, mask, need_weights)
            hidden = self.attention_norm(hidden + self.dropout(mixed))
            x = self.feed_forward(hidden)
            hidden = self.feed_forward_norm(hidden + self.dropout(x))
        return hidden, weights
