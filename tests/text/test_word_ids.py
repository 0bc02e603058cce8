"""Which tokens belong to one word."""

from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bertbook import Tokenizer, load_tokenizer
from tests.text.samples import AWKWARD


@pytest.fixture(scope="module", params=["bert-base-uncased", "bert-base-chinese"])
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    return load_tokenizer(request.param)


def test_pieces_share_their_word() -> None:
    batch = load_tokenizer("bert-base-uncased")(
        [("Two strawberries", "don't 北京"), "unaffable"], return_word_ids=True, return_offsets=True
    )
    assert list(batch) == ["input_ids", "token_type_ids", "attention_mask", "offset_mapping", "word_ids"]
    # [CLS] two straw ##berries [SEP] don ' t 北 京 [SEP]; [CLS] una ##ffa ##ble [SEP] and padding
    assert batch["word_ids"].tolist() == [
        [-1, 0, 1, 1, -1, 2, 3, 4, 5, 6, -1],
        [-1, 0, 0, 0, -1, -1, -1, -1, -1, -1, -1],
    ]
    assert batch["word_ids"].dtype == torch.int64


def test_only_on_request(tokenizer: Tokenizer) -> None:
    assert "word_ids" not in tokenizer("The cat.")


def test_cut_texts_keep_the_words_of_what_is_left(tokenizer: Tokenizer) -> None:
    whole = tokenizer(("a b c d", "e f"), return_word_ids=True)
    cut = tokenizer(("a b c d", "e f"), return_word_ids=True, max_length=6)
    assert whole["word_ids"].tolist() == [[-1, 0, 1, 2, 3, -1, 4, 5, -1]]
    assert cut["word_ids"].tolist() == [[-1, 0, 1, -1, 4, -1]]


@pytest.mark.parametrize("first", [text for text in AWKWARD.values() if len(text) < 1000])
def test_in_awkward_texts(tokenizer: Tokenizer, first: str) -> None:
    check(tokenizer, first, AWKWARD["accents"])


@given(first=st.text(), second=st.text())
def test_in_any_text(tokenizer: Tokenizer, first: str, second: str) -> None:
    check(tokenizer, first, second)


def check(tokenizer: Tokenizer, first: str, second: str) -> None:
    batch = tokenizer([(first, second), first], return_word_ids=True)
    for ids, words, segments, mask in zip(
        batch["input_ids"], batch["word_ids"], batch["token_type_ids"], batch["attention_mask"], strict=True
    ):
        assert not (words[mask == 0] + 1).any(), "padding is -1"
        inside = words[words >= 0]
        steps = {int(b - a) for a, b in pairwise(inside)}
        assert steps <= {0, 1}
        assert not inside.numel() or int(inside[0]) == 0
        tokens = tokenizer.ids_to_tokens(ids)
        for i in range(1, len(tokens)):
            if words[i] >= 0 and words[i] == words[i - 1]:
                assert tokens[i].startswith("##"), "a word is one piece and its continuations"
                assert segments[i] == segments[i - 1], "no word goes from one text into the other"
