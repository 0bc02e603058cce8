"""Batches from workers and processes: nothing lost, nothing twice, the same again, and on from where it stopped."""

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bertbook import BertConfig, BertForPreTraining
from bertbook.text import BatchLoader, ExampleError, Masked, Padded, Tokenizer, pad_batch, plan_epoch
from bertbook.text.documents import Document
from bertbook.text.masking import MaskingPolicy
from bertbook.text.pairs import sentence_pairs

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"w{n}" for n in range(90)), "##s"]
TOKENIZER = Tokenizer.from_vocab(WORDS)
LENGTHS = np.random.default_rng(0).integers(3, 20, 53)
EXAMPLES = [{"input_ids": [100 + index] * int(length)} for index, length in enumerate(LENGTHS)]


@dataclass(frozen=True)
class Noted:
    """What the collate function was told, and a random number as masking would draw it."""

    def __call__(self, examples: Sequence[Any], epoch: int, indices: Sequence[int]) -> dict[str, Any]:
        drawn = [np.random.default_rng((7, epoch, index)).random() for index in indices]
        ids = [example["input_ids"][0] - 100 for example in examples]
        return {"epoch": epoch, "indices": list(indices), "ids": ids, "drawn": drawn}


def loader(**arguments: Any) -> BatchLoader:
    sizes = {} if "max_tokens" in arguments else {"batch_size": 4}
    return BatchLoader(EXAMPLES, Noted(), **{**sizes, **arguments})


def epochs(source: BatchLoader, count: int) -> list[dict[str, Any]]:
    """All batches up to the end of epoch ``count`` − 1."""
    batches = []
    while source.epoch < count:
        batches += list(source)
    return batches


@pytest.mark.parametrize("sizes", [{}, {"window": 20}, {"max_tokens": 40}, {"max_tokens": 40, "window": 20}])
@pytest.mark.parametrize("world_size", [1, 2, 3])
@pytest.mark.parametrize("num_workers", [0, 2])
def test_every_example_once_over_processes_and_workers(
    sizes: dict[str, int], world_size: int, num_workers: int
) -> None:
    shares = [
        list(loader(**sizes, rank=rank, world_size=world_size, num_workers=num_workers)) for rank in range(world_size)
    ]
    assert len({len(share) for share in shares}) == 1  # or the last step would wait for ever
    batches = [batch for share in shares for batch in share]
    assert sorted(index for batch in batches for index in batch["indices"]) == list(range(len(EXAMPLES)))
    assert all(batch["ids"] == batch["indices"] for batch in batches)


def test_workers_change_nothing() -> None:
    alone = epochs(loader(), 2)
    assert epochs(loader(), 2) == alone
    assert epochs(loader(num_workers=1), 2) == alone
    assert epochs(loader(num_workers=2, prefetch=4), 2) == alone
    first, second = alone[: len(alone) // 2], alone[len(alone) // 2 :]
    assert {batch["epoch"] for batch in first} == {0}
    assert {batch["epoch"] for batch in second} == {1}
    assert [batch["indices"] for batch in first] != [batch["indices"] for batch in second]
    assert epochs(loader(seed=1), 2) != alone


@pytest.mark.parametrize("sizes", [{}, {"max_tokens": 40, "window": 20}])
def test_goes_on_at_every_position(sizes: dict[str, int]) -> None:
    whole = epochs(loader(**sizes), 2)
    first = loader(**sizes)
    states = [first.state_dict()]
    while first.epoch < 2:
        for _ in first:
            states.append(pickle.loads(pickle.dumps(first.state_dict())))
    assert len(states) == len(whole) + 1
    for position, state in enumerate(states):
        second = loader(**sizes)
        second.load_state_dict(state)
        assert epochs(second, 2) == whole[position:]


@settings(max_examples=6)
@given(st.integers(1, 25), st.integers(0, 2), st.integers(0, 2))
def test_goes_on_with_another_number_of_workers(position: int, before: int, after: int) -> None:
    """While workers hold batches that nobody has seen yet: what was prepared ahead does not count as seen."""
    whole = epochs(loader(), 2)
    first = loader(num_workers=before, prefetch=4)
    seen = []
    while len(seen) < position:
        for batch in first:
            seen.append(batch)
            if len(seen) == position:
                break
    second = loader(num_workers=after)
    second.load_state_dict(first.state_dict())
    assert seen + epochs(second, 2) == whole


def test_a_state_is_the_same_for_every_process() -> None:
    whole = [epochs(loader(rank=rank, world_size=3), 1) for rank in range(3)]
    saved = loader(rank=0, world_size=3)
    for _ in zip(range(2), saved, strict=False):
        pass
    assert saved.step == 2
    for rank in range(3):
        other = loader(rank=rank, world_size=3)
        other.load_state_dict(saved.state_dict())
        assert list(other) == whole[rank][2:]


def test_after_a_break_it_goes_on() -> None:
    whole = list(loader())
    source = loader()
    seen = []
    for _ in range(3):
        for batch in source:
            seen.append(batch)
            if len(seen) % 3 == 0:
                break
    assert seen == whole[:9]
    assert seen + list(source) == whole
    assert (source.epoch, source.step) == (1, 0)


def test_one_iteration_at_a_time() -> None:
    source = loader()
    first = iter(source)
    next(first)
    second = iter(source)
    batch = next(second)
    with pytest.raises(RuntimeError, match="one iteration at a time"):
        next(first)
    assert batch == list(loader())[1]  # the first took the batch before; nothing was lost to it afterwards
    source.load_state_dict(loader().state_dict())
    with pytest.raises(RuntimeError, match="moved elsewhere"):
        next(second)
    assert list(source) == list(loader())


def test_length() -> None:
    assert len(loader()) == 14
    source = loader(max_tokens=40)
    for _ in range(3):
        assert len(source) == len(list(source))


def test_a_look_ahead_takes_nothing() -> None:
    whole = epochs(loader(), 2)
    source = loader()
    for number in range(len(whole)):
        assert source.peek() == source.peek() == whole[number]
        assert next(iter(source)) == whole[number]
    shares = [loader(rank=rank, world_size=2) for rank in range(2)]
    assert shares[0].peek() == next(iter(shares[0]))
    assert shares[1].peek() == next(iter(shares[1]))


def test_which_examples_are_in_a_batch() -> None:
    """Of any epoch, wherever the loader stands."""
    source = loader(rank=1, world_size=2)
    told = [source.examples_of(epoch, step) for epoch in range(3) for step in range(len(source))]
    assert (source.epoch, source.step) == (0, 0)
    assert told == [batch["indices"] for batch in epochs(source, 3)]


class TestDropLast:
    """Steps of the same examples, however many processes share them."""

    @staticmethod
    def share(rank: int, world_size: int, **arguments: Any) -> BatchLoader:
        sizes = {"batch_size": 8 // world_size, "drop_last": True, "rank": rank, "world_size": world_size}
        return loader(**{**sizes, **arguments})

    def steps(self, world_size: int, state: dict[str, Any] | None = None) -> list[list[int]]:
        """Two epochs, step by step, of all processes."""
        shares = []
        for rank in range(world_size):
            source = self.share(rank, world_size)
            if state is not None:
                source.load_state_dict(state)
            shares.append(epochs(source, 2))
        return [[index for batch in step for index in batch["indices"]] for step in zip(*shares, strict=True)]

    def test_the_same_steps(self) -> None:
        alone = self.steps(1)
        assert [len(step) for step in alone] == [8] * 12  # 53 examples make 6 steps an epoch
        assert self.steps(2) == self.steps(4) == alone

    @pytest.mark.parametrize(("before", "after"), [(1, 2), (2, 1), (2, 4), (4, 1)])
    def test_goes_on_with_another_number_of_processes(self, before: int, after: int) -> None:
        alone = self.steps(1)
        source = self.share(0, before)
        for _ in zip(range(4), source, strict=False):
            pass
        state = pickle.loads(pickle.dumps(source.state_dict()))
        assert self.steps(after, state) == alone[4:]

    def test_but_not_with_steps_of_another_size(self) -> None:
        state = self.share(0, 2).state_dict()
        with pytest.raises(ValueError, match=r"saved with batch_size 8 \(here 16\): batches would differ"):
            self.share(0, 2, batch_size=8).load_state_dict(state)

    def test_too_few_for_a_step(self) -> None:
        with pytest.raises(ValueError, match=r"53 examples make no step of 64 \(32 for each of 2 processes\)"):
            self.share(0, 2, batch_size=32)


def test_padded_by_default() -> None:
    (batch,) = BatchLoader(EXAMPLES[:3], batch_size=3)
    assert batch["attention_mask"].sum(1).sort().values.tolist() == sorted(LENGTHS[:3].tolist())
    (batch,) = BatchLoader(EXAMPLES[:3], Padded(pad_id=7, multiple_of=64), batch_size=3)
    assert batch["input_ids"].shape == (3, 64)
    assert batch["input_ids"][:, -1].tolist() == [7, 7, 7]


class TestState:
    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"batch_size": 5}, r"batch_size 4 \(here 5\)"),
            ({"seed": 1}, r"seed 0 \(here 1\): batches would differ; make the loader as it was then"),
            ({"window": 8}, r"window None \(here 8\)"),
            ({"world_size": 2}, r"world_size 1 \(here 2\)"),
            ({"max_tokens": 40}, r"batch_size 4 \(here None\), max_tokens None \(here 40\)"),
        ],
    )
    def test_of_other_sizes(self, changes: dict[str, int], message: str) -> None:
        with pytest.raises(ValueError, match=message):
            loader(**changes).load_state_dict(loader().state_dict())

    def test_of_other_data(self) -> None:
        state = loader(window=8).state_dict()
        with pytest.raises(ValueError, match=r"examples 53 \(here 52\), lengths '[0-9a-f]{16}'"):
            BatchLoader(EXAMPLES[1:], batch_size=4, window=8).load_state_dict(state)
        with pytest.raises(ValueError, match=r"saved with lengths '"):
            BatchLoader(EXAMPLES[::-1], batch_size=4, window=8).load_state_dict(state)

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"step": 14}, "step=14 in the state: this epoch has steps 0 to 13"),
            ({"step": -1}, "step=-1 in the state"),
            ({"epoch": "1"}, "epoch='1' in the state: it must be a whole number from 0"),
        ],
    )
    def test_damaged(self, changes: dict[str, Any], message: str) -> None:
        source = loader()
        for _ in zip(range(2), source, strict=False):
            pass
        with pytest.raises(ValueError, match=message):
            source.load_state_dict({**source.state_dict(), **changes})
        assert (source.epoch, source.step) == (0, 2)

    def test_of_something_else(self) -> None:
        with pytest.raises(ValueError, match="no state of a BatchLoader: it lacks epoch, step, batch_size"):
            loader().load_state_dict({"lr": 1e-4})


class TestRefused:
    @pytest.mark.parametrize(
        ("examples", "arguments", "message"),
        [
            ([], {"batch_size": 4}, "the data set is empty"),
            (EXAMPLES, {"batch_size": 0}, "batch_size=0: it must be a whole number of at least 1"),
            (EXAMPLES, {}, "give one of the two"),
            (EXAMPLES, {"batch_size": 4, "rank": 2, "world_size": 2}, "rank=2 of world_size=2: ranks go from 0 to 1"),
            (EXAMPLES, {"batch_size": 4, "world_size": 0}, "world_size=0: it must be a whole number of at least 1"),
            (EXAMPLES, {"batch_size": 4, "lengths": [1, 2]}, r"lengths of shape \(2,\) .* for 53 examples"),
            (EXAMPLES, {"batch_size": 4, "lengths": [0.5] * 53}, "type float64 for 53 examples: one whole number each"),
            (EXAMPLES, {"max_tokens": 12}, r"max_tokens=12, and example \d+ alone has 19 tokens"),
            (EXAMPLES, {"batch_size": 4, "max_length": 12}, r"example \d+ has 19 tokens; the model has 12 positions"),
            (EXAMPLES[:3], {"batch_size": 4, "world_size": 4}, "cannot be shared by 4 processes"),
        ],
    )
    def test_at_once(self, examples: Any, arguments: dict[str, Any], message: str) -> None:
        with pytest.raises(ValueError, match=message):
            BatchLoader(examples, **arguments)


@dataclass(frozen=True)
class Broken:
    """A data set with one example that cannot be read, and one that cannot be put into a batch."""

    unreadable: int
    unfit: int

    def __len__(self) -> int:
        return 30

    def __getitem__(self, index: int) -> dict[str, Any]:
        if index == self.unreadable:
            raise OSError("line 17 is damaged")
        return {"input_ids": [] if index == self.unfit else [5]}


@pytest.mark.parametrize("num_workers", [0, 2])
def test_errors_name_the_example(num_workers: int) -> None:
    source = BatchLoader(Broken(17, -1), batch_size=5, num_workers=num_workers)
    with pytest.raises(ExampleError, match="example 17 cannot be read: OSError: line 17 is damaged"):
        list(source)
    source = BatchLoader(Broken(-1, 9), batch_size=5, num_workers=num_workers)
    with pytest.raises(ExampleError, match=r"examples (\d+, )*9(, \d+)* make no batch: ValueError: example \d of the"):
        list(source)
    assert not multiprocessing.active_children()


@dataclass(frozen=True)
class Changing:
    """Other examples in each epoch, and another number of them."""

    epoch: int = 0

    def at_epoch(self, epoch: int) -> "Changing":
        return Changing(epoch)

    def __len__(self) -> int:
        return 20 + self.epoch

    def __getitem__(self, index: int) -> dict[str, list[int]]:
        return {"input_ids": [100 * self.epoch + index] * (1 + index % 7)}


class TestExamplesOfAnEpoch:
    @pytest.mark.parametrize("sizes", [{"batch_size": 3}, {"max_tokens": 12}])
    @pytest.mark.parametrize("num_workers", [0, 2])
    def test_every_one_once(self, sizes: dict[str, int], num_workers: int) -> None:
        source = BatchLoader(Changing(), num_workers=num_workers, **sizes)
        for epoch in range(3):
            firsts = [int(row[0]) for batch in source for row in batch["input_ids"]]
            assert sorted(firsts) == [100 * epoch + index for index in range(20 + epoch)]

    def test_goes_on_in_a_later_epoch(self) -> None:
        def ids(source: BatchLoader) -> list[list[list[int]]]:
            return [batch["input_ids"].tolist() for batch in source]

        first, whole = (BatchLoader(Changing(), batch_size=3, window=9) for _ in range(2))
        expected = [ids(whole) for _ in range(3)]
        for _ in range(2):
            ids(first)
        for _ in zip(range(4), first, strict=False):
            pass
        second = BatchLoader(Changing(), batch_size=3, window=9)
        second.load_state_dict(first.state_dict())
        assert (second.epoch, second.step) == (2, 4)
        assert ids(second) == expected[2][4:]

    def test_lengths_are_counted(self) -> None:
        with pytest.raises(ValueError, match="lengths of examples that change from epoch to epoch: leave them out"):
            BatchLoader(Changing(), batch_size=3, lengths=[1] * 20)


DOCUMENTS = [
    Document(tuple(" ".join(f"w{(7 * d + 3 * s + k) % 90}" for k in range(3 + s % 5)) + "." for s in range(8)), "one")
    for d in range(12)
]


def pretraining_loader(**arguments: Any) -> BatchLoader:
    """From documents to what BERT is pretrained on."""
    pairs = sentence_pairs(DOCUMENTS, TOKENIZER, max_length=24)
    return BatchLoader(pairs, Masked(MaskingPolicy(TOKENIZER)), batch_size=4, max_length=24, **arguments)


def test_from_documents_to_a_loss() -> None:
    torch.manual_seed(0)
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    model = BertForPreTraining(BertConfig(vocab_size=len(TOKENIZER), max_position_embeddings=24, **sizes))
    seen = {batch["next_sentence_label"].tolist()[0] for batch in pretraining_loader() if model(**batch).loss > 0}
    assert seen == {0, 1}
    one, other = (epochs(pretraining_loader(num_workers=workers), 2) for workers in (0, 2))
    for a, b in zip(one, other, strict=True):
        assert all(torch.equal(a[name], b[name]) for name in a)


class TestMasked:
    TEXTS = tuple({"input_ids": [2, *(5 + (7 * n + k) % 90 for k in range(3 + n % 9)), 3]} for n in range(40))

    def loader(self, **arguments: Any) -> BatchLoader:
        return BatchLoader(self.TEXTS, self.collate(), batch_size=5, **arguments)

    def collate(self) -> Masked:
        return Masked(MaskingPolicy(TOKENIZER, rate=0.4, seed=3))

    def by_example(self, batches: list[Any], indices: list[Any]) -> dict[int, list[int]]:
        """Each example's ids after masking, less the padding."""
        found = {}
        for batch, rows in zip(batches, indices, strict=True):
            for index, ids, mask in zip(rows, batch["input_ids"], batch["attention_mask"], strict=True):
                found[int(index)] = ids[mask == 1].tolist()
        return found

    def test_the_labels_are_what_was_hidden(self) -> None:
        plan = plan_epoch([1] * 40, batch_size=5)
        hidden = 0
        for batch, indices in zip(self.loader(), plan, strict=True):
            whole = pad_batch([self.TEXTS[index] for index in indices])
            asked = batch["labels"] != -100
            assert torch.equal(torch.where(asked, batch["labels"], batch["input_ids"]), whole["input_ids"])
            assert not asked[batch["attention_mask"] == 0].any()
            hidden += int(asked.sum())
        assert 0.3 < hidden / sum(len(text["input_ids"]) - 2 for text in self.TEXTS) < 0.5

    def test_an_example_is_masked_alike_in_any_company_and_anew_in_each_epoch(self) -> None:
        plans = [plan_epoch([1] * 40, batch_size=5, epoch=epoch) for epoch in range(2)]
        source = self.loader(num_workers=2)
        first, second = (self.by_example(list(source), plan) for plan in plans)
        other_batches = BatchLoader(self.TEXTS, self.collate(), batch_size=7)
        assert self.by_example(list(other_batches), plan_epoch([1] * 40, batch_size=7)) == first
        assert sum(first[index] != second[index] for index in range(40)) > 30

    def test_words_from_the_example(self) -> None:
        policy = MaskingPolicy(TOKENIZER, rate=0.5, mask_share=1.0, random_share=0.0, whole_words=True)
        texts = [{"input_ids": [2, 5, 6, 7, 8, 3][: n + 4], "word_ids": [-1, 0, 0, 1, 1, -1][: n + 4]} for n in (0, 2)]
        batch = Masked(policy)(texts * 20, 0, range(40))
        asked = (batch["labels"] != -100)[1::2]
        assert torch.equal(asked[:, 1], asked[:, 2])
        assert torch.equal(asked[:, 3], asked[:, 4])
        assert not torch.equal(asked[:, 2], asked[:, 3])
        assert "word_ids" not in batch  # no model takes it

    def test_labels_of_their_own_are_refused(self) -> None:
        with pytest.raises(ValueError, match="the examples have labels of their own"):
            Masked(MaskingPolicy(TOKENIZER))([{"input_ids": [2, 5, 3], "labels": [0, 1, 0]}], 0, [0])

    def test_can_be_spawned(self) -> None:
        pickle.loads(pickle.dumps(self.collate()))


def test_no_worker_outlives_a_break() -> None:
    for _ in loader(num_workers=2):
        break
    assert not multiprocessing.active_children()


def test_spawned_workers() -> None:
    """What they get is pickled; on some systems there are no others."""
    assert list(loader(num_workers=1, start_method="spawn")) == list(loader())


def test_forked_workers_with_a_tokenizer_in_use(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library warns on standard error when a process forks that has used its threads."""
    monkeypatch.delenv("TOKENIZERS_PARALLELISM", raising=False)
    tokenizer = Tokenizer.from_vocab(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "cat"])
    tokenizer(["cat"] * 100)  # in parallel
    arguments = {"batch_size": 5, "num_workers": 2, "start_method": "fork"}
    batches = list(BatchLoader(["cat"] * 20, lambda texts, epoch, indices: tokenizer(texts), **arguments))
    assert [len(batch["input_ids"]) for batch in batches] == [5] * 4
    assert capfd.readouterr().err == ""
    assert "TOKENIZERS_PARALLELISM" not in os.environ


@pytest.mark.parametrize(("start_method", "workers"), [("fork", 2), ("spawn", 1)])
def test_ctrl_c_ends_it_cleanly(start_method: str, workers: int, tmp_path: Path) -> None:
    """The interrupt goes to the workers too, as from a terminal; no process stays, and there is one traceback."""
    script = tmp_path / "endless.py"
    script.write_text("""
import time
from bertbook.text import BatchLoader

class Slow:
    def __len__(self):
        return 10_000
    def __getitem__(self, index):
        time.sleep(0.002)
        return {"input_ids": [5]}

if __name__ == "__main__":
    import multiprocessing, sys
    method, workers = sys.argv[1], int(sys.argv[2])
    loader = BatchLoader(Slow(), batch_size=4, num_workers=workers, start_method=method)
    try:
        for batch in loader:
            print(loader.step, flush=True)
    except KeyboardInterrupt:
        assert not multiprocessing.active_children()
        if method == "fork":
            before = loader.step
            next(iter(loader))  # goes on with the next
            assert loader.step == before + 1
        raise
""")
    process = subprocess.Popen(
        [sys.executable, str(script), start_method, str(workers)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "1\n"
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert errors.count("Traceback") == 1, errors
    assert errors.rstrip().endswith("KeyboardInterrupt")
    deadline = time.monotonic() + 10
    while group_lives(process.pid):  # Python's own helper of spawned processes sees a moment later that it is alone
        assert time.monotonic() < deadline
        time.sleep(0.05)


def group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_batches_of_tensors_come_through_workers() -> None:
    alone = list(BatchLoader(EXAMPLES, batch_size=8, window=20))
    shared = list(BatchLoader(EXAMPLES, batch_size=8, window=20, num_workers=2))
    for one, other in zip(alone, shared, strict=True):
        assert type(one) is type(other)
        assert all(torch.equal(one[name], other[name]) for name in one)
