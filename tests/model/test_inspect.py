"""Looking into a running model: against the formulas written out, and leaving no trace."""

import math
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from itertools import product

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from bertbook import Bert, BertConfig, BertForMaskedLM, Tokenizer
from bertbook.model.evaluating import evaluating
from bertbook.model.inspect import (
    ablate_heads,
    activation_names,
    activations,
    attention_weights,
    mean_heads,
    patch,
)

B, S, L, H, HEADS, D = 2, 7, 3, 12, 3, 4
VARIANTS = {
    "bert": {},
    "pre-norm": {"norm_first": True, "position_embedding_type": "sinusoidal"},
    "albert": {"share_layers": True, "embedding_size": 6},
}


def make(seed: int = 0, packing: bool = False, **changes: object) -> Bert:
    """Packing is off, so that padding has activations to compare; TestPackedRows compares the rest."""
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=30,
        hidden_size=H,
        num_hidden_layers=L,
        num_attention_heads=HEADS,
        intermediate_size=20,
        max_position_embeddings=16,
        initializer_range=0.4,  # large enough for every part to matter
        **changes,
    )
    model = Bert(config).eval()
    model.packing = packing
    for parameter in model.parameters():
        if parameter.ndim == 1:  # biases and LayerNorms start as 0 and 1, which would hide a mistake
            nn.init.normal_(parameter, mean=parameter.mean().item(), std=0.2)
    return model


@pytest.fixture(params=VARIANTS)
def model(request: pytest.FixtureRequest) -> Bert:
    return make(**VARIANTS[request.param])


def inputs(seed: int = 0, masked: bool = True) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    mask = torch.ones(B, S, dtype=torch.long)
    if masked:
        mask[1, 4:] = 0
    return {
        "input_ids": torch.randint(30, (B, S), generator=generator),
        "token_type_ids": torch.randint(2, (B, S), generator=generator),
        "attention_mask": mask,
    }


def hooks(model: nn.Module) -> int:
    tables = ("_forward_hooks", "_forward_pre_hooks", "_forward_hooks_with_kwargs", "_forward_pre_hooks_with_kwargs")
    return sum(len(getattr(module, table)) for module in model.modules() for table in tables)


def by_hand(model: Bert, batch: dict[str, Tensor]) -> tuple[dict[str, Tensor], list[Tensor]]:
    """Every activation and all attention weights from the parameters alone: no module of the model is called."""
    w, config, eps = dict(model.named_parameters()), model.config, model.config.layer_norm_eps
    heads, size = config.num_attention_heads, config.head_size

    def norm(x: Tensor, name: str) -> Tensor:
        centred = x - x.mean(-1, keepdim=True)
        return centred / (centred.pow(2).mean(-1, keepdim=True) + eps).sqrt() * w[f"{name}.weight"] + w[f"{name}.bias"]

    def linear(x: Tensor, name: str) -> Tensor:
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    def split(x: Tensor) -> Tensor:
        return torch.stack([x[..., k * size : (k + 1) * size] for k in range(heads)], dim=1)

    ids = batch["input_ids"]
    if "embeddings.position.weight" in w:
        positions = w["embeddings.position.weight"][: ids.shape[1]]
    else:
        width = config.embedding_width
        angles = [[p / 10000 ** (i // 2 * 2 / width) for i in range(width)] for p in range(ids.shape[1])]
        positions = torch.tensor([[(math.sin, math.cos)[i % 2](a) for i, a in enumerate(row)] for row in angles])
    x = w["embeddings.token.weight"][ids] + w["embeddings.segment.weight"][batch["token_type_ids"]] + positions
    x = norm(x, "embeddings.norm")
    if "embeddings.projection.weight" in w:
        x = linear(x, "embeddings.projection")
    found, weights = {"embeddings": x}, []
    for at in range(config.num_hidden_layers):
        layer = f"layers.{0 if config.share_layers else at}"
        read = norm(x, f"{layer}.attention_norm") if config.norm_first else x
        query, key, value = (split(linear(read, f"{layer}.attention.{part}")) for part in ("query", "key", "value"))
        exponentials = (query @ key.mT / math.sqrt(size)).exp() * batch["attention_mask"][:, None, None, :]
        weights.append(exponentials / exponentials.sum(-1, keepdim=True))
        mixed = weights[-1] @ value
        attention = linear(torch.cat(list(mixed.unbind(1)), dim=-1), f"{layer}.attention.output")
        x = x + attention if config.norm_first else norm(x + attention, f"{layer}.attention_norm")
        neurons = linear(norm(x, f"{layer}.feed_forward_norm") if config.norm_first else x, f"{layer}.feed_forward.up")
        neurons = neurons * (1 + (neurons / math.sqrt(2)).erf()) / 2
        feed_forward = linear(neurons, f"{layer}.feed_forward.down")
        x = x + feed_forward if config.norm_first else norm(x + feed_forward, f"{layer}.feed_forward_norm")
        name = f"layers.{at}"
        found |= {
            f"{name}.attention.query": query,
            f"{name}.attention.key": key,
            f"{name}.attention.value": value,
            f"{name}.attention.mixed": mixed,
            f"{name}.attention": attention,
            f"{name}.feed_forward.neurons": neurons,
            f"{name}.feed_forward": feed_forward,
            name: x,
        }
    if config.norm_first:
        found["norm"] = x = norm(x, "norm")
    if model.pooler is not None:
        found["pooler"] = linear(x[:, 0], "pooler.dense").tanh()
    return found, weights


class TestActivations:
    @pytest.mark.parametrize("attentions", [False, True])
    @pytest.mark.parametrize("masked", [False, True])
    def test_every_name_against_the_formulas(self, model: Bert, masked: bool, attentions: bool) -> None:
        batch = inputs(masked=masked)
        expected, weights = by_hand(model, batch)
        with activations(model) as seen, attention_weights(model) as shares:
            out = model(**batch, output_attentions=attentions)
        assert list(expected) == activation_names(model)
        assert set(seen) == set(expected)
        torch.testing.assert_close(dict(seen), expected, atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(dict(shares), dict(enumerate(weights)), atol=1e-6, rtol=1e-5)
        assert seen["pooler"].equal(out.pooler_output)
        assert seen["norm" if model.config.norm_first else f"layers.{L - 1}"].equal(out.last_hidden_state)
        assert not any(x.requires_grad for x in [*seen.values(), *shares.values()])

    def test_real_weights(self, minilm: tuple[Bert, Tokenizer]) -> None:
        model, tokenizer = minilm
        batch = tokenizer(["The animal didn't cross the street because it was too tired.", ("It rained.", "So what?")])
        with torch.no_grad():
            expected, weights = by_hand(model, batch)
            with activations(model) as seen, attention_weights(model) as shares:
                model(**batch)
        mask = batch["attention_mask"]
        for name, x in expected.items():
            at = mask.bool() if x.ndim == 3 else slice(None)  # a vector a token; else one a text, or split by head
            x = x * mask[:, None, :, None] if x.ndim == 4 else x
            torch.testing.assert_close(seen[name][at], x[at], atol=2e-5, rtol=1e-4)
        for at, x in enumerate(weights):
            real = mask.bool()
            torch.testing.assert_close(shares[at].transpose(1, 2)[real], x.transpose(1, 2)[real], atol=1e-5, rtol=1e-4)
        assert seen["layers.5.attention.query"].shape == (*batch["input_ids"].shape[:1], 12, len(weights[0][0, 0]), 32)

    @pytest.mark.parametrize(
        ("names", "expected"),
        [
            ("layers.*", ["layers.0", "layers.1", "layers.2"]),
            (["layers.*.attention.mixed"], [f"layers.{at}.attention.mixed" for at in range(L)]),
            (["layers.1.*", "pooler"], ["layers.1.attention", "layers.1.feed_forward", "pooler"]),
            (["layers.2", "layers.2", "layers.*"], ["layers.0", "layers.1", "layers.2"]),
            ([], []),
        ],
    )
    def test_only_what_was_asked_for(self, model: Bert, names: str | list[str], expected: list[str]) -> None:
        with activations(model, names) as seen:
            model(**inputs())
        assert list(seen) == expected

    def test_a_model_without_pooler(self) -> None:
        bare = Bert(make().config, pooler=False)
        assert "pooler" not in activation_names(bare)
        assert "norm" not in activation_names(bare)

    def test_the_last_run_counts(self, model: Bert) -> None:
        with activations(model, "layers.1") as seen:
            for seed in (1, 2):
                model(**inputs(seed))
        with activations(model, "layers.1") as last:
            model(**inputs(2))
        assert seen["layers.1"].equal(last["layers.1"])

    def test_gradients_flow_to_what_is_kept(self, model: Bert) -> None:
        """For the mixed vectors x of the last layer the gradient is known: d(sum of attention · a)/dx = a W_O."""
        last, direction = f"layers.{L - 1}.attention", torch.randn(B, S, H)
        with activations(model, keep_grad=True) as seen:
            model(**inputs())
        (gradient,) = torch.autograd.grad((seen[last] * direction).sum(), seen[f"{last}.mixed"], retain_graph=True)
        by_rule = direction @ model.layers[-1].attention.output.weight
        torch.testing.assert_close(gradient, by_rule.unflatten(-1, (HEADS, D)).transpose(1, 2))
        for x, g in zip(
            seen.values(),
            torch.autograd.grad(seen["pooler"].sum(), list(seen.values()), retain_graph=True),
            strict=True,
        ):
            assert g.shape == x.shape

    def test_missing_entries_say_why(self, model: Bert) -> None:
        with activations(model, "layers.*") as seen:
            with pytest.raises(KeyError, match="is not in this recording; nothing is: run the model inside"):
                seen["layers.1"]
            model(**inputs())
        with pytest.raises(KeyError, match=r"'pooler' is not in .*; there are layers\.0, layers\.1, layers\.2"):
            seen["pooler"]


class TestAttentionWeights:
    @pytest.mark.parametrize("masked", [False, True])
    def test_equal_those_of_the_readable_path(self, model: Bert, masked: bool) -> None:
        batch = inputs(masked=masked)
        if not masked:
            del batch["attention_mask"]
        expected = model(**batch, output_attentions=True).attentions
        with attention_weights(model, [2, 0]) as shares, attention_weights(model, [1], rows=[0, 3]) as some:
            model(**batch)
        assert set(shares) == {0, 2}
        torch.testing.assert_close(shares[0], expected[0])
        torch.testing.assert_close(shares[2], expected[2])
        assert list(some) == [1]
        torch.testing.assert_close(some[1], expected[1][:, :, [0, 3]])

    def test_a_row_that_is_masked_throughout(self, model: Bert) -> None:
        batch = inputs()
        batch["attention_mask"][1] = 0
        expected = model(**batch, output_attentions=True).attentions
        with attention_weights(model) as shares:
            model(**batch)
        torch.testing.assert_close(tuple(shares.values()), expected)
        assert all((x[1] == 0).all() for x in shares.values())

    @pytest.mark.parametrize("autocast", [False, True])
    @pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
    def test_half_precision(self, model: Bert, dtype: torch.dtype, autocast: bool) -> None:
        exact = model(**inputs(), output_attentions=True).attentions
        with torch.autocast("cpu", dtype, enabled=autocast), attention_weights(model) as shares:
            (model if autocast else model.to(dtype))(**inputs())
        for at, weights in shares.items():
            assert weights.dtype == torch.float32
            torch.testing.assert_close(weights, exact[at], atol=0.05, rtol=0)
            torch.testing.assert_close(weights.sum(-1), torch.ones(B, HEADS, S))
            assert (weights[1, :, :, 4:] == 0).all()

    def test_double_precision(self, model: Bert) -> None:
        expected = model.double()(**inputs(), output_attentions=True).attentions
        with attention_weights(model) as shares:
            model(**inputs())
        torch.testing.assert_close(tuple(shares.values()), expected)

    def test_a_loss_on_the_weights(self, model: Bert) -> None:
        """The gradient is that of the readable path."""
        query = model.layers[0].attention.query.weight
        with attention_weights(model, keep_grad=True) as shares:
            model(**inputs())
        expected = model(**inputs(), output_attentions=True).attentions
        for at in range(L):
            (gradient,) = torch.autograd.grad(shares[at].cos().sum(), query, retain_graph=True)
            (other,) = torch.autograd.grad(expected[at].cos().sum(), query, retain_graph=True)
            torch.testing.assert_close(gradient, other, atol=1e-5, rtol=1e-4)

    def test_while_training_they_are_the_weights_before_dropout(self) -> None:
        model = make(attention_probs_dropout_prob=0.5, hidden_dropout_prob=0.0)
        expected = model(**inputs(), output_attentions=True).attentions
        with attention_weights(model.train()) as shares:
            model(**inputs())
        torch.testing.assert_close(shares[0], expected[0])

    def test_after_a_run_that_broke_off(self, model: Bert) -> None:
        def fail(_: Tensor) -> Tensor:
            raise RuntimeError("stop")

        with attention_weights(model) as shares:
            with pytest.raises(RuntimeError, match="stop"), patch(model, {"layers.0.attention.key": fail}):
                model(**inputs(1))
            assert not shares
            model(**inputs())
        torch.testing.assert_close(tuple(shares.values()), model(**inputs(), output_attentions=True).attentions)


def last_attention(model: Bert, batch: dict[str, Tensor], *blocks: AbstractContextManager[None]) -> Tensor:
    """After W_O in the last layer, with these blocks around the run."""
    with ExitStack() as stack:
        for block in blocks:
            stack.enter_context(block)
        seen = stack.enter_context(activations(model, f"layers.{L - 1}.attention"))
        model(**batch)
    return seen[f"layers.{L - 1}.attention"]


class TestAblation:
    @pytest.mark.parametrize("chosen", [[0], [1], [2], [0, 2], [1, 1], []])
    def test_zero_takes_away_the_head_times_its_part_of_the_output_matrix(self, model: Bert, chosen: list[int]) -> None:
        with activations(model) as seen:
            model(**inputs())
        mixed, W_O = seen[f"layers.{L - 1}.attention.mixed"], model.layers[-1].attention.output.weight
        lost = sum(mixed[:, k] @ W_O[:, k * D : (k + 1) * D].T for k in set(chosen))
        ablated = last_attention(model, inputs(), ablate_heads(model, {L - 1: chosen}))
        torch.testing.assert_close(ablated, seen[f"layers.{L - 1}.attention"] - lost, atol=1e-5, rtol=1e-5)

    def test_real_weights(self, minilm: tuple[Bert, Tokenizer]) -> None:
        model, tokenizer = minilm
        batch = tokenizer(["The cat sat on the mat.", "It slept."])
        W_O = model.layers[3].attention.output.weight
        with torch.no_grad():
            with activations(model, ["layers.3.attention", "layers.3.attention.mixed"]) as seen:
                model(**batch)
            lost = seen["layers.3.attention.mixed"][:, 5] @ W_O[:, 5 * 32 : 6 * 32].T
            assert lost.norm() > 1
            with ablate_heads(model, {3: [5]}), activations(model, "layers.3.attention") as ablated:
                model(**batch)
        torch.testing.assert_close(
            ablated["layers.3.attention"], seen["layers.3.attention"] - lost, atol=1e-5, rtol=1e-4
        )

    @pytest.mark.parametrize("attentions", [False, True])
    def test_without_any_head_the_bias_remains(self, model: Bert, attentions: bool) -> None:
        with ablate_heads(model, {at: range(HEADS) for at in range(L)}), activations(model) as seen:
            model(**inputs(), output_attentions=attentions)
        for at in range(L):
            bias = model.layers[at % len(model.layers)].attention.output.bias
            assert seen[f"layers.{at}.attention"].equal(bias.expand(B, S, H))

    def test_of_a_shared_layer_one_turn_only(self) -> None:
        model = make(**VARIANTS["albert"])
        with activations(model) as plain:
            model(**inputs())
        with ablate_heads(model, {1: [0]}), activations(model) as seen:
            model(**inputs())
        assert seen["layers.0"].equal(plain["layers.0"])
        assert (seen["layers.1.attention.mixed"][:, 0] == 0).all()
        assert (seen["layers.2.attention.mixed"][:, 0] != 0).all()

    def test_mean(self, model: Bert) -> None:
        batches = [inputs(1), {name: x[:, :5] for name, x in inputs(2, masked=False).items()}]
        del batches[1]["attention_mask"]
        vectors = []  # (L, h, d) of each token that is no padding, one by one
        for batch in batches:
            with activations(model) as seen:
                model(**batch)
            for b, s in product(range(B), range(batch["input_ids"].shape[1])):
                if "attention_mask" not in batch or batch["attention_mask"][b, s]:
                    vectors.append(torch.stack([seen[f"layers.{at}.attention.mixed"][b, :, s] for at in range(L)]))
        assert len(vectors) == 11 + 10
        means = mean_heads(model, batches)
        torch.testing.assert_close(means, sum(vectors) / len(vectors))
        with ablate_heads(model, {1: [2]}, to=means), activations(model) as seen:
            model(**inputs())
        assert seen["layers.1.attention.mixed"][:, 2].equal(means[1, 2].expand(B, S, D))
        with activations(model) as plain:
            model(**inputs())
        assert seen["layers.1.attention.mixed"][:, :2].equal(plain["layers.1.attention.mixed"][:, :2])

    def test_means_are_measured_without_dropout_and_without_a_trace(self) -> None:
        model = BertForMaskedLM(make().config).train()
        model.bert.layers[1].eval()
        modes = [part.training for part in model.modules()]
        batch = inputs() | {"labels": torch.zeros(B, S, dtype=torch.long)}
        first, second = (mean_heads(model, iter([batch])) for _ in range(2))
        assert first.equal(second)
        assert not first.requires_grad
        assert [part.training for part in model.modules()] == modes
        assert hooks(model) == 0

    def test_silenced_heads_learn_nothing(self, model: Bert) -> None:
        model.train()
        with ablate_heads(model, {at: [1] for at in range(L)}):
            model(**inputs()).last_hidden_state.pow(3).sum().backward()
        for layer in model.layers:
            by_head = layer.attention.value.weight.grad.unflatten(0, (HEADS, D))
            assert (by_head[1] == 0).all()
            assert (by_head[[0, 2]] != 0).any(-1).all()


class TestPatch:
    @pytest.mark.parametrize("attentions", [False, True])
    def test_its_own_activations_change_nothing(self, model: Bert, attentions: bool) -> None:
        with activations(model) as seen:
            plain = model(**inputs(), output_attentions=attentions)
        for name in seen:
            with patch(model, {name: seen[name]}):
                out = model(**inputs(), output_attentions=attentions)
            assert out.last_hidden_state.equal(plain.last_hidden_state), name
            assert out.pooler_output.equal(plain.pooler_output), name

    def test_any_whole_cut_through_another_run_gives_its_output(self, model: Bert) -> None:
        other = inputs(1, masked=False)
        with activations(model) as seen:
            expected = model(**other)
        for name in ["embeddings", "layers.0", "layers.1", "layers.2"]:
            batch = inputs(2, masked=False)
            assert not model(**batch).last_hidden_state.allclose(expected.last_hidden_state)
            with patch(model, {name: seen[name]}):
                out = model(**batch, output_hidden_states=True)
            assert out.last_hidden_state.equal(expected.last_hidden_state)
            assert out.hidden_states[["embeddings", "layers.0", "layers.1", "layers.2"].index(name)].equal(seen[name])

    def test_at_positions(self, model: Bert) -> None:
        with activations(model) as other:
            model(**inputs(1))
        with activations(model) as plain:
            model(**inputs(2))
        for name in activation_names(model)[:-1]:
            with patch(model, {name: other[name]}, positions=[0, 5]), activations(model, name) as seen:
                model(**inputs(2))
            assert seen[name][..., [0, 5], :].equal(other[name][..., [0, 5], :])
            assert seen[name][..., [1, 2, 3, 4, 6], :].equal(plain[name][..., [1, 2, 3, 4, 6], :])

    def test_by_a_function(self, model: Bert) -> None:
        """Doubled queries are halved temperatures."""
        with activations(model) as plain:
            model(**inputs())
        with patch(model, {"layers.*.attention.query": lambda x: 2 * x}), attention_weights(model) as shares:
            out = model(**inputs(), output_attentions=True)
        scores = 2 * plain["layers.0.attention.query"] @ plain["layers.0.attention.key"].mT / math.sqrt(D)
        hidden = inputs()["attention_mask"][:, None, None, :] == 0
        torch.testing.assert_close(shares[0], scores.masked_fill(hidden, -math.inf).softmax(-1))
        torch.testing.assert_close(tuple(shares.values()), out.attentions)

    def test_gradients_reach_the_patch(self, model: Bert) -> None:
        vector = torch.randn(B, S, H, requires_grad=True)
        with patch(model, {"layers.1": vector}, positions=[2]):
            model.train()(**inputs()).last_hidden_state.pow(3).sum().backward()
        assert (vector.grad[:, 2] != 0).any()
        assert (vector.grad[:, [0, 1, 3, 4, 5, 6]] == 0).all()

    def test_comes_in_another_type(self, model: Bert) -> None:
        with activations(model, "layers.1") as seen:
            expected = model(**inputs()).last_hidden_state
        with patch(model, {"layers.1": seen["layers.1"].double()}):
            assert model(**inputs()).last_hidden_state.equal(expected)

    def test_in_the_order_of_entering(self, model: Bert) -> None:
        zeros, ones = torch.zeros(B, S, H), torch.ones(B, S, H)
        with (
            activations(model, "layers.1") as before,
            patch(model, {"layers.1": zeros}),
            activations(model, "layers.1") as between,
            patch(model, {"layers.1": ones}),
            activations(model, "layers.1") as after,
        ):
            model(**inputs())
        assert (before["layers.1"] != 0).all()
        assert between["layers.1"].equal(zeros)
        assert after["layers.1"].equal(ones)


BLOCKS: dict[str, Callable[[Bert], AbstractContextManager[object]]] = {
    "activations": lambda model: activations(model),
    "activations, kept": lambda model: activations(model, keep_grad=True),
    "attention_weights": lambda model: attention_weights(model),
    "ablate_heads": lambda model: ablate_heads(model, {0: [1], 2: [0]}),
    "patch": lambda model: patch(model, {"layers.1": lambda x: x + 1}),
}


COMPILED = """
import torch
from bertbook import Bert, BertConfig
from bertbook.model.inspect import ablate_heads, activations

torch.manual_seed(0)
model = Bert(BertConfig(vocab_size=30, hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=16))
ids, runs = torch.randint(30, (2, 5)), []

def backend(graph, _):
    return lambda *args: runs.append("compiled") or graph(*args)

def run():
    runs.clear()
    return compiled(ids).last_hidden_state, bool(runs)

compiled = torch.compile(model.eval(), backend=backend)
before, was_compiled = run()
assert was_compiled
for ended_first in (0, 1):
    blocks = [activations(compiled, "layers.*"), ablate_heads(compiled, {0: [0]})]
    seen = blocks[0].__enter__()
    blocks[1].__enter__()
    ablated, was_compiled = run()
    assert not was_compiled
    assert not ablated.allclose(before)
    assert seen["layers.1"].equal(ablated)
    blocks[ended_first].__exit__(None, None, None)
    between, was_compiled = run()
    assert not was_compiled
    torch.testing.assert_close(between, before if ended_first == 1 else ablated)
    blocks[1 - ended_first].__exit__(None, None, None)
    after, was_compiled = run()
    assert was_compiled
    assert after.equal(before)
"""


def run_and_fail(model: Bert) -> None:
    model(**inputs())
    assert hooks(model) > 0
    raise ZeroDivisionError


class TestPackedRows:
    """The tools see the same where padding was taken out: at tokens, to rounding; zeros at padding."""

    def both(self, model: Bert, make_block: Callable[[Bert], AbstractContextManager[object]]) -> list[list[Tensor]]:
        """What comes out of a run inside the block and what was recorded in it, without packing and with it."""
        found: list[list[Tensor]] = []
        for model.packing in (False, True):
            with make_block(model), activations(model) as seen, attention_weights(model) as weights:
                out = model(**inputs())
            real = inputs()["attention_mask"].bool()
            recorded = [out.pooler_output, seen.pop("pooler"), out.last_hidden_state[real]]
            recorded += [(x.transpose(1, 2) if x.ndim == 4 else x)[real] for x in (*seen.values(), *weights.values())]
            found.append(recorded)
            if model.packing:
                assert all((x[1, ..., 4:, :] == 0).all() for x in seen.values())
        return found

    @pytest.mark.parametrize(
        "make_block",
        [
            lambda model: ExitStack(),
            lambda model: ablate_heads(model, {0: [1], 2: [0, 2]}),
            lambda model: ablate_heads(model, {1: [2]}, to=torch.arange(36.0).view(L, HEADS, D)),
            lambda model: patch(model, {"layers.1": lambda x: 2 * x, "layers.*.attention.mixed": torch.tanh}),
            lambda model: patch(model, {"layers.0": torch.ones(B, S, H)}, positions=[0, 3, 6]),
            lambda model: patch(model, {"embeddings": torch.sin}, positions=[1]),
        ],
    )
    def test_as_without_packing(
        self, model: Bert, make_block: Callable[[Bert], AbstractContextManager[object]]
    ) -> None:
        padded, packed = self.both(model, make_block)
        torch.testing.assert_close(packed, padded, atol=1e-5, rtol=1e-5)

    def test_means_of_heads(self, model: Bert) -> None:
        found = []
        for model.packing in (False, True):
            found.append(mean_heads(model, [inputs(0), inputs(1)]))
        torch.testing.assert_close(*found)

    def test_what_a_patch_puts_at_padding_reaches_nobody(self, model: Bert) -> None:
        model.packing = True
        plain = model(**inputs()).last_hidden_state
        with patch(model, {"layers.0": lambda x: x + 100}, positions=[5, 6]):  # tokens of the first text only
            patched = model(**inputs()).last_hidden_state
        assert patched[1].equal(plain[1])
        assert not patched[0].equal(plain[0])


class TestNoTrace:
    @pytest.mark.parametrize("packing", [False, True])
    @pytest.mark.parametrize("attentions", [False, True])
    @pytest.mark.parametrize("training", [False, True])
    def test_recording_leaves_every_bit(self, model: Bert, training: bool, attentions: bool, packing: bool) -> None:
        """Also of the gradients, and under dropout."""
        model.packing = packing

        def run(*blocks: AbstractContextManager[object]) -> list[Tensor]:
            model.train(training).zero_grad()
            torch.manual_seed(0)
            with ExitStack() as stack:
                for block in blocks:
                    stack.enter_context(block)
                out = model(**inputs(), output_attentions=attentions, output_hidden_states=True)
            out.last_hidden_state.pow(3).sum().backward()
            gradients = [x.grad for x in model.parameters() if x.grad is not None]
            return [out.last_hidden_state, out.pooler_output, *out.hidden_states, *(out.attentions or ()), *gradients]

        plain = run()
        for blocks in (
            [activations(model)],
            [activations(model, keep_grad=True)],
            [attention_weights(model)],
            [attention_weights(model, keep_grad=True)],
            [activations(model), attention_weights(model), activations(model, keep_grad=True)],
        ):
            assert all(map(torch.equal, plain, run(*blocks)))
        assert all(map(torch.equal, plain, run()))

    @pytest.mark.parametrize("name", BLOCKS)
    def test_after_an_exception(self, model: Bert, name: str) -> None:
        before = model(**inputs()).last_hidden_state
        with pytest.raises(ZeroDivisionError), BLOCKS[name](model):
            run_and_fail(model)
        assert hooks(model) == 0
        with pytest.raises(ValueError, match=r"sequence of 17|ids from"), BLOCKS[name](model):
            model(torch.full((1, 17), 29 if model.config.max_length else 30))
        assert hooks(model) == 0
        assert model(**inputs()).last_hidden_state.equal(before)

    @pytest.mark.parametrize("last_first", [True, False])
    def test_ended_in_any_order(self, model: Bert, last_first: bool) -> None:
        before = model(**inputs()).last_hidden_state
        blocks = [make_block(model) for make_block in BLOCKS.values()]
        for block in blocks:
            block.__enter__()
        model(**inputs())
        for block in reversed(blocks) if last_first else blocks:
            block.__exit__(None, None, None)
            model(**inputs())
        assert hooks(model) == 0
        assert model(**inputs()).last_hidden_state.equal(before)

    def test_the_hooks_of_others_stay(self, model: Bert) -> None:
        calls = []
        with activations(model):
            handle = model.layers[0].register_forward_hook(lambda *_: calls.append("called"))
        model(**inputs())
        assert calls
        handle.remove()

    def test_two_models(self) -> None:
        models = [make(seed, **changes) for seed, changes in enumerate(VARIANTS.values())]
        expected = [by_hand(model, inputs()) for model in models]
        with ExitStack() as stack:
            seen = [stack.enter_context(activations(model)) for model in models]
            shares = [stack.enter_context(attention_weights(model)) for model in models]
            for model in models:
                model(**inputs())
        for (vectors, weights), found, found_weights in zip(expected, seen, shares, strict=True):
            torch.testing.assert_close(dict(found), vectors, atol=1e-5, rtol=1e-5)
            torch.testing.assert_close(list(found_weights.values()), weights, atol=1e-5, rtol=1e-5)

    def test_a_model_with_a_head(self) -> None:
        model = BertForMaskedLM(make().config).eval()
        plain = model(**inputs())
        with activations(model) as seen, attention_weights(model, rows=[0]) as shares:
            out = model(**inputs())
        assert out.logits.equal(plain.logits)
        assert seen["layers.2"].equal(out.encoder.last_hidden_state)
        assert shares[0].shape == (B, HEADS, 1, S)
        with patch(model, {"layers.2": seen["layers.2"]}):
            assert model(**inputs(1)).logits.equal(plain.logits)

    def test_compiled_models_run_uncompiled_inside_and_compiled_again_after(self) -> None:
        """In a process of its own: the compiler cannot read the shape checks that tests install."""
        subprocess.run([sys.executable, "-c", COMPILED], check=True, timeout=300)

    def test_evaluating_restores_each_module(self, model: Bert) -> None:
        model.train()
        model.layers[0].eval()
        with evaluating(model):
            assert not any(part.training for part in model.modules())
            assert not torch.is_grad_enabled()
        with pytest.raises(ValueError, match="is empty"), evaluating(model):
            model(torch.zeros(1, 0, dtype=torch.long))
        assert model.training
        assert not model.layers[0].attention.training
        assert torch.is_grad_enabled()

    def test_works_on(self, model: Bert, device: str) -> None:
        expected, weights = by_hand(model, inputs())
        batch = {name: x.to(device) for name, x in inputs().items()}
        model.to(device)
        means = mean_heads(model, [batch])
        assert means.device.type == "cpu"
        with activations(model) as seen, attention_weights(model, rows=[0]) as shares:
            model(**batch)
        for name, x in expected.items():
            torch.testing.assert_close(seen[name].cpu(), x, atol=1e-4, rtol=1e-4)
        for at, x in shares.items():
            torch.testing.assert_close(x.cpu(), weights[at][:, :, :1], atol=1e-5, rtol=1e-4)
        patched = patch(model, {"layers.2": expected["layers.2"]}, positions=[0])
        with ablate_heads(model, {0: [1]}, to=means), patched, activations(model) as changed:
            model(**batch)
        torch.testing.assert_close(changed["layers.0.attention.mixed"][:, 1].cpu(), means[0, 1].expand(B, S, D))
        torch.testing.assert_close(changed["layers.2"][:, 0].cpu(), expected["layers.2"][:, 0])


class TestBadInput:
    """Messages: what was given, what there is, what to do. Before the run where that is possible."""

    MODEL = make()

    @pytest.mark.parametrize(
        ("block", "message"),
        [
            (
                lambda m: activations(m, "layers.1.atention"),
                "this model has no activation 'layers.1.atention'; did you mean 'layers.1.attention' or ",
            ),
            (lambda m: activations(m, ["pooler", "layers.3"]), "no activation 'layers.3'; .*Layers are 0 to 2; "),
            (lambda m: activations(m, "heads.*"), r"no activation 'heads\.\*'; .*activation_names\(model\) lists all"),
            (lambda m: activations(m, "norm"), "no activation 'norm'"),
            (lambda m: activations(m, "layersX1"), "no activation 'layersX1'"),
            (lambda m: patch(m, {"layer.1": torch.ones(1)}), "no activation 'layer.1'; did you mean 'layers.1'"),
            (lambda m: patch(m, {"pooler": torch.ones(B, H)}, positions=[0]), "positions with 'pooler', one vector"),
            (lambda m: attention_weights(m, [0, 3]), "no layer 3: choose from 0 to 2"),
            (lambda m: attention_weights(m, [-1]), "no layer -1: choose from 0 to 2"),
            (lambda m: ablate_heads(m, {3: [0]}), "no layer 3: choose from 0 to 2"),
            (lambda m: ablate_heads(m, {0: [0, 3]}), "no head 3: choose from 0 to 2"),
            (lambda m: ablate_heads(m, {0: [-1]}), "no head -1: choose from 0 to 2"),
            (lambda m: ablate_heads(m, {0: (True,)}), "no head True: choose from 0 to 2"),
            (lambda m: ablate_heads(m, {0: [0]}, to="mean"), r"to='mean'.* to=mean_heads\(model, batches\)"),
            (
                lambda m: ablate_heads(m, {0: [0]}, to=torch.ones(4)),
                r"to of shape \(4,\): .* \(L, h, d\) = \(3, 3, 4\)",
            ),
        ],
    )
    def test_before_the_run(self, block: Callable[[Bert], AbstractContextManager[object]], message: str) -> None:
        with pytest.raises(ValueError, match=message), block(self.MODEL):
            pass
        assert hooks(self.MODEL) == 0

    @pytest.mark.parametrize(
        ("block", "error", "message"),
        [
            (
                lambda m: patch(m, {"layers.1": torch.ones(1, S, H)}),
                ValueError,
                "patch for 'layers.1' of shape (1, 7, 12): this run needs (2, 7, 12)",
            ),
            (
                lambda m: patch(m, {"layers.1": lambda x: x[:, 1:]}),
                ValueError,
                "patch for 'layers.1' of shape (2, 6, 12): this run needs (2, 7, 12)",
            ),
            (
                lambda m: patch(m, {"layers.1.attention.key": lambda x: None}),
                TypeError,
                "patch for 'layers.1.attention.key' is NoneType: expected a tensor of shape (2, 3, 7, 4)",
            ),
            (
                lambda m: patch(m, {"layers.1": torch.ones(B, S, H)}, positions=[7]),
                ValueError,
                "no position 7: choose from 0 to 6",
            ),
            (lambda m: attention_weights(m, rows=[7]), ValueError, "no row 7: choose from 0 to 6"),
        ],
    )
    def test_while_the_model_runs(
        self, block: Callable[[Bert], AbstractContextManager[object]], error: type[Exception], message: str
    ) -> None:
        with pytest.raises(error, match=re.escape(message)), block(self.MODEL):
            self.MODEL(**inputs())
        assert hooks(self.MODEL) == 0

    @pytest.mark.parametrize("batches", [[], [{**inputs(), "attention_mask": torch.zeros(B, S, dtype=torch.long)}]])
    def test_no_token_to_average(self, batches: list[dict[str, Tensor]]) -> None:
        with pytest.raises(ValueError, match="no token to average over"):
            mean_heads(self.MODEL, batches)

    @pytest.mark.parametrize("block", [activations, attention_weights, lambda m: ablate_heads(m, {}), activation_names])
    def test_no_bert_or_two(self, block: Callable[[nn.Module], AbstractContextManager[object]]) -> None:
        with pytest.raises(TypeError, match="Linear holds no Bert: pass a Bert"):
            enter(block(nn.Linear(2, 2)))
        with pytest.raises(ValueError, match="ModuleList holds 2 Berts: pass the one that you mean"):
            enter(block(nn.ModuleList([make(), make()])))


def enter(block: AbstractContextManager[object]) -> None:
    with block:
        pass


def test_numpy_counts_as_numbers() -> None:
    """Heads sorted by a statistic come as NumPy's whole numbers."""
    model, order = make(), np.argsort([2, 3, 1])
    with ablate_heads(model, {2: order[:1]}), activations(model) as seen, attention_weights(model, order[:1]) as shares:
        model(**inputs())
    assert list(shares) == [2]
    assert (seen["layers.2.attention.mixed"][:, 2] == 0).all()
