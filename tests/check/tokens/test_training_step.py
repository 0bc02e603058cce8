"""Exercise 4: wrong answers as readers write them, and what they are told; the right one trains a vocabulary."""

from collections import Counter
from collections.abc import Callable
from itertools import combinations, pairwise
from types import ModuleType
from typing import Any

import pytest

from bertbook import check
from bertbook.text import train_wordpiece


def best(count: Callable[[Counter[Any], tuple[str, ...], int], None]) -> Callable[[Any], Any]:
    def answer(words: Any) -> Any:
        counts: Counter[Any] = Counter()
        for word, occurs in words.items():
            count(counts, word, occurs)
        return counts.most_common(1)[0][0]

    return answer


def neighbours(counts: Counter[Any], word: tuple[str, ...], occurs: int) -> None:
    for pair in pairwise(word):
        counts[pair] += occurs


def once(counts: Counter[Any], word: tuple[str, ...], occurs: int) -> None:
    counts.update(pairwise(word))


def a_set(counts: Counter[Any], word: tuple[str, ...], occurs: int) -> None:
    for pair in set(pairwise(word)):
        counts[pair] += occurs


def any_two(counts: Counter[Any], word: tuple[str, ...], occurs: int) -> None:
    for pair in combinations(word, 2):
        counts[pair] += occurs


def beginnings(counts: Counter[Any], word: tuple[str, ...], occurs: int) -> None:
    if word[1:]:
        counts[word[:2]] += occurs


def single(counts: Counter[Any], word: tuple[str, ...], occurs: int) -> None:
    for piece in word:
        counts[piece] += occurs


def two_pieces(words: Any) -> Any:
    counts: Counter[str] = Counter()
    for word, occurs in words.items():
        single(counts, word, occurs)
    return [piece for piece, _ in counts.most_common(2)]


def across(words: Any) -> Any:
    row = [piece for word, occurs in words.items() for piece in word * occurs]
    return Counter(pairwise(row)).most_common(1)[0][0]


right = best(neighbours)

WRONG: dict[str, tuple[Any, str]] = {
    "each word once": (best(once), "you count each word once, however often it occurs."),
    "each pair once a word": (best(a_set), "you count a pair once for each word that holds it."),
    "any two": (best(any_two), "you count any two pieces of a word."),
    "beginnings": (best(beginnings), "you look at the first two pieces of a word only."),
    "the new piece": (lambda w: right(w)[0] + right(w)[1].removeprefix("##"), "you return the new piece"),
    "the most frequent word": (lambda w: max(w, key=w.get)[:2], "you look at the most frequent word only."),
    "the most frequent piece": (best(single), "it returns `left` alone"),
    "the two most frequent pieces": (two_pieces, "you found the two most frequent pieces."),
    "backwards": (lambda w: right(w)[::-1], "not in the order `left`, `right`"),
    "the rarest": (lambda w: min(Counter(w).items(), key=lambda item: item[1])[0][:2], "and should be"),
    "across words": (across, "With "),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers(name: str, refused: Callable[..., None]) -> None:
    answer, words = WRONG[name]
    refused(check.tokens_4, answer, words)


def test_other_right_answers() -> None:
    assert check.tokens_4(right)
    assert check.tokens_4(lambda words: list(right(words)))


def test_the_solution_is_a_step_of_the_trainer(solutions: Callable[[str], ModuleType]) -> None:
    texts = ["low low low low low lower lower newest newest newest newest newest newest widest widest widest"]
    words = Counter(texts[0].split())
    cut = {(word[0], *(f"##{c}" for c in word[1:])): occurs for word, occurs in words.items()}
    characters = {piece for pieces in cut for piece in pieces} | set("".join(words))
    left, right = solutions("tokens").frequent_pair(cut)
    vocab = train_wordpiece(texts, 5 + len(characters) + 1).vocab
    assert max(vocab, key=vocab.__getitem__) == left + right.removeprefix("##")
