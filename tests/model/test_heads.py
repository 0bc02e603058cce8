"""The heads by themselves: losses against their definition, what is ignored, what is refused."""

import copy
import math
import re
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertbook import (
    BertConfig,
    BertForMaskedLM,
    BertForPreTraining,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
    LinearChainCRF,
)
from bertbook.model.heads import HEADS, BertWithHead, HeadOutput, cross_entropy
from bertbook.model.inputs import check_labels, check_targets

SIZES: dict[str, Any] = {
    "vocab_size": 30,
    "hidden_size": 12,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 24,
    "max_position_embeddings": 16,
    "initializer_range": 0.3,
}
THREE = {0: "O", 1: "B", 2: "I"}
IDS = torch.tensor([[2, 7, 9, 4, 3], [2, 8, 3, 0, 0]])
MASK = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])
TOKENS = torch.tensor([[-100, 7, -100, 1, -100], [-100, 2, -100, -100, -100]])


def made(kind: type[BertWithHead], **changes: Any) -> BertWithHead:
    torch.manual_seed(0)
    model = kind(BertConfig(**{**SIZES, **changes})).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return model


def by_hand(logits: Tensor, labels: Tensor) -> float:
    """−ln of the softmax's share of each label, one label at a time."""
    losses = [
        -math.log(math.exp(row[label]) / sum(math.exp(x) for x in row))
        for row, label in zip(logits.flatten(0, -2).tolist(), labels.flatten().tolist(), strict=True)
        if label != -100
    ]
    return sum(losses) / len(losses)


def labels_of(model: BertWithHead, nothing: bool = False) -> dict[str, Tensor]:
    """Labels that the model takes; ``nothing``: every one −100."""
    if isinstance(model, BertForQuestionAnswering):
        labels = {"start_positions": torch.tensor([1, 0]), "end_positions": torch.tensor([3, 0])}
    elif isinstance(model, BertForSequenceClassification):
        labels = {"labels": torch.tensor([1, 0])}
    elif isinstance(model, BertForTokenClassification):
        labels = {"labels": TOKENS.clamp(max=1)}
    else:
        labels = {"labels": TOKENS}
        if isinstance(model, BertForPreTraining):
            labels["next_sentence_label"] = torch.tensor([0, 1])
    return {name: torch.full_like(given, -100) if nothing else given for name, given in labels.items()}


# --- losses -----------------------------------------------------------------------------------------------------


def test_the_losses_of_pretraining_by_name() -> None:
    """Their sum is the loss; each is there with its labels alone."""
    model = made(BertForPreTraining)
    assert isinstance(model, BertForPreTraining)
    words = {"labels": TOKENS}
    pairs = {"next_sentence_label": torch.tensor([0, 1])}
    both = model(IDS, attention_mask=MASK, **words, **pairs)
    assert list(both.losses) == ["mlm", "nsp"]
    assert both.loss is not None
    torch.testing.assert_close(both.loss, both.losses["mlm"] + both.losses["nsp"])
    for name, given in (("mlm", words), ("nsp", pairs)):
        one = model(IDS, attention_mask=MASK, **given)
        assert list(one.losses) == [name]
        assert one.loss is not None
        torch.testing.assert_close(one.loss, both.losses[name])
        torch.testing.assert_close(one.losses[name], both.losses[name])
    neither = model(IDS, attention_mask=MASK)
    assert (neither.loss, neither.losses) == (None, {})


def test_masked_tokens() -> None:
    model = made(BertForMaskedLM)
    every = model(IDS, attention_mask=MASK)
    assert (every.loss, every.logits.shape) == (None, (2, 5, 30))
    chosen = model(IDS, attention_mask=MASK, labels=TOKENS)
    assert chosen.logits.shape == (3, 30)
    torch.testing.assert_close(chosen.logits, every.logits[TOKENS != -100])
    assert chosen.loss.item() == pytest.approx(by_hand(every.logits, TOKENS), abs=1e-5)
    both = model(IDS, attention_mask=MASK, labels=TOKENS, output_logits=True)
    torch.testing.assert_close(both.logits, every.logits)
    torch.testing.assert_close(both.loss, chosen.loss)


def test_masked_tokens_learn_alike_with_and_without_the_other_logits() -> None:
    gradients = []
    for output_logits in (False, True):
        model = made(BertForMaskedLM)
        model(IDS, labels=TOKENS, output_logits=output_logits).loss.backward()
        gradients.append({name: p.grad for name, p in model.named_parameters()})
    torch.testing.assert_close(*gradients)


def test_the_table_is_tied() -> None:
    """One parameter, which learns from both of its uses."""
    model = made(BertForMaskedLM)
    assert not [name for name, _ in model.named_parameters() if "decoder" in name]
    assert model.mlm.bias.shape == (30,)
    before = model(IDS).logits
    with torch.no_grad():
        model.bert.embeddings.token.weight[29] += 1  # a token that is not in the text
    after = model(IDS).logits
    assert not torch.allclose(after[..., 29], before[..., 29])
    torch.testing.assert_close(after[..., :29], before[..., :29])


def test_the_joint_loss_is_the_sum() -> None:
    model, following = made(BertForPreTraining), torch.tensor([1, 0])
    both = model(IDS, attention_mask=MASK, labels=TOKENS, next_sentence_label=following)
    tokens = model(IDS, attention_mask=MASK, labels=TOKENS)
    sentences = model(IDS, attention_mask=MASK, next_sentence_label=following)
    torch.testing.assert_close(both.loss, tokens.loss + sentences.loss)
    assert sentences.loss.item() == pytest.approx(by_hand(both.seq_relationship_logits, following), abs=1e-5)
    assert both.logits.shape == (3, 30)
    assert sentences.logits.shape == (2, 5, 30)
    assert model(IDS).loss is None


def test_classes() -> None:
    model, labels = made(BertForSequenceClassification, id2label=THREE), torch.tensor([2, -100])
    output = model(IDS, attention_mask=MASK, labels=labels)
    assert output.logits.shape == (2, 3)
    assert output.loss.item() == pytest.approx(by_hand(output.logits, labels), abs=1e-5)


def test_regression() -> None:
    model, labels = made(BertForSequenceClassification, id2label={0: "score"}), torch.tensor([0.5, -2.0])
    output = model(IDS, labels=labels)
    assert output.logits.shape == (2, 1)
    assert output.loss.item() == pytest.approx(((output.logits[:, 0] - labels) ** 2).mean().item())
    torch.testing.assert_close(model(IDS, labels=labels.double()).loss, output.loss)


def test_tags() -> None:
    model, labels = made(BertForTokenClassification, id2label=THREE), TOKENS.clamp(max=2)
    output = model(IDS, attention_mask=MASK, labels=labels)
    assert output.logits.shape == (2, 5, 3)
    assert output.loss.item() == pytest.approx(by_hand(output.logits, labels), abs=1e-5)


def test_tags_with_a_crf() -> None:
    model, labels = made(BertForTokenClassification, id2label=THREE, crf=True), TOKENS.clamp(max=2)
    output = model(IDS, attention_mask=MASK, labels=labels)
    crf = LinearChainCRF(3)
    crf.load_state_dict(model.crf.state_dict())
    assert crf.transitions.any()
    expected = -crf.log_likelihood(output.logits, labels).sum() / 3  # three labelled tokens
    torch.testing.assert_close(output.loss, expected)
    output.loss.backward()
    assert model.crf.transitions.grad.any()
    assert model.bert.embeddings.token.weight.grad.any()


def test_answers() -> None:
    model, start, end = made(BertForQuestionAnswering), torch.tensor([1, 0]), torch.tensor([-100, 4])
    output = model(IDS, start_positions=start, end_positions=end)
    assert output.logits.shape == (2, 5, 2)
    assert torch.equal(torch.stack([output.start_logits, output.end_logits], dim=-1), output.logits)
    expected = (by_hand(output.start_logits, start) + by_hand(output.end_logits, end)) / 2
    assert output.loss.item() == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("head", HEADS)
def test_without_a_single_label_nothing_is_learnt(head: str) -> None:
    model = made(HEADS[head])
    output = model(IDS, attention_mask=MASK, **labels_of(model, nothing=True))
    assert output.loss.item() == 0
    output.loss.backward()
    assert all(p.grad is None or not p.grad.any() for p in model.parameters())


def test_a_crf_without_a_single_label_is_refused() -> None:
    model = made(BertForTokenClassification, crf=True)
    with pytest.raises(ValueError, match="every label of the batch is -100"):
        model(IDS, labels=torch.full_like(IDS, -100))


@pytest.mark.parametrize("head", HEADS)
def test_every_weight_learns_but_those_that_softmax_does_not_see(head: str) -> None:
    """The bias of the keys shifts all scores of a query alike; what shifts every token's vector or both of its
    logits alike does not move an answer."""
    unseen = ["attention.key.bias", *(["layers.1.feed_forward_norm.bias", "answer.bias"] if head == "answer" else [])]
    model = made(HEADS[head])
    model(IDS, attention_mask=MASK, **labels_of(model)).loss.backward()
    for name, parameter in model.named_parameters():
        largest = float(parameter.grad.abs().max())
        assert largest < 1e-6 if name.endswith(tuple(unseen)) else largest > 1e-6, name


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision(head: str, dtype: torch.dtype, device: str) -> None:
    """A mask as a large negative number would overflow; a sum of losses too, in float16 from 65 504."""
    model = made(HEADS[head]).to(device)
    batch = {"input_ids": IDS.to(device), "attention_mask": MASK.to(device)}
    labels = {name: given.to(device) for name, given in labels_of(model).items()}
    exact = model(**batch, **labels)
    half = copy.deepcopy(model).to(dtype)
    output = half(**batch, **labels)
    assert output.logits.dtype == dtype
    assert output.logits.isfinite().all()
    assert output.loss.dtype == torch.float32
    torch.testing.assert_close(output.loss, exact.loss, atol=64 * torch.finfo(dtype).eps, rtol=0)
    output.loss.backward()
    assert all(p.grad.isfinite().all() for p in half.parameters())


def test_a_sum_of_losses_that_float16_cannot_hold() -> None:
    logits = torch.zeros(70_000, 3, dtype=torch.float16)
    loss = cross_entropy(logits, torch.zeros(70_000).long())
    assert loss.item() == pytest.approx(math.log(3), abs=1e-4)


def test_dropout_before_the_classifier_acts_in_training_only() -> None:
    quiet = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "classifier_dropout": 0.5}
    for kind in (BertForSequenceClassification, BertForTokenClassification):
        model = made(kind, **quiet).train()
        assert not torch.equal(model(IDS).logits, model(IDS).logits)
        model.eval()
        assert torch.equal(model(IDS).logits, model(IDS).logits)


@pytest.mark.parametrize("head", HEADS)
def test_fresh_heads(head: str) -> None:
    torch.manual_seed(0)
    model = HEADS[head](BertConfig(**{**SIZES, "initializer_range": 0.02, "hidden_size": 120}))
    for name, parameter in model.named_parameters():
        if "norm" in name and name.endswith("weight"):
            assert (parameter == 1).all(), name
        elif name.endswith("bias"):
            assert (parameter == 0).all(), name
        else:
            assert 0 < parameter.abs().max() <= 0.04, name


@pytest.mark.parametrize("head", HEADS)
def test_what_the_encoder_returns_comes_along(head: str) -> None:
    model = made(HEADS[head])
    output: HeadOutput = model(IDS, output_attentions=True, output_hidden_states=True)
    assert len(output.hidden_states) == 3
    assert [weights.shape for weights in output.attentions] == [(2, 3, 5, 5)] * 2
    assert torch.equal(output.hidden_states[-1], output.encoder.last_hidden_state)
    assert (model(IDS).hidden_states, model(IDS).attentions) == (None, None)


# --- what is refused --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("head", HEADS)
def test_segments_cannot_be_taken_for_the_mask(head: str) -> None:
    with pytest.raises(TypeError, match="positional"):
        made(HEADS[head])(IDS, MASK)


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"input_ids": IDS + 25}, "input_ids from 25 to 34: each must be from 0 to 29"),
        ({"input_ids": IDS[:0]}, "input_ids of shape (0, 5): the batch is empty"),
        ({"input_ids": IDS, "token_type_ids": 2 * MASK}, "token_type_ids from 0 to 2: each must be from 0 to 1"),
        ({"input_ids": IDS, "attention_mask": MASK - 1}, "attention_mask from -1 to 0: each must be from 0 to 1"),
    ],
)
def test_the_encoders_checks_hold(head: str, inputs: dict[str, Tensor], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        made(HEADS[head])(**inputs)


@pytest.mark.parametrize("wrong", [30, -1, -99])
def test_labels_out_of_range(wrong: int) -> None:
    labels = TOKENS.clone()
    labels[0, 1] = wrong
    message = f"labels holds {wrong}: each must be from 0 to 29, or -100 where there is no label"
    for kind in (BertForMaskedLM, BertForPreTraining):
        with pytest.raises(ValueError, match=message):
            made(kind)(IDS, labels=labels)


@pytest.mark.parametrize(
    ("model", "labels", "message"),
    [
        (
            made(BertForPreTraining),
            {"next_sentence_label": [0, 2]},
            "next_sentence_label holds 2: each must be from 0 to 1",
        ),
        (made(BertForSequenceClassification), {"labels": [0, 2]}, "labels holds 2: each must be from 0 to 1"),
        (made(BertForTokenClassification), {"labels": TOKENS.tolist()}, "labels holds 7: each must be from 0 to 1"),
        (made(BertForTokenClassification, crf=True), {"labels": TOKENS.tolist()}, "labels holds 7: each must be from"),
        (
            made(BertForQuestionAnswering),
            {"start_positions": [5, 0], "end_positions": [4, 0]},
            "start_positions holds 5: each must be from 0 to 4",
        ),
        (
            made(BertForQuestionAnswering),
            {"start_positions": [1, 0], "end_positions": [-1, 0]},
            "end_positions holds -1: each must be from 0 to 4",
        ),
        (made(BertForQuestionAnswering), {"start_positions": [1, 0]}, "start_positions and end_positions go together"),
        (
            made(BertForSequenceClassification, id2label={0: "score"}),
            {"labels": [1, 0]},
            "labels of shape (2,) and type torch.int64: this model has one label, so it learns numbers",
        ),
        (
            made(BertForSequenceClassification),
            {"labels": [1.0, 0.0]},
            "labels of type torch.float32: expected torch.int64",
        ),
    ],
)
def test_labels_that_do_not_fit_the_head(model: nn.Module, labels: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        model(IDS, **{name: torch.tensor(given) for name, given in labels.items()})


@pytest.mark.parametrize("packing", [False, True])
@pytest.mark.parametrize("changes", [{}, {"crf": True, "id2label": THREE}, {"id2label": THREE}])
@pytest.mark.parametrize("head", ["mlm", "pretraining", "tag"])
def test_a_loss_over_padding_is_refused(head: str, changes: dict[str, Any], packing: bool) -> None:
    """The mistake that runs in silence elsewhere: labels of 0, say, wherever there is padding."""
    model = made(HEADS[head], **changes)
    model.bert.packing = packing
    labels = torch.where(MASK == 1, -100, 0)
    message = "labels holds 0 at token 3 of row 1, which is padding (attention_mask 0), and 2 such labels in all"
    with pytest.raises(ValueError, match=re.escape(message)):
        model(IDS, attention_mask=MASK, labels=labels)


def test_an_answer_in_the_padding_is_refused() -> None:
    model = made(BertForQuestionAnswering)
    positions = {"start_positions": torch.tensor([4, 0]), "end_positions": torch.tensor([4, 3])}
    message = "end_positions names token 3 of row 1, which is padding (attention_mask 0): an answer lies among"
    with pytest.raises(ValueError, match=re.escape(message)):
        model(IDS, attention_mask=MASK, **positions)
    assert model(IDS, **positions).loss.isfinite()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_padding_is_no_answer(dtype: torch.dtype) -> None:
    """Its logits are the lowest there are: neither an argmax nor the loss hangs on how much padding there is."""
    model = made(BertForQuestionAnswering).to(dtype)
    positions = {"start_positions": torch.tensor([1, -100]), "end_positions": torch.tensor([2, 2])}
    out = model(IDS, attention_mask=MASK, **positions)
    assert (out.logits[1, 3:] == torch.finfo(dtype).min).all()
    assert (out.start_logits[1].argmax(), out.end_logits[1].argmax()) < (3, 3)
    wider = [F.pad(x, (0, 6)) for x in (IDS, MASK)]
    again = model(wider[0], attention_mask=wider[1], **positions)
    torch.testing.assert_close(again.loss, out.loss, atol=8 * torch.finfo(dtype).eps, rtol=0)
    out.loss.backward()
    assert all(p.grad.isfinite().all() for p in model.parameters())


@pytest.mark.parametrize(
    ("labels", "error", "message"),
    [
        ([1, 0], TypeError, "labels is list: expected a tensor"),
        (torch.tensor([1, 0, 0]), ValueError, "labels of shape (3,): expected (2,)"),
        (torch.tensor([[1, 0]]), ValueError, "labels of shape (1, 2): expected (2,)"),
        (
            torch.tensor([True, False]),
            ValueError,
            "labels of type torch.bool: expected torch.int64; pass labels.long()",
        ),
    ],
)
def test_label_shapes(labels: Any, error: type[Exception], message: str) -> None:
    """Asked directly: in tests, the shapes in the signatures are checked before."""
    with pytest.raises(error, match=re.escape(message)):
        check_labels("labels", labels, (2,), 3)


@pytest.mark.parametrize(
    ("labels", "error", "message"),
    [
        ([1.0], TypeError, "labels is list: expected a tensor"),
        (torch.zeros(2, 1), ValueError, "labels of shape (2, 1) and type torch.float32: this model has one label"),
        (torch.tensor([0.5, math.nan]), ValueError, "labels hold a NaN or an infinity"),
        (torch.tensor([math.inf, 0.5]), ValueError, "labels hold a NaN or an infinity"),
    ],
)
def test_targets(labels: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        check_targets(labels, 2)


def test_cross_entropy_is_that_of_pytorch() -> None:
    logits, labels = torch.randn(4, 5, 7, dtype=torch.float64), torch.randint(7, (4, 5))
    labels[0, :3] = -100
    torch.testing.assert_close(cross_entropy(logits, labels), F.cross_entropy(logits.flatten(0, 1), labels.flatten()))
