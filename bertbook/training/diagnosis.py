"""When the loss is no number: which step, which texts, and where in the model it began."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn


class DivergedError(ArithmeticError):
    """The loss or the gradient is no finite number; the message says where it began."""


class Activation(NamedTuple):
    """The largest number that a module put out, by its size."""

    module: str
    largest: float  # inf or NaN, where there is one


def activations(model: nn.Module, batch: Mapping[str, Tensor]) -> list[Activation]:
    """What each module puts out for a batch, in the order in which they finish. The model stays as it was."""
    found: list[Activation] = []

    def watch(name: str) -> Callable[..., None]:
        def hook(module: nn.Module, inputs: object, output: object) -> None:
            for tensor in output if isinstance(output, tuple) else (output,):  # an LSTM puts out several
                if isinstance(tensor, Tensor) and tensor.is_floating_point() and tensor.numel():
                    found.append(Activation(name, float(tensor.detach().abs().max())))

        return hook

    hooks = [module.register_forward_hook(watch(name)) for name, module in model.named_modules() if name]
    training = model.training
    model.eval()
    try:
        with torch.no_grad():
            model(**batch)
    finally:
        model.train(training)
        for hook in hooks:
            hook.remove()
    return found


def diagnose(model: nn.Module, parts: Sequence[Mapping[str, Tensor]]) -> str:
    """Where the numbers stop being finite for the parts of a batch, and the largest that are; a part of a sentence."""
    weights = [name for name, weight in model.named_parameters() if not bool(torch.isfinite(weight).all())]
    if weights:
        more = f" and {len(weights) - 1} more" if len(weights) > 1 else ""
        return f"{weights[0]}{more} held numbers that are not finite before it began"
    found = [activation for part in parts for activation in activations(model, part)]
    finite = [activation for activation in found if math.isfinite(activation.largest)]
    most = max(finite, key=lambda activation: activation.largest, default=None)
    largest = f"the largest activation is {most.largest:.3g}, in {most.module}" if most else "no activation is finite"
    broken = next((activation for activation in found if not math.isfinite(activation.largest)), None)
    if broken is None:
        return f"{largest}; without dropout, and in float32, all are finite"
    return f"{broken.module} is the first to put out {broken.largest}; of the finite ones {largest}"
