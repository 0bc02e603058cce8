"""How the explorer shows itself: after the reader has used it, where anywidget is missing, and when it is large."""

import sys
from collections.abc import Callable

import pytest

from bertbook.records import AttentionRecord
from bertbook.viz import AttentionExplorer, embed
from tests.viz.kernel import VIEW


def test_what_the_reader_did_is_in_the_html(random_record: Callable[..., AttentionRecord]) -> None:
    explorer = AttentionExplorer(random_record())
    explorer.widget.set_state({"layer": 1, "view": "lines"})
    assert '"state":{"layer":1,"head":0,"focus":null,"view":"lines"}' in explorer.html()


def test_without_anywidget_it_is_html(
    random_record: Callable[..., AttentionRecord], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BERTBOOK_STATIC", raising=False)
    monkeypatch.setitem(sys.modules, "anywidget", None)
    embed._live_class.cache_clear()
    explorer = AttentionExplorer(random_record())
    data, _ = explorer._repr_mimebundle_()
    assert set(data) == {"text/html"}
    with pytest.raises(ImportError):
        _ = explorer.widget


def test_a_live_notebook_does_not_store_megabytes(
    random_record: Callable[..., AttentionRecord], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BERTBOOK_STATIC", raising=False)
    data, _ = AttentionExplorer(random_record(6, 12, 256), caption="<Long>")._repr_mimebundle_()
    assert len(data["text/html"]) < 1000
    assert "&lt;Long&gt;" in data["text/html"]
    assert VIEW in data
