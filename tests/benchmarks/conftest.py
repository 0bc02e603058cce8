"""Switches of the whole process, kept from switching."""

from collections.abc import Iterator

import pytest

from benchmarks import switches
from bertbook.speed import Float32Report


@pytest.fixture
def switched(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What would be switched for the whole process, and with it for every test that follows."""
    seen: list[str] = []
    report = Float32Report(switched=True, reason="a test")
    monkeypatch.setattr(switches, "fast_float32", lambda: seen.append("fast") or report)
    monkeypatch.setattr(switches, "keep_memory", lambda: seen.append("memory"))
    for switch in (switches.fast, switches.memory):
        switch.cache_clear()
    yield seen
    for switch in (switches.fast, switches.memory):
        switch.cache_clear()
