"""Exercise 2: wrong answers as readers write them, and what they are told."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from bertbook import check


def loss(
    join: Callable[[Tensor, Tensor], Tensor] = lambda near, far: (near + far.sum(1)).mean(),
    of: Callable[[Tensor], Tensor] = lambda x: -F.logsigmoid(x),
    sign: int = -1,
) -> Callable[..., Any]:
    """The loss, with a part of it done otherwise."""

    def my_sgns_loss(centre: Tensor, context: Tensor, noise: Tensor) -> Tensor:
        return join(of((centre * context).sum(1)), of(sign * (noise @ centre[:, :, None])[:, :, 0]))

    return my_sgns_loss


def one_softmax(centre: Tensor, context: Tensor, noise: Tensor) -> Tensor:
    near, far = (centre * context).sum(1, keepdim=True), (noise @ centre[:, :, None])[:, :, 0]
    return -torch.cat([near, far], 1).log_softmax(1)[:, 0].mean()


WRONG: dict[str, tuple[Any, str]] = {
    "no minus": (loss(sign=1), "the random words are pulled near, too"),
    "no random words": (loss(lambda near, far: near.mean()), "the random words are missing"),
    "no true word": (loss(lambda near, far: far.sum(1).mean()), "the true words are missing"),
    "the mean of the random words": (
        loss(lambda near, far: (near + far.mean(1)).mean()),
        "the random words of a pair are averaged",
    ),
    "the sum": (loss(lambda near, far: near.sum() + far.sum()), "the losses of the pairs are added up"),
    "no logarithm": (loss(of=lambda x: 1 - torch.sigmoid(x)), "the logarithm is missing"),
    "the sign": (loss(of=F.logsigmoid), "the sign is wrong"),
    "softmax": (one_softmax, "the true word competes with the random ones in one softmax"),
    "underflow": (loss(of=lambda x: -torch.sigmoid(x).log()), "With dot products in the hundreds"),
    "one a pair": (loss(lambda near, far: near + far.sum(1)), "`loss` has shape (4,)"),
    "a number": (
        lambda *a: float(loss()(*a)),
        "`loss` is a float and should be a tensor of shape ()",
    ),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_why_bert_2(mistake: str, refused: Callable[..., None]) -> None:
    refused(check.why_bert_2, *WRONG[mistake])


def test_another_road_is_right() -> None:
    assert check.why_bert_2(loss())


def test_a_fresh_pair_pays_ln_2_for_each_word(solutions: Callable[[str], ModuleType]) -> None:
    """What the check asks at the end: V is all zeros, so each of the 1 + k questions is a coin."""
    value = solutions("why_bert").my_sgns_loss(torch.randn(3, 4), torch.zeros(3, 4), torch.zeros(3, 5, 4))
    torch.testing.assert_close(value, 6 * torch.tensor(2.0).log())
