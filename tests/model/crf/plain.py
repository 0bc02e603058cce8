"""The CRF's modules loaded again, without the shape checks of the tests, and with a change on request."""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest

NAMES = ["tag_schemes", "crf_chain", "crf_inputs", "crf"]  # in the order of their imports


@contextmanager
def plain_crf(old: str = "", new: str = "") -> Iterator[ModuleType]:
    """``bertbook.model.crf`` as a user has it; with ``old`` given, the one place that reads so reads ``new``."""
    folder = Path(importlib.import_module("bertbook.model").__file__ or "").parent
    texts = {name: (folder / f"{name}.py").read_text(encoding="utf-8") for name in NAMES}
    if old:
        assert sum(text.count(old) for text in texts.values()) == 1, f"not once in the source: {old!r}"
    with pytest.MonkeyPatch.context() as patch:
        for name in NAMES:
            module = ModuleType(f"bertbook.model.{name}")
            patch.setitem(sys.modules, module.__name__, module)
            source = texts[name].replace(old, new) if old else texts[name]
            exec(compile(source, str(folder / f"{name}.py"), "exec"), module.__dict__)
        yield module
