"""The whole loop of pretraining, from documents to updated weights: ours against ``transformers.Trainer``.

A run is an epoch of a few documents. Ours tokenizes them anew in each run, and draws its pairs from them; theirs finds
the pairs ready in a list, and pays for padding and masking alone. The bare step gets finished batches, and neither
clips nor counts: what it is ahead is what our loop costs.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import islice
from tempfile import mkdtemp
from typing import Any

import numpy as np
import torch
from accelerate.utils import extract_model_from_parallel

from benchmarks import feed, switches
from benchmarks.case import Case, Contestant, MissingError, Row, Settings, Side
from benchmarks.peers import transformers_pretraining, transformers_trainer
from benchmarks.training import Ways
from benchmarks.turns import Measured, measure
from bertbook.config import BertConfig
from bertbook.data import load_corpus
from bertbook.fetch import FetchError
from bertbook.model.heads import BertForPreTraining
from bertbook.pretrained import load_tokenizer
from bertbook.speed import training_flops
from bertbook.text.batches import IGNORED
from bertbook.text.documents import Document
from bertbook.text.loader import BatchLoader
from bertbook.text.pair_examples import PairExample
from bertbook.text.tokenizer import Batch, Tokenizer
from bertbook.training.config import PretrainConfig
from bertbook.training.loop import Trainer
from bertbook.training.material import Share, make_examples, make_loader
from bertbook.training.objectives import MASKED_WORDS_AND_PAIRS
from bertbook.training.optimizer import make_optimizer

_SAME = Ways(fused=True, fast=True, packing=True)  # as in the case train; packing is ours alone
_OURS = replace(_SAME, memory=True)  # as pretrain() sets the machine up
_CHECKED = 3  # steps whose losses must agree


@dataclass(frozen=True)
class Work:
    """What is trained on, in how many steps a run, at least."""

    corpus: str | None  # None: made up, and a tiny model
    rows: int
    length: int
    steps: int


WORK = Work("peoples-daily", rows=32, length=128, steps=4)
QUICK = Work(None, rows=4, length=24, steps=_CHECKED)


@dataclass(frozen=True)
class Material:
    """The documents of a run, and what goes with them."""

    documents: Sequence[Document]
    tokenizer: Tokenizer
    model: BertConfig
    training: PretrainConfig

    def examples(self) -> Sequence[PairExample]:
        """The pairs of the documents, which nobody has tokenized yet."""
        (leg,) = self.training.legs
        return make_examples(self.training, leg, self.documents, self.tokenizer, "nsp")

    def loader(self) -> BatchLoader:
        """From the documents to batches, as pretrain() makes them."""
        (leg,) = self.training.legs
        examples = make_examples(self.training, leg, self.documents, self.tokenizer, "nsp")
        return make_loader(self.training, leg, examples, self.tokenizer, Share(), pin=False)


@cache
def material(work: Work) -> Material:
    """As many documents as the steps need.

    Raises:
        MissingError: the corpus or the vocabulary cannot be had.
    """
    if work.corpus is None:
        documents, tokenizer, model = feed.small()
    else:
        try:
            documents = list(islice(load_corpus(work.corpus), 200))
            tokenizer = load_tokenizer("bert-base-chinese")
        except FetchError as error:
            raise MissingError(str(error)) from error
        model = BertConfig.preset("mini", vocab_size=len(tokenizer))
    training = PretrainConfig(
        corpus=work.corpus or "made up", out="nothing is written", steps=work.steps, batch_size=work.rows,
        max_length=work.length, device="cpu",
    )  # fmt: skip
    everything = Material(documents, tokenizer, model, training)
    *_, last = islice(everything.examples(), work.rows * work.steps)  # an example begins with its own document
    return replace(everything, documents=documents[: max(2, last.places[0].document + 1)])


def bertbook_side(work: Work, ways: Ways) -> Side:
    """Our Trainer on our loader."""
    note, found = _switch(ways), material(work)
    config = _config(found, ways)
    model = _model(found)

    def run() -> None:
        loader = found.loader()
        of_this_run = replace(config, steps=len(loader))
        Trainer(model, loader, of_this_run, objective=MASKED_WORDS_AND_PAIRS, show=False).run()

    def losses(model: BertForPreTraining, batches: Sequence[Batch]) -> list[float]:
        constant = replace(config, schedule="constant", warmup=0.0)
        trainer = Trainer(model, found.loader(), constant, objective=MASKED_WORDS_AND_PAIRS, show=False)
        trainer.model.train()
        return [trainer.step(batch).loss for batch in batches]

    return _side(run, losses, found, ways, note)


def bare_side(work: Work, ways: Ways) -> Side:
    """Our model, forward, back and AdamW, on batches that are ready."""
    note, found = _switch(ways), material(work)
    config = _config(found, ways)
    model, batches = _model(found), list(found.loader())

    def steps(model: BertForPreTraining, batches: Sequence[Batch], clip: float | None) -> list[torch.Tensor]:
        model.train()
        optimizer = make_optimizer(model, config)
        losses = []
        for batch in batches:
            with torch.autocast("cpu", torch.bfloat16, enabled=ways.bf16):
                loss = model(**batch).loss
            loss.backward()
            if clip is not None:
                torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
            optimizer.step()
            optimizer.zero_grad()
            losses.append(loss.detach())
        return losses

    def losses(model: BertForPreTraining, batches: Sequence[Batch]) -> list[float]:
        return [float(loss) for loss in steps(model, batches, config.max_grad_norm)]  # clipped as theirs are

    return _side(lambda: steps(model, batches, None), losses, found, ways, note)


def transformers_side(work: Work, ways: Ways, *, same: bool) -> Side:
    """Their Trainer on their collator. ``same``: with our AdamW, clipping and schedule instead of its own."""
    note, found = _switch(ways), material(work)
    own = found.training
    alike: dict[str, Any] = {
        "learning_rate": own.learning_rate, "weight_decay": own.weight_decay, "adam_beta1": own.betas[0],
        "adam_beta2": own.betas[1], "adam_epsilon": own.eps, "max_grad_norm": own.max_grad_norm,
        "optim": "adamw_torch_fused",
    }  # fmt: skip
    settings: dict[str, Any] = {"per_device_train_batch_size": work.rows, "bf16": ways.bf16}
    schedule = {"lr_scheduler_type": own.schedule, "warmup_steps": own.warmup}
    model, examples = transformers_pretraining(_model(found)), list(found.examples())
    train = partial(transformers_trainer, tokenizer=found.tokenizer, folder=mkdtemp())

    def run() -> None:
        # Without the autocast that Accelerate put around it in the run before: it would be put around once more.
        plain = extract_model_from_parallel(model, keep_fp32_wrapper=False)
        train(plain, examples, **settings, **(alike | schedule if same else {})).train()

    def losses(model: BertForPreTraining, batches: Sequence[Batch]) -> list[float]:
        constant: dict[str, Any] = {"lr_scheduler_type": "constant"}
        trainer = train(transformers_pretraining(model), examples, fed=batches, **settings, **alike, **constant)
        trainer.train()
        return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]

    return _side(run, losses, found, ways, note)


def _side(
    run: Callable[[], object],
    losses: Callable[[BertForPreTraining, Sequence[Batch]], list[float]],
    found: Material,
    ways: Ways,
    note: str,
) -> Side:
    """The result: the losses of the first steps, each update's effect in the next one's, without dropout."""
    plain = replace(found.model, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    result = losses(_model(replace(found, model=plain)), list(islice(found.loader(), _CHECKED)))
    return Side(run, np.array(result), tolerance=2e-2 if ways.bf16 else 1e-4, note=note)


def _switch(ways: Ways) -> str:
    if ways.memory:
        switches.memory()
    return switches.fast() if ways.fast else ""


def _config(found: Material, ways: Ways) -> PretrainConfig:
    return replace(found.training, precision="bf16" if ways.bf16 else "float32")


def _model(found: Material) -> BertForPreTraining:
    torch.manual_seed(0)
    return BertForPreTraining(found.model)


Sides = dict[str, tuple[Callable[..., Side], Ways, str | None]]  # name → builder, ways, against which name


def _like_for_like(settings: Settings) -> Iterator[Row]:
    theirs = partial(transformers_side, same=True)
    half = replace(_SAME, bf16=True)
    sides: Sides = {
        "transformers.Trainer": (theirs, _SAME, None),
        "bertbook": (bertbook_side, _SAME, "transformers.Trainer"),
        "bertbook, bare step": (bare_side, _SAME, "transformers.Trainer"),
        "transformers.Trainer, bf16": (theirs, half, None),
        "bertbook, bf16": (bertbook_side, half, "transformers.Trainer, bf16"),
        "bertbook, bare step, bf16": (bare_side, half, "transformers.Trainer, bf16"),
    }
    yield from _contest("pretrain", settings, sides, together=True)


def _as_it_comes(settings: Settings) -> Iterator[Row]:
    sides: Sides = {
        "transformers.Trainer": (partial(transformers_side, same=False), Ways(), None),
        "bertbook": (bertbook_side, _OURS, "transformers.Trainer"),
        "bertbook, bf16": (bertbook_side, replace(_OURS, bf16=True), "transformers.Trainer"),
    }
    yield from _contest("pretrain-apart", settings, sides, together=False)


def _contest(case: str, settings: Settings, sides: Sides, *, together: bool) -> Iterator[Row]:
    work = QUICK if settings.quick else WORK
    try:
        batches = list(material(work).loader())
    except MissingError as error:
        yield Row(case, "", note=str(error))
        return
    contestants = {
        name: Contestant(partial(build, work, ways), "bfloat16" if ways.bf16 else "float32", against)
        for name, (build, ways, against) in sides.items()
    }
    rounds = 2 if settings.quick else 5
    measured = measure(contestants, together=together, rounds=rounds, threads=settings.threads)
    tokens = sum(int(batch["attention_mask"].sum()) for batch in batches)
    for row in measured.rows(case, _flops(work, batches), units=len(batches)):
        yield replace(row, note="; ".join(filter(None, [*_rates(row, measured, tokens), row.note])))


def _rates(row: Row, measured: Measured, tokens: int) -> Iterator[str]:
    """What the table has no column for."""
    if not row.seconds:
        return
    yield f"{tokens / measured.timings.median(row.side):,.0f} tokens/s"
    bare = row.side.replace("bertbook", "bertbook, bare step")
    if bare != row.side and bare in measured.notes:
        yield f"{measured.timings.ratio(bare, row.side).median:.0%} of the bare step's"


def _flops(work: Work, batches: Sequence[Batch]) -> int:
    """Useful operations of a step, the mean."""
    config = material(work).model
    return sum(
        training_flops(
            config,
            batch["attention_mask"].sum(1).tolist(),
            head="pretraining",
            masked=int((batch["labels"] != IGNORED).sum()),
        )
        for batch in batches
    ) // len(batches)


CASES = (
    Case("pretrain", "a step of the whole loop, one process, same switches and optimiser", _like_for_like),
    Case("pretrain-apart", "a step of the whole loop, each in its own process, as it comes", _as_it_comes),
)
