"""The two benchmarks of the feed run, on small text, and count right. How fast they are is for people to read."""

import re

import pytest

from benchmarks import feed, memory


def test_the_feed_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert feed.main(["--quick", "--threads", "1"]) == 0
    printed = capsys.readouterr().out
    rows = re.findall(r"^(.*?)\s+([\d.]+)\s+([\d.]+)\s+([\d,]+)$", printed, re.MULTILINE)
    assert [name for name, *_ in rows] == [
        "from text, in order",
        "by number, shuffled",
        "tokenizing all, once an epoch",
        "of these, masking",
        "training step",
    ]
    for _, milliseconds, rate, _ in rows:
        assert float(milliseconds) * float(rate) == pytest.approx(1000, rel=0.2)  # both are rounded
    assert re.search(r"feeds [\d.]+ times as fast .*\nmasking costs [\d.]+% of a step", printed)


def test_ratios() -> None:
    timed = feed.Feed(in_order=0.03, by_number=0.02, counting=0.02, masking=0.004, step=0.2, tokens=2000)
    assert timed.ratio == pytest.approx(5)
    assert timed.masking_share == pytest.approx(0.02)


def test_memory_runs(capsys: pytest.CaptureFixture[str]) -> None:
    status = memory.main(["--mb", "0.1", "--batches", "3"])
    printed = capsys.readouterr().out
    sizes, whole, peaks = zip(*re.findall(r"([\d.]+) MB\s+([\d,]+)\s+([\d.]+) MB", printed), strict=True)
    assert sizes == ("0.1", "1.0")
    assert int(whole[1]) == pytest.approx(10 * int(whole[0]), rel=0.2)
    growth = float(peaks[1]) / float(peaks[0]) - 1
    assert status == int(growth > 0.1) == 0
