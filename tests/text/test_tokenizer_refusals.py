"""What the tokenizer does not accept, and the words in which it says so."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from tokenizers import models, normalizers, pre_tokenizers

from bertbook import Tokenizer

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


@pytest.fixture
def tokenizer() -> Tokenizer:
    return Tokenizer.from_vocab([*SPECIAL, "a", "b"])


@pytest.mark.parametrize(
    ("texts", "error", "message"),
    [
        ([], ValueError, "texts is an empty list: there is nothing to tokenize"),
        (5, TypeError, "texts is int: expected a str, a pair (str, str), or a list of these"),
        (None, TypeError, "texts is NoneType: expected"),
        (b"a", TypeError, "texts is bytes: expected"),
        ({"a": 1}, TypeError, "texts is dict: expected"),
        (["a", 7], TypeError, "texts[1] is int: expected str"),
        (["a", None], TypeError, "texts[1] is NoneType: expected str"),
        (["a", ["b", "c"]], TypeError, "texts[1] is list: expected str; write a pair as a tuple (first, second)"),
        (("a", "b", "c"), TypeError, "texts[0] is a tuple of 3: a pair has two texts"),
        (["a", ()], TypeError, "texts[1] is a tuple of 0: a pair has two texts"),
        ([("a", None)], TypeError, "texts[0][1] is NoneType: expected str"),
        (
            ["a", "ab\ud83d!"],
            ValueError,
            "texts[1] is not valid Unicode: half a surrogate pair, U+D83D, at character 2",
        ),
        (
            ("a", "\udc00"),
            ValueError,
            "texts[0][1] is not valid Unicode: half a surrogate pair, U+DC00, at character 0",
        ),
    ],
)
def test_texts(tokenizer: Tokenizer, texts: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        tokenizer(texts)
    assert message in str(caught.value)


def test_the_repair_that_the_surrogate_message_names_works(tokenizer: Tokenizer) -> None:
    broken = "a\ud83db"
    with pytest.raises(ValueError, match=r'text\.encode\("utf-8", "replace"\)\.decode\("utf-8"\)'):
        tokenizer.tokenize(broken)
    assert tokenizer.tokenize(broken.encode("utf-8", "replace").decode("utf-8")) == ["a", "[UNK]", "b"]


@pytest.mark.parametrize("max_length", [1, 0, -5, 2.0, "8", True])
def test_max_length_for_one_text(tokenizer: Tokenizer, max_length: Any) -> None:
    with pytest.raises(ValueError, match=rf"max_length={max_length!r}: .* at least 2, the special tokens of one text"):
        tokenizer("a", max_length=max_length)
    assert tokenizer("a", max_length=2)["input_ids"].tolist() == [[2, 3]]


def test_max_length_for_a_pair(tokenizer: Tokenizer) -> None:
    with pytest.raises(ValueError, match=r"max_length=2: .* at least 3, the special tokens of a pair"):
        tokenizer(["a", ("a", "b")], max_length=2)
    assert tokenizer(("a", "b"), max_length=3)["input_ids"].tolist() == [[2, 3, 3]]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda t: t.tokenize(None), TypeError, "text is NoneType: expected str"),
        (lambda t: t.encode(3), TypeError, "is int: expected str"),
        (lambda t: t.ids_to_tokens([5, 7]), ValueError, "id 7 is not in the vocabulary: ids go from 0 to 6"),
        (lambda t: t.decode([5, -100]), ValueError, "id -100 is not in the vocabulary: ids go from 0 to 6"),
        (lambda t: t.decode([5.0]), TypeError, "'float' object cannot be interpreted as an integer"),
        (lambda t: t.tokens_to_ids(["a", "ab"]), ValueError, "'ab' is not in the vocabulary; to split running text"),
    ],
)
def test_lookups(
    tokenizer: Tokenizer, call: Callable[[Tokenizer], object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as caught:
        call(tokenizer)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "vocab.txt is empty: expected one token a line"),
        (b"[PAD]\n[UNK]\n[CLS]\nthe\n", "vocab.txt lacks [SEP], [MASK]; BERT needs [PAD], [UNK], [CLS], [SEP], [MASK]"),
        ("\n".join([*SPECIAL, "a", "b", "a"]).encode(), "vocab.txt has 'a' twice, in lines 6 and 8"),
        ("\n".join([*SPECIAL, "", "b", ""]).encode() + b"\n", "vocab.txt has '' twice, in lines 6 and 8"),
        (b"[PAD]\ncaf\xe9\n", "vocab.txt is not UTF-8: byte 9 is 0xe9"),
    ],
)
def test_vocabulary_files(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "vocab.txt").write_bytes(content)
    for load in (Tokenizer.from_folder, lambda folder: Tokenizer.from_vocab(folder / "vocab.txt")):
        with pytest.raises(ValueError, match="vocab") as caught:
            load(tmp_path)
        assert str(tmp_path) in str(caught.value)
        assert message in str(caught.value)


def test_vocabulary_lists() -> None:
    with pytest.raises(ValueError, match="the vocabulary is empty"):
        Tokenizer.from_vocab([])
    with pytest.raises(ValueError, match=r"the vocabulary lacks \[MASK\]; BERT needs"):
        Tokenizer.from_vocab(SPECIAL[:4])


def published(**parts: Any) -> str:
    """A tokenizer.json as BERT's, but for ``parts``."""
    backend = json.loads(Tokenizer.from_vocab(SPECIAL).backend.to_str())
    return json.dumps({**backend, **parts})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a tokenizer.json"),
        (b"{", "not a tokenizer.json"),
        (b"[]", "not a tokenizer.json"),
        (b'{"model_type": "bert"}', "not a tokenizer.json"),
        (b"\xff\xfe", "'utf-8' codec can't decode byte 0xff"),
        (tokenizers.Tokenizer(models.BPE()).to_str().encode(), "its pre_tokenizer is NoneType, RoBERTa's is ByteLevel"),
        (tokenizers.Tokenizer(models.WordLevel()).to_str().encode(), "its model is WordLevel, BERT's is WordPiece"),
        (tokenizers.Tokenizer(models.Unigram()).to_str().encode(), "lacks <pad>, [CLS], [SEP], [MASK]; ALBERT needs"),
        (published(normalizer=None).encode(), "its normalizer is none, BERT's is BertNormalizer"),
        (published(pre_tokenizer=None).encode(), "its pre_tokenizer is NoneType, BERT's is BertPreTokenizer"),
        (published(post_processor=None).encode(), "its post_processor does not write [CLS] A [SEP]"),
    ],
)
def test_tokenizer_files(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="tokenizer") as caught:
        Tokenizer.from_folder(tmp_path)
    assert str(path) in str(caught.value)
    assert message in str(caught.value)


def test_a_backend_with_holes_in_its_ids() -> None:
    backend = tokenizers.Tokenizer(
        models.WordPiece({token: 2 * i for i, token in enumerate(SPECIAL)}, unk_token="[UNK]")
    )
    backend.normalizer = normalizers.BertNormalizer()
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    with pytest.raises(ValueError, match="the ids of its 5 tokens are not 0 to 4"):
        Tokenizer(backend)


def test_a_folder_without_a_tokenizer(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no tokenizer in .*: looked for tokenizer.json, then for vocab.txt"):
        Tokenizer.from_folder(tmp_path)
    for load in (Tokenizer.from_file, Tokenizer.from_vocab):
        with pytest.raises(FileNotFoundError, match="nowhere"):
            load(tmp_path / "nowhere")


@pytest.mark.parametrize("content", ["{", "[1]"])
def test_a_damaged_tokenizer_config(tmp_path: Path, content: str) -> None:
    (tmp_path / "vocab.txt").write_text("\n".join(SPECIAL))
    (tmp_path / "tokenizer_config.json").write_text(content)
    with pytest.raises(ValueError, match=r"tokenizer_config.json(: expected a JSON object, found list| is not JSON)"):
        Tokenizer.from_folder(tmp_path)
