"""How much of a run is done, and the learning rate there."""

import math
from dataclasses import dataclass

from bertbook.training.config import TrainConfig


@dataclass
class Progress:
    """What a run has spent so far, over all its sessions."""

    step: int = 0  # updates done
    tokens: int = 0  # without padding, of all processes
    seconds: float = 0.0

    def spent(self, config: TrainConfig) -> float:
        """In the unit of the budget."""
        return {"steps": self.step, "tokens": self.tokens, "minutes": self.seconds / 60}[config.unit]

    def share(self, config: TrainConfig) -> float:
        """Of the budget, from 0; over 1 where the last step went beyond it."""
        return self.spent(config) / config.budget


def learning_rate(config: TrainConfig, share: float) -> float:
    """The rate at a ``share`` of the budget: up to the peak, then down as the schedule says.

    (Devlin et al. 2019, appendix A.2, has a linear warm-up and a linear decay.)
    """
    if share < config.warmup:
        return config.learning_rate * share / config.warmup
    rest = min(1.0, (share - config.warmup) / (1 - config.warmup))  # 0 at the peak, 1 at the end
    factor = {"linear": 1 - rest, "cosine": (1 + math.cos(math.pi * rest)) / 2, "constant": 1.0}[config.schedule]
    return config.learning_rate * factor
