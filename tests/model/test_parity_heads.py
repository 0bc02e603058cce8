"""Every head of every family: the same logits and losses as `transformers`, and folders that go both ways, to 1e-5."""

import json
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor, nn

from bertbook import Bert, BertConfig, load_pretrained, save_pretrained
from bertbook.model.heads import HEADS
from bertbook.published import published_key
from tests.pretrained_samples import randomise, tiny_tokenizer

LABELS = ["no", "yes", "perhaps"]
SIZES: dict[str, Any] = {
    "vocab_size": 20,
    "hidden_size": 12,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 24,
    "max_position_embeddings": 16,
}
NAMED = {"id2label": dict(enumerate(LABELS)), "label2id": {label: i for i, label in enumerate(LABELS)}}
CONFIGS = {
    "bert": transformers.BertConfig(**SIZES),
    "roberta": transformers.RobertaConfig(**SIZES, type_vocab_size=1, layer_norm_eps=1e-5),
    "albert": transformers.AlbertConfig(**SIZES, embedding_size=6),
}
AUTO = {
    None: transformers.AutoModel,
    "mlm": transformers.AutoModelForMaskedLM,
    "pretraining": transformers.AutoModelForPreTraining,
    "classify": transformers.AutoModelForSequenceClassification,
    "tag": transformers.AutoModelForTokenClassification,
    "answer": transformers.AutoModelForQuestionAnswering,
}
EVERY_MODEL = [(family, head) for family in CONFIGS for head in AUTO if (family, head) != ("roberta", "pretraining")]


def reference(family: str, head: str | None, **changes: Any) -> nn.Module:
    config = CONFIGS[family].__class__(**{**CONFIGS[family].to_dict(), **changes})
    if family == "albert" and head == "pretraining":
        config.num_labels = 2  # its sentence order takes the number from here
    model = AUTO[head].from_config(config)
    randomise(model)
    return model.eval()


def random_batch(config: Any, lengths: tuple[int, ...] = (9, 4, 13)) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(1)
    longest = max(lengths)
    mask = (torch.arange(longest) < torch.tensor(lengths)[:, None]).long()
    ids = torch.randint(5, 14, mask.shape, generator=generator)
    return {
        "input_ids": torch.where(mask == 1, ids, config.pad_token_id),  # RoBERTa counts what is not [PAD]
        "token_type_ids": torch.randint(config.type_vocab_size, mask.shape, generator=generator),
        "attention_mask": mask,
    }


def labels_for(head: str | None, count: int) -> dict[str, Tensor]:
    """Labels in the shapes that each head takes, with −100 among those of tokens."""
    tokens = torch.tensor([[-100, 3, -100, 1] + [-100] * 9, [-100] * 13, [2, 0, 1, -100, 5, 6, 7] + [-100] * 6])
    given: dict[str | None, dict[str, Tensor]] = {
        None: {},
        "mlm": {"labels": tokens},
        "pretraining": {"labels": tokens, "next_sentence_label": torch.tensor([0, 1, 1])},
        "classify": {"labels": torch.tensor([2, 0, 1]) % count if count > 1 else torch.tensor([0.5, -2.0, 1.25])},
        "tag": {"labels": torch.where(tokens < 0, tokens, tokens % count)},
        "answer": {"start_positions": torch.tensor([1, 0, 12]), "end_positions": torch.tensor([3, 0, 12])},
    }
    return given[head]


def as_published(family: str, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
    """ALBERT has another name for the label of the second text."""
    return {
        name.replace("next_sentence", "sentence_order") if family == "albert" else name: x for name, x in inputs.items()
    }


def close(given: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(given, expected, atol=1e-5, rtol=0)


@torch.inference_mode()
def assert_same(ours: nn.Module, theirs: nn.Module, family: str, head: str | None) -> None:
    # Theirs seek an answer's place among padding too, ours do not.
    batch = random_batch(theirs.config, (13, 13, 13) if head == "answer" else (9, 4, 13))
    labels = labels_for(head, theirs.config.num_labels)
    given, expected = ours(**batch), theirs(**batch)
    real = batch["attention_mask"].bool()
    if head is None:
        close(given.last_hidden_state[real], expected.last_hidden_state[real])
        close(given.pooler_output, expected.pooler_output)
        return
    learning, expected_loss = ours(**batch, **labels).loss, theirs(**batch, **as_published(family, labels)).loss
    assert expected_loss > 0.1
    close(learning, expected_loss)
    assert given.loss is None
    if head == "answer":
        close(given.start_logits, expected.start_logits)
        close(given.end_logits, expected.end_logits)
    elif head == "classify":
        close(given.logits, expected.logits)
    elif head == "pretraining":
        close(given.logits[real], expected.prediction_logits[real])
        close(
            given.seq_relationship_logits,
            expected.sop_logits if family == "albert" else expected.seq_relationship_logits,
        )
    else:
        close(given.logits[real], expected.logits[real])


@pytest.mark.parametrize(("family", "head"), EVERY_MODEL)
def test_folders_go_both_ways(family: str, head: str | None, tmp_path: Path) -> None:
    theirs = reference(family, head, **({} if head in (None, "pretraining", "answer") else NAMED))
    theirs.save_pretrained(tmp_path / "theirs")
    tiny_tokenizer().save(tmp_path / "theirs")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing is missing, nothing starts untrained
        ours, tokenizer = load_pretrained(tmp_path / "theirs", head=head)
    assert type(ours) is (Bert if head is None else HEADS[head])
    assert ours.config.model_type == family
    assert_same(ours, theirs, family, head)

    save_pretrained(ours, tokenizer, tmp_path / "ours")
    back, loading = AUTO[head].from_pretrained(tmp_path / "ours", output_loading_info=True)
    assert not any(loading.values()), loading
    assert type(back) is type(theirs)
    assert back.config.architectures == [type(theirs).__name__]
    assert back.config.id2label == theirs.config.id2label
    assert_same(ours, back.eval(), family, head)
    for key, tensor in theirs.state_dict().items():
        assert torch.equal(back.state_dict()[key], tensor), key


@pytest.mark.parametrize("family", CONFIGS)
def test_regression_goes_both_ways(family: str, tmp_path: Path) -> None:
    theirs = reference(family, "classify", num_labels=1)
    theirs.save_pretrained(tmp_path / "theirs")
    tiny_tokenizer().save(tmp_path / "theirs")
    ours, tokenizer = load_pretrained(tmp_path / "theirs", head="classify")
    assert_same(ours, theirs, family, "classify")
    save_pretrained(ours, tokenizer, tmp_path / "ours")
    back = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path / "ours")
    assert back.config.num_labels == 1
    assert_same(ours, back.eval(), family, "classify")


@pytest.mark.parametrize("family", CONFIGS)
def test_layers_and_attention_agree_too(family: str, tmp_path: Path) -> None:
    theirs = AUTO[None].from_config(CONFIGS[family], attn_implementation="eager")
    randomise(theirs)
    theirs.eval().save_pretrained(tmp_path)
    tiny_tokenizer().save(tmp_path)
    ours, _ = load_pretrained(tmp_path)
    batch = random_batch(theirs.config)
    real = batch["attention_mask"].bool()
    with torch.inference_mode():
        given = ours(**batch, output_hidden_states=True, output_attentions=True)
        expected = theirs(**batch, output_hidden_states=True, output_attentions=True)
    assert len(given.hidden_states) == 3
    for one, other in zip(given.hidden_states, expected.hidden_states, strict=True):
        close(one[real], other[real])
    for one, other in zip(given.attentions, expected.attentions, strict=True):
        close(one.transpose(1, 2)[real], other.transpose(1, 2)[real])


@pytest.mark.parametrize("head", HEADS)
def test_real_weights_under_each_head(head: str, minilm_folder: Path) -> None:
    """The head's weights are fresh in ours, and copied to theirs."""
    torch.manual_seed(0)
    with pytest.warns(UserWarning, match="they start untrained"):
        ours, tokenizer = load_pretrained("minilm", head=head)
    config = transformers.AutoConfig.from_pretrained(minilm_folder)
    with torch.device("meta"):
        theirs = AUTO[head].from_config(config)
    state = {published_key(key, "bert", head): tensor for key, tensor in ours.state_dict().items()}
    for end, key in (("weight", "bert.embeddings.word_embeddings.weight"), ("bias", "cls.predictions.bias")):
        if "cls.predictions.bias" in state:
            state[f"cls.predictions.decoder.{end}"] = state[key]
    theirs.load_state_dict(state, assign=True)
    positions = torch.arange(config.max_position_embeddings)[None]
    theirs.bert.embeddings.position_ids, theirs.bert.embeddings.token_type_ids = positions, torch.zeros_like(positions)
    assert tokenizer.vocab_size == 30522
    assert_same(ours, theirs.eval(), "bert", head)


def without_files(config: BertConfig) -> tuple[Bert, nn.Module]:
    """Both models over one set of random weights: nothing is initialised twice, nothing copied."""
    with torch.device("meta"):
        ours, theirs = Bert(config), transformers.BertModel(transformers.BertConfig(**config.to_dict()))
    theirs.to_empty(device="cpu")
    randomise(theirs)
    positions = torch.arange(config.max_position_embeddings)[None]
    theirs.embeddings.position_ids, theirs.embeddings.token_type_ids = positions, torch.zeros_like(positions)
    state = theirs.state_dict()
    ours.load_state_dict({key: state[published_key(key)] for key in ours.state_dict()}, assign=True)
    return ours.eval(), theirs.eval()


@pytest.mark.parametrize("hidden", [128, 256, 512, 768])
@pytest.mark.parametrize("layers", [2, 4, 6, 8, 10, 12])
def test_the_24_published_small_shapes(layers: int, hidden: int) -> None:
    """Turc et al. 2019. The vocabulary is cut short, to save time; rows of a table are all alike."""
    assert_same(*without_files(BertConfig.preset(f"L-{layers}_H-{hidden}", vocab_size=30)), "bert", None)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["base", "large"])
def test_the_published_large_shapes(name: str) -> None:
    assert_same(*without_files(BertConfig.preset(name)), "bert", None)


def test_a_crf_is_left_out_by_others(tmp_path: Path) -> None:
    """They tag by the linear layer under it."""
    torch.manual_seed(0)
    config = BertConfig(**SIZES, id2label=NAMED["id2label"], crf=True)
    ours = HEADS["tag"](config).eval()
    randomise(ours)
    folder = save_pretrained(ours, tiny_tokenizer(), tmp_path / "ours")
    theirs, loading = AUTO["tag"].from_pretrained(folder, output_loading_info=True)
    assert loading.pop("unexpected_keys") == {"crf.start", "crf.end", "crf.transitions"}
    assert not any(loading.values())
    batch = random_batch(theirs.config)
    with torch.inference_mode():
        real = batch["attention_mask"].bool()
        close(ours(**batch).logits[real], theirs.eval()(**batch).logits[real])
    assert json.loads((folder / "config.json").read_text(encoding="utf-8"))["crf"] is True
