"""One model that knows its world, and one of the same kind that knows nothing."""

import pytest

from bertbook.tasks import FillMask
from tests.tasks import animals


@pytest.fixture(scope="session")
def fill() -> FillMask:
    """Trained."""
    return FillMask(animals.trained(), animals.tokenizer())


@pytest.fixture(scope="session")
def ignorant() -> FillMask:
    """Random weights."""
    return FillMask(animals.untrained().eval(), animals.tokenizer())
