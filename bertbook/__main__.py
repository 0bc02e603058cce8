"""``python -m bertbook``, which launchers of several processes can start: see :mod:`bertbook.cli`."""

import sys

from bertbook.cli import main

sys.exit(main())
