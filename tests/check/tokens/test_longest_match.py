"""Exercise 1: wrong answers as readers write them, and what they are told; the right one is the tokenizer's."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertbook import Tokenizer, check, load_tokenizer

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def right(word: str, vocab: Any, mark: str = "##", shortest: bool = False, stuck: Any = lambda found: ["[UNK]"]) -> Any:
    found: list[str] = []
    start = 0
    while start < len(word):
        ends = range(start + 1, len(word) + 1)
        for end in ends if shortest else reversed(ends):
            piece = (mark if start else "") + word[start:end]
            if piece in vocab:
                break
        else:
            return stuck(found)
        found.append(piece)
        start = end
    return found


def without_marks(word: str, vocab: Any) -> list[str]:
    return [piece.replace("##", "") for piece in right(word, vocab)]


def backwards(word: str, vocab: Any) -> list[str]:
    found: list[str] = []
    while word:
        for start in range(len(word)):
            piece = word[start:] if start == 0 else "##" + word[start:]
            if piece in vocab:
                break
        else:
            return ["[UNK]"]
        found = [piece, *found]
        word = word[:start]
    return found


def going_back(word: str, vocab: Any, mark: str = "") -> list[str]:
    if not word:
        return []
    for end in range(len(word), 0, -1):
        if mark + word[:end] in vocab:
            rest = going_back(word[end:], vocab, "##")
            if rest != ["[UNK]"]:
                return [mark + word[:end], *rest]
    return ["[UNK]"]


WRONG: dict[str, tuple[Any, str]] = {
    "shortest first": (lambda w, v: right(w, v, shortest=True), "you take the shortest piece that fits."),
    "no marks looked up": (lambda w, v: right(w, v, mark=""), "inside a word without their ##"),
    "no marks returned": (without_marks, "have lost their ##"),
    "one string": (lambda w, v: "".join(right(w, v)), "you return one string."),
    "backwards": (backwards, "you match from the end of the word backwards."),
    "the start kept": (
        lambda w, v: right(w, v, stuck=lambda found: [*found, "[UNK]"]),
        "you keep the pieces before the place where nothing fits.",
    ),
    "the rest left out": (lambda w, v: right(w, v, stuck=lambda found: found), "you leave out the part"),
    "whole words only": (lambda w, v: [w] if w in v else ["[UNK]"], "you look up whole words only."),
    "going back": (going_back, "you go back and try a shorter piece when you are stuck."),
    "unknown as a string": (lambda w, v: right(w, v, stuck=lambda found: "[UNK]"), "you return one string."),
    "nothing for unknown": (lambda w, v: right(w, v, stuck=lambda found: []), "With a character that no entry has"),
    "a tuple": (lambda w, v: tuple(right(w, v)), "`pieces` is a tuple of 2 and should be a list of 2."),
    "ids": (lambda w, v: [v[piece] for piece in right(w, v)], "`pieces` is [3, 20] and should be"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers(name: str, refused: Callable[..., None]) -> None:
    answer, words = WRONG[name]
    refused(check.tokens_1, answer, words)


def test_another_right_answer() -> None:
    assert check.tokens_1(right)


ENTRIES = st.lists(st.text("abc狗", min_size=1, max_size=4), max_size=12, unique=True)


@given(starts=ENTRIES, continues=ENTRIES, word=st.text("abc", min_size=1, max_size=12))
def test_the_solution_is_what_the_tokenizer_does(
    solutions: Callable[[str], ModuleType], starts: list[str], continues: list[str], word: str
) -> None:
    """With the worked solution of the book: the library's WordPiece in twelve lines."""
    tokenizer = Tokenizer.from_vocab([*SPECIAL, *starts, *(f"##{entry}" for entry in continues)])
    assert solutions("tokens").my_wordpiece(word, tokenizer.vocab) == tokenizer.tokenize(word)


def test_the_solution_on_the_published_vocabulary(solutions: Callable[[str], ModuleType]) -> None:
    tokenizer = load_tokenizer("bert-base-uncased")
    for word in [
        "strawberries",
        "unaffable",
        "embeddings",
        "qwrtpsdfg",
        "狗",
        "a" * 100,
        "antidisestablishmentarianism",
    ]:
        assert solutions("tokens").my_wordpiece(word, tokenizer.vocab) == tokenizer.tokenize(word)
