"""What the cases make of measured times. The times are given; the work they belong to is counted for real."""

from collections.abc import Mapping
from typing import Any

import pytest

from benchmarks import inference, ladder, recording, training
from benchmarks.case import Contestant, Row, Settings
from benchmarks.turns import Measured
from bertbook import BertConfig
from bertbook.pretrained import locate
from bertbook.speed import Timings, forward_flops

QUICK = Settings(quick=True)
TAKEN = {"plain": 1.0, "all weights": 1.25, "one layer": 1.0625, "transformers": 4.0, "ONNX Runtime": 2.0}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """How ``measure`` was called last. Every run takes what ``TAKEN`` says, or a second."""
    seen: dict[str, Any] = {}

    def measure(contestants: Mapping[str, Contestant], **how: Any) -> Measured:
        seen.update(how, contestants=contestants)
        seconds = {name: [TAKEN.get(name, 1.0)] * how["rounds"] for name in contestants}
        return Measured(contestants, Timings(seconds), dict.fromkeys(contestants, ""), {})

    for module in (training, inference, recording):
        monkeypatch.setattr(module, "measure", measure)
    return seen


def case(module: Any, name: str) -> list[Row]:
    (found,) = [case for case in module.CASES if case.name == name]
    return list(found.run(QUICK))


def test_like_for_like_is_in_one_process_and_each_type_against_its_own(asked: dict[str, Any]) -> None:
    rows = case(training, "train")
    assert asked["together"] is True
    assert [(row.side, row.dtype, row.against) for row in rows] == [
        ("transformers", "float32", None),
        ("bertbook", "float32", "transformers"),
        ("transformers, bf16", "bfloat16", None),
        ("bertbook, bf16", "bfloat16", "transformers, bf16"),
    ]
    ways = [asked["contestants"][row.side].build.args[1] for row in rows]
    assert {(way.fused, way.fast, way.memory) for way in ways} == {(True, True, False)}
    assert [way.packing for way in ways] == [False, True, False, True]


def test_as_it_comes_is_in_processes_of_their_own(asked: dict[str, Any]) -> None:
    rows = case(training, "train-apart")
    assert asked["together"] is False
    theirs = asked["contestants"]["transformers"].build.args[1]
    assert theirs == training.Ways()  # nothing that a reader would not have written
    assert [row.ratio.median for row in rows if row.ratio] == [4.0, 4.0]
    assert rows[0].seconds == (4.0 / training.QUICK.count,) * 2  # of a step
    assert {row.flops for row in rows} == {training.QUICK.flops()}


def test_reading_passages(asked: dict[str, Any]) -> None:
    rows = {row.side: row for row in case(inference, "infer")}
    assert asked["together"] is False
    assert rows["ONNX Runtime"].ratio is not None
    assert rows["ONNX Runtime"].ratio.median == 2.0
    assert rows["bertbook, bf16"].against == "transformers"
    # Useful work is what the passages hold, one by one, without padding.
    config = BertConfig.from_json(locate("minilm") / "config.json")
    one_by_one = [batch["input_ids"].shape[1] for batch in inference._batches(16, 1)]
    assert one_by_one == sorted(one_by_one)
    assert {row.flops for row in rows.values()} == {forward_flops(config, one_by_one)}


def test_recording_tells_what_it_costs(asked: dict[str, Any]) -> None:
    plain, everything, one = case(recording, "record")
    assert asked["together"] is True
    assert plain.note == ""
    assert everything.note == "costs 1.25 times a plain pass"
    assert one.note == "costs 1.06 times a plain pass"
    assert plain.flops == forward_flops(BertConfig.from_json(locate("minilm") / "config.json"), [48] * 4)


def test_each_rung_tells_what_it_gains(asked: dict[str, Any]) -> None:
    theirs, first, *rest = case(ladder, "ladder")
    assert asked["together"] is False
    assert theirs.note == ""
    assert first.note == "4.00 times the rung before"
    assert {row.note for row in rest} == {"1.00 times the rung before"}
    assert {row.against for row in [first, *rest]} == {"transformers"}
