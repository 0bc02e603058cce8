"""Figures: theme-aware inline SVG that can share a page with others."""

import re
import warnings
from xml.dom import minidom

import matplotlib.pyplot as plt
import pytest

from bertbook.viz.figures import SHADES, figure


def draw(title: str = "a title"):
    with plt.style.context("bertbook.viz.bertbook"):
        fig, ax = plt.subplots(figsize=(4, 3))
        ax.plot([0, 1], [0, 1], marker="o", label="line")
        ax.imshow([[0.0, 1.0]], cmap=SHADES)
        ax.set_title(title)
    return fig


def test_follows_the_pages_colours():
    html = figure(draw(), "a line")._repr_html_()
    assert "currentColor" in html
    assert "#000000" not in html
    assert "#ffffff" not in html  # no background of its own


def test_text_stays_text_and_the_description_is_escaped():
    shown = figure(draw("今天 & tomorrow"), 'a "line" <b>')
    document = minidom.parseString(shown.svg)
    assert document.documentElement.getAttribute("aria-label") == 'a "line" <b>'
    assert any("今天 & tomorrow" in node.firstChild.data for node in document.getElementsByTagName("text"))
    assert repr(shown) == 'Figure: a "line" <b>'


def test_a_chinese_label_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure(draw("今天天气很好"), "a line")


def test_two_figures_share_no_id_and_every_reference_resolves():
    pages = [figure(draw(title), "a line").svg for title in ("one", "two")]
    ids = [set(re.findall(r'\bid="([^"]+)"', page)) for page in pages]
    assert ids[0]
    assert ids[1]
    assert not ids[0] & ids[1]
    for page, known in zip(pages, ids, strict=True):
        used = set(re.findall(r"url\(#([^)]+)\)", page)) | set(re.findall(r'href="#([^"]+)"', page))
        assert used <= known
        assert "<style" not in page  # it would rule the whole page


def test_the_same_figure_gives_the_same_bytes():
    assert figure(draw(), "a line").svg == figure(draw(), "a line").svg


def test_the_figure_is_closed_so_that_it_shows_once():
    fig = draw()
    figure(fig, "a line")
    assert not plt.fignum_exists(fig.number)


def test_an_empty_description_is_refused():
    fig = draw()
    with pytest.raises(ValueError, match="alt is empty"):
        figure(fig, "  ")
    plt.close(fig)
