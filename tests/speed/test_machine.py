"""The two settings of the machine: each decides by what it measures, and says so."""

import subprocess
import sys
from collections.abc import Iterator

import pytest
import torch

from bertbook.speed import fast_float32, keep_memory, machine


@pytest.fixture(autouse=True)
def precision() -> Iterator[None]:
    """Whatever a test sets, the others find the default."""
    yield
    torch.set_float32_matmul_precision("highest")


def measured(monkeypatch: pytest.MonkeyPatch, *, error_after: float, gain: float) -> None:
    """A machine where oneDNN rounds so much and is so fast."""
    errors = {"highest": 2e-7, "medium": error_after}
    monkeypatch.setattr(machine, "product_error", lambda: errors[torch.get_float32_matmul_precision()])
    monkeypatch.setattr(machine, "_gain", lambda before: gain)
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: True)


class TestFloat32:
    def test_on_this_machine(self) -> None:
        """Whatever it decides, products are true float32 afterwards, and the report says what is set."""
        report = fast_float32()
        assert report.switched == (torch.get_float32_matmul_precision() == "medium")
        a, b = torch.randn(300, 700), torch.randn(700, 200)
        exact = a.double() @ b.double()
        assert (a @ b - exact).norm() / exact.norm() < 1e-6
        assert report.error_before is not None
        assert 0 < report.error_before < 1e-6
        assert str(report).startswith("float32 goes" if report.switched else "float32 stays")

    def test_faster_and_as_exact(self, monkeypatch: pytest.MonkeyPatch) -> None:
        measured(monkeypatch, error_after=6e-7, gain=2.0)
        report = fast_float32()
        assert report.switched
        assert torch.get_float32_matmul_precision() == "medium"
        assert "the numbers stay float32 (error 6e-07, before 2e-07; an encoder layer takes 0.50" in str(report)

    @pytest.mark.parametrize("error", [3e-4, 3e-3])  # TF32, bfloat16
    def test_where_it_would_round(self, error: float, monkeypatch: pytest.MonkeyPatch) -> None:
        measured(monkeypatch, error_after=error, gain=4.0)
        report = fast_float32()
        assert not report.switched
        assert torch.get_float32_matmul_precision() == "highest"
        assert f"would be rounded here (error {error:.0e}, now 2e-07)" in report.reason

    def test_where_it_does_not_pay(self, monkeypatch: pytest.MonkeyPatch) -> None:
        measured(monkeypatch, error_after=6e-7, gain=0.8)
        report = fast_float32()
        assert not report.switched
        assert torch.get_float32_matmul_precision() == "highest"
        assert "no faster here" in report.reason
        assert "takes 1.25 times as long" in report.reason

    @pytest.mark.parametrize("setting", ["high", "medium"])
    def test_a_setting_of_the_reader_s_own_stays(self, setting: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """So does the switch itself, when it is asked for a second time."""
        measured(monkeypatch, error_after=6e-7, gain=2.0)
        monkeypatch.setattr(machine, "product_error", lambda: 6e-7)
        torch.set_float32_matmul_precision(setting)
        report = fast_float32()
        assert torch.get_float32_matmul_precision() == setting
        assert report.switched == (setting == "medium")
        assert f"was set to {setting!r} before, and stays (error 6e-07)" in str(report)

    def test_without_the_library(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
        report = fast_float32()
        assert not report.switched
        assert "built without oneDNN" in str(report)

    def test_an_error_in_between_leaves_the_setting(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(machine, "product_error", lambda: 1 / (torch.get_float32_matmul_precision() == "highest"))
        monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: True)
        with pytest.raises(ZeroDivisionError):
            fast_float32()
        assert torch.get_float32_matmul_precision() == "highest"

    def test_the_error_of_rounded_factors_is_seen(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The check itself: products of factors rounded to bfloat16 are far over the limit, ours far under it."""
        assert machine.product_error() < machine.TRUE_FLOAT32 / 10
        plain = torch.Tensor.__matmul__

        def rounded(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            return (
                plain(a.bfloat16().to(a.dtype), b.bfloat16().to(b.dtype)) if a.dtype == torch.float32 else plain(a, b)
            )

        monkeypatch.setattr(torch.Tensor, "__matmul__", rounded)
        assert machine.product_error() > machine.TRUE_FLOAT32 * 10


KEPT = """
import resource, torch
from bertbook.speed import keep_memory
def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(5):
        torch.empty(20_000_000).fill_(1)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
before = faults()
report = keep_memory()
assert report.kept, report
faults()
print(report, before, faults())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the settings of glibc")
def test_kept_memory_is_not_mapped_again() -> None:
    """Counted by the system, in a process of its own."""
    done = subprocess.run([sys.executable, "-c", KEPT], capture_output=True, text=True, check=True)
    *words, before, after = done.stdout.split()
    assert " ".join(words).startswith("freed memory is kept for the next step now")
    assert int(before) > 100
    assert int(after) < int(before) / 10


@pytest.mark.parametrize("library", [None, object()])
def test_without_glibc(library: object, monkeypatch: pytest.MonkeyPatch) -> None:
    def load(name: None) -> object:
        if library is None:
            raise TypeError("Windows wants a name")
        return library

    monkeypatch.setattr(machine.ctypes, "CDLL", load)
    report = keep_memory()
    assert not report.kept
    assert "handled as before: only glibc" in str(report)


def test_when_glibc_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing:
        gnu_get_libc_version = None

        def mallopt(self, parameter: int, value: int) -> int:
            return 0

    monkeypatch.setattr(machine.ctypes, "CDLL", lambda name: Refusing())
    assert str(keep_memory()) == "freed memory is handled as before: the C library refused"
