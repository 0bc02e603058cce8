"""The masking for any input: what it touches, what it never touches, and on what its draws depend."""

import pickle
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from bertbook.model.inputs import IGNORED as MODELS_IGNORED
from bertbook.text.masking import IGNORED, MaskingPolicy, geometric
from bertbook.text.tokenizer import Tokenizer
from tests.text.mask_samples import CLS, DRAWABLE, FIRST, MASK, PAD, SEP, SPECIAL, TOKENIZER, UNK, VOCAB, plain_batch
from tests.text.plain_draws import key_of, splitmix64

settings_of_a_policy = st.fixed_dictionaries(
    {
        "shares": st.tuples(st.floats(0, 1), st.floats(0, 1)),
        "rate": st.floats(0.01, 1),
        "seed": st.integers(0, 2**63 - 1),
        "whole_words": st.booleans(),
        "spans": st.sampled_from([None, geometric(), (0.5, 0.5), (0.0, 0.0, 1.0)]),
        "exact": st.booleans(),
        "max_predictions": st.integers(1, 30),
    }
)


def make(shares: tuple[float, float], **others: Any) -> MaskingPolicy:
    return MaskingPolicy(TOKENIZER, mask_share=min(shares), random_share=1 - max(shares), **others)


@st.composite
def batches(draw: st.DrawFn) -> Tensor:
    rows, length = draw(st.integers(1, 4)), draw(st.integers(1, 20))
    ids = st.integers(0, len(VOCAB) - 1)
    values = draw(st.lists(ids, min_size=rows * length, max_size=rows * length))
    return torch.tensor(values, dtype=draw(st.sampled_from([torch.int64, torch.int32]))).view(rows, length)


@given(settings_of_a_policy, batches(), st.booleans())
def test_what_holds_for_every_input(chosen_settings: dict[str, Any], ids: Tensor, words: bool) -> None:
    policy = make(**chosen_settings)
    before = ids.clone()
    word_ids = torch.arange(ids.numel()).view_as(ids) // 2 if words and policy.whole_words else None
    corrupted, labels = policy(ids, word_ids)
    assert torch.equal(ids, before)
    for made in (corrupted, labels):
        assert made.shape == ids.shape
        assert made.dtype == ids.dtype
        assert made.data_ptr() != ids.data_ptr()
    chosen = labels != IGNORED
    assert torch.equal(labels[chosen], ids[chosen])
    assert torch.equal(corrupted[~chosen], ids[~chosen])
    assert not (chosen & (ids < len(SPECIAL))).any()
    assert set(corrupted[chosen].tolist()) <= {MASK, *DRAWABLE, *ids[chosen].tolist()}
    if policy.exact:
        for row, picked in zip(ids, chosen, strict=True):
            tokens = int((row != PAD).sum())
            wanted = min(policy.max_predictions, max(1, round(tokens * policy.rate)))
            free = int((row >= len(SPECIAL)).sum())
            assert picked.sum() <= wanted
            if not policy.whole_words and policy.spans is None:
                assert picked.sum() == min(wanted, free)


@given(settings_of_a_policy, batches(), st.integers(0, 5), st.integers(0, 10**9))
def test_an_example_is_masked_alike_in_any_company(
    chosen_settings: dict[str, Any], ids: Tensor, epoch: int, first: int
) -> None:
    """In any batch, in any order, with any padding, after any number of calls."""
    policy = make(**chosen_settings)
    index = list(range(first, first + len(ids)))
    corrupted, labels = policy.at(epoch, index)(ids)
    calls = policy.calls
    assert calls == 0
    policy(ids)
    wider = torch.cat([ids.flip(0), torch.full_like(ids, PAD)], dim=1)
    again, answers = policy.at(epoch, torch.tensor(index).flip(0))(wider)
    size = ids.shape[1]
    assert torch.equal(again[:, :size].flip(0), corrupted)
    assert torch.equal(answers[:, :size].flip(0), labels)
    assert torch.equal(again[:, size:], wider[:, size:])
    one, answer = policy.at(epoch, index[0])(ids[:1])
    assert torch.equal(one, corrupted[:1])
    assert torch.equal(answer, labels[:1])


def test_every_call_draws_anew_and_a_resumed_one_goes_on() -> None:
    ids = plain_batch(4, 40)
    policy = MaskingPolicy(TOKENIZER, seed=7)
    runs = [policy(ids) for _ in range(6)]
    assert len({tuple(labels.flatten().tolist()) for _, labels in runs}) == 6
    policy = MaskingPolicy(TOKENIZER, seed=7)
    for _ in range(3):
        policy(ids)
    state = policy.state_dict()
    assert state == {"seed": 7, "calls": 3}
    policy(ids)
    assert state == {"seed": 7, "calls": 3}
    resumed = MaskingPolicy(TOKENIZER)
    resumed.load_state_dict(state)
    for expected in runs[3:]:
        for made, should_be in zip(resumed(ids), expected, strict=True):
            assert torch.equal(made, should_be)


def test_seeds_epochs_and_examples_differ() -> None:
    ids = plain_batch(1, 200)
    made = {
        tuple(MaskingPolicy(TOKENIZER, seed=seed).at(epoch, index)(ids)[0].flatten().tolist())
        for seed in range(4)
        for epoch in range(4)
        for index in range(4)
    }
    assert len(made) == 64
    called = MaskingPolicy(TOKENIZER)(ids)[0]
    assert tuple(called.flatten().tolist()) not in made  # calls and epochs are counted apart


def test_a_call_that_fails_counts_for_nothing() -> None:
    policy = MaskingPolicy(TOKENIZER)
    with pytest.raises(ValueError, match="each must be from 0"):
        policy(torch.tensor([[len(VOCAB)]]))
    assert policy.calls == 0


@given(st.integers(0, 2**63 - 1), st.integers(0, 1000), st.integers(0, 10**12), st.floats(0.01, 1))
def test_the_draws_are_these(seed: int, epoch: int, index: int, rate: float) -> None:
    """In plain Python. Other draws for the same seed would change every run that somebody may want to resume."""
    ids = plain_batch(1, 24)[0].tolist()
    policy = MaskingPolicy(TOKENIZER, rate, seed=seed)
    policy.load_state_dict({"seed": seed, "calls": index})
    made = {
        (1, seed, epoch, index): policy.at(epoch, index)(torch.tensor([ids])),
        (0, seed, index, 0): policy(torch.tensor([ids])),
    }
    for parts, (corrupted, labels) in made.items():
        numbers = splitmix64(key_of(*parts), 2 * len(ids))
        for place, token in enumerate(ids):
            lot, fate = divmod(numbers[2 * place], 2**32)
            chosen = token >= FIRST and lot < round(rate * 2**32)
            new = token
            if chosen and fate < round(0.8 * 2**32):
                new = MASK
            elif chosen and fate < round((0.8 + 0.1) * 2**32):
                new = DRAWABLE[(numbers[2 * place + 1] >> 32) * len(DRAWABLE) >> 32]
            assert labels[0, place] == (token if chosen else IGNORED)
            assert corrupted[0, place] == new


def test_the_session_s_random_numbers_are_left_alone() -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    MaskingPolicy(TOKENIZER)(plain_batch(2, 20))
    assert torch.equal(torch.rand(3), expected)


@pytest.mark.parametrize("kind", [{}, {"whole_words": True}, {"spans": geometric()}, {"exact": True}])
def test_the_same_on_every_device(device: str, kind: dict[str, object]) -> None:
    ids = plain_batch(8, 64)
    expected = MaskingPolicy(TOKENIZER, **kind)(ids)  # type: ignore[arg-type]
    made = MaskingPolicy(TOKENIZER, **kind)(ids.to(device))  # type: ignore[arg-type]
    for tensor, should_be in zip(made, expected, strict=True):
        assert tensor.device.type == device
        assert torch.equal(tensor.cpu(), should_be)


def test_the_same_with_any_number_of_threads_and_in_another_process() -> None:
    ids = plain_batch(64, 512)
    policy = MaskingPolicy(TOKENIZER, seed=1)
    copy = pickle.loads(pickle.dumps(policy))
    expected = policy(ids)
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(2 if threads == 1 else 1)
        made = copy(ids)
    finally:
        torch.set_num_threads(threads)
    assert all(torch.equal(*pair) for pair in zip(made, expected, strict=True))


def test_nothing_that_may_be_chosen() -> None:
    ids = torch.tensor([[CLS, UNK, MASK, SEP, PAD], [PAD] * 5])
    for exact in (False, True):
        corrupted, labels = MaskingPolicy(TOKENIZER, rate=1.0, exact=exact)(ids)
        assert torch.equal(corrupted, ids)
        assert (labels == IGNORED).all()


def test_the_original_s_counts() -> None:
    policy = MaskingPolicy(TOKENIZER, exact=True)
    for length, wanted in [(3, 1), (5, 1), (10, 2), (16, 2), (17, 3), (30, 4), (40, 6), (128, 19), (512, 20)]:
        ids = torch.cat([plain_batch(5, length), torch.full((5, 7), PAD)], dim=1)
        assert ((policy(ids)[1] != IGNORED).sum(1) == wanted).all(), length
    assert (
        (MaskingPolicy(TOKENIZER, exact=True, max_predictions=77)(plain_batch(2, 512))[1] != IGNORED).sum(1) == 77
    ).all()


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(4, 40), st.integers(1, 8))
def test_exact_with_words_takes_what_fits(seed: int, length: int, most: int) -> None:
    """No word that is left out would still have room."""
    ids = plain_batch(1, length, seed)
    ids[:, 1] = FIRST
    policy = MaskingPolicy(TOKENIZER, exact=True, whole_words=True, seed=seed, rate=0.5, max_predictions=most)
    labels = policy(ids)[1]
    wanted = min(most, max(1, round(length * 0.5)))
    left = wanted - int((labels != IGNORED).sum())
    assert left >= 0
    pieces = torch.tensor([token.startswith("##") for token in VOCAB])
    word = (~pieces[ids]).cumsum(1)[0, 1:-1]
    sizes = {int(number): int((word == number).sum()) for number in word.unique()}
    chosen = {int(number) for number in word[labels[0, 1:-1] != IGNORED]}
    assert all(size > left for number, size in sizes.items() if number not in chosen)


def test_words_by_pieces_and_by_numbers_are_the_same() -> None:
    ids = plain_batch(8, 50)
    ids[:, 1] = FIRST
    pieces = torch.tensor([token.startswith("##") for token in VOCAB])
    word_ids = (~pieces[ids]).cumsum(1).masked_fill(ids < FIRST, -1)
    for kind in ({}, {"spans": geometric()}, {"exact": True}):
        by_pieces = MaskingPolicy(TOKENIZER, whole_words=True, **kind)(ids)  # type: ignore[arg-type]
        by_numbers = MaskingPolicy(TOKENIZER, whole_words=True, **kind)(ids, word_ids)  # type: ignore[arg-type]
        assert all(torch.equal(*pair) for pair in zip(by_pieces, by_numbers, strict=True))


def test_tokens_of_no_word_stand_alone() -> None:
    """Neighbours with −1 are not one word, and a word goes on around an [UNK] in its middle."""
    ids = torch.tensor([[FIRST, FIRST + 1, FIRST + 2, UNK, FIRST + 3, FIRST + 4]])
    word_ids = torch.tensor([[-1, -1, 5, 5, 5, 6]])
    policy = MaskingPolicy(TOKENIZER, rate=0.5, whole_words=True)
    seen = {tuple((policy(ids, word_ids)[1][0] != IGNORED).tolist()) for _ in range(300)}
    assert all(chosen[2] == chosen[4] and not chosen[3] for chosen in seen)
    assert len(seen) == 2**4  # two that stand alone, the word, and the last: all combinations


def test_added_special_tokens_count_as_special() -> None:
    tokenizer = Tokenizer.from_vocab(VOCAB)
    backend = tokenizer.backend
    backend.add_special_tokens(["<eop>"])
    tokenizer = Tokenizer(backend)
    new = tokenizer.vocab["<eop>"]
    policy = MaskingPolicy(tokenizer, rate=1.0, mask_share=0.0, random_share=1.0)
    ids = torch.full((50, 100), FIRST)
    ids[:, 3] = new
    corrupted, labels = policy(ids)
    assert (labels[:, 3] == IGNORED).all()
    assert (corrupted == new).sum() == 50


def test_the_ignored_label_is_that_of_the_models() -> None:
    assert IGNORED == MODELS_IGNORED


def test_spanbert_s_lengths() -> None:
    lengths = geometric()
    assert len(lengths) == 10
    assert sum(lengths) == pytest.approx(1)
    assert lengths[1] / lengths[0] == pytest.approx(0.8)
    assert sum((n + 1) * share for n, share in enumerate(lengths)) == pytest.approx(3.8, abs=0.01)  # as the paper says


def test_repr() -> None:
    assert repr(MaskingPolicy(TOKENIZER)) == "MaskingPolicy(0.15: 0.8 [MASK], 0.1 random, seed=0, calls=0)"
    policy = MaskingPolicy(TOKENIZER, 0.2, whole_words=True, spans=geometric(), exact=True, seed=4)
    assert repr(policy) == ("MaskingPolicy(0.2: 0.8 [MASK], 0.1 random, whole words, spans, exact, seed=4, calls=0)")
