"""What the book consists of: its pages in order, their titles, and what can be referred to on each."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from docutils.parsers.rst import Directive, directives
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from myst_nb.core.read import is_myst_markdown_notebook
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.directives import DirectiveParsingResult, parse_directive_text
from myst_parser.parsers.mdit import create_md_parser

_DIRECTIVE = re.compile(r"^\{([^\s{}]+)\}\s*(.*)$")


class FlattenError(ValueError):
    """A page holds something that has no plain Markdown; the message says where and what to do."""


@dataclass
class Page:
    """One page: ``targets`` maps each label on it to the words a reference shows."""

    path: str  # book/attention.md, from the repository's root
    text: str
    title: str
    targets: dict[str, str] = field(default_factory=dict)

    @property
    def is_notebook(self) -> bool:
        return is_myst_markdown_notebook(self.text)

    @property
    def notebook(self) -> str:
        """book/notebooks/attention.ipynb"""
        path = Path(self.path)
        return (path.parent / "notebooks" / path.with_suffix(".ipynb").name).as_posix()

    @property
    def shown(self) -> str:
        """The file that reads best on the repository's site."""
        return self.notebook if self.is_notebook else self.path


@dataclass
class Book:
    """Everything a page may refer to."""

    root: Path
    pages: dict[str, Page]  # by path, in reading order
    config: dict[str, Any]

    @classmethod
    def read(cls, root: Path) -> "Book":
        """Read the configuration, the table of contents and every page in it."""
        config = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
        parser = markdown_parser(config)
        pages = {}
        for name in _files(yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))):
            path = f"{name}.md"
            pages[path] = _read_page(path, (root / path).read_text(encoding="utf-8"), parser)
        return cls(root, pages, config)

    def find(self, label: str) -> tuple[Page, str]:
        """The page that has ``label``, and the words to show for it."""
        for page in self.pages.values():
            if label in page.targets:
                return page, page.targets[label]
        known = ", ".join(sorted(label for page in self.pages.values() for label in page.targets))
        raise FlattenError(f"unknown label {label!r}; the book has: {known or 'none'}")


def myst_config(config: dict[str, Any]) -> MdParserConfig:
    """The Markdown dialect that _config.yml turns on."""
    return MdParserConfig(enable_extensions=set(config["parse"]["myst_enable_extensions"]))


def markdown_parser(config: dict[str, Any]) -> MarkdownIt:
    """The parser that the build uses for the same text."""
    return create_md_parser(myst_config(config), RendererHTML)


def directive_of(token: Token) -> tuple[str, str] | None:
    """Name and first line of a directive, or None for any other block."""
    if token.type not in ("fence", "colon_fence"):
        return None
    match = _DIRECTIVE.match(token.info.strip())
    return (match[1], match[2].strip()) if match else None


class _AnyOption(dict[str, Any]):
    def __missing__(self, name: str) -> Any:
        return directives.unchanged


class WithArgument(Directive):
    """Read as the build reads a directive that takes an argument on its first line; any option passes."""

    optional_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec = _AnyOption(name=directives.unchanged)


class WithoutArgument(WithArgument):
    """The same for one whose text may start on the first line."""

    optional_arguments = 0


def read_directive(kind: type[Directive], first_line: str, content: str) -> DirectiveParsingResult:
    """Split a directive into argument, options and body, by MyST's own reader."""
    result = parse_directive_text(kind, first_line, content)
    if result.warnings:
        raise FlattenError(f"directive not understood: {result.warnings[0].msg}")
    return result


def _files(entry: Any) -> list[str]:
    """The pages named in a table of contents, in reading order."""
    if isinstance(entry, list):
        return [name for item in entry for name in _files(item)]
    if not isinstance(entry, dict):
        return []
    own = [entry[key] for key in ("root", "file") if key in entry]
    return own + [name for value in entry.values() for name in _files(value)]


def _read_page(path: str, text: str, parser: MarkdownIt) -> Page:
    tokens = parser.parse(text)
    headings = [
        tokens[i + 1].content for i, token in enumerate(tokens) if token.type == "heading_open" and token.tag == "h1"
    ]
    if len(headings) != 1:
        raise FlattenError(f"{path}: {len(headings)} headings of the first level; a page has one, its title")
    return Page(path, text, headings[0], dict(_targets(tokens, parser)))


def _targets(tokens: list[Token], parser: MarkdownIt) -> list[tuple[str, str]]:
    """Every label on a page, with the words to show: the heading, the caption, or the equation's number."""
    found: list[tuple[str, str]] = []
    equations = 0
    for i, token in enumerate(tokens):
        directive = directive_of(token)
        if token.type == "myst_target":
            following = tokens[i + 1 : i + 3]
            is_heading = len(following) == 2 and following[0].type == "heading_open"
            found.append((token.content, following[1].content if is_heading else "here"))
        elif token.type == "math_block_label":
            equations += 1
            found.append((token.info, f"({equations})"))
        elif directive:
            name, first_line = directive
            label = re.search(r"^:(?:name|label):\s*(\S+)\s*$", token.content, re.MULTILINE)
            if label and name == "math":
                equations += 1
                found.append((label[1], f"({equations})"))
            elif label and name in ("figure", "table"):
                body = read_directive(WithArgument, first_line, token.content).body
                found.append((label[1], first_line if name == "table" else " ".join(body).split("\n\n")[0]))
            else:
                found += _targets(parser.parse(token.content), parser)
    return found
