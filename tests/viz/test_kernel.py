"""Every widget in a cell: in a static page it is HTML alone, in a kernel it is live both ways."""

from dataclasses import dataclass
from typing import Any

import pytest

from bertbook import viz
from bertbook.viz.embed import BookWidget
from tests.viz.kernel import VIEW, run


@dataclass(frozen=True)
class Case:
    """A cell that shows the widget ``w``, a cell that steers it, and what must come of them."""

    show: str
    steer: str  # set_state is what a message from the front-end calls
    text: str
    printed: str
    state: dict[str, Any]  # has reached the front-end
    style: str


CASES = {
    "AttentionExplorer": Case(
        """
import numpy as np
from bertbook.records import AttentionRecord
from bertbook.viz import AttentionExplorer
w = AttentionExplorer(AttentionRecord(["a", "b"], [0, 0], np.full((2, 2, 2, 2), 0.5)), layer=1)
w
""",
        """
w.widget.set_state({"head": 1, "focus": 0})
w.layer = 0
print(w.layer, w.head, w.focus, w.view)
""",
        "AttentionExplorer(",
        "0 1 0 matrix\n",
        {"layer": 0},
        ".bb-ae",
    ),
    "AttentionSteps": Case(
        """
from bertbook.viz import AttentionSteps
w = AttentionSteps([1, 0, 2], [[0, 1, 1], [4, 4, 0]], [[1.0], [2.0]])
w
""",
        """
w.widget.set_state({"query": [0, 0, 0], "mask": [True, False]})
w.keys = [[1, 1, 1], [2, 2, 2]]
w.scaled = False
print(w.query, w.mask, w.output)
""",
        "AttentionSteps(2 keys, d=3, d_v=1)",
        "[0. 0. 0.] [ True False] [1.]\n",
        {"key": [[1, 1, 1], [2, 2, 2]], "scaled": False},
        ".bb-as",
    ),
    "EmbeddingSum": Case(
        """
import numpy as np
from bertbook.records import EmbeddingRecord
from bertbook.viz import EmbeddingSum
rows = np.eye(4, dtype=np.float32)
w = EmbeddingSum(EmbeddingRecord(("a", "b"), [0, 1], rows[:2], rows[:2], rows, rows.sum(0), 0 * rows[0], 1e-12))
w
""",
        """
w.widget.set_state({"focus": 1, "segment": False})
w.position = False
print(w.focus, w.token, w.segment, w.position, w.output.round(2).tolist())
""",
        "EmbeddingSum(",
        "1 True False False [-0.58, 1.73, -0.58, -0.58]\n",
        {"focus": 1, "position": False},
        ".bb-es",
    ),
    "MaskingLab": Case(
        """
from bertbook.records import TokenRecord
from bertbook.viz import MaskingLab
w = MaskingLab(TokenRecord(["[CLS]", "a", "b"], [True, False, False], [-1, 0, 1], ["c"]))
w
""",
        """
w.widget.set_state({"rolls": 5, "rate": 0.25})
w.seed = 3
print(w.rolls, w.rate, w)
""",
        "MaskingLab(1 text, text=0, rolls=1)",
        "5 0.25 MaskingLab(1 text, text=0, rolls=5)\n",
        {"seed": 3},
        ".bb-ml",
    ),
    "PackingExplorer": Case(
        """
from bertbook.viz import PackingExplorer
w = PackingExplorer([5, 2, 9, 2], hidden_size=8)
w
""",
        """
w.widget.set_state({"lengths": [4, 1], "groups": 2, "focus": 1, "seed": 3})
print(w.lengths, w.groups, w.focus, w.seed, w.costs["packed"].tokens)
w.lengths = [6]
print(w.lengths, w.groups, w.focus, w.seed)
""",
        "PackingExplorer(4 rows of 2 to 9 tokens)",
        "[4 1] 2 1 3 5\n[6] 1 None None\n",
        {"lengths": [6], "groups": 1, "seed": None},
        ".bb-pe",
    ),
    "PairBuilder": Case(
        """
from bertbook.viz import PairBuilder
class Text:
    source = "s"
    def __init__(self, name):
        self.name, self.sentences = name, [f"{name} {i} ." for i in range(4)]
w = PairBuilder([Text("a"), Text("b")], str.split)
w
""",
        """
w.widget.set_state({"objective": "sop", "max_length": 20, "seed": 5, "pair": 1})
w.seed = 6
print(w.objective, w.max_length, w.seed, w.pair)
""",
        "PairBuilder(2 documents, nsp, max_length=64)",
        "sop 20 6 1\n",
        {"seed": 6},
        ".bb-pb",
    ),
}


@pytest.fixture(scope="module")
def static() -> dict[str, list[Any]]:
    """What each widget's cell puts out where a static page is built: in one kernel, which loads neither library."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BERTBOOK_STATIC", "1")
        last = "import sys; assert {'anywidget', 'torch'}.isdisjoint(sys.modules)"
        outputs, state = run(*(case.show for case in CASES.values()), last)
    assert not state
    return dict(zip(CASES, outputs[:-1], strict=True))


@pytest.fixture(scope="module")
def live() -> tuple[dict[str, tuple[list[Any], list[Any]]], dict[str, Any]]:
    """What each widget's two cells put out in a kernel, and the state of the kernel's widgets."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("BERTBOOK_STATIC", raising=False)
        outputs, state = run(*(cell for case in CASES.values() for cell in (case.show, case.steer)))
    return dict(zip(CASES, zip(outputs[::2], outputs[1::2], strict=True), strict=True)), state


def test_every_widget_is_here() -> None:
    values = {name: getattr(viz, name) for name in viz.__all__}
    assert CASES.keys() == {
        n for n, value in values.items() if isinstance(value, type) and issubclass(value, BookWidget)
    }


@pytest.mark.parametrize("name", CASES)
def test_in_a_static_page_it_is_html_alone(name: str, static: dict[str, list[Any]]) -> None:
    (output,) = static[name]
    assert set(output["data"]) == {"text/html", "text/plain"}
    assert "mountAll()" in output["data"]["text/html"]


@pytest.mark.parametrize("name", CASES)
def test_in_a_kernel_it_is_live_both_ways(
    name: str, live: tuple[dict[str, tuple[list[Any], list[Any]]], dict[str, Any]]
) -> None:
    outputs, widgets = live
    case, ((shown,), (printed,)) = CASES[name], outputs[name]
    assert set(shown["data"]) == {VIEW, "text/html", "text/plain"}
    assert "mountAll()" in shown["data"]["text/html"]  # behind it, for where no widget can live
    assert shown["data"]["text/plain"].startswith(case.text)
    assert printed["text"] == case.printed
    state = widgets[shown["data"][VIEW]["model_id"]]
    assert state["_model_module"] == "anywidget"
    assert {trait: state[trait] for trait in case.state} == case.state
    assert "export default { render }" in state["_esm"]
    assert case.style in state["_css"]
