"""Greedy and beam search against plain repeated forward passes, plain lists and every possible target."""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import jaxtyping
import pytest
import torch
from torch import Tensor

from bertbook import BertConfig
from bertbook.model.beam import beam_search
from bertbook.model.decoding import Decoded, greedy
from bertbook.model.seq2seq import Seq2Seq, shift_right

START, END, PAD = 1, 2, 0
CONFIG = BertConfig(
    vocab_size=6,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=32,
    max_position_embeddings=12,
    type_vocab_size=1,
    initializer_range=0.2,
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
    norm_first=True,
    position_embedding_type="sinusoidal",
)
SOURCE = torch.tensor([[3, 4, 5, 3, 4], [5, 5, 3, 0, 0], [4, 0, 0, 0, 0], [3, 3, 0, 0, 0]])
MASK = (SOURCE != PAD).long()
ASK: dict[str, Any] = {"attention_mask": MASK, "start_id": START, "end_id": END}


@cache
def shared(seed: int) -> Seq2Seq:
    """A model that several tests ask and none changes.

    Trained for a moment on several random targets a source: it is unsure, as a real model is, so that its targets end
    at different lengths and greed goes wrong. Random weights repeat one token for ever.
    """
    torch.manual_seed(seed)
    model = Seq2Seq(CONFIG)
    sources, mask = SOURCE.repeat(2, 1), MASK.repeat(2, 1)
    labels = torch.randint(3, CONFIG.vocab_size, (len(sources), 9))
    sizes = torch.randint(1, 9, (len(sources), 1))
    places = torch.arange(9)
    labels = labels.where(places < sizes, END).masked_fill(places > sizes, -100)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(80):
        loss = model(sources, shift_right(labels, START), attention_mask=mask, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval()


def fresh(seed: int, **changes: Any) -> Seq2Seq:
    """The same, for a test that changes it; with changes of the config, weights that fit it."""
    model = Seq2Seq(replace(CONFIG, **changes)).eval()
    model.load_state_dict(shared(seed).state_dict(), strict=False)  # learned positions are not among them
    return model


@cache
def following(seed: int, row: int, beginning: tuple[int, ...]) -> list[float]:
    """Log-probabilities after one beginning, by the whole model, asked anew, with one unpadded source."""
    source = SOURCE[row : row + 1, : int(MASK[row].sum())]
    with torch.no_grad():
        logits = shared(seed)(source, torch.tensor([[START, *beginning]])).logits
    found: list[float] = logits[0, -1].log_softmax(dim=-1).tolist()
    return found


def score(seed: int, row: int, target: Sequence[int]) -> float:
    return sum(following(seed, row, tuple(target[:place]))[token] for place, token in enumerate(target))


def penalty(length: int, strength: float) -> float:
    return ((5 + length) / 6) ** strength


def cut(ids: Tensor) -> list[int]:
    """One row of the result up to its end token. What follows must be padding."""
    found: list[int] = ids.tolist()
    if END in found:
        size = found.index(END) + 1
        assert found[size:] == [PAD] * (len(found) - size)
        return found[:size]
    return found


def plain_beam(seed: int, row: int, max_length: int, beams: int, strength: float) -> tuple[list[int], float]:
    """Beam search over Python lists: no cache, no batch, no early stop."""
    race: list[tuple[list[int], float]] = [([], 0.0)]
    for _ in range(max_length):
        longer = []
        for target, sofar in race:
            if target and target[-1] == END:
                longer.append((target, sofar))
            else:
                line = following(seed, row, tuple(target))
                longer += [([*target, token], sofar + value) for token, value in enumerate(line)]
        race = sorted(longer, key=lambda one: one[1] / penalty(len(one[0]), strength), reverse=True)[:beams]
    return race[0]


def every_target(max_length: int) -> Iterator[list[int]]:
    """All targets that end, and all that fill ``max_length`` without ending."""
    others = [token for token in range(CONFIG.vocab_size) if token != END]
    for length in range(max_length):
        yield from ([*body, END] for body in itertools.product(others, repeat=length))
    yield from map(list, itertools.product(others, repeat=max_length))


def assert_same(given: Decoded, expected: Decoded) -> None:
    assert given.ids.tolist() == expected.ids.tolist()
    torch.testing.assert_close(given.scores, expected.scores, atol=1e-4, rtol=0)


SEEDS = (0, 4, 7, 8)


@pytest.mark.parametrize("seed", SEEDS)
class TestGreedy:
    @pytest.mark.parametrize("use_cache", [True, False])
    def test_is_the_argmax_of_repeated_whole_passes(self, seed: int, use_cache: bool) -> None:
        given = greedy(shared(seed), SOURCE, **ASK, max_length=9, use_cache=use_cache)
        for row in range(len(SOURCE)):
            expected: list[int] = []
            while len(expected) < 9 and END not in expected:
                line = following(seed, row, tuple(expected))
                expected.append(line.index(max(line)))
            assert cut(given.ids[row]) == expected
            assert given.scores[row].item() == pytest.approx(score(seed, row, expected), abs=1e-4)

    def test_beam_search_with_one_beam_is_greedy(self, seed: int) -> None:
        model = shared(seed)
        for strength in (0.0, 0.6):
            beam = beam_search(model, SOURCE, **ASK, max_length=9, num_beams=1, length_penalty=strength)
            assert_same(beam, greedy(model, SOURCE, **ASK, max_length=9))


@pytest.mark.parametrize("strength", [0.0, 0.6, 2.0])
@pytest.mark.parametrize("seed", SEEDS)
class TestBeam:
    @pytest.mark.parametrize("beams", [2, 4])
    def test_as_over_plain_lists(self, seed: int, strength: float, beams: int) -> None:
        given = beam_search(shared(seed), SOURCE, **ASK, max_length=7, num_beams=beams, length_penalty=strength)
        for row in range(len(SOURCE)):
            target, total = plain_beam(seed, row, 7, beams, strength)
            assert cut(given.ids[row]) == target
            assert given.scores[row].item() == pytest.approx(total, abs=1e-4)
            assert total == pytest.approx(score(seed, row, target), abs=1e-4)

    def test_wide_enough_it_finds_the_best_of_all_targets(self, seed: int, strength: float) -> None:
        size = 3
        given = beam_search(shared(seed), SOURCE, **ASK, max_length=size, num_beams=6**size, length_penalty=strength)
        for row in range(len(SOURCE)):
            ranked = {tuple(t): score(seed, row, t) / penalty(len(t), strength) for t in every_target(size)}
            assert len(ranked) == 1 + 5 + 25 + 125
            assert tuple(cut(given.ids[row])) == max(ranked, key=lambda target: ranked[target])


def test_the_seeds_above_end_early_late_and_never() -> None:
    """Or the tests above would prove less than they seem to: rows must leave the batch at different steps."""
    sizes = [[len(cut(ids)) for ids in greedy(shared(seed), SOURCE, **ASK, max_length=9).ids] for seed in SEEDS]
    flat = list(itertools.chain(*sizes))
    assert min(flat) < 4
    assert any(1 < size < 9 for size in flat)
    assert max(flat) == 9
    assert any(len(set(row)) > 1 for row in sizes)


def test_beams_find_what_greed_misses() -> None:
    models = [shared(seed) for seed in SEEDS]
    gains = torch.stack(
        [
            beam_search(model, SOURCE, **ASK, max_length=7, num_beams=4, length_penalty=0.0).scores
            - greedy(model, SOURCE, **ASK, max_length=7).scores
            for model in models
        ]
    )
    assert (gains > 0.1).any()


def test_a_penalty_lengthens() -> None:
    def length(strength: float) -> int:
        found = [
            beam_search(shared(seed), SOURCE, **ASK, max_length=7, num_beams=4, length_penalty=strength).ids
            for seed in SEEDS
        ]
        return sum(len(cut(row)) for ids in found for row in ids)

    assert length(0.0) < length(3.0)


@pytest.mark.parametrize("decode", [greedy, beam_search])
class TestBoth:
    def test_a_batch_is_its_rows(self, decode: Any) -> None:
        model = fresh(1)
        together = decode(model, SOURCE, **ASK, max_length=9)
        for row, length in enumerate(MASK.sum(dim=1).tolist()):
            alone = decode(model, SOURCE[row : row + 1, :length], start_id=START, end_id=END, max_length=9)
            assert cut(alone.ids[0]) == cut(together.ids[row])
            assert alone.scores[0].item() == pytest.approx(together.scores[row].item(), abs=1e-4)

    def test_shapes_and_types(self, decode: Any) -> None:
        given = decode(fresh(1), SOURCE.int(), **ASK, max_length=9)
        assert given.ids.dtype == torch.int32
        assert given.ids.shape == (4, max(len(cut(row)) for row in given.ids))
        assert given.scores.shape == (4,)
        assert given.scores.dtype == torch.float32

    def test_finished_targets_are_computed_no_longer(self, decode: Any) -> None:
        model = fresh(1)
        sizes: list[int] = []
        model.layers[0].register_forward_hook(lambda _, inputs, __: sizes.append(len(inputs[0])))
        lengths = sorted(len(cut(row)) for row in greedy(model, SOURCE, **ASK, max_length=9).ids)
        assert lengths[0] < lengths[-1]
        assert sizes == [sum(length > step for length in lengths) for step in range(lengths[-1])]
        sizes.clear()
        decode(model, SOURCE, **ASK, max_length=9)
        assert sizes == sorted(sizes, reverse=True)
        assert sizes[-1] < sizes[0]

    @pytest.mark.parametrize("training", [True, False])
    def test_no_dropout_and_the_mode_stays(self, decode: Any, training: bool) -> None:
        model = fresh(1, hidden_dropout_prob=0.5)
        expected = decode(model, SOURCE, **ASK, max_length=9)
        model.train(training)
        assert_same(decode(model, SOURCE, **ASK, max_length=9), expected)
        assert model.training == training
        with pytest.raises(ValueError, match="input_ids"):
            decode(model, SOURCE + 9, **ASK, max_length=9)
        assert model.training == training
        assert torch.is_grad_enabled()

    def test_what_was_written_can_be_trained_on(self, decode: Any) -> None:
        model = fresh(1)
        ids = decode(model, SOURCE, **ASK, max_length=9).ids
        model(SOURCE, ids, attention_mask=MASK, labels=ids).loss.backward()

    def test_padding_that_is_no_zero(self, decode: Any) -> None:
        given = decode(fresh(1, pad_token_id=4), SOURCE, **ASK, max_length=9)
        assert all(set(ids[ids.index(END) + 1 :]) <= {4} for ids in given.ids.tolist() if END in ids)
        assert any(ids[-1] == 4 and END in ids[:-1] for ids in given.ids.tolist())

    def test_as_many_tokens_as_there_are_positions(self, decode: Any) -> None:
        learned = fresh(0, position_embedding_type="absolute")
        with torch.no_grad():
            learned.bias[END] = -1e4  # never ends
        assert decode(learned, SOURCE, **ASK, max_length=12).ids.shape == (4, 12)
        with pytest.raises(ValueError, match="max_length=13: this model has 12 positions; pass at most that"):
            decode(learned, SOURCE, **ASK, max_length=13)

    def test_ends_at_once(self, decode: Any) -> None:
        model = fresh(0)
        with torch.no_grad():
            model.bias[END] = 1e4
        given = decode(model, SOURCE, **ASK, max_length=9)
        assert given.ids.tolist() == [[END]] * 4
        assert given.scores.tolist() == [0.0] * 4

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"start_id": 6}, "start_id=6: expected an id, from 0 to 5"),
            ({"start_id": "[CLS]"}, "start_id='[CLS]': expected an id, from 0 to 5"),
            ({"end_id": -1}, "end_id=-1: expected an id, from 0 to 5"),
            ({"end_id": True}, "end_id=True: expected an id"),
            ({"max_length": 0}, "max_length=0: expected the most tokens to write, at least 1"),
            ({"max_length": 2.5}, "max_length=2.5: expected the most tokens to write"),
            ({"input_ids": SOURCE[:0]}, "input_ids of shape (0, 5): the batch is empty"),
            ({"input_ids": SOURCE[0]}, "input_ids of shape (5,): expected (B, S)"),
            ({"input_ids": SOURCE + 5}, "input_ids from 5 to 10: each must be from 0 to 5"),
            ({"attention_mask": MASK[:2]}, "attention_mask of shape (2, 5) does not fit input_ids of shape (4, 5)"),
        ],
    )
    def test_one_clear_error(self, decode: Any, change: dict[str, Any], message: str) -> None:
        self.refuses(decode, change, message)

    @staticmethod
    def refuses(decode: Any, change: dict[str, Any], message: str) -> None:
        jaxtyping.config.update("jaxtyping_disable", True)  # as readers run it
        try:
            with pytest.raises(ValueError, match="^" + re.escape(message)):
                decode(fresh(0), **{"input_ids": SOURCE, **ASK, "max_length": 9, **change})
        finally:
            jaxtyping.config.update("jaxtyping_disable", False)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_beams": 0}, "num_beams=0: expected a whole number of at least 1"),
        ({"num_beams": 2.0}, "num_beams=2.0: expected a whole number"),
        ({"num_beams": True}, "num_beams=True: expected a whole number"),
        ({"length_penalty": -0.1}, "length_penalty=-0.1: expected 0 for none, or a positive number"),
        ({"length_penalty": float("nan")}, "length_penalty=nan: expected 0 for none"),
        ({"length_penalty": float("inf")}, "length_penalty=inf: expected 0 for none"),
    ],
)
def test_beams_that_cannot_be(change: dict[str, Any], message: str) -> None:
    TestBoth.refuses(beam_search, change, message)


def test_more_beams_than_targets() -> None:
    """Some beams hold nothing then; none of them may win, or turn into NaN."""
    model = fresh(0)
    given = beam_search(model, SOURCE, **ASK, max_length=1, num_beams=50)
    assert_same(given, greedy(model, SOURCE, **ASK, max_length=1))


@pytest.mark.parametrize("decode", [greedy, beam_search])
def test_on_the_device(decode: Any, device: str) -> None:
    model = fresh(1)
    expected = decode(model, SOURCE, **ASK, max_length=9)
    ask = {**ASK, "attention_mask": MASK.to(device)}
    given = decode(model.to(device), SOURCE.to(device), **ask, max_length=9)
    assert_same(Decoded(given.ids.cpu(), given.scores.cpu()), expected)
