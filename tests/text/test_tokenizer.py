"""The tokenizer gives what the reference library gives: ids, segments and offsets, however it was loaded."""

import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise, product
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer, BertTokenizerFast

from bertbook import BertConfig, Tokenizer
from tests.text.samples import AWKWARD

WAYS: dict[str, Callable[[Path], Tokenizer]] = {
    "tokenizer.json": lambda folder: Tokenizer.from_file(folder / "tokenizer.json"),
    "vocab.txt": lambda folder: Tokenizer.from_vocab(folder / "vocab.txt"),
}
PAIRS = {f"{a} + {b}": (AWKWARD[a], AWKWARD[b]) for a, b in pairwise([*AWKWARD, "empty", "empty"])}
SMALL = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "\u2028",
    "the",
    "The",
    "cafe",
    "café",
    "CAFÉ",
    "北",
    "##京",
    "##s",
]
SMALL += ["北京", "cat", ".", "##\u0301"]


@pytest.fixture(scope="session")
def reference(minilm_folder: Path) -> BertTokenizerFast:
    return BertTokenizerFast.from_pretrained(minilm_folder)


@pytest.fixture(scope="session", params=WAYS)
def tokenizer(request: pytest.FixtureRequest, minilm_folder: Path) -> Tokenizer:
    return WAYS[request.param](minilm_folder)


def assert_same(tokenizer: Tokenizer, reference: BertTokenizerFast, text: str, pair: str | None, **cut: int) -> None:
    item = text if pair is None else (text, pair)  # in a list: alone, the reference takes an empty pair for none
    ours = tokenizer([item], return_offsets=True, **cut)
    theirs = reference([item], return_offsets_mapping=True, truncation="longest_first" if cut else False, **cut)
    assert set(ours) == set(theirs)
    for name in ours:
        assert ours[name][0].tolist() == [list(x) if isinstance(x, tuple) else x for x in theirs[name][0]], name


@pytest.mark.parametrize("text", AWKWARD.values(), ids=AWKWARD)
def test_awkward_texts(tokenizer: Tokenizer, reference: BertTokenizerFast, text: str) -> None:
    assert_same(tokenizer, reference, text, None)
    assert_same(tokenizer, reference, text, None, max_length=9)
    assert tokenizer.encode(text) == reference.encode(text)
    assert tokenizer.tokenize(text) == reference.tokenize(text)
    ids = reference.encode(text)
    assert tokenizer.decode(ids) == reference.decode(ids, skip_special_tokens=True)
    assert tokenizer.decode(ids, skip_special_tokens=False) == reference.decode(ids)


@pytest.mark.parametrize(("first", "second"), PAIRS.values(), ids=PAIRS)
def test_awkward_pairs(tokenizer: Tokenizer, reference: BertTokenizerFast, first: str, second: str) -> None:
    assert_same(tokenizer, reference, first, second)
    assert_same(tokenizer, reference, first, second, max_length=12)
    assert tokenizer.encode(first, second) == reference([(first, second)])["input_ids"][0]


@given(text=st.text(), pair=st.none() | st.text(), max_length=st.none() | st.integers(3, 20))
def test_any_text(
    tokenizer: Tokenizer, reference: BertTokenizerFast, text: str, pair: str | None, max_length: int | None
) -> None:
    assert_same(tokenizer, reference, text, pair, **({} if max_length is None else {"max_length": max_length}))


@given(first=st.integers(0, 12), second=st.integers(0, 12), max_length=st.integers(3, 30))
def test_the_longer_text_is_cut_first(
    tokenizer: Tokenizer, reference: BertTokenizerFast, first: int, second: int, max_length: int
) -> None:
    assert_same(tokenizer, reference, "a " * first, "b " * second, max_length=max_length)


def test_one_batch_of_texts_and_pairs(tokenizer: Tokenizer) -> None:
    items = ["The cat sat.", ("It rained.", "Nobody minded at all."), "", ("", "北京")]
    batch = tokenizer(items, return_offsets=True)
    assert list(batch) == ["input_ids", "token_type_ids", "attention_mask", "offset_mapping"]
    longest = batch["input_ids"].shape[1]
    assert {name: (tensor.shape, tensor.dtype) for name, tensor in batch.items()} == {
        "input_ids": ((4, longest), torch.int64),
        "token_type_ids": ((4, longest), torch.int64),
        "attention_mask": ((4, longest), torch.int64),
        "offset_mapping": ((4, longest, 2), torch.int64),
    }
    assert int(batch["attention_mask"].sum(1).max()) == longest
    for row, item in enumerate(items):
        alone = tokenizer(item, return_offsets=True)
        length = alone["input_ids"].shape[1]
        for name, tensor in batch.items():
            assert torch.equal(tensor[row, :length], alone[name][0]), name
            assert not tensor[row, length:].any(), f"{name}: padding is 0 throughout, and [PAD] is id 0"


def test_offsets_point_into_the_text_as_given(tokenizer: Tokenizer) -> None:
    text = "CAFÉ  cafe\u0301 👍🏽 北京"
    batch = tokenizer(text, return_offsets=True)
    pieces = [text[start:end] for start, end in batch["offset_mapping"][0].tolist()]
    tokens = tokenizer.ids_to_tokens(batch["input_ids"][0])
    assert tokens == ["[CLS]", "cafe", "cafe", "[UNK]", "北", "京", "[SEP]"]
    # The combining accent at the word's end is dropped in normalising, and no piece covers it.
    assert pieces == ["", "CAFÉ", "cafe", "👍🏽", "北", "京", ""]


def test_nothing_is_cut_unless_asked(tokenizer: Tokenizer) -> None:
    """The published file has a length of 128 baked in, for truncation and for padding."""
    assert tokenizer("a " * 600)["input_ids"].shape == (1, 602)
    assert tokenizer("a")["input_ids"].shape == (1, 3)
    assert tokenizer("a " * 600, max_length=2)["input_ids"].tolist() == [[101, 102]]
    assert tokenizer("a " * 600)["input_ids"].shape == (1, 602), "one call's max_length must not last"


def test_threads_do_not_disturb_each_other(minilm_folder: Path) -> None:
    tokenizer = Tokenizer.from_file(minilm_folder / "tokenizer.json")

    def length(limit: int | None) -> int:
        return tokenizer("a " * 300, max_length=limit)["input_ids"].shape[1]

    limits = [None, 7, 20, None] * 20
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(length, limits)) == [limit or 302 for limit in limits]


def test_special_ids_and_sizes(tokenizer: Tokenizer) -> None:
    assert len(tokenizer) == tokenizer.vocab_size == len(tokenizer.vocab) == 30522
    assert tokenizer.pad_token_id == 0
    assert tokenizer.unk_token_id == 100
    assert tokenizer.cls_token_id == 101
    assert tokenizer.sep_token_id == 102
    assert tokenizer.mask_token_id == 103
    assert tokenizer.special_ids == {0, 100, 101, 102, 103}
    assert repr(tokenizer) == "Tokenizer(30522 tokens)"


def test_tokens_and_ids_are_each_others_inverse(tokenizer: Tokenizer) -> None:
    ids = list(range(len(tokenizer)))
    assert tokenizer.tokens_to_ids(tokenizer.ids_to_tokens(ids)) == ids
    assert tokenizer.ids_to_tokens(torch.tensor([101, 103])) == ["[CLS]", "[MASK]"]


def test_batch_moves_and_stays_a_batch(tokenizer: Tokenizer, device: str) -> None:
    batch = tokenizer("The cat sat.")
    moved = batch.to(device)
    assert type(moved) is type(batch)
    assert {tensor.device.type for tensor in moved.values()} == {device}
    assert {tensor.device.type for tensor in batch.values()} == {"cpu"}
    assert all(torch.equal(moved[name].cpu(), batch[name]) for name in batch)


def test_pickles(tokenizer: Tokenizer) -> None:
    """Data-loader workers that are spawned receive the tokenizer this way."""
    copy = pickle.loads(pickle.dumps(tokenizer))
    assert copy.encode("The [MASK] sat.", "北京") == tokenizer.encode("The [MASK] sat.", "北京")


@pytest.mark.parametrize(
    ("lowercase", "strip_accents", "chinese_chars"), [*product([True, False], [None, True, False], [True, False])]
)
def test_saved_files_load_in_the_reference_library(
    tmp_path: Path, lowercase: bool, strip_accents: bool | None, chinese_chars: bool
) -> None:
    ours = Tokenizer.from_vocab(SMALL, lowercase=lowercase, strip_accents=strip_accents, chinese_chars=chinese_chars)
    ours.save(tmp_path)
    BertConfig(vocab_size=len(ours)).to_json(tmp_path / "config.json")
    readers = [AutoTokenizer.from_pretrained(tmp_path), BertTokenizerFast.from_pretrained(tmp_path)]
    loaded = [Tokenizer.from_folder(tmp_path)]
    (tmp_path / "tokenizer.json").unlink()
    readers.append(BertTokenizerFast.from_pretrained(tmp_path))
    loaded.append(Tokenizer.from_folder(tmp_path))
    for text in [*AWKWARD.values(), "The cafés café CAFÉ 北京 the [MASK] cat."]:
        for theirs in readers:
            assert_same(ours, theirs, text, "The café")
        for own in loaded:
            assert own.encode(text) == ours.encode(text)
    assert all(own.vocab == ours.vocab and own.backend.to_str() == ours.backend.to_str() for own in loaded)


def test_saving_the_published_tokenizer_keeps_its_vocabulary(minilm_folder: Path, tmp_path: Path) -> None:
    Tokenizer.from_folder(minilm_folder).save(tmp_path / "new" / "folder")
    saved = (tmp_path / "new" / "folder" / "vocab.txt").read_bytes()
    assert saved.split() == (minilm_folder / "vocab.txt").read_bytes().split()


def test_the_line_separator_is_a_token_not_a_line_end(tmp_path: Path) -> None:
    """U+2028 is an entry of the Chinese vocabulary; str.splitlines would break its line and shift every id."""
    path = tmp_path / "vocab.txt"
    path.write_bytes("\n".join(SMALL).encode())  # no newline at the end
    assert Tokenizer.from_vocab(path).vocab == {token: number for number, token in enumerate(SMALL)}


def test_windows_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "vocab.txt"
    path.write_bytes("".join(f"{token}\r\n" for token in SMALL).encode())
    assert Tokenizer.from_vocab(str(path)).vocab == {token: number for number, token in enumerate(SMALL)}


def test_two_long_texts_cut_short_take_no_room_for_what_was_cut(tokenizer: Tokenizer) -> None:
    """The library keeps every pair of pieces that it cut off: here 25 million."""
    batch = tokenizer(("one " * 10_000, "two " * 10_000), max_length=7)
    assert tokenizer.ids_to_tokens(batch["input_ids"][0]) == ["[CLS]", "one", "one", "[SEP]", "two", "two", "[SEP]"]
