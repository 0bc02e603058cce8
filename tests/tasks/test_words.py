"""Words of several pieces: one mask a piece, the chain rule within the word, the whole text to compare lengths."""

import math

import pytest
import torch
from torch import Tensor

from bertbook.tasks import Candidate, FillMask
from bertbook.text.masking import drawable_ids
from tests.tasks import animals

TEXT = "The bear eats [MASK]."
PLACE = 4


def log_p(fill: FillMask, ids: list[int], place: int) -> Tensor:
    """(V,)"""
    with torch.no_grad():
        return fill.model(torch.tensor([ids])).logits[0, place].log_softmax(-1)


def chain(fill: FillMask, text: str, place: int, pieces: list[int]) -> list[float]:
    """ln p of each piece: as many masks as there are pieces, filled one after the other."""
    tokenizer = fill.tokenizer
    ids = tokenizer.encode(text)
    row = [*ids[:place], *[tokenizer.mask_token_id] * len(pieces), *ids[place + 1 :]]
    found = []
    for number, piece in enumerate(pieces):
        found.append(log_p(fill, row, place + number)[piece].item())
        row[place + number] = piece
    return found


def surroundings(fill: FillMask, text: str, place: int, pieces: list[int]) -> float:
    """Σ ln p of the other tokens, each given all the rest; none of these texts has another word of several pieces."""
    tokenizer = fill.tokenizer
    ids = tokenizer.encode(text)
    row = [*ids[:place], *pieces, *ids[place + 1 :]]
    total = 0.0
    for at, number in enumerate(row):
        if number not in tokenizer.special_ids and not place <= at < place + len(pieces):
            hidden = [*row[:at], tokenizer.mask_token_id, *row[at + 1 :]]
            total += log_p(fill, hidden, at)[number].item()
    return total


def test_candidates_by_hand(ignorant: FillMask) -> None:
    words = ["fish", "Strawberry", "blueberrys", "##s", "the cat"]
    found = ignorant(TEXT, candidates=words)
    assert {candidate.token for candidate in found} == set(words)
    for candidate in found:
        pieces = ignorant.tokenizer.tokens_to_ids(
            ["##s"] if candidate.token == "##s" else ignorant.tokenizer.tokenize(candidate.token)
        )
        expected = chain(ignorant, TEXT, PLACE, pieces)
        assert list(candidate.token_ids) == pieces
        assert [math.log(step.probability) for step in candidate.steps] == pytest.approx(expected, abs=1e-4)
        assert math.log(candidate.probability) == pytest.approx(sum(expected), abs=1e-4)
        assert candidate.text_score == pytest.approx(
            sum(expected) + surroundings(ignorant, TEXT, PLACE, pieces), abs=1e-3
        )
    scores = [candidate.text_score for candidate in found]
    assert scores == sorted(scores, reverse=True)
    texts = {candidate.token: candidate.text for candidate in found}
    assert texts["Strawberry"] == "The bear eats Strawberry."  # as the reader wrote it
    assert texts["##s"] == "The bear eatss."
    assert [candidate.text for candidate in ignorant(TEXT, 2, candidates=words)] == [c.text for c in found[:2]]


def test_candidates_of_one_length_are_ranked_by_probability(ignorant: FillMask) -> None:
    plain = {candidate.token: candidate.probability for candidate in ignorant(TEXT, top_k=21)}
    found = ignorant(TEXT, candidates=["fish", "meat", "grass", "dog"])
    assert len(found) == 4
    assert [c.probability for c in found] == sorted((c.probability for c in found), reverse=True)
    for candidate in found:
        assert candidate.text_score is None
        assert candidate.probability == pytest.approx(plain[candidate.token], rel=1e-4)
    two = ignorant(TEXT, candidates=["strawberry", "blueberry"])
    assert [c.text_score for c in two] == [None, None]
    assert two[0].probability >= two[1].probability


def test_candidates_at_every_gap(ignorant: FillMask) -> None:
    text = "The [MASK] eats [MASK]."
    animal, food = ignorant(text, candidates=["cat", "strawberry"])
    for gap, place in ((animal, 2), (food, 4)):
        for candidate in gap:
            pieces = list(candidate.token_ids)
            assert math.log(candidate.probability) == pytest.approx(sum(chain(ignorant, text, place, pieces)), abs=1e-4)
            # The other gap stays a gap, and is not scored.
            expected = math.log(candidate.probability) + surroundings(ignorant, text, place, pieces)
            assert candidate.text_score == pytest.approx(expected, abs=1e-3)
    assert {c.text for c in food} == {"The [MASK] eats cat.", "The [MASK] eats strawberry."}


def test_entire_words_of_one_piece(ignorant: FillMask) -> None:
    everything = ignorant(TEXT, top_k=len(drawable_ids(ignorant.tokenizer)))
    whole = [candidate for candidate in everything if not candidate.token.startswith("##")]
    assert len(whole) < len(everything)
    assert ignorant(TEXT, top_k=len(whole), whole_words=True) == whole


def every_word(fill: FillMask, most: int) -> dict[str, list[int]]:
    """All words of at most so many pieces that the tokenizer would cut just so."""
    tokens = {i: fill.tokenizer.ids_to_tokens([i])[0] for i in drawable_ids(fill.tokenizer)}
    starts = [[i] for i, token in tokens.items() if not token.startswith("##")]
    words, rows = {}, starts
    for _ in range(most):
        for row in rows:
            word = "".join(tokens[i].removeprefix("##") for i in row)
            if fill.tokenizer.encode(word)[1:-1] == row:
                words[word] = row
        rows = [[*row, i] for row in rows for i, token in tokens.items() if token.startswith("##")]
    return words


def test_entire_words_of_several_pieces(monkeypatch: pytest.MonkeyPatch, ignorant: FillMask) -> None:
    monkeypatch.setattr("bertbook.tasks.candidates.WIDTH", 100)  # a beam that misses nothing
    words = every_word(ignorant, 2)
    found = ignorant(TEXT, top_k=5, whole_words=True, max_pieces=2)
    expected = ignorant(TEXT, top_k=5, candidates=list(words))
    assert 20 < len(words) < 100
    assert [candidate.token for candidate in found] == [candidate.token for candidate in expected]
    for one, other in zip(found, expected, strict=True):
        assert one.token_ids == other.token_ids
        assert one.text_score == pytest.approx(other.text_score, abs=1e-3)


def test_pieces_that_no_text_is_cut_into_are_left_out() -> None:
    """The model may like straw ##berry; where the vocabulary has strawberry, no text is cut so."""
    tokenizer = animals.Tokenizer.from_vocab([*animals.VOCAB, "strawberry"])
    fill = FillMask(animals.untrained(vocab_size=len(tokenizer)).eval(), tokenizer)
    with torch.no_grad():
        fill.model.mlm.bias[tokenizer.tokens_to_ids(["straw", "##berry"])] = 20.0
    found = fill(TEXT, top_k=20, whole_words=True, max_pieces=2)
    assert {"straw", "strawberry", "straws"} & {candidate.token for candidate in found}
    for candidate in found:
        assert list(candidate.token_ids) == tokenizer.encode(candidate.token)[1:-1]


def test_a_vocabulary_without_pieces(ignorant: FillMask) -> None:
    tokenizer = animals.Tokenizer.from_vocab([token for token in animals.VOCAB if not token.startswith("##")])
    fill = FillMask(animals.untrained().eval(), tokenizer)
    assert fill(TEXT, whole_words=True, max_pieces=3) == fill(TEXT)


def test_what_follows_a_gap_begins_a_new_word(ignorant: FillMask) -> None:
    """Therefore a single token that begins a word is an entire one."""
    assert ignorant.tokenizer.tokenize("[MASK]##s [MASK]s") == ["[MASK]", "[UNK]", "[UNK]", "[UNK]", "[MASK]", "[UNK]"]


def test_ids_of_a_candidate(ignorant: FillMask) -> None:
    one, two = ignorant(TEXT, candidates=["fish", "strawberry"])
    short, long = sorted((one, two), key=lambda candidate: len(candidate.steps))
    assert short.token_id == ignorant.tokenizer.vocab["fish"]
    with pytest.raises(ValueError, match=r"'strawberry' is 2 tokens: their ids are its token_ids"):
        _ = long.token_id
    assert repr(long).startswith("Candidate('strawberry', probability=")
    assert "text_score=-" in repr(long)
    plain: Candidate = ignorant(TEXT, top_k=1)[0]
    assert repr(plain).endswith(f"text={plain.text!r})")
