"""What every test stands on: processes that share the cores, shapes checked as the code runs, the real weights, the
built book, the devices of this machine."""

import os
from pathlib import Path

MOST_WORKERS = 4
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
WORKERS = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
THREADS = max(1, min(4, CORES // WORKERS))
if WORKERS > 1:
    # For the processes that tests start, too: kernels, loaders, builds. Threads that wait must not spin, for there is
    # always somebody else to run. Both are read once, when torch is imported.
    os.environ["OMP_NUM_THREADS"] = str(THREADS)
    os.environ["OMP_WAIT_POLICY"] = "passive"

import hypothesis  # noqa: E402
import pytest  # noqa: E402
import torch  # noqa: E402
from jaxtyping import install_import_hook  # noqa: E402

# The packages whose signatures carry shapes: in tests every call checks them. Must come before their first import;
# tests/test_public_names.py holds the list complete.
SHAPED_PACKAGES = [
    "bertbook.model",
    "bertbook.tasks.asking",
    "bertbook.tasks.candidates",
    "bertbook.tasks.searching",
    "bertbook.text.draws",
    "bertbook.text.masking",
]
install_import_hook(SHAPED_PACKAGES, "beartype.beartype")

from bertbook import Bert, Tokenizer, load_pretrained  # noqa: E402
from bertbook.pretrained import locate  # noqa: E402

torch.set_num_threads(THREADS)
hypothesis.settings.register_profile("bertbook", deadline=None, database=None)
hypothesis.settings.load_profile("bertbook")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """What ``-n auto`` means: a process a core, up to 4; none besides this one where only files or tests are named,
    which are done before other processes have started. ``-n2`` and ``-n0`` stand above it."""
    named = all(argument.partition("::")[0].endswith(".py") for argument in config.args)
    return 0 if named or CORES == 1 else min(CORES, MOST_WORKERS)


DEVICES = [
    "cpu",
    pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")),
    pytest.param("mps", marks=pytest.mark.skipif(not torch.backends.mps.is_available(), reason="no MPS device")),
]


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> str:
    """Each kind of device in turn; those that this machine lacks are skipped."""
    return str(request.param)


@pytest.fixture(scope="session")
def minilm() -> tuple[Bert, Tokenizer]:
    """The book's real weights, on the CPU, in evaluation mode. Shared: a test must leave them as they are."""
    return load_pretrained("minilm")


@pytest.fixture(scope="session")
def minilm_folder(minilm: tuple[Bert, Tokenizer]) -> Path:
    """The same checkpoint as files, for other libraries to read."""
    return locate("minilm")


@pytest.fixture(scope="session")
def book() -> Path:
    """The folder of the built pages."""
    from tests.built_book import built_book  # reads in Sphinx, which few tests need

    return built_book()
