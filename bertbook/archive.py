"""The files inside a wheel (a .zip) or a source release (a .tar.gz), read the same way. Nothing of them is run."""

import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

BROKEN = (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError)  # what reading a damaged archive raises


@dataclass(frozen=True)
class Member:
    """One regular file of an archive: its name as it is written there, its size in bytes, a way to read it."""

    name: str
    size: int
    open: Callable[[], IO[bytes]]


@contextmanager
def members(path: Path) -> Iterator[list[Member]]:
    """The regular files of an archive, readable within the ``with``. Folders, links and devices are left out.

    Raises:
        one of :data:`BROKEN`: the archive is damaged.
    """
    if path.name.endswith(".tar.gz"):
        with tarfile.open(path, "r:gz") as tar:
            yield [Member(info.name, info.size, _opener(tar, info)) for info in tar.getmembers() if info.isreg()]
    else:
        with zipfile.ZipFile(path) as zipped:
            infos = [info for info in zipped.infolist() if not info.is_dir()]
            yield [Member(info.filename, info.file_size, lambda i=info: zipped.open(i)) for info in infos]  # type: ignore[misc]


def _opener(tar: tarfile.TarFile, info: tarfile.TarInfo) -> Callable[[], IO[bytes]]:
    def open_it() -> IO[bytes]:
        opened = tar.extractfile(info)
        assert opened is not None  # None is for what is no regular file
        return opened

    return open_it
