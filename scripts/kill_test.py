"""Does a run that is killed again and again end as if nothing had happened?

    python scripts/kill_test.py --kills 20
    python scripts/kill_test.py --kills 20 --workers 1
    python scripts/kill_test.py --processes

The first two run a small pretraining undisturbed, and once more with `kill -9` at random moments and at chosen ones,
and compare every logged number and every weight, bit for bit. The last compares two processes with one.
The tests call the same functions.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lives import Life, Nursery
from small_run import SETTINGS, curve, differences, write_config
from together import TOLERANCE, compare_processes

#: Moments that chance would rarely meet: the function and the call of it at which the process is killed.
FIRST_MOMENTS = {
    "the run's folder made, its settings not yet in it": ("pathlib:Path.replace", 1),
    "the tokenizer written aside": ("pathlib:Path.rename", 1),
    "the first checkpoint written aside, not yet in its place": ("pathlib:Path.rename", 2),
}
MOMENTS = {
    "half of a checkpoint on the disk": ("os:fsync", 3),
    "a checkpoint in its place, old ones not yet removed": ("os:fsync", 6),
    "in an evaluation": ("bertbook.training.evaluation:HeldOut.__call__", 1),
    "the log cut back to the checkpoint, not yet in its place": ("pathlib:Path.replace", 2),
}
COMMAND = "python -m bertbook itself, at random"
LAST_MOMENT = {"some of the finished model's files in their places": ("pathlib:Path.replace", 5)}


@dataclass(frozen=True)
class Kill:
    """What was there when a process had been killed."""

    moment: str
    logged: int  # the last step of the log
    saved: int  # that of the newest checkpoint
    half_written: bool  # a checkpoint that had been begun

    def __str__(self) -> str:
        half = ", a checkpoint half written" if self.half_written else ""
        return f"{self.moment}: step {self.logged} in the log, {self.saved} in a checkpoint{half}"


def kill_again_and_again(
    nursery: Nursery, config: Path, out: Path, kills: int, seed: int, *, chosen: bool = True
) -> Iterator[Kill]:
    """Run to the end, and kill it on the way: ``kills`` times at random moments, and once at each chosen one."""
    draw = random.Random(seed)
    # The random ones are spread over the run, the chosen ones come as soon as they can. On a busy machine a kill comes
    # some steps late, and behind the last one a chosen moment must still find a run that is not over.
    steps = sorted(draw.uniform(0, 0.6) * SETTINGS["steps"] for _ in range(kills))
    plan = [*(MOMENTS if chosen else []), *[""] * kills]
    draw.shuffle(plan)
    if chosen:
        plan = [*FIRST_MOMENTS, COMMAND, *plan, *LAST_MOMENT]
    for name in plan:
        if name == COMMAND:
            yield _kill_command(config, out, draw)
            continue
        life = _start(nursery, config, out, (FIRST_MOMENTS | MOMENTS | LAST_MOMENT).get(name))
        if name:
            reached = life.wait_stopped()
        else:
            step = int(steps.pop(0))
            reached = life.wait_until(lambda step=step: _logged(out) >= step)  # type: ignore[misc]
            time.sleep(draw.uniform(0, 0.3))  # somewhere in a step, a checkpoint, an evaluation, or what comes before
        yield _kill(life, out, name or "at random", reached)
    life = _start(nursery, config, out)
    if life.wait() != 0:
        raise RuntimeError(f"the last life ended with {life.status}: {life.text()}")


def _start(nursery: Nursery, config: Path, out: Path, stop: tuple[str, int] | None = None) -> Life:
    return nursery.start(["pretrain", str(config), f"out={out}"], out.with_suffix(".txt"), stop=stop)


def _kill(life: Life, out: Path, moment: str, reached: bool) -> Kill:
    if not reached:
        raise RuntimeError(f"{moment!r} never came, the process ended with {life.status}: {life.text()}")
    life.signal(signal.SIGKILL)
    if life.wait() != -signal.SIGKILL:
        raise RuntimeError(f"{moment!r}: the process ended by itself before, with {life.status}: {life.text()}")
    return _found(out, moment)


def _kill_command(config: Path, out: Path, draw: random.Random) -> Kill:
    """The same, of a real command that forks from nothing."""
    before, output = _logged(out), out.with_suffix(".txt")
    command = [sys.executable, "-m", "bertbook", "pretrain", str(config), f"out={out}"]
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1"}  # as the others: with more, sums come in another order
    with output.open("w") as file, subprocess.Popen(command, stdout=file, stderr=file, env=one_thread) as process:
        while process.poll() is None and _logged(out) <= before:
            time.sleep(0.002)
        time.sleep(draw.uniform(0, 0.2))
        process.kill()
    if process.returncode != -signal.SIGKILL:
        raise RuntimeError(f"{COMMAND}: it ended by itself, with {process.returncode}: {output.read_text()}")
    return _found(out, COMMAND)


def _found(out: Path, moment: str) -> Kill:
    saved = [int(path.name.removeprefix("step-")) for path in (out / "checkpoints").glob("step-*")]
    return Kill(moment, _logged(out), max(saved, default=0), (out / "checkpoints" / ".writing").exists())


def _logged(out: Path) -> int:
    entries = curve(out) if (out / "log.jsonl").is_file() else []
    return max((int(entry["step"]) for entry in entries), default=0)


def report_kills(folder: Path, kills: int, seed: int, workers: int) -> list[str]:
    """Run undisturbed and killed, and print what happened; where the two differ."""
    config = write_config(folder, workers=workers)
    undisturbed, killed = folder / "undisturbed", folder / "killed"
    with Nursery() as nursery:
        if _start(nursery, config, undisturbed).wait() != 0:
            raise RuntimeError(undisturbed.with_suffix(".txt").read_text())
        for number, kill in enumerate(kill_again_and_again(nursery, config, killed, kills, seed), start=1):
            print(f"{number:3d}  {kill}", flush=True)
    return differences(undisturbed, killed)


def report_processes() -> bool:
    """Print whether each way of sharing a run ends as one process does. True: one does not."""
    failed = False
    with tempfile.TemporaryDirectory() as folder, Nursery() as nursery:
        for name, wrong in compare_processes(nursery, Path(folder)):
            print(
                f"{name}: " + ("\n  ".join(["differs", *wrong]) if wrong else f"equal to {TOLERANCE:.0e}"), flush=True
            )
            failed = failed or bool(wrong)
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20, help="at random moments; the chosen ones come on top")
    parser.add_argument("--workers", type=int, default=0, help="processes that prepare the batches")
    parser.add_argument("--processes", action="store_true", help="instead, compare two processes with one")
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    options = parser.parse_args()
    if options.processes:
        return report_processes()
    with tempfile.TemporaryDirectory() as folder:
        wrong = report_kills(Path(folder), options.kills, options.seed, options.workers)
        entries = curve(Path(folder) / "killed")
    print(f"{len(entries)} entries of the log, the model, and the last checkpoint with its optimiser: ", end="")
    print("\n".join(["they differ", *wrong]) if wrong else "equal, bit for bit")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
