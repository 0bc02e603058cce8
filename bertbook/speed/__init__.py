"""How fast a BERT runs: its useful arithmetic, fair timing, and what the machine can do at best."""

from bertbook.speed.compiling import compile_layers as compile_layers
from bertbook.speed.flops import forward_flops as forward_flops
from bertbook.speed.flops import training_flops as training_flops
from bertbook.speed.machine import Float32Report as Float32Report
from bertbook.speed.machine import MemoryReport as MemoryReport
from bertbook.speed.machine import fast_float32 as fast_float32
from bertbook.speed.machine import keep_memory as keep_memory
from bertbook.speed.peaks import matmul_peak as matmul_peak
from bertbook.speed.peaks import memory_bandwidth as memory_bandwidth
from bertbook.speed.timing import Spread as Spread
from bertbook.speed.timing import Timings as Timings
from bertbook.speed.timing import interleave as interleave

__all__ = [
    "Float32Report",
    "MemoryReport",
    "Spread",
    "Timings",
    "compile_layers",
    "fast_float32",
    "forward_flops",
    "interleave",
    "keep_memory",
    "matmul_peak",
    "memory_bandwidth",
    "training_flops",
]
