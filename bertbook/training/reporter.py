"""What a run says while it goes: a bar, lines of results, the log."""

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tqdm.auto import tqdm

from bertbook.training.journal import Journal


class Reporter:
    """A bar that fills with the budget, and a :class:`~bertbook.training.journal.Journal`. Either may be missing.

    Args:
        out: where the log goes; None: nowhere.
        show: whether there is a bar.
    """

    def __init__(self, out: Path | None, *, show: bool) -> None:
        self._journal = None if out is None else Journal(out)
        self._show = show
        self._bar: tqdm[Any] | None = None

    def begin(self, step: int, share: float) -> Self:
        """After ``step`` steps, with that share of the budget spent. Ends with the ``with`` that it is used in."""
        if self._journal is not None:
            self._journal.rewind(step)
        if self._show:
            layout = "{desc} {percentage:3.0f}%|{bar}| {elapsed}<{remaining}{postfix}"
            self._bar = tqdm(total=1.0, initial=min(1.0, share), desc="Training", bar_format=layout)
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, where: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.close()
        if self._journal is not None:
            self._journal.close()

    def advance(self, step: int, loss: float, share: float) -> None:
        """Move the bar."""
        if self._bar is not None:
            self._bar.set_postfix_str(f"step {step}, loss {loss:.3f}", refresh=False)
            self._bar.update(min(1.0, share) - self._bar.n)

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Into the log alone."""
        if self._journal is not None:
            self._journal.write({"step": step, **values})

    def evaluated(self, step: int, found: Mapping[str, float]) -> None:
        """Results on held-out text: into the log, as ``held_out/…``, and onto the screen."""
        self.log(step, {f"held_out/{name}": value for name, value in found.items()})
        if self._bar is not None:
            self._bar.write(f"step {step:6d}: " + ", ".join(f"{name} {value:.3f}" for name, value in found.items()))
