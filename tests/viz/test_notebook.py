"""How the explorer shows itself: in the book, in a live kernel, and where anywidget is missing."""

import sys
from collections.abc import Callable

import pytest

from bertbook.records import AttentionRecord
from bertbook.viz import AttentionExplorer, embed
from tests.viz.kernel import VIEW, run

SHOW = """
import numpy as np
from bertbook.records import AttentionRecord
from bertbook.viz import AttentionExplorer
explorer = AttentionExplorer(AttentionRecord(["a", "b"], [0, 0], np.full((2, 2, 2, 2), 0.5)), layer=1)
explorer
"""
# set_state is what a message from the front-end calls.
STEER = """
explorer.widget.set_state({"head": 1, "focus": 0})
explorer.layer = 0
print(explorer.layer, explorer.head, explorer.focus, explorer.view)
"""


def test_in_a_static_page_it_is_html_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BERTBOOK_STATIC", "1")
    ((output,), _), widgets = run(
        SHOW, "import sys; assert 'anywidget' not in sys.modules and 'torch' not in sys.modules"
    )
    assert set(output["data"]) == {"text/html", "text/plain"}
    assert "mountAll()" in output["data"]["text/html"]
    assert not widgets


def test_in_a_kernel_it_is_live_with_html_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BERTBOOK_STATIC", raising=False)
    ((shown,), (printed,)), widgets = run(SHOW, STEER)
    assert set(shown["data"]) == {VIEW, "text/html", "text/plain"}
    assert "mountAll()" in shown["data"]["text/html"]
    assert shown["data"]["text/plain"].startswith("AttentionExplorer(")
    assert printed["text"] == "0 1 0 matrix\n"
    state = widgets[shown["data"][VIEW]["model_id"]]
    assert (state["layer"], state["_model_module"]) == (0, "anywidget")  # what Python set has reached the front-end
    assert "export default { render }" in state["_esm"]
    assert ".bb-ae" in state["_css"]


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
