"""How much a masked language model expects a text: each token hidden in turn, and the rest shown.

Pseudo-log-likelihood (Salazar et al. 2020): Σ ln p(xᵢ | all others). It is no probability of the text: each token is
guessed with the later ones in sight.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from bertbook.tasks.asking import MaskedModel, Question
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


def scored(model: MaskedModel, texts: Sequence[Text], by_word: bool) -> list[Score]:
    """The scores of texts that the model has room for.

    Args:
        by_word: with each piece, hide the pieces to its right that are of the same word (Kauf and Ivanova 2023).

    Raises:
        ValueError: a text without a token to score.
    """
    tokenizer = model.tokenizer
    batch = tokenizer(list(texts), return_word_ids=True)
    special = special_ids(tokenizer)
    questions, answers, found = [], [], []
    for row, text in enumerate(texts):
        length = int(batch["attention_mask"][row].sum())
        ids, segments, words = (
            batch[name][row, :length].tolist() for name in ("input_ids", "token_type_ids", "word_ids")
        )
        places = [place for place, number in enumerate(ids) if number not in special]
        if not places:
            raise ValueError(f"there is nothing to score in {text!r:.80}: it holds no token but special ones")
        found.append((tuple(tokenizer.ids_to_tokens([ids[place] for place in places])), _unknown(tokenizer, ids)))
        for place in places:
            masked = [
                tokenizer.mask_token_id if at == place or (by_word and at > place and words[at] == words[place]) else i
                for at, i in enumerate(ids)
            ]
            questions.append(Question(masked, segments, [place]))
            answers.append([ids[place]])
    values = iter(row[0] for row in model.log_probabilities(questions, answers))
    return [
        Score(text, tokens, tuple(next(values) for _ in tokens), unknown)
        for text, (tokens, unknown) in zip(texts, found, strict=True)
    ]


def _unknown(tokenizer: Tokenizer, ids: list[int]) -> int:
    return ids.count(tokenizer.unk_token_id)
