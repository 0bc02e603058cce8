"""Trained weights are fetched before the chapters run: a progress bar belongs in the terminal, not in a page."""

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.typing import ExtensionMetadata

from bertbook.fetch import FetchError
from bertbook.pretrained import CHECKPOINTS, locate


def _fetch(app: Sphinx) -> None:
    for name in CHECKPOINTS:
        try:
            locate(name)
        except FetchError as error:
            raise ExtensionError(f"the chapters need the weights {name!r}: {error}") from error


def setup(app: Sphinx) -> ExtensionMetadata:
    app.connect("builder-inited", _fetch)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
