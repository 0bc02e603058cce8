"""Rows as text and as records."""

import json

import pytest

from benchmarks.case import Row
from benchmarks.machine import Peaks, describe
from benchmarks.table import heading, records, table
from bertbook.speed import Spread

PEAKS: Peaks = {"switch": "float32: as it was", "float32": 1e11, "bfloat16": 4e11, "bandwidth": 25e9}
ROWS = [
    Row("train", "theirs", seconds=(0.2, 0.25, 0.3), flops=10**10),
    Row(
        "train",
        "ours",
        seconds=(0.05, 0.05, 0.05),
        flops=10**10,
        dtype="bfloat16",
        ratio=Spread(5.0, 4.5, 5.5),
        against="theirs",
        note="batch 32",
    ),
    Row("infer", "ONNX Runtime", note="not installed: onnxruntime"),
]


def test_the_table() -> None:
    lines = [[cell.strip() for cell in line.strip("| ").split("|")] for line in table(ROWS, PEAKS).splitlines()]
    assert lines[2] == ["train", "theirs", "250", "225 to 275", "40", "40%", "", "", "", ""][: len(lines[2])]
    assert lines[3] == [
        "train", "ours", "50", "50.0 to 50.0", "200", "50%", "5.00", "4.50 to 5.50", "theirs", "batch 32",
    ]  # fmt: skip
    assert lines[4][:2] == ["infer", "ONNX Runtime"]
    assert lines[4][-1] == "not installed: onnxruntime"


def test_the_columns_line_up() -> None:
    lines = table(ROWS, PEAKS).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert len({tuple(i for i, letter in enumerate(line) if letter == "|") for line in lines}) == 1


def test_records_hold_every_round_and_go_through_json() -> None:
    theirs, ours, absent = json.loads(json.dumps(records(ROWS, PEAKS)))
    assert theirs["seconds"] == [0.2, 0.25, 0.3]
    assert theirs["median_seconds"] == 0.25
    assert theirs["flops_per_second"] == pytest.approx(4e10)
    assert theirs["share_of_peak"] == pytest.approx(0.4)
    assert ours["ratio"] == {"median": 5.0, "lower": 4.5, "upper": 5.5}
    assert ours["share_of_peak"] == pytest.approx(0.5)  # of bfloat16's
    assert absent["median_seconds"] is None
    assert absent["flops_per_second"] is None


def test_the_heading() -> None:
    machine = describe(threads=3, device="cpu")
    assert machine["threads"] == "3"
    assert machine["transformers"][0].isdigit()
    lines = heading(machine, PEAKS).splitlines()
    assert f"torch {machine['torch']}" in lines[0]
    assert lines[1].startswith("Measured peaks: 100 GFLOP/s in float32, 400 in bfloat16")
    assert lines[1].endswith("25.0 GB/s of memory")
    assert lines[2] == "float32: as it was"
