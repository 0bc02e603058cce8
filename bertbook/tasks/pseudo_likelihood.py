"""How much a masked language model expects a text: each token hidden in turn, and the rest shown.

Pseudo-log-likelihood (Salazar et al. 2020): Σ ln p(xᵢ | all others). It is no probability of the text: each token is
guessed with the later ones in sight.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from bertbook.tasks.asking import MaskedModel, Question
from bertbook.tasks.gaps import GappedText
from bertbook.text.masking import special_ids
from bertbook.text.tokenizer import Text, Tokenizer


@dataclass(frozen=True)
class Score:
    """The score of one text, or of one pair.

    - ``tokens``: those that were scored, from left to right: all but special ones;
    - ``log_probabilities``: ln p of each. The higher, the more expected; 0 is certain;
    - ``unknown``: how many [UNK] the text holds. They are not scored: no model was trained to guess them.
    """

    text: Text
    tokens: tuple[str, ...] = field(repr=False)
    log_probabilities: tuple[float, ...] = field(repr=False)
    unknown: int

    @property
    def total(self) -> float:
        """The pseudo-log-likelihood: the sum. Longer texts have lower ones."""
        return math.fsum(self.log_probabilities)

    @property
    def per_token(self) -> float:
        """The mean."""
        return self.total / len(self.tokens)

    @property
    def perplexity(self) -> float:
        """e to the power of minus the mean: among how many equally probable tokens the model would be as unsure."""
        return math.exp(-self.per_token)

    def __repr__(self) -> str:
        unknown = f", {self.unknown} unknown" if self.unknown else ""
        return f"Score({self.text!r}: total {self.total:.2f}, per token {self.per_token:.2f}{unknown})"


def scored(model: MaskedModel, items: Sequence[GappedText], by_word: bool) -> list[Score]:
    """The scores of texts without gaps that the model has room for.

    Raises:
        ValueError: a text without a token to score.
    """
    tokenizer = model.tokenizer
    places = [ordinary(tokenizer, item.ids) for item in items]
    for item, found in zip(items, places, strict=True):
        if not found:
            raise ValueError(f"there is nothing to score in {item.written!r:.80}: it holds no token but special ones")
    hidden = [
        hidden_in_turn(tokenizer, item.ids, item.segments, item.words, found, by_word)
        for item, found in zip(items, places, strict=True)
    ]
    answers = [[item.ids[place]] for item, found in zip(items, places, strict=True) for place in found]
    values = iter(row[0] for row in model.log_probabilities([q for group in hidden for q in group], answers))
    return [
        Score(
            text=item.written,
            tokens=tuple(tokenizer.ids_to_tokens([item.ids[place] for place in found])),
            log_probabilities=tuple(next(values) for _ in found),
            unknown=item.ids.count(tokenizer.unk_token_id),
        )
        for item, found in zip(items, places, strict=True)
    ]


def ordinary(tokenizer: Tokenizer, ids: Sequence[int]) -> list[int]:
    """The places of tokens that are not special."""
    special = special_ids(tokenizer)
    return [place for place, number in enumerate(ids) if number not in special]


def hidden_in_turn(
    tokenizer: Tokenizer,
    ids: Sequence[int],
    segments: list[int],
    words: Sequence[int],
    places: Sequence[int],
    by_word: bool,
) -> list[Question]:
    """A question for each of the places, with [MASK] there; ``by_word``, also where the same word goes on."""
    questions = []
    for place in places:
        row = list(ids)
        row[place] = tokenizer.mask_token_id
        after = place + 1
        while by_word and after < len(row) and words[after] == words[place]:
            row[after] = tokenizer.mask_token_id
            after += 1
        questions.append(Question(row, segments, [place]))
    return questions
