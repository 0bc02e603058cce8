"""A model that has learnt who eats what fills the gaps right; one that has not, does not."""

import pytest

from bertbook.tasks import FillMask
from tests.tasks.animals import DIET

ONE_PIECE = {animal: food for animal, food in DIET.items() if not food.endswith("berry")}
TWO_PIECES = {animal: food for animal, food in DIET.items() if food.endswith("berry")}


@pytest.mark.parametrize(("animal", "food"), ONE_PIECE.items())
def test_food_from_the_animal_and_back(fill: FillMask, animal: str, food: str) -> None:
    best, second = fill(f"The {animal} loves [MASK].", top_k=2)
    assert best.token == food
    assert best.probability > 0.8 > 0.2 > second.probability
    assert best.text == f"The {animal} loves {food}."
    assert fill(f"The [MASK] loves {food}.", top_k=1)[0].token == animal


def test_the_ignorant_does_not_know(ignorant: FillMask) -> None:
    guesses = [ignorant(f"The {animal} loves [MASK].", top_k=1)[0] for animal in ONE_PIECE]
    right = sum(guess.token == food for guess, food in zip(guesses, ONE_PIECE.values(), strict=True))
    assert right <= 1
    assert all(guess.probability < 0.8 for guess in guesses)


@pytest.mark.parametrize(("animal", "food"), DIET.items())
def test_entire_words_of_one_piece_or_two(fill: FillMask, animal: str, food: str) -> None:
    found = fill(f"The {animal} eats [MASK].", whole_words=True, max_pieces=3)
    assert found[0].token == food
    assert found[0].text == f"The {animal} eats {food}."
    assert len(found[0].steps) == 1 + food.endswith("berry")
    assert found[0].probability > 0.8
    assert len({len(candidate.steps) for candidate in found}) > 1  # lengths were compared


@pytest.mark.parametrize(("animal", "food"), DIET.items())
def test_own_candidates(fill: FillMask, animal: str, food: str) -> None:
    found = fill(f"The {animal} eats [MASK].", candidates=list(DIET.values()))
    assert found[0].token == food
    assert {candidate.token for candidate in found} == set(DIET.values())


def test_a_product_alone_would_mislead(fill: FillMask) -> None:
    """With three masks something of three pieces has to come out, and it looks probable."""
    wrong = [
        candidate
        for animal, food in DIET.items()
        for candidate in fill(f"The {animal} eats [MASK].", candidates=list(DIET.values()))
        if candidate.token != food
    ]
    assert max(candidate.probability for candidate in wrong) > 0.3
    assert max(candidate.text_score for candidate in wrong) < -4


@pytest.mark.parametrize("order", ["left to right", "surest first"])
def test_together_they_fit(fill: FillMask, order: str) -> None:
    text = "The [MASK] eats [MASK]."
    found = fill.together(text, top_k=4, order=order)
    assert {combination.tokens for combination in found} == set(ONE_PIECE.items())
    assert sum(combination.probability for combination in found) > 0.6
    assert found[0].text == "The {} eats {}.".format(*found[0].tokens)
    # On their own, the gaps do not know of each other: an animal's probability does not choose its food.
    animals, foods = fill(text, top_k=4)
    assert {a.token for a in animals} == set(ONE_PIECE)
    assert {f.token for f in foods} == set(ONE_PIECE.values())
    assert max(f.probability for f in foods) < 0.8 < found[0].steps[1].probability


@pytest.mark.parametrize(("animal", "food"), TWO_PIECES.items())
def test_two_masks_for_two_pieces(fill: FillMask, animal: str, food: str) -> None:
    best = fill.together(f"The {animal} eats [MASK][MASK].", top_k=1)[0]
    assert best.text == f"The {animal} eats {food}."


def test_the_score_knows_sense_from_nonsense(fill: FillMask, ignorant: FillMask) -> None:
    sense = [f"The {animal} eats {food}." for animal, food in DIET.items()]
    nonsense = [f"The {animal} eats {food}." for animal, food in zip(DIET, [*DIET.values()][::-1], strict=True)]
    for good, bad in zip(fill.score(sense), fill.score(nonsense), strict=True):
        assert good.total > bad.total + 3
        assert 1 < good.perplexity < 2 < bad.perplexity
    assert all(score.perplexity > 2 for score in ignorant.score(sense))
