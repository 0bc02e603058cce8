"""AdamW: which parameters are pulled towards 0, and the numbers against a plain computation."""

import math

import pytest
import torch
from torch import nn

from bertbook import BertConfig, BertForPreTraining
from bertbook.training import TrainConfig
from bertbook.training.optimizer import make_optimizer

CONFIG = TrainConfig(steps=10, learning_rate=0.01, weight_decay=0.1, betas=(0.9, 0.98), eps=1e-6)


@pytest.fixture
def model() -> BertForPreTraining:
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    return BertForPreTraining(BertConfig(vocab_size=40, **sizes))


def test_no_decay_on_biases_and_layer_norm(model: BertForPreTraining) -> None:
    """With gradients of 0 the decay alone moves a weight: by learning rate · decay of itself."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(2.0)
            parameter.grad = torch.zeros_like(parameter)
    make_optimizer(model, CONFIG).step()
    moved = {name for name, parameter in model.named_parameters() if not bool((parameter == 2).all())}
    norms = {f"{name}.weight" for name, module in model.named_modules() if isinstance(module, nn.LayerNorm)}
    biases = {name for name, _ in model.named_parameters() if name.endswith("bias")}
    assert len(norms) == 6  # of the embeddings, two in each layer, of the head
    assert moved == {name for name, _ in model.named_parameters()} - norms - biases
    pulled = dict(model.named_parameters())["bert.embeddings.token.weight"]
    torch.testing.assert_close(pulled.detach(), torch.full_like(pulled, 2.0 * (1 - 0.01 * 0.1)))


def test_every_parameter_once_and_frozen_ones_not(model: BertForPreTraining) -> None:
    model.bert.embeddings.token.weight.requires_grad_(False)
    optimizer = make_optimizer(model, CONFIG)
    held = [id(parameter) for group in optimizer.param_groups for parameter in group["params"]]
    assert sorted(held) == sorted(id(parameter) for parameter in model.parameters() if parameter.requires_grad)


def test_a_model_without_biases() -> None:
    (group,) = make_optimizer(nn.Linear(3, 2, bias=False), CONFIG).param_groups
    assert group["weight_decay"] == 0.1


@pytest.mark.parametrize("decayed", [True, False])
def test_the_numbers_of_the_paper(decayed: bool) -> None:
    """Loshchilov and Hutter 2019, algorithm 2, with the schedule's factor 1, in plain Python."""
    size = (1, 1) if decayed else (1,)
    weight = nn.Parameter(torch.full(size, 0.7, dtype=torch.float64))
    optimizer = make_optimizer(nn.ParameterList([weight]), CONFIG)
    theta, m, v = 0.7, 0.0, 0.0
    for t in range(1, 21):
        gradient = math.sin(3 * t)
        weight.grad = torch.full(size, gradient, dtype=torch.float64)
        optimizer.step()
        m, v = 0.9 * m + 0.1 * gradient, 0.98 * v + 0.02 * gradient**2
        step = (m / (1 - 0.9**t)) / (math.sqrt(v / (1 - 0.98**t)) + 1e-6)
        theta -= 0.01 * (step + 0.1 * theta * decayed)
        assert weight.item() == pytest.approx(theta, rel=1e-12)
