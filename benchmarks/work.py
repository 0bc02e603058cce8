"""The work: batches to train on, and texts to read. The same on every side and in every run."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import torch
from torch import Tensor

from bertbook.config import BertConfig
from bertbook.speed import training_flops

# Their docstrings are English prose of all lengths, and lie on every machine.
_MODULES = [
    "argparse",
    "collections",
    "configparser",
    "csv",
    "datetime",
    "difflib",
    "doctest",
    "fractions",
    "heapq",
    "inspect",
    "json",
    "logging",
    "optparse",
    "pathlib",
    "pickle",
    "random",
    "re",
    "shutil",
    "statistics",
    "string",
    "subprocess",
    "tarfile",
    "textwrap",
    "threading",
    "typing",
    "unittest",
    "urllib.parse",
    "zipfile",
]
_MASK = 4


@dataclass(frozen=True)
class Training:
    """Batches for both objectives of BERT, rows of uniform random length, padded to the longest of their batch.

    What the tokens are does not matter for speed, so they are random; 15% of them carry a label.
    """

    config: BertConfig
    rows: int = 32
    shortest: int = 20
    longest: int = 128
    count: int = 2  # batches, all of them trained on in each run

    def batches(self, device: str = "cpu") -> list[dict[str, Tensor]]:
        """As both libraries' BertForPreTraining take them."""
        generator = torch.Generator().manual_seed(0)
        return [{name: x.to(device) for name, x in self._batch(generator).items()} for _ in range(self.count)]

    def flops(self) -> int:
        """Useful operations of a training step, the mean of the batches."""
        batches = self.batches()
        return sum(
            training_flops(
                self.config,
                batch["attention_mask"].sum(1).tolist(),
                head="pretraining",
                masked=int((batch["labels"] >= 0).sum()),
            )
            for batch in batches
        ) // len(batches)

    def tokens(self) -> int:
        """Real tokens of a batch, the mean."""
        return sum(int(batch["attention_mask"].sum()) for batch in self.batches()) // self.count

    def _batch(self, generator: torch.Generator) -> dict[str, Tensor]:
        def whole(low: int, high: int, *shape: int) -> Tensor:
            return torch.randint(low, high, shape, generator=generator)

        lengths = whole(self.shortest, self.longest + 1, self.rows, 1)
        place = torch.arange(int(lengths.max()))
        real = place < lengths  # (B, S)
        ids = whole(_MASK + 1, self.config.vocab_size, *real.shape)
        # The 15% of each row with the highest lots; never position 0, [CLS].
        lots = torch.rand(real.shape, generator=generator).masked_fill(~real | (place == 0), -1)
        rank = lots.argsort(1, descending=True).argsort(1)
        chosen = rank < (0.15 * lengths).round().clamp(min=1)
        return {
            "input_ids": torch.where(chosen, _MASK, ids) * real,
            "token_type_ids": ((place >= lengths // 2) & real).long(),
            "attention_mask": real.long(),
            "labels": torch.where(chosen, ids, -100),
            "next_sentence_label": whole(0, 2, self.rows),
        }


@cache
def passages(count: int) -> list[str]:
    """Sentences and short paragraphs of the standard library's documentation, spread evenly over what there is."""
    found = list(dict.fromkeys(text for module in _MODULES for text in _paragraphs(module) if 50 < len(text) < 600))
    if len(found) < count:
        raise RuntimeError(f"the docstrings of the standard library hold {len(found)} passages; {count} are needed")
    return [found[i * len(found) // count] for i in range(count)]


def _paragraphs(module: str) -> Iterator[str]:
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        return
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            for paragraph in (ast.get_docstring(node) or "").split("\n\n"):
                if ">>>" not in paragraph:
                    yield " ".join(paragraph.split())
