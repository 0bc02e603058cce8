"""Exercise 2: wrong answers as readers write them, and what they are told."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from bertbook import check


def is_token(lengths: Tensor, size: int, extra: int = 0) -> Tensor:
    mask = torch.zeros(len(lengths), size, dtype=torch.bool)
    for row, length in enumerate(lengths.tolist()):
        mask[row, : max(0, length + extra)] = True
    return mask


MASK: dict[str, tuple[Any, str]] = {
    "inverted": (lambda n, s: ~is_token(n, s)[:, None, None], "inverted"),
    "two axes": (lambda n, s: is_token(n, s), "the shape is (B, S)"),
    "queries": (lambda n, s: is_token(n, s)[:, None, :, None], "hides queries, not keys"),
    "both": (lambda n, s: is_token(n, s)[:, None, :, None] & is_token(n, s)[:, None, None], "queries as well as keys"),
    "one too many": (lambda n, s: is_token(n, s, 1)[:, None, None], "one key too many"),
    "one too few": (lambda n, s: is_token(n, s, -1)[:, None, None], "hides each text's last token"),
    "additive": (lambda n, s: (~is_token(n, s)[:, None, None]).float() * -1e9, "numbers to be added to the scores"),
    "additive, infinite": (
        lambda n, s: torch.zeros(n.shape[0], 1, 1, s).masked_fill(~is_token(n, s)[:, None, None], -math.inf),
        "numbers to be added to the scores",
    ),
    "integers": (lambda n, s: is_token(n, s)[:, None, None].long(), "holds numbers (int64), not True and False"),
    "floats": (lambda n, s: is_token(n, s)[:, None, None].float(), "holds numbers (float32), not True and False"),
    "padding on the left": (lambda n, s: is_token(n, s).flip(-1)[:, None, None], "padding on the left"),
    "as long as the longest": (
        lambda n, s: is_token(n, int(n.max()))[:, None, None],
        "longer than any text: `mask` has shape (4, 1, 1, 6) and should have (4, 1, 1, 8)",
    ),
    "no batch axis for one": (
        lambda n, s: is_token(n, s)[:, None, None].squeeze(0),
        "With one text that fills its row: `mask` has shape (1, 1, 4)",
    ),
    "spread over the queries": (
        lambda n, s: is_token(n, s)[:, None, None].expand(-1, 1, s, s),
        "`mask` has shape (3, 1, 5, 5) and should have (3, 1, 1, 5)",
    ),
    "never empty": (
        lambda n, s: is_token(n.clamp(1), s)[:, None, None],
        "1 of 6 numbers in `mask` are wrong; the first is `mask[0, 0, 0, 0]`: it is True and should be False",
    ),
    "nested lists": (
        lambda n, s: is_token(n, s)[:, None, None].tolist(),
        "`mask` is a list of 3 and should be a tensor of shape (3, 1, 1, 5)",
    ),
    "all": (lambda n, s: torch.ones(len(n), 1, 1, s, dtype=torch.bool), "5 of 15 numbers in `mask` are wrong"),
}


@pytest.mark.parametrize("mistake", MASK)
def test_attention_2(mistake: str, refused: Callable[..., None]) -> None:
    refused(check.attention_2, *MASK[mistake])


def test_attention_2_accepts_a_loop() -> None:
    assert check.attention_2(lambda lengths, size: is_token(lengths, size)[:, None, None])
