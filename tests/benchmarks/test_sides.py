"""Every side of every case, built small and in this process: the same work, with and without each way of doing it."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from benchmarks import inference, ladder, peers, recording, switches, training
from benchmarks.case import MissingError, Side
from benchmarks.training import EVERYTHING, QUICK, Ways
from bertbook.fetch import FetchError
from bertbook.model import attention, packing
from bertbook.speed import Float32Report

pytestmark = pytest.mark.usefixtures("switched")


def assert_agree(side: Side, other: Side) -> None:
    scale = np.abs(other.result).max()
    np.testing.assert_allclose(side.result, other.result, rtol=0, atol=max(side.tolerance, other.tolerance) * scale)


@pytest.fixture(scope="module")
def theirs() -> Side:
    return training.transformers_side(QUICK, Ways())


def test_losses_and_gradient_of_their_training(theirs: Side) -> None:
    *losses, gradient = theirs.result
    assert len(losses) == QUICK.count
    # At the start each of V = 400 words is as likely as any, and so is either answer to the next sentence.
    np.testing.assert_allclose(losses, np.log(400) + np.log(2), atol=0.3)
    assert gradient > 0.1
    assert theirs.tolerance == 1e-4


@pytest.mark.parametrize("rung", [name for name in ladder.rungs(compile=False) if name != "transformers"])
def test_every_rung_does_the_work_of_transformers(rung: str, theirs: Side, switched: list[str]) -> None:
    _, ways, against = ladder.rungs(compile=False)[rung]
    assert against == "transformers"
    side = training.bertbook_side(QUICK, ways)
    assert_agree(side, theirs)
    assert switched == ["memory"] * ways.memory + ["fast"] * ways.fast
    assert side.note == ("oneDNN" if ways.fast else "")
    side.run()  # a step, dropout and all


def test_the_ladder_ends_where_everything_is_on() -> None:
    assert [*ladder.rungs(compile=False).values()][-1][1] == replace(EVERYTHING, bf16=True)
    assert [*ladder.rungs(compile=True).values()][-1][1] == replace(EVERYTHING, bf16=True, compile=True)


def test_the_ways_do_what_they_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """The ladder's names are kept: each path is taken exactly where it is said to be."""
    seen: list[str] = []
    readable, fused, pack = (
        attention.scaled_dot_product_attention,
        torch.nn.functional.scaled_dot_product_attention,
        None,
    )
    monkeypatch.setattr(
        attention, "scaled_dot_product_attention", lambda *given: seen.append("readable") or readable(*given)
    )
    monkeypatch.setattr(
        torch.nn.functional, "scaled_dot_product_attention", lambda *given: seen.append("fused") or fused(*given)
    )
    pack = packing.Packing.pack
    monkeypatch.setattr(packing.Packing, "pack", lambda *given: seen.append("packed") or pack(*given))
    for ways, path in ((Ways(readable=True), "readable"), (Ways(), "fused"), (Ways(packing=True), "packed")):
        side = training.bertbook_side(QUICK, ways)
        seen.clear()
        side.run()
        assert set(seen) == {path}, ways


def test_a_process_is_switched_once_and_the_note_says_what_came_of_it(
    monkeypatch: pytest.MonkeyPatch, switched: list[str]
) -> None:
    for _ in range(2):
        recording.plain_side(20)
    assert switched == ["memory", "fast"]
    switches.fast.cache_clear()
    monkeypatch.setattr(switches, "fast_float32", lambda: Float32Report(switched=False, reason="no faster here"))
    assert training.bertbook_side(QUICK, EVERYTHING).note == "float32 as it was"


def test_training_changes_the_model(theirs: Side) -> None:
    """What is timed is a whole step: forward, back, and the optimiser's."""
    torch.manual_seed(0)
    own = training.BertForPreTraining(QUICK.config)
    model = peers.transformers_pretraining(own)
    before = {name: weight.clone() for name, weight in model.named_parameters()}
    training._side(model, QUICK, Ways(fused=True), "cpu").run()
    assert all(not torch.equal(weight, before[name]) for name, weight in model.named_parameters())


def test_everybody_reads_the_same() -> None:
    theirs = inference.transformers_side(12)
    assert theirs.result.shape == (12, 384)
    assert_agree(inference.bertbook_side(12), theirs)
    assert_agree(inference.bertbook_side(12, torch.bfloat16), theirs)
    assert_agree(inference.onnx_side(12, threads=1), theirs)
    assert theirs.note == "batch 8"
    torch.testing.assert_close(theirs.run().double().numpy(), theirs.result, atol=1e-5, rtol=0)


def test_recording_leaves_the_vectors_as_they_were() -> None:
    plain = recording.plain_side(20)
    assert plain.result.shape == (recording.ROWS, 20, 384)
    assert_agree(recording.all_side(20), plain)
    assert_agree(recording.one_side(20), plain)


def test_a_library_that_is_not_installed() -> None:
    peers.require("torch", "json")
    with pytest.raises(MissingError, match="not installed: no_such_one, nor_this"):
        peers.require("torch", "no_such_one", "nor_this")


def test_sides_without_their_library(monkeypatch: pytest.MonkeyPatch) -> None:
    found = peers.find_spec
    monkeypatch.setattr(
        peers, "find_spec", lambda name: None if name in ("onnxruntime", "transformers") else found(name)
    )
    with pytest.raises(MissingError, match=r"not installed: transformers$"):
        training.transformers_side(QUICK, Ways())
    with pytest.raises(MissingError, match=r"not installed: transformers$"):
        inference.transformers_side(12)
    with pytest.raises(MissingError, match=r"not installed: transformers, onnxruntime$"):
        inference.onnx_side(12, threads=1)
    assert training.bertbook_side(QUICK, Ways()).result.size  # ours needs neither


def test_weights_that_cannot_be_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str) -> None:
        raise FetchError("no index answers")

    monkeypatch.setattr(peers, "locate", fail)
    with pytest.raises(MissingError, match="no index answers"):
        inference.bertbook_side(12)
