"""Bad input to the masking: one error, with what was given, what is allowed and what to do."""

from typing import Any

import pytest
import torch

from bertbook.text import mask_inputs
from bertbook.text.masking import MaskingPolicy, geometric
from bertbook.text.tokenizer import Tokenizer
from tests.text.mask_samples import SPECIAL, TOKENIZER, VOCAB, plain_batch

IDS = plain_batch(2, 8)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rate": 0.0}, r"rate=0: nothing would be chosen"),
        ({"rate": 15.0}, r"rate=15.0: expected a share from 0 to 1, as 0.15"),
        ({"rate": -0.1}, r"rate=-0.1: expected a share"),
        ({"rate": float("nan")}, r"rate=nan: expected a share"),
        ({"mask_share": 1.5}, r"mask_share=1.5: expected a share from 0 to 1"),
        ({"random_share": -1.0}, r"random_share=-1.0: expected"),
        ({"mask_share": 0.8, "random_share": 0.3}, r"mask_share=0.8 and random_share=0.3 are more than 1 together"),
        ({"seed": -1}, r"seed=-1: expected a whole number from 0"),
        ({"seed": 2**63}, r"seed=9223372036854775808: expected a whole number from 0 to 2\*\*63 - 1"),
        ({"max_predictions": 0}, r"max_predictions=0: expected a whole number from 1"),
        ({"spans": ()}, r"spans=\(\): the probabilities of the lengths"),
        ({"spans": (0.5, 0.6)}, r"must be ≥ 0 and sum to 1"),
        ({"spans": (1.5, -0.5)}, r"must be ≥ 0 and sum to 1"),
        ({"spans": (float("nan"), 1.0)}, r"must be ≥ 0 and sum to 1"),
    ],
)
def test_a_policy_that_cannot_be(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MaskingPolicy(TOKENIZER, **arguments)


@pytest.mark.parametrize(("p", "longest"), [(0.0, 10), (1.5, 10), (0.2, 0)])
def test_lengths_that_cannot_be(p: float, longest: int) -> None:
    with pytest.raises(ValueError, match=r"p must be above 0 and at most 1, longest at least 1"):
        geometric(p, longest)


def test_shares_that_sum_to_one_in_floats() -> None:
    for mask in range(11):
        MaskingPolicy(TOKENIZER, mask_share=mask / 10, random_share=(10 - mask) / 10)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rate": "0.15", "mask_share": 0.8, "random_share": 0.1}, r"rate='0.15': expected a number from 0 to 1"),
        ({"rate": True, "mask_share": 0.8, "random_share": 0.1}, r"rate=True: expected a number"),
        ({"rate": 0.15, "mask_share": None, "random_share": 0.1}, r"mask_share=None: expected a number"),
    ],
)
def test_shares_of_another_type(given: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        mask_inputs.check_shares(**given)


def test_other_types() -> None:
    with pytest.raises(TypeError, match=r"seed=1.5: expected a whole number of at least 0"):
        mask_inputs.whole_number("seed", 1.5, 0)
    with pytest.raises(TypeError, match=r"spans=3.8: expected the probabilities"):
        mask_inputs.check_spans(3.8)
    with pytest.raises(TypeError, match=r"index='a': expected a whole number"):
        mask_inputs.check_index("a")
    with pytest.raises(TypeError, match=r"input_ids is list: expected a tensor, as a Tokenizer makes it"):
        mask_inputs.check_ids([[1, 2]], 10)
    with pytest.raises(TypeError, match=r"word_ids is list: expected a tensor"):
        mask_inputs.check_word_ids([[1, 2]], IDS, True)


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (IDS[0, 0], r"input_ids of shape \(\): expected \(B, S\)"),
        (IDS[0], r"input_ids of shape \(8,\): expected \(B, S\).*; for one sequence pass input_ids\[None\]"),
        (IDS[None], r"input_ids of shape \(1, 2, 8\): expected \(B, S\)"),
        (IDS[:0], r"input_ids of shape \(0, 8\)"),
        (IDS[:, :0], r"input_ids of shape \(2, 0\)"),
        (IDS.float(), r"input_ids of type torch.float32: expected torch.int64; pass input_ids.long\(\)"),
        (IDS.bool(), r"input_ids of type torch.bool"),
        (IDS + 100, r"input_ids from 102 to \d+: each must be from 0 to 49"),
        (IDS.masked_fill(IDS == 3, -100), r"input_ids from -100 to \d+: .* or are they labels\?"),
    ],
)
def test_ids_that_do_not_fit(ids: torch.Tensor, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        mask_inputs.check_ids(ids, len(VOCAB))


def test_the_policy_checks_what_it_is_given() -> None:
    policy = MaskingPolicy(TOKENIZER)
    with pytest.raises(ValueError, match="each must be from 0 to 49"):
        policy(IDS + 100)
    with pytest.raises(ValueError, match=r"3 indices for 2 rows: each row needs the number of its example"):
        policy.at(0, [1, 2, 3])(IDS)
    with pytest.raises(ValueError, match=r"word_ids given, but this policy masks pieces: .*whole_words=True"):
        policy(IDS, IDS)
    with pytest.raises(ValueError, match=r"epoch=-1: expected a whole number"):
        policy.at(-1, 0)
    with pytest.raises(ValueError, match=r"index=-3: expected a whole number"):
        policy.at(0, [0, -3])
    with pytest.raises(ValueError, match=r"index of shape \(2, 8\) .*: expected one whole number from 0 for each row"):
        mask_inputs.check_index(IDS)
    with pytest.raises(ValueError, match=r"index of shape \(2,\) and type torch.float32"):
        mask_inputs.check_index(torch.ones(2))


@pytest.mark.parametrize(
    ("word_ids", "message"),
    [
        (IDS[:1], r"word_ids of shape \(1, 8\) on cpu do not fit input_ids of shape \(2, 8\) on cpu"),
        (IDS[:, 1:], r"word_ids of shape \(2, 7\)"),
        (IDS.float(), r"word_ids of type torch.float32: expected whole numbers from 0, and -1"),
        (IDS - 50, r"expected whole numbers from 0, and -1 for tokens of no word"),
    ],
)
def test_word_ids_that_do_not_fit(word_ids: torch.Tensor, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        mask_inputs.check_word_ids(word_ids, IDS, True)


def test_words_that_pieces_do_not_show() -> None:
    tokenizer = Tokenizer.from_vocab([*SPECIAL, "a", "b"])
    policy = MaskingPolicy(tokenizer, whole_words=True)
    ids = torch.tensor([[2, 5, 6, 3]])
    with pytest.raises(ValueError, match=r"no entry of this vocabulary begins with ##.*: pass word_ids"):
        policy(ids)
    policy(ids, torch.tensor([[-1, 0, 0, -1]]))


def test_tokenizers_that_will_not_do() -> None:
    with pytest.raises(ValueError, match=r"lacks \[MASK\]"):
        Tokenizer.from_vocab([*SPECIAL[:4], "a"])
    with pytest.raises(ValueError, match="special tokens alone: there is nothing to mask or to draw"):
        MaskingPolicy(Tokenizer.from_vocab([*SPECIAL, "[unused0]"]))


@pytest.mark.parametrize("state", [{}, {"seed": 0}, {"seed": 0, "calls": 1, "rate": 0.15}])
def test_a_state_of_something_else(state: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"expected what state_dict\(\) returned, seed and calls"):
        MaskingPolicy(TOKENIZER).load_state_dict(state)


def test_a_state_that_makes_no_sense() -> None:
    with pytest.raises(ValueError, match="calls=-1: expected a whole number"):
        MaskingPolicy(TOKENIZER).load_state_dict({"seed": 0, "calls": -1})
