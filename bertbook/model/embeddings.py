"""Ids to the first vectors: three looked-up rows, summed, normalised."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from bertbook.config import BertConfig


class Embeddings(nn.Module):
    """Token + segment + position, then LayerNorm and dropout (Devlin et al. 2019, figure 2 and released code)."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.token = nn.Embedding(config.vocab_size, config.hidden_size)  # [V, H]
        self.segment = nn.Embedding(config.type_vocab_size, config.hidden_size)  # [2, H]
        self.position = nn.Embedding(config.max_position_embeddings, config.hidden_size)  # [512, H]
        self.norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, input_ids: Int[Tensor, "B S"], token_type_ids: Int[Tensor, "B S"]) -> Float[Tensor, "B S H"]:
        positions = torch.arange(input_ids.shape[1], device=input_ids.device)  # (S,)
        summed = self.token(input_ids) + self.segment(token_type_ids) + self.position(positions)
        return self.dropout(self.norm(summed))  # (B, S, H)
