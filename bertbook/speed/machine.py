"""Two settings of the machine that a CPU's speed hangs on. Neither is changed in silence: each call reports.

Both hold for the whole process, for other people's models in it too.
"""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import torch

from bertbook.config import BertConfig
from bertbook.model.encoder import EncoderLayer
from bertbook.model.packing import Packing
from bertbook.speed.timing import interleave

# Products in float32 are off by 1e-7 to 1e-6. With factors rounded to TF32 it is 3e-4, to bfloat16 3e-3.
TRUE_FLOAT32 = 1e-5


@dataclass(frozen=True)
class Float32Report:
    """What :func:`fast_float32` found and did. ``print`` it."""

    switched: bool
    reason: str
    error_before: float | None = None  # of products in float32, relative to float64
    error_after: float | None = None
    gain: float | None = None  # time of an encoder layer's training step before, over that after

    def __str__(self) -> str:
        state = "float32 goes through oneDNN now" if self.switched else "float32 stays as it was"
        return f"{state}: {self.reason}"


def fast_float32() -> Float32Report:
    """Multiply float32 matrices with oneDNN, if the results stay true float32 and it is faster here.

    PyTorch's default library for float32 on x86 is slow on some processors. ``set_float32_matmul_precision("medium")``
    takes another, oneDNN, but also *allows* it to round factors to bfloat16, and a GPU to TF32. Whether that happens
    depends on the machine. So this tries it: it compares products on every device with float64, and times a training
    step of one encoder layer both ways. A setting that rounds, or that does not pay, is taken back. Takes a second.
    """
    before = torch.get_float32_matmul_precision()
    if not torch.backends.mkldnn.is_available():
        return Float32Report(False, "this PyTorch was built without oneDNN")
    error_before = product_error()
    if before != "highest":
        reason = f"the precision was set to {before!r} before, and stays (error {error_before:.0e})"
        return Float32Report(before == "medium", reason, error_before, error_before)
    with _precision(before):
        torch.set_float32_matmul_precision("medium")
        error_after = product_error()
    if error_after > TRUE_FLOAT32:
        reason = f"with oneDNN products would be rounded here (error {error_after:.0e}, now {error_before:.0e})"
        return Float32Report(False, reason, error_before, error_after)
    gain = _gain(before)
    found = f"error {error_after:.0e}, before {error_before:.0e}; an encoder layer takes {1 / gain:.2f} times as long"
    if gain <= 1:
        return Float32Report(False, f"oneDNN is no faster here ({found})", error_before, error_after, gain)
    torch.set_float32_matmul_precision("medium")
    return Float32Report(True, f"the numbers stay float32 ({found})", error_before, error_after, gain)


def product_error() -> float:
    """How far float32 products are from those in float64, relative to their size: the worst of all devices."""
    generator = torch.Generator().manual_seed(0)
    devices = ["cpu", *(f"cuda:{index}" for index in range(torch.cuda.device_count()))]
    worst = 0.0
    # (batches, m, k, n): linear layers, one long sum, and attention.
    for batch, m, k, n in [(1, 256, 256, 1024), (1, 64, 4096, 64), (16, 64, 32, 64)]:
        a = torch.randn(batch, m, k, generator=generator)
        b = torch.randn(batch, k, n, generator=generator)
        exact = a.double() @ b.double()
        for device in devices:
            product = (a.to(device) @ b.to(device)).double().cpu()
            worst = max(worst, float((product - exact).norm() / exact.norm()))
    return worst


def _gain(before: str) -> float:
    """How many times as long a training step of one encoder layer takes at setting ``before`` as at "medium"."""
    layer = EncoderLayer(BertConfig.preset("mini"))
    lengths = torch.arange(16, 128, 7)
    packing = Packing((torch.arange(128) < lengths[:, None]).long())
    hidden = torch.randn(1, int(lengths.sum()), 256)  # (1, N, H)

    def step(precision: str) -> None:
        with _precision(precision):
            layer(hidden, packing.attend)[0].sum().backward()

    return interleave({name: partial(step, name) for name in (before, "medium")}).ratio(before, "medium").median


@contextmanager
def _precision(setting: str) -> Iterator[None]:
    """At this setting inside; as it was afterwards."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(setting)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


@dataclass(frozen=True)
class MemoryReport:
    """What :func:`keep_memory` did. ``print`` it."""

    kept: bool
    reason: str

    def __str__(self) -> str:
        return f"freed memory {'is kept for the next step now' if self.kept else 'is handled as before'}: {self.reason}"


# Parameters of glibc's mallopt, from <malloc.h>.
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_MAX = -1, -2, -4


def keep_memory() -> MemoryReport:
    """Let the C library keep what a training step frees, for the next step.

    By default glibc maps every large block afresh and gives it back when it is freed. Each mapping costs a page fault,
    and a page of zeros, every 4 KB: in training that is up to a fifth of the time. Kept, the process stays as large as
    it ever was. For Linux with glibc; elsewhere nothing is changed, and the report says so.
    """
    try:
        libc = ctypes.CDLL(None)
        libc.gnu_get_libc_version  # noqa: B018 (other libraries have a mallopt that does nothing)
        mallopt = libc.mallopt
    except (OSError, TypeError, AttributeError):  # TypeError: Windows
        return MemoryReport(False, "only glibc, on Linux, has these settings")
    wanted = ((_MMAP_MAX, 0), (_TRIM_THRESHOLD, 2**31 - 1), (_TOP_PAD, 2**26))
    if not all(mallopt(parameter, value) for parameter, value in wanted):
        return MemoryReport(False, "the C library refused")
    return MemoryReport(True, "glibc no longer maps large blocks one by one")
