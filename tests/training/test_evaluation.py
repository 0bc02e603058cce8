"""Held-out text: the numbers against a plain computation, and against guessing by frequency."""

import math
from random import Random
from typing import Any

import pytest
import torch
from accelerate import Accelerator

from bertbook import BertConfig, BertForMaskedLM, BertForPreTraining
from bertbook.text.masking import MaskingPolicy
from bertbook.text.pair_examples import PairExample
from bertbook.text.pairs import Objective, sentence_pairs
from bertbook.training.evaluation import HeldOut, count_tokens, unigram_baseline
from tests.text.pair_samples import TOKENIZER, documents

SIZES: dict[str, Any] = {
    "vocab_size": len(TOKENIZER), "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
    "intermediate_size": 32, "initializer_range": 0.5,
}  # fmt: skip


def some(objective: Objective) -> list[PairExample]:
    texts = documents(6, Random(0), sentences=(3, 6), tokens=(3, 9), sources=1)
    return list(sentence_pairs(texts, TOKENIZER, objective=objective, max_length=24))


@pytest.mark.parametrize("objective", ["none", "nsp", "sop"])
def test_as_one_text_after_the_other(objective: Objective) -> None:
    """Each text alone, without padding: −ln of the softmax at its masked places, and how often the best is right."""
    examples = some(objective)
    torch.manual_seed(0)
    model = (BertForMaskedLM if objective == "none" else BertForPreTraining)(BertConfig(**SIZES)).eval()
    words, pairs = [], []
    # Which number an example has does not hang on the batches, so 15% of them all are masked with seed 0 by number.
    policy = MaskingPolicy(TOKENIZER, 0.15, seed=0)
    for index, example in enumerate(examples):
        ids, labels = policy.at(0, index)(torch.tensor([example.input_ids]))
        with torch.no_grad():
            output = model(ids, token_type_ids=torch.tensor([example.token_type_ids]))
        for logits, label in zip(output.logits[0], labels[0].tolist(), strict=True):
            if label != -100:
                words.append((-float(torch.log_softmax(logits, 0)[label]), int(logits.argmax()) == label))
        if example.label is not None:
            logits = output.seq_relationship_logits[0]  # type: ignore[union-attr]
            pairs.append((-float(torch.log_softmax(logits, 0)[example.label]), int(logits.argmax()) == example.label))
    expected = {}
    for name, found in (("mlm", words), ("nsp", pairs)):
        if found:
            expected[f"{name}_loss"] = sum(loss for loss, _ in found) / len(found)
            expected[f"{name}_accuracy"] = sum(hit for _, hit in found) / len(found)
    assert len(words) > 20
    for batch_size in (1, 4, 1000):
        with torch.no_grad():
            got = HeldOut(examples, TOKENIZER, batch_size)(model, Accelerator(cpu=True))
        assert got == pytest.approx(expected, rel=1e-4)


def test_the_masks_are_always_the_same() -> None:
    one = HeldOut(some("nsp"), TOKENIZER, 4)
    torch.manual_seed(5)
    two = HeldOut(some("nsp"), TOKENIZER, 4)
    for first, second in zip(one.batches, two.batches, strict=True):
        assert first.keys() == second.keys()
        assert all(torch.equal(first[name], second[name]) for name in first)
    masked, all_of_them = len(one.labels), sum(int(batch["attention_mask"].sum()) for batch in one.batches)
    assert 0.08 < masked / all_of_them < 0.2


class TestBaseline:
    def test_as_counted_by_hand(self) -> None:
        """Tokens 5 (three times), 6 (once) and 7 (never) in a vocabulary of 8; 5, 5, 6 and 7 are to be guessed."""
        share = {token: (count + 1) / (4 + 8) for token, count in ((5, 3), (6, 1), (7, 0))}
        expected = -(2 * math.log(share[5]) + math.log(share[6]) + math.log(share[7])) / 4
        found = unigram_baseline({5: 3, 6: 1}, torch.tensor([5, 6, 7, 5]), 8)
        assert found == pytest.approx({"mlm_loss": expected, "mlm_accuracy": 0.5})

    def test_its_shares_are_a_distribution(self) -> None:
        counts = count_tokens(some("none"), TOKENIZER)
        losses = [
            unigram_baseline(counts, torch.tensor([token]), len(TOKENIZER))["mlm_loss"]
            for token in range(len(TOKENIZER))
        ]
        assert sum(math.exp(-loss) for loss in losses) == pytest.approx(1)

    def test_counts_leave_out_what_is_never_masked(self) -> None:
        examples = some("nsp")
        counts = count_tokens(examples, TOKENIZER)
        expected: dict[int, int] = {}
        for example in examples:
            for token in (*example.first, *(example.second or ())):
                expected[token] = expected.get(token, 0) + 1
        assert dict(counts) == expected

    def test_a_model_that_knows_frequencies_alone_scores_it(self) -> None:
        """Logits that are the logarithms of the shares, whatever the text: the same loss through both ways."""
        examples = some("none")
        counts = count_tokens(examples, TOKENIZER)
        held_out = HeldOut(examples, TOKENIZER, 4)
        model = BertForMaskedLM(BertConfig(**SIZES)).eval()
        with torch.no_grad():
            model.bert.embeddings.token.weight.zero_()
            model.mlm.bias.copy_(torch.log(torch.tensor([counts[token] + 1.0 for token in range(len(TOKENIZER))])))
            found = held_out(model, Accelerator(cpu=True))
        assert found == pytest.approx(unigram_baseline(counts, held_out.labels, len(TOKENIZER)), rel=1e-5)
