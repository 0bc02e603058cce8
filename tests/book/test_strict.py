"""Small books with the real configuration: a good one is right in every detail, one with a fault does not build."""

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import fresh
import pytest

Build = Callable[..., subprocess.CompletedProcess[str]]

CELL = "```{{code-cell}} ipython3\n{}\n```\n"
SHOW = 'HTML(\'<style data-bertbook-module="m">p{}</style><p>shown</p><script data-bertbook-module="m">1</script>\')'
WIDGETS = CELL.format(f"from IPython.display import HTML, display\ndisplay({SHOW}, {SHOW})") + CELL.format(SHOW)
BIBLIOGRAPHY = "```{bibliography}\n```"
GOOD = f"""\
# A page

By {{cite:t}}`ada1843notes`: $x^2$.

```{{definition}} bertbook.config.BertConfig
```

{CELL.format("import os; print('static:', os.environ['BERTBOOK_STATIC'])")}
{WIDGETS}
{BIBLIOGRAPHY}
"""
FAULTS = {
    "definition": (
        "```{definition} bertbook.config.Bart\n```",
        "there is no 'bertbook.config.Bart'. bertbook/config.py",
    ),
    "module": ("```{definition} bertbook.config\n```", "'bertbook.config' is a whole module. bertbook/config.py"),
    "citation": ("{cite}`babbage1864`", 'could not find bibtex key "babbage1864"'),
    "label": ("{ref}`nowhere`", "undefined label: 'nowhere'"),
    "link": ("[there](nowhere.md)", "'nowhere.md'"),
    "stderr": (CELL.format("import warnings; warnings.warn('odd')"), "stderr was found in the cell outputs"),
}


def test_a_good_book(tiny_book: Build, tmp_path: Path) -> None:
    notebooks = tmp_path / "book" / "notebooks"
    notebooks.mkdir(parents=True)
    (notebooks / "two.ipynb").write_text("{}", encoding="utf-8")
    done = tiny_book({"index": GOOD, "two": f"# Two\n\n{WIDGETS}"})
    assert done.returncode == 0, done.stdout
    html = tmp_path / "_build" / "html"
    one, two = ((html / "book" / f"{name}.html").read_text(encoding="utf-8") for name in ("index", "two"))

    assert "static: 1" in one  # the kernel knows that its outputs will stand in a page
    assert "Lovelace" in one
    for page in (one, two):  # each widget's code once a page, whatever the number of widgets
        assert page.count("<p>shown</p>") == 3
        assert page.count('<style data-bertbook-module="m">p{}</style>') == 1
        assert page.count('<script data-bertbook-module="m">1</script>') == 1

    assert "colab-button" not in one  # it has no notebook
    assert "download-notebook-button" not in one
    assert "colab-button" in two
    assert 'href="../notebooks/two.ipynb"' in two
    assert (html / "notebooks" / "two.ipynb").read_text(encoding="utf-8") == "{}"

    mark = tmp_path / "_build" / fresh.MARK
    assert mark.read_text(encoding="utf-8").strip() == fresh.sources(tmp_path)
    (tmp_path / "book" / "index.md").write_text("# Changed\n", encoding="utf-8")
    assert mark.read_text(encoding="utf-8").strip() != fresh.sources(tmp_path)


def test_each_fault_fails_the_build_and_the_next_one(tiny_book: Build, tmp_path: Path) -> None:
    pages = {"index": f"# Faults\n\n{BIBLIOGRAPHY}\n"} | {
        name: f"# {name}\n\n{text}\n" for name, (text, _) in FAULTS.items()
    }
    for _ in range(2):  # Sphinx by itself forgets a warning once the page is stored
        done = tiny_book(pages)
        assert done.returncode != 0
        for name, (_, said) in FAULTS.items():
            assert re.search(rf"book/{name}\.md.*(WARNING|ERROR): .*{re.escape(said)}", done.stdout), done.stdout
        assert not (tmp_path / "_build" / fresh.MARK).exists()


def test_a_cell_that_raises_fails_the_build_and_the_next_one(tiny_book: Build, tmp_path: Path) -> None:
    for _ in range(2):
        done = tiny_book({"index": f"# A page\n\n{CELL.format('1 / 0')}"})
        assert done.returncode != 0
        assert "ZeroDivisionError" in done.stdout
        assert not (tmp_path / "_build" / fresh.MARK).exists()


def test_a_change_in_the_package_reaches_the_page(tiny_book: Build, tmp_path: Path) -> None:
    package = tmp_path / "site" / "bertbook"  # stands before the real one on the path
    package.mkdir(parents=True)
    env = {**os.environ, "PYTHONPATH": str(package.parent)}
    page = "# A page\n\n```{definition} bertbook.answer\n```\n\n" + CELL.format("import bertbook; bertbook.answer()")
    built = tmp_path / "_build" / "html" / "book" / "index.html"
    source, output = '<span class="mi">{}</span>', "<pre><span></span>{}\n</pre>"

    def build(answer: int, more: str = "") -> str:
        (package / "__init__.py").write_text(f"def answer() -> int:\n    return {answer}\n", encoding="utf-8")
        done = tiny_book({"index": page + more}, env)
        assert done.returncode == 0, done.stdout
        html = built.read_text(encoding="utf-8")
        assert source.format(answer) in html
        assert output.format(answer) in html
        return done.stdout

    assert "Executed notebook" in build(41)
    assert "Executed notebook" not in build(41, "\nOne more word.\n")  # text alone runs no cell
    assert "Executed notebook" in build(42, "\nOne more word.\n")
    assert len(list((tmp_path / "_build" / ".jupyter_cache").iterdir())) == 1  # the old outputs are gone


@pytest.mark.parametrize("word", ["jupyter-book", "pytest"])
def test_readme_has_the_two_commands(word: str) -> None:
    from tests.built_book import readme_command

    command = readme_command(word)
    assert command.startswith("python3 -m venv .venv && .venv/bin/pip install -q -r requirements.txt -e . && ")
    if word == "jupyter-book":  # strict, or a warning would pass
        assert command.endswith(".venv/bin/jupyter-book build -W -n --keep-going .")
