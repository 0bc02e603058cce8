"""The weights of a file, fitted to a model: all that does not fit named at once, heads that are not there made anew."""

import warnings
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

from bertbook.config import BertConfig
from bertbook.model.bert import Bert, Pooler, initialise
from bertbook.model.crf import LinearChainCRF
from bertbook.model.heads import BertWithHead, MaskedLMHead
from bertbook.published import belongs_elsewhere, duplicate_of, own_keys, plain_key
from bertbook.weights_io import read_weights

# What a checkpoint may lack as a whole, and how it starts then.
_PARTS: dict[str, Callable[[BertConfig], nn.Module]] = {
    "pooler": Pooler,
    "mlm": MaskedLMHead,
    "nsp": lambda config: nn.Linear(config.hidden_size, 2),
    "classifier": lambda config: nn.Linear(config.hidden_size, config.num_labels),
    "answer": lambda config: nn.Linear(config.hidden_size, 2),
    "crf": lambda config: LinearChainCRF(config.num_labels),
}


def fitted_weights(
    path: Path,
    model: Bert | BertWithHead,
    head: str | None,
    device: torch.device,
    dtype: torch.dtype,
    *,
    may_resize: bool,
) -> dict[str, Tensor]:
    """A ``state_dict`` for ``model``, whose own weights may be of the "meta" device.

    Args:
        path: what :func:`bertbook.weights_io.find_weights` found.
        may_resize: a classifier for another number of labels starts anew, instead of being an error.

    Raises:
        ValueError: weights that are missing, unexpected, misshapen, double or not tied; each one is named.
    """
    family = model.config.model_type
    shapes = {key: tuple(tensor.shape) for key, tensor in model.state_dict().items()}
    names = own_keys(shapes, family, head)
    published_names = {own: plain for plain, own in names.items()}
    state: dict[str, Tensor] = {}
    duplicates: list[tuple[str, str, Tensor]] = []
    problems = []
    for published, tensor in read_weights(path):
        plain = plain_key(published, family)
        key = names.get(plain)
        first = duplicate_of(plain, family)
        if key is None and first in shapes and head is not None:
            duplicates.append((published, first, tensor.to(device, dtype, copy=True)))
            continue
        if key is None:
            if not belongs_elsewhere(plain):
                problems.append(f"unexpected: {published}")
            continue
        if may_resize and _part(key) in ("classifier", "crf") and tensor.shape != shapes[key]:
            continue
        if key in state:
            problems.append(f"twice, under two names: {published}")
        elif tensor.shape != shapes[key]:
            problems.append(f"of shape {tuple(tensor.shape)} instead of {shapes[key]}: {published}")
        elif not tensor.is_floating_point():
            problems.append(f"of type {tensor.dtype}, not a floating-point number: {published}")
        # A copy: the mapped file may be replaced or removed while the model lives.
        state[key] = tensor.to(device, dtype, copy=True)
    for published, first, tensor in duplicates:
        if not torch.equal(state.setdefault(first, tensor), tensor):
            problems.append(f"different from {published_names[first]}, which this model has in its place: {published}")
    missing = [key for key in shapes if key not in state]
    absent = [part for part in _PARTS if (own := _keys(part, shapes)) and set(own) <= set(missing)]
    problems += [f"missing: {published_names[key]}" for key in missing if _part(key) not in absent]
    if problems:
        raise ValueError(
            f"{path} does not fit the config.json beside it. Take both from one checkpoint of a BERT, RoBERTa or "
            "ALBERT. In the file:\n  " + "\n  ".join(problems)
        )
    if absent:
        state |= _fresh(absent, model.config, shapes, device, dtype)
        warnings.warn(
            f"{path} holds no {', '.join(published_names[key] for key in missing)}: they start untrained; "
            "train the model before you use what they compute",
            stacklevel=3,
        )
    return state


def _fresh(
    parts: list[str], config: BertConfig, shapes: dict[str, tuple[int, ...]], device: torch.device, dtype: torch.dtype
) -> dict[str, Tensor]:
    state = {}
    for part in parts:
        module = _PARTS[part](config)
        initialise(module, config)
        values = module.state_dict()
        for key in _keys(part, shapes):
            state[key] = values[key.removeprefix("bert.").removeprefix(f"{part}.")].to(device, dtype)
    return state


def _keys(part: str, shapes: dict[str, tuple[int, ...]]) -> list[str]:
    return [key for key in shapes if _part(key) == part]


def _part(key: str) -> str:
    """``bert.pooler.dense.weight`` → ``pooler``."""
    return key.removeprefix("bert.").split(".")[0]
