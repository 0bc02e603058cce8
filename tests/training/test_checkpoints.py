"""A checkpoint is whole or not there, and a run goes on from the newest that is whole."""

import errno
import os
import resource
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch

from bertbook.training import Trainer, read_journal
from bertbook.training.checkpoints import MANIFEST, STATE, Checkpoints, damage

MakeTrainer = Callable[..., Trainer]


def steps_of(folder: Path) -> list[int]:
    return [int(path.name.removeprefix("step-")) for path in Checkpoints(folder / "checkpoints", 2).all()]


def weights_of(trainer: Trainer) -> list[torch.Tensor]:
    return [weight.detach().clone() for weight in trainer.plain_model.parameters()]


def assert_same(a: Trainer, b: Trainer) -> None:
    for one, other in zip(weights_of(a), weights_of(b), strict=True):
        assert torch.equal(one, other)


@pytest.fixture
def plain(make_trainer: MakeTrainer) -> Trainer:
    """A trainer that ran to the end, without a folder."""
    trainer = make_trainer()
    trainer.run()
    return trainer


def test_the_newest_are_kept(make_trainer: MakeTrainer, tmp_path: Path) -> None:
    make_trainer(tmp_path, steps=9, save_every=2, keep=2).run()
    assert steps_of(tmp_path) == [8, 9]
    assert {path.name for path in (tmp_path / "checkpoints").iterdir()} == {"step-00000008", "step-00000009"}
    assert [damage(path) for path in (tmp_path / "checkpoints").iterdir()] == [None, None]


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))


DAMAGES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "a file cut short": (lambda folder: cut(folder / "model.safetensors"), "model.safetensors has changed"),
    "one bit": (lambda folder: flip(folder / "optimizer.bin"), "optimizer.bin has changed"),
    "a file gone": (lambda folder: (folder / "random_states_0.pkl").unlink(), "random_states_0.pkl is missing"),
    "no manifest": (lambda folder: (folder / MANIFEST).unlink(), "manifest.json cannot be read"),
    "no JSON": (lambda folder: (folder / MANIFEST).write_text('{"state.j'), "manifest.json cannot be read"),
    "no text": (lambda folder: (folder / MANIFEST).write_bytes(b"\xff\xfe\x00"), "manifest.json cannot be read"),
    "a list": (lambda folder: (folder / MANIFEST).write_text('["state.json"]'), "manifest.json cannot be read"),
    "an empty manifest": (lambda folder: (folder / MANIFEST).write_text("{}"), "manifest.json lacks state.json"),
    "another state": (lambda folder: flip(folder / STATE), "state.json has changed"),
}


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_damaged_newest_is_named_and_skipped(
    kind: str, make_trainer: MakeTrainer, plain: Trainer, tmp_path: Path
) -> None:
    make_trainer(tmp_path).run()
    spoil, reason = DAMAGES[kind]
    spoil(tmp_path / "checkpoints" / "step-00000006")
    again = make_trainer(tmp_path)
    with pytest.warns(UserWarning, match=rf"step-00000006 is damaged \({reason}.*goes on from step-00000004"):
        records = again.run()
    assert [record.step for record in records] == [5, 6]
    assert_same(again, plain)
    assert [entry["step"] for entry in read_journal(tmp_path / "log.jsonl")] == [1, 2, 3, 4, 5, 6]
    assert damage(tmp_path / "checkpoints" / "step-00000006") is None, "it was written again"


def test_damaged_ones_do_not_push_whole_ones_out(make_trainer: MakeTrainer, tmp_path: Path) -> None:
    make_trainer(tmp_path, keep=4).run()
    for step in (4, 6):
        cut(tmp_path / "checkpoints" / f"step-{step:08d}" / "model.safetensors")
    again = make_trainer(tmp_path, save_every=3, keep=2)
    with pytest.warns(UserWarning, match="is damaged"):
        again._resume()
    assert again.progress.step == 2
    again.step(next(iter(again.legs[0].loader)))
    again.save()
    assert steps_of(tmp_path) == [2, 3]
    assert [damage(path) for path in (tmp_path / "checkpoints").iterdir()] == [None, None]


def test_all_damaged_is_an_error_and_nothing_is_lost(make_trainer: MakeTrainer, tmp_path: Path) -> None:
    make_trainer(tmp_path).run()
    for path in (tmp_path / "checkpoints").iterdir():
        cut(path / "optimizer.bin")
    with pytest.raises(
        ValueError, match=r"all checkpoints in .* are damaged .*step-00000006: optimizer.bin.*begin anew"
    ):
        make_trainer(tmp_path).run()
    assert steps_of(tmp_path) == [2, 4, 6]
    assert len(read_journal(tmp_path / "log.jsonl")) == 6


@contextmanager
def full_disk() -> Iterator[None]:
    """No file may grow beyond 4 kB: what writes more fails as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def failing_sync() -> Iterator[None]:
    """The disk fills up when all is written, as a network disk may say it."""

    def fail(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        yield


@pytest.mark.parametrize("trouble", [full_disk, failing_sync])
def test_without_space_the_run_goes_on(
    trouble: Callable[[], Any], make_trainer: MakeTrainer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain_save, found = Trainer.save, {}

    def save(self: Trainer) -> Path | None:
        step = self.progress.step
        if step in (4, 6):
            with trouble():
                path = plain_save(self)
        else:
            path = plain_save(self)
        found[step] = (path is not None, steps_of(tmp_path), (tmp_path / "checkpoints" / ".writing").exists())
        return path

    plain = make_trainer(steps=8)
    plain.run()
    monkeypatch.setattr(Trainer, "save", save)
    trainer = make_trainer(tmp_path, steps=8, keep=2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        trainer.run()
    assert found == {
        2: (True, [2], False),
        4: (False, [2], False),
        6: (False, [2], False),
        8: (True, [2, 8], False),
    }
    said = [str(warning.message) for warning in caught if "checkpoint" in str(warning.message)]
    assert len(said) == 2
    for step, message in zip((4, 6), said, strict=True):
        assert message.startswith(f"no checkpoint at step {step}: ")
        assert message.endswith(f"the last good one stays; make room in {tmp_path / 'checkpoints'}")
    assert_same(trainer, plain)
    assert len(read_journal(tmp_path / "log.jsonl")) == 8


def test_the_last_good_one_is_whole_after_a_failure(make_trainer: MakeTrainer, plain: Trainer, tmp_path: Path) -> None:
    first = make_trainer(tmp_path, save_every=4)
    batches = iter(first.legs[0].loader)
    for _ in range(4):
        first.step(next(batches))
    first.save()
    first.step(next(batches := iter(first.legs[0].loader)))
    with full_disk(), pytest.warns(UserWarning, match="no checkpoint at step 5"):
        assert first.save() is None
    again = make_trainer(tmp_path)
    assert [record.step for record in again.run()] == [5, 6]
    assert_same(again, plain)
