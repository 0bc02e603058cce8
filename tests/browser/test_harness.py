"""The watch itself: a page that misbehaves must be caught, or the other browser tests prove nothing."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("<img src='https://example.com/x.png' alt=''>", "request to another host: https://example.com/x.png"),
        ("<script>fetch('http://10.0.0.1/').catch(() => 0)</script>", "request to another host: http://10.0.0.1/"),
        ("<script>console.error('oh')</script>", "console error: oh"),
        ("<script>throw new Error('bang')</script>", "uncaught: bang"),
        ("<img src='missing.png' alt=''>", "HTTP 404: "),
    ],
)
def test_misbehaviour_is_caught(
    page: Any, serve: Callable[[Path], str], problems: list[str], tmp_path: Path, body: str, expected: str
) -> None:
    (tmp_path / "p.html").write_text(f"<!doctype html><title>p</title>{body}")
    page.goto(serve(tmp_path) + "/p.html")
    page.wait_for_timeout(200)
    assert any(problem.startswith(expected) for problem in problems), problems
    problems.clear()


def test_missing_file_is_caught_without_a_server(page: Any, problems: list[str], tmp_path: Path) -> None:
    (tmp_path / "p.html").write_text("<!doctype html><title>p</title><script src='missing.js'></script>")
    page.goto((tmp_path / "p.html").as_uri())
    assert any("missing.js" in problem for problem in problems), problems
    problems.clear()


def test_a_clean_page_passes_and_axe_sees_a_fault(page: Any, axe: Callable[..., None], tmp_path: Path) -> None:
    clean = "<!doctype html><html lang=en><title>p</title><main><h1>Fine</h1></main></html>"
    (tmp_path / "p.html").write_text(clean)
    page.goto((tmp_path / "p.html").as_uri())
    axe(page)
    page.evaluate("document.querySelector('main').innerHTML += '<img src=\"data:,\">'")
    with pytest.raises(AssertionError, match="image-alt"):
        axe(page)
