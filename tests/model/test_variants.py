"""The variants: each against its definition, and all under the same guarantees as BERT."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from bertbook import Bert, BertConfig
from bertbook.model.embeddings import Sinusoids

SIZES: dict[str, Any] = {
    "vocab_size": 60,
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 40,
    "initializer_range": 0.2,
}
VARIANTS: dict[str, dict[str, Any]] = {
    "BERT": {},
    "sinusoidal": {"position_embedding_type": "sinusoidal"},
    "pre-norm": {"norm_first": True},
    "ALBERT": {"share_layers": True, "embedding_size": 10},
    "RoBERTa": {"position_offset": 2, "pad_token_id": 1, "type_vocab_size": 1},
    "all at once": {
        "position_embedding_type": "sinusoidal",
        "norm_first": True,
        "share_layers": True,
        "embedding_size": 10,
        "type_vocab_size": 1,
    },
}


def made(changes: dict[str, Any]) -> Bert:
    torch.manual_seed(0)
    model = Bert(BertConfig(**{**SIZES, **changes})).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model


def batch() -> dict[str, Tensor]:
    torch.manual_seed(1)
    mask = (torch.arange(11) < torch.tensor([11, 4, 1])[:, None]).long()
    return {"input_ids": torch.randint(60, mask.shape), "attention_mask": mask}


@pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS)
def test_both_paths_agree_and_padding_changes_nothing(changes: dict[str, Any], device: str) -> None:
    model, given = made(changes).to(device), {name: tensor.to(device) for name, tensor in batch().items()}
    real = given["attention_mask"].bool()
    fast = model(**given)
    readable = model(**given, output_attentions=True)
    torch.testing.assert_close(fast.last_hidden_state[real], readable.last_hidden_state[real], atol=1e-5, rtol=0)
    assert len(readable.attentions) == 3
    for row, length in enumerate((11, 4, 1)):
        alone = model(given["input_ids"][row : row + 1, :length])
        torch.testing.assert_close(fast.last_hidden_state[row, :length], alone.last_hidden_state[0], atol=1e-5, rtol=0)


@pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS)
def test_every_weight_learns(changes: dict[str, Any]) -> None:
    model, given = made(changes).double(), batch()
    output = model(**given)
    (output.last_hidden_state[given["attention_mask"] == 1].cos().sum() + output.pooler_output.sum()).backward()
    for name, parameter in model.named_parameters():
        largest = float(parameter.grad.abs().max())
        assert largest < 1e-12 if name.endswith("attention.key.bias") else largest > 1e-6, name


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS)
def test_half_precision(changes: dict[str, Any], dtype: torch.dtype) -> None:
    given = batch()
    output = made(changes).to(dtype)(**given)
    assert output.last_hidden_state.dtype == dtype
    assert output.last_hidden_state.isfinite().all()


# --- positions --------------------------------------------------------------------------------------------------


def test_sines_and_cosines() -> None:
    table = Sinusoids(6)(torch.tensor([0, 1, 7]))
    for row, position in enumerate((0, 1, 7)):
        for i in range(3):
            angle = position / 10000 ** (2 * i / 6)
            assert table[row, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-6)
            assert table[row, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-6)


def test_a_step_is_a_rotation_wherever_it_is_taken() -> None:
    """What Vaswani et al. chose them for: PE(pos + k) is one linear function of PE(pos)."""
    table = Sinusoids(8)(torch.arange(50)).double()
    step = torch.linalg.lstsq(table[:40], table[5:45]).solution
    torch.testing.assert_close(table[:45] @ step, table[5:], atol=1e-4, rtol=0)


def test_sinusoidal_positions_have_no_end_and_no_weights() -> None:
    model = made(VARIANTS["sinusoidal"])
    assert not [name for name in model.state_dict() if "position" in name]
    assert model(torch.randint(60, (1, 100))).last_hidden_state.isfinite().all()


def test_neighbours_stay_apart_in_bfloat16() -> None:
    """As a bfloat16, 257 is 256."""
    model = made({"position_embedding_type": "sinusoidal", "num_hidden_layers": 1}).bfloat16()
    vectors = model.embeddings(torch.full((1, 300), 7), torch.zeros(1, 300).long())[0]
    assert not torch.equal(vectors[256], vectors[257])


def test_roberta_counts_from_the_padding_id_on() -> None:
    model = made(VARIANTS["RoBERTa"])
    given = batch()["input_ids"][:1]
    before = model(given).last_hidden_state
    with torch.no_grad():
        model.embeddings.position.weight[:2] = 100.0  # rows that no text reaches
    assert torch.equal(model(given).last_hidden_state, before)
    assert model(torch.zeros(1, 38).long()).last_hidden_state.shape == (1, 38, 32)
    with pytest.raises(ValueError, match="sequence of 39 tokens; this model has 38 positions; pass max_length=38"):
        model(torch.zeros(1, 39).long())


def test_roberta_has_no_second_segment() -> None:
    with pytest.raises(ValueError, match="token_type_ids from 1 to 1: each must be from 0 to 0"):
        made(VARIANTS["RoBERTa"])(torch.zeros(1, 3).long(), token_type_ids=torch.ones(1, 3).long())


# --- layers -----------------------------------------------------------------------------------------------------


@torch.no_grad()
def test_pre_norm_against_its_definition() -> None:
    model, ids = made(VARIANTS["pre-norm"]), batch()["input_ids"]
    output = model(ids, output_hidden_states=True)
    hidden = output.hidden_states[0]
    for layer, expected in zip(model.layers, output.hidden_states[1:], strict=True):
        hidden = hidden + layer.attention(layer.attention_norm(hidden))[0]
        hidden = hidden + layer.feed_forward(layer.feed_forward_norm(hidden))
        torch.testing.assert_close(hidden, expected)
    torch.testing.assert_close(model.norm(hidden), output.last_hidden_state)
    assert isinstance(model.norm, nn.LayerNorm)


def test_pre_norm_of_pytorch_is_the_same() -> None:
    """An independent implementation of one layer."""
    model = made({**VARIANTS["pre-norm"], "num_hidden_layers": 1})
    ours, hidden = model.layers[0], torch.randn(2, 5, 32)
    theirs = nn.TransformerEncoderLayer(
        32, 4, 64, activation="gelu", layer_norm_eps=1e-12, batch_first=True, norm_first=True
    )
    names = {
        "self_attn.out_proj": ours.attention.output,
        "linear1": ours.feed_forward.up,
        "linear2": ours.feed_forward.down,
        "norm1": ours.attention_norm,
        "norm2": ours.feed_forward_norm,
    }
    state = {f"{name}.{kind}": getattr(part, kind) for name, part in names.items() for kind in ("weight", "bias")}
    for kind in ("weight", "bias"):
        parts = (ours.attention.query, ours.attention.key, ours.attention.value)
        state[f"self_attn.in_proj_{kind}"] = torch.cat([getattr(part, kind) for part in parts])
    theirs.load_state_dict(state)
    torch.testing.assert_close(ours(hidden)[0], theirs.eval()(hidden), atol=1e-5, rtol=0)


def test_shared_layers_are_one_layer_run_again() -> None:
    shared = made(VARIANTS["ALBERT"])
    assert len(shared.layers) == 1
    apart = made({**VARIANTS["ALBERT"], "share_layers": False})
    assert len(apart.layers) == 3
    state = shared.state_dict()
    apart.load_state_dict(
        {
            key: state[key.replace("layers.1.", "layers.0.").replace("layers.2.", "layers.0.")]
            for key in apart.state_dict()
        }
    )
    ids = batch()["input_ids"]
    torch.testing.assert_close(shared(ids).last_hidden_state, apart(ids).last_hidden_state)


def test_factorised_embeddings() -> None:
    """V · E + E · H numbers instead of V · H: the product of two matrices is one of a low rank."""
    model = made(VARIANTS["ALBERT"])
    assert {name: tuple(p.shape) for name, p in model.embeddings.named_parameters() if name.endswith("weight")} == {
        "token.weight": (60, 10),
        "segment.weight": (2, 10),
        "position.weight": (40, 10),
        "norm.weight": (10,),
        "projection.weight": (32, 10),
    }
    vectors = model.embeddings(torch.arange(60)[None, :40], torch.zeros(1, 40).long())[0]
    centred = vectors - model.embeddings.projection.bias
    assert torch.linalg.matrix_rank(centred.double(), atol=1e-4) == 10


def test_albert_in_its_published_size() -> None:
    with torch.device("meta"):
        model = Bert(
            BertConfig.from_dict(
                {"model_type": "albert", "hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072}
            )
        )
    assert sum(parameter.numel() for parameter in model.parameters()) == 11_683_584
