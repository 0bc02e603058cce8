"""Rows as one table, for people, and as records, for programs."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from benchmarks.case import Row
from benchmarks.machine import Peaks
from bertbook.speed import Spread

HEADER = ("case", "side", "ms", "middle half", "GFLOP/s", "of peak", "times as fast", "middle half", "as", "note")
_RIGHT = {2, 3, 4, 5, 6, 7}  # columns of numbers


def table(rows: Sequence[Row], peaks: Peaks) -> str:
    """A Markdown table with the columns lined up."""
    cells = [HEADER, *(_cells(row, peaks) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    rule = tuple("-" * (width - 1) + ":" if i in _RIGHT else "-" * width for i, width in enumerate(widths))
    return "\n".join(_line(line, widths) for line in [HEADER, rule, *cells[1:]])


def records(rows: Sequence[Row], peaks: Peaks) -> list[dict[str, Any]]:
    """What the table shows, unrounded, and the seconds of every round."""
    return [
        asdict(row)
        | {
            "ratio": row.ratio and row.ratio._asdict(),
            "median_seconds": Spread.of(row.seconds).median if row.seconds else None,
            "flops_per_second": _rate(row),
            "share_of_peak": _share(row, peaks),
        }
        for row in rows
    ]


def heading(machine: Mapping[str, str], peaks: Peaks) -> str:
    """The machine and its peaks, before the table."""
    roofs = (
        f"Measured peaks: {peaks['float32'] / 1e9:.0f} GFLOP/s in float32, {peaks['bfloat16'] / 1e9:.0f} in bfloat16 "
        f"(products of large matrices); {peaks['bandwidth'] / 1e9:.1f} GB/s of memory"
    )
    known = "; ".join(f"{name} {value}" for name, value in machine.items())
    return "\n".join(line for line in (known, roofs, peaks["switch"]) if line)


def _cells(row: Row, peaks: Peaks) -> tuple[str, ...]:
    if not row.seconds:
        return (row.case, row.side, "", "", "", "", "", "", "", row.note)
    time = Spread.of([1e3 * seconds for seconds in row.seconds])
    rate, share = _rate(row), _share(row, peaks)
    return (
        row.case,
        row.side,
        f"{time.median:.3g}" if time.median < 100 else f"{time.median:.0f}",
        _between(time),
        f"{rate / 1e9:.0f}" if rate else "",
        f"{share:.0%}" if share else "",
        f"{row.ratio.median:.2f}" if row.ratio else "",
        _between(row.ratio) if row.ratio else "",
        row.against if row.ratio and row.against else "",
        row.note,
    )


def _between(spread: Spread) -> str:
    digits = 0 if spread.median >= 100 else 1 if spread.median >= 10 else 2
    return f"{spread.lower:.{digits}f} to {spread.upper:.{digits}f}"


def _rate(row: Row) -> float | None:
    return row.flops / Spread.of(row.seconds).median if row.seconds and row.flops else None


def _share(row: Row, peaks: Peaks) -> float | None:
    rate, peak = _rate(row), {"float32": peaks["float32"], "bfloat16": peaks["bfloat16"]}[row.dtype]
    return rate / peak if rate else None


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (
        cell.rjust(width) if i in _RIGHT else cell.ljust(width)
        for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return f"| {' | '.join(padded)} |"
