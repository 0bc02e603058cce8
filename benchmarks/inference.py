"""Reading 256 passages with MiniLM: ours, transformers and ONNX Runtime, each in its own process at its best."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from torch import Tensor

from benchmarks import switches
from benchmarks.case import Case, Contestant, Row, Settings, Side
from benchmarks.peers import checkpoint, onnx_session, transformers_encoder
from benchmarks.turns import measure
from benchmarks.work import passages
from bertbook import load_pretrained
from bertbook.config import BertConfig
from bertbook.speed import forward_flops
from bertbook.speed.timing import timed
from bertbook.text.tokenizer import Tokenizer

BATCH_SIZES = (8, 16, 32, 64, 128, 256)
_TOLERANCE = {torch.float32: 1e-4, torch.bfloat16: 5e-2}
Encode = Callable[[dict[str, Tensor]], Tensor]  # a batch to its vectors, (B, S, H)


def transformers_side(count: int, dtype: torch.dtype = torch.float32) -> Side:
    """Their BertModel, as it comes."""
    model = transformers_encoder(dtype)
    return _side(count, lambda batch: model(**batch).last_hidden_state, _TOLERANCE[dtype])


def bertbook_side(count: int, dtype: torch.dtype = torch.float32) -> Side:
    """Our Bert with everything on."""
    switches.memory()
    note = switches.fast()
    model, _ = load_pretrained(checkpoint(), dtype=dtype)
    model.packing = True
    return _side(count, lambda batch: model(**batch).last_hidden_state, _TOLERANCE[dtype], note)


def onnx_side(count: int, threads: int) -> Side:
    """ONNX Runtime, in float32."""
    with TemporaryDirectory() as folder:
        session = onnx_session(Path(folder), threads)

    def encode(batch: dict[str, Tensor]) -> Tensor:
        return torch.from_numpy(session.run(None, {name: x.numpy() for name, x in batch.items()})[0])

    return _side(count, encode, _TOLERANCE[torch.float32])


@cache
def _tokenizer() -> Tokenizer:
    return Tokenizer.from_folder(checkpoint())


def _batches(count: int, size: int) -> list[dict[str, Tensor]]:
    """The passages sorted by length, so that neighbours need little padding, and cut into batches."""
    texts = sorted(passages(count), key=lambda text: len(_tokenizer()([text])["input_ids"][0]))
    return [dict(_tokenizer()(texts[at : at + size], max_length=512)) for at in range(0, count, size)]


def _side(count: int, encode: Encode, tolerance: float, *notes: str) -> Side:
    """A run turns all passages into one vector each, the mean over their tokens, at this side's best batch size."""

    @torch.inference_mode()
    def run(batches: Sequence[dict[str, Tensor]]) -> Tensor:
        return torch.cat([_mean(encode(batch), batch["attention_mask"]) for batch in batches])

    choices = {size: _batches(count, size) for size in BATCH_SIZES if size <= count}
    result = run(next(iter(choices.values()))).double().numpy()
    took = {size: min(timed(partial(run, batches)) for _ in range(2)) for size, batches in choices.items()}
    best = min(took, key=lambda size: took[size])
    return Side(partial(run, choices[best]), result, tolerance, "; ".join([f"batch {best}", *notes]))


def _mean(vectors: Tensor, attention_mask: Tensor) -> Tensor:
    weights = attention_mask[..., None].to(vectors.dtype)  # (B, S, 1)
    return (vectors * weights).sum(1).float() / weights.sum(1).float()  # (B, H)


def _run(settings: Settings) -> Iterator[Row]:
    count = 16 if settings.quick else 256
    contestants = {
        "transformers": Contestant(partial(transformers_side, count)),
        "transformers, bf16": Contestant(
            partial(transformers_side, count, torch.bfloat16), "bfloat16", against="transformers"
        ),
        "ONNX Runtime": Contestant(partial(onnx_side, count, settings.threads), against="transformers"),
        "bertbook": Contestant(partial(bertbook_side, count), against="transformers"),
        "bertbook, bf16": Contestant(partial(bertbook_side, count, torch.bfloat16), "bfloat16", "transformers"),
    }
    rounds = 2 if settings.quick else 7
    measured = measure(contestants, together=False, rounds=rounds, threads=settings.threads)
    yield from measured.rows("infer", _flops(count) if "bertbook" in measured.notes else 0)


def _flops(count: int) -> int:
    config = BertConfig.from_json(checkpoint() / "config.json")
    return forward_flops(config, _batches(count, count)[0]["attention_mask"].sum(1).tolist())


CASES = (Case("infer", "256 passages, each side in its own process at its best batch size", _run),)
