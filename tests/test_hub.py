"""Models by their hub id, from a small server that answers as the hub does; no test reaches the real one."""

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import torch
from safetensors.torch import load_file

from bertbook import save_pretrained
from tests.pretrained_samples import shard, tiny_model, tiny_tokenizer

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@contextmanager
def serve_hub(files: dict[str, bytes], asked: list[str]) -> Iterator[str]:
    """The three questions that huggingface_hub asks about ``somebody/tiny-bert``: what, which files, and each file."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def do_HEAD(self) -> None:
            self._answer(body=False)

        def do_GET(self) -> None:
            self._answer(body=True)

        def _answer(self, body: bool) -> None:
            path = urlsplit(self.path).path
            asked.append(path)
            base = "/api/models/somebody/tiny-bert"
            if path in (base, f"{base}/revision/main"):
                names = [{"rfilename": name} for name in files]
                self._send(json.dumps({"id": "somebody/tiny-bert", "sha": COMMIT, "siblings": names}).encode(), body)
            elif path.startswith(f"{base}/tree/"):
                tree = [
                    {"type": "file", "path": name, "size": len(content), "oid": hashlib.sha1(content).hexdigest()}
                    for name, content in files.items()
                ]
                self._send(json.dumps(tree).encode(), body)
            elif path.startswith("/somebody/tiny-bert/resolve/") and path.split("/", 5)[5] in files:
                self._send(files[path.split("/", 5)[5]], body)
            else:
                self.send_response(404)
                self.send_header("X-Error-Code", "RepoNotFound")
                self.send_header("Content-Length", "0")
                self.end_headers()

        def _send(self, content: bytes, body: bool) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.send_header("ETag", f'"{hashlib.sha1(content).hexdigest()}"')
            self.send_header("X-Repo-Commit", COMMIT)
            self.end_headers()
            if body:
                self.wfile.write(content)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True  # kept-alive connections are not waited for
    server.block_on_close = False
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def run(code: str, endpoint: str, home: Path) -> subprocess.CompletedProcess[str]:
    """In a process of its own: huggingface_hub reads its settings when it is imported."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HUGGING"))}
    environment = {name: value for name, value in environment.items() if not name.lower().endswith("_proxy")}
    environment |= {"HF_ENDPOINT": endpoint, "HF_HOME": str(home), "HF_HUB_DISABLE_TELEMETRY": "1"}
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False, cwd=home.parent
    )


LOAD = (
    "from bertbook import load_pretrained; m, t = load_pretrained('somebody/tiny-bert');"
    "print(m.name, len(t), m(**t(['The cat sat.'])).pooler_output.double().sum().item(), sep='|')"
)


def test_a_hub_id(tmp_path: Path) -> None:
    model, tokenizer = tiny_model(), tiny_tokenizer()
    folder = save_pretrained(model, tokenizer, tmp_path / "made")
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    others = {"pytorch_model.bin": b"large", "tf_model.h5": b"larger", "onnx/model.onnx": b"largest"}
    asked: list[str] = []
    with serve_hub({**files, **others}, asked) as endpoint:
        done = run(LOAD, endpoint, tmp_path / "home")
        assert done.returncode == 0, done.stderr
        name, size, total = done.stdout.strip().split("|")
        assert (name, int(size)) == ("somebody/tiny-bert", len(tokenizer))
        with torch.no_grad():
            expected = model(**tokenizer(["The cat sat."])).pooler_output.double().sum().item()
        assert float(total) == pytest.approx(expected, abs=1e-6)
        fetched = {path.rsplit("/", 1)[-1] for path in asked if "/resolve/" in path}
        assert fetched == set(files)  # not the same weights in three more formats
    done = run(LOAD, "http://127.0.0.1:9", tmp_path / "home")  # the network is gone, its cache is not
    assert done.stdout.startswith("somebody/tiny-bert|"), done.stderr


def test_a_model_without_safetensors(tmp_path: Path) -> None:
    model = tiny_model()
    folder = save_pretrained(model, tiny_tokenizer(), tmp_path / "made")
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    files = {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix != ".safetensors"}
    asked: list[str] = []
    with serve_hub({**files, "tf_model.h5": b"large"}, asked) as endpoint:
        done = run(LOAD, endpoint, tmp_path / "home")
    assert done.stdout.startswith("somebody/tiny-bert|"), done.stderr
    assert {path.rsplit("/", 1)[-1] for path in asked if "/resolve/" in path} == set(files)


def test_a_tokenizer_alone(tmp_path: Path) -> None:
    folder = save_pretrained(tiny_model(), tiny_tokenizer(), tmp_path / "made")
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    asked: list[str] = []
    code = "from bertbook import load_tokenizer; print(len(load_tokenizer('somebody/tiny-bert')))"
    with serve_hub(files | {"pytorch_model.bin": b"large"}, asked) as endpoint:
        done = run(code, endpoint, tmp_path / "home")
    assert done.stdout == f"{len(tiny_tokenizer())}\n", done.stderr
    fetched = {path.rsplit("/", 1)[-1] for path in asked if "/resolve/" in path}
    assert fetched == files.keys() - {"model.safetensors"}


def test_a_model_in_shards(tmp_path: Path) -> None:
    folder = save_pretrained(tiny_model(), tiny_tokenizer(), tmp_path / "made")
    shard(folder)
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    with serve_hub(files, []) as endpoint:
        done = run(LOAD, endpoint, tmp_path / "home")
    assert done.stdout.startswith("somebody/tiny-bert|"), done.stderr


def test_a_model_that_the_hub_does_not_have(tmp_path: Path) -> None:
    with serve_hub({}, []) as endpoint:
        done = run("import bertbook; bertbook.load_pretrained('somebody/tiny-brt')", endpoint, tmp_path / "home")
    assert "FetchError: 'somebody/tiny-brt' is no folder here, and could not be fetched from the hub" in done.stderr
    assert "RepositoryNotFoundError" in done.stderr
    assert "the names 'minilm', which come from the package index" in done.stderr


def test_no_network(tmp_path: Path) -> None:
    done = run(LOAD, "http://127.0.0.1:9", tmp_path / "home")
    assert "FetchError: 'somebody/tiny-bert' is no folder here, and could not be fetched from the hub" in done.stderr
    assert "Check the spelling and the network" in done.stderr
