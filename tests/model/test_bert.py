"""What must hold for every BERT, whatever its weights."""

import copy
import subprocess
import sys
from typing import Any

import pytest
import torch
from torch import Tensor

from bertbook import Bert, BertConfig
from bertbook.model.bert import BertOutput

SMALL: dict[str, Any] = {
    "vocab_size": 60,
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 40,
    "initializer_range": 0.2,  # wide, so that attention is far from uniform
}
NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}


def small(**changes: Any) -> Bert:
    torch.manual_seed(0)
    return Bert(BertConfig(**{**SMALL, **changes}))


def batch(lengths: tuple[int, ...] = (11, 4, 1)) -> dict[str, Tensor]:
    torch.manual_seed(1)
    shape = (len(lengths), max(lengths))
    return {
        "input_ids": torch.randint(60, shape),
        "token_type_ids": torch.randint(2, shape),
        "attention_mask": (torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]).long(),
    }


def loss(output: BertOutput, real: Tensor) -> Tensor:
    """Any number that depends on everything that means something."""
    return output.last_hidden_state[real].cos().sum() + output.pooler_output.sin().sum()


@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("training", [True, False])
def test_both_paths_give_the_same_result_and_gradients(masked: bool, training: bool, device: str) -> None:
    given = {name: tensor.to(device) for name, tensor in batch().items()}
    real = given["attention_mask"].bool() if masked else torch.ones_like(given["attention_mask"]).bool()
    if not masked:
        del given["attention_mask"]
    model = small(**NO_DROPOUT).to(device).train(training)
    results = []
    for readable in (False, True):
        model.zero_grad()
        output = model(**given, output_attentions=readable)
        loss(output, real).backward()
        gradients = {name: parameter.grad.clone() for name, parameter in model.named_parameters()}
        results.append((output.last_hidden_state[real], output.pooler_output, gradients))
    torch.testing.assert_close(*results, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_both_paths_agree_in_half_precision(dtype: torch.dtype, device: str) -> None:
    given = {name: tensor.to(device) for name, tensor in batch().items()}
    real = given["attention_mask"].bool()
    model = small().eval()
    exact = model.to(device)(**given).last_hidden_state[real]
    half = model.to(dtype)
    with torch.inference_mode():
        fast = half(**given).last_hidden_state[real]
        readable = half(**given, output_attentions=True).last_hidden_state[real]
    assert fast.dtype == readable.dtype == dtype
    tolerance = 16 * torch.finfo(dtype).eps  # values near 1, a dozen roundings on the way
    torch.testing.assert_close(fast, readable, atol=tolerance, rtol=0)
    torch.testing.assert_close(fast.float(), exact, atol=tolerance, rtol=0)


def test_padding_changes_nothing() -> None:
    model, given = small().eval(), batch()
    output = model(**given, output_attentions=True)
    other = {**given, "input_ids": torch.where(given["attention_mask"] == 1, given["input_ids"], 7)}
    torch.testing.assert_close(model(**other).last_hidden_state[:, 0], output.last_hidden_state[:, 0])
    for row, length in enumerate((11, 4, 1)):
        alone = model(**{name: tensor[row : row + 1, :length] for name, tensor in given.items()})
        torch.testing.assert_close(output.last_hidden_state[row, :length], alone.last_hidden_state[0])
        torch.testing.assert_close(output.pooler_output[row], alone.pooler_output[0])
        assert all((weights[row, :, :, length:] == 0).all() for weights in output.attentions)


def test_rows_of_attention_sum_to_one() -> None:
    for weights in small().eval()(**batch(), output_attentions=True).attentions:
        assert weights.shape == (3, 4, 11, 11)
        assert (weights >= 0).all()
        torch.testing.assert_close(weights.sum(-1), torch.ones(3, 4, 11))


def test_a_sequence_of_padding_alone_gives_numbers_not_nan() -> None:
    given = batch()
    given["attention_mask"][1] = 0
    model = small(**NO_DROPOUT)
    for readable in (True, False):
        model.zero_grad()
        output = model(**given, output_attentions=readable)
        output.last_hidden_state.cos().sum().backward()
        assert output.last_hidden_state.isfinite().all()
        assert all(p.grad.isfinite().all() for p in model.parameters() if p.grad is not None)


def test_without_positions_order_is_invisible() -> None:
    model, given = small().eval(), {name: tensor[:1] for name, tensor in batch().items()}
    order = torch.tensor([0, 7, 2, 5, 10, 1, 9, 3, 8, 4, 6])
    shuffled = {name: tensor[:, order] for name, tensor in given.items()}

    def difference() -> float:
        before, after = model(**given).last_hidden_state, model(**shuffled).last_hidden_state
        return (before[:, order] - after).abs().max().item()

    assert difference() > 0.1  # with positions the same tokens in another order are another text
    model.embeddings.position.weight.data.zero_()
    assert difference() < 1e-5


def test_what_is_left_out_has_its_default() -> None:
    model, given = small().eval(), batch((6, 6))
    del given["token_type_ids"], given["attention_mask"]
    full = model(
        given["input_ids"],
        token_type_ids=torch.zeros_like(given["input_ids"]),
        attention_mask=torch.ones_like(given["input_ids"]),
    )
    torch.testing.assert_close(model(**given).last_hidden_state, full.last_hidden_state)


def test_masks_are_passed_by_name_only() -> None:
    """Segment ids passed where the mask is expected, by position: a mistake that runs in silence elsewhere."""
    given = batch()
    with pytest.raises(TypeError, match="positional"):
        small()(given["input_ids"], given["attention_mask"])


def test_hidden_states() -> None:
    model, given = small().eval(), batch()
    output = model(**given, output_hidden_states=True)
    assert len(output.hidden_states) == 4
    assert output.attentions is None
    embedded = model.embeddings(given["input_ids"], given["token_type_ids"])
    real = given["attention_mask"] == 1
    torch.testing.assert_close(output.hidden_states[0][real], embedded[real])
    torch.testing.assert_close(output.hidden_states[-1], output.last_hidden_state, atol=0, rtol=0)
    assert model(**given).hidden_states is None


def test_dropout_acts_in_training_only() -> None:
    model, given = small(hidden_dropout_prob=0.5), batch()
    assert not torch.equal(model(**given).pooler_output, model(**given).pooler_output)
    model.eval()
    assert torch.equal(model(**given).pooler_output, model(**given).pooler_output)


def test_every_weight_learns_but_the_bias_of_the_keys() -> None:
    """That bias adds one number to a query's every score, and softmax does not see it."""
    model, given = small(**NO_DROPOUT).double(), batch()
    loss(model(**given), given["attention_mask"].bool()).backward()
    for name, parameter in model.named_parameters():
        largest = float(parameter.grad.abs().max())
        assert largest < 1e-12 if name.endswith("attention.key.bias") else largest > 1e-6, name


def test_fresh_weights() -> None:
    torch.manual_seed(0)
    model = Bert(BertConfig.preset("tiny"))
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            assert (parameter == 0).all(), name
        elif "norm" in name:
            assert (parameter == 1).all(), name
        else:
            assert parameter.abs().max() <= 0.04, name  # cut at two standard deviations ...
            # ... which leaves 0.8796 of the standard deviation; 2 × 128 numbers are the fewest, so 4 sigma is 18 %
            assert abs(parameter.std().item() / (0.02 * 0.8796) - 1) < 0.18, name


def test_copies_are_independent() -> None:
    model, given = small().eval(), batch()
    twin = copy.deepcopy(model)
    before = twin(**given).pooler_output
    model.embeddings.token.weight.data.zero_()
    torch.testing.assert_close(twin(**given).pooler_output, before, atol=0, rtol=0)


COMPILED = """
import torch
from bertbook import Bert, BertConfig
torch.manual_seed(0)
config = BertConfig(vocab_size=60, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64)
model = Bert(config)
model.eval()
ids = torch.randint(60, (2, 9))
mask = (torch.arange(9) < torch.tensor([[9], [4]])).long()
compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
for extra in ({}, {"output_attentions": True, "output_hidden_states": True}):
    with torch.inference_mode():
        ours, theirs = model(ids, attention_mask=mask, **extra), compiled(ids, attention_mask=mask, **extra)
    real = mask == 1
    torch.testing.assert_close(theirs.last_hidden_state[real], ours.last_hidden_state[real], atol=1e-5, rtol=0)
    torch.testing.assert_close(theirs.pooler_output, ours.pooler_output, atol=1e-5, rtol=0)
    torch.testing.assert_close(theirs.attentions, ours.attentions)
"""


def test_compiles_as_one_graph() -> None:
    """Traced without a break; generating machine code is the compiler's own affair.

    In a process of its own: the shape checks that tests install would break the graph.
    """
    subprocess.run([sys.executable, "-c", COMPILED], check=True, timeout=300)
