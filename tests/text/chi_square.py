"""How probable counts are that should come from a known distribution."""

import torch
from torch import Tensor


def p_value(observed: Tensor, shares: Tensor) -> float:
    """Pearson's chi-square test of K counts against K probabilities: how probable is a fit as bad as this, or worse?"""
    assert torch.isclose(shares.sum().double(), torch.tensor(1.0, dtype=torch.float64), atol=1e-6)
    expected = observed.double().sum() * (shares.double() / shares.double().sum())
    assert expected.min() >= 5, "too few for the approximation"
    statistic = ((observed - expected) ** 2 / expected).sum()
    return tail(statistic, len(observed) - 1)


def tail(statistic: Tensor, degrees: int) -> float:
    """P(χ² ≥ statistic) with so many degrees of freedom."""
    half = torch.tensor(degrees / 2, dtype=torch.float64)
    return float(torch.special.gammaincc(half, statistic.double() / 2))


def uniform_p_value(observed: Tensor) -> float:
    """The same, where all are equally likely."""
    return p_value(observed, torch.full((len(observed),), 1 / len(observed), dtype=torch.float64))
