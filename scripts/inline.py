"""Roles, links and pictures inside a line of text, each as an edit of the source."""

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from markdown_it.token import Token
from pages import Book, FlattenError, Page
from references import References
from repository import Repository

_TITLED = re.compile(r"^(?P<title>.+?)\s*<(?P<target>[^<>]+)>$", re.DOTALL)
_SCHEME = re.compile(r"^[a-zA-Z][a-zA-Z0-9+.-]*:")
_HTML_ADDRESS = re.compile(r"""\b(?:src|href)\s*=\s*["']?([^"'\s>]+)""")
_PLAIN = {
    "text", "softbreak", "hardbreak", "em_open", "em_close", "strong_open", "strong_close", "link_open",
}  # fmt: skip


@dataclass(frozen=True)
class Edit:
    """Replace the characters from ``start`` to ``end``."""

    start: int
    end: int
    text: str


@dataclass
class Inline:
    """Rewrites what stands inside a line, for one page."""

    book: Book
    page: Page
    repository: Repository
    references: References

    def edits(self, children: list[Token], source: str, start: int, end: int) -> Iterator[Edit]:
        """The edits for one run of inline tokens, whose source lies between ``start`` and ``end``.

        The tokens carry no positions. They come in the order of the source, so each is found by its own
        words from where the last one ended; one that cannot be found is an error, never a guess.
        """
        opened: list[Token] = []
        for number, token in enumerate(children):
            if token.type == "link_open":
                opened.append(token)
            if token.type in _PLAIN:
                continue
            pattern, text = self._rewrite(
                token, opened, empty=bool(number) and children[number - 1].type == "link_open"
            )
            if not pattern:
                continue
            match = re.compile(pattern, re.DOTALL).search(source, start, end)
            if match is None:
                raise FlattenError(
                    f"cannot find {token.type} {token.content or text!r} in its line; write it in one line"
                )
            start = match.end()
            if text is not None:
                yield Edit(match.start(), match.end(), text)

    def _rewrite(self, token: Token, opened: list[Token], empty: bool) -> tuple[str, str | None]:
        """The pattern that finds the token in the source, and its new text (None: leave it)."""
        words = r"\s+(?:>\s*)*".join(re.escape(word) for word in token.content.split())
        words = words.replace(r"\|", r"\\?\|")  # escaped inside a table
        if token.type == "code_inline":
            return rf"(`+)\s*{words}\s*\1", None
        if token.type in ("math_inline", "math_inline_double"):
            return words, None
        if token.type == "myst_role":
            name = token.meta["name"]
            return rf"\{{{re.escape(name)}\}}(`+)\s*{words}\s*\1", self.role(name, token.content)
        if token.type == "link_close":
            href = str(opened.pop().attrs["href"])
            target, words_for_it = self.link(href)
            text = f"{words_for_it}]({target})" if empty else f"]({target})"
            return ("", None) if target == href else (rf"\]\(\s*<?{_either(href)}>?\s*\)", text)
        if token.type == "image":
            href = str(token.attrs["src"])
            if not token.content.strip():
                raise FlattenError(f"picture {href!r} has no alternative text")
            return rf"\]\(\s*<?{_either(href)}>?", f"]({self.picture(unquote(href))}"
        if token.type == "html_inline":
            check_html(token.content)
            return re.escape(token.content), None
        raise FlattenError(f"no plain Markdown for inline {token.type!r}: {token.content!r}")

    def role(self, name: str, content: str) -> str:
        """The plain Markdown for ``{name}`content` ``."""
        match = _TITLED.match(content)
        title, target = (match["title"], match["target"]) if match else (None, content)
        if name in ("cite", "cite:p", "cite:t"):
            return self.references.cite(content, textual=name == "cite:t")
        if name in ("ref", "numref", "eq"):
            if name == "numref" and re.search(r"%s|\{(?:number|name)\}", title or ""):
                raise FlattenError(f"numref with a placeholder: {content!r}; a notebook has no numbers, give it words")
            page, words = self.book.find(target)
            return f"[{title or words}]({self._address(page, target)})"
        if name == "doc":
            page = self._page(f"{target}.md")
            return f"[{title or page.title}]({self._address(page)})"
        if name == "math":
            return f"${content}$"
        if name in ("sub", "sup", "kbd"):
            return f"<{name}>{content}</{name}>"
        raise FlattenError(
            f"unknown role {name!r}; scripts/inline.py knows cite, cite:p, cite:t, "
            "doc, eq, kbd, math, numref, ref, sub, sup"
        )

    def link(self, href: str) -> tuple[str, str]:
        """Where a link goes from a notebook, and the words for it where it has none of its own."""
        if _SCHEME.match(href):
            return href, ""
        path, _, label = unquote(href).partition("#")
        if not path:
            page, words = self.book.find(label)
            return self._address(page, label), words
        if path.endswith(".md"):
            page = self._page(path)
            words = page.targets.get(label, page.title)
            return self._address(page, label if label in page.targets else ""), words
        if path in {name for page in self.book.pages.values() for name in page.targets}:
            page, words = self.book.find(path)
            return self._address(page, path), words
        return self.repository.page(self.file(path)), path

    def picture(self, href: str) -> str:
        """The absolute address of a picture."""
        return href if _SCHEME.match(href) else self.repository.raw(self.file(href))

    def file(self, relative: str) -> str:
        """A path relative to the page, from the repository's root; the file must exist."""
        base = "" if relative.startswith("/") else posixpath.dirname(self.page.path)
        path = posixpath.normpath(posixpath.join(base, relative.lstrip("/")))
        if not (self.book.root / path).exists():
            raise FlattenError(f"there is no file {path!r} (from {relative!r})")
        return path

    def _page(self, relative: str) -> Page:
        path = self.file(relative)
        if path not in self.book.pages:
            raise FlattenError(f"{path!r} is not in _toc.yml; it has: {', '.join(self.book.pages)}")
        return self.book.pages[path]

    def _address(self, page: Page, label: str = "") -> str:
        if page is self.page and label:
            return f"#{label}"
        return self.repository.page(page.shown)


def _either(href: str) -> str:
    """A pattern for an address as the parser gives it (%20) or as the author wrote it (a space)."""
    return f"(?:{re.escape(href)}|{re.escape(unquote(href))})"


def check_html(html: str) -> None:
    """Raw HTML passes as it is, so its addresses must be absolute already."""
    if any(not _SCHEME.match(address) and address[0] != "#" for address in _HTML_ADDRESS.findall(html)):
        raise FlattenError(f"relative address in HTML: {html.strip()!r}; use Markdown, or an absolute address")
