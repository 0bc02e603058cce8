"""Runs of the command `bertbook` that begin at once: a server that has imported everything forks one for each.

Importing PyTorch takes seconds, and a test that kills a run twenty times begins it twenty times. A forked run is a
process of its own, with its own signals and exit status; the server has started no threads that it could miss.
"""

import itertools
import json
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from importlib import import_module
from pathlib import Path
from typing import Any, Self

from bertbook.speed.machine import Float32Report

PATIENCE = 300.0  # seconds, after which something hangs: far more than a busy machine needs


class Life:
    """One run, in a process of its own."""

    def __init__(self, ask: Callable[[Mapping[str, Any]], Any], pid: int, output: Path) -> None:
        self._ask, self.pid, self.output = ask, pid, output
        self.status: int | None = None  # when it has ended: the exit status, or minus the signal's number
        self.stopped = False  # at the place where it was to stop itself

    def is_over(self) -> bool:
        """Look once."""
        if self.status is None:
            answer = self._ask({"watch": self.pid})
            self.stopped = self.stopped or answer["stopped"]
            self.status = answer["status"]
        return self.status is not None

    def wait_until(self, reached: Callable[[], bool]) -> bool:
        """Whether it gets there. False: it ended before.

        Raises:
            TimeoutError: neither; what it wrote is in the message.
        """
        end = time.monotonic() + PATIENCE
        while not reached():
            if self.is_over():
                return reached()
            if time.monotonic() > end:
                self.signal(signal.SIGKILL)
                raise TimeoutError(f"nothing for {PATIENCE:.0f} s; it wrote: {self.text()}")
            time.sleep(0.002)
        return True

    def wait(self) -> int:
        """Its exit status, when it has ended."""
        self.wait_until(self.is_over)
        assert self.status is not None
        return self.status

    def wait_stopped(self) -> bool:
        """Whether it comes to the place where it stops itself."""
        return self.wait_until(lambda: not self.is_over() and self.stopped)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal. Until it has been waited for, its number belongs to nobody else."""
        if self.status is None:
            os.kill(self.pid, number)

    def text(self) -> str:
        """What it wrote to standard output and standard error so far."""
        return self.output.read_text(encoding="utf-8", errors="replace")


class Nursery:
    """``with Nursery() as nursery: nursery.start(["pretrain", "config.yaml"], output)``."""

    def __enter__(self) -> Self:
        # One thread: forked with more, a process would wait for some that it does not have.
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        command = [sys.executable, str(Path(__file__).resolve())]
        self._server = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, env=environment
        )
        return self

    def __exit__(self, *_: object) -> None:
        assert self._server.stdin is not None
        self._server.stdin.close()  # on which it ends, and with it what it started
        self._server.wait()
        assert self._server.stdout is not None
        self._server.stdout.close()

    def start(
        self,
        arguments: Sequence[str],
        output: Path,
        *,
        environment: Mapping[str, str] | None = None,
        stop: tuple[str, int] | None = None,
    ) -> Life:
        """Start ``bertbook`` with these arguments.

        Args:
            output: the file that gets standard output and standard error.
            environment: variables beside those that are.
            stop: a function, as ``"os:fsync"``, and a number: at that call of it the process stops itself, before
                the function does anything.
        """
        wanted = {
            "arguments": [*arguments],
            "output": str(output),
            "environment": dict(environment or {}),
            "stop": stop,
        }
        return Life(self._ask, self._ask(wanted), output)

    def _ask(self, question: Mapping[str, Any]) -> Any:
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(json.dumps(question) + "\n")
        return json.loads(self._server.stdout.readline())


def _serve() -> None:
    import bertbook.training.pretraining as module  # and with it all that a run needs

    vars(module).update(fast_float32=_leave_float32)
    alive = set()
    for line in sys.stdin:
        question = json.loads(line)
        if "watch" in question:
            pid, state = os.waitpid(question["watch"], os.WNOHANG | os.WUNTRACED)
            over = pid != 0 and not os.WIFSTOPPED(state)
            if over:
                alive.discard(pid)
            answer: Any = {
                "stopped": pid != 0 and os.WIFSTOPPED(state),
                "status": os.waitstatus_to_exitcode(state) if over else None,
            }
        else:
            answer = os.fork()
            if answer == 0:
                _live(**question)
            alive.add(answer)
        print(json.dumps(answer), flush=True)
    for pid in alive:
        os.kill(pid, signal.SIGKILL)


def _leave_float32() -> Float32Report:
    """In place of a measurement, which two runs on a busy machine may decide differently: they could not be equal."""
    return Float32Report(False, "nothing was tried")


def _live(arguments: Sequence[str], output: str, environment: Mapping[str, str], stop: Sequence[Any] | None) -> None:
    from bertbook.cli import main

    status = 1
    try:
        file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(file, 1)
        os.dup2(file, 2)
        os.environ.update(environment)
        if stop is not None:
            _stop_at(*stop)
        status = main(arguments)
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _stop_at(place: str, call: int) -> None:
    module, _, path = place.partition(":")
    *owners, name = path.split(".")
    owner = reduce(getattr, owners, import_module(module))
    plain, calls = getattr(owner, name), itertools.count(1)

    def stopping(*args: Any, **options: Any) -> Any:
        if next(calls) == call:
            os.kill(os.getpid(), signal.SIGSTOP)
        return plain(*args, **options)

    setattr(owner, name, stopping)


if __name__ == "__main__":
    _serve()
