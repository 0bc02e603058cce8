"""A vocabulary of one's own: what is learned, that it is the same every time, what it does afterwards."""

import os
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import pre_tokenizers
from transformers import AutoTokenizer, BertTokenizerFast

from bertbook import Tokenizer
from bertbook.text import train_wordpiece
from bertbook.text.normalising import PLAIN_PUNCTUATION, bert_normalizer
from bertbook.text.training import count_words
from tests.text.samples import AWKWARD

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
TEXTS = [
    "The lowest of the low, the newest of the new.",
    "She sells sea shells; the shells she sells are sea shells.",
    "今天天气很好，北京欢迎你。北京，北京！",
    "Un café, deux cafés. CAFÉ!",
    "１９９８年１月 “quoted”—dashed…",
] * 3


def entries(tokenizer: Tokenizer) -> list[str]:
    return sorted(tokenizer.vocab, key=tokenizer.vocab.__getitem__)


def by_hand(words: Counter[str], size: int, min_frequency: int) -> list[str]:
    """The same algorithm, written to be read: count all pairs anew for every entry."""
    cut = {word: [word[0], *(f"##{c}" for c in word[1:])] for word in words}
    vocab = SPECIAL + sorted(set("".join(words))) + sorted({p for pieces in cut.values() for p in pieces[1:]})
    while len(vocab) < size:
        pairs: Counter[tuple[str, str]] = Counter()
        for word, pieces in cut.items():
            for pair in pairwise(pieces):
                pairs[pair] += words[word]
        rank = {token: number for number, token in enumerate(vocab)}
        best = min(pairs, key=lambda pair: (-pairs[pair], rank[pair[0]], rank[pair[1]]), default=None)
        if best is None or pairs[best] < min_frequency:
            break
        joined = best[0] + best[1].removeprefix("##")
        if joined not in vocab:
            vocab.append(joined)
        for word, pieces in cut.items():
            merged: list[str] = []
            for piece in pieces:
                if merged and (merged[-1], piece) == best:
                    merged[-1] = joined
                else:
                    merged.append(piece)
            cut[word] = merged
    return vocab


# --- what is learned --------------------------------------------------------------------------------------------


def test_the_order_of_the_ids() -> None:
    tokens = entries(train_wordpiece(["ab ab abc 北京"] * 2, 100))
    assert tokens == [*SPECIAL, "a", "b", "c", "京", "北", "##b", "##c", "ab", "abc"]


@given(
    words=st.dictionaries(st.text("abc", min_size=1, max_size=6), st.integers(1, 6), min_size=1, max_size=8),
    size=st.integers(11, 40),
    min_frequency=st.integers(1, 5),
)
def test_the_readable_algorithm_finds_the_same(words: dict[str, int], size: int, min_frequency: int) -> None:
    texts = [" ".join([word] * count) for word, count in words.items()]
    assert entries(train_wordpiece(texts, size, min_frequency=min_frequency)) == by_hand(
        Counter(words), size, min_frequency
    )


def test_the_readable_algorithm_finds_the_same_in_texts() -> None:
    words = count_words(TEXTS, bert_normalizer())
    assert entries(train_wordpiece(TEXTS, 140)) == by_hand(words, 140, 2)


@given(texts=st.lists(st.sampled_from([text for text in AWKWARD.values() if len(text) < 200]), max_size=8))
def test_words_are_counted_as_the_pre_tokenizer_cuts_them(texts: list[str]) -> None:
    normalizer, splitter = bert_normalizer(), pre_tokenizers.BertPreTokenizer()
    expected = Counter(
        word
        for text in texts
        for word, _ in splitter.pre_tokenize_str(normalizer.normalize_str(text))
        if len(word) <= 100
    )
    assert count_words(texts, normalizer) == expected


def test_words_that_are_too_long_to_be_cut_teach_nothing() -> None:
    longest, longer = "ab" * 50, "xy" * 51
    tokenizer = train_wordpiece([longest, longer] * 2, 1000)
    assert longest in tokenizer.vocab
    assert not [token for token in entries(tokenizer)[5:] if "x" in token]
    assert tokenizer.tokenize(longer) == ["[UNK]"]


def test_the_size_is_kept_and_small_corpora_have_no_more() -> None:
    assert len(train_wordpiece(TEXTS, 90)) == 90
    full = train_wordpiece(TEXTS, 100_000, min_frequency=1)
    assert len(full) < 400
    assert full.tokenize("shells") == ["shells"]


def test_rare_pairs_are_left_alone() -> None:
    texts = ["often", "often", "often", "rare", "rare"]
    assert "rare" in train_wordpiece(texts, 100, min_frequency=2).vocab
    tokens = entries(train_wordpiece(texts, 100, min_frequency=3))
    assert "often" in tokens
    assert not [token for token in tokens[5:] if re.fullmatch("(##)?[rae]{2,}", token)]


def test_rare_characters_are_left_out() -> None:
    texts = ["aaa bbb cc d"] * 3
    assert entries(train_wordpiece(texts, 1000, limit_alphabet=2))[5:9] == ["a", "b", "##a", "##b"]
    assert "d" not in train_wordpiece(texts, 1000, limit_alphabet=3).vocab
    assert "d" in train_wordpiece(texts, 1000, limit_alphabet=4).vocab
    tie = train_wordpiece(["b a c"], 1000, limit_alphabet=2)
    assert entries(tie)[5:] == ["a", "b"]


# --- how texts are prepared -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ("Café", {}, "cafe"),
        ("Café", {"lowercase": False}, "Café"),
        ("Café", {"strip_accents": False}, "café"),
        ("Café", {"lowercase": False, "strip_accents": True}, "Cafe"),
        ("北京", {}, "北 京"),
        ("北京", {"chinese_chars": False}, "北京"),
        ("１９９８年", {}, "１９９８ 年"),
        ("１９９８年", {"unicode": "NFKC"}, "1998 年"),
        ("“it’s”—…", {}, "“ it ’ s ” — …"),
        ("“it’s”—…", {"replace": PLAIN_PUNCTUATION}, '" it \' s " - . . .'),
        ("colour", {"replace": {"our": "or"}}, "color"),
        ("①ﬁ", {"replace": {"①": "(1)"}, "unicode": "NFKC"}, "( 1 ) fi"),
    ],
)
def test_options(tmp_path: Path, text: str, options: dict[str, Any], expected: str) -> None:
    tokenizer = train_wordpiece([text] * 2, 1000, **options)
    assert tokenizer.tokenize(text) == expected.split()
    tokenizer.save(tmp_path)
    theirs, own = AutoTokenizer.from_pretrained(tmp_path), Tokenizer.from_folder(tmp_path)
    for other in (text, *AWKWARD.values(), "the [MASK] 北京"):
        ids = tokenizer.encode(other, "café")
        assert theirs([(other, "café")])["input_ids"][0] == own.encode(other, "café") == ids
    assert theirs.mask_token_id == tokenizer.mask_token_id == 4
    assert own.vocab == tokenizer.vocab == theirs.get_vocab()
    as_published = not {"unicode", "replace"} & options.keys()
    assert (tmp_path / "vocab.txt").is_file() == as_published  # where it says everything


def test_saved_in_the_published_layout(tmp_path: Path) -> None:
    tokenizer = train_wordpiece(TEXTS, 120)
    tokenizer.save(tmp_path)
    assert (tmp_path / "vocab.txt").read_bytes().decode().split("\n") == [*entries(tokenizer), ""]
    (tmp_path / "tokenizer.json").unlink()  # published before there were any
    for text in [*TEXTS, *AWKWARD.values()]:
        ids = tokenizer.encode(text)
        assert Tokenizer.from_folder(tmp_path).encode(text) == ids
        assert BertTokenizerFast.from_pretrained(tmp_path)([text])["input_ids"][0] == ids


# --- the same every time ----------------------------------------------------------------------------------------


def test_other_processes_and_other_orders_give_the_same() -> None:
    """Here nearly every pair is as frequent as many others."""
    source = random.Random(3)
    texts = ["".join(source.choices("abcdefghijklmnopqrstuvwxyz狗", k=6)) for _ in range(300)]
    code = (
        "import random, sys; from bertbook.text import train_wordpiece; texts = sys.argv[2].split();"
        "random.Random(sys.argv[1]).shuffle(texts);"
        "v = train_wordpiece(texts, 400).vocab; print(*sorted(v, key=v.get))"
    )
    found = set()
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", code, seed, " ".join(texts)],
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"},
            capture_output=True,
            encoding="utf-8",
            check=True,
        )
        found.add(done.stdout)
    assert found == {" ".join(entries(train_wordpiece(texts, 400))) + "\n"}


def test_texts_are_gone_through_once_and_never_all_held() -> None:
    alive = Counter[str]()

    class Text(str):
        def __init__(self, _: str) -> None:
            alive["now"] += 1
            alive["most"] = max(alive["most"], alive["now"])

        def __del__(self) -> None:
            alive["now"] -= 1

    def stream() -> Iterator[str]:
        for text in TEXTS * 100:
            yield Text(text)

    once = stream()
    assert entries(train_wordpiece(once, 120)) == entries(train_wordpiece(TEXTS, 120, min_frequency=1))
    assert next(once, "exhausted") == "exhausted"
    assert alive["most"] <= 3


def test_progress_is_shown_on_request(capfd: pytest.CaptureFixture[str]) -> None:
    train_wordpiece(TEXTS, 100)
    assert capfd.readouterr() == ("", "")
    train_wordpiece(TEXTS, 100, progress=True)
    out, shown = capfd.readouterr()
    assert not out.strip()
    assert "Counting words" in shown


# --- what is refused --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "error", "message"),
    [
        ([], ValueError, "texts hold no words to learn from"),
        (["", " \n\u200b"], ValueError, "texts hold no words to learn from"),
        (["a" * 101], ValueError, "texts hold no words to learn from"),
        ("a text", TypeError, "texts is str: expected many texts, such as a list of str"),
        (b"a text", TypeError, "texts is bytes: expected many texts"),
        (5, TypeError, "'int' object is not iterable"),
        (["a", b"b"], TypeError, "texts[1] is bytes: expected str"),
        (["a", None], TypeError, "texts[1] is NoneType: expected str"),
        ((text for text in ["a", "b", 3]), TypeError, "texts[2] is int: expected str"),
        ([("a", "b")], TypeError, "texts[0] is tuple: expected str"),
        (["a", "b\udc00"], ValueError, "texts[1] is not valid Unicode: half a surrogate pair, U+DC00, at character 1"),
    ],
)
def test_texts(texts: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        train_wordpiece(texts, 100)
    assert message in str(caught.value)


def test_a_size_without_room_for_the_characters() -> None:
    texts = ["abc 北京"] * 2
    with pytest.raises(ValueError, match="vocab_size") as caught:
        train_wordpiece(texts, 11)
    assert str(caught.value) == (
        "vocab_size=11 is too small: the texts need 12 entries before the first pair, 5 special tokens, 5 characters, "
        "and 2 that continue words (##). Choose a larger vocab_size, or leave rare characters out with limit_alphabet"
    )
    assert len(train_wordpiece(texts, 12)) == 12


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"vocab_size": 0}, ValueError, "vocab_size=0: expected a whole number of at least 1"),
        ({"vocab_size": 1e4}, ValueError, "vocab_size=10000.0: expected a whole number"),
        ({"vocab_size": True}, ValueError, "vocab_size=True: expected a whole number"),
        ({"min_frequency": 0}, ValueError, "min_frequency=0: expected a whole number"),
        ({"limit_alphabet": -1}, ValueError, "limit_alphabet=-1: expected a whole number"),
        ({"unicode": "nfkc"}, ValueError, "unicode='nfkc': choose one of 'NFC', 'NFD', 'NFKC', 'NFKD', or None"),
        ({"replace": "“"}, TypeError, "replace is str: expected a mapping"),
        ({"replace": {"“": 1}}, TypeError, "replace has '“': 1: both must be str"),
        ({"replace": {"": "a"}}, ValueError, "replace has '': 'a': there is nothing to look for"),
    ],
)
def test_options_refused(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        train_wordpiece(["a"], **{"vocab_size": 100, **options})
    assert message in str(caught.value)
