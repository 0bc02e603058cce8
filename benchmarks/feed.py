"""How fast text becomes pretraining batches, against how fast a training step eats them.

    python -m benchmarks.feed [--quick] [--threads 2]

Documents are tokenized, cut into sentence pairs, padded and masked by one process, in batches of 32 sequences of at
most 128 tokens; the step is BertForPreTraining's, 4 layers of 256 with the 21,128 tokens of the Chinese BERT, trained
on such a batch with ``--threads`` threads. Each number is the median of several runs. A batch is made in two ways: in
the order of the documents, and by number through a BatchLoader, which shuffles: that is what training uses.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from random import Random
from typing import Any

import torch

from bertbook.config import BertConfig
from bertbook.model.heads import BertForPreTraining
from bertbook.text.batches import pad_batch
from bertbook.text.collating import Masked
from bertbook.text.documents import Document
from bertbook.text.loader import BatchLoader
from bertbook.text.masking import MaskingPolicy
from bertbook.text.pairs import SentencePairs, sentence_pairs
from bertbook.text.tokenizer import Batch, Tokenizer

ROWS, LENGTH = 32, 128
EACH = 40  # batches that a run makes
GOAL_RATIO, GOAL_SHARE = 5.0, 0.02


@dataclass(frozen=True)
class Feed:
    """Seconds a batch, and a step.

    ``in_order`` and ``by_number`` are whole: text, pairs, padding and masking. ``counting`` is what it takes, once an
    epoch, to tokenize all documents and count their pairs, shared out over the epoch's batches. ``in_order`` takes
    the first batches of an epoch, without that: a random segment then needs a document that nobody has tokenized yet.
    """

    in_order: float
    by_number: float
    counting: float
    masking: float
    step: float
    tokens: float  # of a batch, padding left out

    @property
    def ratio(self) -> float:
        """How many times as fast as the step is what training uses: by number, and the counting before."""
        return self.step / (self.by_number + self.counting)

    @property
    def masking_share(self) -> float:
        """Of the step."""
        return self.masking / self.step


def measure(documents: list[Document], tokenizer: Tokenizer, config: BertConfig, runs: int) -> Feed:
    """Time it all, on the documents given."""
    masked = Masked(MaskingPolicy(tokenizer), tokenizer.pad_token_id, max_length=LENGTH)

    def pairs() -> SentencePairs:
        return sentence_pairs(documents, tokenizer, max_length=LENGTH)

    def from_text() -> Iterator[Batch]:
        """As they come, from documents that nobody has tokenized yet."""
        examples = iter(pairs())
        while rows := list(islice(examples, ROWS)):
            yield masked(rows, 0, range(len(rows)))

    in_order = [_seconds_each(islice(from_text(), EACH)) for _ in range(runs)]
    loader, counting = _timed(lambda: BatchLoader(pairs(), masked, batch_size=ROWS))
    by_number = [_seconds_each(islice(loader, EACH)) for _ in range(runs)]
    batches = list(islice(from_text(), 4))
    rows = list(islice(pairs(), ROWS))
    plain = pad_batch(rows, tokenizer.pad_token_id)
    masking = [_timed(lambda: masked.policy.at(0, range(len(rows)))(plain["input_ids"]))[1] for _ in range(4 * runs)]
    return Feed(
        in_order=statistics.median(in_order),
        by_number=statistics.median(by_number),
        counting=counting / len(loader),
        masking=statistics.median(masking),
        step=_step_seconds(config, batches, runs),
        tokens=statistics.mean(float(batch["attention_mask"].sum()) for batch in batches),
    )


def _step_seconds(config: BertConfig, batches: list[Batch], runs: int) -> float:
    torch.manual_seed(0)
    model = BertForPreTraining(config).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def steps() -> None:
        for batch in batches:
            model(**batch).loss.backward()
            optimizer.step()
            optimizer.zero_grad()

    steps()  # the first allocates
    return statistics.median(_timed(steps)[1] / len(batches) for _ in range(runs))


def _timed(function: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    value = function()
    return value, time.perf_counter() - start


def _seconds_each(batches: Iterator[Any]) -> float:
    count, seconds = _timed(lambda: sum(1 for _ in batches))
    return seconds / count


def report(feed: Feed) -> str:
    """A small table, with the two goals."""
    lines = [f"{'a batch':34s}{'ms':>9s}{'batches/s':>11s}{'tokens/s':>12s}"]
    lines += [
        f"{name:34s}{1000 * seconds:9.1f}{1 / seconds:11.1f}{feed.tokens / seconds:12,.0f}"
        for name, seconds in (
            ("from text, in order", feed.in_order),
            ("by number, shuffled", feed.by_number),
            ("tokenizing all, once an epoch", feed.counting),
            ("of these, masking", feed.masking),
            ("training step", feed.step),
        )
    ]
    lines += [
        f"one process feeds {feed.ratio:.1f} times as fast as the step consumes (goal: {GOAL_RATIO:g})",
        f"masking costs {feed.masking_share:.2%} of a step (goal: under {GOAL_SHARE:.0%})",
    ]
    return "\n".join(lines)


def real() -> tuple[list[Document], Tokenizer, BertConfig]:
    """The People's Daily with the vocabulary of the Chinese BERT."""
    from bertbook.data import load_corpus
    from bertbook.pretrained import load_tokenizer

    tokenizer = load_tokenizer("bert-base-chinese")
    documents = list(load_corpus("peoples-daily"))
    return documents, tokenizer, BertConfig.preset("mini", vocab_size=len(tokenizer))


def small() -> tuple[list[Document], Tokenizer, BertConfig]:
    """Made up, for ``--quick``: it shows that everything runs, not how fast."""
    random = Random(0)
    words = [f"w{n}" for n in range(90)]
    tokenizer = Tokenizer.from_vocab(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words])
    documents = [
        Document(tuple(" ".join(random.choices(words, k=random.randint(3, 30))) for _ in range(20))) for _ in range(40)
    ]
    return documents, tokenizer, BertConfig.preset("tiny", vocab_size=len(tokenizer))


def main(arguments: list[str] | None = None) -> int:
    """Run it and print. The exit status is 1 where a goal is missed, but for ``--quick``."""
    parser = argparse.ArgumentParser(description="How fast text becomes pretraining batches.")
    parser.add_argument("--quick", action="store_true", help="a small made-up text: shows that it runs")
    parser.add_argument("--threads", type=int, default=2, help="of the training step (default: 2)")
    options = parser.parse_args(arguments)
    threads = torch.get_num_threads()
    torch.set_num_threads(options.threads)
    try:
        feed = measure(*(small() if options.quick else real()), runs=2 if options.quick else 5)
    finally:
        torch.set_num_threads(threads)
    print(report(feed))
    return int(not options.quick and (feed.ratio < GOAL_RATIO or feed.masking_share >= GOAL_SHARE))


if __name__ == "__main__":
    raise SystemExit(main())
