"""What all exercises that make a mask have in common."""

import torch
from torch import Tensor

from bertbook.check.compare import Finding
from bertbook.check.exercise import Case


def no_bool(case: Case, given: Tensor) -> Finding | None:
    """Numbers where True and False are asked for: 1 and 0, or what is added to the scores."""
    if given.dtype == torch.bool:
        return None
    if given.is_floating_point() and given.min() < 0:
        return Finding(
            "Your mask holds numbers to be added to the scores, not True and False.",
            "Such masks exist, but this one answers a question: may this key be looked at?",
        )
    return Finding(
        f"Your mask holds numbers ({str(given.dtype).removeprefix('torch.')}), not True and False.",
        "A comparison gives True and False by itself.",
    )
