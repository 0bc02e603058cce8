"""How fast a BERT runs: its useful arithmetic, fair timing, and what the machine can do at best."""

from bertbook.speed.flops import forward_flops as forward_flops
from bertbook.speed.flops import training_flops as training_flops
from bertbook.speed.peaks import matmul_peak as matmul_peak
from bertbook.speed.peaks import memory_bandwidth as memory_bandwidth
from bertbook.speed.timing import Spread as Spread
from bertbook.speed.timing import Timings as Timings
from bertbook.speed.timing import interleave as interleave

__all__ = [
    "Spread",
    "Timings",
    "forward_flops",
    "interleave",
    "matmul_peak",
    "memory_bandwidth",
    "training_flops",
]
