"""What a decoder keeps between two steps, so that a step costs one position and not all of them."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

KeysValues = tuple[Float[Tensor, "B h N d"], Float[Tensor, "B h N d"]]


@dataclass
class LayerCache:
    """The keys and values that one decoder layer keeps from step to step.

    Those of the target grow by one position a step; those of the source are computed once.
    """

    target: KeysValues | None = None
    source: KeysValues | None = None

    def append(self, key: Float[Tensor, "B h T d"], value: Float[Tensor, "B h T d"]) -> KeysValues:
        """Add new positions of the target; returns all so far."""
        if self.target is not None:
            key, value = torch.cat([self.target[0], key], dim=2), torch.cat([self.target[1], value], dim=2)
        self.target = key, value
        return self.target

    @property
    def length(self) -> int:
        """Positions of the target so far."""
        return 0 if self.target is None else self.target[0].shape[2]

    def select(self, rows: Tensor) -> None:
        """Keep these rows of the batch, in this order; a row may come twice."""
        if self.target is not None:
            self.target = self.target[0][rows], self.target[1][rows]
        if self.source is not None:
            self.source = self.source[0][rows], self.source[1][rows]
