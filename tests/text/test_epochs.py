"""The plan of an epoch: every example once, in batches of the right size, shared out evenly."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertbook.text import plan_epoch

lengths_of_data = st.lists(st.integers(1, 40), min_size=1, max_size=120)
sizes = st.one_of(
    st.fixed_dictionaries({"batch_size": st.integers(1, 9)}),
    st.fixed_dictionaries({"max_tokens": st.integers(40, 200)}),
)
windows = st.one_of(st.none(), st.integers(1, 60))


def as_lists(plan: list[Any]) -> list[list[int]]:
    return [batch.tolist() for batch in plan]


@given(lengths_of_data, sizes, windows, st.integers(1, 5), st.integers(0, 3), st.integers(0, 3))
def test_every_example_once_and_equal_steps(
    lengths: list[int], size: dict[str, int], window: int | None, world_size: int, seed: int, epoch: int
) -> None:
    def plan() -> list[list[int]]:
        return as_lists(plan_epoch(lengths, **size, window=window, seed=seed, epoch=epoch, world_size=world_size))

    if len(lengths) < world_size or (size.get("batch_size") == 1 and len(lengths) % world_size):
        with pytest.raises(ValueError, match="in equal steps"):
            plan()
        return
    try:
        batches = plan()
    except ValueError:  # a token budget that one example fills: the same, but not to be seen beforehand
        assert "max_tokens" in size
        assert len(lengths) % world_size
        return
    assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
    assert len(batches) % world_size == 0
    for batch in batches:
        assert 1 <= len(batch) <= size.get("batch_size", len(batch))
        assert sum(lengths[index] for index in batch) <= size.get("max_tokens", 10**9)
    assert plan() == batches


def test_epochs_and_seeds_differ() -> None:
    plans = [
        str(as_lists(plan_epoch(range(1, 50), batch_size=4, seed=seed, epoch=epoch)))
        for seed in range(3)
        for epoch in range(3)
    ]
    assert len(set(plans)) == 9


def test_the_order_is_random() -> None:
    """Each example comes at each of 8 places about as often: chi-square over 2,000 epochs, 49 degrees of freedom."""
    places = np.zeros((8, 8))
    for epoch in range(2000):
        for place, batch in enumerate(plan_epoch([1] * 8, batch_size=1, epoch=epoch)):
            places[place, batch[0]] += 1
    assert ((places - 250) ** 2 / 250).sum() < 90  # the 99.9th percentile is 85.4


def test_a_window_makes_rows_alike_and_keeps_batches_mixed() -> None:
    lengths = np.random.default_rng(0).integers(20, 129, 5000)

    def padding(window: int | None) -> float:
        """Positions that hold no token, as a share."""
        plan = plan_epoch(lengths, batch_size=32, window=window)
        whole = sum(len(batch) * lengths[batch].max() for batch in plan)
        return float(1 - lengths.sum() / whole)

    assert padding(None) > 0.35
    assert padding(32 * 20) < 0.05
    # The batches themselves come in no order of length.
    means = [lengths[batch].mean() for batch in plan_epoch(lengths, batch_size=32, window=32 * 20)]
    assert abs(np.corrcoef(means, np.arange(len(means)))[0, 1]) < 0.2
    assert abs(np.corrcoef(means[1:], means[:-1])[0, 1]) < 0.2


def test_a_batch_across_windows_has_like_lengths_too() -> None:
    lengths = np.random.default_rng(0).integers(1, 1001, 600)
    spreads = [np.ptp(lengths[batch]) for batch in plan_epoch(lengths, batch_size=8, window=100)]
    assert max(spreads) < 400  # 100 is no multiple of 8; without the turn some would spread over nearly all 1,000


def test_processes_of_one_step_get_like_lengths() -> None:
    lengths = np.random.default_rng(0).integers(20, 129, 5000)
    plan = plan_epoch(lengths, batch_size=32, window=32 * 40, world_size=4)
    means = np.array([lengths[batch].mean() for batch in plan]).reshape(-1, 4)
    assert np.median(np.ptp(means, axis=1)) < 12


def test_a_token_budget_is_nearly_used() -> None:
    lengths = np.random.default_rng(0).integers(20, 129, 5000)
    used = [lengths[batch].sum() for batch in plan_epoch(lengths, max_tokens=4096)]
    assert max(used) <= 4096
    assert sorted(used)[1] > 4096 - 128  # all but the last are full: not even the shortest of the next would fit
    assert np.mean(used) > 0.97 * 4096


def test_what_does_not_divide_is_split() -> None:
    # 10 examples, 3 a batch: batches of 3, 3, 3, 1, which 3 processes cannot share; so two are split in two.
    plan = plan_epoch([1] * 10, batch_size=3, world_size=3)
    assert sorted(map(len, plan)) == [1, 1, 1, 2, 2, 3]


class TestDropLast:
    @given(st.integers(1, 80), st.integers(1, 6), st.integers(1, 4), st.one_of(st.none(), st.integers(1, 30)))
    def test_whole_steps_alone(self, count: int, batch_size: int, world_size: int, window: int | None) -> None:
        def plan(epoch: int) -> list[list[int]]:
            sizes = {"batch_size": batch_size, "world_size": world_size, "window": window}
            return as_lists(plan_epoch(range(1, count + 1), **sizes, epoch=epoch, drop_last=True))

        step = batch_size * world_size
        if count < step:
            with pytest.raises(ValueError, match=f"{count} examples make no step of {step} "):
                plan(0)
            return
        batches = plan(0)
        assert [len(batch) for batch in batches] == [batch_size] * (count // step * world_size)
        seen = [index for batch in batches for index in batch]
        assert len(set(seen)) == len(seen) == count // step * step

    @pytest.mark.parametrize("window", [None, 20])
    def test_the_same_steps_for_any_number_of_processes(self, window: int | None) -> None:
        """Step by step the same examples in the same order: rank 0 has the first of them, and so on."""
        lengths = np.random.default_rng(0).integers(1, 40, 103)

        def steps(world_size: int) -> list[list[int]]:
            batches = plan_epoch(
                lengths, batch_size=8 // world_size, world_size=world_size, window=window, drop_last=True, epoch=3
            )
            return [
                [index for batch in batches[start : start + world_size] for index in batch.tolist()]
                for start in range(0, len(batches), world_size)
            ]

        assert len(steps(1)) == 12
        assert steps(1) == steps(2) == steps(4) == steps(8)

    def test_what_is_over_is_another_in_each_epoch(self) -> None:
        left = [
            frozenset(range(10)) - {index for batch in batches for index in batch}
            for batches in (as_lists(plan_epoch([1] * 10, batch_size=4, epoch=e, drop_last=True)) for e in range(40))
        ]
        assert {len(missing) for missing in left} == {2}
        assert frozenset.union(*left) == set(range(10))

    def test_not_with_a_budget_of_tokens(self) -> None:
        with pytest.raises(ValueError, match="drop_last goes with batch_size: batches of max_tokens have no size"):
            plan_epoch([1] * 10, max_tokens=4, drop_last=True)


@pytest.mark.parametrize(
    ("lengths", "arguments", "message"),
    [
        ([], {"batch_size": 2}, "the data set is empty"),
        ([1], {"batch_size": 0}, "batch_size=0: it must be a whole number of at least 1"),
        ([1], {"batch_size": -3}, "batch_size=-3"),
        ([1], {"batch_size": 2.0}, "batch_size=2.0"),
        ([1], {"batch_size": True}, "batch_size=True"),
        ([1], {"max_tokens": 0}, "max_tokens=0"),
        ([1], {"batch_size": 1, "window": 0}, "window=0"),
        ([1], {"batch_size": 1, "world_size": 0}, "world_size=0"),
        ([1], {}, "batch_size=None, max_tokens=None: give one of the two"),
        ([1], {"batch_size": 1, "max_tokens": 8}, "batch_size=1, max_tokens=8: give one of the two"),
        ([3, 9, 4], {"max_tokens": 8}, "max_tokens=8, and example 1 alone has 9 tokens: raise max_tokens"),
        ([1] * 5, {"batch_size": 1, "world_size": 4}, "5 examples, one a batch, .* by 4 processes .* or leave 1 out"),
        (
            [1] * 3,
            {"batch_size": 8, "world_size": 4},
            "3 examples, one a batch, .* by 4 processes .*: use fewer processes",
        ),
    ],
)
def test_refused(lengths: list[int], arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        plan_epoch(lengths, **arguments)
