"""Pages that stand alone: from the disk, without a kernel, and with each widget's code once a page.

What else keeps the book off the network is configuration: MathJax comes from a wheel, and the extensions
that load scripts from elsewhere are not in the list (see _config.yml).
"""

import os
import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata

# A widget's output is self-contained, so a page with three widgets holds its style and script three times.
_MODULE = re.compile(
    r"""<(?P<tag>style|script)\b[^>]*\sdata-bertbook-module=(?P<quote>["'])(?P<name>.*?)(?P=quote)[^>]*>.*?</(?P=tag)>""",
    re.DOTALL,
)

# Sphinx's search fetches each page it found, for an excerpt. From the disk that fails, loudly; the titles must do.
_NO_EXCERPTS = 'if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;'


def keep_first(html: str, seen: set[tuple[str, str]]) -> str:
    """Drop each style and script whose ``data-bertbook-module`` is already in ``seen``; note the others there."""

    def visit(match: re.Match[str]) -> str:
        key = match["tag"], match["name"]
        if key in seen:
            return ""
        seen.add(key)
        return match[0]

    return _MODULE.sub(visit, html)


def _once_a_page(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    seen: set[tuple[str, str]] = set()
    for node in list(doctree.findall(nodes.raw)):
        html = keep_first(node.astext(), seen)
        if html != node.astext():
            node.replace_self(nodes.raw("", html, format=node["format"], classes=node["classes"]))


def setup(app: Sphinx) -> ExtensionMetadata:
    os.environ["BERTBOOK_STATIC"] = "1"  # the kernels inherit it
    app.add_js_file(None, body=_NO_EXCERPTS, priority=250)  # after documentation_options.js, before searchtools.js
    app.connect("doctree-resolved", _once_a_page)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
