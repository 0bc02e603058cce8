"""A batch in parts: the sum of the parts is the whole, also where they have different numbers of labels."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from bertbook import BertConfig, BertForMaskedLM, BertForPreTraining
from bertbook.text import BatchLoader
from bertbook.training import Objective, StepRecord, TrainConfig, Trainer
from bertbook.training.objectives import LABELS, MASKED_WORDS, MASKED_WORDS_AND_PAIRS
from bertbook.training.parts import split_rows, tokens_of

# Seven rows; 3 + 0 + 0 + 1 + 5 + 2 + 1 masked words: no two parts have the same number, and one may have none.
MASKED = [3, 0, 0, 1, 5, 2, 1]


def batch() -> dict[str, Tensor]:
    draw = torch.Generator().manual_seed(0)
    ids = torch.randint(5, 30, (7, 10), generator=draw)
    labels = torch.full_like(ids, -100)
    for row, count in enumerate(MASKED):
        labels[row, 1 : 1 + count] = ids[row, 1 : 1 + count]
    mask = torch.ones_like(ids)
    mask[2, 6:] = 0
    mask[5, 8:] = 0
    return {
        "input_ids": ids, "attention_mask": mask, "labels": labels,
        "next_sentence_label": torch.tensor([0, 1, 1, 0, 1, 0, 0]),
    }  # fmt: skip


def one_step(objective: Objective, **settings: Any) -> tuple[StepRecord, dict[str, Tensor]]:
    """A step of a model without dropout, in float64; and the gradients that the optimiser gets."""
    torch.manual_seed(0)
    sizes: dict[str, Any] = {
        "vocab_size": 30, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32,
        "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "initializer_range": 0.3,
    }  # fmt: skip
    kind = BertForPreTraining if objective is MASKED_WORDS_AND_PAIRS else BertForMaskedLM
    model = kind(BertConfig(**sizes)).double()
    loader = BatchLoader([{"input_ids": [1], "labels": [1]}], batch_size=1)  # nothing is taken from it
    config = TrainConfig(steps=5, device="cpu", **settings)
    trainer = Trainer(model, loader, config, objective=objective, show=False)
    given = batch()
    if objective is not MASKED_WORDS_AND_PAIRS:
        del given["next_sentence_label"]
    found: dict[str, Tensor] = {}

    def keep() -> None:
        found.update(
            {name: weight.grad.clone() for name, weight in model.named_parameters() if weight.grad is not None}
        )

    trainer.optimizer.step = keep
    return trainer.step(given), found


@pytest.mark.parametrize("objective", [MASKED_WORDS, MASKED_WORDS_AND_PAIRS])
def test_a_step_is_the_gradient_of_the_loss(objective: Objective) -> None:
    record, found = one_step(objective, max_grad_norm=None)
    torch.manual_seed(0)
    kind = BertForPreTraining if objective is MASKED_WORDS_AND_PAIRS else BertForMaskedLM
    model = kind(
        BertConfig(vocab_size=30, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
                   hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, initializer_range=0.3)
    ).double()  # fmt: skip
    given = batch()
    if objective is MASKED_WORDS:
        del given["next_sentence_label"]
    loss = model(**given).loss
    loss.backward()
    assert record.loss == pytest.approx(loss.item(), rel=1e-12)
    assert record.tokens == 70 - 4 - 2
    for name, weight in model.named_parameters():
        if weight.grad is not None:
            torch.testing.assert_close(found[name], weight.grad, rtol=1e-10, atol=1e-12)
    norm = torch.sqrt(sum(((gradient**2).sum() for gradient in found.values()), start=torch.tensor(0.0)))
    assert record.grad_norm == pytest.approx(float(norm), rel=1e-9)


@pytest.mark.parametrize("parts", [2, 3, 7, 50])
@pytest.mark.parametrize("objective", [MASKED_WORDS, MASKED_WORDS_AND_PAIRS])
def test_accumulation_changes_nothing(objective: Objective, parts: int) -> None:
    whole, expected = one_step(objective, max_grad_norm=0.1)
    record, found = one_step(objective, max_grad_norm=0.1, accumulation=parts)
    assert record.losses == pytest.approx(dict(whole.losses), rel=1e-12)
    assert (record.loss, record.grad_norm) == pytest.approx((whole.loss, whole.grad_norm), rel=1e-12)
    assert record.tokens == whole.tokens
    assert found.keys() == expected.keys()
    for name, gradient in expected.items():
        torch.testing.assert_close(found[name], gradient, rtol=1e-10, atol=1e-13)


def test_the_losses_by_name() -> None:
    record, _ = one_step(MASKED_WORDS_AND_PAIRS)
    assert list(record.losses) == ["mlm", "nsp"]
    assert record.loss == pytest.approx(sum(record.losses.values()))
    assert list(one_step(MASKED_WORDS)[0].losses) == ["mlm"]
    assert list(one_step(LABELS)[0].losses) == ["loss"]


def test_counts_are_of_the_labels_that_count() -> None:
    assert MASKED_WORDS_AND_PAIRS.counts(batch()) == {"mlm": sum(MASKED), "nsp": 7}


def test_of_one_loss_the_name_does_not_matter() -> None:
    output = SimpleNamespace(loss=torch.tensor(2.0))
    assert Objective({"mine": "labels"}).losses(output) == {"mine": output.loss}


class TestParts:
    @pytest.mark.parametrize(("parts", "rows"), [(1, [7]), (2, [4, 3]), (3, [3, 2, 2]), (7, [1] * 7), (9, [1] * 7)])
    def test_every_row_once_in_order(self, parts: int, rows: list[int]) -> None:
        pieces = split_rows(batch(), parts)
        assert [len(piece["input_ids"]) for piece in pieces] == rows
        for name, tensor in batch().items():
            assert torch.equal(torch.cat([piece[name] for piece in pieces]), tensor)

    def test_tokens(self) -> None:
        assert tokens_of(batch()) == 64
        assert tokens_of({"input_ids": torch.zeros(3, 5)}) == 15
        assert tokens_of({"vectors": torch.zeros(3, 5)}) == 0
