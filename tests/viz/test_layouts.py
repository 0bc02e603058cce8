"""The cost of a batch in each layout: against sums by hand, and against what a real layer does."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from bertbook import BertConfig
from bertbook.model.encoder import EncoderLayer
from bertbook.viz.layouts import bucketed, layout_costs

SIZES = {"hidden_size": 8, "intermediate_size": 20, "num_layers": 3}
batches = st.lists(st.integers(1, 200), min_size=1, max_size=40)


def by_hand(widths: list[int]) -> tuple[int, int, int]:
    """Matrix product by matrix product: tokens, linear, attention."""
    linear = attention = 0
    for width in widths:
        for _ in range(3):  # layers
            linear += 4 * (2 * width * 8 * 8) + 2 * width * 8 * 20 + 2 * width * 20 * 8
            attention += 2 * width * 8 * width + 2 * width * width * 8
    return sum(widths), linear, attention


def test_by_hand() -> None:
    costs = layout_costs([5, 2, 9, 2], 2, **SIZES)
    expected = {"padded": [9, 9, 9, 9], "bucketed": [2, 2, 9, 9], "packed": [5, 2, 9, 2]}
    for layout, cost in costs.items():
        assert (cost.tokens, cost.linear, cost.attention) == by_hand(expected[layout])
        assert cost.flops == cost.linear + cost.attention


def test_the_operations_are_those_of_a_layer() -> None:
    lengths = [5, 2, 9, 2]
    config = BertConfig(hidden_size=8, num_attention_heads=2, intermediate_size=20)
    with torch.device("meta"):  # shapes alone
        layer = EncoderLayer(config).eval()
        batches = {
            "padded": [torch.zeros(4, 9, 8)],
            "bucketed": [torch.zeros(2, 2, 8), torch.zeros(2, 9, 8)],
            "packed": [torch.zeros(1, length, 8) for length in lengths],
        }
    for layout, cost in layout_costs(lengths, 2, **SIZES | {"num_layers": 1}).items():
        with FlopCounterMode(display=False) as counter:
            for batch in batches[layout]:
                layer(batch)
        assert cost.flops == counter.get_total_flops(), layout


@given(batches, st.data())
def test_groups_are_those_of_array_split(lengths: list[int], data: st.DataObject) -> None:
    groups = data.draw(st.integers(1, len(lengths)))
    order = np.argsort(lengths, kind="stable")
    assert bucketed(lengths, groups) == [part.tolist() for part in np.array_split(order, groups)]


@given(batches, st.data())
def test_what_holds_for_every_batch(lengths: list[int], data: st.DataObject) -> None:
    groups = data.draw(st.integers(1, len(lengths)))
    costs = layout_costs(lengths, groups, **SIZES)
    padded, middle, packed = (costs[layout] for layout in ("padded", "bucketed", "packed"))
    for name in ("tokens", "linear", "attention"):
        assert getattr(packed, name) <= getattr(middle, name) <= getattr(padded, name)
    assert packed.tokens == sum(lengths)
    assert layout_costs(lengths, 1, **SIZES)["bucketed"] == padded
    assert layout_costs(lengths, len(lengths), **SIZES)["bucketed"] == packed
    assert layout_costs(lengths[::-1], groups, **SIZES) == costs


def test_large_numbers_stay_exact() -> None:
    cost = layout_costs([16_384] * 512, 1, hidden_size=12_288, intermediate_size=49_152, num_layers=96)["padded"]
    assert cost.attention == 512 * 16_384**2 * 4 * 12_288 * 96
    assert cost.flops > 2**53  # beyond the whole numbers of JavaScript, and of float64


@pytest.mark.parametrize("lengths", [[7], [3, 3, 3]])
def test_nothing_to_gain(lengths: list[int]) -> None:
    padded, middle, packed = layout_costs(lengths, 1, **SIZES).values()
    assert padded == middle == packed
