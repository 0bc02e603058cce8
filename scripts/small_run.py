"""A pretraining run that takes seconds, and what two runs must have in common to be the same run."""

import math
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
import yaml
from safetensors.torch import load_file

from bertbook.training.journal import read_journal

#: Dropout and next sentence are on, so that nothing random is left out; a checkpoint every third step.
SETTINGS: dict[str, Any] = {
    "steps": 80,
    "learning_rate": 5e-3,
    "vocab_size": 120,
    "max_length": 32,
    "batch_size": 8,
    "objective": "nsp",
    "model": {
        "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64,
        "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1,
    },
    "eval_examples": 8,
    "device": "cpu",
    "log_every": 1,
    "eval_every": 5,
    "save_every": 3,
}  # fmt: skip


def write_config(folder: Path, **changes: Any) -> Path:
    """The file of settings for a small run, and its text beside it. Its ``out`` is ``folder/out``."""
    folder.mkdir(parents=True, exist_ok=True)
    text = folder / "text.txt"
    text.write_text(_documents(120), encoding="utf-8")
    path = folder / "config.yaml"
    settings = {**SETTINGS, "corpus": str(text), "out": str(folder / "out"), "language": "en", **changes}
    path.write_text(yaml.safe_dump(settings), encoding="utf-8")
    return path


def _documents(count: int) -> str:
    """Documents that each tell of one animal: what comes next can be learnt."""
    draw = random.Random(0)
    animals, places = ["cat", "dog", "owl", "fox", "hare", "wolf"], ["wood", "field", "barn", "garden", "river"]
    documents = []
    for _ in range(count):
        animal, place = draw.choice(animals), draw.choice(places)
        sentences = [
            f"The {draw.choice(['old', 'young', 'red', 'grey'])} {animal} {draw.choice(['sleeps', 'hunts', 'waits'])} "
            f"in the {place} {draw.choice(['at night', 'by day', 'all year'])}."
            for _ in range(draw.randint(4, 7))
        ]
        documents.append("\n".join(sentences))
    return "\n\n".join(documents) + "\n"


def curve(out: Path) -> list[dict[str, float]]:
    """The log, but for the clock."""
    return [{name: entry[name] for name in entry if name != "seconds"} for entry in read_journal(out / "log.jsonl")]


def differences(a: Path, b: Path, tolerance: float = 0.0) -> list[str]:
    """Where two runs differ: in their logs, the models they left, and their last checkpoints' weights and optimisers.

    Args:
        tolerance: how far two numbers may be apart, relative to the larger one or to 1; 0: not one bit.
    """
    found = []
    first, second = curve(a), curve(b)
    if [sorted(entry) for entry in first] != [sorted(entry) for entry in second]:
        found.append(f"the logs have other entries: {len(first)} and {len(second)}")
    for entry, twin in zip(first, second, strict=False):
        for name in entry.keys() & twin.keys():
            if not math.isclose(entry[name], twin[name], rel_tol=tolerance, abs_tol=tolerance):
                found.append(f"{name} at step {entry['step']}: {entry[name]!r} and {twin[name]!r}")
    one, other = (
        {
            "model": load_file(out / "model" / "model.safetensors"),
            "checkpoint": load_file(newest(out) / "model.safetensors"),
            "optimizer": torch.load(newest(out) / "optimizer.bin", weights_only=True),
        }
        for out in (a, b)
    )
    return found + _unequal("", one, other, tolerance)


def newest(out: Path) -> Path:
    """The newest checkpoint."""
    return max((out / "checkpoints").glob("step-*"))


def _unequal(name: str, a: Any, b: Any, tolerance: float) -> list[str]:
    """Where two nested states differ."""
    if isinstance(a, Mapping) and isinstance(b, Mapping) and a.keys() == b.keys():
        return [wrong for key in a for wrong in _unequal(f"{name}/{key}", a[key], b[key], tolerance)]
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        pairs = enumerate(zip(a, b, strict=True))
        return [wrong for n, (one, other) in pairs for wrong in _unequal(f"{name}/{n}", one, other, tolerance)]
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor) and a.shape == b.shape:
        equal = torch.equal(a, b) if tolerance == 0 else torch.allclose(a, b, rtol=tolerance, atol=tolerance)
        return [] if equal else [f"{name}: up to {float((a - b).abs().max()):.2g} apart"]
    return [] if a == b else [f"{name}: {a!r:.60} and {b!r:.60}"]
