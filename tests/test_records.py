"""Records: what fits together, and files that come back whole or not at all."""

import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertbook import AttentionRecord

ODD_TOKENS = ["[CLS]", "北", "##京", "👩\u200d👧", "<script>", "", "\u2028", "\x00", '"', "\\", "\ud800", "[SEP]"]


def record(tokens: list[str] | None = None, layers: int = 2, heads: int = 3, model: str = "minilm") -> AttentionRecord:
    tokens = ["[CLS]", "cat", "[SEP]"] if tokens is None else tokens
    weights = np.random.default_rng(0).dirichlet(np.ones(len(tokens)), size=(layers, heads, len(tokens)))
    return AttentionRecord(tokens, [0] * len(tokens), weights, model)


def assert_equal(one: AttentionRecord, other: AttentionRecord) -> None:
    assert (one.tokens, one.model) == (other.tokens, other.model)
    np.testing.assert_array_equal(one.segments, other.segments)
    np.testing.assert_array_equal(one.weights, other.weights)
    assert (one.segments.dtype, one.weights.dtype) == (other.segments.dtype, other.weights.dtype)


def test_sizes() -> None:
    made = record()
    assert (made.num_layers, made.num_heads, len(made)) == (2, 3, 3)
    assert repr(made) == "AttentionRecord(3 tokens, 2 layers × 3 heads, minilm)"
    assert repr(record(model="")) == "AttentionRecord(3 tokens, 2 layers × 3 heads)"
    assert made.weights.dtype == np.float32
    assert made.segments.dtype == np.int64


def weights(*shape: int, value: float = 0.5) -> Any:
    return np.full(shape, value)


@pytest.mark.parametrize(
    ("tokens", "segments", "given_weights", "message"),
    [
        ([], [], weights(1, 1, 0, 0), "no tokens: a record needs at least one"),
        (["a", "b"], [0, 0], weights(1, 2, 2), "weights of shape (1, 2, 2) do not fit 2 tokens: expected (L, h, 2, 2)"),
        (["a", "b"], [0, 0], weights(1, 1, 2, 3), "weights of shape (1, 1, 2, 3) do not fit 2 tokens"),
        (["a"], [0], weights(0, 1, 1, 1), "weights of shape (0, 1, 1, 1) do not fit 1 tokens"),
        (["a", "b"], [0], weights(1, 1, 2, 2), "segments of shape (1,) do not fit 2 tokens: expected (2,)"),
        (["a", "b"], [0, 0.5], weights(1, 1, 2, 2), "segments must be whole numbers, 0 for the first text"),
        (["a", "b"], [0, -1], weights(1, 1, 2, 2), "segments must be whole numbers, 0 for the first text"),
        (["a"], [0], weights(1, 1, 1, 1, value=np.nan), "attention weights must lie between 0 and 1; found NaN or"),
        (["a"], [0], weights(1, 1, 1, 1, value=-0.1), "attention weights must lie between 0 and 1"),
        (["a"], [0], weights(1, 1, 1, 1, value=1.5), "attention weights must lie between 0 and 1"),
        (["a"], [0], weights(1, 1, 1, 1, value=np.inf), "attention weights must lie between 0 and 1"),
    ],
)
def test_what_does_not_fit(tokens: list[str], segments: list[float], given_weights: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        AttentionRecord(tokens, segments, given_weights)  # type: ignore[arg-type]


@pytest.mark.parametrize("tokens", ["ab", ["a", 5], ["a", None]])
def test_tokens_are_strings(tokens: Any) -> None:
    with pytest.raises(TypeError, match=r"tokens must be a list of str, found "):
        AttentionRecord(tokens, [0, 0], weights(1, 1, 2, 2))


def test_saved_and_loaded(tmp_path: Path) -> None:
    made = record(ODD_TOKENS, model="模型 \u2028")
    path = made.save(tmp_path / "a.record")
    assert path == tmp_path / "a.record.npz"
    assert_equal(AttentionRecord.load(path), made)
    assert made.save(str(path)) == path
    assert_equal(AttentionRecord.load(str(path)), made)


@given(tokens=st.lists(st.text(st.characters(exclude_categories=[])), min_size=1, max_size=5), model=st.text())
def test_any_tokens_come_back(tmp_path_factory: pytest.TempPathFactory, tokens: list[str], model: str) -> None:
    made = record(tokens, 1, 1, model)
    assert_equal(AttentionRecord.load(made.save(tmp_path_factory.getbasetemp() / "any.npz")), made)


def test_a_truncated_file(tmp_path: Path) -> None:
    path = record().save(tmp_path / "whole.npz")
    content = path.read_bytes()
    broken = tmp_path / "broken.npz"
    for length in range(0, len(content), 7):
        broken.write_bytes(content[:length])
        with pytest.raises(ValueError, match=r"broken.npz is not a whole AttentionRecord file"):
            AttentionRecord.load(broken)


def test_a_damaged_file(tmp_path: Path) -> None:
    """Any byte changed: the record is the same as before (the byte was no part of it), or there is one clear error."""
    made = record()
    path = made.save(tmp_path / "whole.npz")
    content = path.read_bytes()
    broken = tmp_path / "broken.npz"
    refused = 0
    for at in range(len(content)):
        broken.write_bytes(content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :])
        try:
            loaded = AttentionRecord.load(broken)
        except ValueError as error:
            assert f"{broken} is not a whole AttentionRecord file" in str(error)  # noqa: PT017 (it may also load)
            refused += 1
        else:
            assert_equal(loaded, made)
    assert refused > len(content) / 2


def foreign(path: Path, **arrays: Any) -> None:
    np.savez(path, **arrays)


def test_files_that_are_no_records(tmp_path: Path) -> None:
    path = tmp_path / "other.npz"
    writers = [
        lambda: path.write_bytes(b"PK is how a zip file starts"),
        lambda: path.write_text("tokens"),
        lambda: foreign(path, weights=np.ones(3)),
        lambda: foreign(path, text=np.frombuffer(b"[]", np.uint8), segments=[0], weights=weights(1, 1, 1, 1)),
        lambda: foreign(path, text=np.frombuffer(b"{", np.uint8), segments=[0], weights=weights(1, 1, 1, 1)),
        lambda: np.save(path.open("wb"), np.ones(3)),
    ]
    for write in writers:
        write()
        with pytest.raises(ValueError, match=r"other.npz is not a whole AttentionRecord file"):
            AttentionRecord.load(path)


class Bomb:
    """Unpickling it would leave a file behind."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def test_nothing_in_a_file_is_executed(tmp_path: Path) -> None:
    bomb = Bomb(tmp_path / "exploded")
    path = tmp_path / "bomb.npz"
    foreign(path, text=np.array([bomb], dtype=object), segments=np.array([bomb], dtype=object), weights=np.ones(1))
    plain = tmp_path / "plain.npz"
    plain.write_bytes(pickle.dumps(bomb))
    for file in (path, plain):
        with pytest.raises(ValueError, match="is not a whole AttentionRecord file"):
            AttentionRecord.load(file)
    assert not bomb.path.exists()
    pickle.loads(plain.read_bytes())
    assert bomb.path.exists(), "the bomb must work, or the test proves nothing"


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere.npz"):
        AttentionRecord.load(tmp_path / "nowhere.npz")
    with pytest.raises(OSError, match="directory"):
        AttentionRecord.load(tmp_path)
