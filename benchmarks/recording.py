"""What it costs to keep attention weights: MiniLM on 512 tokens, with everything on."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import torch

from benchmarks import switches
from benchmarks.case import Case, Contestant, Row, Settings, Side
from benchmarks.peers import checkpoint
from benchmarks.turns import measure
from benchmarks.work import passages
from bertbook import Bert, load_pretrained
from bertbook.model.inspect import attention_weights
from bertbook.speed import forward_flops
from bertbook.text.tokenizer import Batch, Tokenizer

ROWS = 4


def plain_side(length: int) -> Side:
    """A forward pass and nothing else."""
    model, batch = _ready(length)

    @torch.inference_mode()
    def run() -> torch.Tensor:
        return model(**batch).last_hidden_state

    return Side(run, run().double().numpy())


def all_side(length: int) -> Side:
    """The weights of every layer: the readable path."""
    model, batch = _ready(length)

    @torch.inference_mode()
    def run() -> torch.Tensor:
        output = model(**batch, output_attentions=True)
        assert len(output.attentions) == model.config.num_hidden_layers
        return output.last_hidden_state

    return Side(run, run().double().numpy())


def one_side(length: int) -> Side:
    """The weights of one layer, recorded beside the fast path."""
    model, batch = _ready(length)
    middle = model.config.num_hidden_layers // 2

    @torch.inference_mode()
    def run() -> torch.Tensor:
        with attention_weights(model, [middle]) as weights:
            output = model(**batch).last_hidden_state
        assert weights[middle].shape[-2:] == batch["input_ids"].shape[1:] * 2
        return output

    return Side(run, run().double().numpy())


def _ready(length: int) -> tuple[Bert, Batch]:
    switches.memory()
    switches.fast()
    model, tokenizer = load_pretrained(checkpoint())
    model.packing = True
    return model, _batch(tokenizer, length)


def _batch(tokenizer: Tokenizer, length: int) -> Batch:
    """Rows without padding: each joins enough passages to be cut at ``length``."""
    texts = passages(256)
    return tokenizer([" ".join(texts[row::ROWS]) for row in range(ROWS)], max_length=length)


def _run(settings: Settings) -> Iterator[Row]:
    length = 48 if settings.quick else 512
    contestants = {
        "plain": Contestant(partial(plain_side, length)),
        "all weights": Contestant(partial(all_side, length), against="plain"),
        "one layer": Contestant(partial(one_side, length), against="plain"),
    }
    rounds = 2 if settings.quick else 15
    measured = measure(contestants, together=True, rounds=rounds, threads=settings.threads)
    flops = 0
    if not measured.missing:
        model, _ = load_pretrained(checkpoint())
        flops = forward_flops(model.config, [length] * ROWS)
    for row in measured.rows("record", flops):
        yield replace(row, note=f"costs {1 / row.ratio.median:.2f} times a plain pass") if row.ratio else row


CASES = (Case("record", f"{ROWS} rows of 512 tokens, one process", _run),)
