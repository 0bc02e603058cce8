"""Two processes against one: the same steps, in another order of sums."""

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lives import Life, Nursery
from small_run import SETTINGS, differences, write_config

#: Two processes add the halves of a batch in another order than one adds the whole, so a sum of float32 differs in its
#: last bits, by 1e-7 or so of its size. Thirty steps of AdamW, which divides gradients by their own size, carry that on
#: to about 1e-6 of what is compared. A batch, mask or weight that is another one shows in the second or third digit.
TOLERANCE = 2e-5

#: Without dropout: each process draws its own, so that no number of them drops the same places out as another.
SAME_FOR_ALL: dict[str, Any] = {
    "steps": 30,
    "model": {**SETTINGS["model"], "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0},
}

LAUNCHERS: Mapping[str, Sequence[str]] = {
    "torchrun": ["torch.distributed.run", "--nproc_per_node=2"],
    "accelerate launch": ["accelerate.commands.launch", "--multi_gpu", "--num_processes=2"],
}


def start(nursery: Nursery, processes: int, config: Path, out: Path, output: Path) -> list[Life]:
    """One process, or several that find each other as those of a launcher do: by variables of their environment."""
    arguments = ["pretrain", str(config), f"out={out}"]
    if processes == 1:
        return [nursery.start(arguments, output)]
    count = str(processes)
    group = {"WORLD_SIZE": count, "LOCAL_WORLD_SIZE": count, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port()}
    own = [{"RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(processes)]
    return [
        nursery.start(arguments, output.with_suffix(f".{rank}.txt"), environment={**group, **own[rank]})
        for rank in range(processes)
    ]


def wait_all(lives: Sequence[Life], status: int = 0) -> None:
    """Until all have ended, as they should.

    Raises:
        RuntimeError: one ended otherwise.
    """
    for life in lives:
        if life.wait() != status:
            raise RuntimeError(f"a process ended with {life.status}, not {status}: {life.text()}")


def hand_over(nursery: Nursery, before: int, after: int, config: Path, out: Path) -> list[Life]:
    """Begin with so many processes, end the last of them by SIGTERM, and go on with so many others to the end.

    Returns:
        Those that ended it.
    """
    lives = start(nursery, before, config, out, out.with_suffix(".txt"))
    log = out / "log.jsonl"
    lives[-1].wait_until(lambda: log.is_file() and log.read_text().count("\n") > 8)
    lives[-1].signal(signal.SIGTERM)
    wait_all(lives, 128 + signal.SIGTERM)
    lives = start(nursery, after, config, out, out.with_suffix(".txt"))
    wait_all(lives)
    return lives


def launch_two(launcher: str, config: Path, out: Path) -> str:
    """The real command of a launcher, with two processes, to its end: what it wrote.

    Raises:
        RuntimeError: it failed.
    """
    arguments = ["pretrain", str(config), f"out={out}"]
    port = "--main_process_port" if launcher == "accelerate launch" else "--master_port"
    command = [sys.executable, "-m", *LAUNCHERS[launcher], f"{port}={free_port()}", "-m", "bertbook", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}: {done.stdout}")
    return done.stdout


def free_port() -> str:
    """A port that nobody listens at now."""
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        return str(asked.getsockname()[1])


def compare_processes(nursery: Nursery, folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Each way of sharing a run, and where it differs from one process by more than :data:`TOLERANCE`."""
    for parts in (1, 2):
        config = write_config(folder / str(parts), accumulation=parts, **SAME_FOR_ALL)
        alone, in_parts = config.parent / "out", ", each batch in two parts" if parts == 2 else ""
        wait_all(start(nursery, 1, config, alone, folder / "alone.txt"))
        for number, launcher in enumerate(LAUNCHERS):
            out = config.parent / f"launched-{number}"
            launch_two(launcher, config, out)
            yield f"{launcher}, two processes{in_parts}", differences(alone, out, TOLERANCE)
        for before, after in ((2, 1), (1, 2)):
            out = config.parent / f"from-{before}-to-{after}"
            hand_over(nursery, before, after, config, out)
            yield f"{before} process(es), SIGTERM, then {after}{in_parts}", differences(alone, out, TOLERANCE)
