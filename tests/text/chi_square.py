"""How probable counts are that should come from a known distribution."""

import torch
from torch import Tensor


def p_value(observed: Tensor, expected: Tensor) -> float:
    """Pearson's chi-square test of K counts against K expected ones of the same sum: the probability of a worse fit."""
    observed, expected = observed.double(), expected.double()
    assert torch.isclose(observed.sum(), expected.sum(), rtol=1e-9)
    assert expected.min() >= 5, "too few for the approximation"
    statistic = ((observed - expected) ** 2 / expected).sum()
    return tail(statistic, len(observed) - 1)


def tail(statistic: Tensor, degrees: int) -> float:
    """P(χ² ≥ statistic) with so many degrees of freedom."""
    half = torch.tensor(degrees / 2, dtype=torch.float64)
    return float(torch.special.gammaincc(half, statistic.double() / 2))


def uniform_p_value(observed: Tensor) -> float:
    """The same, where all are equally likely."""
    return p_value(observed, torch.full_like(observed, observed.double().mean().item(), dtype=torch.float64))
