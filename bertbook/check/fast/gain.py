"""Exercise 2: what a batch costs more for being padded."""
# ruff: noqa: N803  # sizes carry their names from the papers

from collections.abc import Callable
from typing import Any

from bertbook.check.compare import Finding, same
from bertbook.check.exercise import Case, Exercise


def _cost(length: float, H: int, F: int) -> float:
    """Operations of a layer, less a factor that drops out of every ratio: 4 S H (2 H + F + S)."""
    return length * (2 * H + F + length)


def _gain(lengths: list[int], H: int, F: int) -> float:
    longest = _cost(max(lengths), H, F)
    return len(lengths) * longest / sum(_cost(length, H, F) for length in lengths)


def _tokens(lengths: list[int], H: int, F: int) -> float:
    return len(lengths) * max(lengths) / sum(lengths)


def _squares(lengths: list[int], H: int, F: int) -> float:
    return len(lengths) * max(lengths) ** 2 / sum(length**2 for length in lengths)


def _mean_length(lengths: list[int], H: int, F: int) -> float:
    return _cost(max(lengths), H, F) / _cost(sum(lengths) / len(lengths), H, F)


def _whole_mean_length(lengths: list[int], H: int, F: int) -> float:
    return _cost(max(lengths), H, F) / _cost(sum(lengths) // len(lengths), H, F)


def _one_long_row(lengths: list[int], H: int, F: int) -> float:
    return len(lengths) * _cost(max(lengths), H, F) / _cost(sum(lengths), H, F)


def _two_long_rows(lengths: list[int], H: int, F: int) -> float:
    return _cost(len(lengths) * max(lengths), H, F) / _cost(sum(lengths), H, F)


def _mean_of_ratios(lengths: list[int], H: int, F: int) -> float:
    return sum(_cost(max(lengths), H, F) / _cost(length, H, F) for length in lengths) / len(lengths)


def _one_row(lengths: list[int], H: int, F: int) -> float:
    return _gain(lengths, H, F) / len(lengths)


def _last_row(lengths: list[int], H: int, F: int) -> float:
    return _gain(lengths, H, F) * _cost(lengths[-1], H, F) / _cost(max(lengths), H, F)


_SQUARE = "Attention grows with the square: a row twice as long costs more than two rows."
# (what comes out so, what to say, where to look)
_MISTAKES: list[tuple[Callable[[list[int], int, int], float], str, str]] = [
    (_gain, "", ""),
    (
        _tokens,
        "Your ratio is that of the tokens, padded to real.",
        "Does a token in a long row cost as much as one in a short?",
    ),
    (
        _squares,
        "Your ratio is that of the squares of the lengths, as if attention were all.",
        "What else does a layer compute?",
    ),
    (_mean_length, "You take the cost of a row of mean length for the mean cost of a row.", _SQUARE),
    (_whole_mean_length, "You take the cost of a row of mean length for the mean cost of a row.", _SQUARE),
    (
        _one_long_row,
        "Your rows, once the padding is gone, look at each other as if they were one text.",
        "The cost of a text is that of its own length: how many texts are there?",
    ),
    (
        _two_long_rows,
        "Your batch is one long text, before and after.",
        "The cost of a text is that of its own length: how many texts are there?",
    ),
    (
        _mean_of_ratios,
        "You take the gain of each row and then the mean.",
        "A long row takes more of the time than a short one. Compare the two batches as wholes.",
    ),
    (_one_row, "You compare one padded row with all the real ones.", "How many rows are padded to the longest?"),
    (_last_row, "You pad to the last row, not to the longest.", "Rows come in any order."),
]


def _mistake(case: Case, given: Any) -> Finding | None:
    """One of the mistakes, or what is right; either may be upside down, or a share that is saved."""
    for variant, message, hint in _MISTAKES:
        value = variant(*case.arguments)
        turned = "Your ratio is upside down: real cost to padded cost."
        share = "Your number is the share that is saved, not how many times as much is paid."
        more = "Your number is how much more is paid, not how many times as much."
        ask = "A batch without any padding has the gain 1."
        for shown, said in ((value, ""), (1 / value, turned), (1 - 1 / value, share), (value - 1, more)):
            if (said or message) and same(given, shown, case.tolerance):
                return Finding(" ".join(filter(None, (message, said))), hint or ask)
    return None


def _cases() -> list[Case]:
    own = "Write down the cost of each row, once as it is padded and once as it is."
    return [
        # Short beside H, attention hardly counts; here it counts as much as the linear maps.
        Case("the lengths 9, 3, 12, 5 and H = 8", ([9, 3, 12, 5], 8, 20), own, 1e-6),
        Case("one long text among short ones, with the sizes of BERT-base", ([512, *[16] * 15], 768, 3072), own, 1e-6),
        Case("rows of one length", ([40, 40, 40], 384, 1536), "What is there to gain where there is no padding?", 1e-6),
        Case("a single row", ([128], 1024, 4096), "What is there to gain where there is no padding?", 1e-6),
        Case("an intermediate size below H", ([64, 1, 20, 33, 7], 48, 20), "Which of your sizes is a fixed one?", 1e-6),
    ]


PADDING_GAIN = Exercise(
    title="exercise 2, what padding costs",
    name="padding_gain",
    takes=("lengths", "hidden_size", "intermediate_size"),
    gives=("gain",),
    reference=_gain,
    cases=_cases,
    diagnoses=(_mistake,),
    start="Begin with the longest row: at what length is every row of the padded batch computed?",
    onward="Which batch gains more by packing: one of lengths near each other, or one with a single long text?",
)
