"""Pages under watch: what they ask of other hosts, log as an error, throw or fail to load is noted."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest


def is_local(url: str) -> bool:
    """Whether a request to ``url`` stays on this machine."""
    parts = urlsplit(url)
    return parts.scheme in ("file", "data", "blob", "about") or parts.hostname in ("127.0.0.1", "localhost")


@contextmanager
def watching(browser: Any, problems: list[str]) -> Iterator[Callable[..., Any]]:
    """``open_page(width=1100, height=900, dark=False, reduced_motion=False, touch=False, javascript=True)``: a new
    Page, in a context of its own. What goes wrong in it is added to ``problems``; at the end it is closed."""
    contexts = []

    def open_page(
        width: int = 1100,
        height: int = 900,
        *,
        dark: bool = False,
        reduced_motion: bool = False,
        touch: bool = False,
        javascript: bool = True,
    ) -> Any:
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce" if reduced_motion else "no-preference",
            has_touch=touch,
            java_script_enabled=javascript,
        )
        contexts.append(context)
        context.set_default_timeout(10_000)

        def guard(route: Any) -> None:
            if is_local(route.request.url):
                route.continue_()
            else:
                problems.append(f"request to another host: {route.request.url}")
                route.abort()

        def failed(request: Any) -> None:
            # A download or a superseded navigation ends as "aborted"; that is no fault of the page.
            if is_local(request.url) and not (request.is_navigation_request() and "ABORTED" in (request.failure or "")):
                problems.append(f"request failed: {request.url} ({request.failure})")

        context.route("**/*", guard)
        context.on("requestfailed", failed)
        context.on("response", lambda r: r.status >= 400 and problems.append(f"HTTP {r.status}: {r.url}"))
        context.on("weberror", lambda e: problems.append(f"uncaught: {e.error}"))
        context.on("console", lambda m: m.type == "error" and problems.append(f"console error: {m.text}"))
        page = context.new_page()
        page.on("websocket", lambda s: is_local(s.url) or problems.append(f"websocket to another host: {s.url}"))
        return page

    yield open_page
    for context in contexts:
        context.close()


def fail_if(problems: list[str]) -> None:
    if problems:
        pytest.fail("the page was not clean:\n  " + "\n  ".join(problems), pytrace=False)
