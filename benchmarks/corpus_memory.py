"""Does memory stay flat when a corpus grows tenfold on disk?

    python benchmarks/corpus_memory.py [--mb 20]

Writes two corpora of plain text, one ten times the other, reads each through in a process of its own, document by
document, and prints the largest memory that each process had. Ends with status 1 if they are more than 10% apart.
"""

import argparse
import subprocess
import sys
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

READ = """
import resource, sys
from bertbook import load_corpus
documents = sentences = 0
for document in load_corpus(sys.argv[1]):
    documents, sentences = documents + 1, sentences + len(document)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(documents, sentences, peak // 1024 if sys.platform == "darwin" else peak)
"""
WORDS = ["the", "a", "cat", "dog", "house", "river", "sat", "ran", "saw", "old", "new", "in", "on", "with", "and", "of"]


def write_corpus(path: Path, size: int) -> None:
    """Documents of about 2,000 characters, no two alike, until the file has ``size`` bytes."""
    random = Random(0)
    with path.open("w", encoding="utf-8") as file:
        while file.tell() < size:
            lines = (" ".join(random.choices(WORDS, k=12)).capitalize() + ".\n" for _ in range(40))
            file.write("".join(lines) + "\n")


def main() -> int:
    """Run the comparison. Returns the exit status."""
    parser = argparse.ArgumentParser(description="Does memory stay flat when a corpus grows tenfold on disk?")
    parser.add_argument("--mb", type=int, default=20, help="size of the smaller corpus (default: 20)")
    smaller = parser.parse_args().mb
    peaks = []
    print("    on disk  documents  sentences  largest memory")
    with TemporaryDirectory() as folder:
        for megabytes in (smaller, 10 * smaller):
            path = Path(folder, f"{megabytes}.txt")
            write_corpus(path, megabytes * 1_000_000)
            done = subprocess.run([sys.executable, "-c", READ, str(path)], check=True, capture_output=True, text=True)
            documents, sentences, kilobytes = map(int, done.stdout.split())
            peaks.append(kilobytes)
            print(f"{megabytes:8,} MB {documents:10,} {sentences:10,} {kilobytes / 1024:12.1f} MB")
    growth = peaks[1] / peaks[0] - 1
    print(f"ten times the text, {growth:+.1%} memory")
    return int(growth > 0.1)


if __name__ == "__main__":
    sys.exit(main())
