"""The exercises of the chapter "Why BERT", one module each: what is tried, and which mistakes are recognised."""

from bertbook.check.result import CheckResult
from bertbook.check.why_bert.jacobian import JACOBIAN
from bertbook.check.why_bert.nearest import NEAREST
from bertbook.check.why_bert.sgns import SGNS_LOSS


def why_bert_1(my_nearest: object) -> CheckResult:
    """Exercise 1. ``my_nearest(vectors, row, n) → nearest``: vectors (V, H) → int64 (n,).

    The rows with the largest cosine to ``vectors[row]``, the largest first, without ``row`` itself.
    """
    return NEAREST.check(my_nearest)


def why_bert_2(my_sgns_loss: object) -> CheckResult:
    """Exercise 2. ``my_sgns_loss(centre, context, noise) → loss``: (B, H), (B, H), (B, k, H) → a scalar.

    −ln σ(u·v) and −ln σ(−u·n) for each of the k random words, summed for a pair, averaged over the pairs.
    """
    return SGNS_LOSS.check(my_sgns_loss)


def why_bert_3(my_jacobian: object) -> CheckResult:
    """Exercise 3. ``my_jacobian(states, W) → jacobian``: (S, H), (H, H) → (H, H).

    Of ``h[t] = tanh(W @ h[t − 1] + x[t])``: entry [i, j] is the derivative of ``h[S − 1][i]`` by ``h[0][j]``.
    """
    return JACOBIAN.check(my_jacobian)
