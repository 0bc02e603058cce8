"""The batches and texts that everybody gets."""

import pytest
import torch

from benchmarks.work import Training, passages
from bertbook import BertConfig
from bertbook.speed import training_flops

CONFIG = BertConfig.preset("tiny", vocab_size=60)
WORK = Training(CONFIG, rows=40, shortest=5, longest=30, count=3)


def test_batches_are_the_same_every_time_and_differ_among_each_other() -> None:
    first, second = WORK.batches(), WORK.batches()
    assert len(first) == 3
    for a, b in zip(first, second, strict=True):
        assert all(torch.equal(a[name], b[name]) for name in a)
    assert not torch.equal(first[0]["next_sentence_label"], first[1]["next_sentence_label"])


@pytest.mark.parametrize("number", range(3))
def test_a_batch(number: int) -> None:
    batch = WORK.batches()[number]
    real, labelled = batch["attention_mask"].bool(), batch["labels"] >= 0
    lengths = real.sum(1)
    assert real.shape == (40, lengths.max())  # padded to the longest, on the right
    assert torch.equal(real, torch.arange(real.shape[1]) < lengths[:, None])
    assert 5 <= lengths.min() < lengths.max() <= 30
    assert torch.equal(labelled.sum(1), (0.15 * lengths).round().clamp(min=1).long())
    assert not labelled[:, 0].any()
    assert not labelled[~real].any()
    assert (batch["input_ids"][labelled] == 4).all()  # all that carry a label are masked, and no other token
    assert (batch["input_ids"][real & ~labelled] > 4).all()
    assert (batch["input_ids"][~real] == CONFIG.pad_token_id).all()
    assert (batch["labels"][labelled] > 4).all()
    assert set(batch["token_type_ids"][real].tolist()) == {0, 1}
    assert set(batch["next_sentence_label"].tolist()) == {0, 1}
    assert {tensor.dtype for tensor in batch.values()} == {torch.int64}


def test_the_operations_of_a_step_are_the_mean_over_the_batches() -> None:
    steps = []
    for batch in WORK.batches():
        lengths = batch["attention_mask"].sum(1).tolist()
        masked = sum(max(1, round(0.15 * length)) for length in lengths)
        steps.append(training_flops(CONFIG, lengths, head="pretraining", masked=masked))
    assert WORK.flops() == sum(steps) // 3
    assert len(set(steps)) == 3


def test_passages_are_prose_of_mixed_length() -> None:
    texts = passages(256)
    assert len(set(texts)) == 256
    assert passages(256) == texts
    sizes = sorted(map(len, texts))
    assert sizes[0] > 50
    assert sizes[-1] < 600
    assert sizes[-1] > 4 * sizes[0]
    assert sum("the" in text for text in texts) > 128


def test_too_many_passages() -> None:
    with pytest.raises(RuntimeError, match=r"hold \d+ passages; 1000000 are needed"):
        passages(1_000_000)
