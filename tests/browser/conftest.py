"""A real Chromium, cut off from every other host, for the widgets and for the built pages.

Fixtures for tests: ``page``, ``open_page(...)``, ``show(widget, ...)``, ``serve(folder)``, ``axe(page)``, ``problems``.
A test fails at its end when a page asked another host for anything, logged a console error, threw, or met
a failed or 4xx/5xx response. Without a browser the tests skip; with BERTBOOK_REQUIRE_BROWSER=1 they fail.
"""

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from bertbook.viz.embed import BookWidget
from tests.browser.watch import fail_if, watching
from tests.browser.widgets import write_page

HERE = Path(__file__).parent
NAMES = ("chromium", "chromium-browser", "google-chrome")
LAUNCH = [
    "--no-sandbox",  # containers and CI run as root
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    # A second fence behind the recorder below: no other name resolves, not even for the browser's own requests.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.browser)


def _missing(what: str) -> None:
    if os.environ.get("BERTBOOK_REQUIRE_BROWSER") == "1":
        pytest.fail(f"{what}, and BERTBOOK_REQUIRE_BROWSER=1", pytrace=False)
    pytest.skip(what)


@pytest.fixture(scope="module")  # not session: Playwright's event loop must not outlive these tests
def browser() -> Iterator[Any]:
    """A headless Chromium: BERTBOOK_CHROMIUM if set, else the first of NAMES on the path."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _missing("playwright is not installed")
    found = os.environ.get("BERTBOOK_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if not found:
        _missing(f"no browser: none of {', '.join(NAMES)} is on the path and BERTBOOK_CHROMIUM is not set")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=found, args=LAUNCH)
        yield chromium
        chromium.close()


@pytest.fixture
def problems() -> Iterator[list[str]]:
    """What went wrong in any page of this test. A test that provokes a problem reads it here and clears the list."""
    found: list[str] = []
    yield found
    fail_if(found)


@pytest.fixture
def open_page(browser: Any, problems: list[str]) -> Iterator[Callable[..., Any]]:
    """What opens pages for one test: see ``watching``."""
    with watching(browser, problems) as open_page:
        yield open_page


@pytest.fixture
def show(open_page: Callable[..., Any], tmp_path: Path) -> Callable[..., Any]:
    """``show(widget, ..., fragment="", **how)``: a page, opened from disk, that holds the widgets."""

    def show(*widgets: BookWidget, fragment: str = "", **how: Any) -> Any:
        page = open_page(**how)
        page.goto(write_page(tmp_path / "page.html", *widgets).as_uri() + fragment)
        return page

    return show


@pytest.fixture
def page(open_page: Callable[..., Any]) -> Any:
    """A watched page of a desktop's width in the light theme."""
    return open_page()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="session")
def serve() -> Iterator[Callable[[Path], str]]:
    """``serve(folder)`` → the http:// address of that folder, no slash at its end. One server a folder."""
    servers: dict[Path, ThreadingHTTPServer] = {}

    def serve(folder: Path) -> str:
        folder = Path(folder).resolve()
        if folder not in servers:
            server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
            threading.Thread(target=server.serve_forever, daemon=True).start()
            servers[folder] = server
        return f"http://127.0.0.1:{servers[folder].server_port}"

    yield serve
    for server in servers.values():
        server.shutdown()
        server.server_close()


@pytest.fixture
def axe() -> Callable[..., None]:
    """``axe(page, within=None)``: fail with axe-core's report if it finds a violation (in the selector ``within``)."""
    from axe_playwright_python.sync_playwright import Axe

    def axe(page: Any, within: str | None = None) -> None:
        results = Axe().run(page, context=within)
        assert results.violations_count == 0, results.generate_report()

    return axe
