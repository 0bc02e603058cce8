"""Random numbers by place: the published generator, uniform, and independent of what stands beside them."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from bertbook.text.draws import below, draws, key_of, number
from tests.text.chi_square import uniform_p_value
from tests.text.plain_draws import splitmix64

int64 = st.integers(-(2**63), 2**63 - 1)


def test_the_published_numbers() -> None:
    expected = [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]
    found = number(torch.tensor(1234567), torch.arange(5))
    assert [x % 2**64 for x in found.tolist()] == expected == splitmix64(1234567, 5)


@given(int64, st.integers(1, 50))
def test_is_splitmix64_from_any_start(start: int, count: int) -> None:
    found = number(torch.tensor(start), torch.arange(count))
    expected = splitmix64(start, count)
    assert [x % 2**64 for x in found.tolist()] == expected
    high, low = draws(torch.tensor(start), torch.arange(count))
    assert high.tolist() == [x >> 32 for x in expected]
    assert low.tolist() == [x % 2**32 for x in expected]


def test_draws_are_uniform_and_independent() -> None:
    """256 by 256 bins: of the two halves, of neighbours in a row, of neighbouring rows, of neighbouring seeds."""
    keys = key_of(0, torch.arange(64))[:, None]
    high, low = draws(keys, torch.arange(8192))
    other, _ = draws(key_of(1, torch.arange(64))[:, None], torch.arange(8192))
    beside = {
        "halves": (high, low),
        "places": (high[:, :-1], high[:, 1:]),
        "low places": (low[:, :-1], low[:, 1:]),
        "rows": (high[:-1], high[1:]),
        "seeds": (high, other),
    }
    for name, (first, second) in beside.items():
        bins = (first >> 24 << 4 | second >> 28).flatten()
        assert 1e-3 < uniform_p_value(torch.bincount(bins, minlength=4096)) < 1 - 1e-3, name


def test_keys_differ_in_every_part() -> None:
    numbers = range(12)
    keys = {int(key_of(a, b, c)) for a in numbers for b in numbers for c in numbers}
    assert len(keys) == 12**3
    rows = key_of(3, torch.tensor([5, 7]))
    assert rows.tolist() == [int(key_of(3, 5)), int(key_of(3, 7))]


def test_bounds() -> None:
    assert (below(0.0), below(0.5), below(1.0)) == (0, 2**31, 2**32)
