"""What every test stands on: shapes checked as the code runs, the real weights, the devices of this machine."""

import os
from pathlib import Path

import hypothesis
import pytest
import torch
from jaxtyping import install_import_hook

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

torch.set_num_threads(min(4, os.cpu_count() or 1))
hypothesis.settings.register_profile("bertbook", deadline=None, database=None)
hypothesis.settings.load_profile("bertbook")

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
