"""What is switched for a whole process: once, however many sides share it."""

from functools import cache

from bertbook.speed import fast_float32, keep_memory


@cache
def fast() -> str:
    """Float32 products through the faster library, where that is true and pays; a note on what came of it."""
    return "oneDNN" if fast_float32().switched else "float32 as it was"


@cache
def memory() -> None:
    """What is freed is kept for the next step."""
    keep_memory()
