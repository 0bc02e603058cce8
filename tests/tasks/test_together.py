"""Several gaps at once: the chain rule, held against all fillings there are."""

import itertools
import math

import pytest
import torch
from torch import Tensor

from bertbook.tasks import Combination, FillMask
from bertbook.tasks.asking import MaskedModel
from bertbook.tasks.candidates import asked
from bertbook.tasks.gaps import GappedText
from bertbook.tasks.searching import Order, fill_together
from bertbook.text.masking import drawable_ids
from tests.tasks import animals

TEXT = "the [MASK] eats [MASK]"


@pytest.fixture(scope="module")
def offered(ignorant: FillMask) -> list[int]:
    return drawable_ids(ignorant.tokenizer)


def log_p(fill: FillMask, ids: list[int]) -> Tensor:
    """(S, V)"""
    with torch.no_grad():
        return fill.model(torch.tensor([ids])).logits[0].log_softmax(-1)


def every_filling(fill: FillMask, offered: list[int], surest_first: bool) -> dict[tuple[int, ...], tuple[float, int]]:
    """Two gaps: for all pairs of tokens ln p, and which gap was filled first. As plain as can be."""
    ids = fill.tokenizer.encode(TEXT)
    places = [place for place, number in enumerate(ids) if number == fill.tokenizer.mask_token_id]
    start = log_p(fill, ids)
    best = [start[place, offered].max().item() for place in places]
    first = best.index(max(best)) if surest_first else 0
    found = {}
    for one in offered:
        after = list(ids)
        after[places[first]] = one
        then = log_p(fill, after)
        for other in offered:
            pair = (one, other) if first == 0 else (other, one)
            total = start[places[first], one] + then[places[1 - first], other]
            found[pair] = (total.item(), first)
    return found


@pytest.mark.parametrize("order", ["left to right", "surest first"])
@pytest.mark.parametrize("seed", range(4))
def test_a_wide_beam_finds_the_best_of_all(offered: list[int], order: str, seed: int) -> None:
    fill = FillMask(animals.untrained(seed=seed).eval(), animals.tokenizer())
    everything = every_filling(fill, offered, order == "surest first")
    expected = sorted(everything.items(), key=lambda item: item[1], reverse=True)[:30]
    found = fill.together(TEXT, top_k=20, beams=len(offered), order=order)
    assert [combination.token_ids for combination in found] == [pair for pair, _ in expected[:20]]
    for combination, (_, (total, first)) in zip(found, expected, strict=False):
        assert math.log(combination.probability) == pytest.approx(total, abs=1e-4)
        assert combination.order == ((0, 1) if first == 0 else (1, 0))
        assert_consistent(fill, combination)


def assert_consistent(fill: FillMask, combination: Combination) -> None:
    assert combination.probability == pytest.approx(math.prod(step.probability for step in combination.steps))
    assert [step.token_id for step in combination.steps] == [combination.token_ids[gap] for gap in combination.order]
    assert combination.tokens == tuple(fill.tokenizer.ids_to_tokens(combination.token_ids))


def test_both_orders_occur_and_disagree(offered: list[int]) -> None:
    """Else the test above would not tell them apart."""
    orders, differ = set(), 0
    for seed in range(4):
        fill = FillMask(animals.untrained(seed=seed).eval(), animals.tokenizer())
        (surest,), (left,) = fill.together(TEXT, 1, order="surest first"), fill.together(TEXT, 1)
        orders.add(surest.order)
        differ += surest.probability != pytest.approx(left.probability, rel=1e-3)
    assert orders == {(0, 1), (1, 0)}
    assert differ


@pytest.mark.parametrize("order", ["left to right", "surest first"])
def test_over_all_fillings_the_probabilities_sum_to_one(ignorant: FillMask, order: Order) -> None:
    everything = torch.ones(ignorant.model.config.vocab_size, dtype=torch.bool)  # special tokens too
    item = GappedText.of(ignorant.tokenizer, TEXT)
    model = MaskedModel(ignorant.model, ignorant.tokenizer, batch_tokens=8192)
    (paths,) = fill_together(model, [asked(item)], [[everything, everything]], len(everything) ** 2, order)
    assert len({path.open.ids[place] for path in paths for place in item.places}) == len(everything)
    assert len(paths) == len(everything) ** 2
    assert sum(math.exp(path.log_p) for path in paths) == pytest.approx(1, abs=1e-4)


def test_a_narrow_beam_is_greedy(ignorant: FillMask, offered: list[int]) -> None:
    (greedy,) = ignorant.together(TEXT, top_k=1, beams=1)
    ids = ignorant.tokenizer.encode(TEXT)
    for token_id in greedy.token_ids:
        place = ids.index(ignorant.tokenizer.mask_token_id)
        assert token_id == offered[int(log_p(ignorant, ids)[place, offered].argmax())]
        ids[place] = token_id
    best = ignorant.together(TEXT, top_k=1, beams=len(offered))[0]
    assert best.probability >= greedy.probability


def test_one_gap_is_the_plain_case(ignorant: FillMask) -> None:
    text = "the [MASK] eats"
    for one, other in zip(ignorant.together(text), ignorant(text), strict=True):
        assert (one.tokens, one.text, one.order) == ((other.token,), other.text, (0,))
        assert one.probability == pytest.approx(other.probability, rel=1e-5)


def test_many_texts_as_each_alone(ignorant: FillMask) -> None:
    texts = [TEXT, "[MASK] [MASK] [MASK]", "the [MASK]", ("[MASK] cat", "eats [MASK]")]
    for order in ("left to right", "surest first"):
        for text, found in zip(texts, ignorant.together(texts, 3, order=order), strict=True):
            alone = ignorant.together(text, 3, order=order)
            assert [c.text for c in found] == [c.text for c in alone]
            assert [c.probability for c in found] == pytest.approx([c.probability for c in alone], rel=1e-4)


def test_three_gaps_filled_from_left_to_right(ignorant: FillMask) -> None:
    text = "[MASK] [MASK] eats [MASK]"
    found = ignorant.together(text, 5)
    places = [1, 2, 4]
    for combination in found:
        ids = ignorant.tokenizer.encode(text)
        total = 0.0
        for place, token_id in zip(places, combination.token_ids, strict=True):
            total += log_p(ignorant, ids)[place, token_id].item()
            ids[place] = token_id
        assert math.log(combination.probability) == pytest.approx(total, abs=1e-4)
        assert_consistent(ignorant, combination)
    assert len({combination.token_ids for combination in found}) == len(found)
    assert not any(a.probability < b.probability for a, b in itertools.pairwise(found))
