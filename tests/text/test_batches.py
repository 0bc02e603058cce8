"""Examples of different lengths to one batch."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bertbook import BertConfig, BertForMaskedLM, BertForPreTraining, BertForSequenceClassification
from bertbook.text import pad_batch

SIZES = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16, "vocab_size": 50}


@dataclass(frozen=True)
class Pair:
    input_ids: list[int]
    token_type_ids: list[int] = field(default_factory=list)
    label: int = 0


def test_two_pairs() -> None:
    batch = pad_batch([Pair([2, 7, 3, 8, 3], [0, 0, 0, 1, 1], 1), Pair([2, 3, 3], [0, 0, 1], 0)], pad_id=9)
    assert {name: tensor.tolist() for name, tensor in batch.items()} == {
        "input_ids": [[2, 7, 3, 8, 3], [2, 3, 3, 9, 9]],
        "token_type_ids": [[0, 0, 0, 1, 1], [0, 0, 1, 0, 0]],
        "attention_mask": [[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]],
        "next_sentence_label": [1, 0],
    }
    assert {tensor.dtype for tensor in batch.values()} == {torch.int64}


def test_without_segments_all_are_the_first() -> None:
    batch = pad_batch([{"input_ids": [5, 6]}, {"input_ids": np.array([5])}])
    assert batch["token_type_ids"].tolist() == [[0, 0], [0, 0]]
    assert set(batch) == {"input_ids", "token_type_ids", "attention_mask"}


@pytest.mark.parametrize(
    ("examples", "name", "expected"),
    [
        ([{"labels": [-100, 4]}, {"labels": [7]}], "labels", [[-100, 4], [7, -100]]),
        ([{"labels": torch.tensor([1, 0])}, {"labels": [1]}], "labels", [[1, 0], [1, -100]]),
        ([{"labels": 2}, {"labels": 0}], "labels", [2, 0]),
        ([{"labels": 2.5}, {"labels": 0}], "labels", [2.5, 0.0]),
        ([{"next_sentence_label": 1}, {"next_sentence_label": 0}], "next_sentence_label", [1, 0]),
        ([{"label": True}, {"next_sentence_label": 0}], "next_sentence_label", [1, 0]),
    ],
)
def test_labels(examples: list[dict[str, Any]], name: str, expected: list[Any]) -> None:
    both = [{"input_ids": ids, **rest} for ids, rest in zip([[5, 6], [5]], examples, strict=True)]
    assert pad_batch(both)[name].tolist() == expected


@given(st.lists(st.lists(st.integers(1, 49), min_size=1, max_size=20), min_size=1, max_size=6), st.integers(1, 9))
def test_nothing_is_lost_and_padding_is_marked(rows: list[list[int]], multiple: int) -> None:
    batch = pad_batch([{"input_ids": row} for row in rows], multiple_of=multiple)
    size = batch["input_ids"].shape[1]
    assert size % multiple == 0
    assert 0 <= size - max(map(len, rows)) < multiple
    for row, ids, mask in zip(rows, batch["input_ids"], batch["attention_mask"], strict=True):
        assert ids[mask == 1].tolist() == row
        assert mask.tolist() == [1] * len(row) + [0] * (size - len(row))
        assert not ids[mask == 0].any()


def test_a_multiple_stops_at_the_model_s_end() -> None:
    assert pad_batch([{"input_ids": [5] * 9}], multiple_of=8, max_length=12)["input_ids"].shape == (1, 12)
    assert pad_batch([{"input_ids": [5] * 12}], multiple_of=8, max_length=12)["input_ids"].shape == (1, 12)


def test_the_models_take_it() -> None:
    torch.manual_seed(0)
    config = BertConfig(**SIZES)
    pairs = [Pair([2, 7, 3, 8, 3], [0, 0, 0, 1, 1], 1), Pair([2, 3, 3], [0, 0, 1], 0)]
    out = BertForPreTraining(config)(**pad_batch(pairs))
    assert out.loss.isfinite()
    masked = [{"input_ids": [2, 4, 3], "labels": [-100, 7, -100]}, {"input_ids": [2, 3], "labels": [-100, -100]}]
    assert BertForMaskedLM(config)(**pad_batch(masked)).loss.isfinite()
    classes = [{"input_ids": [2, 4, 3], "labels": 1}, {"input_ids": [2, 3], "labels": 0}]
    assert BertForSequenceClassification(config)(**pad_batch(classes)).loss.isfinite()


@pytest.mark.parametrize(
    ("examples", "arguments", "message"),
    [
        ([], {}, "the batch is empty"),
        ([{"input_ids": [5]}, {"input_ids": []}], {}, "example 1 of the batch has no tokens"),
        (
            [{"input_ids": [5]}, {"input_ids": [5] * 9}],
            {"max_length": 8},
            r"example 1 of the batch has 9 tokens; the model has 8 positions: cut it \(max_length=8 in",
        ),
        ([{"input_ids": [5]}], {"multiple_of": 0}, "multiple_of=0: it must be a whole number of at least 1"),
        ([{"input_ids": [5]}], {"multiple_of": 8.0}, "multiple_of=8.0"),
        (
            [{"input_ids": [5, 6], "token_type_ids": [0]}],
            {},
            "example 0 of the batch has 2 tokens, and token_type_ids do not: one each",
        ),
        ([{"input_ids": [5], "labels": [1, 2]}], {}, "has 1 tokens, and labels do not"),
        ([{"input_ids": [5], "labels": 1}, {"input_ids": [5], "labels": [1]}], {}, "example 0 .*, and labels do not"),
        (
            [{"input_ids": [5], "labels": 1}, {"input_ids": [5]}],
            {},
            "example 1 of the batch has no labels, others have: all of a batch must be of one kind",
        ),
        ([Pair([5], [0], 1), {"input_ids": [5], "token_type_ids": [0]}], {}, "example 1 .* no next_sentence_label"),
    ],
)
def test_refused(examples: list[Any], arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pad_batch(examples, **arguments)


@pytest.mark.parametrize("example", [[5, 6], "text", {"ids": [5]}, None])
def test_no_example(example: Any) -> None:
    with pytest.raises(TypeError, match=r"example 0 of the batch, .*has no input_ids"):
        pad_batch([example])
