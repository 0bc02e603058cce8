"""Every built page in a real browser, over http:// and from the disk, with every other host out of reach."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from repository import Repository

from tests.built_book import ROOT, chapters

CHAPTERS = chapters()
PAGES = [*CHAPTERS, "book/bibliography", "search", "genindex"]
_RENDERED = "() => !window.MathJax || (MathJax.startup && MathJax.startup.promise.then(() => true))"


@pytest.fixture(params=["http", "file"])
def site(request: pytest.FixtureRequest, book: Path, serve: Callable[[Path], str]) -> str:
    """Where the book begins: on a server, or on the disk."""
    return serve(book) if request.param == "http" else book.as_uri()


def visit(page: Any, site: str, name: str) -> None:
    """Open a page, let everything on it finish, and see all of it."""
    page.goto(f"{site}/{name}.html")
    page.wait_for_load_state("load")
    page.wait_for_function(_RENDERED)
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    page.wait_for_timeout(200)


def test_the_list_of_pages_is_complete(book: Path) -> None:
    built = {file.relative_to(book).with_suffix("").as_posix() for file in book.rglob("*.html")}
    assert {name for name in built if not name.startswith("_")} == {*PAGES, "index"}


@pytest.mark.parametrize("name", PAGES)
def test_page_is_clean(page: Any, site: str, name: str) -> None:
    """No foreign request, no console error, no missing file: ``page`` itself fails the test on any."""
    visit(page, site, name)
    assert page.locator("main h1:visible").count() == 1


def test_the_front_door_leads_to_the_landing_page(page: Any, site: str) -> None:
    page.goto(f"{site}/index.html")
    page.wait_for_url("**/book/index.html")


@pytest.mark.parametrize("name", CHAPTERS)
def test_formulas_are_typeset(page: Any, site: str, name: str) -> None:
    """As many as the source has, and each drawn."""
    visit(page, site, name)
    source = (ROOT / f"{name}.md").read_text(encoding="utf-8")
    prose = re.sub(r"^(`{3,}).*?^\1$|`[^`\n]*`", "", source, flags=re.DOTALL | re.MULTILINE)  # code may hold a $
    formulas = page.locator(".bd-article .math")
    assert formulas.count() >= len(re.findall(r"\$\$.+?\$\$|\$[^$\n]+\$", prose, re.DOTALL))
    assert page.locator(".bd-article .math:has(mjx-container)").count() == formulas.count()
    assert page.locator("mjx-merror, [data-mjx-error]").count() == 0


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_nothing_sticks_out_on_a_phone(
    open_page: Callable[..., Any], book: Path, serve: Callable[[Path], str], name: str, dark: bool
) -> None:
    page = open_page(width=360, height=740, dark=dark, touch=True)
    visit(page, serve(book), name)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    buttons = page.locator(".article-header-buttons .btn:visible").evaluate_all(
        "all => all.map(b => b.getBoundingClientRect()).map(r => [r.left, r.right, (r.top + r.bottom) / 2])"
    )
    assert all(left >= 0 and right <= 360 for left, right, _ in buttons)
    middles = [middle for _, _, middle in buttons]
    assert max(middles) - min(middles) < 10  # on one line


@pytest.mark.parametrize("name", CHAPTERS)
def test_the_dark_theme_follows_the_reader(open_page: Callable[..., Any], site: str, name: str) -> None:
    page = open_page(dark=True)
    visit(page, site, name)
    assert page.locator("html").get_attribute("data-theme") == "dark"
    brightness = "e => getComputedStyle(e).%s.match(/[\\d.]+/g).slice(0, 3).reduce((a, b) => a + +b, 0) / 3"
    assert page.locator("body").evaluate(brightness % "backgroundColor") < 60
    assert page.locator(".bd-article p").first.evaluate(brightness % "color") > 160
    # A figure draws in the colour of the text around it, not in black.
    figure = page.locator("figure.bertbook-figure svg").first
    assert figure.evaluate(brightness % "fill") > 160


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_serious(
    open_page: Callable[..., Any], book: Path, serve: Callable[[Path], str], name: str, dark: bool
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page = open_page(width=1280, dark=dark)
    visit(page, serve(book), name)
    # Passed rules are not collected, which is most of the time; preload would ask for a style sheet's @imports.
    found = Axe().run(page, options={"preload": False, "resultTypes": ["violations"]}).response["violations"]
    serious = [
        f"{violation['id']}: {[node['html'][:160] for node in violation['nodes']][:5]}"
        for violation in found
        if violation["impact"] in ("serious", "critical")
    ]
    assert not serious, "\n".join(serious)


@pytest.mark.parametrize("name", CHAPTERS)
def test_the_notebook_buttons(page: Any, site: str, book: Path, name: str) -> None:
    visit(page, site, name)
    notebook = f"book/notebooks/{Path(name).name}.ipynb"
    colab = page.locator("a.btn-colab-button")
    assert colab.get_attribute("href") == Repository.from_config(ROOT / "_config.yml").colab(notebook)
    assert colab.is_visible()
    logo = colab.locator("img")
    assert logo.evaluate("image => image.naturalWidth") > 0
    assert logo.bounding_box()["height"] < 40

    target = page.locator("a.btn-download-notebook-button").evaluate("link => link.href")
    assert target.startswith(site)
    file = book / unquote(urlsplit(target).path[len(urlsplit(site).path) :]).lstrip("/")
    assert file.read_bytes() == (ROOT / notebook).read_bytes()


def test_a_page_without_a_notebook_has_no_such_button(page: Any, site: str) -> None:
    visit(page, site, "book/bibliography")
    assert page.locator("a.btn-colab-button, a.btn-download-notebook-button").count() == 0


def test_search_works_on_its_own(page: Any, site: str) -> None:
    visit(page, site, "book/index")
    page.keyboard.press("Control+k")
    page.keyboard.type("softmax")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=softmax")
    result = page.locator("#search-results li a[href*='attention.html']").first
    result.wait_for()
    result.click()
    page.wait_for_url("**/book/attention.html*")


def test_code_can_be_copied(page: Any, site: str) -> None:
    visit(page, site, "book/attention")
    page.evaluate("navigator.clipboard && (navigator.clipboard.writeText = text => { window.copied = text })")
    cell = page.locator("div.cell_input").first
    cell.hover()
    cell.locator("button.copybtn").click()
    assert cell.locator("button.copybtn.success").count() == 1


def test_a_solution_unfolds(page: Any, site: str) -> None:
    page.goto(f"{site}/book/attention.html")
    solution = page.locator("details.sd-dropdown", has_text="A solution").first
    code = solution.locator("pre")
    assert not code.is_visible()
    solution.locator("summary").click()
    assert code.is_visible()
    assert "def my_attention" in code.inner_text()
