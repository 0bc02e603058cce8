"""Accelerate's view of the machine: devices, processes, precision."""

import os
from functools import partial
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState, PartialState
from torch import nn
from torch.optim import Optimizer

from bertbook.training.config import TrainConfig

_NAMES = {"float32": "no", "bf16": "bf16", "fp16": "fp16"}


def make_accelerator(config: TrainConfig) -> Accelerator:
    """An accelerator for a run: of several processes where a launcher started them, else of one.

    Raises:
        ValueError: a precision that this device does not have; processes that a launcher started, and that cannot work
            together here.
    """
    if not torch.distributed.is_initialized():
        # Its settings are those of the process. A second run in a notebook may want others.
        AcceleratorState._reset_state(reset_partial_state=True)
    # Without a GPU it has to be told so, else each of several processes would train alone, and all into one folder.
    cpu = config.device == "cpu" or not torch.accelerator.is_available()
    if cpu and os.environ.get("ACCELERATE_USE_FSDP", "").lower() == "true":
        raise ValueError("FSDP needs GPUs: on CPUs leave it out, and each process holds the whole model")
    make = partial(Accelerator, mixed_precision=_NAMES[config.precision], cpu=cpu)
    try:
        accelerator = make()
    except ValueError as error:
        device = PartialState().device
        raise ValueError(f"precision={config.precision!r} on {device}: {error}; choose another precision") from error
    if config.precision == "fp16" and accelerator.device.type == "cpu":
        raise ValueError("precision='fp16' on a CPU: it has no fast products in float16; choose 'bf16' or 'float32'")
    started = int(os.environ.get("WORLD_SIZE", 1))
    if accelerator.num_processes != started:
        raise ValueError(
            f"the launcher started {started} processes, and on {accelerator.device.type} each would train alone: start "
            "one, or set device=cpu"
        )
    return accelerator


def prepare(accelerator: Accelerator, model: nn.Module, optimizer: Optimizer) -> tuple[nn.Module, Any]:
    """As ``accelerator.prepare``, but the model's own ``forward`` stays as it is.

    Accelerate puts its autocast around it, for good: after a run in bf16 the model would compute in bf16 wherever it
    is used. Here the autocast is around each call, ``with accelerator.autocast():``.
    """
    own = model.__dict__.get("forward")
    prepared = accelerator.prepare(model, optimizer)
    model.__dict__.pop("_original_forward", None)
    model.__dict__.pop("forward", None)
    if own is not None:
        model.forward = own
    return prepared
