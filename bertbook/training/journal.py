"""What a run leaves to be read: a line of JSON for each entry, and TensorBoard's files where it is installed."""

import json
import os
import warnings
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from bertbook.training.files import write_text


class Journal:
    """``log.jsonl`` in the run's folder: one object a line, each with its ``step``.

    A line is whole or is not read: what a killed process left of its last one is dropped. A full disk costs lines of
    the log, and one warning, not the run.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / "log.jsonl"
        self._board: Any = None
        self._failed = False

    def rewind(self, step: int) -> None:
        """Begin, or forget what came after a step: the run goes on from there, and will write it again."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        kept = [entry for entry in read_journal(self.path) if entry["step"] <= step] if self.path.exists() else []
        write_text(self.path, "".join(json.dumps(entry) + "\n" for entry in kept))
        self._board = _tensorboard(self.path.parent, step)

    def write(self, entry: Mapping[str, Any]) -> None:
        """Add a line."""
        size = self.path.stat().st_size if self.path.exists() else 0
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")
        except OSError as error:
            with suppress(OSError):
                os.truncate(self.path, size)  # half a line would spoil the next one
            if not self._failed:
                warnings.warn(f"{self.path} cannot be written ({error}): the run goes on without", stacklevel=2)
            self._failed = True
        if self._board is not None:
            for name, value in entry.items():
                if name != "step" and isinstance(value, int | float):
                    self._board.add_scalar(name, value, entry["step"])

    def close(self) -> None:
        """Write out what TensorBoard still holds."""
        if self._board is not None:
            self._board.close()


def read_journal(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """The entries of a ``log.jsonl``, but for a last line that was never finished.

    Raises:
        FileNotFoundError: there is none.
        ValueError: a line before the last is damaged; the message has its number.
    """
    lines = Path(path).read_text(encoding="utf-8").split("\n")
    entries = []
    for number, line in enumerate(lines[:-1], start=1):  # behind the last line break is nothing, or half a line
        try:
            entries.append(json.loads(line))
        except ValueError as error:
            raise ValueError(f"{path}, line {number} is no JSON: {line:.60}") from error
    return entries


def _tensorboard(folder: Path, step: int) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    return SummaryWriter(folder / "tensorboard", purge_step=step + 1)
