"""The loop by itself: any model, what it records, says and logs, and its switches."""

import math
import subprocess
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertbook.text import BatchLoader
from bertbook.training import Objective, TrainConfig, Trainer, read_journal
from tests.training.conftest import MakeTrainer


class Repeats(nn.Module):
    """An LSTM that says which token it has read."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(12, 8)
        self.lstm = nn.LSTM(8, 8, batch_first=True)
        self.out = nn.Linear(8, 12)

    def forward(self, input_ids: Tensor, labels: Tensor, attention_mask: Tensor, **_: Tensor) -> SimpleNamespace:
        hidden, _ = self.lstm(self.table(input_ids))
        return SimpleNamespace(loss=F.cross_entropy(self.out(hidden).flatten(0, 1), labels.flatten()))


def test_any_model_trains(capsys: pytest.CaptureFixture[str]) -> None:
    torch.manual_seed(0)
    examples = [{"input_ids": [n % 12, (n + 3) % 12], "labels": [n % 12, (n + 3) % 12]} for n in range(24)]
    trainer = Trainer(
        Repeats(), BatchLoader(examples, batch_size=8), TrainConfig(steps=60, learning_rate=0.05, device="cpu"),
        show=False,
    )  # fmt: skip
    records = trainer.run()
    assert [record.step for record in records] == list(range(1, 61))
    assert records[0].loss == pytest.approx(math.log(12), rel=0.1)
    assert records[-1].loss < 0.2
    assert all(record.tokens == 16 for record in records)
    assert all(record.losses == {"loss": record.loss} for record in records)
    assert all(record.grad_norm > 0 for record in records)
    shown = capsys.readouterr()
    assert shown.out + shown.err == ""


class Line(nn.Module):
    """The loss is a · w: its gradient is a, whatever w."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(2))

    def forward(self, slope: Tensor, labels: Tensor) -> SimpleNamespace:
        return SimpleNamespace(loss=(slope.mean(0) * self.weight).sum())


@pytest.mark.parametrize(("longest", "expected"), [(1.0, [0.6, 0.8]), (10.0, [3.0, 4.0]), (None, [3.0, 4.0])])
def test_a_long_gradient_is_scaled_down(longest: float | None, expected: list[float]) -> None:
    model = Line()
    config = TrainConfig(steps=5, max_grad_norm=longest, device="cpu")
    trainer = Trainer(model, BatchLoader([{"input_ids": [1]}], batch_size=1), config, show=False)
    found: list[Tensor] = []
    trainer.optimizer.step = lambda: found.append(model.weight.grad.clone())  # type: ignore[union-attr]
    record = trainer.step({"slope": torch.tensor([[2.0, 4.0], [4.0, 4.0]]), "labels": torch.zeros(2)})
    assert record.grad_norm == pytest.approx(5)  # before it was scaled
    torch.testing.assert_close(found[0], torch.tensor(expected))
    assert model.weight.grad is None


def test_the_same_seed_the_same_run(make_trainer: MakeTrainer) -> None:
    """With dropout on."""
    first, second = make_trainer().run(), make_trainer().run()
    assert first == second
    assert make_trainer(seed=1).run() != first


def test_what_is_logged(make_trainer: MakeTrainer, tmp_path: Path) -> None:
    def evaluate(model: nn.Module, accelerator: Any) -> dict[str, float]:
        assert not model.training
        assert not torch.is_grad_enabled()
        return {"loss": 0.25}

    trainer = make_trainer(tmp_path / "run", steps=7, log_every=2, eval_every=3, evaluate=evaluate)
    records = trainer.run()
    assert trainer.plain_model.training
    log = read_journal(tmp_path / "run" / "log.jsonl")
    training = [entry for entry in log if "loss" in entry]
    assert [entry["step"] for entry in training] == [2, 4, 6, 7]  # the last one always
    assert [entry for entry in log if "held_out/loss" in entry] == [
        {"step": step, "held_out/loss": 0.25} for step in (3, 6, 7)
    ]
    for entry in training:
        record = records[entry["step"] - 1]
        assert entry == {
            "step": record.step, "loss": record.loss, "learning_rate": record.learning_rate,
            "grad_norm": record.grad_norm, "tokens": 32 * record.step, "seconds": entry["seconds"],
        }  # fmt: skip
    seconds = [entry["seconds"] for entry in training]
    assert seconds == sorted(seconds)
    assert seconds[0] > 0


def test_several_losses_are_logged_by_name(tmp_path: Path) -> None:
    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(()))

        def forward(self, labels: Tensor, other: Tensor, **_: Tensor) -> SimpleNamespace:
            return SimpleNamespace(losses={"words": self.weight * 2, "pairs": self.weight * 3})

    batch = {"labels": torch.tensor([[1, 2]]), "other": torch.tensor([1])}
    objective = Objective({"words": "labels", "pairs": "other"})
    loader = BatchLoader([0, 1], lambda *_: batch, batch_size=1)
    config = TrainConfig(steps=1, device="cpu", log_every=1)
    (record,) = Trainer(Two(), loader, config, objective=objective, out=tmp_path, show=False).run()
    assert record.losses == {"words": 2.0, "pairs": 3.0}
    (entry,) = read_journal(tmp_path / "log.jsonl")
    assert (entry["loss"], entry["words"], entry["pairs"]) == (5.0, 2.0, 3.0)


def test_what_is_shown(make_trainer: MakeTrainer, capsys: pytest.CaptureFixture[str]) -> None:
    quiet = make_trainer(evaluate=lambda *_: {"loss": 0.25}, eval_every=3)
    quiet.run()
    shown = capsys.readouterr()
    assert shown.out + shown.err == ""
    loader = quiet.legs[0].loader
    config = TrainConfig(steps=2, device="cpu", eval_every=1)
    Trainer(quiet.plain_model, loader, config, evaluate=lambda *_: {"loss": 0.25, "accuracy": 1.0}).run()
    shown = capsys.readouterr()
    assert [line for line in shown.out.splitlines() if line.strip()] == [
        "step      1: loss 0.250, accuracy 1.000", "step      2: loss 0.250, accuracy 1.000",
    ]  # fmt: skip
    assert "Training 100%" in shown.err
    assert "step 2, loss 3." in shown.err


class TestSwitches:
    def test_bf16_computes_in_bf16_and_keeps_float32(self, make_trainer: MakeTrainer) -> None:
        plain, half = make_trainer(steps=20).run(), make_trainer(steps=20, precision="bf16")
        inner: list[torch.dtype] = []
        half.plain_model.bert.layers[0].feed_forward.up.register_forward_hook(lambda *a: inner.append(a[2].dtype))
        records = half.run()
        assert set(inner) == {torch.bfloat16}
        assert {weight.dtype for weight in half.plain_model.parameters()} == {torch.float32}
        state = half.optimizer.state.values()
        assert {moment.dtype for entry in state for moment in entry.values() if moment.ndim} == {torch.float32}
        for one, other in zip(plain, records, strict=True):
            assert other.loss == pytest.approx(one.loss, abs=0.05)
        assert [record.loss for record in records] != [record.loss for record in plain]

    def test_fp16_is_refused_on_a_cpu(self, make_trainer: MakeTrainer) -> None:
        with pytest.raises(ValueError, match=r"precision='fp16' on a CPU: .*; choose 'bf16' or 'float32'"):
            make_trainer(precision="fp16")

    def test_after_a_refusal_the_next_run_is_as_ever(self, make_trainer: MakeTrainer) -> None:
        expected = make_trainer().run()
        with pytest.raises(ValueError, match="fp16"):
            make_trainer(precision="fp16")
        make_trainer(precision="bf16").run()
        assert make_trainer().run() == expected

    def test_compiled_layers_give_the_same_losses(self) -> None:
        """In a process of its own: the shape checks that tests install would break the graph."""
        subprocess.run([sys.executable, "-c", COMPILED], check=True, timeout=300)

    def test_gradient_checkpointing_gives_the_same_losses(self, make_trainer: MakeTrainer) -> None:
        """With dropout on: what is computed once more drops out the same places."""
        saving = make_trainer(gradient_checkpointing=True)
        runs: list[nn.Module] = []
        saving.plain_model.bert.layers[0].register_forward_pre_hook(lambda layer, _: runs.append(layer))
        records = saving.run()
        assert len(runs) == 2 * len(records)
        assert records == make_trainer().run()

    @pytest.mark.parametrize("switch", ["compile", "gradient_checkpointing"])
    def test_refused_where_there_is_no_bert(self, switch: str) -> None:
        loader = BatchLoader([{"input_ids": [1]}], batch_size=1)
        with pytest.raises(TypeError, match="Line holds no Bert"):
            Trainer(Line(), loader, TrainConfig(steps=1, device="cpu", **{switch: True}), show=False)  # type: ignore[arg-type]


COMPILED = """
from functools import partial
import torch
from bertbook import BertConfig, BertForMaskedLM
from bertbook.text import BatchLoader
from bertbook.training import TrainConfig, Trainer, loop
examples = [{"input_ids": [n, n + 1, *[5] * (n % 3)], "labels": [n, -100, *[5] * (n % 3)]} for n in range(5, 13)]
loop.compile_layers = partial(loop.compile_layers, backend="aot_eager")  # that needs no compiler
def run(compile):
    torch.manual_seed(0)
    config = BertConfig(vocab_size=30, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    model = BertForMaskedLM(config)
    settings = TrainConfig(steps=6, learning_rate=0.01, device="cpu", compile=compile)
    records = Trainer(model, BatchLoader(examples, batch_size=4), settings, show=False).run()
    compiled = [layer._compiled_call_impl is not None for layer in model.bert.layers]
    assert compiled == [compile] * 2
    return torch.tensor([record.loss for record in records]), model.state_dict()
torch.testing.assert_close(run(True), run(False), atol=1e-4, rtol=1e-4)
"""


def test_interrupted_only_where_something_happened(make_trainer: MakeTrainer) -> None:
    trainer = make_trainer()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trainer.run()
    assert trainer.interrupted == ""
    assert trainer.save() is None  # without a folder
