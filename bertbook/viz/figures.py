"""Matplotlib figures that follow the page: inline SVG in the page's own text colour, with a description.

A chapter says ``plt.style.use("bertbook.viz.bertbook")`` once and ends a figure's cell with
``viz.figure(fig, alt="…")``.
"""

import hashlib
import io
import re
import warnings
from html import escape

import matplotlib.pyplot as plt
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

#: From nothing to blue, by transparency: zero is the page's background, light or dark.
SHADES = LinearSegmentedColormap.from_list("bertbook_shades", [(0.23, 0.51, 0.77, 0.0), (0.23, 0.51, 0.77, 0.9)], N=256)


class InlineFigure:
    """A drawn figure as it stands in the page. Made by :func:`figure`."""

    def __init__(self, svg: str, alt: str) -> None:
        self.svg = svg
        self.alt = alt

    def _repr_html_(self) -> str:
        return f'<figure class="bertbook-figure" tabindex="0" style="margin:1em 0;overflow-x:auto">{self.svg}</figure>'

    def __repr__(self) -> str:
        return f"Figure: {self.alt}"


def figure(fig: Figure, alt: str) -> InlineFigure:
    """Show a Matplotlib figure as inline SVG that follows a light or a dark page.

    Black becomes the page's text colour, the background stays the page's own, and text stays
    text: it can be selected, searched and read aloud. The figure is closed.

    Args:
        alt: what the picture shows, in a sentence or two, for a reader who cannot see it.

    Raises:
        ValueError: ``alt`` is empty.
    """
    if not alt.strip():
        raise ValueError("alt is empty: say in a sentence what the picture shows")
    buffer = io.StringIO()
    with plt.style.context("bertbook.viz.bertbook"), warnings.catch_warnings():
        # The browser draws the text, with its own Chinese fonts; Matplotlib need not have the glyphs.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        fig.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    plt.close(fig)
    return InlineFigure(_inline(buffer.getvalue(), alt), alt)


def _inline(document: str, alt: str) -> str:
    """A Matplotlib SVG document as an element that may stand in a page beside others."""
    opening, body = re.split(r"(?<=>)", document[document.index("<svg") :], maxsplit=1)
    _, _, width, height = (float(x) for x in re.search(r'viewBox="([^"]*)"', opening)[1].split())  # type: ignore[index]
    # The document's own <style> would rule the whole page; its two declarations go on the element below.
    body = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>|<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = body.replace("#000000", "currentColor")
    # Ids must be unique in the page: drop those of groups, give the others (clip paths, markers) this figure's prefix.
    body = re.sub(r'<g id="[^"]*"', "<g", body)
    prefix = "f" + hashlib.sha256(body.encode()).hexdigest()[:8]
    body = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{prefix}", body)
    css_width = width * 4 / 3  # a point is 4/3 of a CSS pixel
    return (
        f'<svg role="img" aria-label="{escape(alt)}" viewBox="0 0 {width:g} {height:g}" fill="currentColor" '
        'stroke-linejoin="round" stroke-linecap="butt" xmlns="http://www.w3.org/2000/svg" '
        'xmlns:xlink="http://www.w3.org/1999/xlink" '
        # As wide as drawn where there is room. On a phone it shrinks to what can still be read, then scrolls.
        f'style="width:{css_width:.0f}px;max-width:100%;min-width:{min(css_width, 440):.0f}px;height:auto">'
        + body.strip()
    )
