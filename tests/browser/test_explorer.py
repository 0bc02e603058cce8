"""The attention explorer in a real browser: what it shows is what the record holds, by mouse, keys and touch."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bertbook.records import AttentionRecord
from bertbook.viz import AttentionExplorer
from bertbook.viz.embed import bundle_css, bundle_js
from tests.browser.widgets import RENDER, write_page

TOKENS = ["[CLS]", "the", "cat", "sat", "[SEP]", "it", "slept", "[SEP]"]
OpenPage = Callable[..., Any]


def make_record(layers: int = 3, heads: int = 4, tokens: list[str] | int = TOKENS, seed: int = 0) -> AttentionRecord:
    names = [f"t{i}" for i in range(tokens)] if isinstance(tokens, int) else tokens
    scores = np.random.default_rng(seed).normal(scale=2, size=(layers, heads, len(names), len(names)))
    weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    second = names.index("[SEP]") + 1 if "[SEP]" in names else len(names)
    return AttentionRecord(names, [int(i >= second) for i in range(len(names))], weights, "random")


RECORD = make_record()


def pixels(page: Any, selector: str) -> np.ndarray:
    """What a canvas holds, (height, width, 4)."""
    height, width, data = page.locator(selector).first.evaluate(
        "c => [c.height, c.width, [...c.getContext('2d').getImageData(0, 0, c.width, c.height).data]]"
    )
    return np.array(data, np.uint8).reshape(height, width, 4)


def bars(page: Any) -> list[tuple[str, float]]:
    """The readout: what stands beside each bar, and its percents."""
    rows = page.locator(".bb-ae-readout li:visible").evaluate_all(
        "all => all.map(li => ['name', 'number'].map(part => li.querySelector(`.bb-ae-${part}`).textContent))"
    )
    return [(name, 0.0 if percent == "<0.1%" else float(percent.rstrip("%"))) for name, percent in rows]


def check_bars(page: Any, row: np.ndarray) -> None:
    """The bars must be this row of the record, largest first, within what one byte and whole percents can hold."""
    shown = bars(page)
    assert [percent for _, percent in shown] == pytest.approx((100 * np.sort(row)[::-1]).tolist(), abs=0.9)
    assert len({name for name, _ in shown}) == 8  # a token that occurs twice carries its position
    for name, percent in shown:
        weights = [100 * row[j] for j, token in enumerate(RECORD.tokens) if name in (token, f"{token}{j}")]
        assert percent == pytest.approx(weights[0], abs=0.9)


def title(page: Any) -> str:
    return page.locator(".bb-ae-title p").first.inner_text().replace("\n", "")


def cell_of(page: Any, query: int, key: int, size: int = len(TOKENS)) -> dict[str, float]:
    box = page.locator(".bb-ae-field").bounding_box()
    return {"x": box["x"] + (key + 0.5) * box["width"] / size, "y": box["y"] + (query + 0.5) * box["height"] / size}


def test_draws_the_record(show: Callable[..., Any]) -> None:
    page = show(AttentionExplorer(RECORD, layer=1, head=2))
    matrix = pixels(page, ".bb-ae-field canvas")
    assert matrix.shape == (8, 8, 4)
    # Stronger is darker, weight by weight: the same order as the record's, up to the quantisation.
    lightness = matrix[..., :3].astype(int).sum(-1).ravel()
    weights = RECORD.weights[1, 2].ravel()
    order = np.argsort(weights)
    assert (np.diff(lightness[order])[np.diff(weights[order]) > 0.01] < 0).all()
    overview = pixels(page, ".bb-ae-sheet canvas")
    assert overview.shape[1] > overview.shape[0] > 50
    assert len(np.unique(overview.reshape(-1, 4), axis=0)) > 30
    assert page.locator("[role=gridcell]").count() == 12
    assert page.locator(".bb-ae-head dd").all_inner_texts()[0].endswith("of 3.0 bits")


def test_hover_previews_and_click_keeps(show: Callable[..., Any]) -> None:
    page = show(AttentionExplorer(RECORD, layer=1, head=2))
    assert title(page) == "Strongest links"
    page.mouse.move(**cell_of(page, 2, 5))
    assert re.fullmatch(r"cat → it \d+%", title(page))
    assert int(re.search(r"(\d+)%", title(page))[1]) == pytest.approx(100 * RECORD.weights[1, 2, 2, 5], abs=0.9)
    check_bars(page, RECORD.weights[1, 2, 2])
    page.mouse.move(2, 2)
    assert title(page) == "Strongest links"
    page.mouse.click(**cell_of(page, 2, 5))
    page.mouse.move(2, 2)
    assert title(page) == "cat looks at"
    check_bars(page, RECORD.weights[1, 2, 2])
    page.keyboard.press("Escape")  # the click left the keyboard outside the widget
    assert title(page) == "cat looks at"
    page.get_by_role("option", name="cat").click()  # once more lets go
    page.mouse.move(2, 2)
    assert title(page) == "Strongest links"


def test_strongest_links(show: Callable[..., Any]) -> None:
    page = show(AttentionExplorer(RECORD, layer=2, head=0))
    weights = RECORD.weights[2, 0]
    shown = bars(page)
    assert [percent for _, percent in shown] == pytest.approx(
        (100 * np.sort(weights, None)[::-1][:8]).tolist(), abs=0.9
    )
    names = [token if TOKENS.count(token) == 1 else f"{token}{i}" for i, token in enumerate(TOKENS)]
    for link, percent in shown:
        start, end = (names.index(name) for name in link.split(" → "))
        assert percent == pytest.approx(100 * weights[start, end], abs=0.9)


def test_thumbnails_choose_the_head(show: Callable[..., Any]) -> None:
    page = show(AttentionExplorer(RECORD, focus=3))
    check_bars(page, RECORD.weights[0, 0, 3])
    cell = page.get_by_role("gridcell", name="Layer 2, head 3.")
    cell.hover()
    check_bars(page, RECORD.weights[2, 3, 3])
    page.mouse.move(2, 2)
    check_bars(page, RECORD.weights[0, 0, 3])
    cell.click()
    page.mouse.move(2, 2)
    check_bars(page, RECORD.weights[2, 3, 3])
    assert cell.get_attribute("aria-selected") == "true"
    assert page.locator("[role=gridcell][aria-selected=true]").count() == 1
    page.get_by_label("Layer", exact=True).select_option("1")
    check_bars(page, RECORD.weights[1, 3, 3])


def test_keyboard_alone(show: Callable[..., Any]) -> None:
    page = show(AttentionExplorer(RECORD))
    spoken = page.locator("[aria-live]")
    press = page.keyboard.press
    press("Tab")
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight"):
        press(key)
    assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith("Layer 2, head 1.")
    assert spoken.inner_text().startswith("Layer 2, head 1. ")
    press("End")
    assert (
        page.locator("[role=gridcell][aria-selected=true]").get_attribute("aria-label").startswith("Layer 2, head 3.")
    )
    for _ in range(4):  # the two pickers, the view, the tokens
        press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('role')") == "listbox"
    press("ArrowDown")
    press("ArrowDown")
    check_bars(page, RECORD.weights[2, 3, 1])
    assert spoken.inner_text().startswith("the, position 1, looks at ")
    active = page.evaluate("document.activeElement.getAttribute('aria-activedescendant')")
    assert page.locator(f"[id='{active}']").inner_text() == "the"
    press("ArrowRight")
    press("ArrowRight")
    assert re.fullmatch(r"the to cat: \d+(\.\d)?%", spoken.inner_text())
    press("End")
    check_bars(page, RECORD.weights[2, 3, 7])
    press("ArrowDown")
    check_bars(page, RECORD.weights[2, 3, 7])
    press("Home")
    check_bars(page, RECORD.weights[2, 3, 0])
    press("Escape")
    assert title(page) == "Strongest links"


def test_focus_can_be_seen(show: Callable[..., Any]) -> None:
    page = show(AttentionExplorer(RECORD))
    for _ in range(9):
        page.keyboard.press("Tab")
        style = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        if page.evaluate("document.activeElement.type") == "radio":  # drawn by its label
            style = page.evaluate("getComputedStyle(document.activeElement.nextElementSibling).outlineStyle")
        assert style == "solid", page.evaluate("document.activeElement.outerHTML.slice(0, 80)")


def test_lines(show: Callable[..., Any]) -> None:
    page = show(AttentionExplorer(RECORD, layer=1, head=2, focus=2))
    assert page.locator("svg path").count() == 0
    page.get_by_role("radio", name="Lines").check()
    assert page.locator(".bb-ae-field").is_hidden()
    row = RECORD.weights[1, 2, 2]
    assert page.locator("svg path").count() == pytest.approx((row > 0.005).sum(), abs=1)
    widths = page.locator("svg path").evaluate_all("all => all.map(p => +p.getAttribute('stroke-width'))")
    assert widths == sorted(widths, reverse=True)
    assert widths[0] == pytest.approx(0.8 + 4 * row.max(), abs=0.03)
    ends = page.locator("svg path").evaluate_all(
        "all => all.map(p => p.getAttribute('d').split(' ').at(-1) / 20 - 0.5)"
    )
    assert row[np.array(ends, int)].tolist() == pytest.approx(np.sort(row)[::-1][: len(ends)].tolist(), abs=0.004)
    page.keyboard.press("Escape")
    assert page.locator("svg path").count() == 24  # three a token
    page.get_by_role("option", name="slept").hover()
    check_bars(page, RECORD.weights[1, 2, 6])


def test_long_lines_scroll_with_the_keyboard(show: Callable[..., Any]) -> None:
    page = show(AttentionExplorer(make_record(1, 1, 64), view="lines"))
    page.get_by_role("listbox").focus()
    page.keyboard.press("End")
    stage, last = page.locator(".bb-ae-stage").bounding_box(), page.locator("li[role=option]").last.bounding_box()
    assert stage["height"] < 64 * 20
    assert stage["y"] <= last["y"] <= stage["y"] + stage["height"] - last["height"] + 1


def test_two_on_a_page_share_nothing(show: Callable[..., Any]) -> None:
    other = make_record(2, 2, ["x", "y", "z"], seed=1)
    page = show(AttentionExplorer(RECORD, layer=1), AttentionExplorer(other), AttentionExplorer(RECORD, layer=1))
    first, second, third = (page.locator(".bb-widget").nth(i) for i in range(3))
    before = [w.inner_text() for w in (second, third)]
    first.get_by_role("gridcell", name="Layer 0, head 3.").click()
    first.get_by_role("option", name="slept").click()
    first.get_by_role("radio", name="Lines").check()
    assert [w.inner_text() for w in (second, third)] == before
    assert second.locator("input:checked").get_attribute("value") == "matrix"
    assert first.locator("input:checked").get_attribute("value") == "lines"
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(node => node.id)")
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(
    "switch",
    [
        "document.documentElement.dataset.theme = 'dark'",
        "document.body.setAttribute('data-jp-theme-light', 'false')",
        "document.body.setAttribute('data-vscode-theme-kind', 'vscode-dark')",
        "document.documentElement.setAttribute('theme', 'dark')",
        None,
    ],
)
def test_theme_switch_repaints(show: Callable[..., Any], switch: str | None) -> None:
    page = show(AttentionExplorer(RECORD))
    light = [pixels(page, f"{part} canvas") for part in (".bb-ae-field", ".bb-ae-sheet", ".bb-ae-legend")]
    if switch:
        page.evaluate(switch)
    else:
        page.emulate_media(color_scheme="dark")
    page.wait_for_function("document.querySelector('.bb-widget').dataset.bbTheme === 'dark'")
    dark = [pixels(page, f"{part} canvas") for part in (".bb-ae-field", ".bb-ae-sheet", ".bb-ae-legend")]
    for a, b in zip(light, dark, strict=True):
        assert (a != b).any()
    # Both scales start at the page's own colour: nothing is nothing to be seen.
    assert light[2][0, 0].tolist() == [255, 255, 255, 255]
    assert dark[2][0, 0].tolist() == [18, 18, 18, 255]
    steps = np.diff(dark[2][0, :, :3].astype(int).sum(-1))
    assert (steps >= 0).all()


def test_background_of_the_host(open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page(dark=True)
    html = "<html lang='en' data-theme='light' style='--pst-color-background: color(srgb 1 0.8 0.6)'>"
    page.goto(write_page(tmp_path / "page.html", AttentionExplorer(RECORD), html=html).as_uri())
    assert page.locator(".bb-widget").get_attribute("data-bb-theme") == "light"
    assert pixels(page, ".bb-ae-legend canvas")[0, 0].tolist() == [255, 204, 153, 255]


@pytest.mark.parametrize("view", ["matrix", "lines"])
@pytest.mark.parametrize(
    "record",
    [
        RECORD,
        make_record(6, 12, 64),
        make_record(12, 16, [f"##averylongtokenwithoutend{i}" for i in range(12)]),
        make_record(1, 1, 1),
    ],
    ids=["pair", "64 tokens", "long tokens", "1 token"],
)
def test_phone(show: Callable[..., Any], record: AttentionRecord, view: Any) -> None:
    page = show(AttentionExplorer(record, view=view, focus=0), width=360, height=740, touch=True)
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    page.get_by_text("Show as a table").click()
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    clipped = page.locator(".bb-widget").evaluate(
        """root => [...root.querySelectorAll('button, select, canvas, svg, dl, label, [role=gridcell]')]
            .filter(node => node.getClientRects().length && node.getBoundingClientRect().right > innerWidth)
            .map(node => node.outerHTML.slice(0, 80))"""
    )
    assert clipped == []


def test_touch(show: Callable[..., Any]) -> None:
    page = show(AttentionExplorer(RECORD, layer=1, head=2), width=360, height=740, touch=True)
    page.locator(".bb-ae-field").scroll_into_view_if_needed()
    page.touchscreen.tap(**cell_of(page, 5, 3))
    assert re.fullmatch(r"it → sat \d+(\.\d)?%", title(page))
    check_bars(page, RECORD.weights[1, 2, 5])
    page.get_by_role("button", name="Focus the token after").tap()
    check_bars(page, RECORD.weights[1, 2, 6])
    page.get_by_role("gridcell", name="Layer 2, head 2.").tap()
    check_bars(page, RECORD.weights[2, 2, 6])


def test_tokens_are_text(show: Callable[..., Any]) -> None:
    # ran() is defined nowhere: if any of this ran, the page would log an error and the test fail.
    nasty = [
        "</script><script>ran(1)</script>",
        "<img src=x onerror=ran(1)>",
        "",
        " ",
        "שלום",
        "猫",
        "&lt;",
        "a\u0000b",
    ]
    page = show(AttentionExplorer(make_record(1, 1, nasty), focus=0, caption="<script>ran(2)</script>"))
    page.get_by_text("Show as a table").click()
    for view in ("Lines", "Matrix"):
        page.get_by_role("radio", name=view).check()
    assert page.locator("li[role=option]").all_inner_texts()[:3] == [nasty[0], nasty[1], "(empty)"]
    assert page.locator("li[role=option]").nth(1).get_attribute("title") == nasty[1]
    assert page.locator(".bb-widget img, .bb-widget script").count() == 0
    assert page.locator(".bb-caption").inner_text() == "<script>ran(2)</script>"


def test_chinese_stands_upright(show: Callable[..., Any]) -> None:
    page = show(AttentionExplorer(make_record(1, 1, list("今天天气很好"))))
    tall = page.locator(".bb-ae-top li span").first.evaluate(
        "s => getComputedStyle(s).writingMode + getComputedStyle(s).textOrientation"
    )
    assert tall == "vertical-rlmixed"  # mixed: Latin turns, Chinese does not


def test_over_http(open_page: OpenPage, serve: Callable[[Path], str], tmp_path: Path) -> None:
    AttentionExplorer(RECORD, focus=1).save_html(tmp_path / "one.html")
    page = open_page()
    page.goto(serve(tmp_path) + "/one.html")
    check_bars(page, RECORD.weights[0, 0, 1])


def test_in_a_sandboxed_frame(open_page: OpenPage, tmp_path: Path) -> None:
    # Colab shows output in a frame of an origin of its own.
    AttentionExplorer(RECORD, focus=1).save_html(tmp_path / "one.html")
    frame = "<iframe sandbox='allow-scripts' src='one.html' width=900 height=900 title=frame></iframe>"
    (tmp_path / "outer.html").write_text(f"<!doctype html><title>Outer</title>{frame}")
    page = open_page()
    page.goto((tmp_path / "outer.html").as_uri())
    page.frame_locator("iframe").get_by_text("the looks at").wait_for()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [360, 1100])
def test_axe(show: Callable[..., Any], axe: Callable[..., None], dark: bool, width: int) -> None:
    explorers = [
        AttentionExplorer(RECORD, focus=2, caption="One"),
        AttentionExplorer(RECORD, view="lines", caption="Two"),
    ]
    page = show(*explorers, dark=dark, width=width)
    axe(page)
    for summary in page.get_by_text("Show as a table").all():
        summary.click()
    page.locator(".bb-ae-rows li").nth(4).hover()
    axe(page)


def test_table_twin(show: Callable[..., Any]) -> None:
    page = show(AttentionExplorer(RECORD, layer=1, head=2))
    page.get_by_text("Show as a table").click()
    cells = page.locator("tbody tr").nth(2).locator("td").all_inner_texts()
    assert [float(cell.strip("<%")) for cell in cells] == pytest.approx(
        (100 * RECORD.weights[1, 2, 2]).tolist(), abs=0.9
    )
    page.get_by_role("option", name="cat").click()
    assert page.locator("tbody tr").count() == 8
    assert page.locator("caption").inner_text() == "Layer 1, head 2: where “cat” looks"
    assert page.locator("tbody tr").nth(3).locator("th, td").all_inner_texts()[:2] == ["sat", "3"]


def test_reduced_motion(show: Callable[..., Any]) -> None:
    for reduced, duration in ((False, "0.12s"), (True, "0s")):
        page = show(AttentionExplorer(RECORD), reduced_motion=reduced)
        assert page.locator(".bb-ae-fill").first.evaluate("n => getComputedStyle(n).transitionDuration") == duration


def test_without_javascript(show: Callable[..., Any]) -> None:
    page = show(AttentionExplorer(RECORD, caption="A picture"), javascript=False)
    assert page.get_by_text("A picture").is_visible()
    assert page.get_by_text(" ".join(TOKENS)).is_visible()


def test_link_restores_the_view(show: Callable[..., Any]) -> None:
    explorers = [AttentionExplorer(RECORD, id="one"), AttentionExplorer(RECORD, id="two")]
    page = show(*explorers)
    for widget, layer, token in ((0, 2, "slept"), (1, 1, "cat")):
        root = page.locator(".bb-widget").nth(widget)
        root.get_by_role("gridcell", name=f"Layer {layer}, head 3.").click()
        root.get_by_role("option", name=token).click()
        root.get_by_role("radio", name="Lines").check()
        root.get_by_role("link", name="Link to this view").click()
    address = page.evaluate("location.hash")
    assert address == "#one=l2.h3.t6.lines&two=l1.h3.t2.lines"
    again = show(*explorers, fragment=address)
    assert again.locator(".bb-ae-title p").all_inner_texts() == ["slept looks at", "cat looks at"]
    assert again.locator("input:checked").evaluate_all("all => all.map(i => i.value)") == ["lines", "lines"]
    again.evaluate("location.hash = '#two=l0.h0.matrix'")  # a link within the page, or the Back button
    again.get_by_text("Strongest links").wait_for()
    assert again.locator(".bb-ae-title p").all_inner_texts() == ["slept looks at", "Strongest links"]


@pytest.mark.parametrize(
    "fragment", ["#one=l9.h0.matrix", "#one=l0.h0.t99.lines", "#one=<script>", "#section", "#one=%E0%A4%A"]
)
def test_a_wrong_link_does_no_harm(show: Callable[..., Any], fragment: str) -> None:
    page = show(AttentionExplorer(RECORD, id="one", focus=1), fragment=fragment)
    check_bars(page, RECORD.weights[0, 0, 1])


@pytest.mark.parametrize("view", ["matrix", "lines"])
def test_save_image(show: Callable[..., Any], view: Any, tmp_path: Path) -> None:
    page = show(AttentionExplorer(RECORD, id="one", layer=1, head=2, focus=2, view=view))
    with page.expect_download() as svg:
        page.get_by_role("button", name="Save SVG").click()
    assert svg.value.suggested_filename == "one-layer1-head2.svg"
    text = Path(svg.value.path()).read_text(encoding="utf-8")
    for token in TOKENS:
        assert f">{token}</text>" in text
    assert ("<image" in text) == (view == "matrix")
    # One path a line; or the seam between the segments.
    assert text.count("<path") == (page.locator("svg path").count() if view == "lines" else 1)
    with page.expect_download() as png:
        page.get_by_role("button", name="Save PNG").click()
    assert Path(png.value.path()).read_bytes().startswith(b"\x89PNG")
    assert Path(png.value.path()).stat().st_size > 5000


def test_anywidget_render(page: Any, tmp_path: Path) -> None:
    (tmp_path / "p.html").write_text("<!doctype html><title>p</title><main></main>")
    page.goto((tmp_path / "p.html").as_uri())
    data = AttentionExplorer(RECORD)._data()
    data["weights"] = list(data["weights"])
    values = {"layer": 1, "head": 0, "focus": 2, "view": "matrix", "_data": data}
    page.evaluate(RENDER, [bundle_js("attention-explorer"), bundle_css("attention-explorer"), values])
    page.wait_for_function("document.querySelector('.bb-ae-field')?.clientWidth > 100")
    assert pixels(page, ".bb-ae-legend canvas")[0, 0].tolist() == [255, 255, 255, 255]
    check_bars(page, RECORD.weights[1, 0, 2])
    assert page.get_by_role("link", name="Link to this view").count() == 0  # no address in a notebook

    page.evaluate("model.set('head', 3); model.set('focus', 5)")  # from Python
    check_bars(page, RECORD.weights[1, 3, 5])
    assert page.evaluate("model.saves") == 0
    page.get_by_role("gridcell", name="Layer 2, head 1.").click()  # to Python
    page.get_by_role("option", name="sat").click()
    assert page.evaluate("['layer', 'head', 'focus', 'view'].map(model.get)") == [2, 1, 3, "matrix"]
    assert page.evaluate("model.saves") == 2
    page.evaluate("model.set('layer', 99)")  # nonsense is not drawn
    page.mouse.move(2, 2)
    check_bars(page, RECORD.weights[2, 1, 3])

    page.evaluate("stop()")
    assert page.evaluate("model.listeners()") == 0
    assert page.evaluate("el.childElementCount") == 0


@pytest.mark.parametrize(("layers", "heads"), [(1, 1), (24, 16)])
def test_sizes(show: Callable[..., Any], layers: int, heads: int) -> None:
    page = show(AttentionExplorer(make_record(layers, heads, 4), layer=layers - 1, head=heads - 1))
    assert page.locator("[role=gridcell]").count() == layers * heads
    box = page.locator(".bb-ae-sheet").bounding_box()
    assert box["height"] < 700
    assert page.evaluate("document.documentElement.scrollWidth") == 1100


def test_512_tokens(show: Callable[..., Any]) -> None:
    record = make_record(2, 4, 512)
    page = show(AttentionExplorer(record, focus=300))
    page.wait_for_timeout(500)
    assert (pixels(page, ".bb-ae-sheet canvas")[:, :, 3] > 0).mean() > 0.8  # every thumbnail got its turn
    assert bars(page)[0][0] == f"t{record.weights[0, 0, 300].argmax()}"
    took = page.evaluate(
        """() => {
          const start = performance.now();
          const list = document.querySelector("[role=listbox]");
          const down = { key: "ArrowDown", bubbles: true };
          for (let i = 0; i < 10; i++) list.dispatchEvent(new KeyboardEvent("keydown", down));
          document.body.offsetHeight;
          return (performance.now() - start) / 10;
        }"""
    )
    assert bars(page)[0][0] == f"t{record.weights[0, 0, 310].argmax()}"
    assert took < 100  # milliseconds; about 5 on an idle machine
    page.get_by_role("radio", name="Lines").check()
    assert page.evaluate("document.querySelector('.bb-ae-stage').clientHeight") < 700  # it scrolls within


def test_first_paint(show: Callable[..., Any]) -> None:
    times = []
    for _ in range(3):
        page = show(AttentionExplorer(make_record(6, 12, 32)))
        page.wait_for_function("performance.getEntriesByName('first-contentful-paint').length")
        times.append(page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"))
    assert sorted(times)[1] < 1000  # from an empty page, on a busy machine; measured 125 on this one
