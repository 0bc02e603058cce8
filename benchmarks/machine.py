"""The machine: what it is, and what it can do at best."""

import os
import platform
import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TypedDict

import torch

from benchmarks.turns import alone
from bertbook.speed import fast_float32, matmul_peak, memory_bandwidth

_LIBRARIES = ("torch", "transformers", "onnxruntime", "bertbook")
_INSTRUCTIONS = ("avx2", "avx512f", "avx512_bf16", "amx_bf16", "asimd", "bf16", "sve")  # as Linux names them


class Peaks(TypedDict):
    """What products of large matrices reach, by type, in operations a second; a copy, in bytes a second.

    ``switch`` tells what came of the switch to the faster library for float32.
    """

    switch: str
    float32: float
    bfloat16: float
    bandwidth: float


def describe(threads: int, device: str) -> dict[str, str]:
    """Name → value, for people to read."""
    cpu = _cpu_info()
    name = cpu.get("model name") or platform.processor() or platform.machine()
    known = (cpu.get("flags") or cpu.get("Features", "")).split()
    found = {
        "CPU": ", ".join([name, f"{os.cpu_count()} cores", *(each for each in _INSTRUCTIONS if each in known)]),
        "threads": str(threads),
        "Python": platform.python_version(),
        **{library: _version(library) for library in _LIBRARIES},
    }
    if torch.device(device).type == "cuda":
        found["GPU"] = torch.cuda.get_device_name(device)
    return found


def peaks(threads: int, device: str) -> Peaks:
    """Measured in a process of their own. Float32: through the better of the two libraries that it may go through."""
    return alone(_peaks, threads, device)


def _peaks(threads: int, device: str) -> Peaks:
    torch.set_num_threads(threads)
    float32, switch = matmul_peak(torch.float32, device), ""
    if torch.device(device).type == "cpu":
        switch = str(fast_float32())
        float32 = max(float32, matmul_peak(torch.float32, device))
    return {
        "switch": switch,
        "float32": float32,
        "bfloat16": matmul_peak(torch.bfloat16, device),
        "bandwidth": memory_bandwidth(device),
    }


def _cpu_info() -> dict[str, str]:
    """Linux alone tells the CPU's name and instructions in a file."""
    path = Path("/proc/cpuinfo")
    if not path.is_file():
        return {}
    return dict(re.findall(r"^([^\t:]+?)\s*: (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE))


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "not installed"
