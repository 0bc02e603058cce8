"""The same numbers as `transformers`, layer by layer, to 1e-5 in float32."""

import copy
from pathlib import Path

import pytest
import torch
import transformers
from torch import Tensor

from bertbook import Bert, BertConfig, Tokenizer, record_attention
from bertbook.published import published_key

SHAPES = {
    "tiny": BertConfig.preset("tiny", vocab_size=500),
    "mini": BertConfig.preset("mini", vocab_size=300),
    "three heads, three segments, relu": BertConfig(
        vocab_size=97,
        hidden_size=48,
        num_hidden_layers=3,
        num_attention_heads=3,
        intermediate_size=100,
        hidden_act="relu",
        max_position_embeddings=33,
        type_vocab_size=3,
        layer_norm_eps=1e-5,
    ),
    "one layer, one head, gelu_new": BertConfig(
        vocab_size=50,
        hidden_size=20,
        num_hidden_layers=1,
        num_attention_heads=1,
        intermediate_size=7,
        hidden_act="gelu_new",
        type_vocab_size=1,
    ),
    "deep and narrow": BertConfig(
        vocab_size=80, hidden_size=24, num_hidden_layers=12, num_attention_heads=12, intermediate_size=96
    ),
}
TEXTS = [
    "The animal didn't cross the street because it was too tired.",
    ("It rained.", "Nobody minded, since everybody had stayed at home."),
    "",
    ("今天天气很好", "<script>alert('x')</script> 👍🏽 [MASK]"),
]


def reference_model(config: BertConfig) -> transformers.BertModel:
    """Random in every weight: biases of 0 and LayerNorm weights of 1, as at the start, would hide mistakes."""
    reference = transformers.BertModel._from_config(
        transformers.BertConfig(**config.to_dict()), attn_implementation="eager"
    )
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, parameter in reference.named_parameters():
            centre = 1.0 if "LayerNorm.weight" in name else 0.0
            spread = 0.2 if parameter.ndim == 1 else parameter.shape[1] ** -0.5  # keeps activations near 1
            parameter.copy_(centre + spread * torch.randn(parameter.shape, generator=generator))
    return reference.eval()


def own_model(config: BertConfig, reference: transformers.BertModel) -> Bert:
    model = Bert(config).to(reference.dtype).eval()
    state = reference.state_dict()
    model.load_state_dict({key: state[published_key(key)] for key in model.state_dict()})
    return model


def random_batch(config: BertConfig) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(1)
    lengths = torch.tensor([17, 1, 9, 30])
    shape = (len(lengths), 30)
    return {
        "input_ids": torch.randint(config.vocab_size, shape, generator=generator),
        "token_type_ids": torch.randint(config.type_vocab_size, shape, generator=generator),
        "attention_mask": (torch.arange(30) < lengths[:, None]).long(),
    }


@torch.inference_mode()
def assert_same(
    model: Bert,
    reference: transformers.BertModel,
    batch: dict[str, Tensor],
    device: str = "cpu",
    tolerance: float = 1e-5,
) -> None:
    model, reference = copy.deepcopy(model).to(device), copy.deepcopy(reference).to(device)
    batch = {name: tensor.to(device) for name, tensor in batch.items()}
    theirs = reference(**batch, output_hidden_states=True, output_attentions=True)
    ours = model(**batch, output_hidden_states=True, output_attentions=True)
    fast = model(**batch)
    real = batch["attention_mask"].bool()  # (B, S)

    def close(given: Tensor, expected: Tensor) -> None:
        torch.testing.assert_close(given, expected, atol=tolerance, rtol=0)

    for ours_or_fast in (ours, fast):
        close(ours_or_fast.last_hidden_state[real], theirs.last_hidden_state[real])
        close(ours_or_fast.pooler_output, theirs.pooler_output)
    assert len(ours.hidden_states) == len(theirs.hidden_states) == model.config.num_hidden_layers + 1
    for given, expected in zip(ours.hidden_states, theirs.hidden_states, strict=True):
        close(given[real], expected[real])
    for given, expected in zip(ours.attentions, theirs.attentions, strict=True):
        close(given.transpose(1, 2)[real], expected.transpose(1, 2)[real])  # the rows of real queries: (n, h, S)


@pytest.mark.parametrize("config", SHAPES.values(), ids=SHAPES)
def test_random_weights(config: BertConfig, device: str) -> None:
    reference = reference_model(config)
    assert_same(own_model(config, reference), reference, random_batch(config), device)


@pytest.mark.parametrize("config", SHAPES.values(), ids=SHAPES)
def test_random_weights_in_double_precision(config: BertConfig) -> None:
    """With rounding out of the way even a wrong epsilon in one LayerNorm shows."""
    reference = reference_model(config).double()
    assert_same(own_model(config, reference), reference, random_batch(config), tolerance=1e-12)


def test_real_weights(minilm: tuple[Bert, Tokenizer], minilm_folder: Path, device: str) -> None:
    model, tokenizer = minilm
    reference = transformers.BertModel.from_pretrained(minilm_folder, attn_implementation="eager")
    assert_same(model, reference, tokenizer(TEXTS), device)


def test_real_weights_in_double_precision(minilm: tuple[Bert, Tokenizer], minilm_folder: Path) -> None:
    model, tokenizer = minilm
    reference = transformers.BertModel.from_pretrained(minilm_folder, attn_implementation="eager").double()
    assert_same(copy.deepcopy(model).double(), reference, tokenizer(TEXTS), tolerance=1e-12)


def test_real_weights_at_full_length(minilm: tuple[Bert, Tokenizer], minilm_folder: Path) -> None:
    model, tokenizer = minilm
    reference = transformers.BertModel.from_pretrained(minilm_folder, attn_implementation="eager")
    text = "What goes in at one end must come out at the other. " * 60
    batch = tokenizer([text, ("Short.", text)], max_length=512)
    assert batch["input_ids"].shape == (2, 512)
    assert_same(model, reference, batch)


@pytest.mark.parametrize("pair", [None, "It slept all day."])
def test_attention_record(minilm: tuple[Bert, Tokenizer], minilm_folder: Path, pair: str | None) -> None:
    text = "The cat sat on the mat because it was tired."
    record = record_attention(*minilm, text, pair)
    tokenizer = transformers.AutoTokenizer.from_pretrained(minilm_folder)
    reference = transformers.BertModel.from_pretrained(minilm_folder, attn_implementation="eager")
    batch = tokenizer(text, pair, return_tensors="pt")
    with torch.inference_mode():
        weights = torch.cat(reference(**batch, output_attentions=True).attentions)
    assert list(record.tokens) == tokenizer.convert_ids_to_tokens(batch["input_ids"][0])
    assert record.segments.tolist() == batch["token_type_ids"][0].tolist()
    assert record.weights.shape == (6, 12, len(record), len(record))
    torch.testing.assert_close(torch.from_numpy(record.weights), weights, atol=1e-5, rtol=0)


@pytest.mark.parametrize("config", SHAPES.values(), ids=SHAPES)
def test_every_weight_has_its_published_name(config: BertConfig) -> None:
    ours = Bert(config).state_dict()
    theirs = reference_model(config).state_dict()
    assert {published_key(key): tensor.shape for key, tensor in ours.items()} == {
        key: tensor.shape for key, tensor in theirs.items() if "position_ids" not in key
    }


@pytest.mark.parametrize(
    ("preset", "count"), [("base", 109_482_240), ("large", 335_141_888), ("base-chinese", 102_267_648)]
)
def test_published_sizes(preset: str, count: int) -> None:
    with torch.device("meta"):
        model = Bert(BertConfig.preset(preset))
    assert sum(parameter.numel() for parameter in model.parameters()) == count
