"""Tests in several processes: how many there are, what each may use, and what only one of them may do."""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch


@pytest.mark.parametrize(
    ("arguments", "several"),
    [
        (["tests"], True),
        (["tests/viz", "tests/test_config.py"], True),
        (["tests/test_config.py"], False),
        (["tests/test_config.py", "tests/viz/test_steps.py::test_by_hand"], False),
    ],
)
@pytest.mark.parametrize("cores", [1, 2, 64])
def test_a_process_a_core_but_none_for_a_file(
    pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch, arguments: list[str], several: bool, cores: int
) -> None:
    monkeypatch.setattr(sys.modules["tests.conftest"], "CORES", cores)
    count = pytestconfig.hook.pytest_xdist_auto_num_workers(config=SimpleNamespace(args=arguments))
    assert count == ({1: 0, 2: 2, 64: 4}[cores] if several else 0)


def test_all_processes_together_use_no_more_threads_than_there_are_cores() -> None:
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    cores = sys.modules["tests.conftest"].CORES
    assert torch.get_num_threads() * workers <= max(cores, workers)
    if workers > 1:
        code = "import torch; print(torch.get_num_threads())"  # a kernel, a build, a loader
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert int(done.stdout) * workers <= max(cores, workers)


def test_of_those_that_need_the_book_one_builds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests import built_book

    built = []

    def build(command: list[Any], **_: Any) -> subprocess.CompletedProcess[str]:
        time.sleep(0.2)
        built.append(command)
        return subprocess.CompletedProcess(command, 0, "")

    (tmp_path / "README.md").write_bytes((built_book.ROOT / "README.md").read_bytes())
    monkeypatch.setattr(built_book, "ROOT", tmp_path)
    monkeypatch.setattr(built_book, "is_fresh", lambda root: bool(built))
    monkeypatch.setattr(built_book.subprocess, "run", build)
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda _: built_book.built_book(), range(3)))
    assert found == [tmp_path / "_build" / "html"] * 3
    assert len(built) == 1
