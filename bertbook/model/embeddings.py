"""Ids to the first vectors: looked-up rows, summed, normalised."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from bertbook.config import BertConfig


class Embeddings(nn.Module):
    """Token + segment + position, then LayerNorm and dropout (Devlin et al. 2019, figure 2 and released code).

    The tables have E columns: E = H in BERT. ALBERT takes a smaller E and one matrix from E to H
    (Lan et al. 2020, section 3.1). RoBERTa counts positions from ``position_offset``.
    """

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        size = config.embedding_width  # E
        self.offset = config.position_offset
        self.token = nn.Embedding(config.vocab_size, size)  # [V, E]
        self.segment = nn.Embedding(config.type_vocab_size, size)  # [2, E]
        self.position: nn.Module = (
            Sinusoids(size)
            if config.position_embedding_type == "sinusoidal"
            else nn.Embedding(config.max_position_embeddings, size)  # [512, E]
        )
        self.norm = nn.LayerNorm(size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)
        self.projection = nn.Identity() if config.embedding_size is None else nn.Linear(size, config.hidden_size)

    def forward(
        self,
        input_ids: Int[Tensor, "B S"],
        token_type_ids: Int[Tensor, "B S"],
        positions: Int[Tensor, "#B S"] | None = None,
    ) -> Float[Tensor, "B S H"]:
        if positions is None:
            positions = torch.arange(input_ids.shape[1], device=input_ids.device)[None]  # (1, S)
        token = self.token(input_ids)  # (B, S, E)
        position = self.position(positions + self.offset)  # (1, S, E), the same in every row
        summed = token + self.segment(token_type_ids) + position.to(token.dtype)
        return self.projection(self.dropout(self.norm(summed)))  # (B, S, H)


class Sinusoids(nn.Module):
    """The Transformer's positions: no table, no last position (Vaswani et al. 2017, section 3.5).

    Dimension 2 i holds sin(pos / 10000^(2 i / E)) and dimension 2 i + 1 the cosine of the same angle.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def forward(self, positions: Int[Tensor, "*B S"]) -> Float[Tensor, "*B S E"]:
        # In float32 whatever the weights are: bfloat16 has no 257th position.
        rates = 10000.0 ** (-torch.arange(0, self.size, 2, device=positions.device) / self.size)
        angles = positions[..., None] * rates  # (*B, S, E / 2)
        return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)  # sin, cos, sin, cos, …
