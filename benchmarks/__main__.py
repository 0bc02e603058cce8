"""``python -m benchmarks``."""

import sys

from benchmarks.cli import main

if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:  # before anything was measured
        sys.exit(130)
