"""Exercise 4: one step of training a vocabulary."""

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import combinations, pairwise

from bertbook.check.exercise import Case, Exercise, looks_like

Words = dict[tuple[str, ...], int]
Pair = tuple[str, str]


def _best(pairs: Callable[[Words], Iterator[tuple[Pair, int]]]) -> Callable[[Words], Pair]:
    """The pair with the largest sum of what ``pairs`` says it counts."""

    def choose(words: Words) -> Pair:
        total: Counter[Pair] = Counter()
        for pair, count in pairs(words):
            total[pair] += count
        ((pair, _),) = total.most_common(1)
        return pair

    return choose


def _neighbours(words: Words) -> Iterator[tuple[Pair, int]]:
    return ((pair, count) for word, count in words.items() for pair in pairwise(word))


def _unweighted(words: Words) -> Iterator[tuple[Pair, int]]:
    return ((pair, 1) for word in words for pair in pairwise(word))


def _once_a_word(words: Words) -> Iterator[tuple[Pair, int]]:
    return ((pair, count) for word, count in words.items() for pair in set(pairwise(word)))


def _any_two(words: Words) -> Iterator[tuple[Pair, int]]:
    return ((pair, count) for word, count in words.items() for pair in combinations(word, 2))


def _first_two(words: Words) -> Iterator[tuple[Pair, int]]:
    return ((word[:2], count) for word, count in words.items() if len(word) > 1)  # type: ignore[misc]


def _across(words: Words) -> Iterator[tuple[Pair, int]]:
    yield from _neighbours(words)
    for before, after in pairwise(words):
        yield (before[-1], after[0]), min(words[before], words[after])


def _two_pieces(words: Words) -> Pair:
    """The two most frequent pieces, neighbours or not."""
    total: Counter[str] = Counter()
    for word, count in words.items():
        for piece in word:
            total[piece] += count
    first, second = total.most_common(2)
    return first[0], second[0]


def _cases() -> list[Case]:
    def cut(words: dict[str, int]) -> Words:
        return {(word[0], *(f"##{character}" for character in word[1:])): count for word, count in words.items()}

    # In each, the mistakes that it is for give pairs of their own, and no two pairs are the most frequent.
    texts = cut({"widest": 6, "mississippi": 4, "assess": 2, "deeper": 9, "low": 5, "lower": 7})
    later = {("th", "##e"): 4, ("th", "##a", "##t"): 3, ("b", "##a", "##t"): 4, ("a",): 50, ("c", "##a", "##t"): 1}
    double = cut({"assess": 9, "need": 1, "widest": 5, "needs": 3, "newer": 6})
    rare = cut({"ab": 9, "xyz": 1, "xyq": 1, "xyr": 1})
    return [
        Case("6 words in single characters", (texts,), "Write the counts of all pairs down, each times its word's."),
        Case("pieces that are longer already", (later,), "A word of one piece has no pair."),
        Case("a word that holds the pair twice", (double,), "It counts as often as it stands there."),
        Case("one frequent word among rare ones", (rare,), "What is a word's number for?"),
        Case("one word", (cut({"go": 1}),), "There is one pair."),
    ]


_WEIGHT = "The number of a word says how often it stands in the texts, and with it each of its pairs."

FREQUENT_PAIR = Exercise(
    title="exercise 4, a step of training",
    name="frequent_pair",
    takes=("words",),
    gives=("left", "right"),
    reference=_best(_neighbours),
    cases=_cases,
    diagnoses=(
        looks_like(_best(_unweighted), "You count each word once, however often it occurs.", _WEIGHT),
        looks_like(_best(_once_a_word), "You count a pair once for each word that holds it.", _WEIGHT),
        looks_like(_best(_any_two), "You count any two pieces of a word.", "Only neighbours can be joined."),
        looks_like(_best(_first_two), "You look at the first two pieces of a word only.", "Every neighbour counts."),
        looks_like(_best(_across), "You count pairs across the border of two words.", "Nothing joins two words."),
        looks_like(_two_pieces, "You found the two most frequent pieces.", "They need not stand side by side."),
        looks_like(
            lambda words: "".join(
                part.removeprefix("##") if i else part for i, part in enumerate(_best(_neighbours)(words))
            ),
            "You return the new piece, which is right; the pair that it is made of is asked for.",
            "Return left and right.",
        ),
        looks_like(
            lambda words: max(words.items(), key=lambda item: item[1])[0][:2],
            "You look at the most frequent word only.",
            "A pair may stand in many words that are rarer.",
        ),
    ),
    start="Begin with an empty dictionary of pairs. Which pairs does one word add to, and by how much each?",
    onward="Which two pieces would you join if you divided a pair's count by the counts of its two pieces?",
)
