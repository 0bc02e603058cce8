"""What the first vectors are made of, kept by a running model."""

import numpy as np
import pytest
import torch

from bertbook import Bert, BertForMaskedLM, EmbeddingRecord, Tokenizer, record_embeddings
from tests.pretrained_samples import WORDS, randomise, tiny_model

TOKENIZER = Tokenizer.from_vocab(WORDS)
TEXTS = [("The cat sat.", None), ("The cat sat.", "It slept."), ("草莓", "")]


def first_vectors(model: Bert, text: str, pair: str | None) -> np.ndarray:
    batch = TOKENIZER([text if pair is None else (text, pair)])
    with torch.inference_mode():
        return model(**batch, output_hidden_states=True).hidden_states[0][0].double().numpy()


@pytest.mark.parametrize(("text", "pair"), TEXTS)
@pytest.mark.parametrize("changes", [{}, {"position_embedding_type": "sinusoidal"}, {"position_offset": 3}])
def test_the_parts_make_the_model_s_first_vectors(text: str, pair: str | None, changes: dict[str, int]) -> None:
    model = tiny_model(**changes)
    record = record_embeddings(model, TOKENIZER, text, pair)
    np.testing.assert_allclose(record.normalised(), first_vectors(model, text, pair), atol=1e-5)
    assert list(record.tokens) == TOKENIZER.ids_to_tokens(TOKENIZER.encode(text, pair))


def test_on_real_weights(minilm: tuple[Bert, Tokenizer]) -> None:
    model, tokenizer = minilm
    record = record_embeddings(model, tokenizer, "The bank was steep.", "He sat.")
    batch = tokenizer([("The bank was steep.", "He sat.")])
    with torch.inference_mode():
        hidden = model(**batch, output_hidden_states=True).hidden_states[0][0]
    np.testing.assert_allclose(record.normalised(), hidden.double().numpy(), atol=2e-6)
    assert record.position.shape == (128, 384)
    assert record.model == "minilm"
    assert repr(record) == "EmbeddingRecord(11 tokens of 384 numbers, minilm)"


def test_parts_can_be_left_out() -> None:
    model = tiny_model()
    record = record_embeddings(model, TOKENIZER, "The cat sat.", "It slept.")
    with torch.no_grad():
        model.embeddings.position.weight.zero_()
        np.testing.assert_allclose(
            record.normalised(position=False), first_vectors(model, "The cat sat.", "It slept."), atol=1e-5
        )
        model.embeddings.segment.weight.zero_()
        np.testing.assert_allclose(
            record.normalised(position=False, segment=False),
            first_vectors(model, "The cat sat.", "It slept."),
            atol=1e-5,
        )
    nothing = record.normalised(token=False, segment=False, position=False)
    np.testing.assert_array_equal(nothing, np.broadcast_to(record.bias, nothing.shape))


def test_rows_of_positions() -> None:
    model = tiny_model()  # 16 positions
    assert len(record_embeddings(model, TOKENIZER, "The cat sat.", positions=9).position) == 9
    assert len(record_embeddings(model, TOKENIZER, "The cat sat.").position) == 16  # the table ends
    assert len(record_embeddings(model, TOKENIZER, "The cat sat.", positions=2).position) == 6  # as many as tokens
    endless = tiny_model(position_embedding_type="sinusoidal")  # type: ignore[arg-type]
    assert len(record_embeddings(endless, TOKENIZER, "The cat sat.", positions=40).position) == 40


def test_the_record_is_a_copy_and_the_model_stays_as_it_was() -> None:
    model = BertForMaskedLM(tiny_model().config)
    randomise(model)
    model.train()
    record = record_embeddings(model, TOKENIZER, "The cat sat.")
    record.segment[:] = 7
    assert not (model.bert.embeddings.segment.weight == 7).any()
    assert model.training


def test_works_on(device: str) -> None:
    here = record_embeddings(tiny_model(), TOKENIZER, "The cat sat.")
    there = record_embeddings(tiny_model().to(device), TOKENIZER, "The cat sat.")
    np.testing.assert_allclose(here.normalised(), there.normalised(), atol=1e-6)


def test_refused() -> None:
    with pytest.raises(ValueError, match="sequence of 22 tokens; this model has 16 positions"):
        record_embeddings(tiny_model(), TOKENIZER, "the " * 20)
    with pytest.raises(TypeError):
        record_embeddings(tiny_model(), TOKENIZER, 5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Linear holds no Bert"):
        record_embeddings(torch.nn.Linear(2, 2), TOKENIZER, "The cat sat.")


GOOD = {
    "tokens": ("a", "b"),
    "segments": [0, 1],
    "token": np.ones((2, 3)),
    "segment": np.ones((2, 3)),
    "position": np.ones((4, 3)),
    "weight": np.ones(3),
    "bias": np.zeros(3),
    "eps": 1e-12,
}


class TestRecord:
    @pytest.mark.parametrize(
        ("changes", "error", "message"),
        [
            ({"tokens": ()}, ValueError, "no tokens"),
            ({"tokens": "ab"}, TypeError, "tokens must be a list of str"),
            ({"tokens": (1, 2)}, TypeError, "tokens must be a list of str"),
            ({"token": np.ones((3, 3))}, ValueError, r"token of shape \(3, 3\) does not fit 2 tokens of 3 numbers"),
            ({"token": np.ones(())}, ValueError, r"token of shape \(\)"),
            ({"segment": np.ones((2, 4))}, ValueError, r"segment of shape \(2, 4\) does not fit"),
            ({"position": np.ones((4,))}, ValueError, r"position of shape \(4,\)"),
            ({"position": np.ones((1, 3))}, ValueError, "position has 1 rows for 2 tokens"),
            ({"weight": np.ones((1, 3))}, ValueError, r"weight of shape \(1, 3\)"),
            ({"bias": [0, np.nan, 0]}, ValueError, "bias holds NaN or infinity"),
            ({"segments": [0, 2]}, ValueError, "segments must be 2 whole numbers from 0 to 1"),
            ({"segments": [0, -1]}, ValueError, "segments must be 2 whole numbers"),
            ({"segments": [0.0, 1.0]}, ValueError, "segments must be 2 whole numbers"),
            ({"segments": [0]}, ValueError, "segments must be 2 whole numbers"),
        ],
    )
    def test_refused(self, changes: dict[str, object], error: type[Exception], message: str) -> None:
        EmbeddingRecord(**GOOD)
        with pytest.raises(error, match=message):
            EmbeddingRecord(**{**GOOD, **changes})
