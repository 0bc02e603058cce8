"""Exercise 2: segment ids from the ids of a padded batch."""

from collections.abc import Callable

import torch
from torch import Tensor

from bertbook.check.exercise import Case, Exercise, looks_like

CLS, SEP, PAD = 2, 3, 0


def _way(
    own_text: bool = True, padding: int = 0, most: int | None = 1, first: int = 0
) -> Callable[[Tensor, int, int], Tensor]:
    """Row by row. ``own_text``: a [SEP] belongs to the text it ends; ``most``: the largest number, if any."""

    def segments(ids: Tensor, sep_id: int, pad_id: int) -> Tensor:
        rows = []
        for row in ids.tolist():
            number, out = first, []
            for token in row:
                if token == sep_id and not own_text:
                    number += 1
                out.append(padding if token == pad_id and padding >= 0 else number)
                if token == sep_id and own_text:
                    number += 1
            rows.append(out if most is None else [min(most, value) for value in out])
        return torch.tensor(rows)

    return segments


def _cases() -> list[Case]:
    def case(title: str, rows: list[list[int]], hint: str, sep: int = SEP, pad: int = PAD) -> Case:
        longest = max(map(len, rows))
        return Case(title, (torch.tensor([row + [pad] * (longest - len(row)) for row in rows]), sep, pad), hint)

    by_hand = "Write the first row with its ids and its segments under each other, on paper."
    return [
        case(
            "two pairs, the second one padded",
            [[CLS, 7, 8, 9, SEP, 7, 6, SEP], [CLS, 7, SEP, 9, SEP]],
            by_hand,
        ),
        case("a pair and a single text", [[CLS, 7, SEP, 9, 9, SEP], [CLS, 8, SEP]], "A single text is all 0."),
        case("a pair whose second text is empty", [[CLS, 7, SEP, SEP]], "Even an empty text has its [SEP]."),
        case(
            "other numbers for [SEP] and [PAD]",
            [[101, 0, 3, 102, 2, 102], [101, 3, 102]],
            "The ids of special tokens are arguments: each vocabulary has its own.",
            sep=102,
            pad=1,
        ),
    ]


SEGMENTS = Exercise(
    title="exercise 2, segment ids",
    name="my_segments",
    takes=("ids", "sep_id", "pad_id"),
    gives=("segments",),
    reference=_way(),
    cases=_cases,
    diagnoses=(
        looks_like(
            _way(own_text=False),
            "Your segments change at the [SEP], not after it.",
            "To which text does the [SEP] between two texts belong?",
        ),
        looks_like(
            _way(own_text=False, most=None),
            "Your segments count every [SEP], and change at it, not after it.",
            "To which text does the [SEP] between two texts belong? And how many segments are there?",
        ),
        looks_like(_way(padding=-1), "Your padding is in segment 1.", "What does the tokenizer write there?"),
        looks_like(
            _way(padding=-1, most=None),
            "Your padding goes on counting: the table of segments has no such row.",
            "What does the tokenizer write there?",
        ),
        looks_like(_way(first=1, most=2), "Your segments are 1 and 2.", "What is the number of a table's first row?"),
        looks_like(
            lambda ids, sep_id, pad_id: (ids != pad_id).long(),
            "That is the attention mask: 1 for tokens, 0 for padding.",
            "Segments tell the two texts apart.",
        ),
        looks_like(
            lambda ids, sep_id, pad_id: torch.zeros_like(ids),
            "All your segments are 0.",
            "What stands between the two texts?",
        ),
    ),
    start="Begin with where the [SEP] are: a tensor of 0 and 1. What does its running sum count?",
    onward="RoBERTa has a single segment. How could a model then still tell the two texts apart?",
)
