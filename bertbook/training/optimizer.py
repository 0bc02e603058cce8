"""AdamW, with weight decay where it belongs."""

import torch
from torch import nn

from bertbook.training.config import TrainConfig


def make_optimizer(model: nn.Module, config: TrainConfig) -> torch.optim.AdamW:
    """AdamW in one kernel. Weight decay pulls matrices towards 0, not biases and not LayerNorm.

    Those have one dimension: a bias says where a unit stands, a LayerNorm's weight how loud it is, and pulling either
    to 0 says nothing of simplicity. (Devlin et al. 2019 leave them out, too, in the released code.)
    """
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    groups = [
        {"params": [p for p in parameters if p.ndim > 1], "weight_decay": config.weight_decay},
        {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(
        [group for group in groups if group["params"]],
        lr=config.learning_rate,
        betas=config.betas,
        eps=config.eps,
        fused=True,
    )
