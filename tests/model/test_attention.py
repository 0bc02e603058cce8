"""Attention by itself: the worked example to the digit, masks, gradients, dropout."""

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from bertbook import BertConfig
from bertbook.model.attention import MultiHeadAttention, scaled_dot_product_attention

INPUTS = torch.tensor([[1, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1]]).double()
W_K = torch.tensor([[0, 0, 1], [1, 1, 0], [0, 1, 0], [1, 1, 0]]).double()
W_Q = torch.tensor([[1, 0, 1], [1, 0, 0], [0, 0, 1], [0, 1, 1]]).double()
W_V = torch.tensor([[0, 2, 0], [0, 3, 0], [1, 0, 3], [1, 1, 0]]).double()


def softmax(scores: list[float]) -> list[float]:
    """By the definition, in Python's own floating point."""
    exponentials = [math.exp(score) for score in scores]
    return [x / sum(exponentials) for x in exponentials]


def by_definition(query: Tensor, key: Tensor, value: Tensor, scale: float) -> tuple[list[list[float]], ...]:
    """Attention over lists, with no tensor operation that the function under test could share."""
    Q, K, V = query.tolist(), key.tolist(), value.tolist()
    weights = [softmax([sum(a * b for a, b in zip(q, k, strict=True)) / scale for k in K]) for q in Q]
    mixed = [
        [sum(w * v[column] for w, v in zip(row, V, strict=True)) for column in range(len(V[0]))] for row in weights
    ]
    return mixed, weights


class TestWorkedExample:
    Q, K, V = INPUTS @ W_Q, INPUTS @ W_K, INPUTS @ W_V

    def test_projections(self) -> None:
        assert self.K.tolist() == [[0, 1, 1], [4, 4, 0], [2, 3, 1]]
        assert self.Q.tolist() == [[1, 0, 2], [2, 2, 2], [2, 1, 3]]
        assert self.V.tolist() == [[1, 2, 3], [2, 8, 0], [2, 6, 3]]
        assert (self.Q @ self.K.T)[0].tolist() == [2, 4, 4]

    def test_as_usually_printed_without_the_division(self) -> None:
        """softmax(2, 4, 4) is (1, e², e²) / (1 + 2 e²); often rounded, wrongly, to (0, 0.5, 0.5)."""
        mixed, weights = scaled_dot_product_attention(self.Q * math.sqrt(3), self.K, self.V)
        one, other = 1 / (1 + 2 * math.e**2), math.e**2 / (1 + 2 * math.e**2)
        expected = [one + 4 * other, 2 * one + 14 * other, 3 * one + 3 * other]
        assert weights[0].tolist() == pytest.approx([one, other, other], abs=1e-14)
        assert mixed[0].tolist() == pytest.approx(expected, abs=1e-14)
        assert [round(x, 3) for x in weights[0].tolist()] == [0.063, 0.468, 0.468]
        assert [round(x, 3) for x in mixed[0].tolist()] == [1.937, 6.683, 1.595]

    def test_with_the_division(self) -> None:
        mixed, weights = scaled_dot_product_attention(self.Q, self.K, self.V)
        expected_mixed, expected_weights = by_definition(self.Q, self.K, self.V, math.sqrt(3))
        for given_row, expected_row in zip(
            [*mixed.tolist(), *weights.tolist()], [*expected_mixed, *expected_weights], strict=True
        ):
            assert given_row == pytest.approx(expected_row, abs=1e-14)


@st.composite
def problems(draw: st.DrawFn) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    batch = draw(st.sampled_from([(), (1,), (2,), (2, 3)]))
    S, T, d, d_v = (draw(st.integers(1, 6)) for _ in range(4))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**32)))
    query, key, value = (
        3 * torch.randn(*batch, rows, columns, generator=generator, dtype=torch.float64)
        for rows, columns in ((S, d), (T, d), (T, d_v))
    )
    shape = draw(st.sampled_from([None, (T,), (S, T), (1, T), (*batch, S, T), (*(1 for _ in batch), 1, T)]))
    mask = (
        None if shape is None else torch.rand(shape, generator=generator) < draw(st.sampled_from([0.0, 0.5, 0.9, 1.0]))
    )
    return query, key, value, mask


@given(problem=problems())
def test_equals_the_fused_kernel(problem: tuple[Tensor, Tensor, Tensor, Tensor | None]) -> None:
    query, key, value, mask = (None if x is None else x.clone().requires_grad_(x.is_floating_point()) for x in problem)
    mixed, weights = scaled_dot_product_attention(query, key, value, mask)
    allowed = torch.ones(weights.shape, dtype=torch.bool) if mask is None else mask.expand(weights.shape)
    fused = F.scaled_dot_product_attention(query, key, value, None if mask is None else allowed)
    torch.testing.assert_close(mixed, fused)
    torch.testing.assert_close(weights @ value, mixed)
    torch.testing.assert_close(
        torch.autograd.grad(mixed.cos().sum(), (query, key, value)),
        torch.autograd.grad(fused.cos().sum(), (query, key, value)),
    )
    assert (weights[~allowed] == 0).all()
    torch.testing.assert_close(weights.sum(-1), allowed.any(-1).double())  # 1, or 0 where every key is masked


def test_a_fully_masked_row_is_zero_and_so_are_its_gradients() -> None:
    query, key, value = (torch.randn(3, 4, dtype=torch.float64, requires_grad=True) for _ in range(3))
    mask = torch.tensor([[True, False, True], [False, False, False], [True, True, True]])
    mixed, weights = scaled_dot_product_attention(query, key, value, mask)
    assert (weights[1] == 0).all()
    assert (mixed[1] == 0).all()
    (mixed**2).sum().backward()
    assert all(torch.isfinite(x.grad).all() for x in (query, key, value))
    assert (query.grad[1] == 0).all()
    assert (query.grad[0] != 0).any()


@pytest.mark.parametrize(
    "mask", [None, [[True, False, True], [True, True, True]], [[False, False, False], [True, True, False]]]
)
def test_gradients(mask: list[list[bool]] | None) -> None:
    torch.manual_seed(0)
    tensors = [
        torch.randn(2, rows, columns, dtype=torch.float64, requires_grad=True)
        for rows, columns in ((2, 4), (3, 4), (3, 5))
    ]
    allowed = None if mask is None else torch.tensor(mask)
    assert torch.autograd.gradcheck(lambda q, k, v: scaled_dot_product_attention(q, k, v, allowed), tensors)


def test_large_scores_do_not_overflow() -> None:
    query = torch.tensor([[300.0, 0.0]])
    key = torch.tensor([[300.0, 0.0], [0.0, 300.0]])  # scores of 63,640 and 0: exp of the first is beyond float32
    mixed, weights = scaled_dot_product_attention(query, key, torch.eye(2))
    assert weights.tolist() == [[1, 0]]
    assert mixed.tolist() == [[1, 0]]


def test_dropout_takes_its_share_and_keeps_the_sum() -> None:
    torch.manual_seed(0)
    n, share = 1000, 0.3
    query, key, value = torch.zeros(n, 1), torch.zeros(n, 1), torch.ones(n, 1)
    mixed, weights = scaled_dot_product_attention(query, key, value, dropout=share)
    dropped = weights == 0
    error = math.sqrt(share * (1 - share)) / n  # of a share among n² weights
    assert abs(dropped.double().mean() - share) < 5 * error
    torch.testing.assert_close(weights[~dropped], torch.full_like(weights[~dropped], 1 / n / (1 - share)))
    assert abs(float(mixed.mean()) - 1) < 5 * error / (1 - share)
    assert not torch.equal(weights, scaled_dot_product_attention(query, key, value, dropout=share)[1])


@pytest.mark.parametrize("need_weights", [True, False])
def test_dropout_only_while_training(need_weights: bool) -> None:
    torch.manual_seed(0)
    config = BertConfig(hidden_size=8, num_attention_heads=2, attention_probs_dropout_prob=0.5)
    attention, hidden = MultiHeadAttention(config), torch.randn(2, 10, 8)
    first, second = (attention(hidden, None, need_weights)[0] for _ in range(2))
    assert not torch.equal(first, second)
    attention.eval()
    first, second = (attention(hidden, None, need_weights)[0] for _ in range(2))
    assert torch.equal(first, second)


def test_heads_are_slices_of_the_projections() -> None:
    """Head k works on numbers k·d to (k+1)·d of Q, K and V; W_O then mixes the heads."""
    torch.manual_seed(0)
    attention, hidden = (
        MultiHeadAttention(BertConfig(hidden_size=12, num_attention_heads=3)).eval(),
        torch.randn(1, 5, 12),
    )
    Q, K, V = attention.query(hidden), attention.key(hidden), attention.value(hidden)
    heads = [
        scaled_dot_product_attention(Q[..., at : at + 4], K[..., at : at + 4], V[..., at : at + 4]) for at in (0, 4, 8)
    ]
    mixed, weights = attention(hidden, need_weights=True)
    torch.testing.assert_close(mixed, attention.output(torch.cat([head for head, _ in heads], dim=-1)))
    torch.testing.assert_close(weights, torch.stack([share for _, share in heads], dim=1))


def test_shapes_in_signatures_are_checked_in_tests() -> None:
    """Were the import hook of conftest.py not at work, the product below would broadcast in silence."""
    with pytest.raises(TypeError, match="value"):
        scaled_dot_product_attention(torch.ones(4, 2, 3), torch.ones(4, 5, 3), torch.ones(1, 5, 3))
