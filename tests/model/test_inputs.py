"""Bad input to the model: each refused at once, in words that help."""

import re
import warnings
from typing import Any

import pytest
import torch

from bertbook import Bert, BertConfig
from bertbook.model.inputs import _warn_of_hidden_cls, check_inputs

CONFIG = BertConfig(
    vocab_size=10,
    hidden_size=4,
    num_hidden_layers=1,
    num_attention_heads=1,
    intermediate_size=4,
    max_position_embeddings=6,
)
IDS = torch.tensor([[2, 5, 3], [2, 3, 0]])
ONES = torch.ones_like(IDS)


@pytest.mark.parametrize(
    ("ids", "segments", "mask", "message"),
    [
        (IDS[0], None, None, "input_ids of shape (3,): expected (B, S), a batch of sequences; for one sequence pass"),
        (IDS[None], None, None, "input_ids of shape (1, 2, 3): expected (B, S), a batch of sequences"),
        (IDS[:0], None, None, "input_ids of shape (0, 3): the batch is empty"),
        (IDS[:, :0], None, None, "input_ids of shape (2, 0): the batch is empty"),
        (torch.zeros(1, 7).long(), None, None, "sequence of 7 tokens; this model has 6 positions; pass max_length=6"),
        (IDS + 5, None, None, "input_ids from 5 to 10: each must be from 0 to 9, a row of the token table"),
        (IDS - 1, None, None, "input_ids from -1 to 4: each must be from 0 to 9"),
        (IDS.float(), None, None, "input_ids of type torch.float32: expected torch.int64; pass input_ids.long()"),
        (IDS == 2, None, None, "input_ids of type torch.bool: expected torch.int64"),
        (IDS.to(torch.uint8), None, None, "input_ids of type torch.uint8: expected torch.int64"),
        (IDS, ONES[:1], None, "token_type_ids of shape (1, 3) does not fit input_ids of shape (2, 3)"),
        (IDS, 2 * ONES, None, "token_type_ids from 2 to 2: each must be from 0 to 1, a row of the segment table"),
        (IDS, ONES.half(), None, "token_type_ids of type torch.float16: expected torch.int64"),
        (IDS, None, ONES[:, :2], "attention_mask of shape (2, 2) does not fit input_ids of shape (2, 3)"),
        (
            IDS,
            None,
            -10000 * (1 - ONES) - 10000,
            "attention_mask from -10000 to -10000: each must be from 0 to 1, 1 for",
        ),
        (IDS, None, ONES.float(), "attention_mask of type torch.float32: expected torch.int64"),
        (IDS, None, ONES == 1, "attention_mask of type torch.bool: expected torch.int64; pass attention_mask.long()"),
    ],
)
def test_values(ids: Any, segments: Any, mask: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        check_inputs(CONFIG, ids, segments, mask)


@pytest.mark.parametrize("position", range(3))
@pytest.mark.parametrize("given", ["The cat sat.", [[2, 3]], IDS.numpy()])
def test_not_a_tensor(given: Any, position: int) -> None:
    arguments: list[Any] = [IDS, None, None]
    arguments[position] = given
    name = ("input_ids", "token_type_ids", "attention_mask")[position]
    with pytest.raises(TypeError, match=f"{name} is {type(given).__name__}: expected a tensor"):
        check_inputs(CONFIG, *arguments)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_good_input_passes(dtype: torch.dtype) -> None:
    ids, mask = IDS.to(dtype), (IDS > 0).to(dtype)
    check_inputs(CONFIG, ids, ONES.to(dtype), mask)
    output = Bert(CONFIG).eval()(ids, token_type_ids=ONES.to(dtype), attention_mask=mask)
    assert output.last_hidden_state.shape == (2, 3, 4)


def test_the_model_asks() -> None:
    with pytest.raises(ValueError, match="sequence of 7 tokens; this model has 6 positions"):
        Bert(CONFIG)(torch.zeros(1, 7).long())


def test_a_mask_that_hides_cls_is_warned_of_once() -> None:
    _warn_of_hidden_cls.cache_clear()
    on_the_left = torch.tensor([[1, 1, 1], [0, 1, 1]])
    model = Bert(CONFIG).eval()
    with pytest.warns(UserWarning, match=r"hides position 0 .*on the left\? It belongs on the right") as seen:
        outputs = [model(IDS, attention_mask=on_the_left).last_hidden_state for _ in range(3)]
    assert all(output.isfinite().all() for output in outputs)
    assert len(seen) == 1


@pytest.mark.parametrize("mask", [ONES, torch.tensor([[1, 1, 1], [1, 0, 0]]), torch.tensor([[1, 1, 1], [0, 0, 0]])])
def test_padding_on_the_right_and_rows_of_padding_alone_are_not(mask: torch.Tensor) -> None:
    _warn_of_hidden_cls.cache_clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Bert(CONFIG).eval()(IDS, attention_mask=mask).pooler_output.isfinite().all()
