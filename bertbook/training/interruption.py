"""Ctrl-C and SIGTERM as a wish that the loop grants when the step is done."""

import signal
import threading
from types import FrameType
from typing import Any, Self


class Interruption:
    """``with Interruption() as stop:`` … ``if stop.asked:``. A second Ctrl-C does not wait.

    Signals reach the main thread alone; in another one nothing is caught.
    """

    def __init__(self) -> None:
        self.asked = ""  # the signal's name
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._ask)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.asked and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.asked = signal.Signals(number).name
