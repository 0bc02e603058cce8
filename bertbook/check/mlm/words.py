"""Exercise 2: whole words."""

from collections.abc import Callable

import torch
from torch import Tensor

from bertbook.check.exercise import Case, Exercise, looks_like


def _words(row: list[bool]) -> list[list[int]]:
    """The positions of each word."""
    words: list[list[int]] = []
    for position, continues in enumerate(row):
        if continues and words:
            words[-1].append(position)
        else:
            words.append([position])
    return words


def _by_word(choose: Callable[[list[float], float], bool]) -> Callable[[Tensor, Tensor, float], Tensor]:
    """``choose`` decides from the lots of a word's pieces."""

    def chosen(continues: Tensor, lot: Tensor, rate: float) -> Tensor:
        result = torch.zeros_like(continues)
        for row, flags in enumerate(continues.tolist()):
            for word in _words(flags):
                result[row, word] = choose(lot[row, word].tolist(), rate)
        return result

    return chosen


_whole_words = _by_word(lambda lots, rate: lots[0] < rate)


def _one_further(continues: Tensor, lot: Tensor, rate: float) -> Tensor:
    """The lot of the piece before it, which is the word's only for its second piece."""
    return torch.where(continues, lot.roll(1, 1), lot) < rate


def _cases() -> list[Case]:
    continues = torch.tensor([[0, 0, 1, 0, 1, 1, 1, 0, 0], [0, 1, 1, 0, 0, 1, 0, 0, 1]]).bool()
    lot = torch.tensor([
        [0.71, 0.42, 0.05, 0.08, 0.93, 0.66, 0.11, 0.02, 0.37],
        [0.13, 0.51, 0.84, 0.29, 0.10, 0.19, 0.48, 0.95, 0.03],
    ])  # fmt: skip
    letters = torch.zeros(1, 7).bool()
    return [
        Case("two texts", (continues, lot, 0.15), "Mark the words on paper. Whose lot counts for each piece?"),
        Case("a rate of 0.5", (continues, lot, 0.5), "Which number in your function is fixed?"),
        Case("words of one piece", (letters, lot[:1, :7], 0.15), "Without pieces that continue, all is as before."),
        Case(
            "one long word",
            (torch.tensor([[False] + [True] * 8]), lot[1:], 0.15),
            "How far does the first piece's lot have to travel?",
        ),
    ]


WHOLE_WORDS = Exercise(
    title="exercise 2, whole words",
    name="my_whole_words",
    takes=("continues", "lot", "rate"),
    gives=("chosen",),
    reference=_whole_words,
    cases=_cases,
    diagnoses=(
        looks_like(
            lambda continues, lot, rate: lot < rate,
            "Each piece of yours goes by its own lot.",
            "Where is `continues` used?",
        ),
        looks_like(
            lambda continues, lot, rate: (lot < rate) & ~continues,
            "You choose first pieces alone.",
            "The rest of the word would give it away. How do the other pieces learn that their word is chosen?",
        ),
        looks_like(
            _one_further,
            "Each piece of yours goes by the lot of the piece before it.",
            "That is right for the second piece of a word. And for the third?",
        ),
        looks_like(
            _by_word(lambda lots, rate: min(lots) < rate),
            "A word of yours is chosen when any of its pieces draws a low lot.",
            "Then long words are chosen more often than short ones. How many lots may a word have?",
        ),
        looks_like(
            _by_word(lambda lots, rate: max(lots) < rate),
            "A word of yours is chosen only when all of its pieces draw low lots.",
            "Then long words are hardly ever chosen. How many lots may a word have?",
        ),
        looks_like(
            _by_word(lambda lots, rate: lots[-1] < rate),
            "A word of yours goes by the lot of its last piece.",
            "The exercise wants the first one's.",
        ),
        looks_like(
            _by_word(lambda lots, rate: sum(lots) / len(lots) < rate),
            "A word of yours goes by the mean of its pieces' lots.",
            "A mean of several is less often low than one alone. How many lots may a word have?",
        ),
        looks_like(
            lambda continues, lot, rate: ~_whole_words(continues, lot, rate),
            "Your answer is inverted.",
            "Is a word chosen when its lot is below the rate, or above?",
        ),
    ),
    start="Begin with one row on paper: number the words, and write each piece's word below it.",
    onward="What would you put in the place of `continues` for Chinese, where every token is a character?",
)
