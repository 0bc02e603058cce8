"""A nursery of runs in processes of their own, a run that nothing disturbed, and a trainer of a tiny model."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from lives import Nursery
from small_run import write_config

from bertbook import BertConfig
from bertbook.model.heads import BertForMaskedLM
from bertbook.text import BatchLoader
from bertbook.training import TrainConfig, Trainer

MakeTrainer = Callable[..., Trainer]


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    with Nursery() as nursery:
        yield nursery


@pytest.fixture(scope="session")
def undisturbed(nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small run, ``out``, with its ``config.yaml`` beside it. To be left as it is."""
    folder = tmp_path_factory.mktemp("undisturbed")
    life = nursery.start(["pretrain", str(write_config(folder))], folder / "output.txt")
    assert life.wait() == 0, life.text()
    return folder


@pytest.fixture
def make_trainer() -> MakeTrainer:
    """``make_trainer(out, steps=6, …)``: the same model and data each time, with dropout."""

    def make(out: Path | None = None, *, evaluate: Any = None, **settings: Any) -> Trainer:
        torch.manual_seed(0)
        sizes: dict[str, Any] = {"vocab_size": 30, "hidden_size": 16, "num_hidden_layers": 1}
        sizes |= {"num_attention_heads": 2, "intermediate_size": 32, "max_position_embeddings": 16}
        model = BertForMaskedLM(BertConfig(**sizes, hidden_dropout_prob=0.1))
        draw = torch.Generator().manual_seed(1)
        examples = []
        for _ in range(16):
            ids = torch.randint(5, 30, (8,), generator=draw).tolist()
            examples.append({"input_ids": ids, "labels": ids})
        loader = BatchLoader(examples, batch_size=4)
        options = {"steps": 6, "save_every": 2, "log_every": 1, "device": "cpu", **settings}
        return Trainer(model, loader, TrainConfig(**options), out=out, evaluate=evaluate, show=False)

    return make
