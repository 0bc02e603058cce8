"""A loss that is no number: the run stops there, and says where it began."""

import math
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from bertbook import BertConfig, BertForMaskedLM
from bertbook.text import BatchLoader
from bertbook.training import DivergedError, TrainConfig, Trainer, read_journal
from bertbook.training.diagnosis import activations
from tests.training.conftest import MakeTrainer


def copies(model: nn.Module) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}


def assert_unchanged(model: nn.Module, before: dict[str, Tensor]) -> None:
    for name, tensor in model.state_dict().items():
        torch.testing.assert_close(tensor, before[name], rtol=0, atol=0, equal_nan=True)


def test_a_row_of_the_table_that_is_nan(make_trainer: MakeTrainer, tmp_path: Path) -> None:
    trainer = make_trainer(tmp_path, learning_rate=0.25, warmup=0.0, schedule="constant", seed=3)
    with torch.no_grad():
        trainer.plain_model.bert.embeddings.token.weight[5:] = math.nan
    before = copies(trainer.plain_model)
    examples = trainer.legs[0].loader.examples_of(0, 0)
    with pytest.raises(DivergedError) as stopped:
        trainer.run()
    message = str(stopped.value)
    assert message.startswith("step 1 diverged: loss nan, gradient nan, at learning rate 0.25. ")
    assert f"The batch: examples {', '.join(map(str, examples))} of epoch 0. " in message
    assert "In it, bert.embeddings.token.weight held numbers that are not finite before it began. " in message
    assert "a lower learning_rate" in message
    assert message.endswith(f"The last good state is in {tmp_path / 'checkpoints'}.")
    assert_unchanged(trainer.plain_model, before)
    assert read_journal(tmp_path / "log.jsonl") == []
    assert trainer.checkpoints is not None
    assert trainer.checkpoints.all() == []


def test_weights_so_large_that_a_product_overflows(make_trainer: MakeTrainer) -> None:
    trainer = make_trainer()
    with torch.no_grad():
        trainer.plain_model.bert.layers[0].feed_forward.up.weight.fill_(3e38)
    before = copies(trainer.plain_model)
    with pytest.raises(DivergedError) as stopped:
        trainer.run()
    message = str(stopped.value)
    assert "In it, bert.layers.0.feed_forward.up is the first to put out " in message
    assert re.search(r"of the finite ones the largest activation is [\d.e+]+, in bert\.\w+", message)
    assert_unchanged(trainer.plain_model, before)
    assert all(weight.grad is None for weight in trainer.plain_model.parameters())


def test_a_learning_rate_that_is_far_too_high(make_trainer: MakeTrainer, tmp_path: Path) -> None:
    """The first steps go well, and are in the log; nothing after them is."""
    trainer = make_trainer(tmp_path, steps=100, learning_rate=1e25, warmup=0.0, schedule="constant", max_grad_norm=None)
    with pytest.raises(DivergedError, match=r"at learning rate 1e\+25") as stopped:
        trainer.run()
    step = int(str(stopped.value).split()[1])
    assert step > 1
    logged = read_journal(tmp_path / "log.jsonl")
    assert [entry["step"] for entry in logged] == list(range(1, step))
    assert all(math.isfinite(value) for entry in logged for value in entry.values())
    assert all(bool(torch.isfinite(weight).all()) for weight in trainer.plain_model.parameters())
    assert trainer.progress.step == step - 1


class Overflowing(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x / 0


class Mine(nn.Module):
    """An LSTM, and under it something that may overflow."""

    def __init__(self, *, overflow: bool, nan_loss: bool = False) -> None:
        super().__init__()
        self.table = nn.Embedding(10, 4)
        self.middle = Overflowing() if overflow else nn.Identity()
        self.lstm = nn.LSTM(4, 4, batch_first=True)
        self.nan_loss = nan_loss

    def forward(self, input_ids: Tensor, **_: Tensor) -> SimpleNamespace:
        hidden, _ = self.lstm(self.middle(self.table(input_ids)))
        loss = hidden.mean()
        return SimpleNamespace(loss=loss * math.nan if self.nan_loss else loss)


def trainer_of(model: nn.Module, **settings: Any) -> Trainer:
    examples = [{"input_ids": [n, 1, 2], "labels": [0, 1, 2]} for n in range(4)]
    return Trainer(
        model, BatchLoader(examples, batch_size=2), TrainConfig(steps=9, device="cpu", **settings), show=False
    )


@pytest.mark.parametrize("accumulation", [1, 2])
def test_in_a_model_of_any_kind(accumulation: int) -> None:
    with pytest.raises(
        DivergedError, match=r"In it, middle is the first to put out inf; of the finite ones .*, in table"
    ):
        trainer_of(Mine(overflow=True), accumulation=accumulation).run()


def test_a_loss_that_is_nan_by_itself() -> None:
    with pytest.raises(
        DivergedError,
        match=r"In it, the largest activation is [\d.]+, in \w+; without dropout, and in float32, all are",
    ):
        trainer_of(Mine(overflow=False, nan_loss=True)).run()


def test_a_step_by_hand_names_no_examples() -> None:
    """The trainer does not know where that batch is from."""
    batch = {"input_ids": torch.tensor([[1, 2]]), "labels": torch.tensor([[1, 2]])}
    with pytest.raises(DivergedError, match="step 1 diverged: ") as stopped:
        trainer_of(Mine(overflow=True)).step(batch)
    assert "examples" not in str(stopped.value)


def test_activations_are_the_largest_of_each_module() -> None:
    torch.manual_seed(0)
    sizes: dict[str, Any] = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    model = BertForMaskedLM(BertConfig(vocab_size=20, **sizes)).train()
    ids = torch.tensor([[2, 7, 9, 3]])
    found = dict(activations(model, {"input_ids": ids}))
    expected = model.bert.embeddings.token(ids).abs().max()
    assert found["bert.embeddings.token"] == pytest.approx(expected.item())
    assert next(iter(found)) == "bert.embeddings.token"
    assert list(found)[-1] == "mlm"
    assert model.training
    assert all(not module._forward_hooks for module in model.modules())
