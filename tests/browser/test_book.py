"""Every built page in a real browser, over http:// and from the disk, with every other host out of reach."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import pytest
from repository import Repository

from tests.browser.watch import fail_if, watching
from tests.built_book import ROOT, chapters

CHAPTERS = chapters()
PAGES = [*CHAPTERS, "book/bibliography", "search", "genindex"]
_RENDERED = "() => !window.MathJax || (MathJax.startup && MathJax.startup.promise.then(() => true))"


class Way(NamedTuple):
    """How a page is opened."""

    name: str
    scheme: str  # http: from a server; file: from the disk
    theme: str  # that of the reader's system


WAYS = [Way(*way) for way in product(PAGES, ("http", "file"), ("light", "dark"))]


def address(scheme: str, book: Path, serve: Callable[[Path], str]) -> str:
    """Where the book begins."""
    return serve(book) if scheme == "http" else book.as_uri()


@pytest.fixture(params=["http", "file"])
def site(request: pytest.FixtureRequest, book: Path, serve: Callable[[Path], str]) -> str:
    return address(request.param, book, serve)


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


@dataclass(frozen=True)
class Seen:
    """A page that has been opened."""

    page: Any
    site: str
    name: str
    theme: str
    problems: list[str]


@pytest.fixture(scope="class", params=WAYS, ids="-".join)
def seen(request: pytest.FixtureRequest, browser: Any, book: Path, serve: Callable[[Path], str]) -> Iterator[Seen]:
    name, scheme, theme = request.param
    site, problems = address(scheme, book, serve), list[str]()
    with watching(browser, problems) as open_page:
        page = open_page(width=1280, dark=theme == "dark")
        visit(page, site, name)
        yield Seen(page, site, name, theme, problems)


class TestPage:
    """Opening a page is most of the work: each is opened once in each way, and these tests only look at it."""

    @pytest.fixture(autouse=True)
    def clean(self, seen: Seen) -> Iterator[None]:
        """No foreign request, no console error, no missing file: not before a test, and not by it."""
        yield
        fail_if(seen.problems)

    def test_has_one_title(self, seen: Seen) -> None:
        assert seen.page.locator("main h1:visible").count() == 1

    def test_formulas_are_typeset(self, seen: Seen) -> None:
        """As many as the source has, and each drawn."""
        source = (ROOT / f"{seen.name}.md").read_text(encoding="utf-8") if "/" in seen.name else ""
        prose = re.sub(r"^(`{3,}).*?^\1$|`[^`\n]*`", "", source, flags=re.DOTALL | re.MULTILINE)  # code may hold a $
        formulas = seen.page.locator(".bd-article .math")
        assert formulas.count() >= len(re.findall(r"\$\$.+?\$\$|\$[^$\n]+\$", prose, re.DOTALL))
        assert seen.page.locator(".bd-article .math:has(mjx-container)").count() == formulas.count()
        assert seen.page.locator("mjx-merror, [data-mjx-error]").count() == 0

    def test_the_theme_follows_the_reader(self, seen: Seen) -> None:
        page, dark = seen.page, seen.theme == "dark"
        assert page.locator("html").get_attribute("data-theme") == seen.theme
        brightness = "e => getComputedStyle(e).%s.match(/[\\d.]+/g).slice(0, 3).reduce((a, b) => a + +b, 0) / 3"
        background = page.locator("body").evaluate(brightness % "backgroundColor")
        assert background < 60 if dark else background > 200
        # A figure draws in the colour of the text around it, not in black.
        inks = [("color", page.locator(".bd-article p")), ("fill", page.locator("figure.bertbook-figure svg"))]
        for ink, drawn in inks if seen.name in CHAPTERS else []:
            value = drawn.first.evaluate(brightness % ink)
            assert value > 160 if dark else value < 100

    def test_the_notebook_buttons(self, seen: Seen, book: Path) -> None:
        page, notebook = seen.page, f"book/notebooks/{Path(seen.name).name}.ipynb"
        if seen.name not in CHAPTERS:  # it has no notebook
            assert page.locator("a.btn-colab-button, a.btn-download-notebook-button").count() == 0
            return
        colab = page.locator("a.btn-colab-button")
        assert colab.get_attribute("href") == Repository.from_config(ROOT / "_config.yml").colab(notebook)
        assert colab.is_visible()
        logo = colab.locator("img")
        assert logo.evaluate("image => image.naturalWidth") > 0
        assert logo.bounding_box()["height"] < 40

        target = page.locator("a.btn-download-notebook-button").evaluate("link => link.href")
        assert target.startswith(seen.site)
        file = book / unquote(urlsplit(target).path[len(urlsplit(seen.site).path) :]).lstrip("/")
        assert file.read_bytes() == (ROOT / notebook).read_bytes()

    @pytest.mark.parametrize("seen", [way for way in WAYS if way.scheme == "http"], ids="-".join, indirect=True)
    def test_axe_finds_nothing_serious(self, seen: Seen) -> None:
        from axe_playwright_python.sync_playwright import Axe

        # Passed rules are not collected, which is most of the time; preload would ask for a style sheet's @imports.
        options = {"preload": False, "resultTypes": ["violations"]}
        found = Axe().run(seen.page, options=options).response["violations"]
        serious = [
            f"{violation['id']}: {[node['html'][:160] for node in violation['nodes']][:5]}"
            for violation in found
            if violation["impact"] in ("serious", "critical")
        ]
        assert not serious, "\n".join(serious)


def test_the_front_door_leads_to_the_landing_page(page: Any, site: str) -> None:
    page.goto(f"{site}/index.html")
    page.wait_for_url("**/book/index.html")


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
