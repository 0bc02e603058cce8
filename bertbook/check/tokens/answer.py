"""Exercise 3: the tokens of an answer that is given by its characters."""

from collections.abc import Callable

from bertbook.check.exercise import Case, Exercise, looks_like

Offsets = list[tuple[int, int]]
Span = tuple[int, int]


def _places(offsets: Offsets, start: int, end: int) -> list[int]:
    """Tokens that share a character with text[start:end]."""
    wanted = set(range(start, end))
    return [place for place, (a, b) in enumerate(offsets) if wanted.intersection(range(a, b))]


def _span(offsets: Offsets, start: int, end: int) -> Span:
    touched = _places(offsets, start, end)
    return touched[0], touched[-1]


def _by(matches: Callable[[int, int, int, int], bool]) -> Callable[..., Span]:
    """First and last of the tokens (a, b) for which this holds, with the answer's start and end."""

    def variant(offsets: Offsets, start: int, end: int) -> Span:
        touched = [place for place, (a, b) in enumerate(offsets) if matches(a, b, start, end)]
        return touched[0], touched[-1]

    return variant


def _moved(first: int, last: int) -> Callable[..., Span]:
    def variant(*arguments: object) -> Span:
        found = _span(*arguments)  # type: ignore[arg-type]
        return found[0] + first, found[1] + last

    return variant


def _offsets(*pieces: str) -> Offsets:
    """Of pieces that are parted by a blank each, but for those that begin with ##; between [CLS] and [SEP]."""
    found, place = [(0, 0)], 0
    for piece in pieces:
        bare = piece.removeprefix("##")
        place += bool(place) and bare == piece
        found.append((place, place + len(bare)))
        place += len(bare)
    return [*found, (0, 0)]


def _cases() -> list[Case]:
    text = _offsets("the", "straw", "##berries", "were", "un", "##afford", "##able", "in", "may")
    glued = _offsets("from", "##1998", "##to", "##2001")
    inside = "A token belongs to the answer if they share a character, also if it begins before or ends after it."
    return [
        Case("an answer of two words", (text, 4, 21), "Print the offsets beside the tokens."),
        Case("tokens without blanks between them", (glued, 4, 8), "`end` is the first character after the answer."),
        Case("an answer that begins and ends inside tokens", (text, 6, 19), inside),
        Case("an answer of one word in three pieces", (text, 22, 34), "Which pieces share characters with it?"),
        Case("an answer of one token", (text, 17, 21), "Then first and last are the same place."),
        Case(
            "an answer at the start of the text", (text, 0, 3), "[CLS] has the offsets (0, 0): it holds no character."
        ),
        Case(
            "an answer at the end of the text", (text, 35, 41), "[SEP] has the offsets (0, 0): it holds no character."
        ),
        Case("an answer inside one token", (text, 10, 13), inside),
        Case("an answer of one Chinese character", ([(0, 0), (0, 1), (1, 2), (2, 3), (0, 0)], 1, 2), inside),
    ]


_OFFSET = "The token at place k is `text[a:b]` with `(a, b) = offsets[k]`, and a slice does not hold its end."

ANSWER_TOKENS = Exercise(
    title="exercise 3, from characters to tokens",
    name="answer_tokens",
    takes=("offsets", "start", "end"),
    gives=("first", "last"),
    reference=_span,
    cases=_cases,
    diagnoses=(
        looks_like(_by(lambda a, b, start, end: a <= end and b > start), "One token too many at the end.", _OFFSET),
        looks_like(_by(lambda a, b, start, end: a < end and b >= start), "One token too many at the start.", _OFFSET),
        looks_like(_by(lambda a, b, start, end: a <= end and b >= start), "A neighbour too many.", _OFFSET),
        looks_like(
            _moved(0, 1),
            "Your last place is the one after the answer.",
            "`last` is the place of a token of the answer. Its end comes only when it is sliced.",
        ),
        looks_like(
            _moved(-1, -1),
            "Your places are one too small, as if [CLS] were not counted.",
            "`offsets` has an entry for [CLS] too, at place 0.",
        ),
        looks_like(
            _by(lambda a, b, start, end: a >= start and b <= end),
            "Tokens that lie only partly in the answer are left out, or special tokens are taken in.",
            "When do the tokens (a, b) and the answer (start, end) share a character?",
        ),
        looks_like(
            _by(lambda a, b, start, end: a <= start < b),
            "You find the token in which the answer begins, for both.",
            "In which token does its last character lie?",
        ),
        looks_like(
            lambda offsets, start, end: list(range(_span(offsets, start, end)[0], _span(offsets, start, end)[1] + 1)),
            "You return all places of the answer.",
            "Its first and its last say as much.",
        ),
    ),
    start="Begin with one token, (a, b): when does it share a character with `text[start:end]`?",
    onward="In a pair of question and passage the offsets begin at 0 twice. What else would the function have to know?",
)
