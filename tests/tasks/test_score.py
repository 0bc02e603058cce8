"""Pseudo-log-likelihood, held against the plain loop."""

import math
from pathlib import Path

import pytest
import torch

from bertbook import Tokenizer
from bertbook.tasks import FillMask, Score
from tests.tasks import animals
from tests.text.test_relatives import MAKERS

TEXTS = [
    "The cat eats strawberry, the bird eats strawberrys.",
    "fish",
    ("The bear eats blueberry", "the cat eats fish."),
    "the the the the the",
]


def plain_loop(fill: FillMask, text: str | tuple[str, str], by_word: bool) -> list[float]:
    tokenizer = fill.tokenizer
    batch = tokenizer(text, return_word_ids=True)
    words = batch.pop("word_ids")[0]
    ids = batch["input_ids"][0]
    found = []
    for place in range(len(ids)):
        if ids[place].item() in tokenizer.special_ids:
            continue
        hidden = torch.zeros_like(ids, dtype=torch.bool)
        hidden[place] = True
        if by_word:
            hidden |= (words == words[place]) & (torch.arange(len(ids)) > place)
        with torch.no_grad():
            masked = ids.masked_fill(hidden, tokenizer.mask_token_id)[None]
            logits = fill.model(**{**batch, "input_ids": masked}).logits
        found.append(logits[0, place].log_softmax(-1)[ids[place]].item())
    return found


@pytest.mark.parametrize("by_word", [False, True])
@pytest.mark.parametrize("batch_tokens", [1, 40, 8192])
def test_as_the_plain_loop(ignorant: FillMask, by_word: bool, batch_tokens: int) -> None:
    fill = FillMask(ignorant.model, ignorant.tokenizer, batch_tokens=batch_tokens)
    shapes: list[tuple[int, ...]] = []
    hook = fill.model.bert.register_forward_pre_hook(
        lambda _, args, kwargs: shapes.append(tuple(kwargs["input_ids"].shape)), with_kwargs=True
    )
    scores = fill.score(TEXTS, by_word=by_word)
    hook.remove()
    assert all(rows * length <= batch_tokens or rows == 1 for rows, length in shapes)
    assert sum(rows for rows, _ in shapes) == sum(len(score.tokens) for score in scores)
    assert (len(shapes) == 1) is (batch_tokens == 8192)
    for text, score in zip(TEXTS, scores, strict=True):
        expected = plain_loop(fill, text, by_word)
        assert score.log_probabilities == pytest.approx(expected, abs=1e-4)
        assert score.text == text
        assert_figures(score, expected)


def assert_figures(score: Score, expected: list[float]) -> None:
    assert score.total == pytest.approx(sum(expected), abs=1e-3)
    assert score.per_token == pytest.approx(sum(expected) / len(expected), abs=1e-4)
    assert score.perplexity == pytest.approx(math.exp(-sum(expected) / len(expected)), rel=1e-3)


def test_by_word_hides_more_only_in_words_of_several_pieces(ignorant: FillMask) -> None:
    text = TEXTS[0]
    one, other = ignorant.score(text), ignorant.score(text, by_word=True)
    assert one.tokens == other.tokens == tuple(ignorant.tokenizer.tokenize(text))
    differ = {
        one.tokens[at]
        for at, (a, b) in enumerate(zip(one.log_probabilities, other.log_probabilities, strict=True))
        if a != pytest.approx(b, abs=1e-5)
    }
    # The last piece of a word has nothing of it to its right: it is asked for as before.
    assert differ == {"straw", "##berry"}
    berries = [at for at, token in enumerate(one.tokens) if token == "##berry"]
    last_of_its_word, inside = berries
    assert one.log_probabilities[last_of_its_word] == pytest.approx(other.log_probabilities[last_of_its_word], abs=1e-5)
    assert one.log_probabilities[inside] != pytest.approx(other.log_probabilities[inside], abs=1e-5)


def test_by_word_takes_the_gift_from_rare_words(fill: FillMask) -> None:
    """Where each piece gives the other away, the word looks surer than it is: which food, a dog does not tell."""
    text = "the dog eats strawberry ."
    assert fill.score(text, by_word=True).total < fill.score(text).total


def test_special_tokens_are_not_scored(ignorant: FillMask) -> None:
    score = ignorant.score("the 猫 eats [SEP] fish ☃ ☃")
    assert score.tokens == ("the", "eats", "fish")
    assert score.unknown == 3
    assert "3 unknown" in repr(score)
    clean = ignorant.score("the cat")
    assert (clean.unknown, "unknown" in repr(clean)) == (0, False)


def test_one_text_or_a_list(ignorant: FillMask) -> None:
    assert isinstance(ignorant.score(TEXTS[0]), Score)
    assert isinstance(ignorant.score(TEXTS[2]), Score)  # a pair
    (alone,) = ignorant.score([TEXTS[0]])
    assert alone.total == pytest.approx(ignorant.score(TEXTS)[0].total, abs=1e-4)


def test_the_model_stays_as_it_was() -> None:
    model = animals.untrained(hidden_dropout_prob=0.5).train()
    fill = FillMask(model, animals.tokenizer())
    assert fill.score("the cat") == fill.score("the cat")
    assert all(module.training for module in model.modules())


@pytest.mark.parametrize("family", MAKERS)
@pytest.mark.parametrize("by_word", [False, True])
def test_roberta_and_albert(tmp_path: Path, family: str, by_word: bool) -> None:
    MAKERS[family]().save_pretrained(tmp_path)
    tokenizer = Tokenizer.from_folder(tmp_path)
    sizes = {"vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id, "max_position_embeddings": 40}
    if family == "roberta":
        sizes |= {"position_offset": tokenizer.pad_token_id + 1}
    fill = FillMask(animals.untrained(**sizes).eval(), tokenizer)
    text = "The animal didn't cross."
    score = fill.score(text, by_word=by_word)
    assert score.tokens == tuple(tokenizer.tokenize(text))
    assert score.log_probabilities == pytest.approx(plain_loop(fill, text, by_word), abs=1e-4)
