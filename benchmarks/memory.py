"""Does the memory of the whole feed stay flat when the corpus grows tenfold on disk?

    python -m benchmarks.memory [--mb 4]

Two corpora of plain text, one ten times the other. For each, a process of its own counts the sentence pairs of all
documents, plans the epoch, and makes masked batches from anywhere in the corpus. Its largest memory is printed. The
exit status is 1 if the two are more than 10% apart. (corpus_memory.py looks at reading alone.)
"""

import argparse
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.corpus_memory import WORDS, write_corpus

LIMIT = 0.1
FEED = """
import itertools, resource, sys
from bertbook.data import load_corpus
from bertbook.text import BatchLoader, Masked, Tokenizer
from bertbook.text.masking import MaskingPolicy
from bertbook.text.pairs import sentence_pairs
path, batches, words = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
tokenizer = Tokenizer.from_vocab(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words])
loader = BatchLoader(sentence_pairs(load_corpus(path), tokenizer), Masked(MaskingPolicy(tokenizer)), batch_size=32)
made = sum(1 for _ in itertools.islice(loader, batches))
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(len(loader), made, peak // 1024 if sys.platform == "darwin" else peak)
"""


def main(arguments: list[str] | None = None) -> int:
    """Run the comparison and print it. Returns the exit status."""
    parser = argparse.ArgumentParser(description="Does the memory of the feed stay flat when the corpus grows tenfold?")
    parser.add_argument("--mb", type=float, default=4, help="size of the smaller corpus (default: 4)")
    parser.add_argument("--batches", type=int, default=100, help="batches made from each (default: 100)")
    options = parser.parse_args(arguments)
    peaks = []
    print(f"{'on disk':>12s}{'batches an epoch':>18s}{'largest memory':>16s}")
    with TemporaryDirectory() as folder:
        for megabytes in (options.mb, 10 * options.mb):
            path = Path(folder, f"{megabytes}.txt")
            write_corpus(path, int(megabytes * 1_000_000))
            command = [sys.executable, "-c", FEED, str(path), str(options.batches), *WORDS]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            whole, _, kilobytes = map(int, done.stdout.split())
            peaks.append(kilobytes)
            print(f"{megabytes:9.1f} MB{whole:18,}{kilobytes / 1024:13.1f} MB")
    growth = peaks[1] / peaks[0] - 1
    print(f"ten times the text, {growth:+.1%} memory (goal: within {LIMIT:.0%})")
    return int(growth > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
