"""Packed rows against padded ones, to rounding, in every mode; the operator against the readable formula."""

import subprocess
import sys
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from bertbook import Bert, BertConfig
from bertbook.model import rows
from bertbook.model.attention import scaled_dot_product_attention
from bertbook.model.bert import BertOutput
from bertbook.model.heads import HEADS
from bertbook.model.packing import Packing
from bertbook.model.rows import attend_rows

SIZES: dict[str, Any] = {
    "vocab_size": 50,
    "hidden_size": 24,
    "num_hidden_layers": 3,
    "num_attention_heads": 3,
    "intermediate_size": 40,
    "max_position_embeddings": 64,
    "initializer_range": 0.3,  # large enough for every part to matter
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
}
VARIANTS: dict[str, dict[str, Any]] = {
    "bert": {},
    "pre-norm": {"norm_first": True, "position_embedding_type": "sinusoidal"},
    "albert": {"share_layers": True, "embedding_size": 6},
    "roberta": {"position_offset": 1, "type_vocab_size": 1, "max_position_embeddings": 65},
}


def mask_of(lengths: list[int]) -> Tensor:
    return (torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]).long()


# A row of padding alone beside the longest there is; equal lengths; tokens on the right; holes.
MASKS = {
    "lengths": mask_of([9, 1, 17, 9, 2]),
    "a row of padding": mask_of([4, 0, 7]),
    "1 beside 64": mask_of([1, 64, 1, 1]),
    "on the left": mask_of([9, 3, 5]).flip(1),
    "holes": torch.tensor([[1, 0, 1, 1, 0], [0, 1, 0, 0, 1], [1, 1, 1, 1, 1]]),
    "one row": mask_of([3, 5])[:1],
}


def made(kind: type[nn.Module] = Bert, **changes: Any) -> Any:
    torch.manual_seed(0)
    model = kind(BertConfig(**{**SIZES, **changes}))
    for parameter in model.parameters():
        if parameter.ndim == 1:  # biases start as 0, which would hide a mistake
            nn.init.normal_(parameter, mean=parameter.mean().item(), std=0.2)
    return model


def batch(mask: Tensor, config: BertConfig, device: str = "cpu") -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(1)
    inputs = {
        "input_ids": torch.randint(5, config.vocab_size, mask.shape, generator=generator),
        "token_type_ids": torch.randint(config.type_vocab_size, mask.shape, generator=generator),
        "attention_mask": mask,
    }
    return {name: x.to(device) for name, x in inputs.items()}


def close(given: Any, expected: Any) -> None:
    torch.testing.assert_close(given, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.filterwarnings("ignore:attention_mask hides position 0")
class TestPackedEqualsPadded:
    @pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
    @pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
    def test_vectors_and_gradients(self, variant: dict[str, Any], mask: Tensor, device: str) -> None:
        exact = device != "mps"  # which has no float64
        model = made(**variant).to(device, torch.float64 if exact else torch.float32)
        inputs = batch(mask, model.config, device)
        real = inputs["attention_mask"].bool()
        found = []
        for model.packing in (False, True):
            model.zero_grad()
            out: BertOutput = model(**inputs, output_hidden_states=True)
            vectors = [x[real] for x in (out.last_hidden_state, *out.hidden_states)]
            readers = real[:, 0]  # the pooler reads position 0
            (sum(x.sin().sum() for x in vectors) + out.pooler_output[readers].sum()).backward()
            found.append((vectors, out.pooler_output[readers], {n: p.grad for n, p in model.named_parameters()}))
            if model.packing:
                assert all((x[~real] == 0).all() for x in (out.last_hidden_state, *out.hidden_states))
        torch.testing.assert_close(*found, atol=1e-10 if exact else 1e-4, rtol=1e-10 if exact else 1e-4)

    @pytest.mark.parametrize("crf", [False, True])
    @pytest.mark.parametrize("head", HEADS)
    def test_every_head(self, head: str, crf: bool) -> None:
        model = made(HEADS[head], crf=crf and head == "tag", id2label={0: "O", 1: "B", 2: "I"})
        mask = mask_of([9, 3, 14, 9])
        inputs = batch(mask, model.config)
        some = (torch.arange(14) % 3 == 0) & (mask == 1)
        tokens = torch.where(some, inputs["input_ids"] % (3 if head == "tag" else 50), -100)
        labels: dict[str, dict[str, Tensor]] = {
            "mlm": {"labels": tokens},
            "pretraining": {"labels": tokens, "next_sentence_label": torch.tensor([0, 1, 1, 0])},
            "classify": {"labels": torch.tensor([2, 0, 1, 0])},
            "tag": {"labels": tokens},
            "answer": {
                "start_positions": torch.tensor([1, 0, 5, -100]),
                "end_positions": torch.tensor([8, 0, 13, -100]),
            },
        }
        found = []
        for model.bert.packing in (False, True):
            model.zero_grad()
            learning = model(**inputs, **labels[head])
            learning.loss.backward()
            logits = model(**inputs).logits
            logits = logits if head == "classify" else logits[mask == 1]
            found.append((learning.loss, logits, {n: p.grad for n, p in model.named_parameters()}))
        close(*found)

    @pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
    def test_half_precision(self, dtype: torch.dtype, device: str) -> None:
        model = made().to(device, dtype).eval()
        inputs = batch(MASKS["lengths"], model.config, device)
        real = inputs["attention_mask"].bool()
        found = []
        for model.packing in (False, True):
            found.append(model(**inputs).last_hidden_state[real])
        assert found[1].dtype == dtype
        torch.testing.assert_close(*found, atol=64 * torch.finfo(dtype).eps, rtol=0)

    def test_autocast(self, device: str) -> None:
        model = made().to(device)
        inputs = batch(MASKS["lengths"], model.config, device)
        real = inputs["attention_mask"].bool()
        found = []
        for model.packing in (False, True):
            model.zero_grad()
            with torch.autocast(device, torch.bfloat16):
                vectors = model(**inputs).last_hidden_state
            vectors[real].sin().sum().backward()
            found.append((vectors[real], model.layers[0].attention.query.weight.grad.clone()))
        torch.testing.assert_close(found[1][0], found[0][0], atol=0.1, rtol=0)
        difference = found[1][1] - found[0][1]
        assert difference.norm() < 0.05 * found[0][1].norm()

    @pytest.mark.parametrize("share_layers", [False, True])
    def test_gradient_checkpointing(self, share_layers: bool) -> None:
        """Also with dropout: the second time through a layer draws what the first did."""
        changes = {"hidden_dropout_prob": 0.2, "attention_probs_dropout_prob": 0.2}
        model = made(share_layers=share_layers, embedding_size=24 if share_layers else None, **changes)
        inputs = batch(MASKS["lengths"], model.config)
        found = []
        for model.gradient_checkpointing in (False, True):
            torch.manual_seed(3)
            model.zero_grad()
            vectors = model(**inputs).last_hidden_state
            vectors.sin().sum().backward()
            found.append((vectors, {n: p.grad for n, p in model.named_parameters()}))
        close(*found)

    def test_checkpointing_keeps_less_for_the_backward_pass(self) -> None:
        model = made(num_hidden_layers=8)
        inputs = batch(MASKS["lengths"], model.config)
        sizes = []
        for model.gradient_checkpointing in (False, True):
            kept: list[int] = []
            with torch.autograd.graph.saved_tensors_hooks(lambda x: kept.append(x.numel()) or x, lambda x: x):  # noqa: B023
                model(**inputs)
            sizes.append(sum(kept))
        assert sizes[1] < sizes[0] / 4


class TestWhenToPack:
    def count(self, model: Bert, mask: Tensor | None, **asked: bool) -> int:
        """How many tokens the first layer gets to see."""
        seen = []
        handle = model.layers[0].register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].shape[:2].numel()))
        ids = torch.full((2, 5) if mask is None else mask.shape, 7)
        model(ids, attention_mask=mask, **asked)
        handle.remove()
        return seen[0]

    def test_tokens_that_the_layers_see(self) -> None:
        model, mask = made(), mask_of([2, 5])
        assert self.count(model, mask) == 7
        assert self.count(model, mask, output_hidden_states=True) == 7
        assert self.count(model, mask, output_attentions=True) == 10
        assert self.count(model, None) == 10
        assert self.count(model, torch.ones_like(mask)) == 10
        assert self.count(model, torch.zeros_like(mask)) == 10  # nothing to pack
        model.packing = False
        assert self.count(model, mask) == 10

    @pytest.mark.filterwarnings("ignore:attention_mask hides position 0")
    def test_a_batch_of_padding_alone_gives_numbers(self) -> None:
        model = made()
        out = model(torch.full((2, 4), 7), attention_mask=torch.zeros(2, 4, dtype=torch.long))
        out.last_hidden_state.sum().backward()
        assert out.last_hidden_state.isfinite().all()
        assert all(p.grad.isfinite().all() for p in model.parameters() if p.grad is not None)

    def test_a_batch_of_nothing_is_refused(self) -> None:
        with pytest.raises(ValueError, match="the batch is empty"):
            made()(torch.zeros(0, 4, dtype=torch.long), attention_mask=torch.zeros(0, 4, dtype=torch.long))


class TestPacking:
    def test_layout(self) -> None:
        packing = Packing(torch.tensor([[1, 1, 1, 0], [0, 0, 0, 0], [0, 1, 0, 1], [1, 0, 0, 0]]))
        batch = torch.arange(16).view(4, 4)
        assert packing.pack(batch).tolist() == [[12, 9, 11, 0, 1, 2]]
        assert packing.positions.tolist() == [[0, 1, 3, 0, 1, 2]]
        assert packing.lengths.tolist() == [1, 2, 3]
        assert packing.cu_seqlens.tolist() == [0, 1, 3, 6]
        assert packing.cu_seqlens.dtype == torch.int32
        assert packing.longest == 3
        assert packing.unpack(packing.pack(batch)).tolist() == [[0, 1, 2, 0], [0] * 4, [0, 9, 0, 11], [12, 0, 0, 0]]

    @given(st.lists(st.integers(0, 9), min_size=1, max_size=7).filter(any), st.integers(0, 2**31))
    def test_there_and_back(self, lengths: list[int], seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        mask = torch.rand(len(lengths), 12, generator=generator).argsort(dim=1) < torch.tensor(lengths)[:, None]
        packing = Packing(mask.long())
        x = torch.randn(*mask.shape, 3, generator=generator, requires_grad=True)
        packed = packing.pack(x)
        assert packed.shape == (1, sum(lengths), 3)
        back = packing.unpack(packed)
        assert back.equal(x * mask[..., None])
        back.sum().backward()
        assert x.grad.equal(mask[..., None].expand(x.shape).float())

    @pytest.mark.parametrize("way", ["attend", "attend_padded"])
    @pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
    def test_each_way_equals_the_readable_formula(self, mask: Tensor, way: str, device: str) -> None:
        packing = Packing(mask.to(device))
        torch.manual_seed(0)
        query, key, value = torch.randn(3, *mask.shape, 2, 8, device=device)
        packed = [packing.pack(x)[0] for x in (query, key, value)]  # (N, h, d)
        if way == "attend":
            mixed = packing.attend(*(x.transpose(0, 1)[None] for x in packed))[0].transpose(0, 1)
        else:
            mixed = packing.attend_padded(*packed, 0.0)
        visible = mask.to(device)[:, None, None] == 1
        expected, _ = scaled_dot_product_attention(*(x.transpose(1, 2) for x in (query, key, value)), visible)
        close(packing.unpack(mixed[None]), expected.transpose(1, 2) * (mask.to(device) == 1)[..., None, None])


class TestRows:
    def expected(self, q: Tensor, k: Tensor, v: Tensor, lengths: list[int]) -> Tensor:
        """The formula, row by row, with autograd's own derivative."""
        parts = []
        for row in zip(q.split(lengths), k.split(lengths), v.split(lengths), strict=True):
            parts.append(scaled_dot_product_attention(*(x.transpose(0, 1) for x in row))[0].transpose(0, 1))
        return torch.cat(parts)

    @pytest.mark.parametrize("at_a_time", [1, 100, 2**18])
    @given(st.lists(st.integers(1, 6), min_size=1, max_size=9), st.booleans())
    def test_value_and_gradient(self, at_a_time: int, lengths: list[int], ordered: bool) -> None:
        lengths = sorted(lengths) if ordered else lengths
        rows.AT_A_TIME, usual = at_a_time, rows.AT_A_TIME
        try:
            torch.manual_seed(0)
            inputs = [torch.randn(sum(lengths), 2, 3, dtype=torch.float64, requires_grad=True) for _ in range(3)]
            weight = torch.randn(sum(lengths), 2, 3, dtype=torch.float64)
            found = []
            for mixed in (attend_rows(*inputs, torch.tensor(lengths)), self.expected(*inputs, lengths)):
                found.append((mixed, *torch.autograd.grad((mixed * weight).sum(), inputs)))
            torch.testing.assert_close(*found, atol=1e-12, rtol=1e-12)
        finally:
            rows.AT_A_TIME = usual

    def test_as_an_operator(self) -> None:
        """PyTorch's own examination: schema, derivative, what the compiler is told of shapes."""
        inputs = [torch.randn(7, 2, 4, dtype=torch.float64, requires_grad=True) for _ in range(3)]
        for dropout in (0.0, 0.3):
            seed = torch.tensor(5)
            torch.library.opcheck(torch.ops.bertbook.attend_rows, (*inputs, torch.tensor([3, 4]), dropout, seed))
        assert torch.autograd.gradcheck(
            lambda *x: torch.ops.bertbook.attend_rows(*x, torch.tensor([3, 4]), 0.3, torch.tensor(5)), inputs
        )

    def test_strides_of_any_kind(self) -> None:
        torch.manual_seed(0)
        wide = torch.randn(9, 2, 3, 4)
        query, key, value = (wide[:, :, index] for index in range(3))
        close(attend_rows(query, key, value, torch.tensor([4, 5])), self.expected(query, key, value, [4, 5]))

    def test_dropout(self) -> None:
        """With values of 1 the result is the sum of the weights that are left: 1 on average, its spread known."""
        n, p = 50, 0.3
        torch.manual_seed(0)
        ones = torch.ones(40 * n, 4, 1)
        mixed = attend_rows(torch.zeros_like(ones), torch.zeros_like(ones), ones, torch.full((40,), n), p)
        # Each sum has n terms of 1/n, kept with 1 − p and then divided by it.
        spread = (p / (1 - p) / n) ** 0.5
        assert abs(float(mixed.mean()) - 1) < 5 * spread / mixed.numel() ** 0.5
        assert abs(float(mixed.std()) / spread - 1) < 0.05
        torch.manual_seed(1)
        again = [attend_rows(ones, ones, ones, torch.full((40,), n), p) for _ in range(2)]
        assert not again[0].equal(again[1])
        torch.manual_seed(1)
        assert attend_rows(ones, ones, ones, torch.full((40,), n), p).equal(again[0])


OVERFLOW = 6e4  # squared, more than the 65 504 that float16 ends at


def test_half_precision_overflow_shows() -> None:
    """float16 ends at 65 504: what is too large becomes an infinity or NaN, never a wrong number that looks right.
    bfloat16 has the range of float32."""
    model = made(norm_first=True)  # the sum in the residual path has no norm
    with torch.no_grad():
        model.layers[0].feed_forward.down.bias.fill_(OVERFLOW)
        model.layers[1].feed_forward.down.bias.fill_(OVERFLOW)
    inputs = batch(MASKS["lengths"], model.config)
    real = MASKS["lengths"].bool()
    for model.packing in (False, True):
        exact = model.float()(**inputs, output_hidden_states=True)
        assert exact.hidden_states[-1][real].max() > 65504
        half = model.half()(**inputs)
        assert not half.last_hidden_state[real].isfinite().all()
        assert model.bfloat16()(**inputs).last_hidden_state[real].isfinite().all()


COMPILED = """
import torch
from torch._dynamo.testing import CompileCounterWithBackend
from bertbook import BertConfig, BertForPreTraining
from bertbook.speed import compile_layers
torch.manual_seed(0)
config = BertConfig(vocab_size=60, hidden_size=32, num_hidden_layers=3, num_attention_heads=4, intermediate_size=64,
    hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
model = BertForPreTraining(config)
counter = CompileCounterWithBackend("aot_eager")
def step(lengths):
    mask = (torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]).long()
    ids = torch.randint(5, 60, mask.shape, generator=torch.Generator().manual_seed(len(lengths)))
    labels = torch.where((torch.arange(max(lengths)) % 3 == 0) & (mask == 1), ids, -100)
    model.zero_grad()
    out = model(ids, attention_mask=mask, labels=labels, next_sentence_label=torch.zeros(len(lengths)).long())
    out.loss.backward()
    return out.loss, {name: p.grad.clone() for name, p in model.named_parameters()}
batches = [[5, 9], [3, 3, 17], [40, 1, 2, 8], [11, 12], [6, 2, 30, 7, 7], [1, 2], [33, 4, 20]]
expected = [step(lengths) for lengths in batches]
compile_layers(model, backend=counter)
for lengths, one in zip(batches, expected):
    torch.testing.assert_close(step(lengths), one, atol=1e-5, rtol=1e-5)
    counts = counter.frame_count
    if lengths is batches[1]:
        settled = counts
assert 1 <= settled == counts <= 2 * config.num_hidden_layers, (settled, counts)
"""


def test_lengths_that_change_every_step_do_not_compile_again() -> None:
    """In a process of its own: the shape checks that tests install would break the graph."""
    subprocess.run([sys.executable, "-c", COMPILED], check=True, timeout=300)
