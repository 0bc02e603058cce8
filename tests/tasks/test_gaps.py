"""The filled text is the reader's own, and the tokenizer cuts it into what the model was asked about."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertbook import Tokenizer
from bertbook.tasks.gaps import GappedText, gap_marks
from tests.tasks import animals
from tests.text.samples import AWKWARD

TOKENIZER = animals.tokenizer()
V = TOKENIZER.vocab


@pytest.mark.parametrize(
    ("text", "token", "filled"),
    [
        ("The Cat eats [MASK].", "fish", "The Cat eats fish."),
        ("  Caf\u00e9,\t[MASK]\n", "fish", "  Caf\u00e9,\tfish\n"),
        ("中国人民[MASK]行", "银", "中国人民银行"),
        ("中国人民[MASK]", "行", "中国人民行"),
        ("the cat[MASK]", "##s", "the cats"),
        ("the cat [MASK] eat", "##s", "the cats eat"),
        ("[MASK] eat", "##s", "s eat"),
        ("the [MASK]s", "cat", "the cat s"),  # to the model these are two words
        ("the[MASK]eats", "cat", "the cat eats"),
        ("the [MASK]", ".", "the ."),
        ("the cat[MASK]", ".", "the cat."),
        ("(the [MASK])", "cat", "(the cat)"),
        ("银[MASK]银", "cat", "银cat银"),
        ("[MASK]", "cat", "cat"),
    ],
)
def test_the_text_filled(text: str, token: str, filled: str) -> None:
    assert GappedText.of(TOKENIZER, text).filled({0: V[token]}) == filled


def test_several_gaps() -> None:
    gapped = GappedText.of(TOKENIZER, "A[MASK][MASK] or [MASK]")
    assert gapped.filled({}) == "A[MASK][MASK] or [MASK]"
    assert gapped.filled({0: V["cat"]}) == "A cat[MASK] or [MASK]"
    assert gapped.filled({0: V["straw"], 1: V["##berry"], 2: V["fish"]}) == "A strawberry or fish"
    assert gapped.filled({0: V["cat"], 1: V["fish"]}) == "A cat fish or [MASK]"
    assert gapped.filled({2: "Sea Bass"}) == "A[MASK][MASK] or Sea Bass"
    pair = GappedText.of(TOKENIZER, ("A [MASK]", "B [MASK]"))
    assert pair.filled({1: V["fish"]}) == ("A [MASK]", "B fish")
    assert pair.segments == TOKENIZER(("A [MASK]", "B [MASK]"))["token_type_ids"][0].tolist()


@pytest.mark.parametrize("text", [text for text in AWKWARD.values() if len(text) < 200])
def test_nothing_else_of_the_text_is_touched(text: str) -> None:
    gaps = text.count("[MASK]")
    written = f"{text} [MASK] {text}"
    gapped = GappedText.of(TOKENIZER, written)
    assert gapped.written == written
    assert len(gapped.places) == 2 * gaps + 1
    assert gapped.ids == TOKENIZER.encode(written)
    assert gapped.filled({gaps: V["cat"]}) == f"{text} cat {text}"


WORDS = [token for token in animals.VOCAB[6:] if not token.startswith("##")]


@given(
    st.lists(st.sampled_from([*WORDS, "[MASK]", "[MASK]", " ", " "]), min_size=1, max_size=8),
    st.lists(st.sampled_from(WORDS), min_size=8, max_size=8),
)
def test_the_filled_text_is_what_the_model_was_asked_about(parts: list[str], words: list[str]) -> None:
    """Where every token is a word of its own."""
    joined = "".join(f" {part} " if part in WORDS else part for part in parts)
    gapped = GappedText.of(TOKENIZER, joined)
    filled = gapped.filled({gap: V[words[gap]] for gap in range(len(gapped.places))})
    expected = list(gapped.ids)
    for place, word in zip(gapped.places, words, strict=False):
        expected[place] = V[word]
    assert TOKENIZER.encode(filled) == expected


def test_a_gap_of_several_masks() -> None:
    gapped = GappedText.of(TOKENIZER, ("the [MASK] eats", "the [MASK]"))
    wide = gapped.widened(1, 3)
    mask = TOKENIZER.mask_token_id
    assert wide.ids == [*gapped.ids[:-2], mask, mask, mask, *gapped.ids[-1:]]
    assert wide.segments == [*gapped.segments, 1, 1]
    assert wide.places == [6, 7, 8]
    assert len(wide.words) == len(wide.ids)
    assert gapped.widened(0, 1).ids == gapped.ids


def test_how_a_gap_is_written(tmp_path: object) -> None:
    assert gap_marks(TOKENIZER) == ["[MASK]"]
    from tests.text.test_relatives import roberta

    roberta().save_pretrained(str(tmp_path))
    relative = Tokenizer.from_folder(str(tmp_path))
    assert gap_marks(relative) == ["[MASK]", "<mask>"]
    assert GappedText.of(relative, "The [MASK].").ids == GappedText.of(relative, "The <mask>.").ids
