"""The built pages as files: nothing foreign, nothing broken, and the code shown is the package's."""

import ast
import inspect
import re
import textwrap
from collections import Counter
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from urllib.parse import unquote, urlsplit

import pytest
from bs4 import BeautifulSoup

from tests.built_book import ROOT, chapters, shown_widgets

CHAPTERS = [f"{name}.html" for name in chapters()]
PAGES = [*CHAPTERS, "book/bibliography.html", "search.html", "genindex.html"]
# Whatever loads by itself when a page opens. A plain link loads when the reader asks.
LOADS = {
    "script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src", "video": "src", "audio": "src",
    "object": "data", "embed": "src", "use": "href", "image": "href",
}  # fmt: skip
CSS_ADDRESS = re.compile(r"""url\(\s*["']?([^"')]+)|@import\s+["']([^"']+)""")


@cache
def parsed(file: Path) -> BeautifulSoup:
    return BeautifulSoup(file.read_text(encoding="utf-8"), "html.parser")


@cache
def anchors(file: Path) -> set[str]:
    """What a link's fragment may name."""
    return {str(tag.get("id") or tag.get("name")) for tag in parsed(file).select("[id], [name]")}


def is_foreign(address: str) -> bool:
    return bool(urlsplit(address).netloc)


@pytest.mark.parametrize("name", ["index.html", *PAGES])
def test_page_exists(book: Path, name: str) -> None:
    assert (book / name).stat().st_size > 0


@pytest.mark.parametrize("name", PAGES)
def test_nothing_comes_from_another_host(book: Path, name: str) -> None:
    page = parsed(book / name)
    addresses = [
        tag[attribute] for tag_name, attribute in LOADS.items() for tag in page.select(f"{tag_name}[{attribute}]")
    ]
    styles = [*page.find_all("style"), *page.select("[style]")]
    css = "\n".join(tag.get("style") or tag.get_text() for tag in styles)
    addresses += [a or b for a, b in CSS_ADDRESS.findall(css)]
    assert len(addresses) > 10
    assert [address for address in addresses if is_foreign(address)] == []


def test_no_style_sheet_names_another_host(book: Path) -> None:
    sheets = list(book.rglob("*.css"))
    assert any(sheet.name == "book.css" for sheet in sheets)
    for sheet in sheets:
        found = [a or b for a, b in CSS_ADDRESS.findall(sheet.read_text(encoding="utf-8"))]
        assert [address for address in found if is_foreign(address)] == [], sheet


@pytest.mark.parametrize("name", PAGES)
def test_no_script_on_the_page_names_another_host(book: Path, name: str) -> None:
    scripts = [tag.get_text() for tag in parsed(book / name).select("script:not([src])")]
    assert scripts
    hosts = {host for text in scripts for host in re.findall(r"https?://([\w.-]+)", text)}
    assert hosts <= {"www.w3.org"}  # the names of XML namespaces; nothing is fetched from there


@pytest.mark.parametrize("name", PAGES)
def test_thebe_is_gone(book: Path, name: str) -> None:
    assert "thebe" not in (book / name).read_text(encoding="utf-8").lower()
    assert not (book / "_static" / "sphinx-thebe.js").exists()


@pytest.mark.parametrize("name", PAGES)
def test_every_local_address_leads_somewhere(book: Path, name: str) -> None:
    file = book / name
    page = parsed(file)
    addresses = [tag[key] for key in ("href", "src") for tag in page.select(f"[{key}]")]
    for address in map(str, addresses):
        parts = urlsplit(address)
        if parts.scheme or parts.netloc:
            continue
        target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
        assert target.is_file(), address
        if parts.fragment and target.suffix == ".html":
            assert unquote(parts.fragment) in anchors(target), address


@pytest.mark.parametrize("name", PAGES)
def test_ids_are_unique(book: Path, name: str) -> None:
    counts = Counter(tag["id"] for tag in parsed(book / name).select("article [id]"))
    assert [name for name, count in counts.items() if count > 1] == []


@pytest.mark.parametrize("name", CHAPTERS)
def test_formulas_use_the_local_mathjax(book: Path, name: str) -> None:
    page = parsed(book / name)
    scripts = [tag for tag in page.select("script[src]") if "mathjax" in str(tag["src"]).lower()]
    if not page.select(".math"):
        assert scripts == []  # a page without formulas loads nothing for them
        return
    (script,) = scripts
    file = (book / name).parent / urlsplit(str(script["src"])).path
    assert file.resolve() == book / "_static" / "mathjax" / "tex-chtml.js"
    assert file.is_file()


def bare(source: str) -> str:
    """The code without its docstrings, as ``:no-docstring:`` shows it."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            del node.body[0]
    return ast.unparse(tree)


def test_shown_code_is_the_package_s(book: Path) -> None:
    shown = 0
    for name in CHAPTERS:
        for block in parsed(book / name).select(".definition"):
            dotted = block.select_one(".code-block-caption").get_text().strip().rstrip("#")  # type: ignore[union-attr]
            source = textwrap.dedent(inspect.getsource(inspect.unwrap(resolve_name(dotted)))).strip()
            code = block.select_one("pre").get_text().strip()  # type: ignore[union-attr]
            assert code == source or bare(code) == bare(source)
            shown += 1
    assert shown >= 2


@pytest.mark.parametrize("name", CHAPTERS)
def test_widget_code_stands_once_a_page(book: Path, name: str) -> None:
    page = parsed(book / name)
    modules = Counter((tag.name, tag["data-bertbook-module"]) for tag in page.select("[data-bertbook-module]"))
    assert set(modules.values()) <= {1}
    shown = shown_widgets((ROOT / name).with_suffix(".md").read_text(encoding="utf-8"))
    assert len(modules) == 2 * len(set(shown))  # a style and a script for each kind of widget
    # The static page holds the picture itself, no state of a Jupyter widget that needs a loader from elsewhere.
    assert not page.select('script[type^="application/vnd.jupyter"]')


@pytest.mark.parametrize("name", PAGES)
def test_every_picture_has_words(book: Path, name: str) -> None:
    page = parsed(book / name)
    assert [tag for tag in page.select("img") if not tag.get("alt")] == []
    assert [tag for tag in page.select("svg[role=img]") if not (tag.get("aria-label") or tag.find("title"))] == []


@pytest.mark.parametrize("name", CHAPTERS)
def test_no_error_is_on_the_page(book: Path, name: str) -> None:
    page = parsed(book / name)
    assert not page.select(".problematic, .system-message, .output.traceback, .output.stderr")
