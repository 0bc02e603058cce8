"""Training: one loop for a laptop, a GPU and a cluster, that can be killed at any moment. Names load on first use."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bertbook.training.config import Phase as Phase
    from bertbook.training.config import PretrainConfig as PretrainConfig
    from bertbook.training.config import TrainConfig as TrainConfig
    from bertbook.training.diagnosis import DivergedError as DivergedError
    from bertbook.training.journal import read_journal as read_journal
    from bertbook.training.loop import Leg as Leg
    from bertbook.training.loop import StepRecord as StepRecord
    from bertbook.training.loop import Trainer as Trainer
    from bertbook.training.objectives import Objective as Objective
    from bertbook.training.pretraining import PretrainResult as PretrainResult
    from bertbook.training.pretraining import pretrain as pretrain

# public name -> the module it lives in
_PUBLIC = {
    "DivergedError": "bertbook.training.diagnosis",
    "Leg": "bertbook.training.loop",
    "Objective": "bertbook.training.objectives",
    "Phase": "bertbook.training.config",
    "PretrainConfig": "bertbook.training.config",
    "PretrainResult": "bertbook.training.pretraining",
    "StepRecord": "bertbook.training.loop",
    "TrainConfig": "bertbook.training.config",
    "Trainer": "bertbook.training.loop",
    "pretrain": "bertbook.training.pretraining",
    "read_journal": "bertbook.training.journal",
}

__all__ = [*_PUBLIC]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'bertbook.training' has no attribute {name!r}; it has {', '.join(__all__)}")
    value = getattr(import_module(_PUBLIC[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
