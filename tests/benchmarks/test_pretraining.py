"""The whole loop: both trainers learn the same from the same batches, on small text and in this process."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

from benchmarks import peers, pretraining
from benchmarks.case import Contestant, MissingError, Row, Settings, Side
from benchmarks.pretraining import QUICK, bare_side, bertbook_side, material, transformers_side
from benchmarks.training import Ways
from benchmarks.turns import Measured
from bertbook.fetch import FetchError
from bertbook.speed import Timings, training_flops

pytestmark = pytest.mark.usefixtures("switched")
WAYS = Ways(fused=True, packing=True)


@pytest.fixture(scope="module")
def theirs() -> Side:
    return transformers_side(QUICK, WAYS, same=True)


def off(side: Side, other: Side) -> float:
    return float(np.abs(side.result - other.result).max() / np.abs(other.result).max())


def test_losses_of_their_first_steps(theirs: Side) -> None:
    assert theirs.result.shape == (3,)
    # At the start each of V = 95 tokens is as likely as any, and so is either answer to the next sentence.
    assert theirs.result[0] == pytest.approx(np.log(95) + np.log(2), abs=0.3)


def test_both_trainers_and_the_bare_step_learn_the_same(theirs: Side) -> None:
    for build in (bertbook_side, bare_side):
        assert off(build(QUICK, WAYS), theirs) <= 1e-5


def test_the_agreement_sees_the_updates(theirs: Side, monkeypatch: pytest.MonkeyPatch) -> None:
    """A trainer that clips otherwise, or steps otherwise, would be turned away."""
    found = material(QUICK)
    assert off(theirs, theirs) == 0
    for change in ({"max_grad_norm": 0.1}, {"betas": (0.5, 0.98)}, {"learning_rate": 9e-4}):
        other = replace(found, training=replace(found.training, **change))
        monkeypatch.setattr(pretraining, "material", lambda work, other=other: other)
        assert off(bertbook_side(QUICK, WAYS), theirs) > theirs.tolerance, change


def test_bfloat16_is_the_same_work(theirs: Side) -> None:
    half = replace(WAYS, bf16=True)
    sides: list[Any] = [partial(transformers_side, same=True), bertbook_side, bare_side]
    for side in (build(QUICK, half) for build in sides):
        assert 0 < off(side, theirs) <= side.tolerance == 2e-2


@pytest.mark.parametrize("name", ["bertbook", "bare", "theirs"])
def test_a_run_is_an_epoch_of_updates(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many steps as the documents have batches, in each run anew; and every one of them moves the weights."""
    model = pretraining._model(material(QUICK))
    monkeypatch.setattr(pretraining, "_model", lambda found: model)
    builders: dict[str, Any] = {
        "bertbook": bertbook_side,
        "bare": bare_side,
        "theirs": partial(transformers_side, same=False),
    }
    side = builders[name](QUICK, WAYS)
    steps: list[int] = []
    whole = torch.optim.AdamW.step
    monkeypatch.setattr(torch.optim.AdamW, "step", lambda self, *given: steps.append(1) or whole(self, *given))
    side.run()
    side.run()
    assert len(steps) == 2 * len(material(QUICK).loader())


def test_the_documents_make_the_steps_that_are_asked_for() -> None:
    found = material(QUICK)
    assert QUICK.steps <= len(found.loader()) <= QUICK.steps + 4
    first, again = ([batch["input_ids"] for batch in found.loader()] for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))


def test_theirs_reads_the_same_pairs(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    found = material(QUICK)
    trainer = peers.transformers_trainer(
        peers.transformers_pretraining(pretraining._model(found)), found.examples(), found.tokenizer, str(tmp_path),
        per_device_train_batch_size=QUICK.rows,
    )  # fmt: skip
    batches = list(trainer.get_train_dataloader())
    assert len(batches) == len(found.loader())
    seen = {tuple(row[row != 0].tolist()) for batch in batches for row in _restored(batch)}
    assert seen <= {example.input_ids for example in found.examples()}
    labels = torch.cat([batch["labels"].flatten() for batch in batches])
    assert set(labels[labels != -100].tolist()).isdisjoint(range(5))  # no special token is asked for
    mask = torch.cat([(batch["attention_mask"] == (batch["input_ids"] != 0)).flatten() for batch in batches])
    assert mask.all()


def _restored(batch: dict[str, torch.Tensor]) -> torch.Tensor:
    """The ids before they were masked."""
    return torch.where(batch["labels"] != -100, batch["labels"], batch["input_ids"])


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """How ``measure`` was called; theirs takes four times as long as ours, the bare step 0.95 times as long."""
    seen: dict[str, Any] = {}

    def measure(contestants: dict[str, Contestant], **how: Any) -> Measured:
        seen.update(how, contestants=contestants)
        seconds = {
            name: [4.0 if "Trainer" in name else 0.95 if "bare" in name else 1.0] * how["rounds"]
            for name in contestants
        }
        return Measured(contestants, Timings(seconds), dict.fromkeys(contestants, "oneDNN"), {})

    monkeypatch.setattr(pretraining, "measure", measure)
    return seen


def rows_of(name: str) -> dict[str, Row]:
    (case,) = [case for case in pretraining.CASES if case.name == name]
    return {row.side: row for row in case.run(Settings(quick=True))}


def test_like_for_like(asked: dict[str, Any]) -> None:
    rows = rows_of("pretrain")
    assert asked["together"] is True
    assert {who.build.args[1] for who in asked["contestants"].values()} == {
        Ways(fused=True, fast=True, packing=True),
        Ways(fused=True, fast=True, packing=True, bf16=True),
    }
    batches = list(material(QUICK).loader())
    tokens = sum(int(batch["attention_mask"].sum()) for batch in batches)
    assert rows["bertbook"].note == f"{tokens:,} tokens/s; 95% of the bare step's; oneDNN"
    assert rows["bertbook, bf16"].note == rows["bertbook"].note
    assert rows["bertbook, bare step"].note == f"{tokens / 0.95:,.0f} tokens/s; oneDNN"
    assert rows["transformers.Trainer"].note == f"{tokens / 4:,.0f} tokens/s; oneDNN"
    assert rows["bertbook, bf16"].ratio == (4, 4, 4)
    assert rows["bertbook, bf16"].against == "transformers.Trainer, bf16"
    assert rows["bertbook"].seconds == (1 / len(batches),) * 2  # of a step
    flops = [
        training_flops(
            material(QUICK).model, batch["attention_mask"].sum(1).tolist(), head="pretraining",
            masked=int((batch["labels"] >= 0).sum()),
        )
        for batch in batches
    ]  # fmt: skip
    assert {row.flops for row in rows.values()} == {sum(flops) // len(flops)}


def test_as_it_comes(asked: dict[str, Any]) -> None:
    rows = rows_of("pretrain-apart")
    assert asked["together"] is False
    theirs = asked["contestants"]["transformers.Trainer"].build
    assert theirs.args[1] == Ways()  # nothing that a reader would not have written
    assert theirs.keywords == {"same": False}
    assert list(rows) == ["transformers.Trainer", "bertbook", "bertbook, bf16"]
    assert asked["contestants"]["bertbook"].build.args[1].memory


def test_both_say_what_was_switched(switched: list[str]) -> None:
    ways = Ways(fast=True, memory=True)
    assert bertbook_side(QUICK, ways).note == transformers_side(QUICK, ways, same=False).note == "oneDNN"
    assert switched == ["memory", "fast"]


def test_without_the_corpus(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str) -> None:
        raise FetchError("no index answers")

    monkeypatch.setattr(pretraining, "load_corpus", fail)
    with pytest.raises(MissingError, match="no index answers"):
        material(replace(pretraining.WORK, rows=31))
    monkeypatch.setattr(pretraining, "QUICK", replace(pretraining.WORK, rows=30))
    assert rows_of("pretrain") == {"": Row("pretrain", "", note="no index answers")}


def test_without_their_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "find_spec", lambda name: None if name == "transformers" else object())
    with pytest.raises(MissingError, match="not installed: transformers"):
        transformers_side(QUICK, WAYS, same=True)
