"""Tensors out of a checkpoint's files: safetensors, whole or in shards, and ``.bin`` without running their code."""

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

WEIGHTS = "model.safetensors"
# In the order in which they are looked for. An index says which shard holds which tensor.
_FILES = (WEIGHTS, f"{WEIGHTS}.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json")


def find_weights(folder: Path) -> Path:
    """The file that holds a folder's weights, or the index of the files that do.

    Raises:
        FileNotFoundError: there is none.
    """
    for name in _FILES:
        if (folder / name).is_file():
            return folder / name
    raise FileNotFoundError(
        f"{folder} has no {WEIGHTS}: a checkpoint is config.json, {WEIGHTS}, and tokenizer.json or vocab.txt. Weights "
        f"are also taken from {', '.join(_FILES[1:])}; those of other libraries must be converted first"
    )


def read_weights(path: Path) -> Iterator[tuple[str, Tensor]]:
    """The names and tensors of what :func:`find_weights` found, one at a time, on the CPU.

    The tensors may be views of the file: copy what is kept.

    Raises:
        ValueError: a file is damaged, is something else, or holds more than tensors; the message names it.
        FileNotFoundError: shards of the index are not there.
    """
    for file in _shards(path) if path.suffix == ".json" else [path]:
        yield from _read_safetensors(file) if file.suffix == ".safetensors" else _read_pickled(file)


def _shards(index: Path) -> list[Path]:
    try:
        names = sorted(set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()))
        # A bare name of the expected kind: an index from the network must not reach for other files.
        strange = [
            name for name in names if Path(name).name != name or Path(name).suffix not in (".safetensors", ".bin")
        ]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{index} is no index of shards, weight_map: {{tensor: file}}. Fetch it anew") from error
    if strange:
        raise ValueError(f"{index} names {', '.join(map(repr, strange))}: shards must be weight files beside it")
    if missing := [name for name in names if not (index.parent / name).is_file()]:
        raise FileNotFoundError(f"{index.parent} lacks {', '.join(missing)}, shards that {index.name} names")
    return [index.parent / name for name in names]


def _read_safetensors(path: Path) -> Iterator[tuple[str, Tensor]]:
    try:
        with safe_open(path, framework="pt") as file:
            for name in file.keys():  # noqa: SIM118 (a file, not a dict)
                yield name, file.get_tensor(name)
    except SafetensorError as error:
        raise ValueError(f"{path} is damaged or no safetensors file: {error}. Fetch or copy it anew") from error


def _read_pickled(path: Path) -> Iterator[tuple[str, Tensor]]:
    """A pickle can run code; ``weights_only`` refuses all that does not make tensors."""
    try:
        # Files before PyTorch 1.6 are no zip archives, and cannot be mapped into memory.
        values: Any = torch.load(path, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(path))
    except Exception as error:  # what a damaged pickle raises is anyone's guess
        said = str(error).strip().splitlines() or [""]
        raise ValueError(
            f"{path} is damaged, or holds more than tensors ({type(error).__name__}: {said[0]}). It is not read, since "
            f"that could run code. Fetch it anew, or look for a {WEIGHTS} of the same model"
        ) from error
    if not isinstance(values, dict) or not all(isinstance(name, str) for name in values):
        raise ValueError(f"{path} holds {type(values).__name__}, not weights by name")
    if others := [name for name, value in values.items() if not isinstance(value, Tensor)]:
        raise ValueError(
            f"{path} holds more than weights by name: {', '.join(others[:5])}. It is no model's state_dict"
        )
    yield from values.items()
