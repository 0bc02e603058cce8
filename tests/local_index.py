"""A package index on this machine, and a small real wheel on it. It misbehaves on request."""

import hashlib
import io
import select
import struct
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import SO_LINGER, SOL_SOCKET

from bertbook.fetch import Sdist, Wheel


def build_wheel(files: dict[str, bytes], name: str = "tiny_weights", version: str = "1.0") -> bytes:
    """A wheel that pip takes, uncompressed so that its size is that of its content."""
    info = f"{name}-{version}.dist-info"
    metadata = {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": b"",
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, content in {**files, **metadata}.items():
            archive.writestr(path, content)
    return buffer.getvalue()


def build_sdist(files: dict[str, bytes], name: str = "tiny_weights", version: str = "1.0") -> bytes:
    """A source archive that pip takes, uncompressed inside, with a set-up that must not run."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=0) as archive:
        for path, content in {"setup.py": b"raise SystemExit('the set-up code ran')\n", **files}.items():
            info = tarfile.TarInfo(f"{name}-{version}/{path}")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        link = tarfile.TarInfo(f"{name}-{version}/{name}/model/link")
        link.type, link.linkname = tarfile.SYMTYPE, "more"
        archive.addfile(link)
    return buffer.getvalue()


def pin_sdist(content: bytes) -> Sdist:
    inside = "tiny_weights-1.0/tiny_weights/model"
    return Sdist("tiny-weights", "1.0", hashlib.sha256(content).hexdigest(), len(content), inside)


def pin(content: bytes) -> Wheel:
    return Wheel("tiny-weights", "1.0", hashlib.sha256(content).hexdigest(), len(content), "tiny_weights/model")


class Index:
    """Serves ``content`` as the one file of the package tiny-weights.

    ``mode``: "whole"; "close" or "reset" the connection after half of the file; "hold" it there, until
    ``go_on`` is set or the client hangs up; "empty", an index without the package.
    """

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.filename = "tiny_weights-1.0-py3-none-any.whl"
        self.mode = "whole"
        self.downloads = 0
        self.half_sent = threading.Event()
        self.hung_up = threading.Event()
        self.go_on = threading.Event()
        self.address = ""


@contextmanager
def serve(index: Index) -> Iterator[None]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            filename = index.filename
            if self.path == "/simple/tiny-weights/" and index.mode != "empty":
                self._head("text/html")
                self.wfile.write(f'<a href="/files/{filename}">{filename}</a>'.encode())
            elif self.path == f"/files/{filename}":
                index.downloads += 1
                self._head("application/octet-stream", len(index.content))
                self._send_file()
            else:
                self.send_error(404)

        def _head(self, kind: str, length: int | None = None) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            if length is not None:
                self.send_header("Content-Length", str(length))
            self.end_headers()

        def _send_file(self) -> None:
            if index.mode == "whole":
                self.wfile.write(index.content)
                return
            half = len(index.content) // 2
            self.wfile.write(index.content[:half])
            self.wfile.flush()
            index.half_sent.set()
            if index.mode == "reset":
                threading.Event().wait(0.3)  # a reset would also take back what is still on its way
                self.connection.setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
                self.connection.close()
            elif index.mode == "hold":
                while not index.go_on.wait(0.02):
                    if select.select([self.connection], [], [], 0)[0]:  # nothing more to say but goodbye
                        index.hung_up.set()
                        return
                self.wfile.write(index.content[half:])

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # clients that leave are the point
    index.address = f"http://127.0.0.1:{server.server_port}/simple"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        index.go_on.set()
        server.shutdown()
        server.server_close()
        thread.join()
