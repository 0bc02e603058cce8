"""`kill -9` at any moment costs a few steps of time, and nothing else: not one bit of the result."""

import shutil
from pathlib import Path

import pytest
import torch
from kill_test import COMMAND, FIRST_MOMENTS, LAST_MOMENT, MOMENTS, kill_again_and_again
from lives import Nursery
from safetensors.torch import load_file, save_file
from small_run import curve, differences, newest, write_config


def test_twenty_kills_leave_no_trace(nursery: Nursery, undisturbed: Path, tmp_path: Path) -> None:
    kills = list(kill_again_and_again(nursery, undisturbed / "config.yaml", tmp_path / "killed", kills=11, seed=0))
    assert len(kills) >= 20
    assert len({kill.logged for kill in kills}) >= 8, "they came at different steps"
    met = {kill.moment: kill for kill in kills}
    assert met.keys() == {*FIRST_MOMENTS, *MOMENTS, *LAST_MOMENT, COMMAND, "at random"}
    assert met["half of a checkpoint on the disk"].half_written
    assert met["the first checkpoint written aside, not yet in its place"].half_written
    assert met["the first checkpoint written aside, not yet in its place"].saved == 0
    assert any(kill.logged > kill.saved for kill in kills), "some steps were lost, and done again"
    assert differences(undisturbed / "out", tmp_path / "killed") == []
    assert not (tmp_path / "killed" / "checkpoints" / ".writing").exists()


def test_batches_of_a_worker_come_again_too(nursery: Nursery, undisturbed: Path, tmp_path: Path) -> None:
    config = write_config(tmp_path, workers=1)
    kills = list(kill_again_and_again(nursery, config, tmp_path / "killed", kills=3, seed=1, chosen=False))
    assert len(kills) == 3
    assert differences(undisturbed / "out", tmp_path / "killed") == []


class TestTheComparison:
    """It sees what there is to see."""

    @pytest.fixture
    def copy(self, undisturbed: Path, tmp_path: Path) -> Path:
        return Path(shutil.copytree(undisturbed / "out", tmp_path / "copy"))

    def test_equal(self, undisturbed: Path, copy: Path) -> None:
        assert differences(undisturbed / "out", copy) == []
        assert [entry["step"] for entry in curve(copy) if "loss" in entry] == [*range(1, 81)]
        assert [entry["step"] for entry in curve(copy) if "held_out/mlm_loss" in entry] == [*range(5, 81, 5)]

    def test_a_bit_of_a_weight(self, undisturbed: Path, copy: Path) -> None:
        weights = load_file(copy / "model" / "model.safetensors")
        name, weight = next((name, weight) for name, weight in weights.items() if weight.ndim == 2)
        weight.view(torch.int32)[0, 0] ^= 1
        save_file(weights, copy / "model" / "model.safetensors")
        (found,) = differences(undisturbed / "out", copy)
        assert found.startswith(f"/model/{name}: ")

    def test_the_optimiser(self, undisturbed: Path, copy: Path) -> None:
        state = torch.load(newest(copy) / "optimizer.bin", weights_only=True)
        state["state"][0]["exp_avg"][0] += 1e-9
        torch.save(state, newest(copy) / "optimizer.bin")
        (found,) = differences(undisturbed / "out", copy)
        assert found.startswith("/optimizer/state/0/exp_avg: ")

    def test_a_number_in_the_log(self, undisturbed: Path, copy: Path) -> None:
        log = copy / "log.jsonl"
        entry = curve(copy)[3]
        log.write_text(log.read_text().replace(repr(entry["grad_norm"]), repr(entry["grad_norm"] * (1 + 1e-12))))
        (found,) = differences(undisturbed / "out", copy)
        assert found.startswith(f"grad_norm at step {entry['step']:.0f}: ")

    def test_a_lost_line(self, undisturbed: Path, copy: Path) -> None:
        lines = (copy / "log.jsonl").read_text().splitlines(keepends=True)
        (copy / "log.jsonl").write_text("".join(lines[:-1]))
        assert differences(undisturbed / "out", copy) == ["the logs have other entries: 96 and 95"]
