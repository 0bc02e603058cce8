"""Each directive, role and link as plain Markdown; and the refusal of everything else."""

from collections.abc import Callable
from pathlib import Path

import pytest
from flatten import Flattener
from inline import Inline
from pages import Book, FlattenError, markdown_parser
from references import References
from repository import Repository

SITE = "https://github.com/someone/some-book"
CONFIG = f"""\
title: Some book
repository: {{url: "{SITE}", branch: trunk}}
bibtex_bibfiles: [book/references.bib]
parse: {{myst_enable_extensions: [amsmath, colon_fence, deflist, dollarmath]}}
"""
REFERENCES = """\
@article{one, author = {Lovelace, Ada},
  title = {Notes}, journal = {Memoirs}, year = {1843}, url = {https://example.org/1}}
@article{two, author = {Gauss, Carl and von Neumann, John},
  title = {Sums}, journal = {J}, year = {1945}, doi = {10.1/x}}
@book{three, author = {A, B and C, D and E, F}, title = {Three}, publisher = {P}, year = {2000}}
"""
NOTEBOOK = "---\nfile_format: mystnb\nkernelspec: {name: python3}\n---\n\n"
OTHER = NOTEBOOK + "(far)=\n# The *other* page\n\n(deep)=\n## Deeper\n"
PLAIN_PAGE = "# Plain page\n"
CODE = "import os\n\n\ndef first():\n    return 1\n\n\ndef second():\n    return 2\n"

Flatten = Callable[[str], str]


@pytest.fixture
def flatten(tmp_path: Path) -> Flatten:
    """Flatten a text that stands under the title of the page book/page.md of a small book."""
    (tmp_path / "book" / "assets").mkdir(parents=True)
    files = {
        "_config.yml": CONFIG,
        "_toc.yml": "format: jb-book\nroot: book/page\nchapters: [{file: book/other}, {file: book/plain}]\n",
        "book/other.md": OTHER,
        "book/plain.md": PLAIN_PAGE,
        "book/references.bib": REFERENCES,
        "book/assets/a b.png": "",
        "book/code.py": CODE,
        "setup.cfg": "",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")

    def run(text: str) -> str:
        (tmp_path / "book" / "page.md").write_text(f"{NOTEBOOK}# Page\n\n{text}\n", encoding="utf-8")
        book = Book.read(tmp_path)
        repository = Repository.from_config(tmp_path / "_config.yml")
        inline = Inline(book, book.pages["book/page.md"], repository, References(tmp_path / "book" / "references.bib"))
        return Flattener(inline).flatten(text)

    return run


UNCHANGED = [
    "Plain *words*, `code`, **strong** [a link](https://example.org/x.md), <https://example.org>.",
    "## Heading\n\n- one\n- two\n  - three\n\n1. first\n\n> quoted\n\n---\n\n| a | b |\n|---|---|\n| 1 | 2 |",
    "Inline $a_{i}^{2}$ and\n\n$$\n\\frac{a}{b}\n$$\n\nand\n\n\\begin{align}\na &= b\n\\end{align}",
    "```python\nprint('{ref}`x`')  # (label)=\n```",
    "Literal `` {ref}`far` `` and `{note}` stay.",
    "    indented = code",
    '<div class="x">raw <a href="https://example.org">html</a></div>',
    "Chinese 今天天气很好，and “quotes”.",
]
FLATTENED = {
    "note": ("```{note}\nBe *careful*.\n```", "> **Note**\n>\n> Be *careful*."),
    "note on one line": ("```{tip} Short.\n```", "> **Tip**\n>\n> Short."),
    "colon fence": (":::{seealso}\nThat.\n:::", "> **See also**\n>\n> That."),
    "admonition": (
        ":::{admonition} Often *told* wrong\n:class: warning\nNo.\n\nReally.\n:::",
        "> **Often *told* wrong**\n>\n> No.\n>\n> Really.",
    ),
    "formula in a quote": (":::{note}\n$$\na\n= b\n$$\n:::", "> **Note**\n>\n> $$a = b$$"),
    "dropdown": (
        ":::{dropdown} A `nice` solution\n:icon: x\nWith $x$.\n:::",
        "<details>\n<summary>A <code>nice</code> solution</summary>\n\nWith $x$.\n\n</details>",
    ),
    "admonition that folds": (
        ":::{admonition} More\n:class: note dropdown\nText.\n:::",
        "<details>\n<summary>More</summary>\n\nText.\n\n</details>",
    ),
    "nested": (
        "::::{dropdown} Out\n\n:::{note}\nIn {doc}`plain`.\n:::\n::::",
        "<details>\n<summary>Out</summary>\n\n> **Note**\n>\n"
        f"> In [Plain page]({SITE}/blob/trunk/book/plain.md).\n\n</details>",
    ),
    "in a list": ("- one\n\n  ```{note}\n  In.\n  ```\n\n- two", "- one\n\n  > **Note**\n  >\n  > In.\n\n- two"),
    "literalinclude": (
        "```{literalinclude} code.py\n:pyobject: second\n```",
        "```python\ndef second():\n    return 2\n```",
    ),
    "blank lines in code stay": (
        "```{literalinclude} code.py\n:start-at: def first\n```",
        "```python\ndef first():\n    return 1\n\n\ndef second():\n    return 2\n```",
    ),
    "two in a row": (
        "```{note} One.\n```\n```{tip} Two.\n```\ntext",
        "> **Note**\n>\n> One.\n\n> **Tip**\n>\n> Two.\n\ntext",
    ),
    "literalinclude with a language": (
        "```{literalinclude} code.py\n:language: text\n:lines: 1\n```",
        "```text\nimport os\n```",
    ),
    "code-block": ("```{code-block} sh\n:caption: c\nls\n```", "```sh\nls\n```"),
    "fence in a fence": ("````{code-block} md\n```\nx\n```\n````", "````md\n```\nx\n```\n````"),
    "figure": (
        "```{figure} assets/a b.png\n:alt: a picture\n:name: fig\n:width: 3em\n\nThe *caption*.\n```",
        f'<a name="fig"></a>\n\n![a picture]({SITE}/raw/trunk/book/assets/a%20b.png)\n\nThe *caption*.',
    ),
    "image": (
        "```{image} https://example.org/a.png\n:alt: away\n```",
        "![away](https://example.org/a.png)",
    ),
    "inline image": ("![seen](<assets/a b.png>)", f"![seen]({SITE}/raw/trunk/book/assets/a%20b.png)"),
    "math": ("```{math}\na = b\n```", "$$\na = b\n$$"),
    "numbered formulas": (
        "$$\na\n$$ (eq-a)\n\n```{math}\n:label: eq-b\nb\n```\n\nBy {eq}`eq-b`.",
        '<a name="eq-a"></a>\n\n$$\na \\tag{1}\n$$\n\n<a name="eq-b"></a>\n\n$$\nb \\tag{2}\n$$\n\nBy [(2)](#eq-b).',
    ),
    "table": (
        "```{table} Sizes\n:name: tab\n| a |\n|---|\n| 1 |\n```",
        '<a name="tab"></a>\n\nSizes\n\n| a |\n|---|\n| 1 |',
    ),
    "tabs": (
        "::::{tab-set}\n\n:::{tab-item} CPU\nSlow.\n:::\n:::{tab-item} GPU\nFast.\n:::\n::::",
        "**CPU**\n\nSlow.\n\n**GPU**\n\nFast.",
    ),
    "contents": (
        "```{tableofcontents}\n```",
        f"- [The *other* page]({SITE}/blob/trunk/book/notebooks/other.ipynb)\n"
        f"- [Plain page]({SITE}/blob/trunk/book/plain.md)",
    ),
    "label": (
        "(here)=\n## A heading\n\nBack {ref}`here`.",
        '<a name="here"></a>\n\n## A heading\n\nBack [A heading](#here).',
    ),
    "comment": ("one\n\n% not for readers\n\ntwo", "one\n\ntwo"),
    "definition list": ("word\n: its *meaning*", "**word**\n\n- its *meaning*"),
    "ref elsewhere": ("{ref}`deep`", f"[Deeper]({SITE}/blob/trunk/book/notebooks/other.ipynb)"),
    "ref with words": ("{ref}`these words <far>`", f"[these words]({SITE}/blob/trunk/book/notebooks/other.ipynb)"),
    "doc": ("{doc}`other`", f"[The *other* page]({SITE}/blob/trunk/book/notebooks/other.ipynb)"),
    "link to a page": ("[go](other.md)", f"[go]({SITE}/blob/trunk/book/notebooks/other.ipynb)"),
    "link to a place": ("[go](other.md#deep)", f"[go]({SITE}/blob/trunk/book/notebooks/other.ipynb)"),
    "link without words": ("[](other.md#deep)", f"[Deeper]({SITE}/blob/trunk/book/notebooks/other.ipynb)"),
    "link to a label": ("[go](far)", f"[go]({SITE}/blob/trunk/book/notebooks/other.ipynb)"),
    "link to a file": ("[setup](../setup.cfg)", f"[setup]({SITE}/blob/trunk/setup.cfg)"),
    "link with code": ("[`go`](plain.md)", f"[`go`]({SITE}/blob/trunk/book/plain.md)"),
    "cite": (
        "So {cite}`one,two`.",
        "So ([Lovelace, 1843](https://example.org/1); [Gauss and von Neumann, 1945](https://doi.org/10.1/x)).",
    ),
    "cite:p": ("{cite:p}`three`", "(A et al., 2000)"),
    "cite:t": ("{cite:t}`one` and {cite:t}`three`", "Lovelace ([1843](https://example.org/1)) and A et al. (2000)"),
    "bibliography": (
        "{cite}`two`\n\n```{bibliography}\n:filter: docname in docnames\n```",
        "([Gauss and von Neumann, 1945](https://doi.org/10.1/x))\n\n- Carl Gauss and John von Neumann\\.",
    ),
    "bar in a table": ("| a |\n|---|\n| `x \\| y` {sub}`1` |", "| a |\n|---|\n| `x \\| y` <sub>1</sub> |"),
    "numref": (
        "```{figure} assets/a b.png\n:alt: x\n:name: fig\n\nWho looks\n```\n\n{numref}`fig`",
        f'<a name="fig"></a>\n\n![x]({SITE}/raw/trunk/book/assets/a%20b.png)\n\nWho looks\n\n[Who looks](#fig)',
    ),
    "small roles": ("{sub}`2` {sup}`3` {kbd}`Esc` {math}`x^2`", "<sub>2</sub> <sup>3</sup> <kbd>Esc</kbd> $x^2$"),
    "role after its own picture in code": ("`{sub}`2`` and {sub}`2`", "`{sub}`2`` and <sub>2</sub>"),
    "role over two lines": (
        "a {ref}`these\nwords <far>` b",
        f"a [these words]({SITE}/blob/trunk/book/notebooks/other.ipynb) b",
    ),
    "role in a table": (
        "| a | b |\n|---|---|\n| {sub}`1` | {sub}`1` |",
        "| a | b |\n|---|---|\n| <sub>1</sub> | <sub>1</sub> |",
    ),
    "role in a quote": (
        "> {sub}`1` and\n> {doc}`other`",
        f"> <sub>1</sub> and\n> [The *other* page]({SITE}/blob/trunk/book/notebooks/other.ipynb)",
    ),
}
REFUSED = {
    "directive": ("text\n\n```{mermaid}\nx\n```", "page.md:3: unknown directive 'mermaid'; scripts/flatten.py knows "),
    "nested directive": (":::{note}\n```{mermaid}\n```\n:::", "page.md:1: unknown directive 'mermaid'"),
    "cell in a directive": ("::::{note}\n```{code-cell}\n1\n```\n::::", "unknown directive 'code-cell'"),
    "role": ("{download}`x`", "unknown role 'download'"),
    "citation": ("{cite}`four`", "unknown reference 'four'; the bibliography has: one, three, two"),
    "label": ("{ref}`gone`", "unknown label 'gone'; the book has: deep, far"),
    "page": ("[x](gone.md)", "there is no file 'book/gone.md'"),
    "page outside the contents": ("[x](notes.md)", "there is no file"),
    "file": ("[x](../gone.py)", "there is no file 'gone.py'"),
    "picture": ("![alt](gone.png)", "there is no file 'book/gone.png'"),
    "picture without words": ("![](<assets/a b.png>)", "has no alternative text"),
    "figure without words": ("```{figure} assets/a b.png\n```", "has no alternative text"),
    "definition": ("```{definition} bertbook.nothing\n```", "there is no 'bertbook.nothing'"),
    "numbered figure": ("{numref}`Figure %s <far>`", "a notebook has no numbers, give it words"),
    "footnote": ("a[^1]\n\n[^1]: note", "no plain Markdown for"),
    "relative html": ('<img src="x.png">', "relative address in HTML"),
    "relative html inside": ('so <img src="x.png"> so', "relative address in HTML"),
    "broken options": ("```{note}\n:::x\n```", "directive not understood"),
}  # fmt: skip


@pytest.mark.parametrize("text", UNCHANGED)
def test_plain_markdown_stays_as_it_is(flatten: Flatten, text: str) -> None:
    assert flatten(text) == text


@pytest.mark.parametrize("name", FLATTENED)
def test_flattened(flatten: Flatten, name: str) -> None:
    text, plain = FLATTENED[name]
    if name == "bibliography":
        assert flatten(text).startswith(plain)
    else:
        assert flatten(text) == plain


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_place_and_reason(flatten: Flatten, name: str) -> None:
    text, said = REFUSED[name]
    with pytest.raises(FlattenError) as raised:
        flatten(text)
    assert said in str(raised.value)
    assert str(raised.value).startswith("book/page.md:")


def test_definition_is_the_package_s_source(flatten: Flatten) -> None:
    import inspect

    from bertbook.config import BertConfig

    plain = flatten("```{definition} bertbook.config.BertConfig\n```")
    head = f"[`bertbook.config.BertConfig`]({SITE}/blob/trunk/bertbook/config.py):"
    assert plain == f"{head}\n\n```python\n{inspect.getsource(BertConfig).rstrip()}\n```"
    assert '"""' not in flatten("```{definition} bertbook.config.BertConfig\n:no-docstring:\n```")


def test_a_page_has_one_title() -> None:
    from pages import _read_page

    parser = markdown_parser({"parse": {"myst_enable_extensions": []}})
    with pytest.raises(FlattenError, match=r"book/x\.md: 2 headings of the first level"):
        _read_page("book/x.md", "# One\n\n# Two\n", parser)


@pytest.mark.parametrize("url", ["https://example.org/a/b", "https://github.com/a", "https://github.com/a/b/"])
def test_the_repository_must_be_one_that_colab_opens(url: str) -> None:
    with pytest.raises(ValueError, match=r"expected https://github\.com/<owner>/<name>"):
        Repository(url, "main")
