"""The loop that trains: one step, and all that lets it be stopped and go on."""

import math
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import send_to_device
from safetensors import SafetensorError
from torch import Tensor, nn

from bertbook.model.hooks import encoder_of
from bertbook.speed.compiling import compile_layers
from bertbook.text.loader import BatchLoader
from bertbook.training.budget import Progress, learning_rate
from bertbook.training.checkpoints import Checkpoints
from bertbook.training.config import TrainConfig
from bertbook.training.diagnosis import DivergedError, diagnose
from bertbook.training.interruption import Interruption
from bertbook.training.machine import make_accelerator, prepare
from bertbook.training.objectives import LABELS, Objective
from bertbook.training.optimizer import make_optimizer
from bertbook.training.parts import split_rows, tokens_of
from bertbook.training.reporter import Reporter

Evaluate = Callable[[nn.Module, Accelerator], Mapping[str, float]]


@dataclass(frozen=True)
class StepRecord:
    """One update: its number, counted from 1, and what it met."""

    step: int
    loss: float  # over all processes, before the update
    losses: Mapping[str, float]  # the means that it is the sum of
    tokens: int  # of the batch, without padding
    learning_rate: float
    grad_norm: float  # before it was clipped


@dataclass(frozen=True)
class Leg:
    """The loader of a phase, and the share of the budget at which the phase ends."""

    loader: BatchLoader
    until: float = 1.0


class Trainer:
    """Trains any model whose ``model(**batch)`` returns an object with a loss.

    ::

        trainer = Trainer(model, loader, TrainConfig(steps=1000, learning_rate=1e-3))
        records = trainer.run()

    On one device, or, where `accelerate launch` or `torchrun` started several processes, on all of theirs together.

    Args:
        model: it is trained in place, and moved to the device. In several processes it must begin the same in all.
        loader: the batches, or :class:`Leg` s one after the other. In several processes each loader takes its own
            share (``rank``, ``world_size``), of steps that are the same for any number of them (``drop_last``).
        config: how.
        objective: which losses the model's output has.
        out: a folder for checkpoints and the log; None: neither is written, and an interrupted run is lost.
        evaluate: called with the model, in evaluation mode, and the accelerator; what it returns goes into the log.
        show: whether there is a progress bar.

    Raises:
        ValueError: a precision that the device does not have.
        TypeError: ``compile`` or ``gradient_checkpointing``, and no :class:`~bertbook.Bert` in the model.
    """

    def __init__(
        self,
        model: nn.Module,
        loader: BatchLoader | Sequence[Leg],
        config: TrainConfig,
        *,
        objective: Objective = LABELS,
        out: str | Path | None = None,
        evaluate: Evaluate | None = None,
        show: bool = True,
    ) -> None:
        self.config, self.objective, self.evaluate = config, objective, evaluate
        self.legs = [Leg(loader)] if isinstance(loader, BatchLoader) else list(loader)
        self.accelerator = make_accelerator(config)
        if config.compile:
            compile_layers(model)
        if config.gradient_checkpointing:
            encoder_of(model).gradient_checkpointing = True
        self.plain_model = model
        self.model, self.optimizer = prepare(self.accelerator, model, make_optimizer(model, config))
        self.progress = Progress()
        self.leg = 0
        self.place: tuple[int, int] | None = None  # of the batch at hand: its epoch, and its number there
        self.interrupted = ""  # by which signal
        self.out = None if out is None else Path(out)
        self.checkpoints = None if self.out is None else Checkpoints(self.out / "checkpoints", config.keep)
        main = self.accelerator.is_main_process
        self._reporter = Reporter(self.out if main else None, show=show and main)
        # Other numbers in each process, else all would drop the same places out.
        torch.manual_seed(config.seed + self.accelerator.process_index)

    def step(self, batch: Mapping[str, Tensor]) -> StepRecord:
        """One update of the weights from one batch, this process's share of the step's.

        Raises:
            DivergedError: the loss or the gradient is no finite number. The weights are as they were.
        """
        accelerator, config = self.accelerator, self.config
        parts = split_rows(batch, config.accumulation)
        # Counted before they are moved: a GPU would be waited for.
        counts = [self.objective.counts(part) for part in parts]
        own = {name: sum(count[name] for count in counts) for name in counts[0]}
        tokens, *sums = self.sum_up([tokens_of(batch), *own.values()])
        total = dict(zip(own, sums, strict=True))  # labels of all parts and processes
        seen: dict[str, Tensor | float] = dict.fromkeys(own, 0.0)
        device = accelerator.device
        parts = [send_to_device(part, device, non_blocking=True) for part in parts]
        for part, count in zip(parts, counts, strict=True):
            # Processes exchange their gradients once, after the last part.
            last = part is parts[-1]
            with nullcontext() if last else accelerator.no_sync(self.model):
                with accelerator.autocast():  # in bf16 or fp16
                    output = self.model(**part)
                means = self.objective.losses(output)
                weights = {name: count[name] / max(1, total[name]) for name in own}
                shares = {name: means[name] * weights[name] for name in own}
                loss = torch.stack(list(shares.values())).sum()
                # Gradients are averaged over the processes; the loss is a sum.
                accelerator.backward(loss * accelerator.num_processes)
            seen = {name: seen[name] + shares[name].detach() for name in own}
        losses = dict(zip(own, self.sum_up([*map(float, seen.values())]), strict=True))
        longest = config.max_grad_norm or math.inf
        norm = accelerator.clip_grad_norm_(self.model.parameters(), longest)
        rate = self._set_learning_rate(int(tokens))
        step, loss_of_all = self.progress.step + 1, sum(losses.values())
        record = StepRecord(step, loss_of_all, losses, int(tokens), rate, float(norm))
        self._stop_if_diverged(record, parts)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.progress.step += 1
        self.progress.tokens += record.tokens
        return record

    def run(self) -> list[StepRecord]:
        """Train until the budget is spent, from the newest checkpoint where there is one.

        After Ctrl-C or SIGTERM the step is finished, a checkpoint written, and :attr:`interrupted` is set.

        Returns:
            A record for each step of this session.

        Raises:
            DivergedError: as :meth:`step`.
            ValueError: the checkpoint is one of other data or sizes, or all are damaged.
        """
        self._resume()
        records: list[StepRecord] = []
        config, began, before = self.config, time.perf_counter(), self.progress.seconds
        with Interruption() as stop, self._reporter.begin(self.progress.step, self.progress.share(config)) as reporter:
            self.model.train()
            for batch in self._batches():
                record = self.step(batch)
                records.append(record)
                self.progress.seconds, wish = self._agree(before + time.perf_counter() - began, bool(stop.asked))
                reporter.advance(record.step, record.loss, self.progress.share(config))
                if self._is_time(config.log_every):
                    reporter.log(record.step, self._entry(record))
                if self.evaluate is not None and (self._is_time(config.eval_every) or self._is_early()):
                    reporter.evaluated(record.step, self._evaluated(self.evaluate))
                if wish or self._is_time(config.save_every):
                    self.save()
                if wish:
                    self.interrupted = stop.asked or "a signal to another process"
                    break
        return records

    def save(self) -> Path | None:
        """Write a checkpoint. Where that fails, for want of space, say so, and keep the last good one.

        Returns:
            Where it is; None without a folder, in the other processes, and where it could not be written.
        """
        if self.checkpoints is None:
            return None
        accelerator, checkpoints, step = self.accelerator, self.checkpoints, self.progress.step
        main = accelerator.is_main_process
        error = _attempt(checkpoints.begin) if main else None
        accelerator.wait_for_everyone()
        error = error or _attempt(lambda: accelerator.save_state(str(checkpoints.aside)))
        if self.sum_up([error is not None]) == [0] and main:
            error = _attempt(lambda: checkpoints.finish(step, self._state()))
        accelerator.wait_for_everyone()
        if error is not None:
            checkpoints.abandon()
            warnings.warn(
                f"no checkpoint at step {step}: {error}. The run goes on, and the last good one stays; make room in "
                f"{checkpoints.folder}",
                stacklevel=2,
            )
        return checkpoints.path(step) if main and error is None else None

    def sum_up(self, numbers: Sequence[float]) -> list[float]:
        """Each number summed over all processes."""
        if self.accelerator.num_processes == 1:
            return [float(number) for number in numbers]
        total = torch.tensor(numbers, dtype=torch.float64, device=self.accelerator.device)
        return self.accelerator.reduce(total, "sum").tolist()

    def _state(self) -> dict[str, Any]:
        """What a checkpoint holds beside weights, optimiser and random numbers."""
        loader = self.legs[self.leg].loader.state_dict()
        return {"progress": asdict(self.progress), "leg": self.leg, "loader": loader, "machine": self._machine()}

    def _machine(self) -> dict[str, int]:
        return {"processes": self.accelerator.num_processes, "threads": torch.get_num_threads()}

    def _resume(self) -> None:
        """Go on where the newest checkpoint stands, the first time that this trainer runs."""
        if self.checkpoints is None or self.progress.step:
            return
        say = warnings.warn if self.accelerator.is_main_process else _nothing
        found = self.checkpoints.newest(say)
        if found is None:
            return
        path, state = found
        self.accelerator.load_state(str(path))
        self.progress, self.leg = Progress(**state["progress"]), state["leg"]
        self.legs[self.leg].loader.load_state_dict(state["loader"])
        before, here = state["machine"], self._machine()
        if differ := [f"{before[name]} {name}, now {here[name]}" for name in here if before[name] != here[name]]:
            say(f"the run had {' and '.join(differ)}: it goes on alike but for rounding, and for what dropout draws")

    def _batches(self) -> Iterator[Mapping[str, Tensor]]:
        """Batch after batch, epoch after epoch, leg after leg, until the budget is spent."""
        while (share := self.progress.share(self.config)) < 1:
            while share >= self.legs[self.leg].until:
                # The epochs go on counting, so that no text is masked again as it was.
                epoch = self.legs[self.leg].loader.epoch + 1
                self.leg += 1
                self.legs[self.leg].loader.epoch = epoch
            leg = self.legs[self.leg]
            self.place = (leg.loader.epoch, leg.loader.step)
            for batch in leg.loader:
                yield batch
                if self.progress.share(self.config) >= leg.until:
                    break
                self.place = (leg.loader.epoch, leg.loader.step)

    def _set_learning_rate(self, tokens: int) -> float:
        """The rate of this step, by the share of the budget that is spent in its midst."""
        cost = {"steps": 1.0, "tokens": float(tokens), "minutes": 0.0}[self.config.unit]
        rate = learning_rate(self.config, (self.progress.spent(self.config) + cost / 2) / self.config.budget)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        return rate

    def _agree(self, seconds: float, wish: bool) -> tuple[float, bool]:
        """Clocks differ, and a signal may reach one process alone: all take the mean, and stop together."""
        total, wishes = self.sum_up([seconds, wish])
        return total / self.accelerator.num_processes, wishes > 0

    def _is_time(self, every: int) -> bool:
        return self.progress.step % every == 0 or self.progress.share(self.config) >= 1

    def _is_early(self) -> bool:
        """Steps 32, 64, 128, … before the first that is due: one wants to see soon whether it learns."""
        step = self.progress.step
        return 32 <= step < self.config.eval_every and step.bit_count() == 1

    def _stop_if_diverged(self, record: StepRecord, parts: Sequence[Mapping[str, Tensor]]) -> None:
        # In float16 a gradient overflows now and then: the scaler leaves that update out, and scales less.
        scaled = self.accelerator.scaler is not None
        if math.isfinite(record.loss) and (scaled or math.isfinite(record.grad_norm)):
            return
        self.optimizer.zero_grad()
        batch = ""
        if self.place is not None:
            examples = self.legs[self.leg].loader.examples_of(*self.place)
            batch = f" The batch: examples {', '.join(map(str, examples))} of epoch {self.place[0]}."
        saved = "" if self.out is None else f" The last good state is in {self.out / 'checkpoints'}."
        raise DivergedError(
            f"step {record.step} diverged: loss {record.loss:.3g}, gradient {record.grad_norm:.3g}, at learning rate "
            f"{record.learning_rate:.3g}.{batch} In it, {diagnose(self.plain_model, parts)}. What helps most often: a "
            f"lower learning_rate, a longer warmup, bf16 instead of fp16.{saved}"
        )

    def _evaluated(self, evaluate: Evaluate) -> Mapping[str, float]:
        self.model.eval()
        with torch.no_grad(), self.accelerator.autocast():
            found = evaluate(self.model, self.accelerator)
        self.model.train()
        return found

    def _entry(self, record: StepRecord) -> dict[str, float]:
        losses = record.losses if len(record.losses) > 1 else {}
        spent = {"tokens": self.progress.tokens, "seconds": self.progress.seconds}
        rate = {"learning_rate": record.learning_rate, "grad_norm": record.grad_norm}
        return {"loss": record.loss, **losses, **rate, **spent}


def _nothing(message: str) -> None:
    pass


def _attempt(write: Callable[[], object]) -> Exception | None:
    """What went wrong in writing to the disk. (PyTorch and safetensors have errors of their own for it.)"""
    try:
        write()
    except (OSError, RuntimeError, SafetensorError) as error:
        return error
    return None
