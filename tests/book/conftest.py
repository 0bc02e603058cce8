"""A small book to break."""

import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import yaml

from tests.built_book import ROOT

HEADER = "---\nfile_format: mystnb\nkernelspec:\n  name: python3\n---\n\n"
BIBLIOGRAPHY = """\
@article{ada1843notes,
  author = {Lovelace, Ada}, title = {Notes}, journal = {Memoirs}, year = {1843}, doi = {10.1/abc}
}
"""


@pytest.fixture
def tiny_book(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """``tiny_book({name: text, ...})`` builds a book of these pages in ``tmp_path`` with the real configuration,
    strictly, as the README says. The page ``index`` comes first; called again, it builds again on top."""

    def build(pages: Mapping[str, str], env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
        config["sphinx"]["local_extensions"] = {"definition": str(ROOT / "book" / "_ext")}
        config["sphinx"]["config"] |= {"html_static_path": [], "html_css_files": []}
        config["bibtex_bibfiles"] = ["book/references.bib"]
        del config["html"]
        others = [{"file": f"book/{name}"} for name in pages if name != "index"]
        toc = {"format": "jb-book", "root": "book/index"} | ({"chapters": others} if others else {})
        (tmp_path / "book").mkdir(exist_ok=True)
        (tmp_path / "book" / "references.bib").write_text(BIBLIOGRAPHY, encoding="utf-8")
        (tmp_path / "_config.yml").write_text(yaml.safe_dump(config), encoding="utf-8")
        (tmp_path / "_toc.yml").write_text(yaml.safe_dump(toc), encoding="utf-8")
        for name, text in pages.items():
            (tmp_path / "book" / f"{name}.md").write_text(HEADER + text, encoding="utf-8")
        return subprocess.run(
            [Path(sys.executable).with_name("jupyter-book"), "build", "-W", "-n", "--keep-going", "."],
            cwd=tmp_path,
            env=env,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    return build
