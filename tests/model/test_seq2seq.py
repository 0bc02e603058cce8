"""The decoder against PyTorch's own, and what a decoder must never do: look ahead, or read padding."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import jaxtyping
import pytest
import torch
from torch import Tensor, nn

from bertbook import BertConfig
from bertbook.model.attention import MultiHeadAttention
from bertbook.model.decoder import DecoderLayer, LayerCache, causal_mask
from bertbook.model.seq2seq import Seq2Seq, shift_right

CONFIG = BertConfig(
    vocab_size=23,
    hidden_size=24,
    num_hidden_layers=2,
    num_attention_heads=3,
    intermediate_size=40,
    hidden_act="relu",
    max_position_embeddings=16,
    type_vocab_size=1,
    initializer_range=0.3,  # large, so that a mistake shows
    position_embedding_type="sinusoidal",
)
VARIANTS = {
    "post-norm": CONFIG,
    "pre-norm": replace(CONFIG, norm_first=True),
    "learned positions, RoBERTa's offset": replace(CONFIG, position_embedding_type="absolute", position_offset=2),
    "one layer, run three times": replace(CONFIG, num_hidden_layers=3, share_layers=True),
}
SOURCE = torch.tensor([[3, 9, 4, 7, 5], [6, 6, 8, 0, 0], [11, 0, 0, 0, 0]])
MASK = (SOURCE != 0).long()
TARGET = torch.tensor([[1, 12, 13, 14, 15, 16], [1, 9, 9, 2, 0, 0], [1, 22, 21, 20, 2, 0]])


def make(config: BertConfig, seed: int = 0) -> Seq2Seq:
    """Random in every weight: biases of 0 and LayerNorms that change nothing would hide mistakes."""
    torch.manual_seed(seed)
    model = Seq2Seq(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 1:
                parameter += 0.2 * torch.randn_like(parameter)
    return model


@pytest.fixture(params=VARIANTS.values(), ids=VARIANTS.keys())
def model(request: pytest.FixtureRequest) -> Seq2Seq:
    return make(request.param)


class TestAgainstPyTorch:
    """`torch.nn.TransformerDecoderLayer` and `torch.nn.Transformer`, written by others, with our weights."""

    @staticmethod
    def copy_attention(own: MultiHeadAttention, other: nn.MultiheadAttention) -> None:
        parts = (own.query, own.key, own.value)
        other.in_proj_weight.data = torch.cat([part.weight for part in parts])
        other.in_proj_bias.data = torch.cat([part.bias for part in parts])
        other.out_proj.load_state_dict(own.output.state_dict())

    def copy(self, own: Any, other: Any, *, norms: list[nn.LayerNorm]) -> None:
        self.copy_attention(own.attention, other.self_attn)
        if isinstance(own, DecoderLayer):
            self.copy_attention(own.cross_attention, other.multihead_attn)
        other.linear1.load_state_dict(own.feed_forward.up.state_dict())
        other.linear2.load_state_dict(own.feed_forward.down.state_dict())
        for number, norm in enumerate(norms, start=1):
            getattr(other, f"norm{number}").load_state_dict(norm.state_dict())

    def copy_decoder(self, own: Any, other: nn.TransformerDecoderLayer) -> None:
        self.copy(own, other, norms=[own.attention_norm, own.cross_norm, own.feed_forward_norm])

    def copy_encoder(self, own: Any, other: nn.TransformerEncoderLayer) -> None:
        self.copy(own, other, norms=[own.attention_norm, own.feed_forward_norm])

    @staticmethod
    def shape(config: BertConfig) -> dict[str, Any]:
        return {
            "d_model": config.hidden_size,
            "nhead": config.num_attention_heads,
            "dim_feedforward": config.intermediate_size,
            "dropout": 0.0,
            "activation": config.hidden_act,
            "layer_norm_eps": config.layer_norm_eps,
            "batch_first": True,
            "norm_first": config.norm_first,
        }

    @pytest.mark.parametrize("need_weights", [False, True])
    @pytest.mark.parametrize("activation", ["relu", "gelu"])
    @pytest.mark.parametrize("norm_first", [False, True])
    def test_one_layer(self, norm_first: bool, activation: str, need_weights: bool) -> None:
        config = replace(CONFIG, norm_first=norm_first, hidden_act=activation)
        own = make(config).layers[0]
        other = nn.TransformerDecoderLayer(**self.shape(config)).eval()
        self.copy_decoder(own, other)
        hidden, source = torch.randn(3, 6, 24), torch.randn(3, 5, 24)
        mask = MASK[:, None, None, :] == 1
        with torch.no_grad():
            given, _ = own(hidden, source, causal_mask(6), mask, need_weights=need_weights)
            expected = other(
                hidden,
                source,
                tgt_mask=~causal_mask(6)[0, 0],  # there True means: keep away
                memory_key_padding_mask=MASK == 0,
            )
        assert expected.std() > 0.5
        torch.testing.assert_close(given, expected, atol=1e-5, rtol=0)

    @pytest.mark.parametrize("norm_first", [False, True])
    def test_the_whole(self, norm_first: bool) -> None:
        config = replace(CONFIG, norm_first=norm_first)
        own = make(config)
        shape, layers = self.shape(config), config.num_hidden_layers
        # PyTorch ends both stacks in a LayerNorm even after post-norm layers, where the paper has none.
        closing = [nn.LayerNorm(24, eps=config.layer_norm_eps) if norm_first else None for _ in range(2)]
        encoder = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(**shape), layers, closing[0], enable_nested_tensor=False
        )
        decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(**shape), layers, closing[1])
        other = nn.Transformer(
            24, 3, batch_first=True, dropout=0.0, custom_encoder=encoder, custom_decoder=decoder
        ).eval()
        for index in range(layers):
            self.copy_encoder(own.encoder.layers[index], encoder.layers[index])
            self.copy_decoder(own.layers[index], decoder.layers[index])
        if norm_first:
            encoder.norm.load_state_dict(own.encoder.norm.state_dict())
            decoder.norm.load_state_dict(own.norm.state_dict())

        def embed(ids: Tensor) -> Tensor:
            return own.encoder.embeddings(ids, torch.zeros_like(ids))

        with torch.no_grad():
            expected = other(
                embed(SOURCE),
                embed(TARGET),
                tgt_mask=~causal_mask(6)[0, 0],
                src_key_padding_mask=MASK == 0,
                memory_key_padding_mask=MASK == 0,
                src_is_causal=False,
                tgt_is_causal=True,
            )
            expected = expected @ own.encoder.embeddings.token.weight.T + own.bias
            given = own(SOURCE, TARGET, attention_mask=MASK).logits
        assert expected.std() > 0.5
        torch.testing.assert_close(given, expected, atol=2e-5, rtol=1e-5)


class TestWhatItSees:
    def test_no_position_sees_a_later_one(self, model: Seq2Seq) -> None:
        with torch.no_grad():
            before = model(SOURCE, TARGET, attention_mask=MASK).logits
            for position in range(1, TARGET.shape[1]):
                changed = TARGET.clone()
                changed[:, position] = (changed[:, position] + 5) % CONFIG.vocab_size
                after = model(SOURCE, changed, attention_mask=MASK).logits
                torch.testing.assert_close(after[:, :position], before[:, :position], atol=1e-6, rtol=0)
                difference = (after[:, position:] - before[:, position:]).abs().amax(dim=-1)
                assert (difference > 1e-3).all()  # but itself and every later one does

    def test_padding_of_the_source_counts_for_nothing(self, model: Seq2Seq) -> None:
        other = torch.where(MASK == 1, SOURCE, 17)
        with torch.no_grad():
            given = model(SOURCE, TARGET, attention_mask=MASK).logits
            changed = model(other, TARGET, attention_mask=MASK).logits
            alone = [
                model(SOURCE[row : row + 1, :length], TARGET[row : row + 1]).logits
                for row, length in enumerate(MASK.sum(dim=1).tolist())
            ]
            unmasked = model(SOURCE, TARGET).logits
        torch.testing.assert_close(changed, given, atol=1e-6, rtol=0)
        torch.testing.assert_close(torch.cat(alone), given, atol=1e-5, rtol=1e-5)
        assert ((unmasked - given).abs().amax(dim=(1, 2)) > 1e-2).tolist() == [False, True, True]

    def test_every_target_position_sees_the_source(self, model: Seq2Seq) -> None:
        changed = SOURCE.clone()
        changed[:, 0] += 1
        with torch.no_grad():
            difference = model(SOURCE, TARGET).logits - model(changed, TARGET).logits
        assert (difference.abs().amax(dim=-1) > 1e-3).all()

    def test_a_source_of_padding_alone_gives_numbers(self, model: Seq2Seq) -> None:
        mask = MASK.clone()
        mask[2] = 0
        with torch.no_grad():
            given = model(SOURCE, TARGET, attention_mask=mask).logits
            expected = model(SOURCE, TARGET, attention_mask=MASK).logits
        assert given.isfinite().all()
        torch.testing.assert_close(given[:2], expected[:2], atol=1e-5, rtol=0)

    def test_attentions_on_request(self, model: Seq2Seq) -> None:
        layers = model.config.num_hidden_layers
        with torch.no_grad():
            plain = model(SOURCE, TARGET, attention_mask=MASK)
            out = model(SOURCE, TARGET, attention_mask=MASK, output_attentions=True)
        assert plain.attentions is plain.cross_attentions is plain.encoder.attentions is None
        torch.testing.assert_close(out.logits, plain.logits, atol=1e-5, rtol=1e-5)
        own, cross, encoder = (torch.stack(x) for x in (out.attentions, out.cross_attentions, out.encoder.attentions))
        assert own.shape == (layers, 3, 3, 6, 6)
        assert cross.shape == (layers, 3, 3, 6, 5)
        assert encoder.shape == (layers, 3, 3, 5, 5)
        assert (own.triu(1) == 0).all()
        assert (cross.movedim(1, -2)[..., MASK == 0] == 0).all()
        for weights in (own, cross):
            torch.testing.assert_close(weights.sum(dim=-1), torch.ones(weights.shape[:-1]))

    @pytest.mark.parametrize("need_weights", [False, True])
    def test_with_caches_as_without_at_every_step(self, model: Seq2Seq, need_weights: bool) -> None:
        caches = [LayerCache() for _ in range(model.config.num_hidden_layers)]
        with torch.no_grad():
            source = model.encoder(SOURCE, attention_mask=MASK).last_hidden_state
            expected = model(SOURCE, TARGET, attention_mask=MASK).logits
            for start, end in [(0, 1), (1, 2), (2, 5), (5, 6)]:  # several at once as well
                given, weights = model.decode(
                    TARGET[:, :end], source, attention_mask=MASK, caches=caches, output_attentions=need_weights
                )
                assert [cache.length for cache in caches] == [end] * len(caches)
                torch.testing.assert_close(given, expected[:, start:end], atol=1e-5, rtol=1e-5)
                if need_weights:
                    assert weights[0][0].shape == (3, 3, end - start, end)

    def test_the_source_is_projected_once(self, model: Seq2Seq) -> None:
        calls = []
        for layer in model.layers:
            layer.cross_attention.key.register_forward_hook(lambda *_: calls.append(1))
        caches = [LayerCache() for _ in range(model.config.num_hidden_layers)]
        with torch.no_grad():
            source = model.encoder(SOURCE).last_hidden_state
            for length in range(1, 5):
                model.decode(TARGET[:, :length], source, caches=caches)
        assert len(calls) == model.config.num_hidden_layers

    def test_a_cache_hands_out_rows(self) -> None:
        cache = LayerCache()
        cache.select(torch.tensor([0]))  # empty: nothing to choose from
        key, value, source = torch.randn(3, 2, 4, 5), torch.randn(3, 2, 4, 5), torch.randn(2, 3, 2, 6, 5)
        cache.append(key, value)
        cache.source = source[0], source[1]
        cache.select(torch.tensor([2, 0, 2, 2]))
        assert cache.target is not None
        assert torch.equal(cache.target[0], key[[2, 0, 2, 2]])
        assert torch.equal(cache.target[1], value[[2, 0, 2, 2]])
        assert torch.equal(cache.source[1], source[1][[2, 0, 2, 2]])


class TestTraining:
    def test_shift_right(self) -> None:
        labels = torch.tensor([[5, 6, 2, -100, -100], [7, 8, 9, 10, 2]])
        assert shift_right(labels, 1, 4).tolist() == [[1, 5, 6, 2, 4], [1, 7, 8, 9, 10]]
        assert labels[0].tolist() == [5, 6, 2, -100, -100]  # the caller's tensor stays

    def test_loss_is_the_mean_over_the_labels_that_count(self, model: Seq2Seq) -> None:
        labels = torch.tensor([[12, 13, 14, 15, 16, 2], [9, 9, 2, -100, -100, -100], [-100] * 6])
        with torch.no_grad():
            out = model(SOURCE, shift_right(labels, 1), attention_mask=MASK, labels=labels)
        log_p = out.logits.log_softmax(dim=-1)
        terms = [-log_p[b, t, labels[b, t]].item() for b in range(3) for t in range(6) if labels[b, t] >= 0]
        assert len(terms) == 9
        assert out.loss.item() == pytest.approx(sum(terms) / 9, rel=1e-5)

    def test_gradients_reach_every_parameter(self, model: Seq2Seq) -> None:
        labels = TARGET.roll(-1, dims=1)
        model.train()
        model(SOURCE, shift_right(labels, 1), attention_mask=MASK, labels=labels).loss.backward()
        silent = [name for name, parameter in model.named_parameters() if not parameter.grad.any()]
        assert silent == []

    def test_no_label_no_gradient(self, model: Seq2Seq) -> None:
        loss = model(SOURCE, TARGET, labels=torch.full_like(TARGET, -100)).loss
        loss.backward()
        assert loss.item() == 0
        assert not any(parameter.grad.any() for parameter in model.parameters() if parameter.grad is not None)

    @pytest.mark.parametrize("norm_first", [False, True])
    def test_learns_a_small_batch_by_heart(self, norm_first: bool) -> None:
        torch.manual_seed(0)
        config = replace(CONFIG, norm_first=norm_first, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
        model = Seq2Seq(config)
        labels = torch.tensor([[12, 13, 14, 2], [14, 13, 2, -100], [13, 2, -100, -100]])
        optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
        losses = []
        for _ in range(100):
            loss = model(SOURCE, shift_right(labels, 1), attention_mask=MASK, labels=labels).loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        assert losses[0] > 1
        assert losses[-1] < 0.01

    def test_dropout_only_in_training(self, model: Seq2Seq) -> None:
        with torch.no_grad():
            assert torch.equal(model(SOURCE, TARGET).logits, model(SOURCE, TARGET).logits)
            model.train()
            assert not torch.equal(model(SOURCE, TARGET).logits, model(SOURCE, TARGET).logits)

    def test_saves_and_loads(self, model: Seq2Seq) -> None:
        fresh = make(model.config, seed=1)
        fresh.load_state_dict(model.state_dict())
        with torch.no_grad():
            assert torch.equal(fresh(SOURCE, TARGET).logits, model(SOURCE, TARGET).logits)


def test_the_papers_base_model_has_its_size() -> None:
    """65 million, as table 3 has it, for the 37,000 pieces of section 5.1; ours is 63.1 with the same parts."""
    config = BertConfig(
        vocab_size=37000,
        hidden_size=512,
        num_hidden_layers=6,
        num_attention_heads=8,
        intermediate_size=2048,
        type_vocab_size=1,
        position_embedding_type="sinusoidal",
    )
    with torch.device("meta"):
        model = Seq2Seq(config)
    attention, feed_forward, norm = 4 * (512 * 512 + 512), 2 * 512 * 2048 + 512 + 2048, 2 * 512
    embeddings = 37000 * 512 + 512 + norm  # tokens, the one segment, LayerNorm; the output's weights are the tokens'
    expected = embeddings + 6 * (attention + feed_forward + 2 * norm) + 6 * (2 * attention + feed_forward + 3 * norm)
    assert sum(parameter.numel() for parameter in model.parameters()) == expected + 37000


def test_on_the_device(device: str) -> None:
    model = make(CONFIG)
    with torch.no_grad():
        expected = model(SOURCE, TARGET, attention_mask=MASK).logits
        model.to(device)
        given = model(SOURCE.to(device), TARGET.to(device), attention_mask=MASK.to(device)).logits
    torch.testing.assert_close(given.cpu(), expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision(dtype: torch.dtype) -> None:
    model = make(CONFIG)
    with torch.no_grad():
        expected = model(SOURCE, TARGET, attention_mask=MASK).logits
        given = model.to(dtype)(SOURCE, TARGET, attention_mask=MASK).logits
    assert given.dtype == dtype
    torch.testing.assert_close(given.float(), expected, atol=0.3, rtol=0.05)


class TestBadInput:
    @pytest.fixture(autouse=True)
    def without_shape_checks(self) -> Iterator[None]:
        """As readers run it: the shapes in signatures, which the tests check, must not speak first."""
        jaxtyping.config.update("jaxtyping_disable", True)
        yield
        jaxtyping.config.update("jaxtyping_disable", False)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"input_ids": SOURCE[0]}, "input_ids of shape (5,): expected (B, S)"),
            ({"input_ids": SOURCE + 20}, "input_ids from 20 to 31: each must be from 0 to 22"),
            ({"attention_mask": MASK[:, :4]}, "attention_mask of shape (3, 4) does not fit input_ids of shape (3, 5)"),
            ({"attention_mask": MASK + 1}, "attention_mask from 1 to 2: each must be from 0 to 1"),
            ({"decoder_input_ids": TARGET[0]}, "decoder_input_ids of shape (6,): expected (B, S), a batch of"),
            ({"decoder_input_ids": TARGET[:, :0]}, "decoder_input_ids of shape (3, 0): the batch is empty"),
            ({"decoder_input_ids": TARGET - 1}, "decoder_input_ids from -1 to 21: each must be from 0 to 22"),
            ({"decoder_input_ids": TARGET.float()}, "decoder_input_ids of type torch.float32: expected torch.int64"),
            ({"decoder_input_ids": TARGET[:2]}, "decoder_input_ids of shape (2, 6) for 3 sources: expected one row a"),
            ({"decoder_input_ids": TARGET.repeat(1, 3)}, "sequence of 18 tokens; this model has 16 positions"),
            ({"labels": TARGET[:, :5]}, "labels of shape (3, 5): expected (3, 6)"),
            ({"labels": TARGET + 1}, "labels holds 23: each must be from 0 to 22, or -100"),
            ({"labels": TARGET - 1}, "labels holds -1: each must be from 0 to 22, or -100"),
        ],
    )
    def test_one_clear_error(self, change: dict[str, Any], message: str) -> None:
        model = make(replace(CONFIG, position_embedding_type="absolute"))
        with pytest.raises(ValueError, match="^" + re.escape(message)):
            model(**{"input_ids": SOURCE, "decoder_input_ids": TARGET, **change})

    def test_caches_that_hold_more_than_the_target(self) -> None:
        model = make(CONFIG)
        caches = [LayerCache(), LayerCache()]
        source = model.encoder(SOURCE).last_hidden_state
        model.decode(TARGET[:, :2], source, caches=caches)
        with pytest.raises(ValueError, match=re.escape("of shape (3, 2); the caches hold 2 positions: pass the whole")):
            model.decode(TARGET[:, :2], source, caches=caches)

    def test_a_table_of_another_width(self) -> None:
        with pytest.raises(ValueError, match="embedding_size=8 with hidden_size=24: the token table also scores"):
            Seq2Seq(replace(CONFIG, embedding_size=8))
