"""Checkpoints that are whole or not there: written aside, moved when complete, checked before they are read."""

import hashlib
import json
import os
import shutil
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bertbook.fetch import sync_folder

STATE, MANIFEST = "state.json", "manifest.json"


class Checkpoints:
    """The checkpoints of a run, ``step-00001200`` and so on, the newest ``keep`` of them.

    Args:
        folder: where they lie. It is made with the first one.
        keep: how many.
    """

    def __init__(self, folder: Path, keep: int) -> None:
        self.folder, self.keep = folder, keep
        self.aside = folder / ".writing"  # where a checkpoint is written before it is one

    def path(self, step: int) -> Path:
        """Where the checkpoint of a step is, or would be."""
        return self.folder / f"step-{step:08d}"

    def begin(self) -> None:
        """Make :attr:`aside`, empty: what is to be in the checkpoint is written into it."""
        self.abandon()
        self.aside.mkdir(parents=True)

    def finish(self, step: int, state: dict[str, Any]) -> Path:
        """Make what was written aside the checkpoint of a step, and remove the oldest ones.

        The rename is the moment at which the checkpoint exists. Before it, all that it holds is on the disk, with the
        digest of each file; a process that is killed at any time leaves the checkpoints before as they were.
        """
        aside = self.aside
        _write(aside / STATE, json.dumps(state, indent=2))
        files = {path.relative_to(aside).as_posix(): _digest(path) for path in _files(aside)}
        _write(aside / MANIFEST, json.dumps(files, indent=2))
        for path in _files(aside):
            with path.open("r+b") as file:
                os.fsync(file.fileno())
        target = self.path(step)
        if target.exists():  # a damaged one, or one that is written again
            shutil.rmtree(target)
        aside.rename(target)
        sync_folder(self.folder)
        found = self.all()
        # Later ones are damaged ones, that the run went back from: it has another future now.
        ours = found[: found.index(target) + 1]
        for other in [*ours[: -self.keep], *found[len(ours) :]]:
            shutil.rmtree(other, ignore_errors=True)
        return target

    def abandon(self) -> None:
        """Remove what was not finished."""
        shutil.rmtree(self.aside, ignore_errors=True)

    def all(self) -> list[Path]:
        """Oldest first, damaged ones among them."""
        return sorted(path for path in self.folder.glob("step-*") if path.is_dir())

    def newest(self, say: Callable[[str], None] = warnings.warn) -> tuple[Path, dict[str, Any]] | None:
        """The newest that is whole, and its state; None where there are none at all.

        What is wrong with newer ones is said. They are left as they are, until the run comes to a new checkpoint.

        Raises:
            ValueError: all are damaged. To begin anew is for the user to decide.
        """
        found = self.all()
        wrong: dict[Path, str] = {}
        for path in reversed(found):
            if (damaged := damage(path)) is None:
                for name, what in wrong.items():
                    say(f"the checkpoint {name} is damaged ({what}): the run goes on from {path.name}")
                return path, json.loads((path / STATE).read_text(encoding="utf-8"))
            wrong[path] = damaged
        if not found:
            return None
        each = "; ".join(f"{path.name}: {what}" for path, what in wrong.items())
        raise ValueError(
            f"all checkpoints in {self.folder} are damaged ({each}): put a whole one there, or move the folder away to "
            "begin anew"
        )


def damage(path: Path) -> str | None:
    """What is wrong with a checkpoint; None where all its files are as they were written."""
    try:
        files = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
        if STATE not in files:
            return f"{MANIFEST} lacks {STATE}"
        for name, digest in files.items():
            if not (path / name).is_file():
                return f"{name} is missing"
            if _digest(path / name) != digest:
                return f"{name} has changed"
    except (OSError, ValueError, TypeError, AttributeError) as error:
        return f"{MANIFEST} cannot be read: {error}"
    return None


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write(path: Path, text: str) -> None:
    path.write_text(text + "\n", encoding="utf-8")
