"""How a verdict shows itself."""

from dataclasses import FrozenInstanceError
from html.parser import HTMLParser

import pytest

from bertbook.check.result import CheckResult

RIGHT = CheckResult(True, "exercise 1", "`f` passes.", "And now?")
WRONG = CheckResult(False, "exercise 1", "`<b>` & \"x\": <script>alert('1')</script>", "Look at `<i>`.")


class Reader(HTMLParser):
    """Collects what a page would show and the elements it is made of; complains of any that does not close."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_in_a_terminal() -> None:
    assert repr(RIGHT) == "Right: exercise 1\n  `f` passes.\n  To go on: And now?"
    assert repr(WRONG).startswith('Not yet: exercise 1\n  `<b>` & "x"')
    assert "Hint: Look" in repr(WRONG)
    assert str(WRONG) == repr(WRONG)


def test_long_lines_are_wrapped() -> None:
    lines = repr(CheckResult(False, "exercise 1", "word " * 100, "word " * 100)).splitlines()
    assert max(map(len, lines)) <= 100
    assert all(line.startswith("  ") for line in lines[1:])


@pytest.mark.parametrize(("result", "verdict"), [(RIGHT, "Right"), (WRONG, "Not yet")])
def test_on_a_page_the_verdict_is_in_words(result: CheckResult, verdict: str) -> None:
    page = Reader(result._repr_html_())
    assert page.text.startswith(f"{verdict}: exercise 1")
    assert set(page.tags) <= {"div", "p", "strong", "code"}


def test_on_a_page_everything_is_escaped_and_nothing_lost() -> None:
    page = Reader(WRONG._repr_html_())
    assert "script" not in page.tags
    assert "<b> & \"x\": <script>alert('1')</script>" in page.text
    assert page.tags.count("code") == 2


def test_it_takes_the_colours_of_the_page() -> None:
    style = RIGHT._repr_html_()
    assert "currentColor" in style
    for fixed in ("#", "rgb", "background", "color:"):
        assert fixed not in style


def test_it_is_true_if_right_and_cannot_be_changed() -> None:
    assert RIGHT
    assert not WRONG
    with pytest.raises(FrozenInstanceError):
        WRONG.ok = True  # type: ignore[misc]
