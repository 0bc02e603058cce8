"""Training steps of BertForPreTraining, theirs and ours: like for like, and each as it comes."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from benchmarks import switches
from benchmarks.case import Case, Contestant, Row, Settings, Side
from benchmarks.peers import transformers_pretraining
from benchmarks.turns import measure
from benchmarks.work import Training
from bertbook.config import BertConfig
from bertbook.model.attention import MultiHeadAttention
from bertbook.model.heads import BertForPreTraining
from bertbook.speed import compile_layers

_MINI = BertConfig.preset("mini", vocab_size=21128)
WORK = Training(_MINI)
QUICK = Training(BertConfig.preset("tiny", vocab_size=400), rows=3, shortest=4, longest=12)


@dataclass(frozen=True)
class Ways:
    """How a step is done. The defaults are what PyTorch does when nobody asks for more."""

    fused: bool = False  # AdamW in one kernel
    fast: bool = False  # float32 products through the faster library; a switch of the whole process
    bf16: bool = False  # autocast
    memory: bool = False  # freed memory is kept; a switch of the whole process
    # Ours alone:
    readable: bool = False  # the attention that the book prints, S × S weights and all
    all_logits: bool = False  # the vocabulary at every position, as the peers do
    packing: bool = False
    compile: bool = False


EVERYTHING = Ways(fused=True, fast=True, memory=True, packing=True)


def transformers_side(work: Training, ways: Ways, device: str = "cpu") -> Side:
    """Their model with our weights."""
    return _side(transformers_pretraining(_own_model(work)), work, ways, device)


def bertbook_side(work: Training, ways: Ways, device: str = "cpu") -> Side:
    """Our model."""
    model = _own_model(work)
    model.bert.packing = ways.packing
    if ways.readable:
        for part in model.modules():
            if isinstance(part, MultiHeadAttention):
                part.attend = partial(_attend_readably, part.attend)  # type: ignore[method-assign]
    if ways.compile:
        compile_layers(model)
    return _side(model, work, ways, device, **({"output_logits": True} if ways.all_logits else {}))


def _own_model(work: Training) -> BertForPreTraining:
    torch.manual_seed(0)
    return BertForPreTraining(work.config)


def _attend_readably(attend: Callable[..., tuple[Tensor, Any]], *inputs: Any) -> tuple[Tensor, None]:
    """The readable path. Its weights are let go at once; ``output_attentions=True`` would keep those of all layers."""
    hidden, key, value, mask, _ = inputs
    return attend(hidden, key, value, mask, True)[0], None


def _side(model: nn.Module, work: Training, ways: Ways, device: str, **extra: Any) -> Side:
    if ways.memory:
        switches.memory()
    note = switches.fast() if ways.fast else ""
    model.to(device)
    batches = work.batches(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=ways.fused or None)

    def loss(batch: dict[str, Tensor]) -> Tensor:
        with torch.autocast(torch.device(device).type, torch.bfloat16) if ways.bf16 else nullcontext():
            return model(**batch, **extra).loss

    def run() -> None:
        for batch in batches:
            loss(batch).backward()
            optimizer.step()
            optimizer.zero_grad()

    result = _result(model, loss, batches)
    return Side(run, result, tolerance=2e-2 if ways.bf16 else 1e-4, note=note)


def _result(
    model: nn.Module, loss: Callable[[dict[str, Tensor]], Tensor], batches: list[dict[str, Tensor]]
) -> NDArray[np.float64]:
    """The loss of each batch without dropout, and the length of the first one's gradient. The model stays as it was."""
    model.eval()
    losses = []
    for number, batch in enumerate(batches):
        with torch.set_grad_enabled(number == 0):
            losses.append(loss(batch))
    losses[0].backward()
    grads = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
    length = torch.stack([grad.norm() for grad in grads]).norm()
    model.zero_grad()
    model.train()
    return np.array([x.item() for x in [*losses, length]])


def _like_for_like(settings: Settings) -> Iterator[Row]:
    """One process, the same switches and the same optimiser on both: what is left is the model."""
    same = Ways(fused=True, fast=True)
    yield from contest("train", settings, pairs(same, replace(same, packing=True)), together=True)


def _as_it_comes(settings: Settings) -> Iterator[Row]:
    """Each in its own process: theirs as a reader would write it, ours with everything on."""
    sides: Sides = {
        "transformers": ("transformers", Ways(), None),
        "bertbook": ("bertbook", EVERYTHING, "transformers"),
        "bertbook, bf16": ("bertbook", replace(EVERYTHING, bf16=True), "transformers"),
    }
    yield from contest("train-apart", settings, sides, together=False)


Sides = dict[str, tuple[str, Ways, str | None]]  # name → whose, how, against which name


def pairs(theirs: Ways, ours: Ways) -> Sides:
    """Both in float32 and both in bfloat16, each of ours against theirs of its type."""
    return {
        "transformers": ("transformers", theirs, None),
        "bertbook": ("bertbook", ours, "transformers"),
        "transformers, bf16": ("transformers", replace(theirs, bf16=True), None),
        "bertbook, bf16": ("bertbook", replace(ours, bf16=True), "transformers, bf16"),
    }


def contest(case: str, settings: Settings, sides: Sides, *, together: bool, rounds: int = 7) -> Iterator[Row]:
    """Measure training steps and yield a row a side."""
    work = QUICK if settings.quick else WORK
    builders = {"transformers": transformers_side, "bertbook": bertbook_side}
    contestants = {
        name: Contestant(partial(builders[whose], work, ways), "bfloat16" if ways.bf16 else "float32", against)
        for name, (whose, ways, against) in sides.items()
    }
    rounds = 2 if settings.quick else rounds
    measured = measure(contestants, together=together, rounds=rounds, threads=settings.threads)
    yield from measured.rows(case, work.flops(), units=work.count)


CASES = (
    Case("train", "a step, one process, same switches and optimiser", _like_for_like),
    Case("train-apart", "a step, each in its own process, as it comes", _as_it_comes),
)
