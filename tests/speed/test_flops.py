"""The formula against PyTorch's own counter, which watches every product of the running model."""

from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from bertbook import Bert, BertConfig
from bertbook.model.heads import HEADS
from bertbook.speed import forward_flops, training_flops

SIZES: dict[str, Any] = {
    "vocab_size": 37,
    "hidden_size": 24,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 56,
    "max_position_embeddings": 40,
    "id2label": {0: "no", 1: "yes", 2: "perhaps"},
}
CONFIGS = {
    "bert": BertConfig(**SIZES),
    "albert": BertConfig(**SIZES, share_layers=True, embedding_size=10),
    "a square projection": BertConfig(**SIZES, embedding_size=24),
    "pre-norm": BertConfig(**SIZES, norm_first=True, position_embedding_type="sinusoidal"),
}
ROWS, LENGTH = 3, 17
MASKED = torch.zeros(ROWS, LENGTH, dtype=torch.bool)
MASKED[0, 3] = MASKED[1, 5:9] = True


def labels(head: str | None) -> dict[str, torch.Tensor]:
    words = torch.where(MASKED, 7, -100)
    row = torch.ones(ROWS, dtype=torch.long)
    given: dict[str | None, dict[str, torch.Tensor]] = {
        "mlm": {"labels": words},
        "pretraining": {"labels": words, "next_sentence_label": row},
        "classify": {"labels": row},
        "tag": {"labels": torch.where(MASKED, 1, -100)},
        "answer": {"start_positions": row, "end_positions": row},
    }
    return given.get(head, {})


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("head", [None, *HEADS])
def test_the_formula_is_what_the_model_does(name: str, head: str | None) -> None:
    config = CONFIGS[name]
    model = Bert(config) if head is None else HEADS[head](config)
    # Readable attention: the counter sees its two products, forward and back. Rows are equally long: no padding.
    inputs = {"input_ids": torch.randint(config.vocab_size, (ROWS, LENGTH)), "output_attentions": True}
    masked = int(MASKED.sum()) if head in ("mlm", "pretraining") else 0
    with FlopCounterMode(display=False) as counter:
        output = model(**inputs, **labels(head))
    assert forward_flops(config, [LENGTH] * ROWS, head=head, masked=masked) == counter.get_total_flops()
    if head is not None:
        with FlopCounterMode(display=False) as back:
            output.loss.backward()
        whole = counter.get_total_flops() + back.get_total_flops()
        assert training_flops(config, [LENGTH] * ROWS, head=head, masked=masked) == whole


def test_rows_of_several_lengths_add_up_and_padding_is_free() -> None:
    config = CONFIGS["bert"]
    assert forward_flops(config, [4, 0, 17]) == sum(forward_flops(config, [length]) for length in (4, 0, 17))
    assert forward_flops(config, []) == 0
    # Attention grows with the square: a row of 16 costs more than two of 8, by (16² − 2 · 8²) · 4 H a layer.
    more = forward_flops(config, [16], head="mlm") - forward_flops(config, [8, 8], head="mlm")
    assert more == 3 * (16**2 - 2 * 8**2) * 4 * 24


def test_base_is_what_the_books_say() -> None:
    """BERT-base reads 512 tokens in about 97 GFLOPs: 2 · 85M weights · 512, and attention."""
    flops = forward_flops(BertConfig(), [512])
    assert flops == pytest.approx(2 * 85e6 * 512 + 12 * 4 * 512**2 * 768, rel=0.01)


@pytest.mark.parametrize("length", [-1, 2.0, True, None])
def test_a_length_that_is_none(length: object) -> None:
    with pytest.raises(ValueError, match=r"a length is .*: expected a whole number of at least 0"):
        forward_flops(CONFIGS["bert"], [5, length])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"head": "mln"}, "head='mln': choose None or one of mlm, pretraining, classify, tag, answer"),
        ({"masked": 2}, "masked=2 with head=None: only 'mlm' and 'pretraining' guess words"),
        ({"head": "tag", "masked": 2}, "masked=2 with head='tag'"),
        ({"head": "mlm", "masked": 9}, "masked=9, but there are 8 tokens in all"),
        ({"head": "mlm", "masked": -1}, "masked is -1: expected a whole number of at least 0"),
    ],
)
def test_what_makes_no_sense(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        forward_flops(CONFIGS["bert"], [5, 3], **given)
