"""What is minimised: a mean over labels, or the sum of several."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from bertbook.text.batches import IGNORED


@dataclass(frozen=True)
class Objective:
    """Which losses a model's output has, and over which labels of the batch each is the mean.

    The number of labels is needed where a batch is computed in parts, by one process after the other or by several
    at once: the mean of means is the mean only where all parts have the same number, and masked words do not.
    """

    labels: Mapping[str, str]  # loss → field of the batch

    def counts(self, batch: Mapping[str, Tensor]) -> dict[str, int]:
        """How many labels each loss is a mean over."""
        return {name: int((batch[field] != IGNORED).sum()) for name, field in self.labels.items()}

    def losses(self, output: Any) -> dict[str, Tensor]:
        """The losses of an output: its ``losses``, by name, or its ``loss`` where it is one."""
        if len(self.labels) == 1:
            return dict.fromkeys(self.labels, output.loss)
        return {name: output.losses[name] for name in self.labels}


#: One loss over ``labels``: any head, or any model of yours that returns an object with ``.loss``.
LABELS = Objective({"loss": "labels"})
MASKED_WORDS = Objective({"mlm": "labels"})
MASKED_WORDS_AND_PAIRS = Objective({"mlm": "labels", "nsp": "next_sentence_label"})  # Devlin et al. 2019, 3.1
