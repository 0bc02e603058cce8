"""MyST Markdown -> plain Markdown that reads well in Colab, JupyterLab and VS Code, where MyST shows raw."""

import re
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import ClassVar

from docutils.parsers.rst import Directive
from inline import Edit, Inline, check_html
from markdown_it import MarkdownIt
from markdown_it.token import Token
from myst_parser.parsers.directives import DirectiveParsingResult
from package_source import UnknownDefinitionError, find_definition
from pages import FlattenError, WithArgument, WithoutArgument, directive_of, markdown_parser, read_directive
from sphinx.config import Config
from sphinx.directives.code import LiteralInclude, LiteralIncludeReader

_ADMONITIONS = (
    "attention", "caution", "danger", "error", "hint", "important", "note", "seealso", "tip", "warning",
)  # fmt: skip
_TITLES = {"seealso": "See also"}
# Blocks that plain Markdown has too; what is inside them is visited by its own tokens.
_PLAIN = re.compile(
    r"^(paragraph|heading|bullet_list|ordered_list|list_item|blockquote|table|thead|tbody|tr|th|td|dl)_(open|close)$"
    r"|^(hr|code_block|math_block|amsmath)$"
)


class Flattener:
    """Flattens the Markdown of one page, cell by cell."""

    def __init__(self, inline: Inline) -> None:
        self.inline = inline
        self.parser: MarkdownIt = markdown_parser(inline.book.config)

    def flatten(self, text: str, line: int = 1) -> str:
        """The same text without directives, roles, labels or relative addresses.

        Args:
            line: where the text starts in its file, for the errors.

        Raises:
            FlattenError: for anything that has no counterpart here; the message starts with path:line.
        """
        tokens = self.parser.parse(text)
        offsets = [0, *accumulate(len(line) for line in text.splitlines(keepends=True))]
        offsets += [len(text)] * 2  # the parser may count one line past the end
        edits: list[Edit] = []
        cursor = 0
        for token in tokens:
            start, end = (offsets[number] for number in token.map or (0, 0))
            try:
                if token.type == "inline":
                    found = list(self.inline.edits(token.children or [], text, max(start, cursor), end))
                    cursor = max([cursor, *(edit.end for edit in found)])
                else:
                    found = list(self._block(token, text, start, end))
            except (FlattenError, UnknownDefinitionError) as error:
                if not line:  # inside a directive, whose own place in the file is the one to name
                    raise
                raise FlattenError(f"{self.inline.page.path}:{(token.map or [0])[0] + line}: {error}") from error
            edits += found
        for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
            text = text[: edit.start] + edit.text + text[edit.end :]
        return text.strip("\n")

    def _block(self, token: Token, text: str, start: int, end: int) -> Iterator[Edit]:
        directive = directive_of(token)
        if directive:
            prefix = text[start : text.index("`" if token.type == "fence" else ":", start)]
            if prefix.strip():
                raise FlattenError(
                    f"directive {directive[0]!r} behind {prefix.strip()!r}; start it on a line of its own"
                )
            plain = self._directive(*directive, token.content).strip("\n")
            lines = [f"{prefix}{line}".rstrip() + "\n" for line in plain.splitlines()]
            apart = "" if text[end : end + 1] in ("", "\n") else "\n"  # Markdown blocks need a blank line between
            yield Edit(start, end, "".join(lines) + apart)
        elif token.type == "myst_target":
            yield Edit(start, end, f'<a name="{token.content}"></a>\n\n')
        elif token.type == "myst_line_comment":
            yield Edit(start, end + (text[end : end + 1] == "\n"), "")
        elif token.type == "math_block_label":
            yield Edit(start, end, self._display(token.content, token.info) + "\n")
        elif token.type == "html_block":
            check_html(token.content)
        elif token.type == "dt_open":
            term, _, _ = text[start:].partition("\n")
            yield Edit(start, start + len(term) + 1, f"**{term}**\n\n")
        elif token.type == "dd_open":
            yield Edit(text.index(":", start), text.index(":", start) + 1, "-")
        elif token.type == "fence":
            pass
        elif not _PLAIN.match(token.type) and token.type not in ("dl_open", "dl_close", "dt_close", "dd_close"):
            raise FlattenError(f"no plain Markdown for {token.type!r}: {token.content.strip()[:60]!r}")

    def _directive(self, name: str, first_line: str, content: str) -> str:
        if name in _ADMONITIONS:
            body = read_directive(WithoutArgument, first_line, content).body
            return self._quote(_TITLES.get(name, name.capitalize()), body)
        if name not in self._HANDLERS:
            known = ", ".join(sorted([*_ADMONITIONS, *self._HANDLERS]))
            raise FlattenError(f"unknown directive {name!r}; scripts/flatten.py knows {known}")
        kind, handler = self._HANDLERS[name]
        return handler(self, read_directive(kind, first_line, content))

    def _nested(self, text: str) -> str:
        return self.flatten(text, line=0)

    def _body(self, lines: list[str]) -> str:
        return self._nested("\n".join(lines))

    def _quote(self, title: str, body: list[str]) -> str:
        # A display formula must not run over lines that start with ">": it would show the sign.
        plain = re.sub(r"\$\$(.+?)\$\$", lambda m: f"$${' '.join(m[1].split())}$$", self._body(body), flags=re.DOTALL)
        return "\n".join(f"> {line}".rstrip() for line in [f"**{title}**", "", *plain.splitlines()])

    def _admonition(self, parsed: DirectiveParsingResult) -> str:
        if "dropdown" in parsed.options.get("class", "").split():
            return self._details(parsed)
        return self._quote(self._nested(parsed.arguments[0]), parsed.body)

    def _details(self, parsed: DirectiveParsingResult) -> str:
        summary = self.parser.renderInline(self._nested(parsed.arguments[0]))
        return f"<details>\n<summary>{summary}</summary>\n\n{self._body(parsed.body)}\n\n</details>"

    def _definition(self, parsed: DirectiveParsingResult) -> str:
        definition = find_definition(parsed.arguments[0], docstrings="no-docstring" not in parsed.options)
        address = self.inline.repository.page(definition.path)
        return f"[`{definition.name}`]({address}):\n\n{_fence('python', definition.code)}"

    def _literalinclude(self, parsed: DirectiveParsingResult) -> str:
        file = self.inline.book.root / self.inline.file(parsed.arguments[0])
        code, _ = LiteralIncludeReader(str(file), parsed.options, Config()).read()
        return _fence(parsed.options.get("language") or ("python" if file.suffix == ".py" else ""), code)

    def _code_block(self, parsed: DirectiveParsingResult) -> str:
        return _fence(parsed.arguments[0] if parsed.arguments else "", "\n".join(parsed.body))

    def _figure(self, parsed: DirectiveParsingResult) -> str:
        if not parsed.options.get("alt"):
            raise FlattenError(f"picture {parsed.arguments[0]!r} has no alternative text: give it :alt:")
        picture = f"![{parsed.options['alt']}]({self.inline.picture(parsed.arguments[0])})"
        return f"{self._anchor(parsed)}{picture}\n\n{self._body(parsed.body)}"

    def _math(self, parsed: DirectiveParsingResult) -> str:
        label = parsed.options.get("label") or parsed.options.get("name", "")
        return self._display("\n".join(parsed.body), label)

    def _display(self, formula: str, label: str) -> str:
        if not label:
            return f"$$\n{formula.strip()}\n$$"
        number = self.inline.page.targets[label].strip("()")
        return f'<a name="{label}"></a>\n\n$$\n{formula.strip()} \\tag{{{number}}}\n$$'

    def _table(self, parsed: DirectiveParsingResult) -> str:
        caption = f"{self._nested(parsed.arguments[0])}\n\n" if parsed.arguments else ""
        return f"{self._anchor(parsed)}{caption}{self._body(parsed.body)}"

    def _transparent(self, parsed: DirectiveParsingResult) -> str:
        return self._body(parsed.body)

    def _tab(self, parsed: DirectiveParsingResult) -> str:
        return f"**{self._nested(parsed.arguments[0])}**\n\n{self._body(parsed.body)}"

    def _contents(self, parsed: DirectiveParsingResult) -> str:
        others = [page for page in self.inline.book.pages.values() if page is not self.inline.page]
        return "\n".join(f"- [{page.title}]({self.inline.repository.page(page.shown)})" for page in others)

    def _bibliography(self, parsed: DirectiveParsingResult) -> str:
        return self.inline.references.cited_list()

    @staticmethod
    def _anchor(parsed: DirectiveParsingResult) -> str:
        name = parsed.options.get("name")
        return f'<a name="{name}"></a>\n\n' if name else ""

    _Handler = Callable[["Flattener", DirectiveParsingResult], str]
    _HANDLERS: ClassVar[dict[str, tuple[type[Directive], _Handler]]] = {
        "admonition": (WithArgument, _admonition),
        "bibliography": (WithArgument, _bibliography),
        "code-block": (WithArgument, _code_block),
        "definition": (WithArgument, _definition),
        "dropdown": (WithArgument, _details),
        "figure": (WithArgument, _figure),
        "image": (WithArgument, _figure),
        "literalinclude": (LiteralInclude, _literalinclude),
        "math": (WithoutArgument, _math),
        "tab-item": (WithArgument, _tab),
        "tab-set": (WithArgument, _transparent),
        "table": (WithArgument, _table),
        "tableofcontents": (WithArgument, _contents),
    }


def _fence(language: str, code: str) -> str:
    longest = max((len(run) for run in re.findall(r"`{3,}", code)), default=2)
    marks = "`" * (longest + 1)
    return f"{marks}{language}\n{code.strip(chr(10))}\n{marks}"
