"""Bad input to the CRF: each refused at once, in words that help."""

import re
from typing import Any

import pytest
import torch

from bertbook import LinearChainCRF
from bertbook.model.crf_inputs import check_labels
from bertbook.model.tag_schemes import tag_constraints
from tests.model.crf.plain import plain_crf

EMISSIONS = torch.zeros(2, 4, 3)
LABELS = torch.tensor([[-100, 0, 2, -100], [-100, 1, -100, -100]])
MASK = LABELS != -100
NAMES = ["O", "B-PER", "I-PER"]


@pytest.mark.parametrize(
    ("emissions", "labels", "message"),
    [
        (EMISSIONS[0], LABELS, "emissions of shape (4, 3): expected (B, S, K), a score for each tag at each position"),
        (EMISSIONS[:0], LABELS[:0], "emissions of shape (0, 4, 3): the batch is empty; there is nothing to score"),
        (EMISSIONS[:, :0], LABELS[:, :0], "emissions of shape (2, 0, 3): the batch is empty"),
        (EMISSIONS[..., :2], LABELS, "emissions of shape (2, 4, 2): 2 scores a position, but the CRF has 3 tags"),
        (EMISSIONS.long(), LABELS, "emissions of type torch.int64: expected scores, as a linear layer gives them"),
        (EMISSIONS, LABELS[:, :3], "labels of shape (2, 3) does not fit emissions of shape (2, 4, 3): expected (2, 4)"),
        (EMISSIONS, LABELS[:1], "labels of shape (1, 4) does not fit"),
        (EMISSIONS, LABELS.float(), "labels of type torch.float32: expected torch.int64; pass labels.long()"),
        (EMISSIONS, LABELS + 1, "labels[0, 0] = -99: each must be a tag, from 0 to 2, or -100 where"),
        (EMISSIONS, LABELS.where(LABELS != 2, 3), "labels[0, 2] = 3: each must be a tag, from 0 to 2"),
        (EMISSIONS, LABELS.where(LABELS != 1, -1), "labels[1, 1] = -1: each must be a tag"),
        (EMISSIONS, torch.full_like(LABELS, -100), "every label of the batch is -100: there is nothing to learn from"),
    ],
)
def test_training(emissions: Any, labels: Any, message: str) -> None:
    with plain_crf() as module:
        crf = module.LinearChainCRF(3)
    for method in (crf, crf.log_likelihood):
        with pytest.raises(ValueError, match=re.escape(message)):
            method(emissions, labels)


@pytest.mark.parametrize(
    ("emissions", "mask", "message"),
    [
        (EMISSIONS[0], MASK, "emissions of shape (4, 3): expected (B, S, K)"),
        (EMISSIONS[..., :2], MASK, "emissions of shape (2, 4, 2): 2 scores a position, but the CRF has 3 tags"),
        (EMISSIONS, MASK[:, 1:], "mask of shape (2, 3) does not fit emissions of shape (2, 4, 3): expected (2, 4)"),
        (EMISSIONS, LABELS, "mask from -100 to 2: each must be 1 for a position of the chain, or 0"),
        (EMISSIONS, 2 * MASK.long(), "mask from 0 to 2: each must be 1"),
        (EMISSIONS, -MASK.int(), "mask from -1 to 0: each must be 1"),
        (EMISSIONS, MASK.float(), "mask of type torch.float32: expected torch.bool, True for a position of the chain"),
    ],
)
def test_decoding(emissions: Any, mask: Any, message: str) -> None:
    with plain_crf() as module:
        crf = module.LinearChainCRF(3)
    for method in (crf.viterbi, crf.marginals, crf.log_partition, lambda *given: crf.k_best(*given, 2)):
        with pytest.raises(ValueError, match=re.escape(message)):
            method(emissions, mask)


def test_no_tensor() -> None:
    with plain_crf() as module:
        crf = module.LinearChainCRF(3)
    with pytest.raises(TypeError, match="emissions is list: expected a tensor"):
        crf(EMISSIONS.tolist(), LABELS)
    with pytest.raises(TypeError, match="labels is NoneType: expected a tensor"):
        crf(EMISSIONS, None)
    with pytest.raises(TypeError, match="mask is ndarray: expected a tensor"):
        crf.viterbi(EMISSIONS, MASK.numpy())


@pytest.mark.parametrize("k", [0, -1])
def test_k(k: int) -> None:
    with pytest.raises(ValueError, match=f"k = {k}: how many paths are wanted"):
        LinearChainCRF(3).k_best(EMISSIONS, MASK, k)


@pytest.mark.parametrize("num_tags", [0, -3])
def test_no_tags(num_tags: int) -> None:
    with pytest.raises(ValueError, match=f"num_tags = {num_tags}: a CRF needs at least one tag"):
        LinearChainCRF(num_tags)


def test_constraints_of_another_size() -> None:
    with pytest.raises(ValueError, match="constraints for 3 labels, num_tags = 5: the two must be equal"):
        LinearChainCRF(5, tag_constraints(NAMES, "BIO"))


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, -100, 2, -100], "labels[1, 2] = 'I-PER' after labels[1, 0] = 'O': no chain may make this move"),
        ([-100, 2, 2, 0], "labels[1, 1] = 'I-PER': no chain may start with it"),
    ],
)
def test_labels_that_the_constraints_forbid(labels: list[int], message: str) -> None:
    crf = LinearChainCRF(3, tag_constraints(NAMES, "BIO"))
    given = torch.tensor([[-100, 1, 2, -100], labels])
    with pytest.raises(ValueError, match=re.escape(message + "; repair the labels, or make the CRF without")):
        crf(EMISSIONS, given)
    LinearChainCRF(3)(EMISSIONS, given)  # without constraints they are as good as any


def test_labels_that_may_not_end() -> None:
    crf = LinearChainCRF(4, tag_constraints(["B", "M", "E", "S"], "BMES"))
    given = torch.tensor([[3, -100, 0, -100], [0, 1, 1, 2]])
    with pytest.raises(ValueError, match=re.escape("labels[0, 2] = 'B': no chain may end with it")):
        crf(torch.zeros(2, 4, 4), given)


def test_nothing_is_computed_before_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        pytest.fail("the sums began")

    monkeypatch.setattr("bertbook.model.crf.log_z", never)
    with pytest.raises(ValueError, match="may start with it"):
        LinearChainCRF(3, tag_constraints(NAMES, "BIO"))(EMISSIONS[:1], torch.tensor([[2, -100, -100, -100]]))


def test_a_row_without_labels_takes_no_part() -> None:
    """It is neither an error nor a term of the loss."""
    crf = LinearChainCRF(3, tag_constraints(NAMES, "BIO"))
    emissions = torch.randn(2, 4, 3, requires_grad=True)
    labels = torch.tensor([[-100, 1, 2, -100], [-100] * 4])
    torch.testing.assert_close(crf(emissions, labels), crf(emissions[:1], labels[:1]))
    crf(emissions, labels).backward()
    assert emissions.grad is not None
    assert not emissions.grad[1].any()
    check_labels(3, labels, emissions)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"allowed_start": torch.ones(2).bool()}, "allowed_start is (2,) of torch.bool: for 3 labels it must be (3,)"),
        ({"allowed_end": torch.ones(3)}, "allowed_end is (3,) of torch.float32: for 3 labels it must be (3,) of torch"),
        ({"allowed_transitions": torch.ones(3).bool()}, "allowed_transitions is (3,) of torch.bool: for 3 labels it"),
    ],
)
def test_constraints_by_hand(change: dict[str, Any], message: str) -> None:
    tables = {"allowed_start": torch.ones(3).bool(), "allowed_end": torch.ones(3).bool()}
    given = {**tables, "allowed_transitions": torch.ones(3, 3).bool(), **change}
    with plain_crf() as module, pytest.raises(ValueError, match=re.escape(message)):
        module.TagConstraints(("a", "b", "c"), **given)
