"""What chapters read is fetched before they run: a progress bar belongs in a terminal, not in a page."""

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.typing import ExtensionMetadata

from bertbook.data import CARDS
from bertbook.fetch import FetchError, fetch
from bertbook.pretrained import CHECKPOINTS, VOCABULARIES, locate


def _fetch(app: Sphinx) -> None:
    for name in [*CHECKPOINTS, *VOCABULARIES]:
        try:
            locate(name, tokenizer_only=name in VOCABULARIES)
        except FetchError as error:
            raise ExtensionError(f"the chapters need {name!r}: {error}") from error
    for package in dict.fromkeys(card.package for card in CARDS.values()):
        try:
            fetch(package)
        except FetchError as error:
            raise ExtensionError(f"the chapters need the data in {package}: {error}") from error


def setup(app: Sphinx) -> ExtensionMetadata:
    app.connect("builder-inited", _fetch)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
