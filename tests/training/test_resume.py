"""Ctrl-C and SIGTERM, going on, and what a run may and may not go on with."""

import shutil
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from lives import Nursery
from small_run import curve, differences, newest, write_config

from bertbook.cli import main
from bertbook.text import BatchLoader
from bertbook.training import Trainer, pretrain
from bertbook.training.checkpoints import damage
from bertbook.training.interruption import Interruption

MakeTrainer = Callable[..., Trainer]


def logged(out: Path) -> int:
    return int(curve(out)[-1]["step"]) if (out / "log.jsonl").is_file() and curve(out) else 0


def test_signals_save_and_the_run_goes_on(nursery: Nursery, undisturbed: Path, tmp_path: Path) -> None:
    out, config, step = tmp_path / "out", undisturbed / "config.yaml", 0
    for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        life = nursery.start(["pretrain", str(config), f"out={out}"], tmp_path / "output.txt")
        assert life.wait_until(lambda: logged(out) > step + 3)  # noqa: B023
        life.signal(number)
        assert life.wait() == status
        step = logged(out)
        assert step < 80
        assert newest(out).name == f"step-{step:08d}", "a checkpoint at the step where it stopped"
        assert damage(newest(out)) is None
        assert f"Interrupted by {number.name} after step {step}; the same call goes on." in life.text()
        assert "Traceback" not in life.text()
    # Settings that change nothing in what is learnt may be others now.
    others = ["save_every=7", "keep=2", "workers=1"]
    life = nursery.start(["pretrain", str(config), f"out={out}", *others], tmp_path / "output.txt")
    assert life.wait() == 0
    assert differences(undisturbed / "out", out) == []


class TestInterruption:
    def test_the_first_is_a_wish_the_second_is_not(self) -> None:
        before = signal.getsignal(signal.SIGINT)
        with Interruption() as stop:
            assert not stop.asked
            signal.raise_signal(signal.SIGINT)
            assert stop.asked == "SIGINT"
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is before

    def test_terminating_twice_still_waits(self) -> None:
        """Launchers and cluster managers may send it again; only a person at the keyboard insists."""
        with Interruption() as stop:
            signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGTERM)
        assert stop.asked == "SIGTERM"

    def test_a_second_ctrl_c_ends_a_run_at_once(self, make_trainer: MakeTrainer, tmp_path: Path) -> None:
        def insist(*_: object) -> Mapping[str, float]:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            raise AssertionError("never reached")

        before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
        trainer = make_trainer(tmp_path, evaluate=insist, eval_every=3)
        with pytest.raises(KeyboardInterrupt):
            trainer.run()
        assert newest(tmp_path).name == "step-00000002"
        assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before

    def test_the_command_says_so(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
    ) -> None:
        def interrupted(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr("bertbook.training.pretraining.pretrain", interrupted)
        assert main(["pretrain", str(write_config(tmp_path))]) == 130
        assert capsys.readouterr().err == "bertbook: interrupted; what was whole before is whole\n"

    def test_in_a_thread_nothing_is_caught_and_nothing_fails(self, make_trainer: MakeTrainer) -> None:
        before, seen = signal.getsignal(signal.SIGINT), []

        def look(*_: object) -> Mapping[str, float]:
            seen.append(signal.getsignal(signal.SIGINT))
            return {}

        trainer = make_trainer(evaluate=look, eval_every=3)
        thread = threading.Thread(target=lambda: seen.append(len(trainer.run())))
        thread.start()
        thread.join()
        assert seen == [before, before, 6]


class TestAnotherCall:
    """Upon the folder of a finished run."""

    @pytest.fixture
    def finished(self, undisturbed: Path, tmp_path: Path) -> Path:
        return Path(shutil.copytree(undisturbed, tmp_path / "run"))

    @pytest.fixture(autouse=True)
    def machine(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        """As in the runs of the nursery: float32 as it is, one thread."""
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        yield
        torch.set_num_threads(threads)

    @pytest.mark.parametrize(
        ("setting", "said"),
        [
            ("learning_rate=0.001", "learning_rate: 0.005, now 0.001"),
            ("steps=90", "steps: 80, now 90"),
            ("tokens=9000", "steps: 80, now None; tokens: None, now 9000"),
            ("seed=1", "seed: 0, now 1"),
            ("model.hidden_size=64", "'hidden_size': 64"),
        ],
    )
    def test_other_settings_are_refused(
        self, setting: str, said: str, finished: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        before = sorted((path, path.stat().st_mtime_ns) for path in (finished / "out").rglob("*"))
        assert main(["pretrain", str(finished / "config.yaml"), f"out={finished / 'out'}", setting]) == 1
        message = capsys.readouterr().err
        assert message.startswith(f"bertbook: {finished / 'out'} holds a run with other settings: ")
        assert said in message
        assert "choose another folder with out=" in message
        assert message.count("\n") == 1
        assert sorted((path, path.stat().st_mtime_ns) for path in (finished / "out").rglob("*")) == before

    def test_all_checkpoints_damaged(self, finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
        for path in (finished / "out" / "checkpoints").iterdir():
            (path / "model.safetensors").unlink()
        assert main(["pretrain", str(finished / "config.yaml"), f"out={finished / 'out'}"]) == 1
        message = capsys.readouterr().err.splitlines()[-1]
        assert message.startswith("bertbook: all checkpoints in ")
        assert "step-00000080: model.safetensors is missing" in message

    def test_the_same_settings_change_nothing(self, undisturbed: Path, finished: Path) -> None:
        settings = yaml.safe_load((finished / "config.yaml").read_text())
        said: list[str] = []
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            result = pretrain({**settings, "out": str(finished / "out")}, show=False, say=said.append)
        assert not result.interrupted
        assert differences(undisturbed / "out", finished / "out") == []


def test_another_number_of_threads_is_said(make_trainer: MakeTrainer, tmp_path: Path) -> None:
    make_trainer(tmp_path).run()
    before = torch.get_num_threads()
    torch.set_num_threads(before + 1)
    try:
        with pytest.warns(UserWarning, match=f"the run had {before} threads, now {before + 1}: .* but for rounding"):
            make_trainer(tmp_path).run()
    finally:
        torch.set_num_threads(before)


def test_a_folder_that_cannot_be_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("no folder")
    out = tmp_path / "file" / "out"
    assert main(["pretrain", str(write_config(tmp_path)), f"out={out}"]) == 1
    message = capsys.readouterr().err
    assert message.startswith("bertbook: ")
    assert str(out) in message
    assert message.count("\n") == 1


@pytest.mark.parametrize("workers", [0, 1])
def test_batches_draw_nothing_from_the_generator_of_dropout(workers: int) -> None:
    loader: Any = BatchLoader([{"input_ids": [1, 2]}] * 6, batch_size=2, num_workers=workers)
    torch.manual_seed(0)
    before = torch.get_rng_state()
    assert len(list(loader)) == 3
    assert torch.equal(torch.get_rng_state(), before)
