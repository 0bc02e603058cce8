"""What this machine can do at best, measured: the two roofs that a model's speed is held against."""

import time
from collections.abc import Callable
from functools import partial

import torch

from bertbook.speed.timing import timed

_BUDGET = 0.15  # seconds for each size


def matmul_peak(dtype: torch.dtype = torch.float32, device: str | torch.device = "cpu") -> float:
    """Floating-point operations a second in products of large square matrices, the best of several sizes.

    It is measured as the process is set up: with its threads, and with the library that float32 goes through
    there. Takes under a second.

    Raises:
        ValueError: ``dtype`` is no floating-point type.
    """
    if not dtype.is_floating_point:
        raise ValueError(f"dtype={dtype}: choose a floating-point type, e.g. torch.float32 or torch.bfloat16")
    sizes = (512, 1024, 2048) if torch.device(device).type == "cpu" else (2048, 4096, 8192)
    best = 0.0
    for size in sizes:
        # Small numbers: nothing overflows in float16.
        a, b = (torch.rand(size, size, device=device).to(dtype) / size for _ in range(2))
        out = torch.empty_like(a)
        best = max(best, 2 * size**3 / _fastest(partial(torch.mm, a, b, out=out), device))
    return best


def memory_bandwidth(device: str | torch.device = "cpu") -> float:
    """Bytes a second between memory and chip: 256 MiB, far more than caches hold, read and written again in place.

    (A copy would move more than it says: a CPU reads the target, too, before it writes there.)
    """
    numbers = torch.ones(2**26, dtype=torch.float32, device=device)
    return 2 * numbers.numel() * numbers.itemsize / _fastest(lambda: numbers.mul_(1.0), device)


def _fastest(run: Callable[[], object], device: str | torch.device) -> float:
    """The shortest of as many calls as fit the budget, after one that warms up. Other work only ever adds time."""
    timed(run, device)
    best, end = float("inf"), time.perf_counter() + _BUDGET
    while True:
        best = min(best, timed(run, device))
        if time.perf_counter() > end:
            return best
