"""A checkpoint small enough to make and break in every test."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from bertbook import Bert, BertConfig, Tokenizer

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "sat", "slept", ".", "it", "##s", "草", "莓"]


def tiny_model(seed: int = 0, **changes: int) -> Bert:
    sizes: dict[str, Any] = {
        "vocab_size": 20,
        "hidden_size": 12,
        "num_hidden_layers": 2,
        "num_attention_heads": 3,
        "intermediate_size": 24,
        "max_position_embeddings": 16,
    }
    torch.manual_seed(seed)
    model = Bert(BertConfig(**{**sizes, **changes})).eval()
    with torch.no_grad():  # biases and LayerNorms too: where all are alike, exchanged ones would pass
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model


def randomise(model: nn.Module, seed: int = 0) -> None:
    """Random in every weight: biases of 0 and LayerNorm weights of 1, as at the start, would hide mistakes."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            is_norm = "norm" in name.lower() and name.endswith("weight")
            spread = 0.2 if parameter.ndim == 1 else parameter.shape[1] ** -0.5  # keeps activations near 1
            parameter.normal_(1.0 if is_norm else 0.0, spread, generator=generator)


def tiny_tokenizer() -> Tokenizer:
    return Tokenizer.from_vocab(WORDS)


def rewrite(folder: Path, change: Callable[[dict[str, Tensor]], dict[str, Tensor] | None]) -> None:
    """Change the tensors of a saved checkpoint."""
    path = folder / "model.safetensors"
    tensors = load_file(path)
    path.unlink()
    save_file(change(tensors) or tensors, path)


def shard(folder: Path, count: int = 3) -> list[str]:
    """Cut a saved checkpoint's weights into shards under an index, as large models are published."""
    path = folder / "model.safetensors"
    tensors = load_file(path)
    path.unlink()
    names = [f"model-{number + 1:05}-of-{count:05}.safetensors" for number in range(count)]
    for number, name in enumerate(names):
        save_file({key: tensors[key] for key in list(tensors)[number::count]}, folder / name)
    where = {key: names[number % count] for number, key in enumerate(tensors)}
    index = {"metadata": {"total_size": 0}, "weight_map": where}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    return names


def same_weights(one: nn.Module, other: nn.Module) -> bool:
    """Bit for bit, type included."""
    a, b = one.state_dict(), other.state_dict()
    return a.keys() == b.keys() and all(a[k].dtype == b[k].dtype and torch.equal(a[k].cpu(), b[k].cpu()) for k in a)
