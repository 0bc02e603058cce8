"""The built book, for every test that looks at it. It is built once: by the README's first command, or else here."""

import re
import subprocess
import sys
from pathlib import Path

import fresh
import yaml
from filelock import FileLock

from bertbook import viz
from bertbook.viz.embed import BookWidget

ROOT = Path(__file__).resolve().parent.parent


def readme_command(word: str) -> str:
    """The one command of README.md that makes a virtual environment and then runs ``word``."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (command,) = re.findall(rf"^python3 -m venv .*\b{re.escape(word)}\b.*$", text, re.MULTILINE)
    return str(command)


def is_fresh(root: Path) -> bool:
    """Whether ``_build/html`` came from these very sources, by a strict build without a warning."""
    mark = root / "_build" / fresh.MARK
    pages = (root / "_build" / "html" / "index.html").is_file()
    return pages and mark.is_file() and mark.read_text(encoding="utf-8").strip() == fresh.sources(root)


def built_book() -> Path:
    """``_build/html``, built now if it is missing or older than its sources. Of processes that need it at the same
    time, one builds it, and the others wait."""
    (ROOT / "_build").mkdir(exist_ok=True)
    with FileLock(ROOT / "_build" / "tests.lock"):
        if not is_fresh(ROOT):
            build = re.search(r"jupyter-book (.+)$", readme_command("jupyter-book"))
            assert build
            program = Path(sys.executable).with_name("jupyter-book")
            done = subprocess.run(
                [program, *build[1].split()], cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
            assert done.returncode == 0, f"the book does not build:\n{done.stdout[-6000:]}"
            assert is_fresh(ROOT), "the book built, but the sources changed meanwhile"
    return ROOT / "_build" / "html"


def chapters() -> list[str]:
    """The pages of ``_toc.yml`` that are notebooks, as ``book/attention``: all but the bibliography."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    names = [toc["root"], *(chapter["file"] for chapter in toc["chapters"])]
    return [name for name in names if name != "book/bibliography"]


def shown_widgets(code: str) -> list[str]:
    """The widgets of ``bertbook.viz`` that cells show, by class, in order: ``viz.AttentionSteps(…`` begins a line."""
    values = {name: getattr(viz, name) for name in viz.__all__}
    widgets = [name for name, value in values.items() if isinstance(value, type) and issubclass(value, BookWidget)]
    return re.findall(rf"^viz\.({'|'.join(widgets)})\(", code, re.MULTILINE)
