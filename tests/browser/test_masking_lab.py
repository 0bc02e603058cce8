"""The masking lab in a real browser: its draws are the package's, its tally is right, and everything can be reached."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from bertbook.records import TokenRecord
from bertbook.text.draws import draws, key_of
from bertbook.text.masking import IGNORED, MaskingPolicy
from bertbook.text.recording import record_tokens
from bertbook.viz import MaskingLab
from bertbook.viz.embed import bundle_css, bundle_js
from tests.browser.saved import saved, texts
from tests.browser.widgets import RENDER
from tests.text.chi_square import p_value, uniform_p_value
from tests.text.mask_samples import TOKENIZER

Show = Callable[..., Any]
TEXTS = ["w0 w1p2 w3p4p5 w6 ? w7 w8p9p1", "今天天气很好"]
WORDS = [None, ["今天", "天气", "很", "好"]]
# Every token that may be drawn: so that the page draws what the policy draws.
RECORDS = [record_tokens(TOKENIZER, text, words=words, sample=2000) for text, words in zip(TEXTS, WORDS, strict=True)]
FATES = ["hidden", "replaced", "kept"]


def lab(**arguments: Any) -> MaskingLab:
    return MaskingLab(*RECORDS, **{"caption": "Lab", "id": "lab", **arguments})


def shown(page: Any) -> list[list[str]]:
    """Of each token: itself, its fate, what the model reads, its label. Replaced by itself looks kept from outside."""
    cards = page.locator(".bb-ml-tokens li").evaluate_all(
        """all => all.map((li) => [
          li.querySelector(".bb-ml-was").textContent, li.dataset.fate,
          li.querySelector(".bb-ml-now").textContent, li.querySelector(".bb-ml-label").textContent])"""
    )
    return [[was, "kept" if fate == "replaced" and was == now else fate, now, label] for was, fate, now, label in cards]


def expected(lab: MaskingLab, roll: int | None = None) -> list[list[str]]:
    """The same from the package."""
    record = RECORDS[lab.text]
    policy = MaskingPolicy(
        TOKENIZER,
        lab.rate,
        seed=lab.seed,
        mask_share=lab.mask_share,
        random_share=lab.random_share,
        whole_words=lab.whole_words,
    )
    ids = torch.tensor([TOKENIZER.tokens_to_ids(record.tokens)])
    words = torch.tensor([record.word_ids]) if lab.whole_words else None
    corrupted, labels = policy.at(lab.rolls - 1 if roll is None else roll, lab.text)(ids, words)
    rows = []
    for token, read, special, label in zip(
        record.tokens, TOKENIZER.ids_to_tokens(corrupted[0].tolist()), record.special, labels[0].tolist(), strict=True
    ):
        fate = "special" if special else "left"
        if label != IGNORED:
            fate = "hidden" if read == "[MASK]" else "kept" if read == token else "replaced"
        rows.append([token, fate, read, token if label != IGNORED else "−100"])
    return rows


def tallied(page: Any) -> list[list[str]]:
    rows = page.locator(".bb-ml-tally tbody tr")
    return rows.evaluate_all(
        "all => all.map(row => [...row.querySelectorAll('td')].slice(0, 4).map(c => c.textContent))"
    )


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"rate": 0.5, "rolls": 7, "seed": 3},
        {"text": 1, "rate": 0.4, "whole_words": True, "rolls": 12},
        {"rate": 0.35, "mask_share": 0.3, "random_share": 0.3, "whole_words": True, "seed": 2**32 - 1, "rolls": 100},
        {"rate": 1.0, "mask_share": 0.0, "random_share": 1.0},
        {"rate": 1.0, "mask_share": 1.0, "random_share": 0.0},
    ],
)
def test_draws_what_the_package_draws(show: Show, arguments: dict[str, Any]) -> None:
    widget = lab(**arguments)
    page = show(widget)
    for _ in range(6):
        assert shown(page) == expected(widget)
        page.get_by_role("button", name="Roll", exact=True).click()
        widget.rolls += 1


def test_the_tally_counts_every_roll(show: Show) -> None:
    page = show(lab(rate=0.3, rolls=20))
    page.get_by_role("button", name="100 rolls", exact=True).click()
    # A drawn token that is the one that was there counts as replaced; from outside it looks kept. So by the lots here.
    place = torch.arange(len(RECORDS[0]))
    free = ~torch.tensor(RECORDS[0].special)
    counts = Counter[str]()
    for roll in range(120):
        lot, fate = draws(key_of(1, 0, roll, 0), 2 * place)
        chosen = free & (lot < round(0.3 * 2**32))
        counts["hidden"] += int((chosen & (fate < round(0.8 * 2**32))).sum())
        counts["replaced"] += int((chosen & (fate >= round(0.8 * 2**32)) & (fate < round(0.9 * 2**32))).sum())
        counts["all"] += int(chosen.sum())
    counts["kept"] = counts["all"] - counts["hidden"] - counts["replaced"]
    whole = 120 * int(free.sum())
    now = Counter(fate for _, fate, _, _ in shown(page))

    def share(count: int, of: int) -> str:
        return f"{100 * count / of:.1f}%".replace(".0%", "%")

    rows = [
        [str(sum(now[fate] for fate in FATES)), f"{counts['all']} of {whole:,}", share(counts["all"], whole), "30%"]
    ]
    for fate, aim in zip(FATES, ["80%", "10%", "10%"], strict=True):
        rows.append([str(now[fate]), f"{counts[fate]} of {counts['all']}", share(counts[fate], counts["all"]), aim])
    assert tallied(page) == rows
    assert page.get_by_role("columnheader", name="120 rolls").is_visible()
    bars = page.locator(".bb-ml-fill").evaluate_all("all => all.map(f => parseFloat(f.style.width))")
    assert bars[0] == pytest.approx(100 * counts["all"] / whole, abs=1e-3)


def test_the_page_s_rolls_as_a_distribution(show: Show) -> None:
    """Chi-square over ten thousand rolls in the browser: rate, shares, places, and the tokens that are drawn."""
    page = show(lab())
    for _ in range(10):
        page.get_by_role("button", name="1000 rolls").click()
    assert page.get_by_role("button", name="Roll", exact=True).is_disabled()  # 10,000 is the most
    counts = [[int(text.replace(",", "")) for text in row[1].split(" of ")] for row in tallied(page)]
    assert counts[0][1] == 10_000 * (len(RECORDS[0]) - 3)
    chosen, free = counts[0]
    assert p_value(torch.tensor([chosen, free - chosen]), torch.tensor([0.15, 0.85])) > 1e-3
    assert p_value(torch.tensor([row[0] for row in counts[1:]]), torch.tensor([0.8, 0.1, 0.1])) > 1e-3

    wide = TokenRecord(("a",) * 64, (False,) * 64, tuple(range(64)), tuple("bcdefgh"))
    page = show(MaskingLab(wide, rate=1.0, mask_share=0.0, random_share=1.0, seed=5))
    read, places = Counter[str](), torch.zeros(64)
    for _ in range(20):
        page.get_by_role("button", name="Roll", exact=True).click()
        read.update(reads for _, _, reads, _ in shown(page))
    assert set(read) == set("bcdefgh")
    assert uniform_p_value(torch.tensor(list(read.values()))) > 1e-3
    slider = page.get_by_label("chosen")
    slider.fill("40")
    for _ in range(40):
        page.get_by_role("button", name="Roll", exact=True).click()
        places += torch.tensor([fate != "left" for _, fate, _, _ in shown(page)])
    assert uniform_p_value(places) > 1e-3


def test_sliders(show: Show) -> None:
    page = show(lab(rolls=50))
    widget = lab(rolls=50)
    page.get_by_label("chosen").fill("60")
    widget.rate = 0.6
    assert shown(page) == expected(widget)
    page.get_by_label("■ hidden").fill("95")  # takes from the kept first, then from the replaced
    widget.random_share = 0.05
    widget.mask_share = 0.95
    assert shown(page) == expected(widget)
    assert [row[3] for row in tallied(page)] == ["60%", "95%", "5%", "0%"]
    page.get_by_label("◆ replaced").fill("100")
    widget.mask_share = 0.0
    widget.random_share = 1.0
    assert shown(page) == expected(widget)
    page.get_by_label("◆ replaced").fill("30")
    assert [row[3] for row in tallied(page)] == ["60%", "0%", "30%", "70%"]
    assert page.get_by_text("kept 70%").is_visible()
    assert page.get_by_label("◆ replaced").get_attribute("aria-valuetext") == "30%"


def test_texts_words_and_seed(show: Show) -> None:
    page = show(lab(rate=0.5))
    widget = lab(rate=0.5)
    page.get_by_role("combobox").select_option(label="今 天 天 气 很 好")
    widget.text = 1
    assert shown(page) == expected(widget)
    assert page.locator(".bb-ml-goes-on").count() == 0
    page.get_by_role("switch", name="whole words").check()
    widget.whole_words = True
    assert shown(page) == expected(widget)
    assert page.locator(".bb-ml-goes-on").count() == 2  # 今 and the 天 of 天气
    seed = page.get_by_label("seed")
    seed.fill("77")
    widget.seed = 77
    assert shown(page) == expected(widget)
    for text in ("", "-1", "1.5", "4294967296"):
        seed.fill(text)
        assert seed.get_attribute("aria-invalid") == "true"
        assert shown(page) == expected(widget)
    seed.blur()
    assert seed.input_value() == "77"
    assert seed.get_attribute("aria-invalid") is None
    assert page.locator("[aria-live]").inner_text() == "Needed: a whole number from 0 to 4294967295. Back to 77."


def test_one_text_needs_no_choice(show: Show) -> None:
    page = show(MaskingLab(RECORDS[0]))
    assert page.get_by_role("combobox").count() == 0


def test_the_table_says_what_the_picture_says(show: Show) -> None:
    page = show(lab(rate=0.5, rolls=3))
    page.get_by_text("This roll as a table").click()
    rows = page.locator(".bb-ml-twin tbody tr").evaluate_all(
        "all => all.map(row => [...row.children].map(c => c.textContent))"
    )
    said = {"left": "not chosen"}
    assert rows == [
        [str(i), token, said.get(fate, fate), reads, label] for i, (token, fate, reads, label) in enumerate(shown(page))
    ]


def test_no_meaning_by_colour_alone(show: Show) -> None:
    page = show(lab(rate=1.0, mask_share=0.4, random_share=0.3, rolls=5))
    marks = {"hidden": "■ hidden", "replaced": "◆ replaced", "kept": "● kept", "special": "special"}
    cards = page.locator(".bb-ml-tokens li")
    written = cards.evaluate_all("all => all.map(li => [li.dataset.fate, li.querySelector('.bb-ml-fate').textContent])")
    assert {fate for fate, _ in written} == set(marks)
    assert all(marks[fate] == text for fate, text in written)
    styles = cards.evaluate_all(
        "all => all.map(li => [li.dataset.fate, getComputedStyle(li.querySelector('.bb-ml-now')).borderTopStyle])"
    )
    assert {tuple(style) for style in styles} >= {("hidden", "solid"), ("replaced", "dashed"), ("kept", "double")}


def test_keyboard_alone(show: Show) -> None:
    page = show(lab(), reduced_motion=True)
    press = page.keyboard.press
    press("Tab")
    press("ArrowDown")
    press("Tab")
    press("Space")
    press("Tab")
    press("ArrowUp")  # the seed
    press("Tab")
    for _ in range(10):
        press("ArrowRight")  # the rate
    widget = lab(text=1, whole_words=True, seed=1, rate=0.25)
    assert shown(page) == expected(widget)
    for _ in range(3):
        press("Tab")
    press("Enter")
    widget.rolls = 2
    assert shown(page) == expected(widget)
    spoken = page.locator("[aria-live]").inner_text()
    chosen = [row for row in expected(widget) if row[1] in FATES]
    assert spoken.startswith(f"Roll 2. Chosen {len(chosen)} of 6")
    for _ in range(20):
        press("Tab")
        if page.evaluate("document.activeElement === document.body"):
            break
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.get_by_role("button", name="Reset").focus()
    press("Enter")
    assert shown(page) == expected(lab())
    assert page.locator("[aria-live]").inner_text().startswith("Back to the start. Roll 1.")


def test_link_restores_the_roll(show: Show) -> None:
    page = show(lab(), lab(id="two"))
    first = page.locator(".bb-widget").first
    first.get_by_label("chosen").fill("45")
    first.get_by_role("switch").check()
    first.get_by_role("button", name="100 rolls", exact=True).click()
    before = shown(first)
    tally = tallied(first)
    first.get_by_role("link", name="Link to this roll").click()
    address = page.evaluate("location.hash")
    assert address == "#lab=0;0.45;0.8;0.1;1;0;101"
    again = show(lab(), lab(id="two"), fragment=address).locator(".bb-widget")
    assert shown(again.first) == before
    assert tallied(again.first) == tally
    assert shown(again.nth(1)) == expected(lab())


@pytest.mark.parametrize(
    "link",
    [
        "0;0.45;0.8;0.1;1;0",
        "0;0.45;0.8;0.1;1;0;0",
        "0;0.45;0.8;0.1;1;0;10001",
        "2;0.45;0.8;0.1;1;0;1",
        "0;1.45;0.8;0.1;1;0;1",
        "0;0.45;0.8;0.3;1;0;1",
        "0;0.45;0.8;0.1;2;0;1",
        "0;;0.8;0.1;1;0;1",
        "<script>",
    ],
)
def test_links_that_make_no_sense(show: Show, link: str) -> None:
    assert shown(show(lab(), fragment=f"#lab={link}")) == expected(lab())


def test_two_on_a_page_share_nothing(show: Show) -> None:
    page = show(lab(), lab(id="two", text=1), MaskingLab(RECORDS[1], id="three"))
    roots = [page.locator(".bb-widget").nth(i) for i in range(3)]
    before = [root.inner_text() for root in roots[1:]]
    roots[0].get_by_role("button", name="Roll", exact=True).click()
    roots[0].get_by_label("chosen").fill("80")
    assert [root.inner_text() for root in roots[1:]] == before
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(node => node.id)")
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [360, 1100])
def test_axe(show: Show, axe: Callable[..., None], dark: bool, width: int) -> None:
    page = show(
        lab(rate=1.0, mask_share=0.4, random_share=0.3), lab(id="zh", text=1, whole_words=True), dark=dark, width=width
    )
    axe(page)
    root = page.locator(".bb-widget").first
    root.get_by_text("This roll as a table").click()
    root.get_by_label("seed").fill("")
    axe(page)


def test_a_phone(show: Show) -> None:
    long = TokenRecord(
        ("[CLS]", *["internationalisation"] * 62, "[SEP]"),
        (True, *[False] * 62, True),
        (-1, *range(62), -1),
        ("counterrevolutionary",),
    )
    page = show(MaskingLab(long, rolls=10_000), lab(), width=360)
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    for card in page.locator(".bb-ml-tokens li").all()[:5]:
        box = card.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 360


def test_dark_follows_the_page(show: Show) -> None:
    page = show(lab())
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    page.wait_for_function("document.querySelector('.bb-widget').dataset.bbTheme === 'dark'")
    assert page.locator(".bb-widget").evaluate("e => getComputedStyle(e).backgroundColor") == "rgb(18, 18, 18)"
    assert page.locator(".bb-ml").evaluate("e => getComputedStyle(e).colorScheme") == "dark"


def test_tokens_are_text(show: Show) -> None:
    nasty = ("<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "\u202eabc", " ")
    record = TokenRecord(nasty, (False,) * 4, (0, 1, 2, 3), ("<b>",))
    page = show(MaskingLab(record, rate=1.0, mask_share=0.0, random_share=1.0))
    assert [token for token, *_ in shown(page)] == [*nasty[:3], "␣"]
    assert {reads for _, _, reads, _ in shown(page)} == {"<b>"}
    assert page.locator(".bb-ml img, .bb-ml b, .bb-ml script").count() == 0


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_save_image(show: Show, dark: bool) -> None:
    tokens = ("[CLS]", "<script>", "ran(1)&\u202eabc", "今天", " ", "w1", *["long" * 40] * 2, *"abcdefgh", "[SEP]")
    special = [token in ("[CLS]", "[SEP]") for token in tokens]
    words = (-1, 0, 0, 1, 2, 3, 3, *range(4, 13), -1)
    record = TokenRecord(tokens, special, words, ("</text>",))
    shares = {"rate": 0.6, "mask_share": 0.4, "random_share": 0.3, "rolls": 1200, "whole_words": True}
    page = show(MaskingLab(record, id="one", caption="<b>", **shares), dark=dark)
    page.get_by_label("seed").fill("5")
    root, pixels = saved(page, "one-roll-1200")
    assert (pixels[0, 0, 0] < 0.1) == dark
    written = texts(root)
    assert written[0] == "<b>"
    assert written[1] == "chosen 60%, ■ hidden 40%, ◆ replaced 30%, ● kept 30%, whole words, seed 5"
    assert written[2] == page.locator(".bb-ml-roll").inner_text()
    drawn = written[3 : 3 + 4 * len(tokens)]
    marks = page.locator(".bb-ml-fate").all_inner_texts()
    assert {mark.strip() for mark in marks} == {"■ hidden", "◆ replaced", "● kept", "special", ""}
    for i, (token, _, reads, label) in enumerate(shown(page)):
        for text, whole in zip(drawn[4 * i : 4 * i + 4], [token, reads, label, marks[i].strip()], strict=True):
            # What is longer than the picture is wide ends early.
            assert text == whole or (len(whole) == 160 and len(text) > 50 and whole.startswith(text.removesuffix("…")))
    assert {"<script>", "今天", "</text>"} <= set(drawn)
    rows = [["this roll", "1,200 rolls", "share", "expected"]]
    for title, row in zip(["chosen", "■ hidden", "◆ replaced", "● kept"], tallied(page), strict=True):
        rows.append([title, *row])
    assert written[3 + 4 * len(tokens) : -1] == [text for row in rows for text in row]


def test_reduced_motion(show: Show) -> None:
    for reduced, duration in ((False, "0.15s"), (True, "0s")):
        page = show(lab(), reduced_motion=reduced)
        assert page.locator(".bb-ml-fill").first.evaluate("n => getComputedStyle(n).transitionDuration") == duration


def test_without_javascript(show: Show) -> None:
    page = show(lab(), javascript=False)
    assert page.get_by_text("Lab").first.is_visible()
    assert page.get_by_text("special ones apart, 15% are chosen").is_visible()


def test_over_http(open_page: Callable[..., Any], serve: Callable[[Path], str], tmp_path: Path) -> None:
    lab().save_html(tmp_path / "one.html")
    page = open_page()
    page.goto(serve(tmp_path) + "/one.html")
    assert shown(page) == expected(lab())


def test_first_paint(show: Show) -> None:
    full = TokenRecord(("t",) * 32, (False,) * 32, tuple(range(32)), ("u",))
    widget = MaskingLab(full)
    page = show(widget)
    took = page.evaluate(
        """([key, data]) => {
          const { mount } = bertbookWidgets[key];
          const times = Array.from({ length: 5 }, () => {
            const root = document.createElement("div");
            document.querySelector("main").append(root);
            const start = performance.now();
            mount(root, data).frame.getBoundingClientRect();
            return performance.now() - start;
          });
          return Math.min(...times);
        }""",
        [page.locator(".bb-widget").get_attribute("data-bertbook-widget"), {**widget._data(), "state": {}}],
    )
    assert took < 100


def test_anywidget_render(page: Any, tmp_path: Path) -> None:
    (tmp_path / "p.html").write_text("<!doctype html><title>p</title><main></main>")
    page.goto((tmp_path / "p.html").as_uri())
    widget = lab(rate=0.5)
    data = json.loads(json.dumps(widget._data()))
    page.evaluate(RENDER, [bundle_js("masking-lab"), bundle_css("masking-lab"), {**data["initial"], "_data": data}])
    assert shown(page) == expected(widget)
    assert page.get_by_role("link").count() == 0  # no address in a notebook

    page.evaluate("model.set('rolls', 9); model.set('whole_words', true)")  # from Python
    widget.rolls, widget.whole_words = 9, True
    assert shown(page) == expected(widget)
    assert page.evaluate("model.saves") == 0
    page.get_by_role("button", name="Roll", exact=True).click()  # to Python
    page.get_by_label("■ hidden").fill("100")
    assert page.evaluate("['rolls', 'mask_share', 'random_share'].map(model.get)") == [10, 1, 0]
    assert page.evaluate("model.saves") == 2
    page.evaluate("model.set('rolls', 'many'); model.set('rate', 3)")  # nonsense is not drawn
    widget.rolls, widget.random_share = 10, 0.0
    widget.mask_share = 1.0
    assert shown(page) == expected(widget)

    page.evaluate("stop()")
    assert page.evaluate("model.listeners()") == 0
    assert page.evaluate("el.childElementCount") == 0
