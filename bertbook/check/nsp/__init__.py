"""The exercises of the chapter "Does it follow?", one module each: what is tried, and which mistakes are recognised."""

from bertbook.check.nsp.inputs import PAIR_INPUTS
from bertbook.check.nsp.loss import NSP_LOSS
from bertbook.check.nsp.truncate import TRUNCATE
from bertbook.check.result import CheckResult


def nsp_1(my_truncate: object) -> CheckResult:
    """Exercise 1. ``my_truncate(first, second, room) → (first, second)``: lists of ids, together at most ``room``.

    One id at a time goes from the end of the longer list, from the second if they are equally long.
    """
    return TRUNCATE.check(my_truncate)


def nsp_2(my_pair_inputs: object) -> CheckResult:
    """Exercise 2. ``my_pair_inputs(first, second, cls_id, sep_id) → (input_ids, token_type_ids)``: lists of ids."""
    return PAIR_INPUTS.check(my_pair_inputs)


def nsp_3(my_nsp_loss: object) -> CheckResult:
    """Exercise 3. ``my_nsp_loss(hidden, W_pool, b_pool, W, b, labels) → loss``.

    hidden (B, S, H), W_pool (H, H), b_pool (H), W (2, H), b (2), labels int (B), 0 = IsNext → a scalar. Matrices
    are those of ``nn.Linear``: applied as ``x @ W.T + b``.
    """
    return NSP_LOSS.check(my_nsp_loss)
