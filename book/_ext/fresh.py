"""What is built is what the sources say: no stale outputs, no warning forgotten, and a mark that proves it."""

import hashlib
import shutil
from collections.abc import Iterable
from functools import partial
from importlib.metadata import distributions
from importlib.util import find_spec
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util.typing import ExtensionMetadata

MARK = "sources.sha256"  # beside html/: the sources of the last `-n` build, if it gave no warning
_IGNORED = {"__pycache__", "_build", ".ipynb_checkpoints"}


def fingerprint(paths: Iterable[Path], *more: str) -> str:
    """One hash over the files at and under ``paths``, their names included, and the strings ``more``."""
    digest = hashlib.sha256()
    for path in paths:
        files = [path] if path.is_file() else sorted(path.rglob("*"))
        for file in files:
            if file.is_file() and not _IGNORED.intersection(file.relative_to(path).parts):
                digest.update(f"{path.name}/{file.relative_to(path).as_posix()}\0".encode())
                digest.update(hashlib.sha256(file.read_bytes()).digest())
    for text in more:
        digest.update(f"{text}\0".encode())
    return digest.hexdigest()


def package_folder() -> Path:
    """Where bertbook's sources lie."""
    spec = find_spec("bertbook")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("bertbook is not installed: run `pip install -r requirements.txt -e .`")
    return Path(spec.submodule_search_locations[0])


def sources(root: Path) -> str:
    """The fingerprint of everything a build reads: the book, its configuration and the package."""
    return fingerprint([root / "_config.yml", root / "_toc.yml", root / "book", package_folder()])


def _key_the_cache(app: Sphinx, config: Config) -> None:
    """Executed notebooks are cached per state of the package and of what is installed beside it.

    myst-nb keys its cache on the cells alone; after a change in the package it would show the old outputs.
    The setting belongs to Sphinx's environment, so that a new value also re-reads every page.
    """
    installed = sorted(f"{found.name}=={found.version}" for found in distributions())
    key = fingerprint([package_folder()], *installed)[:16]
    cache = Path(app.outdir).parent / ".jupyter_cache"
    config.nb_execution_cache_path = str(cache / key)
    for old in cache.glob("*"):
        if old.name != key:
            shutil.rmtree(old, ignore_errors=True)


def _finish(at_start: str, app: Sphinx, exception: Exception | None) -> None:
    mark = Path(app.outdir).parent / MARK
    if exception is None and app._warncount == 0 and app.config.nitpicky:
        mark.write_text(at_start + "\n", encoding="utf-8")
        return
    # Sphinx keeps a page that warned, and would say nothing about it the next time. Read everything again.
    mark.unlink(missing_ok=True)
    Path(app.doctreedir, "environment.pickle").unlink(missing_ok=True)


def setup(app: Sphinx) -> ExtensionMetadata:
    app.connect("config-inited", _key_the_cache)
    # Taken now: what is edited while the build runs may be in the pages or not.
    app.connect("build-finished", partial(_finish, sources(Path(app.srcdir))))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
