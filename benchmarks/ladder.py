"""The ladder: from the plain way to the fast one, one step at a time, each in a process of its own."""

from collections.abc import Iterator
from dataclasses import replace

from benchmarks.case import Case, Row, Settings
from benchmarks.training import Sides, Ways, contest
from bertbook.speed import Timings

# What each rung changes; the changes before it stay.
RUNGS: dict[str, dict[str, bool]] = {
    "bertbook, as the book prints it": {"readable": True, "all_logits": True},
    "+ fused attention": {"readable": False},
    "+ vocabulary at masked positions only": {"all_logits": False},
    "+ no padding": {"packing": True},
    "+ fused AdamW": {"fused": True},
    "+ float32 through the fast library": {"fast": True},
    "+ bf16 autocast": {"bf16": True},
    "+ memory kept": {"memory": True},
}
COMPILED = {"+ torch.compile": {"compile": True}}


def rungs(compile: bool) -> Sides:
    """The rungs in order, all against transformers, which stands at the bottom."""
    sides: Sides = {"transformers": ("transformers", Ways(), None)}
    ways = Ways()
    for name, change in (RUNGS | (COMPILED if compile else {})).items():
        ways = replace(ways, **change)
        sides[name] = ("bertbook", ways, "transformers")
    return sides


def _run(settings: Settings) -> Iterator[Row]:
    below: Row | None = None
    for row in contest("ladder", settings, rungs(settings.compile), together=False, rounds=5):
        if below is not None and below.seconds:
            gain = Timings({"below": below.seconds, "here": row.seconds}).ratio("below", "here").median
            row = replace(row, note="; ".join(filter(None, [f"{gain:.2f} times the rung before", row.note])))
        yield row
        below = row


CASES = (Case("ladder", "a step, each rung in its own process", _run, default=False),)
