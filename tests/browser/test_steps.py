"""Attention step by step in a real browser: every number is right, can be changed, and everything follows."""

import itertools
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from bertbook.viz import AttentionSteps
from bertbook.viz.embed import bundle_css, bundle_js
from tests.browser.saved import SVG, saved
from tests.browser.saved import texts as words_of
from tests.browser.widgets import RENDER

QUERY = [1, 0, 2]
KEYS = [[0, 1, 1], [4, 4, 0], [2, 3, 1]]
VALUES = [[1, 2, 3], [2, 8, 0], [2, 6, 3]]
TOKENS = ["input 0", "input 1", "input 2"]
Show = Callable[..., Any]


def worked(**arguments: Any) -> AttentionSteps:
    return AttentionSteps(**{"query": QUERY, "keys": KEYS, "values": VALUES, "tokens": TOKENS, **arguments})


def random_steps(size: int = 12, d: int = 8, d_v: int = 8, scale: float = 1, **arguments: Any) -> AttentionSteps:
    draw = np.random.default_rng(0).normal
    return AttentionSteps(draw(size=d), scale * draw(size=(size, d)), draw(size=(size, d_v)), **arguments)


def row(root: Any, stage: int, name: str) -> list[float]:
    """The numbers of one row, exactly as computed; `name` is how its heading begins."""
    values = root.locator(f"tbody:nth-of-type({stage}) tr").evaluate_all(
        """(rows, name) => {
          const found = rows.find((row) => row.querySelector("th[scope=row]")?.textContent.startsWith(name));
          return [...found.querySelectorAll("data")].map((data) => data.value);
        }""",
        name,
    )
    return [float(x) for x in values]


def texts(page: Any, stage: int, index: int) -> list[str]:
    """The numbers of row `index` (from 0, under the stage's heading) as they are written."""
    return page.locator(f"tbody:nth-of-type({stage}) tr").nth(index + 1).locator("data").all_inner_texts()


def output(root: Any) -> list[float]:
    """The output, exactly as computed."""
    cells = root.locator("tbody:nth-of-type(5) td:last-child data")
    return [float(x) for x in cells.evaluate_all("all => all.map(d => d.value)")]


def check(page: Any, steps: AttentionSteps) -> None:
    """Every number on the page against NumPy's."""
    query, keys, values, mask = steps.query, steps.keys, steps.values, steps.mask
    close = {"rel": 1e-12, "abs": 1e-12}
    for i, products in enumerate((keys * query).T):
        assert row(page, 1, f"entry {i}") == pytest.approx(products.tolist(), **close)
    scores = keys @ query
    divided = scores / math.sqrt(len(query)) if steps.scaled else scores
    assert row(page, 1, "score") == pytest.approx(scores.tolist(), **close)
    assert row(page, 2, "÷" if steps.scaled else "not divided") == pytest.approx(divided.tolist(), **close)
    kept = np.where(mask, divided, -np.inf)
    assert row(page, 3, "score") == pytest.approx([float(x) for x in kept], **close)
    exps = np.exp(kept - kept.max()) if mask.any() else np.zeros(len(mask))
    assert row(page, 4, "exp") == pytest.approx([*exps, exps.sum()], **close)
    assert row(page, 4, "weight") == pytest.approx([*steps.weights, steps.weights.sum()], **close)
    for i, products in enumerate((steps.weights[:, None] * values).T):
        assert row(page, 5, f"entry {i}") == pytest.approx([*products, steps.output[i]], **close)
    widths = page.locator(".bb-as-fill").evaluate_all("all => all.map(f => parseFloat(f.style.width))")
    assert widths == pytest.approx((100 * steps.weights).tolist(), abs=1e-3)


@pytest.mark.parametrize(
    "steps",
    [
        worked(),
        worked(scaled=False),
        worked(mask=[True, False, True]),
        worked(mask=[False, False, False]),
        random_steps(),
        random_steps(mask=np.arange(12) < 7, scaled=False),
        random_steps(scale=1e5),  # softmax without subtracting the largest score would overflow
        random_steps(1, 1, 1),
    ],
    ids=["worked", "raw", "masked", "all masked", "full", "full, masked and raw", "large", "one"],
)
def test_every_number_agrees_with_numpy(show: Show, steps: AttentionSteps) -> None:
    check(show(steps), steps)


def test_how_numbers_are_written(show: Show) -> None:
    page = show(worked())
    assert texts(page, 1, 3) == ["2", "4", "4"]  # whole numbers stay whole
    assert texts(page, 2, 0) == ["1.155", "2.309", "2.309"]
    assert texts(page, 4, 1) == ["0.136", "0.432", "0.432", "1.000"]
    page.get_by_label("Query, entry 0").fill("-50.25")
    assert texts(page, 1, 3) == ["2.0", "−201.0", "−98.5"]
    # What would round to zero keeps its first digits: these weights are small, and they are not zero.
    assert re.fullmatch(r"\d\.\de−51", texts(page, 4, 1)[1])
    page.get_by_label("Look at input 1").uncheck()
    assert texts(page, 3, 1)[1] == "−∞"
    assert texts(page, 4, 1)[1] == "0.000"
    assert page.locator("tbody:nth-of-type(2) th[scope=row]").inner_text() == "÷ 1.732"
    assert page.locator("tbody:nth-of-type(4) th[scope=row]").first.inner_text() == "exp(score − 1.155)"


@pytest.mark.parametrize(
    ("label", "name", "place"),
    [
        ("Query, entry 2", "query", (2,)),
        ("Key of input 1, entry 0", "keys", (1, 0)),
        ("Value of input 2, entry 1", "values", (2, 1)),
    ],
)
def test_edit_a_number(show: Show, label: str, name: str, place: tuple[int, ...]) -> None:
    page = show(worked())
    expected = worked()
    for text in ("3", "-0.125", "1e-3", "1000000", "0"):
        page.get_by_label(label).fill(text)
        array = getattr(expected, name)
        array[place] = float(text)
        setattr(expected, name, array)
        check(page, expected)
        assert page.get_by_label(label).input_value() == text  # stays as typed


def test_what_is_no_number_changes_nothing(show: Show) -> None:
    page = show(worked())
    box = page.get_by_label("Key of input 1, entry 0")
    for text in ("", "1000001", "-1e9"):
        box.fill(text)
        assert box.get_attribute("aria-invalid") == "true"
        check(page, worked())
        box.blur()
        assert box.input_value() == "4"
        assert box.get_attribute("aria-invalid") is None
        assert page.locator("[aria-live]").inner_text() == "Needed: a number from -1000000 to 1000000. Back to 4."
    box.fill("")
    box.press("5")
    assert box.get_attribute("aria-invalid") is None
    check(page, worked(keys=[KEYS[0], [5, 4, 0], KEYS[2]]))


def test_switch_the_division(show: Show) -> None:
    page = show(worked())
    switch = page.get_by_role("switch", name="Divide by √3")
    assert switch.is_checked()
    switch.click()
    check(page, worked(scaled=False))
    assert output(page) == pytest.approx([1.937, 6.683, 1.595], abs=5e-4)
    switch.click()
    check(page, worked())


def test_mask_tokens(show: Show) -> None:
    page = show(worked())
    page.get_by_label("Look at input 1").uncheck()
    check(page, worked(mask=[True, False, True]))
    assert page.get_by_text("Every key is masked").count() == 0
    page.get_by_label("Look at input 0").uncheck()
    assert output(page) == VALUES[2]
    page.get_by_label("Look at input 2").uncheck()
    check(page, worked(mask=[False] * 3))
    assert output(page) == [0, 0, 0]
    assert page.locator("tbody").get_by_text("Every key is masked").is_visible()
    assert page.locator("[aria-live]").inner_text().startswith("Every key is masked: there is nothing to share out.")
    page.get_by_label("Look at input 2").check()
    assert output(page) == VALUES[2]
    assert page.get_by_text("Every key is masked").count() == 0


def test_reset(show: Show) -> None:
    shown = worked(mask=[True, False, True])
    shown.query = [9, 9, 9]  # the state it opens with; what Python was first given is what reset goes back to
    page = show(shown)
    check(page, shown)
    page.get_by_label("Value of input 0, entry 0").fill("7")
    page.get_by_label("Look at input 1").check()
    page.get_by_role("switch").click()
    page.get_by_label("Key of input 0, entry 0").fill("")
    page.get_by_role("button", name="Reset").click()
    check(page, worked(mask=[True, False, True]))
    values = page.locator("input[type=number]").evaluate_all("all => all.map(i => +i.value)")
    assert sorted(values) == sorted([*QUERY, *np.ravel(KEYS), *np.ravel(VALUES)])
    assert page.locator("[aria-live]").inner_text().startswith("Back to the first numbers. Output ")


def test_keyboard_alone(show: Show) -> None:
    page = show(worked())
    press = page.keyboard.press
    active = "document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent"
    press("Tab")
    assert page.evaluate(active) == "Query, entry 0"
    press("ArrowUp")
    press("ArrowUp")
    check(page, worked(query=[3, 0, 2]))
    press("ArrowDown")
    check(page, worked(query=[2, 0, 2]))
    spoken = page.locator("[aria-live]").inner_text()
    now = worked(query=[2, 0, 2])
    assert spoken.startswith("Output " + ", ".join(f"{x:.3f}" for x in now.output) + ". Weights ")
    assert f"{now.weights[1]:.3f} for input 1" in spoken
    for _ in range(12):  # the other numbers of the stage, then the switch
        press("Tab")
    press("Space")
    now.scaled = False
    check(page, now)
    press("Tab")
    press("Space")
    now.mask = [False, True, True]
    check(page, now)
    for _ in range(12):  # two more marks, nine values, the button
        press("Tab")
    assert page.evaluate(active) == "Reset"
    press("Enter")
    check(page, worked())


def test_arrow_keys_step_by_tenths_among_fractions(show: Show) -> None:
    page = show(random_steps(2, 2, 1))
    box = page.get_by_label("Query, entry 0")
    before = float(box.get_attribute("title"))
    assert box.input_value() == f"{before:.3f}".rstrip("0")
    for _ in range(3):
        box.press("ArrowUp")
    assert float(box.get_attribute("title")) == pytest.approx(before + 0.3, abs=1e-9)
    box.fill("1000000")
    box.press("ArrowUp")
    assert box.input_value() == "1000000"


def test_focus_can_be_seen(show: Show) -> None:
    page = show(worked())
    for _ in range(28):  # all there is: 3 + 9 + 9 numbers, switch, three marks, button, link
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === document.body"):
            break
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


@pytest.mark.parametrize("width", [360, 800])
def test_focus_is_not_hidden_by_the_columns_that_stay(show: Show, width: int) -> None:
    page = show(random_steps(12, 1, 1), width=width)
    for j in range(12):
        box = page.get_by_label(f"Key of key {j}, entry 0")
        box.focus()
        seen = box.evaluate(
            """box => {
              const { left, right, top, height } = box.getBoundingClientRect();
              return [left + 1, right - 1].every((x) => document.elementFromPoint(x, top + height / 2) === box);
            }"""
        )
        assert seen, j


def test_changes_are_marked_for_a_moment(show: Show) -> None:
    page = show(worked())
    assert page.locator("[data-changed]").count() == 0
    page.get_by_label("Value of input 1, entry 1").fill("9")
    marked = page.locator("[data-changed]")
    assert marked.count() == 2  # the product and the output
    assert marked.first.locator("data").evaluate("d => getComputedStyle(d, '::after').content").startswith('"▲"')
    page.get_by_label("Value of input 1, entry 1").fill("1")
    assert marked.first.locator("data").evaluate("d => getComputedStyle(d, '::after').content").startswith('"▼"')
    page.wait_for_function("!document.querySelector('[data-changed]')")
    page.get_by_label("Query, entry 1").fill("0.0")  # another text, the same number
    assert page.locator("[data-changed]").count() == 0


def test_reduced_motion(show: Show) -> None:
    for reduced, duration in ((False, "0.15s"), (True, "0s")):
        page = show(worked(), reduced_motion=reduced)
        page.get_by_label("Query, entry 0").fill("3")
        assert page.locator(".bb-as-fill").first.evaluate("n => getComputedStyle(n).transitionDuration") == duration
        assert page.locator("[data-changed]").count() > 5  # marked all the same


def test_two_on_a_page_share_nothing(show: Show) -> None:
    page = show(worked(), random_steps(4, 2, 2), worked(id="third"))
    first, second, third = (page.locator(".bb-widget").nth(i) for i in range(3))
    before = [w.inner_text() for w in (second, third)]
    first.get_by_label("Key of input 1, entry 0").fill("7")
    first.get_by_role("switch").click()
    first.get_by_label("Look at input 0").uncheck()
    assert [w.inner_text() for w in (second, third)] == before
    check(first, worked(keys=[KEYS[0], [7, 4, 0], KEYS[2]], scaled=False, mask=[False, True, True]))
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(node => node.id)")
    assert len(ids) == len(set(ids))


def test_link_restores_the_numbers(show: Show) -> None:
    widgets = [worked(id="one"), worked(id="two")]
    page = show(*widgets)
    for n, key in ((0, "-1.5"), (1, "1e-7")):
        root = page.locator(".bb-widget").nth(n)
        root.get_by_label("Key of input 1, entry 2").fill(key)
        root.get_by_label("Look at input 0").uncheck()
        root.get_by_role("link", name="Link to these numbers").click()
    address = page.evaluate("location.hash")
    assert address.startswith("#one=1,0,2;0,1,1,4,4,-1.5,2,3,1;1,2,3,2,8,0,2,6,3;011;1&two=")
    again = show(*widgets, fragment=address)
    for n, key in ((0, -1.5), (1, 1e-7)):
        expected = worked(keys=replaced_key(key), mask=[False, True, True])
        check(again.locator(".bb-widget").nth(n), expected)
    again.evaluate("location.hash = '#one=1,0,2;0,1,1,4,4,0,2,3,1;1,2,3,2,8,0,2,6,3;111;0'")
    again.locator(".bb-widget").first.get_by_text("not divided").wait_for()
    check(again.locator(".bb-widget").first, worked(scaled=False))
    again.get_by_role("button", name="Reset").first.click()
    check(again.locator(".bb-widget").first, worked())


def replaced_key(value: float) -> list[list[float]]:
    return [KEYS[0], [4, 4, value], KEYS[2]]


@pytest.mark.parametrize(
    "link",
    [
        "1,0;0,1,1,4,4,0,2,3,1;1,2,3,2,8,0,2,6,3;111;1",  # two entries in the query
        "1,0,2;0,1,1,4,4,0,2,3;1,2,3,2,8,0,2,6,3;111;1",  # eight in the keys
        "1,0,2;0,1,1,4,4,0,2,3,;1,2,3,2,8,0,2,6,3;111;1",
        "1,0,2;0,1,1,4,4,0,2,3,1;1,2,3,2,8,0,2,6,NaN;111;1",
        "1,0,2;0,1,1,4,4,0,2,3,1;1,2,3,2,8,0,2,6,1e9;111;1",
        "1,0,2;0,1,1,4,4,0,2,3,1;1,2,3,2,8,0,2,6,3;1121;1",
        "1,0,2;0,1,1,4,4,0,2,3,1;1,2,3,2,8,0,2,6,3;112;1",
        "1,0,2;0,1,1,4,4,0,2,3,1;1,2,3,2,8,0,2,6,3;111;",
        "<script>",
        ";;;;",
        "%E0%A4%A",
    ],
)
def test_a_wrong_link_does_no_harm(show: Show, link: str) -> None:
    check(show(worked(id="one"), fragment=f"#one={link}"), worked())


def test_tokens_are_text(show: Show) -> None:
    # ran() is defined nowhere: if any of this ran, the page would log an error and the test fail.
    nasty = ["</script><script>ran(1)</script>", "<img src=x onerror=ran(1)>", "", " ", "שלום", "猫", "猫"]
    page = show(random_steps(7, 2, 2, tokens=nasty, caption="<script>ran(2)</script>"))
    heads = page.locator("thead th[title]").all_inner_texts()
    assert heads == [nasty[0], nasty[1], "(empty)", "␣", "שלום", "猫 (5)", "猫 (6)"]
    page.get_by_label("Key of 猫 (6), entry 1").fill("1")
    assert page.locator(".bb-widget img, .bb-widget script").count() == 0
    assert page.locator(".bb-caption").inner_text() == "<script>ran(2)</script>"


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_save_image(show: Show, dark: bool) -> None:
    nasty = ["<script>", "</text>&", "猫", "שלום", "long" * 99]
    page = show(random_steps(5, 3, 2, tokens=nasty, mask=np.arange(5) != 1, id="one", caption="<b>& steps"), dark=dark)
    page.get_by_label("Key of 猫, entry 1").fill("-1.5")
    page.get_by_label("Query, entry 0").fill("")  # nothing that counts
    root, _ = saved(page, "one-steps")
    words = words_of(root)
    assert words[:5] == ["<b>& steps", "query", *nasty[:3]]
    assert re.fullmatch("(long)+l?o?n?…", words[6])
    through = [node.text for node in root.iter(f"{SVG}text") if node.get("text-decoration")]
    assert through == ["</text>&"]
    numbers = page.locator("data").all_inner_texts()
    # Row by row; a whole number may also be the query's.
    assert [word for word in words if word in numbers] == numbers
    factors = page.locator(".bb-as-factor input").evaluate_all("all => all.map(box => `× ${box.value}`)")
    assert [word for word in words if word.startswith("×")] == factors
    assert "× -1.5" in factors
    assert words.count("yes") == 4
    assert words.count("no") == 1
    for stage in page.locator(".bb-as-head b, .bb-as-about, tbody th[scope=row]").all_inner_texts():
        assert any(stage and stage in word for word in words), stage
    page.get_by_role("switch").click()
    root, _ = saved(page, "one-steps")
    words = words_of(root)
    assert "Divide by √3: off. Without it, long vectors give one key nearly everything." in words
    assert "not divided" in words
    bars = [node for node in root.iter(f"{SVG}rect") if node.get("height") == "8"]
    lengths = np.array([float(bar.attrib["width"]) for bar in bars])
    fills = page.locator(".bb-as-fill").evaluate_all("all => all.map(f => parseFloat(f.style.width) / 100)")
    assert lengths[1::2] / lengths[::2] == pytest.approx(fills, abs=1e-3)


@pytest.mark.parametrize("steps", [random_steps(scale=1e5), random_steps(1, 1, 1), worked(mask=[False] * 3)])
def test_a_saved_image_holds_everything(show: Show, page: Any, steps: AttentionSteps, tmp_path: Path) -> None:
    root, _ = saved(show(steps), f"{steps.id}-steps")
    (tmp_path / "one.svg").write_bytes(ElementTree.tostring(root))
    page.goto((tmp_path / "one.svg").as_uri())
    boxes = page.locator("text").evaluate_all(
        "all => all.map((t) => t.getBBox()).map((b) => [b.x, b.x + b.width, b.y + b.height / 2])"
    )
    assert all(left >= 0 and right <= float(root.get("width", 0)) for left, right, _ in boxes)
    for (_, end, line), (start, _, other) in itertools.pairwise(boxes):
        assert end <= start or line != other  # no text over another


@pytest.mark.parametrize(
    ("steps", "scrolls"),
    [(worked(), False), (random_steps(tokens=["今天天气"] * 12), True), (random_steps(1, 1, 1), False)],
    ids=["worked", "full", "one"],
)
def test_phone(show: Show, steps: AttentionSteps, scrolls: bool) -> None:
    page = show(steps, width=360, height=740, touch=True)
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    inner = page.locator(".bb-as-scroll").evaluate("s => s.scrollWidth > s.clientWidth")
    assert inner == scrolls  # the worked example fits; large ones scroll inside
    for heading in page.locator(".bb-as-stage").all():  # the headings do not scroll away
        box = heading.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 360
    boxes = page.locator("input[type=number]").evaluate_all("all => all.map(i => i.scrollWidth <= i.clientWidth)")
    assert all(boxes)  # no number is cut off


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [360, 1100])
def test_axe(show: Show, axe: Callable[..., None], dark: bool, width: int) -> None:
    page = show(worked(), random_steps(mask=np.arange(12) < 7), dark=dark, width=width)
    axe(page)
    page.locator(".bb-widget").first.get_by_label("Query, entry 0").fill("")
    page.locator(".bb-widget").nth(1).get_by_label("Query, entry 0").fill("3")
    axe(page)


def test_dark_follows_the_page(show: Show) -> None:
    page = show(worked())
    colour = "e => getComputedStyle(e).backgroundColor"
    cells = ".bb-widget, tbody th[scope=row]"  # the cells that stay while others scroll cover them in the page's colour
    assert set(page.locator(cells).evaluate_all(f"all => all.map({colour})")) == {"rgb(255, 255, 255)"}
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    page.wait_for_function("document.querySelector('.bb-widget').dataset.bbTheme === 'dark'")
    assert set(page.locator(cells).evaluate_all(f"all => all.map({colour})")) == {"rgb(18, 18, 18)"}


def test_without_javascript(show: Show) -> None:
    page = show(worked(caption="By hand"), javascript=False)
    assert page.get_by_text("By hand").is_visible()
    assert page.get_by_text("Output: 1.864, 6.319, 1.704.").is_visible()


def test_over_http(open_page: Callable[..., Any], serve: Callable[[Path], str], tmp_path: Path) -> None:
    worked().save_html(tmp_path / "one.html")
    page = open_page()
    page.goto(serve(tmp_path) + "/one.html")
    check(page, worked())


def test_anywidget_render(page: Any, tmp_path: Path) -> None:
    (tmp_path / "p.html").write_text("<!doctype html><title>p</title><main></main>")
    page.goto((tmp_path / "p.html").as_uri())
    data = worked()._data()
    values = {**data["initial"], "scaled": False, "_data": data}
    page.evaluate(RENDER, [bundle_js("attention-steps"), bundle_css("attention-steps"), values])
    check(page, worked(scaled=False))
    assert page.get_by_role("link").count() == 0  # no address in a notebook

    page.evaluate("model.set('query', [2, 0, 2]); model.set('mask', [true, true, false])")  # from Python
    check(page, worked(scaled=False, query=[2, 0, 2], mask=[True, True, False]))
    assert page.evaluate("model.saves") == 0
    page.get_by_label("Key of input 0, entry 0").fill("5")  # to Python
    page.get_by_role("switch").click()
    assert page.evaluate("model.get('key')") == [[5, 1, 1], *KEYS[1:]]
    assert page.evaluate("['value', 'mask', 'scaled'].map(model.get)") == [VALUES, [True, True, False], True]
    assert page.evaluate("model.saves") == 2
    page.evaluate("model.set('query', [1, 2]); model.set('scaled', 'yes')")  # nonsense is not drawn
    check(page, worked(query=[2, 0, 2], mask=[True, True, False], keys=[[5, 1, 1], *KEYS[1:]]))

    page.evaluate("stop()")
    assert page.evaluate("model.listeners()") == 0
    assert page.evaluate("el.childElementCount") == 0
