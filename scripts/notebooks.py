"""Make book/notebooks/x.ipynb from every chapter book/x.md: no outputs, plain Markdown, ready for Colab.

python scripts/notebooks.py           write them
python scripts/notebooks.py --check   write nothing; fail and name the stale ones
"""

import argparse
import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
from myst_nb.core.read import read_myst_markdown_notebook
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "book" / "_ext"))

from flatten import Flattener  # noqa: E402
from inline import Inline  # noqa: E402
from pages import Book, FlattenError, Page, myst_config  # noqa: E402
from references import References  # noqa: E402
from repository import Repository  # noqa: E402

_INSTALL = """\
# Colab and other places where the package is not installed yet. Nothing happens where it is.
import importlib.util

if importlib.util.find_spec("bertbook") is None:
    %pip install -q "{requirement}"
"""


def make(book: Book, page: Page) -> str:
    """The notebook of one page, as the text of its file.

    Raises:
        FlattenError: the page holds something without a plain form; the message starts with path:line.
    """
    repository = Repository.from_config(book.root / "_config.yml")
    references = References(*(book.root / file for file in book.config.get("bibtex_bibfiles", [])))
    flattener = Flattener(Inline(book, page, repository, references))
    source = read_myst_markdown_notebook(page.text, config=myst_config(book.config), add_source_map=True)
    cells: list[NotebookNode] = []
    for line, cell in zip(source.metadata["source_map"], source.cells, strict=True):
        if cell.cell_type == "raw":
            raise FlattenError(f"{page.path}:{line}: a raw cell shows raw on Colab; write Markdown or code")
        if cell.cell_type == "code":
            cells.append(new_code_cell(cell.source, metadata=cell.metadata))
            continue
        if plain := flattener.flatten(cell.source, line + 1):
            cells.append(new_markdown_cell(plain))
    notebook = new_notebook(
        cells=list(_with_ids(_with_head(cells, book, page, repository))),
        metadata={
            "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
            "language_info": {"name": "python"},
        },
    )
    nbformat.validate(notebook)
    return nbformat.writes(notebook, version=4) + "\n"


def _with_head(cells: list[NotebookNode], book: Book, page: Page, repository: Repository) -> Iterator[NotebookNode]:
    """Title, install cell, then the chapter."""
    title, _, rest = cells[0].source.partition("\n")
    if not title.startswith("# "):
        # A label may stand above the title.
        anchor, title, rest = (part.strip() for part in (*cells[0].source.split("\n\n", 2), "")[:3])
        title = f"{anchor}\n\n{title}"
    home = f"[{book.config['title']}]({repository.url})"
    origin = f"[{page.path}]({repository.page(page.path)})"
    yield new_markdown_cell(
        f"{title}\n\n*From the book {home}; made from {origin}. Run the next cell first: "
        "it installs the book's package where it is missing.*"
    )
    yield new_code_cell(_INSTALL.format(requirement=repository.requirement).strip())
    if rest.strip():
        yield new_markdown_cell(rest.strip("\n"))
    yield from cells[1:]


def _with_ids(cells: Iterator[NotebookNode]) -> Iterator[NotebookNode]:
    """Ids from the contents, so that an edit changes one cell in the file and no other."""
    seen: dict[str, int] = {}
    for cell in cells:
        digest = hashlib.sha256(f"{cell.cell_type}\n{cell.source}".encode()).hexdigest()[:12]
        seen[digest] = seen.get(digest, 0) + 1
        cell["id"] = digest if seen[digest] == 1 else f"{digest}-{seen[digest]}"
        yield cell


def make_all(root: Path) -> dict[Path, str]:
    """File -> contents, for every page of the book that is a notebook."""
    book = Book.read(root)
    return {root / page.notebook: make(book, page) for page in book.pages.values() if page.is_notebook}


def stale(root: Path) -> list[Path]:
    """The notebooks that are missing, differ from their chapter, or have none."""
    made = make_all(root)
    differing = [file for file, text in made.items() if not file.is_file() or file.read_text(encoding="utf-8") != text]
    return differing + [file for file in sorted((root / "book" / "notebooks").glob("*.ipynb")) if file not in made]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, fail if a notebook is stale")
    check = parser.parse_args().check
    try:
        files = stale(ROOT)
        if check:
            for file in files:
                print(f"stale: {file.relative_to(ROOT)}", file=sys.stderr)
            if files:
                print("run: python scripts/notebooks.py", file=sys.stderr)
            return 1 if files else 0
        made = make_all(ROOT)
    except FlattenError as error:
        print(error, file=sys.stderr)
        return 1
    for file in files:
        if file in made:
            file.parent.mkdir(exist_ok=True)
            file.write_text(made[file], encoding="utf-8")
        else:
            file.unlink()
        print(f"{'wrote' if file in made else 'removed'} {file.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
