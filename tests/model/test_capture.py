"""Records made by a running model. That their numbers are right: test_parity.py."""

import numpy as np
import pytest
import torch

from bertbook import Bert, BertConfig, BertForMaskedLM, Tokenizer, record_attention

TOKENIZER = Tokenizer.from_vocab(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "sat", "##s", "."])


@pytest.fixture
def model() -> Bert:
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(TOKENIZER),
        hidden_size=8,
        num_hidden_layers=3,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=12,
    )
    return Bert(config)


def test_one_text(model: Bert) -> None:
    model.name = "three layers"
    record = record_attention(model, TOKENIZER, "The cats sat.")
    assert record.tokens == ("[CLS]", "the", "cat", "##s", "sat", ".", "[SEP]")
    assert record.segments.tolist() == [0] * 7
    assert record.weights.shape == (3, 2, 7, 7)
    assert record.weights.dtype == np.float32
    assert record.model == "three layers"
    np.testing.assert_allclose(record.weights.sum(-1), 1, atol=1e-6)


def test_a_pair(model: Bert) -> None:
    record = record_attention(model, TOKENIZER, "The cat.", "")
    assert record.tokens == ("[CLS]", "the", "cat", ".", "[SEP]", "[SEP]")
    assert record.segments.tolist() == [0, 0, 0, 0, 0, 1]


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_other_precisions_become_float32(model: Bert, dtype: torch.dtype) -> None:
    exact = record_attention(model, TOKENIZER, "The cat sat.")
    record = record_attention(model.to(dtype), TOKENIZER, "The cat sat.")
    assert record.weights.dtype == np.float32
    np.testing.assert_allclose(record.weights, exact.weights, atol=0.01)


@pytest.mark.parametrize("training", [True, False])
def test_no_dropout_and_the_mode_is_left_as_it_was(model: Bert, training: bool) -> None:
    model.train(training)
    first, second = (record_attention(model, TOKENIZER, "The cat sat.") for _ in range(2))
    np.testing.assert_array_equal(first.weights, second.weights)
    assert model.training is training
    with pytest.raises(ValueError, match="sequence of 22 tokens; this model has 12 positions"):
        record_attention(model, TOKENIZER, "the " * 20)
    assert model.training is training


def test_works_on(model: Bert, device: str) -> None:
    exact = record_attention(model, TOKENIZER, "The cat sat.", "The cat.")
    record = record_attention(model.to(device), TOKENIZER, "The cat sat.", "The cat.")
    np.testing.assert_allclose(record.weights, exact.weights, atol=1e-5)


@pytest.mark.parametrize("arguments", [(5,), (["The cat"],), (None, "The cat"), ("The cat", 5)])
def test_not_a_text(model: Bert, arguments: tuple[object, ...]) -> None:
    with pytest.raises(TypeError):
        record_attention(model, TOKENIZER, *arguments)


def test_a_model_with_a_head(model: Bert) -> None:
    headed = BertForMaskedLM(model.config)
    headed.bert.load_state_dict(model.state_dict(), strict=False)  # the head has no pooler
    headed.name = "headed"
    record = record_attention(headed, TOKENIZER, "The cat sat.")
    assert record.model == "headed"
    np.testing.assert_array_equal(record.weights, record_attention(model, TOKENIZER, "The cat sat.").weights)


def test_no_bert() -> None:
    with pytest.raises(TypeError, match="Linear holds no Bert"):
        record_attention(torch.nn.Linear(2, 2), TOKENIZER, "The cat sat.")
