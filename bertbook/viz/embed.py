"""How a widget gets into a page: one self-contained piece of HTML, and a live widget where a kernel listens.

A widget's front-end is plain ES modules under ``static/``. The book's static pages, an exported page and a notebook
all get the same code: as an inline classic script (pages opened from disk may not load modules), or
through anywidget. The public classes are no ipywidgets Widgets themselves, because a displayed Widget makes the book
embed its state and load scripts from elsewhere.
"""

import base64
import functools
import hashlib
import html
import json
import os
import re
from pathlib import Path
from typing import Any, ClassVar

STATIC = Path(__file__).parent / "static"
# A live notebook also stores the HTML, for readers without a kernel: up to this many characters.
_STORED_LIMIT = 4_000_000


class BookWidget:
    """What every widget of the book shares. A subclass names its front-end and says what it shows.

    Args:
        caption: the title shown above the picture, and its accessible name.
        id: the widget's name in links to a view of it, unique on a page and stable from build to build.
        state: what the reader can change, by name; JSON values. Goes both ways when live.
    """

    front_end: ClassVar[str]  # static/<front_end>.js and .css

    def __init__(self, caption: str, id: str, state: dict[str, Any]) -> None:
        if not re.fullmatch(r"[A-Za-z][\w-]*", id, re.ASCII):
            raise ValueError(f"id={id!r}: use letters, digits, - and _, starting with a letter")
        self.caption = caption
        self.id = id
        self._state = state
        self._live: Any = None

    def _data(self) -> dict[str, Any]:
        """What the front-end draws: JSON values, and ``bytes`` for large arrays."""
        raise NotImplementedError

    def _text(self) -> str:
        """What to read where no script runs: plain text."""
        raise NotImplementedError

    def _get(self, name: str) -> Any:
        """A state value, as the reader last left it."""
        return self._state[name] if self._live is None else getattr(self._live, name)

    def _set(self, name: str, value: Any) -> None:
        """Change a state value, on screen too when live. Subclasses check it first."""
        self._state[name] = value
        if self._live is not None:
            setattr(self._live, name, value)

    @property
    def widget(self) -> Any:
        """The live anywidget, made on first use; its traits can be observed and linked.

        Raises:
            ImportError: anywidget is not installed.
        """
        if self._live is None:
            self._live = _live_class(self.front_end, tuple(self._state))(_data=self._data(), **self._state)
        return self._live

    def html(self) -> str:
        """The widget in its present state as one self-contained piece of HTML: no kernel, no network, no other file."""
        data = {name: _as_text(value) for name, value in self._data().items()}
        data["state"] = {name: self._get(name) for name in self._state}
        # In JSON "<" may stand in strings only. Escaped, no token can close the script element.
        payload = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
        return (
            f'<div class="bb-widget" data-bertbook-widget="{_key(self.front_end)}">'
            f"<p><strong>{html.escape(self.caption)}</strong></p><p>{html.escape(self._text())}</p>"
            f'<script type="application/json">{payload}</script></div>\n'
            f'<style data-bertbook-module="{_key(self.front_end)}">{bundle_css(self.front_end)}</style>\n'
            f'<script data-bertbook-module="{_key(self.front_end)}">{_classic_script(self.front_end)}</script>\n'
            f"<script>bertbookWidgets[{json.dumps(_key(self.front_end))}].mountAll()</script>"
        )

    def save_html(self, path: str | Path) -> Path:
        """Write a page that holds this widget alone, light or dark as the reader's system is; returns its path."""
        path = Path(path)
        path.write_text(_PAGE.format(title=html.escape(self.caption), body=self.html()), encoding="utf-8")
        return path

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        if os.environ.get("BERTBOOK_STATIC") == "1":  # the book's build sets it; kernels inherit it
            return {"text/html": self.html()}, {}
        try:
            live = self.widget
        except ImportError:
            return {"text/html": self.html()}, {}
        data, metadata = live._repr_mimebundle_()
        stored = self.html()
        if len(stored) > _STORED_LIMIT:
            note = "Too large to be stored in the notebook: run the cell to see the picture."
            stored = f"<p><strong>{html.escape(self.caption)}</strong></p><p>{note}</p>"
        return {**data, "text/html": stored, "text/plain": repr(self)}, metadata


def name_from_caption(kind: str, caption: str) -> str:
    """A widget's name in links, made from its caption; empty where the caption has no plain letters or digits."""
    slug = re.sub(r"[^a-z0-9]+", "-", caption.lower()).strip("-")[:40].strip("-")
    return f"{kind}-{slug}" if slug else ""


def name_from_content(kind: str, *parts: str) -> str:
    """A widget's name in links, made from what it shows: the same on every machine."""
    content = "\0".join(parts)
    return f"{kind}-{hashlib.sha256(content.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


@functools.cache
def bundle_js(front_end: str) -> str:
    """One ES module: the shared pieces that the widget imports, then its own code."""
    own = _source(front_end)
    shared = [_source(name) for name in re.findall(r'^import [^;]* from "\./([\w-]+)\.js";', own, re.MULTILINE)]
    # Joined, the pieces need no imports of each other, and export nothing but what the widget does.
    parts = [re.sub(r"^export ", "", part, flags=re.MULTILINE) for part in shared] + [own]
    return re.sub(r"^import [^;]*;\n", "", "\n".join(parts), flags=re.MULTILINE)


def _source(name: str) -> str:
    return (STATIC / f"{name}.js").read_text(encoding="utf-8")


@functools.cache
def bundle_css(front_end: str) -> str:
    """The shared style, then the widget's own."""
    return "\n".join((STATIC / f"{name}.css").read_text(encoding="utf-8") for name in ("shared", front_end))


@functools.cache
def _key(front_end: str) -> str:
    """The front-end's name and a hash of its code: cached output of an older version on one page keeps working."""
    code = bundle_js(front_end) + bundle_css(front_end)
    return f"{front_end}-{hashlib.sha256(code.encode()).hexdigest()[:8]}"


def _classic_script(front_end: str) -> str:
    """The module as a classic script that may run any number of times: pages from disk may not load modules."""
    module = re.sub(r"^export .*$", "", bundle_js(front_end), flags=re.MULTILINE)
    key = json.dumps(_key(front_end))
    return (
        "(() => {\nconst all = (globalThis.bertbookWidgets ??= {});\n"
        f"if (all[{key}]) return;\n{module}\n"
        f"all[{key}] = {{ mount, mountAll: () => mountAll({key}, mount) }};\n}})();"
    )


@functools.cache
def _live_class(front_end: str, names: tuple[str, ...]) -> Any:
    import anywidget
    import traitlets

    traits = {name: traitlets.Any().tag(sync=True) for name in ("_data", *names)}
    return type(
        "LiveWidget", (anywidget.AnyWidget,), {"_esm": bundle_js(front_end), "_css": bundle_css(front_end), **traits}
    )


def _as_text(value: Any) -> Any:
    return {"base64": base64.b64encode(value).decode()} if isinstance(value, bytes) else value


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ max-width: 64rem; margin: 2rem auto; padding: 0 1rem; font-family: system-ui, sans-serif; }}
</style>
</head>
<body>
<main>
{body}
</main>
</body>
</html>
"""
