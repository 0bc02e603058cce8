"""How far a run goes, how fast it learns on the way, and what its legs are made of."""

from itertools import accumulate, pairwise
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers import get_cosine_schedule_with_warmup, get_linear_schedule_with_warmup

from bertbook.text import BatchLoader
from bertbook.training import Leg, TrainConfig, Trainer, loop
from bertbook.training.budget import Progress, learning_rate
from tests.training.conftest import MakeTrainer


class TestLearningRate:
    @pytest.mark.parametrize(
        ("schedule", "make"), [("linear", get_linear_schedule_with_warmup), ("cosine", get_cosine_schedule_with_warmup)]
    )
    @pytest.mark.parametrize("warmup", [0, 10, 37])
    def test_as_in_transformers(self, schedule: str, make: Any, warmup: int) -> None:
        config = TrainConfig(steps=100, learning_rate=3e-4, warmup=warmup / 100, schedule=schedule)
        peer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=3e-4)
        their = make(peer, warmup, 100)
        for step in range(101):
            assert learning_rate(config, step / 100) == pytest.approx(their.get_last_lr()[0], rel=1e-9, abs=1e-12)
            peer.step()
            their.step()

    def test_constant_after_the_climb(self) -> None:
        config = TrainConfig(steps=100, learning_rate=0.5, warmup=0.2, schedule="constant")
        assert [learning_rate(config, share) for share in (0, 0.1, 0.2, 0.7, 1)] == [0, 0.25, 0.5, 0.5, 0.5]

    @pytest.mark.parametrize("schedule", ["linear", "cosine"])
    def test_a_last_step_beyond_the_budget_does_not_go_below_zero(self, schedule: str) -> None:
        assert learning_rate(TrainConfig(steps=1, schedule=schedule), 1.2) == pytest.approx(0, abs=1e-18)


def test_progress_in_each_unit() -> None:
    progress = Progress(step=30, tokens=5000, seconds=90)
    assert progress.share(TrainConfig(steps=120)) == 0.25
    assert progress.share(TrainConfig(tokens=10_000)) == 0.5
    assert progress.share(TrainConfig(minutes=2)) == 0.75


class TestBudgets:
    def test_steps(self, make_trainer: MakeTrainer) -> None:
        records = make_trainer(steps=9, learning_rate=0.1, warmup=0.5).run()
        assert [record.step for record in records] == list(range(1, 10))  # more than the two epochs of 4 steps
        # Each step has the rate of its midst: of 9 steps the fifth lies halfway, at the peak.
        rates = [record.learning_rate for record in records]
        assert max(rates) == rates[4] == pytest.approx(0.1)
        assert rates == pytest.approx(rates[::-1])

    def test_tokens(self, make_trainer: MakeTrainer) -> None:
        records = make_trainer(steps=None, tokens=100).run()  # 4 rows of 8 a step
        assert list(accumulate(record.tokens for record in records)) == [32, 64, 96, 128]

    def test_minutes(self, make_trainer: MakeTrainer, monkeypatch: pytest.MonkeyPatch) -> None:
        clock = iter(range(100))
        monkeypatch.setattr(loop, "time", SimpleNamespace(perf_counter=lambda: float(next(clock))))
        trainer = make_trainer(steps=None, minutes=0.1, learning_rate=0.1, warmup=0.5)  # a second a step
        records = trainer.run()
        assert len(records) == 6
        assert trainer.progress.seconds == 6
        rates = [record.learning_rate for record in records]
        assert rates == pytest.approx([0.1 * n for n in (0, 1 / 3, 2 / 3, 1, 2 / 3, 1 / 3)])

    def test_a_run_that_is_done_does_nothing_more(self, make_trainer: MakeTrainer) -> None:
        trainer = make_trainer(steps=3)
        assert len(trainer.run()) == 3
        assert trainer.run() == []


class Noting(nn.Module):
    """Notes the shape of each batch, and the first id of each row."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(()))
        self.shapes: list[tuple[int, ...]] = []
        self.firsts: list[list[int]] = []

    def forward(self, input_ids: Tensor, **_: Tensor) -> SimpleNamespace:
        self.shapes.append(tuple(input_ids.shape))
        self.firsts.append(input_ids[:, 0].tolist())
        return SimpleNamespace(loss=self.weight**2)


def examples(count: int, length: int) -> list[dict[str, list[int]]]:
    return [{"input_ids": [n] * length, "labels": [n] * length} for n in range(count)]


def train(model: nn.Module, legs: list[Leg], **budget: Any) -> list[Any]:
    return Trainer(model, legs, TrainConfig(**budget, device="cpu"), show=False).run()


class TestLegs:
    """BERT itself: 90% of the steps at 128 tokens, the rest at 512."""

    def test_each_has_its_share_of_the_steps(self) -> None:
        model = Noting()
        short, long = BatchLoader(examples(12, 8), batch_size=6), BatchLoader(examples(5, 32), batch_size=2)
        train(model, [Leg(short, 0.9), Leg(long, 1.0)], steps=20)
        assert model.shapes[:18] == [(6, 8)] * 18
        assert [shape[1] for shape in model.shapes[18:]] == [32, 32]
        assert (short.epoch, short.step) == (9, 0)

    def test_each_has_its_share_of_the_tokens(self) -> None:
        model = Noting()
        loaders = [BatchLoader(examples(12, 8), batch_size=6), BatchLoader(examples(4, 24), batch_size=4)]
        records = train(model, [Leg(loaders[0], 0.5), Leg(loaders[1])], tokens=480)
        assert [record.tokens for record in records] == [48] * 5 + [96] * 3  # the last begins at 432

    def test_a_share_of_the_minutes(self, monkeypatch: pytest.MonkeyPatch) -> None:
        clock = iter(range(100))
        monkeypatch.setattr(loop, "time", SimpleNamespace(perf_counter=lambda: float(next(clock))))
        model = Noting()
        loaders = [BatchLoader(examples(12, 8), batch_size=6), BatchLoader(examples(8, 24), batch_size=4)]
        train(model, [Leg(loaders[0], 0.5), Leg(loaders[1])], minutes=0.2)
        assert [shape[1] for shape in model.shapes] == [8] * 6 + [24] * 6

    def test_the_epochs_go_on_counting(self) -> None:
        """Else a text would be masked in the second leg as it was in the first."""
        loaders = [BatchLoader(examples(12, 8), batch_size=6) for _ in range(2)]
        model = Noting()
        train(model, [Leg(loaders[0], 0.5), Leg(loaders[1])], steps=8)
        assert loaders[1].epoch == 5
        orders = [str(first + second) for first, second in pairwise(model.firsts)][::2]
        assert len(set(orders)) == 4

    def test_one_that_is_over_before_it_begins_is_left_out(self) -> None:
        """So few steps that the second of three legs gets none."""
        loaders = [BatchLoader(examples(4, length), batch_size=2) for length in (4, 8, 16)]
        model = Noting()
        legs = [Leg(loader, until) for loader, until in zip(loaders, (0.5, 0.6, 1.0), strict=True)]
        train(model, legs, steps=3)
        assert [shape[1] for shape in model.shapes] == [4, 4, 16]
