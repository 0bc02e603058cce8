"""The generated notebooks: fresh, plain, and running from the first cell to the last as they do on Colab."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import notebooks
import pytest
import yaml
from nbclient import NotebookClient
from nbformat import NotebookNode
from pages import Book, FlattenError

from tests.built_book import ROOT, shown_widgets

FILES = sorted((ROOT / "book" / "notebooks").glob("*.ipynb"))
RAW = {
    "directive": re.compile(r"^\s*(`{3,}|:{3,})\{", re.MULTILINE),
    "colon fence": re.compile(r"^:{3,}", re.MULTILINE),
    "role": re.compile(r"\{[a-z:]+\}`"),
    "label": re.compile(r"^\([\w-]+\)=$", re.MULTILINE),
    "relative link": re.compile(r"\]\((?!https?://|#)"),
}


def read(file: Path) -> NotebookNode:
    return nbformat.read(file, as_version=4)


def prose(notebook: NotebookNode) -> str:
    """All Markdown without its code, where anything may stand."""
    text = "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    return re.sub(r"^(`{3,})[^{\n]*\n.*?^\1$", "", text, flags=re.DOTALL | re.MULTILINE)


def test_there_is_one_for_each_chapter() -> None:
    assert {file.stem for file in FILES} >= {"index", "attention"}


def test_none_is_stale() -> None:
    assert notebooks.stale(ROOT) == [], "run: python scripts/notebooks.py"


def test_the_script_says_what_is_stale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "book").mkdir()
    (tmp_path / "_config.yml").write_text((ROOT / "_config.yml").read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: book/page\n", encoding="utf-8")
    (tmp_path / "book" / "references.bib").write_text("", encoding="utf-8")
    page = tmp_path / "book" / "page.md"
    page.write_text("---\nfile_format: mystnb\n---\n# Page\n\nText.\n", encoding="utf-8")
    made, extra = tmp_path / "book" / "notebooks" / "page.ipynb", tmp_path / "book" / "notebooks" / "gone.ipynb"
    monkeypatch.setattr(notebooks, "ROOT", tmp_path)

    def run(*arguments: str) -> int:
        monkeypatch.setattr(sys, "argv", ["notebooks.py", *arguments])
        return notebooks.main()

    assert run("--check") == 1
    assert "stale: book/notebooks/page.ipynb" in capsys.readouterr().err
    assert not made.exists()
    assert run() == 0
    first = made.read_bytes()
    assert run("--check") == 0

    page.write_text(page.read_text(encoding="utf-8") + "\nMore.\n", encoding="utf-8")
    extra.write_text("{}", encoding="utf-8")  # its chapter is gone
    assert run("--check") == 1
    assert "gone.ipynb" in capsys.readouterr().err
    assert run() == 0
    assert made.read_bytes() != first
    assert not extra.exists()

    page.write_text("---\nfile_format: mystnb\n---\n# Page\n\n```{mermaid}\n```\n", encoding="utf-8")
    assert run() == 1
    assert "book/page.md:6: unknown directive 'mermaid'" in capsys.readouterr().err


def test_the_command_in_a_fresh_process_agrees() -> None:
    """Nothing in the files depends on the process: hash seeds, the working directory."""
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    script = ROOT / "scripts" / "notebooks.py"
    done = subprocess.run([sys.executable, script, "--check"], cwd=ROOT / "tests", env=environment, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()


def small_page(tmp_path: Path, text: str) -> list[NotebookNode]:
    """The cells made of a page ``text`` under the book's own configuration."""
    (tmp_path / "book").mkdir()
    (tmp_path / "_config.yml").write_text((ROOT / "_config.yml").read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: book/page\n", encoding="utf-8")
    (tmp_path / "book" / "references.bib").write_text("", encoding="utf-8")
    (tmp_path / "book" / "page.md").write_text(f"---\nfile_format: mystnb\n---\n{text}", encoding="utf-8")
    (made,) = notebooks.make_all(tmp_path).values()
    return list(nbformat.reads(made, as_version=4).cells)


def test_a_label_above_the_title_stays_there(tmp_path: Path) -> None:
    title, _, rest = small_page(tmp_path, "(top)=\n# Page\n\nFirst.\n\nSecond.\n")
    assert title.source.startswith('<a name="top"></a>\n\n# Page\n\n*From the book')
    assert rest.source == "First.\n\nSecond."


def test_tags_stay_and_equal_cells_have_ids_of_their_own(tmp_path: Path) -> None:
    cell = "```{code-cell} ipython3\n:tags: [hide-input]\n\n1\n```\n"
    _, _, first, second = small_page(tmp_path, f"# Page\n\n{cell}\n{cell}")
    assert first.source == second.source == "1"
    assert first.metadata.tags == ["hide-input"]
    assert first.id != second.id


def test_a_raw_cell_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FlattenError, match=r"book/page\.md:6: a raw cell"):
        small_page(tmp_path, "# Page\n\n```{raw-cell}\nx\n```\n")


def test_cell_ids_survive_an_edit_elsewhere() -> None:
    book = Book.read(ROOT)
    page = book.pages["book/attention.md"]
    before = json.loads(notebooks.make(book, page))["cells"]
    page.text = page.text.replace("## Check yourself", "A new paragraph.\n\n## Check yourself")
    after = json.loads(notebooks.make(book, page))["cells"]
    assert len(before) == len(after)
    assert sum(a["id"] != b["id"] for a, b in zip(before, after, strict=True)) == 1


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
class TestNotebook:
    def test_is_valid_and_empty_of_outputs(self, file: Path) -> None:
        notebook = read(file)
        nbformat.validate(notebook)
        for cell in notebook.cells:
            if cell.cell_type == "code":
                assert cell.outputs == []
                assert cell.execution_count is None

    def test_holds_no_raw_myst(self, file: Path) -> None:
        text = prose(read(file))
        assert {name: pattern.findall(text) for name, pattern in RAW.items() if pattern.search(text)} == {}

    def test_begins_with_its_title_and_the_install_cell(self, file: Path) -> None:
        first, second = read(file).cells[:2]
        url = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["repository"]["url"]
        assert first.cell_type == "markdown"
        assert first.source.startswith("# ")
        assert second.cell_type == "code"
        assert f'%pip install -q "bertbook @ git+{url}@' in second.source

    def test_has_the_chapter_s_cells(self, file: Path) -> None:
        chapter = (ROOT / "book" / f"{file.stem}.md").read_text(encoding="utf-8")
        cells = re.findall(
            r"^```\{code-cell\}[^\n]*\n(?::[^\n]*\n)*\n?(.*?)^```$", chapter, flags=re.DOTALL | re.MULTILINE
        )
        code = [cell.source for cell in read(file).cells if cell.cell_type == "code"]
        assert [cell.strip() for cell in cells] == [cell.strip() for cell in code[1:]]

    def test_runs_in_a_fresh_kernel(self, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """As on Colab: no static pages, another working directory, every cell from the top."""
        monkeypatch.delenv("BERTBOOK_STATIC", raising=False)
        notebook = read(file)
        NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
        outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
        assert [output for output in outputs if output.get("name") == "stderr"] == []
        bundles = [output["data"] for output in outputs if "data" in output]
        live = [bundle for bundle in bundles if "application/vnd.jupyter.widget-view+json" in bundle]
        code = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
        assert len(live) == len(shown_widgets(code))  # live where a kernel listens


def test_the_install_cell_installs_only_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run it in IPython with pip replaced: once where the package is there, once where it is not."""
    import importlib.util

    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    asked: list[str] = []
    shell.register_magic_function(asked.append, magic_name="pip")
    cell = read(FILES[0]).cells[1].source
    assert shell.run_cell(cell).success
    assert asked == []
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert shell.run_cell(cell).success
    (command,) = asked
    assert command.startswith('install -q "bertbook @ git+https://github.com/')
