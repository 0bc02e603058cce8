"""Padding and packing in a real browser: every number is Python's, and the pictures show what the numbers say."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bertbook.viz import PackingExplorer
from bertbook.viz.embed import bundle_css, bundle_js
from bertbook.viz.layouts import LAYOUTS, bucketed
from tests.browser.widgets import RENDER

LENGTHS = [12, 5, 30, 8, 21, 5]
TEXTS = ["[CLS] the cat sat [SEP]", "[CLS] yes [SEP]", "[CLS] 猫 sleep ##s all day [SEP]"]
SIZES = {"hidden_size": 64, "intermediate_size": 160, "num_layers": 3}
Show = Callable[..., Any]


def packing(lengths: Any = LENGTHS, **arguments: Any) -> PackingExplorer:
    return PackingExplorer(lengths, **{"groups": min(2, len(lengths)), **SIZES, **arguments})


def drawn(rows: int, longest: int, **arguments: Any) -> PackingExplorer:
    return packing(np.random.default_rng(0).integers(1, longest + 1, rows), **arguments)


def numbers(root: Any, layout: str) -> list[str]:
    """What stands under a picture, exactly as computed: tokens, padding, linear, attention, together, ratio."""
    return root.locator(f".bb-pe-{layout} data").evaluate_all("all => all.map(d => d.value)")


def check(root: Any, expected: PackingExplorer) -> None:
    """Every number on the page against Python's, digit by digit."""
    packed = expected.costs["packed"]
    for layout, cost in expected.costs.items():
        *exact, ratio = numbers(root, layout)
        assert [*map(int, exact)] == [
            cost.tokens, cost.tokens - packed.tokens, cost.linear, cost.attention, cost.flops,
        ]  # fmt: skip
        assert float(ratio) == pytest.approx(cost.flops / packed.flops)
        widths = root.locator(f".bb-pe-{layout} .bb-pe-bar span").evaluate_all(
            "all => all.map(bar => parseFloat(bar.style.width))"
        )
        share = [100 * part / expected.costs["padded"].flops for part in (cost.linear, cost.attention)]
        assert widths == pytest.approx(share, abs=1e-3)
    assert root.locator("output").all_inner_texts() == [str(expected.groups), str(len(expected.lengths))]
    assert root.locator("[role=option]").count() == len(expected.lengths)
    chosen = root.locator("[aria-selected=true]")
    assert chosen.count() == (expected.focus is not None)
    if expected.focus is not None:
        assert chosen.get_attribute("aria-label").startswith(
            f"Row {expected.focus}, {expected.lengths[expected.focus]} "
        )
    assert root.locator("input[type=radio]:checked").get_attribute("value") == expected.layout


def said(root: Any) -> str:
    return root.locator(".bb-pe-said p").first.inner_text()


def pixels(page: Any, layout: str) -> np.ndarray:
    """What the canvas of a layout holds, (height, width, 4)."""
    height, width, data = page.locator(f".bb-pe-{layout} canvas").evaluate(
        "c => [c.height, c.width, [...c.getContext('2d').getImageData(0, 0, c.width, c.height).data]]"
    )
    return np.array(data, np.uint8).reshape(height, width, 4)


def image(page: Any, layout: str) -> str:
    """The same, to be compared."""
    return str(page.locator(f".bb-pe-{layout} canvas").evaluate("c => c.toDataURL()"))


def place(page: Any, layout: str, row: float, token: float, rows: int, longest: int) -> dict[str, float]:
    """Where to point for the middle of a token, both counted from 0, in the first group of a layout."""
    box = page.locator(f".bb-pe-{layout} canvas").bounding_box()
    height = max(1.5, min(14, 320 / rows))
    return {
        "x": box["x"] + 12 + (token + 0.5) * (box["width"] - 14) / longest,
        "y": box["y"] + 1 + (row + 0.5) * height,
    }


def point(layout: str, row: float, token: float) -> tuple[str, float, float, int, int]:
    return layout, row, token, len(LENGTHS), max(LENGTHS)


@pytest.mark.parametrize(
    "shown",
    [
        packing(),
        packing(groups=6, layout="packed", focus=2),
        packing([7]),
        packing([4, 4, 4], groups=3),
        packing([text.split() for text in TEXTS], focus=1),
        drawn(32, 128),
        packing([16_384] * 512, hidden_size=12_288, intermediate_size=49_152, num_layers=96),
    ],
    ids=["six", "a row a group", "one row", "one length", "tokens", "32 × 128", "the largest"],
)
def test_every_number_agrees_with_python(show: Show, shown: PackingExplorer) -> None:
    check(show(shown), shown)


def test_how_numbers_are_written(show: Show) -> None:
    page = show(PackingExplorer([128, 64, 32, 32]))
    texts = page.locator(".bb-pe-padded dd").all_inner_texts()
    assert texts[:2] == ["512 tokens", "256, 50%"]
    assert texts[2:] == ["87.0 GFLOP", "2.42 GFLOP", "89.4 GFLOP", "2.02 ×"]
    # All in one unit, so that they can be compared by eye.
    assert page.locator(".bb-pe-packed dd").all_inner_texts()[1:4] == ["none", "43.5 GFLOP", "0.830 GFLOP"]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_picture_is_as_large_as_what_is_computed(show: Show, layout: str) -> None:
    shown = packing()
    page = show(shown)
    painted = (pixels(page, layout)[..., 3] == 255).sum()
    # Cells, as wide as the canvas allows; a thin line is left free under each row.
    box = page.locator(f".bb-pe-{layout} canvas").bounding_box()
    cell = (box["width"] - 14) / max(LENGTHS) * 14
    assert painted == pytest.approx(shown.costs[layout].tokens * cell, rel=0.09)  # type: ignore[index]


def test_padding_looks_like_padding(show: Show) -> None:
    page = show(packing())
    canvas, box = pixels(page, "padded"), page.locator(".bb-pe-padded canvas").bounding_box()

    def colours(row: int, token: int) -> int:
        at = place(page, *point("padded", row, token))
        x, y = int(at["x"] - box["x"]), int(at["y"] - box["y"])
        return len(np.unique(canvas[y - 4 : y + 4, x - 3 : x + 3].reshape(-1, 4), axis=0))

    assert colours(0, 5) == 1  # a token is one colour
    assert colours(0, 20) > 1  # padding is hatched: told apart without colour


def test_hover_finds_a_row_in_all_three_and_click_keeps_it(show: Show) -> None:
    page = show(packing())
    before = [image(page, layout) for layout in LAYOUTS]
    assert said(page).startswith("Choose a row")
    page.mouse.move(**place(page, *point("bucketed", 0, 2)))  # the shortest: row 1
    assert said(page) == (
        "Row 1: 5 tokens. Padded: 25 of padding. Bucketed: in group 0, 3 of padding. Packed: positions 12 to 16."
    )
    for layout, old in zip(LAYOUTS, before, strict=True):
        assert image(page, layout) != old
    check(page, packing())  # shown, not kept
    page.mouse.move(**place(page, *point("packed", 0, 13)))  # the second row begins at token 12
    assert said(page).startswith("Row 1: ")
    page.mouse.move(**place(page, *point("packed", 1, 0)))  # the packed line goes on below: token 30 is in row 2
    assert said(page).startswith("Row 2: 30 tokens. Padded: no padding. Bucketed: in group 1, no padding.")
    page.mouse.down()
    page.mouse.up()
    page.mouse.move(2, 2)
    assert said(page).startswith("Row 2: ")
    check(page, packing(focus=2))
    page.mouse.click(**place(page, *point("padded", 2, 3)))  # once more lets go
    page.mouse.move(2, 2)
    check(page, packing())


def test_drag_changes_a_length(show: Show) -> None:
    page = show(packing())
    page.mouse.move(**place(page, *point("padded", 3, 6)))
    page.mouse.down()
    page.mouse.move(**place(page, *point("padded", 3, 16)), steps=4)
    assert int(numbers(page, "packed")[0]) == sum(LENGTHS) + 9  # follows before it is kept
    page.mouse.up()
    page.mouse.move(2, 2)
    dragged = packing([12, 5, 30, 17, 21, 5], focus=3)
    check(page, dragged)
    page.mouse.move(**place(page, *point("padded", 2, 20)))
    page.mouse.down()
    page.mouse.move(2, 300, steps=4)  # past the left edge: a row keeps one token
    page.mouse.up()
    page.mouse.move(2, 2)
    check(page, packing([12, 5, 1, 17, 21, 5], focus=2))


def test_only_padded_rows_can_be_dragged(show: Show) -> None:
    page = show(packing())
    page.mouse.move(**place(page, *point("packed", 0, 13)))
    page.mouse.down()
    page.mouse.move(**place(page, *point("packed", 0, 2)), steps=4)
    page.mouse.move(2, 2)
    page.mouse.up()
    check(page, packing())
    page.mouse.move(**place(page, *point("packed", 0, 13)))  # and the pointer is free again
    assert said(page).startswith("Row 1: 5 tokens.")


def test_groups(show: Show) -> None:
    page = show(packing())
    slider = page.get_by_label("Groups", exact=True)
    for groups in (1, 3, 6):
        slider.fill(str(groups))
        check(page, packing(groups=groups))
        title = f"Bucketed in {groups} group{'s' if groups > 1 else ''}"
        assert page.get_by_role("radio", name=title).count() == 1
    slider.press("ArrowLeft")
    check(page, packing(groups=5))


def test_rows_come_and_go(show: Show) -> None:
    page = show(packing(groups=6, focus=5))
    less, more = page.get_by_label("One row less"), page.get_by_label("One row more")
    less.click()
    check(page, packing(LENGTHS[:5], groups=5))  # focus and groups give way
    for _ in range(6):
        less.click()
    check(page, packing(LENGTHS[:1], groups=1))
    assert page.get_by_label("Groups", exact=True).is_disabled()
    for _ in range(7):
        more.click()
    check(page, packing([*LENGTHS, 12, 5], groups=1))  # the given rows come round again


def test_draw_another_batch(show: Show) -> None:
    page = show(packing(), packing(id="twin"))
    first, second = (page.locator(".bb-widget").nth(i) for i in range(2))
    assert first.get_by_text("The lengths are as given.").is_visible()

    def lengths(root: Any) -> list[int]:
        labels = root.locator("[role=option]").evaluate_all("all => all.map(o => o.getAttribute('aria-label'))")
        return [int(label.split()[2]) for label in labels]

    drawn = []
    for seed in range(1, 4):
        first.get_by_role("button", name="Draw another batch").click()
        assert first.get_by_text(f"The lengths are drawn with seed {seed}.").is_visible()
        drawn.append(lengths(first))
        check(first, packing(drawn[-1]))
        assert set(drawn[-1]) <= set(LENGTHS)
    assert len({tuple(batch) for batch in drawn}) > 1
    second.get_by_role("button", name="Draw another batch").click()
    assert lengths(second) == drawn[0]  # the same seed, the same batch
    first.get_by_role("listbox").press("ArrowDown")
    first.get_by_label("One token more").click()
    assert first.get_by_text("drawn with seed 3, then changed").is_visible()
    first.get_by_role("button", name="Reset").click()
    check(first, packing())


def test_draws_are_spread_evenly(show: Show) -> None:
    page = show(packing([*range(1, 9)] * 26))
    page.get_by_role("button", name="Draw another batch").click()
    labels = page.locator("[role=option]").evaluate_all("all => all.map(o => o.getAttribute('aria-label'))")
    counts = np.bincount([int(label.split()[2]) for label in labels], minlength=9)[1:]
    assert counts.sum() == 208
    assert counts.min() > 10  # 26 are expected of each; fewer than 11 comes once in thousands of seeds


def test_type_a_row_and_a_length(show: Show) -> None:
    page = show(packing())
    row, length = page.get_by_label("Row", exact=True), page.get_by_label("Length", exact=True)
    assert length.is_disabled()
    row.fill("4")
    row.press("Enter")
    assert length.input_value() == "21"
    length.fill("40")
    length.press("Enter")
    changed = packing([12, 5, 30, 8, 40, 5], focus=4)
    check(page, changed)
    for text in ("0", "-3", "2.5", "", "99999"):
        length.fill(text)
        length.blur()
        assert length.input_value() == "40"
        assert page.locator("[aria-live]").inner_text() == "Needed: a whole number from 1 to 16384."
        check(page, changed)
    row.fill("6")
    row.blur()
    assert row.input_value() == "4"
    page.get_by_label("One token less").click()
    check(page, packing([12, 5, 30, 8, 39, 5], focus=4))
    row.fill("2")  # half typed: the pointer may pass over the pictures
    page.mouse.move(**place(page, *point("packed", 0, 1)))
    assert row.input_value() == "2"
    row.press("Enter")
    page.mouse.move(2, 2)
    assert said(page).startswith("Row 2: ")


def test_keyboard_alone(show: Show) -> None:
    page = show(packing())
    press = page.keyboard.press
    active = "document.activeElement.getAttribute('aria-label') ?? document.activeElement.id.replace(/.*-/, '')"
    press("Tab")
    assert page.evaluate(active) == "groups"
    press("ArrowRight")
    check(page, packing(groups=3))
    for name in ("One row less", "One row more"):
        press("Tab")
        assert page.evaluate(active) == name
    press("Enter")
    check(page, packing([*LENGTHS, 12], groups=3))
    for _ in range(2):  # draw, reset
        press("Tab")
    press("Enter")
    check(page, packing())
    press("Tab")
    assert page.evaluate("document.activeElement.value") == "padded"
    press("ArrowDown")
    check(page, packing(layout="bucketed"))
    press("ArrowUp")
    press("Tab")
    assert page.evaluate(active) == "Rows, padded"
    press("ArrowDown")
    press("ArrowDown")
    check(page, packing(focus=1))
    spoken = page.locator("[aria-live]")
    assert spoken.inner_text() == said(page)
    option = page.evaluate("document.activeElement.getAttribute('aria-activedescendant')")
    assert page.locator(f"[id='{option}']").get_attribute("aria-label") == "Row 1, 5 tokens"
    press("ArrowRight")
    press("Shift+ArrowRight")
    check(page, packing([12, 16, 30, 8, 21, 5], focus=1))
    assert spoken.inner_text().startswith("Row 1: 16 tokens.")
    press("End")
    press("ArrowDown")
    press("Shift+ArrowLeft")
    check(page, packing([12, 16, 30, 8, 21, 1], focus=5))  # never below one
    press("Home")
    press("PageDown")
    press("ArrowUp")
    check(page, packing([12, 16, 30, 8, 21, 1], focus=4))
    press("Escape")
    check(page, packing([12, 16, 30, 8, 21, 1]))


def test_focus_can_be_seen(show: Show) -> None:
    page = show(packing(focus=2))
    seen = 0
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === document.body"):
            break
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
        seen += 1
    assert seen >= 15


def test_the_layout_in_words(show: Show) -> None:
    page = show(packing(focus=2))
    told = page.get_by_role("group", name="The tensors")
    assert told.inner_text() == "Padded One batch of vectors, (6, 30, 64): each row as long as the longest."
    page.get_by_role("radio", name="Bucketed in 2 groups").check()
    assert "2 batches, one after the other: (3, 8, 64), (3, 30, 64)." in told.inner_text()
    page.get_by_role("radio", name="Packed").check()
    assert told.inner_text().endswith(
        "(81, 64), and where each text begins and ends: cu_seqlens = [0, 12, 17, 47, 55, 76, 81]"
    )
    assert told.locator("mark").all_inner_texts() == ["17", "47"]
    check(page, packing(focus=2, layout="packed"))


def test_table_twin(show: Show) -> None:
    shown = drawn(9, 40, groups=4)
    page = show(shown)
    page.get_by_text("Show as tables").click()
    layouts, rows = (page.get_by_role("table").nth(i) for i in range(2))

    def cells(table: Any) -> list[list[str]]:
        return table.locator("tbody tr").evaluate_all(
            "rows => rows.map(row => [...row.children].map(cell => cell.textContent.replaceAll(',', '')))"
        )

    for cost, (_, *texts) in zip(shown.costs.values(), cells(layouts), strict=True):
        spare = cost.tokens - shown.costs["packed"].tokens
        assert [*map(int, texts)] == [cost.tokens, spare, cost.linear, cost.attention, cost.flops]
    lengths, ends = shown.lengths.tolist(), shown.cu_seqlens.tolist()
    groups = bucketed(lengths, 4)
    for row, texts in enumerate(cells(rows)):
        group = next(i for i, members in enumerate(groups) if row in members)
        width = max(lengths[member] for member in groups[group])
        expected = [
            row,
            lengths[row],
            max(lengths) - lengths[row],
            group,
            width - lengths[row],
            ends[row],
            ends[row + 1],
        ]
        assert [*map(int, texts)] == expected
    page.get_by_label("Groups", exact=True).fill("1")
    assert {texts[3] for texts in cells(rows)} == {"0"}  # it follows


def test_tokens_are_named_and_are_text(show: Show) -> None:
    # ran() is defined nowhere: if any of this ran, the page would log an error and the test fail.
    nasty = ["</script><script>ran(1)</script>", "<img src=x onerror=ran(1)>", "", " ", "שלום", "猫"]
    page = show(packing([nasty, ["yes"]], focus=0, caption="<script>ran(2)</script>"))
    text = page.locator(".bb-pe-text")
    assert text.locator("bdi").all_inner_texts() == [nasty[0], nasty[1], "(empty)", "␣", "שלום", "猫"]
    assert page.locator(".bb-widget img, .bb-widget script").count() == 0
    assert page.locator(".bb-caption").inner_text() == "<script>ran(2)</script>"
    page.get_by_label("One token less").click()
    assert text.locator("bdi").count() == 5
    box = page.locator(".bb-pe-padded canvas").bounding_box()
    page.mouse.move(box["x"] + 12 + (box["width"] - 14) * 4.5 / 5, box["y"] + 12)
    assert text.locator("mark").all_inner_texts() == ["שלום"]
    page.get_by_role("button", name="Draw another batch").click()
    page.get_by_role("listbox").press("Home")
    assert text.is_hidden()  # these rows are not the given texts


def test_names_stand_in_the_picture(show: Show) -> None:
    page = show(packing([text.split() for text in TEXTS]))
    named = pixels(page, "padded")
    page.get_by_role("button", name="Draw another batch").click()
    assert page.locator(".bb-pe-tall").count() == 0
    assert len(np.unique(named.reshape(-1, 4), axis=0)) > len(np.unique(pixels(page, "padded").reshape(-1, 4), axis=0))


def test_two_on_a_page_share_nothing(show: Show) -> None:
    page = show(packing(), drawn(5, 9), packing(id="third"))
    first, second, third = (page.locator(".bb-widget").nth(i) for i in range(3))
    before = [w.inner_text() for w in (second, third)]
    first.get_by_label("Groups", exact=True).fill("3")
    first.get_by_role("radio", name="Packed").check()
    first.get_by_role("listbox").press("End")
    first.get_by_label("One token more").click()
    assert [w.inner_text() for w in (second, third)] == before
    check(third, packing())
    check(first, packing([*LENGTHS[:5], 6], groups=3, layout="packed", focus=5))
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(node => node.id)")
    assert len(ids) == len(set(ids))


def test_link_restores_the_view(show: Show) -> None:
    widgets = [packing(id="one"), packing(id="two")]
    page = show(*widgets)
    one, two = (page.locator(".bb-widget").nth(i) for i in range(2))
    one.get_by_label("Groups", exact=True).fill("3")
    one.get_by_role("listbox").press("Home")
    one.get_by_role("link", name="Link to this view").click()
    two.get_by_role("button", name="Draw another batch").click()
    two.get_by_role("radio", name="Packed").check()
    two.get_by_role("link", name="Link to this view").click()
    address = page.evaluate("location.hash")
    assert re.fullmatch(r"#one=;3;padded;0;&two=(\d+,){5}\d+;2;packed;;1", address)
    lengths = [int(n) for n in address.split("two=")[1].split(";")[0].split(",")]
    again = show(*widgets, fragment=address)
    one, two = (again.locator(".bb-widget").nth(i) for i in range(2))
    check(one, packing(groups=3, focus=0))
    check(two, packing(lengths, layout="packed"))
    assert two.get_by_text("The lengths are drawn with seed 1.").is_visible()
    again.evaluate("location.hash = '#one=4,4;2;bucketed;1;'")
    again.locator(".bb-pe-packed").first.get_by_text("8 tokens").wait_for()
    check(one, packing([4, 4], layout="bucketed", focus=1))


@pytest.mark.parametrize(
    "link",
    [
        "1,0;2;padded;;", "1,2.5;2;padded;;", "1,2;0;padded;;", "1,2;1;sorted;;", "1,2;1;padded;x;",
        "1,99999;1;padded;;", "1,2;1;padded;", "1,,2;1;padded;;", ";;;;", "<script>", "%E0%A4%A",
    ],
)  # fmt: skip
def test_a_wrong_link_does_no_harm(show: Show, link: str) -> None:
    check(show(packing(id="one"), fragment=f"#one={link}"), packing())


def test_save_image(show: Show, page: Any, tmp_path: Path) -> None:
    shown = show(packing(id="one", focus=1))
    with shown.expect_download() as svg:
        shown.get_by_role("button", name="Save SVG").click()
    assert svg.value.suggested_filename == "one-6-rows.svg"
    svg.value.save_as(tmp_path / "one.svg")
    text = (tmp_path / "one.svg").read_text(encoding="utf-8")
    for words in ("Bucketed in 2 groups", "180 tokens; padding 99, 55%", "81 tokens; padding none"):
        assert f">{words}</text>" in text
    page.goto((tmp_path / "one.svg").as_uri())  # stands alone
    boxes = page.locator("rect[fill^='url']").evaluate_all("all => all.map(r => +r.getAttribute('width'))")
    cell = 300 / max(LENGTHS)
    assert sum(boxes) / cell == pytest.approx(99 + 114 - 81)  # the padding of two layouts, in tokens
    with shown.expect_download() as png:
        shown.get_by_role("button", name="Save PNG").click()
    assert Path(png.value.path()).read_bytes().startswith(b"\x89PNG")
    assert Path(png.value.path()).stat().st_size > 5000


@pytest.mark.parametrize(
    "shown",
    [
        drawn(32, 128, focus=0),
        packing([text.split() for text in TEXTS], focus=1, layout="packed"),
        drawn(256, 512, groups=256, layout="bucketed"),
        packing([1]),
    ],
    ids=["32 × 128", "tokens", "256 × 512", "one"],
)
def test_phone(show: Show, shown: PackingExplorer) -> None:
    page = show(shown, width=360, height=740, touch=True)
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    page.get_by_text("Show as tables").click()
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    clipped = page.locator(".bb-widget").evaluate(
        """root => [...root.querySelectorAll('button, input, canvas, dl, label, output')]
            .filter(node => node.getClientRects().length && node.getBoundingClientRect().right > innerWidth)
            .map(node => node.outerHTML.slice(0, 80))"""
    )
    assert clipped == []


def test_touch(show: Show) -> None:
    page = show(packing(), width=360, height=740, touch=True)
    page.locator(".bb-pe-packed canvas").scroll_into_view_if_needed()
    at = place(page, *point("packed", 0, 13))
    page.touchscreen.tap(at["x"], at["y"])
    assert said(page).startswith("Row 1: ")
    page.get_by_label("One token more").tap()
    check(page, packing([12, 6, 30, 8, 21, 5], focus=1))
    assert page.locator(".bb-pe-padded .bb-pe-field").evaluate("f => getComputedStyle(f).touchAction") == "pan-y"


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [360, 1100])
def test_axe(show: Show, axe: Callable[..., None], dark: bool, width: int) -> None:
    tokens = packing([text.split() for text in TEXTS], focus=1, layout="packed", caption="Three texts")
    page = show(packing(focus=2), tokens, packing([3], caption="One row"), dark=dark, width=width)
    for summary in page.get_by_text("Show as tables").all():
        summary.click()
    axe(page)


def test_theme_switch_repaints(show: Show) -> None:
    page = show(packing(focus=2))
    light = [image(page, layout) for layout in LAYOUTS]
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    page.wait_for_function("document.querySelector('.bb-widget').dataset.bbTheme === 'dark'")
    for layout, old in zip(LAYOUTS, light, strict=True):
        assert image(page, layout) != old


def test_reduced_motion(show: Show) -> None:
    for reduced, duration in ((False, "0.15s"), (True, "0s")):
        page = show(packing(), reduced_motion=reduced)
        bar = page.locator(".bb-pe-bar span").first
        assert bar.evaluate("n => getComputedStyle(n).transitionDuration") == duration


def test_without_javascript(show: Show) -> None:
    page = show(packing(caption="By length"), javascript=False)
    assert page.get_by_text("By length").is_visible()
    assert page.get_by_text("padded, 180 tokens (55% padding)").is_visible()


def test_over_http(open_page: Callable[..., Any], serve: Callable[[Path], str], tmp_path: Path) -> None:
    packing().save_html(tmp_path / "one.html")
    page = open_page()
    page.goto(serve(tmp_path) + "/one.html")
    check(page, packing())


def test_anywidget_render(page: Any, tmp_path: Path) -> None:
    (tmp_path / "p.html").write_text("<!doctype html><title>p</title><main></main>")
    page.goto((tmp_path / "p.html").as_uri())
    data = packing()._data()
    values = {**data["initial"], "layout": "packed", "_data": data}
    page.evaluate(RENDER, [bundle_js("packing-explorer"), bundle_css("packing-explorer"), values])
    page.wait_for_function("document.querySelector('.bb-pe-field canvas')?.clientWidth > 100")
    check(page, packing(layout="packed"))
    assert page.get_by_role("link").count() == 0  # no address in a notebook

    page.evaluate("model.set('groups', 1); model.set('focus', 1); model.set('lengths', [9, 8, 7])")  # from Python
    check(page, packing([9, 8, 7], groups=1, focus=1, layout="packed"))
    assert page.evaluate("model.saves") == 0
    page.get_by_label("Groups", exact=True).fill("3")  # to Python
    page.get_by_role("listbox").press("End")
    page.get_by_label("One row less").click()
    assert page.evaluate("['lengths', 'groups', 'layout', 'focus', 'seed'].map(model.get)") == [
        [9, 8], 2, "packed", None, None,
    ]  # fmt: skip
    page.get_by_role("button", name="Draw another batch").click()
    assert page.evaluate("model.get('seed')") == 1
    before = page.evaluate("model.get('lengths')")
    page.evaluate("model.set('lengths', [0]); model.set('groups', 'many'); model.set('layout', 3)")  # is not drawn
    check(page, packing(before, layout="packed"))

    page.evaluate("stop()")
    assert page.evaluate("model.listeners()") == 0
    assert page.evaluate("el.childElementCount") == 0


def test_a_drag_reaches_python_once(page: Any, tmp_path: Path) -> None:
    (tmp_path / "p.html").write_text("<!doctype html><title>p</title><main></main>")
    page.goto((tmp_path / "p.html").as_uri())
    data = packing()._data()
    page.evaluate(
        RENDER, [bundle_js("packing-explorer"), bundle_css("packing-explorer"), {**data["initial"], "_data": data}]
    )
    page.wait_for_function("document.querySelector('.bb-pe-field canvas')?.clientWidth > 100")
    page.mouse.move(**place(page, *point("padded", 3, 6)))
    page.mouse.down()
    page.mouse.move(**place(page, *point("padded", 3, 16)), steps=20)
    assert page.evaluate("model.saves") == 0
    page.mouse.up()
    assert page.evaluate("model.saves") == 1
    assert page.evaluate("model.get('lengths')")[3] == 17


def test_256_rows_of_512_tokens(show: Show) -> None:
    shown = drawn(256, 512, groups=8)
    page = show(shown)
    check(page, shown)
    took = page.evaluate(
        """() => {
          const list = document.querySelector("[role=listbox]");
          const start = performance.now();
          for (let i = 0; i < 5; i++) {
            for (const key of ["ArrowDown", "ArrowRight"]) {
              list.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
            }
          }
          document.body.offsetHeight;
          return (performance.now() - start) / 10;
        }"""
    )
    assert took < 150  # milliseconds, on a busy machine


def test_first_paint(show: Show) -> None:
    times = []
    for _ in range(3):
        page = show(drawn(32, 128))
        page.wait_for_function("performance.getEntriesByName('first-contentful-paint').length")
        times.append(page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"))
    assert sorted(times)[1] < 1000  # from an empty page, on a busy machine
