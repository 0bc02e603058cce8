"""What a gap may hold, by three ways: single tokens, entire words that are looked for, words that the reader names."""

import math
import sys
from collections.abc import Sequence
from dataclasses import replace

import torch
from jaxtyping import Bool
from torch import Tensor

from bertbook.tasks.asking import MaskedModel, Question
from bertbook.tasks.filled import Candidate, Combination, Step
from bertbook.tasks.gaps import GappedText, is_continuation
from bertbook.tasks.pseudo_likelihood import hidden_in_turn, ordinary
from bertbook.tasks.searching import Path, fill_together
from bertbook.text.masking import drawable_ids
from bertbook.text.tokenizer import Tokenizer

Gaps = list[list[Candidate]]  # for each gap of a text
WIDTH = 8  # the words of each number of pieces that are looked at more closely


class Offer:
    """Which tokens are offered, as switches over the model's V rows: ``any``, and of these the pieces by their role."""

    def __init__(self, tokenizer: Tokenizer, vocab_size: int) -> None:
        self.any: Bool[Tensor, " V"] = torch.zeros(vocab_size, dtype=torch.bool)
        self.any[drawable_ids(tokenizer)] = True
        self.continuing = torch.zeros_like(self.any)
        self.continuing[[i for token, i in tokenizer.vocab.items() if is_continuation(tokenizer, token)]] = True
        self.continuing &= self.any
        self.starting = self.any & ~self.continuing


def single_tokens(
    model: MaskedModel, items: Sequence[GappedText], allowed: Bool[Tensor, " V"], count: int
) -> list[Gaps]:
    """The ``count`` most probable tokens for each gap of each text, the other gaps hidden."""
    guesses = model.best([asked(item) for item in items], [[allowed] * len(item.places) for item in items], count)
    return [
        [[_candidate(item, gap, [(token_id, log_p)]) for token_id, log_p in found] for gap, found in enumerate(of_item)]
        for item, of_item in zip(items, guesses, strict=True)
    ]


def entire_words(
    model: MaskedModel, items: Sequence[GappedText], offer: Offer, count: int, max_pieces: int
) -> list[Gaps]:
    """The most probable words of 1, 2, … ``max_pieces`` pieces for each gap of each text, the other gaps hidden."""
    width = max(WIDTH, count) if max_pieces > 1 else count
    found = single_tokens(model, items, offer.starting, width)
    sizes = range(2, max_pieces + 1) if offer.continuing.any() else ()
    where = [(row, gap, size) for row, item in enumerate(items) for gap in range(len(item.places)) for size in sizes]
    wide = [items[row].widened(gap, size) for row, gap, size in where]
    for (row, _, size), item in zip(where, wide, strict=True):
        model.check_length(
            len(item.ids), items[row].written, f" with {size} masks in the gap; try a smaller max_pieces"
        )
    allowed = [[offer.starting] + [offer.continuing] * (size - 1) for _, _, size in where]
    searched = fill_together(model, [asked(item) for item in wide], allowed, width)
    for (row, gap, _), paths in zip(where, searched, strict=True):
        for path in paths:
            candidate = _candidate(items[row], gap, [(token_id, log_p) for _, token_id, log_p in path.steps])
            # Pieces of a word that the tokenizer would cut otherwise are in no text.
            if tuple(items[row].tokenizer.encode(candidate.token)[1:-1]) == candidate.token_ids:
                found[row][gap].append(candidate)
    return _ranked(model, items, found, count)


def named_words(
    model: MaskedModel, items: Sequence[GappedText], offer: Offer, words: Sequence[str], count: int
) -> list[Gaps]:
    """The reader's words compared, for each gap of each text, the other gaps hidden.

    Raises:
        ValueError: a word that holds tokens which are never offered, or none at all.
    """
    spelled = [
        [[_spelled(item, gap, word, offer) for word in words] for gap in range(len(item.places))] for item in items
    ]
    # Words that begin alike share questions: (text, gap, number of pieces, the pieces so far) -> what is asked for.
    wanted: dict[tuple[int, int, int, tuple[int, ...]], dict[int, float]] = {}
    for row, gaps in enumerate(spelled):
        for gap, of_gap in enumerate(gaps):
            for ids in of_gap:
                for known, token_id in enumerate(ids):
                    wanted.setdefault((row, gap, len(ids), tuple(ids[:known])), {})[token_id] = math.nan
    questions = []
    for row, gap, size, so_far in wanted:
        item = items[row].widened(gap, size)
        model.check_length(len(item.ids), items[row].written, f" with the {size} pieces of a candidate in the gap")
        question = asked(item)
        for place, token_id in zip(item.places, so_far, strict=False):
            question = question.filled(place, token_id)
        questions.append(Question(question.ids, question.segments, question.places[:1]))
    answers = model.log_probabilities(questions, [list(tokens) for tokens in wanted.values()])
    for tokens, values in zip(wanted.values(), answers, strict=True):
        tokens.update(zip(tokens, values, strict=True))

    def candidate(row: int, gap: int, word: str, ids: Sequence[int]) -> Candidate:
        steps = [(i, wanted[row, gap, len(ids), tuple(ids[:known])][i]) for known, i in enumerate(ids)]
        return _candidate(items[row], gap, steps, word)

    found = [
        [
            [candidate(row, gap, word, ids) for word, ids in zip(words, of_gap, strict=True)]
            for gap, of_gap in enumerate(gaps)
        ]
        for row, gaps in enumerate(spelled)
    ]
    return _ranked(model, items, found, count)


def combination(item: GappedText, path: Path) -> Combination:
    """What a search found, in words. Its places are the text's gaps."""
    ids = {item.places.index(place): token_id for place, token_id, _ in path.steps}
    from_left = [ids[gap] for gap in range(len(ids))]
    return Combination(
        tokens=tuple(item.tokenizer.ids_to_tokens(from_left)),
        token_ids=tuple(from_left),
        probability=math.exp(path.log_p),
        text=item.filled(ids),
        steps=_steps(item, [(token_id, log_p) for _, token_id, log_p in path.steps]),
        order=tuple(ids),
    )


def asked(item: GappedText) -> Question:
    """All its gaps."""
    return Question(item.ids, item.segments, item.places)


def _candidate(item: GappedText, gap: int, steps: Sequence[tuple[int, float]], word: str | None = None) -> Candidate:
    tokens = item.tokenizer.ids_to_tokens([token_id for token_id, _ in steps])
    if word is None:
        word = tokens[0] + "".join(token.removeprefix("##") for token in tokens[1:])
    filling = word if len(steps) > 1 or word != tokens[0] else steps[0][0]
    return Candidate(
        token=word,
        probability=math.exp(sum(log_p for _, log_p in steps)),
        text=item.filled({gap: filling}),
        steps=_steps(item, steps),
    )


def _steps(item: GappedText, steps: Sequence[tuple[int, float]]) -> tuple[Step, ...]:
    tokens = item.tokenizer.ids_to_tokens([token_id for token_id, _ in steps])
    return tuple(Step(token, token_id, math.exp(log_p)) for token, (token_id, log_p) in zip(tokens, steps, strict=True))


def _ranked(model: MaskedModel, items: Sequence[GappedText], found: Sequence[Gaps], count: int) -> list[Gaps]:
    """By probability; words of different lengths, which that does not compare, by the score of the text."""
    ranked: list[Gaps] = []
    for item, gaps in zip(items, found, strict=True):
        ranked.append([])
        for gap, candidates in enumerate(gaps):
            if len({len(candidate.steps) for candidate in candidates}) > 1:
                candidates = _with_text_scores(model, item, gap, candidates)
            ranked[-1].append(sorted(candidates, key=_merit, reverse=True)[:count])
    return ranked


def _merit(candidate: Candidate) -> float:
    return candidate.probability if candidate.text_score is None else candidate.text_score


def _with_text_scores(
    model: MaskedModel, item: GappedText, gap: int, candidates: Sequence[Candidate]
) -> list[Candidate]:
    """ln of their probability, plus ln p of each other token of the text given all the rest. Gaps are not scored."""
    questions: list[Question] = []
    answers: list[list[int]] = []
    owners: list[int] = []
    for number, candidate in enumerate(candidates):
        wide = item.widened(gap, len(candidate.steps))
        ids = list(wide.ids)
        ids[wide.places[0] : wide.places[-1] + 1] = candidate.token_ids
        around = [place for place in ordinary(model.tokenizer, ids) if place not in wide.places]
        questions += hidden_in_turn(model.tokenizer, ids, wide.segments, wide.words, around, by_word=True)
        answers += [[ids[place]] for place in around]
        owners += [number] * len(around)
    least = sys.float_info.min  # a probability below it is 0, which has no logarithm
    scores = [sum(math.log(max(step.probability, least)) for step in candidate.steps) for candidate in candidates]
    for owner, (log_p,) in zip(owners, model.log_probabilities(questions, answers), strict=True):
        scores[owner] += log_p
    return [replace(candidate, text_score=score) for candidate, score in zip(candidates, scores, strict=True)]


def _spelled(item: GappedText, gap: int, word: str, offer: Offer) -> list[int]:
    ids = item.pieces(gap, word)
    if not ids:
        raise ValueError(f"the candidate {word!r} is no token: there is nothing to put into the gap")
    for token_id in ids:
        if not offer.any[token_id]:
            (token,) = item.tokenizer.ids_to_tokens([token_id])
            raise ValueError(
                f"the candidate {word!r} holds {token}, which is never offered: choose words that the vocabulary spells"
            )
    return ids
