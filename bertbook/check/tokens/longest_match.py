"""Exercise 1: greedy longest match."""

from collections.abc import Callable

from bertbook.check.exercise import Case, Exercise, looks_like

Vocab = dict[str, int]
Choice = Callable[[list[str]], str]
_UNKNOWN = ["[UNK]"]


def _longest(found: list[str]) -> str:
    return max(found, key=len)


def _shortest(found: list[str]) -> str:
    return min(found, key=len)


def _cut(
    word: str,
    vocab: Vocab,
    choose: Choice = _longest,
    mark: str = "##",
    dead_end: Callable[[list[str]], list[str]] = lambda cut: _UNKNOWN,
) -> list[str]:
    """Piece by piece: of all entries that fit at this place, the one that ``choose`` takes."""
    cut: list[str] = []
    rest = word
    while rest:
        lead = mark if cut else ""
        fitting = [entry for entry in vocab if entry.startswith(lead) and rest.startswith(entry[len(lead) :])]
        fitting = [entry for entry in fitting if len(entry) > len(lead)]
        if not fitting:
            return dead_end(cut)
        cut.append(choose(fitting))
        rest = rest[len(cut[-1]) - len(lead) :]
    return cut


def _from_the_end(word: str, vocab: Vocab) -> list[str]:
    cut: list[str] = []
    rest = word
    while rest:
        tails = [rest[i:] if i == 0 else f"##{rest[i:]}" for i in range(len(rest))]
        piece = next((tail for tail in tails if tail in vocab), None)
        if piece is None:
            return _UNKNOWN
        cut.insert(0, piece)
        rest = rest[: len(rest) - len(piece.removeprefix("##"))]
    return cut


def _trying_all(word: str, vocab: Vocab, mark: str = "") -> list[str]:
    """Goes back when it is stuck."""
    for end in range(len(word), 0, -1):
        head = mark + word[:end]
        if head in vocab:
            if end == len(word):
                return [head]
            tail = _trying_all(word[end:], vocab, "##")
            if tail != _UNKNOWN:
                return [head, *tail]
    return _UNKNOWN


def _bare(word: str, vocab: Vocab) -> list[str]:
    return [piece.removeprefix("##") for piece in _cut(word, vocab)]


def _cases() -> list[Case]:
    # The right pieces, those cut too short, and those looked up without ## are all there, and all different.
    entries = "[UNK] s st straw b er ri es berry jam 狗 ##t ##r ##a ##w ##b ##e ##i ##s ##st ##berries ##berry".split()  # noqa: SIM905
    vocab = {entry: number for number, entry in enumerate(entries)}
    trap = {entry: number for number, entry in enumerate("[UNK] a ab abc ##b ##bcd ##cd ##e".split())}  # noqa: SIM905
    begin = "An entry with ## stands for what continues a word, one without for what begins it."
    return [
        Case("the word strawberries", ("strawberries", vocab), "Which end of the word is given up first?"),
        Case("a word that is an entry", ("straw", vocab), "The longest piece may be the whole word."),
        Case("a word of four pieces", ("berryberrystberry", vocab), begin),
        Case("one Chinese character", ("狗", vocab), "A word may have one character."),
        Case("a character that no entry has", ("strawjam", vocab), "What is the whole word, if a part of it fails?"),
        Case("a word that only a ## entry fits", ("raw", vocab), begin),
        Case("a word that could be cut in another way", ("abcd", trap), "What was chosen stays chosen."),
        Case(
            "an entry that runs past the word's end",
            ("strawb", {"[UNK]": 0, "straw": 1, "##berry": 2, "##b": 3}),
            "Only what the word still holds can match.",
        ),
    ]


LONGEST_MATCH = Exercise(
    title="exercise 1, greedy longest match",
    name="my_wordpiece",
    takes=("word", "vocab"),
    gives=("pieces",),
    reference=_cut,
    cases=_cases,
    diagnoses=(
        looks_like(
            lambda word, vocab: _cut(word, vocab, _shortest),
            "You take the shortest piece that fits.",
            "Begin with the whole rest of the word. What do you try if that is no entry?",
        ),
        looks_like(
            lambda word, vocab: _cut(word, vocab, mark=""),
            "You look for pieces inside a word without their ##.",
            "`berry` and `##berry` are two entries. Which one may stand inside a word?",
        ),
        looks_like(
            _bare,
            "The cut is right, but the pieces inside the word have lost their ##.",
            "What is returned are entries of the vocabulary.",
        ),
        looks_like(
            lambda word, vocab: "".join(_cut(word, vocab)),
            "You return one string.",
            "Collect the pieces in a list.",
        ),
        looks_like(
            _from_the_end,
            "You match from the end of the word backwards.",
            "WordPiece fixes the first piece first.",
        ),
        looks_like(
            lambda word, vocab: _cut(word, vocab, dead_end=lambda cut: [*cut, "[UNK]"]),
            "You keep the pieces before the place where nothing fits.",
            "If a part of the word cannot be written with the vocabulary, what becomes of the word?",
        ),
        looks_like(
            lambda word, vocab: _cut(word, vocab, dead_end=lambda cut: cut),
            "You leave out the part that nothing fits.",
            "If a part of the word cannot be written with the vocabulary, what becomes of the word?",
        ),
        looks_like(
            lambda word, vocab: [word] if word in vocab else _UNKNOWN,
            "You look up whole words only.",
            "A word that is no entry may still be a row of entries.",
        ),
        looks_like(
            _trying_all,
            "You go back and try a shorter piece when you are stuck. That finds more, but it is not WordPiece.",
            "Greedy means: what was chosen is never taken back.",
        ),
    ),
    start="Begin with the longest piece that begins the word: how many characters does it have at most, at least?",
    onward="Can one more entry turn a word that was cut well into [UNK]?",
)
