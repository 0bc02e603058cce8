"""The embedding sum in a real browser: its numbers are NumPy's, parts can be switched off, everything has a key."""

import base64
import re
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest

from bertbook.records import EmbeddingRecord
from bertbook.viz import EmbeddingSum
from bertbook.viz.embed import bundle_css, bundle_js
from bertbook.viz.embedding_sum import PARTS, quantise
from tests.browser.saved import SVG, saved, texts
from tests.browser.widgets import RENDER

TOKENS = ["[CLS]", "the", "bank", "of", "the", "river", "[SEP]"]
Show = Callable[..., Any]


def record(tokens: list[str] | None = None, size: int = 24, positions: int = 40) -> EmbeddingRecord:
    names = TOKENS if tokens is None else tokens
    draw = np.random.default_rng(0)
    segments = [int(i > len(names) // 2) for i in range(len(names))]
    tables = [draw.normal(size=(n, size), scale=0.1) for n in (len(names), 2, positions)]
    return EmbeddingRecord(
        tuple(names), segments, *tables, 1 + draw.normal(size=size) / 4, draw.normal(size=size), 1e-12, "model"
    )


def as_the_page_has_it(exact: EmbeddingRecord) -> EmbeddingRecord:
    """The record after a journey in two bytes a number."""

    def travel(table: Any) -> Any:
        data, scale = quantise(table)
        return np.frombuffer(data, "<i2").reshape(table.shape) * scale

    rows = {"position": exact.position[: len(exact)]}
    tables = {name: travel(rows.get(name, getattr(exact, name))) for name in (*PARTS, "weight", "bias")}
    return EmbeddingRecord(exact.tokens, exact.segments, **tables, eps=exact.eps)


def table(root: Any, number: int) -> list[list[str]]:
    """The cells of one of the tables, row by row, each row's heading first."""
    details = root.locator("details.bb-es-twin")
    if details.get_attribute("open") is None:
        details.locator("summary").click()
        root.locator("table").nth(1).wait_for()
    rows: list[list[str]] = (
        root.locator("table")
        .nth(number)
        .locator("tbody tr")
        .evaluate_all("rows => rows.map(row => [...row.children].map(cell => cell.textContent))")
    )
    return rows


def numbers(cells: list[str]) -> list[float]:
    return [float(text.replace("−", "-")) for text in cells]


def check(root: Any, shown: EmbeddingSum) -> None:
    """All that the page writes, against NumPy: each dimension of the token in focus, and every token's lengths."""
    got, exact, on = as_the_page_has_it(shown.record), shown.record, {name: getattr(shown, name) for name in PARTS}
    i = shown.focus
    parts = [got.token[i], got.segment[got.segments[i]], got.position[i]]
    columns = np.stack([*parts, got.vectors(**on)[i], got.normalised(**on)[i]], axis=1)
    written = np.array([numbers(row) for row in table(root, 1)])
    np.testing.assert_array_equal(written[:, 0], np.arange(len(columns)))
    np.testing.assert_allclose(written[:, 1:], columns, atol=0.5e-4 + 1e-6, rtol=0)
    np.testing.assert_allclose(written[:, 5], exact.normalised(**on)[i], atol=2e-3)  # what is exactly so
    lengths = [
        np.linalg.norm(vectors, axis=1)
        for vectors in (
            got.token,
            got.segment[got.segments],
            got.position,
            got.vectors(**on),
            got.normalised(**on),
        )
    ]
    rows = table(root, 0)
    assert [row[0] for row in rows] == list(exact.tokens)
    np.testing.assert_allclose([numbers(row[3:8]) for row in rows], np.stack(lengths, 1), atol=0.5e-2 + 1e-6)
    total = got.vectors(**on)
    shares = [
        (rows_of * total).sum(1) / np.maximum((total * total).sum(1), 1e-30) * on[name]
        for name, rows_of in zip(PARTS, (got.token, got.segment[got.segments], got.position), strict=True)
    ]
    percents = [[float(cell.replace("−", "-").rstrip("%")) for cell in row[8:]] for row in rows]
    np.testing.assert_allclose(percents, 100 * np.stack(shares, 1), atol=0.51)


@pytest.mark.parametrize(
    "off", [(), ("position",), ("segment", "position"), ("token",), PARTS], ids=lambda off: "-".join(off) or "none"
)
def test_every_number_agrees_with_numpy(show: Show, off: tuple[str, ...]) -> None:
    shown = EmbeddingSum(record(), focus=2, **dict.fromkeys(off, False))
    check(show(shown), shown)


def test_switch_parts_off_and_on(show: Show) -> None:
    page = show(EmbeddingSum(record(), focus=2))
    expected = EmbeddingSum(record(), focus=2)
    assert page.get_by_text("with all").count() == 0
    for name, label in (("position", "position 2"), ("token", "token “bank”"), ("position", "position 2")):
        page.get_by_role("checkbox", name=label).click()
        setattr(expected, name, not getattr(expected, name))
        check(page, expected)
    got = as_the_page_has_it(record())
    some, whole = got.normalised(token=False)[2], got.normalised()[2]
    cosine = some @ whole / np.linalg.norm(some) / np.linalg.norm(whole)
    assert page.locator(".bb-es-row").nth(4).get_by_text(f"cosine {cosine:.2f} with all".replace("-", "−")).is_visible()
    page.get_by_role("button", name="All parts on").click()
    check(page, EmbeddingSum(record(), focus=2))
    assert "sum" in page.locator("[aria-live]").inner_text()


def test_nothing_added_is_the_bias(show: Show) -> None:
    page = show(EmbeddingSum(record(), token=False, segment=False, position=False))
    assert page.get_by_text("nothing = 0.000").is_visible()
    bias = as_the_page_has_it(record()).bias
    assert [numbers(row)[5] for row in table(page, 1)] == pytest.approx(bias.tolist(), abs=1e-4)


def pixels(page: Any, selector: str, n: int = 0) -> np.ndarray:
    values = (
        page.locator(f"{selector} canvas")
        .nth(n)
        .evaluate("c => [...c.getContext('2d').getImageData(0, 0, c.width, c.height).data]")
    )
    return np.array(values).reshape(-1, 4)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_strips_show_the_numbers(show: Show, dark: bool) -> None:
    """Blue above zero, orange below, and the stronger the larger: farther from the page's background."""
    page = show(EmbeddingSum(record(size=200), focus=2), dark=dark)
    background = np.array([18, 18, 18]) if dark else np.array([255, 255, 255])
    row = record(size=200).token[2]
    colours = pixels(page, ".bb-es-strip")[:, :3]
    blue = colours[:, 2] > colours[:, 0]
    far = np.abs(row) > 0.02
    assert (blue[far] == (row[far] > 0)).all()
    distance = np.abs(colours - background).sum(1)
    for sign in (row > 0, row < 0):
        ranks = [np.argsort(np.argsort(values[sign])) for values in (np.abs(row), distance)]
        assert np.corrcoef(*ranks)[0, 1] > 0.95


def test_focus_by_pointer(show: Show) -> None:
    page = show(EmbeddingSum(record(), focus=2))
    river = page.get_by_role("radio", name="river")
    river.hover()
    assert page.get_by_role("checkbox", name="token “river”").is_visible()  # a preview
    assert page.get_by_role("radio", name="bank").get_attribute("aria-checked") == "true"
    page.mouse.move(5, 5)
    assert page.get_by_role("checkbox", name="token “bank”").is_visible()
    river.click()
    page.mouse.move(5, 5)
    check(page, EmbeddingSum(record(), focus=5))
    assert page.locator("[aria-live]").inner_text().startswith("river. Lengths: token 0.")


def test_keyboard_alone(show: Show) -> None:
    page = show(EmbeddingSum(record(), focus=2))
    table(page, 0)  # so that checking clicks nothing later
    page.get_by_role("radio", name="bank").focus()
    press = page.keyboard.press
    active = "document.activeElement.id"
    for key, token in (("ArrowRight", "of"), ("ArrowLeft", "bank"), ("End", "[SEP]"), ("ArrowRight", "[CLS]")):
        press(key)
        assert page.evaluate("document.activeElement.textContent") == token
    check(page, EmbeddingSum(record(), focus=0))
    press("Home")
    press("Tab")
    press("Space")  # the token is off
    check(page, EmbeddingSum(record(), focus=0, token=False))
    for _ in range(3):
        press("Tab")
    assert page.evaluate(active).endswith("-dimension")
    for _ in range(3):
        press("ArrowRight")
    got = as_the_page_has_it(record())
    segment, position = got.segment[0][3], got.position[0][3]
    after = got.normalised(token=False)[0][3]
    sign = "+" if position >= 0 else "-"
    text = f"{segment:.3f} {sign} {abs(position):.3f} = {segment + position:.3f}; after LayerNorm {after:.3f}"
    text = text.replace("-", "−")
    assert page.locator(".bb-es-dimension").get_by_text(f"Dimension 3 {text}").is_visible()
    assert page.get_by_label("Dimension", exact=True).get_attribute("aria-valuetext") == f"3: {text}"
    press("Tab")
    press("Tab")  # the second position
    press("ArrowRight")
    rows = record().position
    cosine = rows[0] @ rows[4] / np.linalg.norm(rows[0]) / np.linalg.norm(rows[4])
    said = page.locator(".bb-es-side .bb-es-readout").inner_text()
    assert said.startswith("Positions 0 and 4 cosine ")
    assert numbers([said.split()[-1]]) == pytest.approx([cosine], abs=0.01)


def test_focus_can_be_seen(show: Show) -> None:
    page = show(EmbeddingSum(record()))
    for _ in range(12):  # token, three switches, three sliders, tables, three buttons, link
        page.keyboard.press("Tab")
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") in ("solid", "auto")


def test_point_at_a_dimension(show: Show) -> None:
    page = show(EmbeddingSum(record(), focus=2))
    strip = page.locator(".bb-es-strip").nth(3)
    box = strip.bounding_box()
    for d in (0, 7, 23):
        page.mouse.move(box["x"] + box["width"] * (d + 0.5) / 24, box["y"] + 5)
        assert page.locator(".bb-es-dimension b").inner_text() == f"Dimension {d}"
        lefts = page.locator(".bb-es-mark").evaluate_all("all => all.map(m => parseFloat(m.style.left))")
        assert lefts == pytest.approx([100 * (d + 0.5) / 24] * 5, abs=1e-4)


def test_the_map(show: Show) -> None:
    page = show(EmbeddingSum(record(), focus=2))
    readout = page.locator(".bb-es-side .bb-es-readout")
    rows = record().position
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    box = page.locator(".bb-es-map canvas").bounding_box()

    def place(a: int, b: int) -> tuple[float, float]:
        return box["x"] + box["width"] * (b + 0.5) / 40, box["y"] + box["height"] * (a + 0.5) / 40

    for a, b in ((0, 0), (30, 11), (39, 39)):
        page.mouse.move(*place(a, b))
        assert readout.locator("b").inner_text() == f"Positions {a} and {b}"
        assert numbers([readout.inner_text().split()[-1]])[0] == pytest.approx(unit[a] @ unit[b], abs=0.01)
    page.mouse.click(*place(30, 11))
    page.mouse.move(5, 5)
    assert readout.locator("b").inner_text() == "Positions 30 and 11"  # kept
    page.get_by_role("radio", name="river").click()
    assert readout.locator("b").inner_text() == "Positions 5 and 11"  # the first follows the token
    colours = pixels(page, ".bb-es-map").reshape(40, 40, 4)
    assert (colours[0, 0] == colours.diagonal().T).all()  # a position is like itself, everywhere alike


def test_two_on_a_page_share_nothing(show: Show) -> None:
    page = show(EmbeddingSum(record(), focus=2), EmbeddingSum(record(["a", "b"])), EmbeddingSum(record(), id="third"))
    first, second, third = (page.locator(".bb-widget").nth(i) for i in range(3))
    before = [w.inner_text() for w in (second, third)]
    first.get_by_role("radio", name="river").click()
    first.get_by_role("checkbox", name="segment").click()
    first.get_by_label("Dimension", exact=True).fill("9")
    assert [w.inner_text() for w in (second, third)] == before
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(node => node.id)")
    assert len(ids) == len(set(ids))


def test_link_restores_the_view(show: Show) -> None:
    widgets = [EmbeddingSum(record(), id="one"), EmbeddingSum(record(), id="two")]
    page = show(*widgets)
    first, second = (page.locator(".bb-widget").nth(i) for i in range(2))
    first.get_by_role("radio", name="river").click()
    first.get_by_role("checkbox", name="position").click()
    first.get_by_role("link", name="Link to this view").click()
    second.get_by_role("radio", name="bank").click()
    second.get_by_role("link", name="Link to this view").click()
    address = page.evaluate("location.hash")
    assert address == "#one=t5.110&two=t2.111"
    again = show(*widgets, fragment=address)
    check(again.locator(".bb-widget").nth(0), EmbeddingSum(record(), focus=5, position=False))
    again.evaluate("location.hash = '#one=t0.011'")
    again.locator(".bb-widget").first.get_by_role("checkbox", name="token “[CLS]”").wait_for()
    check(again.locator(".bb-widget").nth(0), EmbeddingSum(record(), focus=0, token=False))


@pytest.mark.parametrize("link", ["t7.111", "t1.11", "t1.112", "t.111", "t1.1111", "<script>", "%E0%A4%A", "t-1.111"])
def test_a_wrong_link_does_no_harm(show: Show, link: str) -> None:
    check(show(EmbeddingSum(record(), id="one", focus=2), fragment=f"#one={link}"), EmbeddingSum(record(), focus=2))


def test_tokens_are_text(show: Show) -> None:
    # ran() is defined nowhere: if any of this ran, the page would log an error and the test fail.
    nasty = ["</script><script>ran(1)</script>", "<img src=x onerror=ran(1)>", "", " ", "שלום", "猫", "猫"]
    page = show(EmbeddingSum(record(nasty), caption="<script>ran(2)</script>", focus=1))
    assert page.get_by_role("radio").all_inner_texts() == [nasty[0], nasty[1], "(empty)", "␣", "שלום", "猫5", "猫6"]
    page.get_by_role("radio", name="猫").first.click()
    page.locator("details.bb-es-twin summary").click()
    assert page.locator(".bb-widget img, .bb-widget script").count() == 0
    assert page.locator(".bb-caption").inner_text() == "<script>ran(2)</script>"


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_save_image(show: Show, dark: bool) -> None:
    nasty = ["</script><script>", "猫", "a", "long" * 99]
    page = show(EmbeddingSum(record(nasty, size=200), id="one", segment=False, caption="<b>& sum"), dark=dark)
    for focus, token in enumerate(nasty):
        page.get_by_role("radio").nth(focus).click()
        root, image = saved(page, f"one-token{focus}")
        words = texts(root)
        assert words[0] == "<b>& sum"
        assert words[1] == token or (words[1].endswith("…") and token.startswith(words[1][:-1]))
        beside = page.locator(".bb-es-number span").all_inner_texts()
        assert len(beside) == 9  # five lengths, two shares, one "off", a cosine
        assert [word for word in words if word in beside] == beside
        assert page.locator(".bb-es-legend").inner_text() == words[-1]
        through = [node.text for node in root.iter(f"{SVG}text") if node.get("text-decoration")]
        assert through == [page.locator(".bb-es-off label").inner_text()]
        strips = list(root.iter(f"{SVG}image"))
        assert [strip.get("opacity") for strip in strips] == ["1", "0.3", "1", "1", "1"]
        for n, strip in enumerate(strips):
            drawn = plt.imread(BytesIO(base64.b64decode(strip.attrib["href"].split(",")[1])), format="png")
            np.testing.assert_array_equal(np.round(255 * drawn[8, 3::7]), pixels(page, ".bb-es-strip", n))
        assert len(np.unique(image.reshape(-1, image.shape[2]), axis=0)) > 100


@pytest.mark.parametrize("size", [24, 768])
def test_phone(show: Show, size: int) -> None:
    long = record(["今天天气很好"] * 30, size=size, positions=128)
    page = show(EmbeddingSum(long), width=360, height=740, touch=True)
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    page.get_by_role("checkbox", name="position").tap()
    page.locator("details.bb-es-twin summary").tap()
    assert page.evaluate("document.documentElement.scrollWidth") == 360  # the tables scroll inside
    row = page.locator(".bb-es-row").nth(4)
    name, number = (row.locator(part).bounding_box() for part in (".bb-es-name > span:last-child", ".bb-es-number"))
    assert name["x"] + 60 <= number["x"]  # no text over another


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [360, 1100])
def test_axe(show: Show, axe: Callable[..., None], dark: bool, width: int) -> None:
    page = show(EmbeddingSum(record(), focus=2), EmbeddingSum(record(["a"]), segment=False), dark=dark, width=width)
    page.locator(".bb-widget").first.get_by_role("checkbox", name="token").click()
    page.locator("details.bb-es-twin summary").first.click()
    axe(page)


def test_dark_follows_the_page(show: Show) -> None:
    page = show(EmbeddingSum(record(), focus=2))
    before = pixels(page, ".bb-es-strip")
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    page.wait_for_function("document.querySelector('.bb-widget').dataset.bbTheme === 'dark'")
    assert pixels(page, ".bb-es-strip").mean() < before.mean() - 50


def test_in_a_closed_dropdown_it_is_drawn_when_opened(open_page: Callable[..., Any], tmp_path: Path) -> None:
    html = EmbeddingSum(record(), focus=2).html()
    (tmp_path / "p.html").write_text(
        f"<!doctype html><meta charset=utf-8><details><summary>x</summary>{html}</details>"
    )
    page = open_page()
    page.goto((tmp_path / "p.html").as_uri())
    page.locator("summary").first.click()
    check(page.locator(".bb-widget"), EmbeddingSum(record(), focus=2))
    assert len(np.unique(pixels(page, ".bb-es-strip"), axis=0)) > 10


def test_without_javascript(show: Show) -> None:
    page = show(EmbeddingSum(record(), focus=2, caption="The sum"), javascript=False)
    assert page.get_by_text("The sum").is_visible()
    assert page.get_by_text(re.compile(r"Lengths of the parts of bank: token 0\.\d\d, segment")).is_visible()


def test_over_http(open_page: Callable[..., Any], serve: Callable[[Path], str], tmp_path: Path) -> None:
    EmbeddingSum(record(), focus=2).save_html(tmp_path / "one.html")
    page = open_page()
    page.goto(serve(tmp_path) + "/one.html")
    check(page, EmbeddingSum(record(), focus=2))


def test_anywidget_render(page: Any, tmp_path: Path) -> None:
    (tmp_path / "p.html").write_text("<!doctype html><title>p</title><main></main>")
    page.goto((tmp_path / "p.html").as_uri())
    shown = EmbeddingSum(record(), focus=2, segment=False)
    data = {name: list(value) if isinstance(value, bytes) else value for name, value in shown._data().items()}
    values = {"focus": 2, "token": True, "segment": False, "position": True, "_data": data}
    # Bytes come in DataViews, somewhere within a buffer.
    views = """for (const name of ["numbers", "cosines"])
      values._data[name] = new DataView(Uint8Array.from([0, 0, 0, ...values._data[name]]).buffer, 3);
    const handlers"""
    page.evaluate(
        RENDER.replace("const handlers", views), [bundle_js("embedding-sum"), bundle_css("embedding-sum"), values]
    )
    check(page, shown)
    assert page.get_by_role("link").count() == 0  # no address in a notebook

    page.evaluate("model.set('focus', 4); model.set('segment', true)")  # from Python
    check(page, EmbeddingSum(record(), focus=4))
    assert page.evaluate("model.saves") == 0
    page.get_by_role("radio", name="river").click()  # to Python
    page.get_by_role("checkbox", name="token").click()
    assert page.evaluate("['focus', 'token', 'segment'].map(model.get)") == [5, False, True]
    assert page.evaluate("model.saves") == 2
    page.evaluate("model.set('focus', 99); model.set('token', 'yes')")  # nonsense is not drawn
    check(page, EmbeddingSum(record(), focus=5, token=False))

    page.evaluate("stop()")
    assert page.evaluate("model.listeners()") == 0
    assert page.evaluate("el.childElementCount") == 0
