"""Exercise 3: wrong answers as readers write them, and what they are told."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from bertbook import BertConfig, BertForPreTraining, check


def loss(
    vector: Callable[[Tensor], Tensor] = lambda hidden: hidden[:, 0],
    squash: Callable[[Tensor], Tensor] = torch.tanh,
    score: Callable[[Tensor, Tensor], Tensor] = F.cross_entropy,
) -> Callable[..., Any]:
    """The loss, with a part of it done otherwise."""

    def my_nsp_loss(hidden: Tensor, W_pool: Tensor, b_pool: Tensor, W: Tensor, b: Tensor, labels: Tensor) -> Tensor:
        return score(F.linear(squash(F.linear(vector(hidden), W_pool, b_pool)), W, b), labels)

    return my_nsp_loss


def by_hand(logits: Tensor, labels: Tensor) -> Tensor:
    p = logits.exp() / logits.exp().sum(-1, keepdim=True)
    return -p[torch.arange(len(labels)), labels].log().mean()


WRONG: dict[str, tuple[Any, str]] = {
    "no tanh": (loss(squash=lambda x: x), "the tanh of the pooler is missing"),
    "1 = IsNext": (loss(score=lambda x, y: F.cross_entropy(x, 1 - y)), "the two classes are swapped"),
    "the sum": (loss(score=lambda x, y: F.cross_entropy(x, y, reduction="sum")), "the losses are added up"),
    "the mean of the tokens": (loss(lambda hidden: hidden.mean(1)), "the mean of all tokens is pooled"),
    "the last token": (loss(lambda hidden: hidden[:, -1]), "the last token is pooled"),
    "softmax twice": (loss(score=lambda x, y: F.cross_entropy(x.softmax(-1), y)), "the softmax is taken twice"),
    "two sigmoids": (
        loss(score=lambda x, y: F.binary_cross_entropy_with_logits(x, F.one_hot(y, 2).float())),
        "each class gets a sigmoid of its own",
    ),
    "no logarithm": (loss(score=lambda x, y: F.nll_loss(x.softmax(-1), y)), "the logarithm is missing"),
    "the sign": (loss(score=lambda x, y: -F.cross_entropy(x, y)), "the sign is wrong"),
    "not transposed": (lambda h, P, *rest: loss()(h, P.T, *rest), "the pooler's matrix is not transposed"),
    "class 0 dropped": (
        loss(score=lambda x, y: F.cross_entropy(x, y, ignore_index=0)),
        "With a batch of 5 pairs",
    ),
    "overflow": (loss(score=by_hand), "With scores in the hundreds"),
    "one a pair": (loss(score=lambda x, y: F.cross_entropy(x, y, reduction="none")), "`loss` has shape (5,)"),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_nsp_3(mistake: str, refused: Callable[..., None]) -> None:
    refused(check.nsp_3, *WRONG[mistake])


def test_the_solution_is_the_models_loss(solutions: Callable[[str], ModuleType]) -> None:
    torch.manual_seed(0)
    model = BertForPreTraining(BertConfig.preset("tiny", vocab_size=50)).eval()
    ids, labels = torch.randint(5, 50, (4, 9)), torch.tensor([0, 1, 1, 0])
    expected = model(ids, next_sentence_label=labels)
    pooler = model.bert.pooler.dense
    hidden = expected.encoder.last_hidden_state
    ours = solutions("nsp").my_nsp_loss(hidden, pooler.weight, pooler.bias, model.nsp.weight, model.nsp.bias, labels)
    torch.testing.assert_close(ours, expected.loss)
