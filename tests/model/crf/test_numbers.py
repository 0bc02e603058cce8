"""Gradients, precision, large scores, positions, devices: what the enumeration of small cases does not show."""

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from bertbook import LinearChainCRF
from bertbook.model.tag_schemes import tag_constraints
from tests.model.crf.enumeration import random_crf
from tests.model.crf.plain import plain_crf

BIO = tag_constraints(["O", "B-PER", "I-PER", "B-LOC", "I-LOC"], "BIO")
MASK = torch.tensor([[0, 1, 0, 1, 1, 0, 1, 0], [0, 1, 1, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1, 1, 1], [0] * 8])
LABELS = torch.tensor(
    [[-100, 1, -100, 2, 0, -100, 3, -100], [-100, 0, 1, *[-100] * 5], [1, 2, 2, 0, 3, 4, 1, 0], [-100] * 8]
)


def emissions_for(mask: Tensor, num_tags: int = 5, seed: int = 0) -> Tensor:
    torch.manual_seed(seed)
    return torch.randn(*mask.shape, num_tags, dtype=torch.float64)


@pytest.mark.parametrize("constraints", [None, BIO])
def test_gradcheck(constraints: object) -> None:
    torch.manual_seed(1)
    crf = random_crf(5, constraints)  # type: ignore[arg-type]
    emissions = emissions_for(MASK).requires_grad_()
    inputs = (emissions, crf.start, crf.end, crf.transitions)

    def loss(emissions: Tensor, *_: Tensor) -> Tensor:
        return crf(emissions, LABELS)

    assert torch.autograd.gradcheck(loss, inputs)
    assert torch.autograd.gradcheck(lambda x, *_: crf.log_partition(x, MASK), inputs)
    assert torch.autograd.gradcheck(lambda x, *_: crf.marginals(x, MASK), inputs)
    assert torch.autograd.gradcheck(lambda x, *_: crf.viterbi(x, MASK)[1], inputs)


@pytest.mark.parametrize("constraints", [None, BIO])
def test_marginals_are_the_gradient_of_log_z(constraints: object) -> None:
    torch.manual_seed(2)
    crf = random_crf(5, constraints)  # type: ignore[arg-type]
    emissions = emissions_for(MASK).requires_grad_()
    (gradient,) = torch.autograd.grad(crf.log_partition(emissions, MASK).sum(), emissions)
    torch.testing.assert_close(crf.marginals(emissions, MASK), gradient, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(gradient.sum(2), MASK.double())  # and each position has probability 1


def test_a_fresh_crf_is_the_linear_layer() -> None:
    """Loss, gradient, best tags and probabilities are those of cross-entropy and softmax."""
    crf, mask = LinearChainCRF(5), MASK == 1
    emissions = emissions_for(MASK).float().requires_grad_()
    linear = emissions.detach().clone().requires_grad_()
    loss = crf(emissions, LABELS)
    cross_entropy = F.cross_entropy(linear.flatten(0, 1), LABELS.flatten(), ignore_index=-100)
    loss.backward()
    cross_entropy.backward()
    torch.testing.assert_close(loss, cross_entropy)
    torch.testing.assert_close(emissions.grad, linear.grad)
    torch.testing.assert_close(crf.marginals(emissions, mask)[mask], linear.softmax(-1)[mask])
    assert torch.equal(crf.viterbi(emissions, mask)[0], linear.argmax(-1).masked_fill(~mask, -100))
    assert crf.transitions.grad is not None
    assert crf.transitions.grad.abs().min() > 0  # but from here it learns moves


@given(st.lists(st.lists(st.booleans(), min_size=9, max_size=9), min_size=1, max_size=4), st.integers(0, 2**32 - 1))
def test_holes_equal_the_compacted_sequence(mask: list[list[bool]], seed: int) -> None:
    """Wherever the chain's positions are, what stands between them changes nothing; nor do the other rows."""
    holes = torch.tensor(mask)
    emissions = emissions_for(holes, 3, seed)
    crf = random_crf(3)
    best, scores = crf.viterbi(emissions, holes)
    marginals, totals = crf.marginals(emissions, holes), crf.log_partition(emissions, holes)
    assert torch.equal(best == -100, ~holes)
    assert not marginals[~holes].any()
    for row in range(len(mask)):
        if holes[row].any():
            dense = emissions[row, holes[row]][None]
            full = torch.ones(dense.shape[:2], dtype=torch.bool)
            path, score = crf.viterbi(dense, full)
            assert torch.equal(path[0], best[row, holes[row]])
            torch.testing.assert_close(score[0], scores[row])
            torch.testing.assert_close(crf.marginals(dense, full)[0], marginals[row, holes[row]])
            torch.testing.assert_close(crf.log_partition(dense, full)[0], totals[row])
            torch.testing.assert_close(
                crf.log_likelihood(dense, path)[0], crf.log_likelihood(emissions[row : row + 1], best[row : row + 1])[0]
            )


@pytest.mark.parametrize("garbage", [math.nan, math.inf, -math.inf, 1e30])
def test_what_stands_outside_the_chain_is_not_read(garbage: float) -> None:
    crf = random_crf(5, BIO)
    clean = emissions_for(MASK)
    dirty = clean.masked_fill(MASK[..., None] == 0, garbage).requires_grad_()
    torch.testing.assert_close(crf.log_likelihood(dirty, LABELS), crf.log_likelihood(clean, LABELS))
    torch.testing.assert_close(crf.marginals(dirty, MASK), crf.marginals(clean, MASK))
    torch.testing.assert_close(crf.viterbi(dirty, MASK), crf.viterbi(clean, MASK))
    crf(dirty, LABELS).backward()
    assert dirty.grad is not None
    assert not dirty.grad[MASK == 0].any()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("autocast", [False, True])
def test_half_precision_is_float32_inside(dtype: torch.dtype, autocast: bool, device: str) -> None:
    """Not close to the float32 result on the rounded emissions: equal to it."""
    if device == "mps" and autocast:
        pytest.skip("autocast on MPS differs between releases")
    crf = random_crf(5, BIO).float().to(device)
    half = emissions_for(MASK).to(device, dtype).requires_grad_()
    single = half.detach().float().requires_grad_()
    mask, labels = MASK.to(device), LABELS.to(device)
    with torch.autocast(device, dtype, enabled=autocast):
        loss, marginals, (paths, scores) = crf(half, labels), crf.marginals(half, mask), crf.viterbi(half, mask)
        total = crf.log_partition(half, mask)
    assert loss.dtype == marginals.dtype == scores.dtype == total.dtype == torch.float32
    assert torch.equal(loss, crf(single, labels))
    assert torch.equal(marginals, crf.marginals(single, mask))
    assert torch.equal(total, crf.log_partition(single, mask))
    assert torch.equal(paths, crf.viterbi(single, mask)[0])
    loss.backward()
    crf(single, labels).backward()
    assert half.grad is not None
    assert single.grad is not None
    assert half.grad.dtype == dtype
    torch.testing.assert_close(half.grad, single.grad.to(dtype))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_parameters(dtype: torch.dtype) -> None:
    crf = random_crf(5, BIO).to(dtype)
    single = LinearChainCRF(5, BIO)
    single.load_state_dict(crf.state_dict())
    emissions = emissions_for(MASK).to(dtype)
    assert torch.equal(crf(emissions, LABELS), single(emissions.float(), LABELS))


@pytest.mark.parametrize("constraints", [None, BIO])
def test_long_and_large(constraints: object) -> None:
    """512 positions with emissions up to 10,000: finite, and near what float64 tells.

    Where the constraints forbid the high emissions, even the best path scores near -1,000,000, and float32 goes
    there by steps of 0.06.
    """
    torch.manual_seed(3)
    wide = random_crf(5, constraints)  # type: ignore[arg-type]
    single = LinearChainCRF(5, constraints)  # type: ignore[arg-type]
    single.load_state_dict(wide.state_dict())
    emissions = (torch.rand(2, 512, 5).double() * 2 - 1) * 1e4
    emissions[1] /= 1e4
    emissions = emissions.float().double()  # the same numbers for both
    mask = torch.ones(2, 512, dtype=torch.bool)
    paths, scores = wide.viterbi(emissions, mask)
    assert torch.equal(single.viterbi(emissions.float(), mask)[0], paths)
    torch.testing.assert_close(single.viterbi(emissions.float(), mask)[1].double(), scores, rtol=1e-5, atol=1e-3)
    marginals = single.marginals(emissions.float(), mask)
    torch.testing.assert_close(marginals.double(), wide.marginals(emissions, mask), rtol=0, atol=2e-3)
    torch.testing.assert_close(marginals[1].double(), wide.marginals(emissions, mask)[1], rtol=1e-4, atol=1e-5)
    loss_in = emissions.float().requires_grad_()
    likelihood = single.log_likelihood(loss_in, paths)
    expected = wide.log_likelihood(emissions, paths)
    torch.testing.assert_close(likelihood[0].double(), expected[0], rtol=0, atol=0.5 if constraints else 1e-3)
    torch.testing.assert_close(likelihood[1].double(), expected[1], rtol=1e-6, atol=1e-3)
    likelihood.sum().backward()
    gradients = [loss_in.grad, *(parameter.grad for parameter in single.parameters())]
    assert all(gradient is not None and bool(gradient.isfinite().all()) for gradient in gradients)


def test_large_emissions_do_not_drown_small_differences() -> None:
    """Every position at 10,000 and a little: as a bare float32 sum, 5,000,000 has steps of a half."""
    torch.manual_seed(4)
    crf, small = random_crf(3).float(), torch.randn(1, 512, 3)
    mask = torch.ones(1, 512, dtype=torch.bool)
    high = (small + 1e4).requires_grad_()
    low = (high.detach() - 1e4).requires_grad_()  # exact: what is left of small at that height
    path = crf.viterbi(low, mask)[0]
    assert torch.equal(crf.viterbi(high, mask)[0], path)
    torch.testing.assert_close(crf.log_likelihood(high, path), crf.log_likelihood(low, path))
    torch.testing.assert_close(crf.log_partition(high, mask), crf.log_partition(low, mask) + 512e4)


def test_tags_that_no_path_reaches_give_no_nan() -> None:
    """A chain starts with B or S, so at the first position M and E are sums of nothing."""
    tables = tag_constraints(["B", "M", "E", "S"], "BMES")
    crf = LinearChainCRF(4, tables)
    emissions = torch.zeros(1, 4, 4, requires_grad=True)
    loss = crf(emissions, torch.tensor([[0, 2, 0, 2]]))
    loss.backward()
    assert loss.item() > 0
    for parameter in (emissions, crf.start, crf.end, crf.transitions):
        assert parameter.grad is not None
        assert parameter.grad.isfinite().all()
    assert crf.transitions.grad is not None
    assert not crf.transitions.grad[~tables.allowed_transitions].any()  # a forbidden move has nothing to learn


def test_it_learns_what_follows_what() -> None:
    """Emissions that say nothing; the tags alternate. After training the moves are known, the linear layer is lost."""
    crf = LinearChainCRF(2)
    optimiser = torch.optim.LBFGS(crf.parameters(), max_iter=40)
    labels = torch.tensor([[0, 1, 0, 1, 0, 1], [1, 0, 1, 0, 1, 0]])
    emissions = torch.zeros(2, 6, 2)

    def closure() -> Tensor:
        optimiser.zero_grad()
        loss: Tensor = crf(emissions, labels) + 1e-3 * (crf.transitions**2).sum()
        loss.backward()
        return loss

    optimiser.step(closure)
    hint = emissions[:1].clone()
    hint[0, 3, 1] = 1.0  # one position out of six is known
    assert crf.viterbi(hint, torch.ones(1, 6, dtype=torch.bool))[0].tolist() == [[0, 1, 0, 1, 0, 1]]


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int32, torch.int64])
def test_kinds_of_mask(dtype: torch.dtype) -> None:
    crf = random_crf(5)
    emissions = emissions_for(MASK)
    assert torch.equal(crf.viterbi(emissions, MASK.to(dtype))[0], crf.viterbi(emissions, MASK)[0])
    assert torch.equal(crf.log_likelihood(emissions, LABELS.int()), crf.log_likelihood(emissions, LABELS))


def test_the_inputs_stay_as_they_are() -> None:
    crf, emissions, mask, labels = random_crf(5), emissions_for(MASK), MASK.clone(), LABELS.clone()
    before = emissions.clone()
    crf(emissions, labels)
    crf.k_best(emissions, mask, 3)
    crf.marginals(emissions, mask)
    assert torch.equal(emissions, before)
    assert torch.equal(mask, MASK)
    assert torch.equal(labels, LABELS)


def test_devices_agree(device: str) -> None:
    torch.manual_seed(5)
    crf = random_crf(5, BIO).float()
    emissions = emissions_for(MASK).float()
    loss, best, marginals = crf(emissions, LABELS), crf.viterbi(emissions, MASK)[0], crf.marginals(emissions, MASK)
    k_best = [[path.tolist() for path, _ in row] for row in crf.k_best(emissions, MASK, 4)]
    crf, emissions, mask = crf.to(device), emissions.to(device), MASK.to(device)
    torch.testing.assert_close(crf(emissions, LABELS.to(device)).cpu(), loss)
    torch.testing.assert_close(crf.marginals(emissions, mask).cpu(), marginals)
    assert torch.equal(crf.viterbi(emissions, mask)[0].cpu(), best)
    assert [[path.tolist() for path, _ in row] for row in crf.k_best(emissions, mask, 4)] == k_best


def test_the_state_is_what_was_learned() -> None:
    """The constraints follow from the labels' names, and are made from them again."""
    torch.manual_seed(6)
    crf, again = random_crf(5, BIO), LinearChainCRF(5, BIO).double()
    assert list(crf.state_dict()) == ["start", "end", "transitions"]
    again.load_state_dict(crf.state_dict())
    assert torch.equal(again(emissions_for(MASK), LABELS), crf(emissions_for(MASK), LABELS))
    assert repr(LinearChainCRF(3)) == "LinearChainCRF(num_tags=3)"
    assert "labels=('O', 'B-PER'" in repr(crf)


def test_compiles_whole() -> None:
    """Without the shape checks of the tests, which the compiler cannot read."""
    torch.manual_seed(7)
    reference = random_crf(5)
    emissions = emissions_for(MASK).requires_grad_()
    with plain_crf() as module:
        crf = module.LinearChainCRF(5).double()
        crf.load_state_dict(reference.state_dict())
        loss = torch.compile(crf, backend="aot_eager", fullgraph=True)(emissions, LABELS)
        paths, _ = torch.compile(crf.viterbi, backend="aot_eager", fullgraph=True)(emissions, MASK)
    torch.testing.assert_close(loss, reference(emissions, LABELS))
    assert torch.equal(paths, reference.viterbi(emissions, MASK)[0])
    (gradient,) = torch.autograd.grad(loss, emissions)
    torch.testing.assert_close(gradient, torch.autograd.grad(reference(emissions, LABELS), emissions)[0])
