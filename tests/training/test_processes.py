"""Two processes are one run: the same losses, one log, one checkpoint, one message."""

import signal
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from lives import Nursery
from small_run import curve, differences, newest, write_config
from together import SAME_FOR_ALL, TOLERANCE, hand_over, launch_two, start, wait_all

from bertbook.training import TrainConfig
from bertbook.training.checkpoints import damage
from bertbook.training.machine import make_accelerator


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_config(tmp_path_factory.mktemp("shared"), **SAME_FOR_ALL)


@pytest.fixture(scope="module")
def alone(nursery: Nursery, config: Path) -> Path:
    """What one process left."""
    out = config.parent / "alone"
    wait_all(start(nursery, 1, config, out, out.with_suffix(".txt")))
    return out


def test_torchrun(alone: Path, config: Path, tmp_path: Path) -> None:
    said = launch_two("torchrun", config, tmp_path / "out")
    assert differences(alone, tmp_path / "out", TOLERANCE) == []
    assert said.count("Model: ") == said.count("Done: ") == 1, "one of them speaks"
    steps = [int(entry["step"]) for entry in curve(tmp_path / "out") if "loss" in entry]
    assert steps == [*range(1, 31)], "one of them writes the log"


def test_accumulation(nursery: Nursery, alone: Path, tmp_path: Path) -> None:
    config = write_config(tmp_path, **SAME_FOR_ALL, accumulation=2)
    wait_all(start(nursery, 2, config, tmp_path / "out", tmp_path / "output.txt"))
    assert differences(alone, tmp_path / "out", TOLERANCE) == []


@pytest.mark.parametrize(("before", "after"), [(2, 1), (1, 2)])
def test_another_number_goes_on(
    before: int, after: int, nursery: Nursery, alone: Path, config: Path, tmp_path: Path
) -> None:
    """A signal to one of two ends both, each with the status of a run that was interrupted."""
    out = tmp_path / "out"
    lives = hand_over(nursery, before, after, config, out)
    assert differences(alone, out, TOLERANCE) == []
    said = f"the run had {before} processes, now {after}: it goes on alike but for rounding"
    assert [life.text().count(said) for life in lives] == [1, *[0] * (after - 1)]


def test_both_stop_at_the_same_step(nursery: Nursery, tmp_path: Path) -> None:
    config, out = write_config(tmp_path, steps=100_000), tmp_path / "out"
    lives = start(nursery, 2, config, out, tmp_path / "output.txt")
    assert lives[0].wait_until(lambda: (out / "log.jsonl").is_file() and len(curve(out)) > 3)
    for life in lives:  # as Ctrl-C in a terminal reaches all
        life.signal(signal.SIGINT)
    wait_all(lives, 130)
    step = int(curve(out)[-1]["step"])
    assert newest(out).name == f"step-{step:08d}"
    assert damage(newest(out)) is None
    assert (newest(out) / "random_states_1.pkl").is_file(), "the random state of the other process, too"
    assert lives[0].text().count("Interrupted by SIGINT") == 1
    assert lives[1].text() == ""


class TestRefusals:
    def test_a_batch_that_cannot_be_shared(self, nursery: Nursery, tmp_path: Path) -> None:
        config = write_config(tmp_path, batch_size=7)
        lives = start(nursery, 2, config, tmp_path / "out", tmp_path / "output.txt")
        wait_all(lives, 1)
        said = "bertbook: batch_size=7 cannot be shared by 2 processes: choose a multiple of 2\n"
        assert lives[0].text().endswith(said)
        assert lives[1].text() == "", "one message, not one of each process"

    def test_other_settings(self, nursery: Nursery, alone: Path, tmp_path: Path) -> None:
        config = write_config(tmp_path, **{**SAME_FOR_ALL, "corpus": str(alone.parent / "text.txt"), "seed": 5})
        lives = start(nursery, 2, config, alone, tmp_path / "output.txt")
        wait_all(lives, 1)
        assert lives[0].text().startswith(f"bertbook: {alone} holds a run with other settings: seed: 0, now 5.")
        assert lives[1].text() == ""

    def test_processes_that_would_each_train_alone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """As on a device for which Accelerate has no way to join them: both would write into one folder."""
        monkeypatch.setenv("WORLD_SIZE", "2")
        alone = SimpleNamespace(num_processes=1, device=torch.device("mps"))
        monkeypatch.setattr("bertbook.training.machine.Accelerator", lambda **_: alone)
        with pytest.raises(ValueError, match="started 2 processes, and on mps each would train alone"):
            make_accelerator(TrainConfig(steps=1))

    def test_fsdp_without_gpus(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("ACCELERATE_USE_FSDP", "true")
        with pytest.raises(ValueError, match="FSDP needs GPUs: on CPUs leave it out"):
            make_accelerator(TrainConfig(steps=1, device="cpu"))
