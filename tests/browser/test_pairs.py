"""The pair builder in a real browser: its pairs are those of the package, and every one of them can be looked at."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from bertbook.text import Document, PairExample, sentence_pairs, truncate_seq_pair
from bertbook.text.pairs import SentencePairs
from bertbook.viz import PairBuilder
from bertbook.viz.embed import STATIC, bundle_css, bundle_js
from tests.browser.saved import saved, texts
from tests.browser.widgets import RENDER
from tests.text.pair_samples import TOKENIZER, documents

Show = Callable[..., Any]
DOCUMENTS = documents(4, Random(0), sentences=(4, 8), tokens=(3, 12), sources=2)
WORD = 2**32


class Mulberry(Random):
    """The page's random numbers, so that both sides draw the same."""

    def __new__(cls, *where: int) -> "Mulberry":
        return super().__new__(cls)

    def __init__(self, *where: int) -> None:
        super().__init__()
        self.state = 0
        for number in where:
            self.state = (self.state ^ (number + 1)) * 0x9E3779B1 % WORD

    def random(self) -> float:
        self.state = (self.state + 0x6D2B79F5) % WORD
        t = (self.state ^ (self.state >> 15)) * (self.state | 1) % WORD
        t ^= (t + (t ^ (t >> 7)) * (t | 61)) % WORD
        return ((t ^ (t >> 14)) % WORD) / WORD

    def randrange(self, count: int) -> int:  # type: ignore[override]
        return int(self.random() * count)

    def randint(self, least: int, most: int) -> int:
        return least + self.randrange(most - least + 1)


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[PairExample]]:
    """The package's pairs, drawn with the page's random numbers."""
    monkeypatch.setattr(SentencePairs, "_random", lambda self, *where: Mulberry(self.seed, *where))

    def pairs(corpus: list[Document], **how: Any) -> list[PairExample]:
        return list(sentence_pairs(corpus, TOKENIZER, **how))

    return pairs


IMPORT = 'import(URL.createObjectURL(new Blob([source], { type: "text/javascript" })))'
RULES = (STATIC / "pair-rules.js").read_text(encoding="utf-8")


def ends(document: Document) -> list[int]:
    found = [0]
    for sentence in document.sentences:
        found.append(found[-1] + len(TOKENIZER.tokenize(sentence)))
    return found


@pytest.mark.parametrize("objective", ["nsp", "sop", "none"])
def test_pairs_are_those_of_the_package(page: Any, package: Callable[..., list[PairExample]], objective: str) -> None:
    corpora = [
        DOCUMENTS,
        documents(5, Random(1), sentences=(1, 9), tokens=(1, 60), sources=1),
        documents(12, Random(2), sentences=(2, 3), tokens=(1, 8), sources=3),
    ]
    lengths = [8, 20, 64, 128]
    compared = cut = 0
    for corpus in corpora:
        given = [{"source": document.source, "ends": ends(document)} for document in corpus]
        theirs = page.evaluate(
            f"""async ([source, documents, objective, lengths, seeds]) => {{
              const {{ pairsOf }} = await {IMPORT};
              return lengths.map((maxLength) => [...Array(seeds).keys()].map(
                (seed) => pairsOf(documents, {{ objective, maxLength, seed }})));
            }}""",
            [RULES, given, objective, lengths, 6],
        )
        for max_length, draws in zip(lengths, theirs, strict=True):
            for seed, draw in enumerate(draws):
                ours = package(corpus, objective=objective, max_length=max_length, seed=seed)
                assert len(draw) == len(ours)
                for their, our in zip(draw, ours, strict=True):
                    assert their["label"] == our.label
                    assert [(p["document"], p["start"], p["stop"]) for p in their["parts"]] == list(our.places)
                    segments = [our.first] if our.second is None else [our.first, our.second]
                    for part, segment in zip(their["parts"], segments, strict=True):
                        text = " ".join(corpus[part["document"]].sentences[part["start"] : part["stop"]])
                        whole = TOKENIZER.backend.encode(text, add_special_tokens=False).ids
                        assert whole[slice(*part["kept"])] == list(segment)
                        compared += 1
                        cut += len(segment) < len(whole)
    assert compared > 800
    assert cut > 100


def test_truncation_is_that_of_the_package(page: Any) -> None:
    draw = Random(3)
    cases = [(draw.randrange(60), draw.randrange(60), draw.randrange(80), seed) for seed in range(300)]
    theirs = page.evaluate(
        f"""async ([source, cases]) => {{
          const {{ truncatePair, randomOf }} = await {IMPORT};
          return cases.map(([a, b, room, seed]) => truncatePair(a, b, room, randomOf(seed)));
        }}""",
        [RULES, cases],
    )
    for (a, b, room, seed), (first, second) in zip(cases, theirs, strict=True):
        ours = truncate_seq_pair(list(range(a)), list(range(b)), room, Mulberry(seed))
        assert (list(range(*first)), list(range(*second))) == ours


def test_the_random_numbers_are_even(page: Any) -> None:
    counts = page.evaluate(
        f"""async (source) => {{
          const {{ randomOf }} = await {IMPORT};
          const counts = Array(10).fill(0);
          for (let seed = 0; seed < 20000; seed++) counts[Math.floor(10 * randomOf(seed, seed % 7, 3)())]++;
          return counts;
        }}""",
        RULES,
    )
    assert sum((count - 2000) ** 2 / 2000 for count in counts) < 27.9  # chi-square, p = 0.001


def builder(**arguments: Any) -> PairBuilder:
    return PairBuilder(**{"documents": DOCUMENTS, "tokenize": TOKENIZER.tokenize, "max_length": 40, **arguments})


def tokens(root: Any) -> list[tuple[str, str]]:
    """Each token and what stands under it."""
    return [tuple(x) for x in root.locator(".bb-pb-token").evaluate_all(
        "all => all.map(t => [...t.children].map(c => c.textContent))"
    )]  # fmt: skip


def check(root: Any, example: PairExample, max_length: int = 40) -> None:
    """The picture against the package's example."""
    shown = tokens(root)
    kept = [(text, below) for text, below in shown if below != "cut"]
    expected = zip(TOKENIZER.ids_to_tokens(example.input_ids), example.token_type_ids, strict=True)
    assert kept == [(token, str(segment)) for token, segment in expected]
    cut = len(shown) - len(kept)
    said = root.locator(".bb-pb-verdict").inner_text()
    assert f"{len(kept)} tokens of at most {max_length}" in said
    assert ("cut away" in said) == (cut > 0)
    assert cut == 0 or re.search(rf"\b{cut} tokens? cut away", said)
    marks = root.locator(".bb-pb-map li").evaluate_all(
        "rows => rows.map(row => [...row.querySelectorAll('.bb-pb-box')].map(box => box.textContent))"
    )
    for mark, place in zip("AB" if example.second else "•", example.places, strict=True):
        inside = marks[place.document][place.start : place.stop]
        assert inside == [mark] * (place.stop - place.start)
        assert sum(row.count(mark) for row in marks) == len(inside)
        which = f"sentences {place.start} to {place.stop - 1}" if len(inside) > 1 else f"sentence {place.start}"
        assert f"{which} of document {place.document}, {DOCUMENTS[place.document].name}" in said


@pytest.mark.parametrize(
    ("objective", "names"), [("nsp", ["IsNext", "NotNext"]), ("sop", ["in order", "swapped"]), ("none", [])]
)
def test_step_through_the_pairs(
    show: Show, package: Callable[..., list[PairExample]], objective: str, names: list[str]
) -> None:
    page = show(builder(objective=objective, seed=3))
    examples = package(DOCUMENTS, objective=objective, max_length=40, seed=3)
    forward = page.get_by_role("button", name="Next")
    assert page.get_by_role("button", name="Previous").is_disabled()
    for number, example in enumerate(examples):
        check(page, example)
        noun = "Pair" if names else "Sequence"
        assert page.get_by_text(f"{noun} {number} (0 to {len(examples) - 1})", exact=True).is_visible()
        if names:
            label = page.locator(".bb-pb-label").inner_text()
            ones = sum(example.label == 1 for example in examples)
            assert label.startswith(f"Label {example.label}: {names[example.label or 0]}")
            assert f"{len(examples) - ones} × {names[0]}, {ones} × {names[1]}" in label
        else:
            assert page.locator(".bb-pb-label").count() == 0
        if number < len(examples) - 1:
            forward.click()
            assert f"{noun} {number + 1}" in page.locator("[aria-live]").inner_text()
    assert forward.is_disabled()
    page.get_by_role("button", name="Previous").click()
    check(page, examples[-2])


def test_what_goes_back_is_marked(show: Show, package: Callable[..., list[PairExample]]) -> None:
    examples = package(DOCUMENTS, max_length=40, seed=1)
    number = next(i for i, example in enumerate(examples) if example.label == 1)
    shown = builder(seed=1)
    shown.pair = number
    page = show(shown)
    first = examples[number].places[0]
    marks = page.locator(".bb-pb-map li").nth(first.document).locator(".bb-pb-box").all_inner_texts()
    assert marks[first.stop] == "↩"
    assert page.get_by_text("it goes back and begins the next pair").is_visible()


def test_choose_objective_length_and_seed(show: Show, package: Callable[..., list[PairExample]]) -> None:
    page = show(builder())
    check(page, package(DOCUMENTS, max_length=40)[0])
    page.get_by_role("button", name="Next").click()
    page.get_by_label("Objective").select_option("sentence order")
    check(page, package(DOCUMENTS, max_length=40, objective="sop")[0])  # begins anew
    page.get_by_label("Longest sequence").fill("12")
    check(page, package(DOCUMENTS, max_length=12, objective="sop")[0], 12)
    page.get_by_label("Seed").fill("7")
    check(page, package(DOCUMENTS, max_length=12, objective="sop", seed=7)[0], 12)
    page.get_by_role("button", name="Draw again").click()
    check(page, package(DOCUMENTS, max_length=12, objective="sop", seed=8)[0], 12)
    assert page.get_by_label("Seed").input_value() == "8"
    page.get_by_role("button", name="Reset").click()
    check(page, package(DOCUMENTS, max_length=40)[0])
    assert page.get_by_label("Objective").input_value() == "nsp"


def test_shorter_sequences_show_what_falls_away(show: Show) -> None:
    page = show(builder(max_length=8))
    shown = tokens(page)
    assert [below for _, below in shown].count("cut") == len(shown) - 8
    cut = page.locator(".bb-pb-cut > span").first
    assert cut.evaluate("c => getComputedStyle(c).textDecorationLine") == "line-through"


def test_a_seed_that_is_none_changes_nothing(show: Show, package: Callable[..., list[PairExample]]) -> None:
    page = show(builder(seed=2))
    box = page.get_by_label("Seed")
    for text in ("", "-1", "10000", "1.5"):
        box.fill(text)
        assert box.get_attribute("aria-invalid") == "true"
        check(page, package(DOCUMENTS, max_length=40, seed=2)[0])
    box.blur()
    assert box.input_value() == "2"
    assert box.get_attribute("aria-invalid") is None


def test_the_table_says_the_same(show: Show) -> None:
    page = show(builder(max_length=16, objective="sop"))
    page.get_by_text("The same as a table").click()
    rows = page.locator("tbody tr").evaluate_all("rows => rows.map(r => [...r.cells].map(c => c.textContent))")
    assert [(row[1], row[2] or "cut") for row in rows] == tokens(page)
    positions = [row[0] for row in rows if row[0] != "cut"]
    assert positions == [str(i) for i in range(len(positions))]
    for position, token, _, document, sentence in rows:
        if token.startswith("["):
            assert (document, sentence) == ("", "")
        else:
            assert token in DOCUMENTS[int(document)].sentences[int(sentence)].split(), position


def test_keyboard_alone(show: Show, package: Callable[..., list[PairExample]]) -> None:
    page = show(builder())
    press = page.keyboard.press
    press("Tab")
    press("ArrowDown")
    check(page, package(DOCUMENTS, max_length=40, objective="sop")[0])
    press("Tab")
    press("ArrowLeft")
    check(page, package(DOCUMENTS, max_length=39, objective="sop")[0], 39)
    press("Tab")
    press("ArrowUp")
    check(page, package(DOCUMENTS, max_length=39, objective="sop", seed=1)[0], 39)
    press("Tab")
    press("Enter")
    check(page, package(DOCUMENTS, max_length=39, objective="sop", seed=2)[0], 39)
    press("Tab")  # Previous is off: on to Next
    press("Space")
    check(page, package(DOCUMENTS, max_length=39, objective="sop", seed=2)[1], 39)
    for _ in range(8):
        press("Tab")
        if page.evaluate("document.activeElement === document.body"):
            break
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_link_restores_the_pair(show: Show, package: Callable[..., list[PairExample]]) -> None:
    widgets = [builder(id="one"), builder(id="two")]
    page = show(*widgets)
    second = page.locator(".bb-widget").nth(1)
    second.get_by_label("Objective").select_option("sop")
    second.get_by_role("button", name="Draw again").click()
    second.get_by_role("button", name="Next").click()
    second.get_by_role("link", name="Link to this pair").click()
    assert page.evaluate("location.hash") == "#two=sop,40,1,1"
    again = show(*widgets, fragment="#two=sop,40,1,1")
    check(again.locator(".bb-widget").nth(1), package(DOCUMENTS, objective="sop", max_length=40, seed=1)[1])
    check(again.locator(".bb-widget").nth(0), package(DOCUMENTS, max_length=40)[0])
    again.evaluate("location.hash = '#one=nsp,20,4,0'")
    again.locator(".bb-widget").first.get_by_text("at most 20").wait_for()
    check(again.locator(".bb-widget").first, package(DOCUMENTS, max_length=20, seed=4)[0], 20)


@pytest.mark.parametrize(
    "link", ["mlm,40,0,0", "nsp,7,0,0", "nsp,40,-1,0", "nsp,40,0", "nsp,40,0,x", "<script>", ",,,", "%E0%A4%A"]
)
def test_a_wrong_link_does_no_harm(show: Show, package: Callable[..., list[PairExample]], link: str) -> None:
    check(show(builder(id="one"), fragment=f"#one={link}"), package(DOCUMENTS, max_length=40)[0])


def test_two_on_a_page_share_nothing(show: Show) -> None:
    page = show(builder(), builder(seed=5, id="other"))
    first, second = (page.locator(".bb-widget").nth(i) for i in range(2))
    before = second.inner_text()
    first.get_by_role("button", name="Draw again").click()
    first.get_by_role("button", name="Next").click()
    assert second.inner_text() == before
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(node => node.id)")
    assert len(ids) == len(set(ids))


def test_text_is_text(show: Show) -> None:
    # ran() is defined nowhere: if any of this ran, the page would log an error and the test fail.
    nasty = "</script><script>ran(1)</script> <img src=x onerror=ran(1)> שלום 猫"
    corpus = [Document([nasty, nasty], "s", "<img src=x onerror=ran(2)>"), Document([nasty, "b"], "s", "")]
    page = show(PairBuilder(corpus, str.split, caption="<script>ran(3)</script>"))
    assert ("</script><script>ran(1)</script>", "0") in tokens(page)
    assert page.locator(".bb-widget img, .bb-widget script").count() == 0


@pytest.mark.parametrize("objective", ["nsp", "sop", "none"])
def test_save_image(show: Show, objective: str) -> None:
    first = Document(["<script> ran(1)& 今天 שלום", "a b c d e f", "long" * 50, "g"] * 3, "s", "</text>")
    corpus = [first, Document(["<script> 今天", "e f"] * 20, "s", "n" * 99)]
    page = show(PairBuilder(corpus, str.split, objective=objective, max_length=12, seed=3, id="one", caption="<b>"))
    seen = set[str]()
    for number in range(2):
        written = texts(saved(page, f"one-pair-{number}")[0])
        names = {"nsp": "next sentence", "sop": "sentence order", "none": "no pairs"}
        assert written[:2] == ["<b>", f"{names[objective]}, longest sequence 12, seed 3"]
        assert written[2] == page.locator(".bb-pb-steps span").inner_text()
        said = page.locator(".bb-pb-verdict").inner_text()
        if objective != "none":
            assert written[3] == page.locator(".bb-pb-label").inner_text()
        at = next(i for i, text in enumerate(written) if text.endswith("segment id.") or text.endswith("cut away."))
        assert written[at] in said
        for place in written[3 + (objective != "none") : at]:
            assert re.sub(r"^[AB]: |…$", "", place) in said
        chips = tokens(page)
        drawn = written[at + 1 : at + 1 + 2 * len(chips)]
        seen |= set(drawn)
        for (token, below), text, under in zip(chips, drawn[::2], drawn[1::2], strict=True):
            assert text == token or (len(token) == 200 and text.endswith("…"))
            assert under == below
        marks = [mark for mark in page.locator(".bb-pb-box").all_inner_texts() if mark]
        assert [text for text in written[at + 2 + 2 * len(chips) :] if text in "AB•↩"] == marks
        assert "0 </text>" in written
        page.get_by_role("button", name="Next").click()
    assert {"<script>", "今天"} <= seen


@pytest.mark.parametrize("objective", ["nsp", "none"])
def test_phone(show: Show, objective: str) -> None:
    long = [Document(["supercalifragilistic" * 6, "b", "c"], "s" * 80, "n" * 80)] * 2
    for shown in (builder(objective=objective, max_length=128), PairBuilder(long, str.split, objective=objective)):
        page = show(shown, width=360, height=740, touch=True)
        page.get_by_text("The same as a table").click()
        assert page.evaluate("document.documentElement.scrollWidth") == 360


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [360, 1100])
def test_axe(show: Show, axe: Callable[..., None], dark: bool, width: int) -> None:
    page = show(builder(max_length=10), builder(objective="none", id="other"), dark=dark, width=width)
    page.get_by_label("Seed").first.fill("")
    for details in page.get_by_text("The same as a table").all():
        details.click()
    axe(page)


def test_without_javascript(show: Show) -> None:
    page = show(builder(caption="By hand"), javascript=False)
    assert page.get_by_text("By hand").is_visible()
    assert page.get_by_text("drawn from documents: 0 (").is_visible()


def test_anywidget_render(page: Any, tmp_path: Path, package: Callable[..., list[PairExample]]) -> None:
    (tmp_path / "p.html").write_text("<!doctype html><title>p</title><main></main>")
    page.goto((tmp_path / "p.html").as_uri())
    data = json.loads(json.dumps(builder()._data()))
    values = {**data["initial"], "seed": 4, "_data": data}
    page.evaluate(RENDER, [bundle_js("pair-builder"), bundle_css("pair-builder"), values])
    check(page, package(DOCUMENTS, max_length=40, seed=4)[0])
    assert page.get_by_role("link").count() == 0  # no address in a notebook
    page.evaluate("model.set('seed', 6); model.set('pair', 2)")  # from Python
    check(page, package(DOCUMENTS, max_length=40, seed=6)[2])
    assert page.evaluate("model.saves") == 0
    page.get_by_role("button", name="Next").click()  # to Python
    page.get_by_label("Objective").select_option("sop")
    assert page.evaluate("['objective', 'pair'].map(model.get)") == ["sop", 0]
    assert page.evaluate("model.saves") == 2
    page.evaluate("model.set('seed', 'x'); model.set('max_length', 4)")  # nonsense is not drawn
    check(page, package(DOCUMENTS, objective="sop", max_length=40, seed=6)[0])
    page.evaluate("stop()")
    assert page.evaluate("model.listeners()") == 0
    assert page.evaluate("el.childElementCount") == 0
