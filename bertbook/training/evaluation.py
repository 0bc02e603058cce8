"""How good a pretrained model is on text that it never saw, and how good a guess without any model would be."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import send_to_device
from torch import Tensor, nn

from bertbook.model.heads import PreTrainingOutput, full
from bertbook.text.batches import IGNORED
from bertbook.text.collating import Masked
from bertbook.text.masking import MaskingPolicy, special_ids
from bertbook.text.pair_examples import PairExample
from bertbook.text.tokenizer import Batch, Tokenizer

RATE, SEED = 0.15, 0  # of the masks: always the same ones, whatever the run trains with


class HeldOut:
    """Sequences of held-out text, masked once and for all: 15%, of these 80/10/10, seed 0.

    ``HeldOut(...)(model, accelerator)`` gives ``mlm_loss``, the mean of −ln p at the masked places, in nats;
    ``mlm_accuracy``, the share where the original token is the likeliest; with pairs, also ``nsp_loss`` and
    ``nsp_accuracy``. Several processes share the work.

    Args:
        examples: of :func:`~bertbook.text.sentence_pairs`.
        batch_size: sequences that are computed at once.
    """

    def __init__(self, examples: Sequence[PairExample], tokenizer: Tokenizer, batch_size: int) -> None:
        masked = Masked(MaskingPolicy(tokenizer, RATE, seed=SEED), tokenizer.pad_token_id)
        # By length, so that little is padded.
        order = sorted(range(len(examples)), key=lambda index: len(examples[index].input_ids))
        groups = [order[start : start + batch_size] for start in range(0, len(order), batch_size)]
        self.batches: list[Batch] = [masked([examples[n] for n in group], 0, group) for group in groups]

    @property
    def labels(self) -> Tensor:
        """(N,): the tokens that are to be guessed."""
        labels = torch.cat([batch["labels"].flatten() for batch in self.batches])
        return labels[labels != IGNORED]

    def __call__(self, model: nn.Module, accelerator: Accelerator) -> dict[str, float]:
        """Evaluate; the model should be in evaluation mode."""
        sums: Counter[str] = Counter()
        count, processes = len(self.batches), accelerator.num_processes
        for number in range(accelerator.process_index, -(-count // processes) * processes, processes):
            batch = send_to_device(self.batches[number % count], accelerator.device)
            output = model(**batch)
            if number >= count:  # computed for company: where weights are shared out (FSDP), all must call alike
                continue
            labels = batch["labels"]
            sums.update(_sums("mlm", output.logits, labels[labels != IGNORED]))
            if isinstance(output, PreTrainingOutput):
                sums.update(_sums("nsp", output.seq_relationship_logits, batch["next_sentence_label"]))
        names = sorted(f"{kind}_{what}" for kind in self._kinds for what in ("loss", "hits", "count"))
        total = torch.tensor([sums[name] for name in names], dtype=torch.float64)
        if accelerator.num_processes > 1:
            total = accelerator.reduce(total.to(accelerator.device), "sum").cpu()
        found = dict(zip(names, total.tolist(), strict=True))
        means: dict[str, float] = {}
        for kind in self._kinds:
            count = max(1, found[f"{kind}_count"])
            means |= {f"{kind}_loss": found[f"{kind}_loss"] / count, f"{kind}_accuracy": found[f"{kind}_hits"] / count}
        return means

    @property
    def _kinds(self) -> list[str]:
        return ["mlm", "nsp"] if "next_sentence_label" in self.batches[0] else ["mlm"]


def _sums(kind: str, logits: Tensor, labels: Tensor) -> dict[str, float]:
    return {
        f"{kind}_loss": float(F.cross_entropy(full(logits), labels, reduction="sum")),
        f"{kind}_hits": float((logits.argmax(-1) == labels).sum()),
        f"{kind}_count": len(labels),
    }


def count_tokens(examples: Iterable[PairExample], tokenizer: Tokenizer) -> Counter[int]:
    """How often each id occurs, special ones left out."""
    counts: Counter[int] = Counter()
    for example in examples:
        counts.update(example.input_ids)
    for special in special_ids(tokenizer):
        del counts[special]
    return counts


def unigram_baseline(counts: Mapping[int, int], labels: Tensor, vocab_size: int) -> dict[str, float]:
    """What knowing the frequencies of tokens alone would score: ``mlm_loss``, in nats, and ``mlm_accuracy``.

    It ignores the sentence: each token gets its share of the training text (each counted once more than it occurs, so
    that none is impossible), and the guess is always the most frequent one. A model that is stuck at this loss has
    learnt nothing of context.
    """
    total = sum(counts.values()) + vocab_size
    first = max(counts, key=lambda token: (counts[token], -token))
    own = labels.tolist()
    loss = sum(math.log(total) - math.log(counts.get(label, 0) + 1) for label in own) / len(own)
    return {"mlm_loss": loss, "mlm_accuracy": own.count(first) / len(own)}
