"""The masking as a distribution: rates, shares, places, kinds of tokens, words, spans, replacements."""

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest
import torch
from torch import Tensor

from bertbook.text.masking import IGNORED, MaskingPolicy, geometric
from tests.text.chi_square import p_value, tail, uniform_p_value
from tests.text.mask_samples import DRAWABLE, FIRST, MASK, PIECES, TOKENIZER, VOCAB, WORDS, plain_batch

IDS = plain_batch(64, 130)  # 64 rows of 128 that may be chosen
Masking = Callable[[Tensor], tuple[Tensor, Tensor]]
# Drawn is never told from kept where the drawn token is the one that was there: 1 in so many.
SAME = 1 / len(DRAWABLE)


def fates(ids: Tensor, corrupted: Tensor, labels: Tensor) -> Tensor:
    """Counts of: not chosen, [MASK], another token, the same token."""
    free = ids >= FIRST
    chosen = labels != IGNORED
    same = corrupted == ids
    kinds = [free & ~chosen, chosen & (corrupted == MASK), chosen & ~same & (corrupted != MASK), chosen & same]
    return torch.stack([kind.sum() for kind in kinds])


def expected_shares(rate: float = 0.15, mask: float = 0.8, random: float = 0.1) -> Tensor:
    other = random * (1 - SAME)
    return torch.tensor([1 - rate, rate * mask, rate * other, rate * (1 - mask - other)])


def p_of(masking: Masking, calls: int = 10, **shares: float) -> float:
    """How well the fates of so many calls fit the shares."""
    counts = sum((fates(IDS, *masking(IDS)) for _ in range(calls)), torch.zeros(4))
    return p_value(counts, expected_shares(**shares))


@pytest.mark.parametrize(
    "shares",
    [
        {},
        {"rate": 0.4},
        {"rate": 1.0},
        {"mask": 0.5, "random": 0.25},
        {"mask": 1 / 3, "random": 1 / 3},
    ],
)
def test_fates_have_their_shares(shares: dict[str, float]) -> None:
    names = {"rate": "rate", "mask": "mask_share", "random": "random_share"}
    policy = MaskingPolicy(TOKENIZER, **{names[name]: share for name, share in shares.items()})
    if shares.get("rate") == 1:
        counts = fates(IDS, *policy(IDS))
        assert counts[0] == 0
        assert p_value(counts[1:], expected_shares(**shares)[1:]) > 1e-3
    else:
        assert p_of(policy, **shares) > 1e-3


@pytest.mark.parametrize(("mask", "random"), [(1.0, 0.0), (0.0, 1.0), (0.0, 0.0)])
def test_shares_of_all_or_nothing(mask: float, random: float) -> None:
    policy = MaskingPolicy(TOKENIZER, mask_share=mask, random_share=random)
    corrupted, labels = policy(IDS)
    chosen = labels != IGNORED
    assert (corrupted[chosen] == MASK).all() == (mask == 1)
    assert (corrupted == IDS).all() == (mask == random == 0)
    if random:
        assert MASK not in corrupted


def test_p_values_over_many_seeds_are_uniform() -> None:
    """A right policy gives every p value alike often: one that is too regular would give too few small ones."""
    values = torch.tensor([p_of(MaskingPolicy(TOKENIZER, seed=seed), calls=1) for seed in range(300)])
    bins = torch.histc(values, bins=10, min=0, max=1)
    assert uniform_p_value(bins) > 1e-3
    assert values.min() > 1e-5


def wrong_policies() -> Iterator[tuple[str, Masking]]:
    """Code in circulation, each with its mistake."""
    generator = torch.Generator().manual_seed(0)

    def lots() -> Tensor:
        return torch.rand(IDS.shape, generator=generator)

    def masking(mask: Callable[[Tensor], Tensor], random: Callable[[Tensor], Tensor], rate: float = 0.15) -> Masking:
        def apply(ids: Tensor) -> tuple[Tensor, Tensor]:
            chosen = (ids >= FIRST) & (lots() < rate)
            fate = lots()
            drawn = torch.randint(FIRST, len(VOCAB), ids.shape, generator=generator)
            corrupted = torch.where(chosen & random(fate), drawn, ids)
            return corrupted.masked_fill(chosen & mask(fate), MASK), ids.masked_fill(~chosen, IGNORED)

        return apply

    yield "always [MASK]", masking(lambda fate: fate >= 0, lambda fate: fate < 0)
    yield "80/0/20", masking(lambda fate: fate < 0.8, lambda fate: fate < 0)
    yield "80/20/0", masking(lambda fate: fate < 0.8, lambda fate: fate >= 0.8)
    yield (
        "80/2/18: a lot of its own for the random tokens",
        masking(lambda fate: fate < 0.8, lambda fate: (fate >= 0.8) & (lots() < 0.1)),
    )
    yield (
        "81/10/9: a lot of its own for the kept",
        masking(lambda fate: fate < 0.81, lambda fate: (fate >= 0.81) & (fate < 0.91)),
    )
    yield "a rate of 16 %", masking(lambda fate: fate < 0.8, lambda fate: (fate >= 0.8) & (fate < 0.9), 0.16)


WRONG = dict(wrong_policies())


@pytest.mark.parametrize("name", WRONG)
def test_the_test_finds_what_is_wrong(name: str) -> None:
    assert p_of(WRONG[name], calls=40) < 1e-6


def test_the_same_everywhere_in_a_sequence() -> None:
    counts = torch.zeros(IDS.shape[1])
    policy = MaskingPolicy(TOKENIZER)
    for _ in range(20):
        counts += (policy(IDS)[1] != IGNORED).sum(0)
    assert counts[0] == counts[-1] == 0
    spread = 1 - policy.rate  # of a binomial count against a Poisson one
    counts = counts[1:-1]
    expected = torch.full_like(counts, 20 * len(IDS) * policy.rate)
    assert 1e-3 < tail(((counts - expected) ** 2 / expected / spread).sum(), len(counts)) < 1 - 1e-3


@pytest.mark.parametrize("whole_words", [False, True])
def test_the_same_for_every_kind_of_token(whole_words: bool) -> None:
    """First pieces, further pieces, Chinese characters: each is chosen as often as all."""
    policy = MaskingPolicy(TOKENIZER, whole_words=whole_words)
    ends = [FIRST, FIRST + len(WORDS), FIRST + len(WORDS) + len(PIECES), len(VOCAB)]
    for low, high in pairwise(ends):
        kind = torch.isin(IDS, torch.arange(low, high))
        chosen = sum(int((policy(IDS)[1][kind] != IGNORED).sum()) for _ in range(20))
        count = 20 * int(kind.sum())
        # Pieces of one word are chosen together: as few independent cases as words of, on average, 1.4 pieces.
        deviation = (count * policy.rate * (1 - policy.rate) * (3 if whole_words else 1)) ** 0.5
        assert abs(chosen - count * policy.rate) < 4 * deviation


def test_tokens_are_chosen_independently() -> None:
    """Of neighbours in a row, of neighbouring rows, and of two calls, both are chosen as often as chance has it."""
    policy = MaskingPolicy(TOKENIZER, rate=0.3)
    first, second = (torch.cat([(policy(IDS)[1] != IGNORED)[:, 1:-1] for _ in range(10)]) for _ in range(2))
    pairs = {"neighbours": (first[:, :-1], first[:, 1:]), "rows": (first[:-1], first[1:]), "calls": (first, second)}
    for name, (one, other) in pairs.items():
        counts = torch.bincount((2 * one + other).flatten(), minlength=4)
        shares = torch.tensor([0.7 * 0.7, 0.7 * 0.3, 0.3 * 0.7, 0.3 * 0.3])
        assert p_value(counts, shares) > 1e-3, name


def test_drawn_tokens_are_uniform_over_what_may_be_drawn() -> None:
    policy = MaskingPolicy(TOKENIZER, rate=1.0, mask_share=0.0, random_share=1.0)
    corrupted, labels = policy(plain_batch(500, 130))
    drawn = corrupted[labels != IGNORED]
    assert set(drawn.tolist()) == set(DRAWABLE)  # so no special token, none that is unused, and no gap
    assert uniform_p_value(torch.bincount(drawn - FIRST)) > 1e-3
    by_original = torch.zeros(len(DRAWABLE), len(DRAWABLE))
    original = labels[labels != IGNORED]
    by_original.index_put_((original - FIRST, drawn - FIRST), torch.tensor(1.0), accumulate=True)
    row = by_original.sum(1, keepdim=True) / len(DRAWABLE)
    statistic = ((by_original - row) ** 2 / row).sum()
    assert tail(statistic, len(DRAWABLE) * (len(DRAWABLE) - 1)) > 1e-3  # whatever stood there


def words_of(ids: Tensor) -> Tensor:
    """(B, S): the number of each token's word, by the rule that a word goes on with ##."""
    pieces = torch.tensor([token.startswith("##") for token in VOCAB])
    return (~pieces[ids]).cumsum(1)


def test_pieces_of_a_word_share_one_fate() -> None:
    ids = IDS.clone()
    ids[:, 1] = FIRST  # no piece begins a text
    word = words_of(ids)
    policy = MaskingPolicy(TOKENIZER, rate=0.3, whole_words=True)
    counts = torch.zeros(3)
    for _ in range(10):
        corrupted, labels = policy(ids)
        for row in range(len(ids)):
            for number in word[row, 1:-1].unique():
                inside = (word[row] == number) & (ids[row] >= FIRST)
                chosen = labels[row, inside] != IGNORED
                assert chosen.all() or not chosen.any()
                if chosen.all() and inside.sum() >= 3:
                    hidden = corrupted[row, inside] == MASK
                    same = corrupted[row, inside] == ids[row, inside]
                    assert hidden.all() or not hidden.any()
                    # Three that were drawn are hardly ever all as before: 1 time in 74,000.
                    counts += torch.stack([hidden.all(), ~hidden.any() & ~same.all(), same.all()])
    assert p_value(counts, torch.tensor([0.8, 0.1, 0.1])) > 1e-3


def test_words_are_chosen_at_the_same_rate_whatever_their_length() -> None:
    ids = IDS.clone()
    ids[:, 1] = FIRST
    word = words_of(ids)
    policy = MaskingPolicy(TOKENIZER, whole_words=True)
    totals, chosen = Counter[int](), Counter[int]()
    lengths = [torch.bincount(row[1:-1]) for row in word]
    for _ in range(10):
        labels = policy(ids)[1]
        for row, sizes in enumerate(lengths):
            picked = torch.bincount(word[row, 1:-1][labels[row, 1:-1] != IGNORED], minlength=len(sizes)) > 0
            for size in (1, 2, 3):
                totals[size] += int((sizes == size).sum())
                chosen[size] += int(picked[sizes == size].sum())
    for size, count in totals.items():
        observed = torch.tensor([chosen[size], count - chosen[size]])
        assert p_value(observed, torch.tensor([0.15, 0.85])) > 1e-3, size


def run_lengths(chosen: Tensor) -> list[int]:
    """Lengths of the runs of True that touch neither end of a row."""
    lengths = []
    for row in chosen.tolist():
        runs = "".join("x" if x else "." for x in row).split(".")
        lengths += [len(run) for run in runs[1:-1] if run]
    return lengths


@pytest.mark.parametrize("spans", [geometric(), (0.5, 0.0, 0.5), (1.0,)], ids=["SpanBERT", "1 or 3", "single"])
def test_span_lengths(spans: tuple[float, ...]) -> None:
    """Runs are spans, or several spans that happen to touch: the distribution of that is computed here exactly."""
    rate = 0.1
    policy = MaskingPolicy(TOKENIZER, rate, spans=spans)
    ids = plain_batch(100, 4002)
    ids[:, 1:-1] = FIRST
    lengths = Counter(run_lengths((policy(ids)[1] != IGNORED)[:, 1:-1]))

    single = torch.tensor([0.0, *spans], dtype=torch.float64)
    longest = 8 * len(single)
    run, touching = torch.zeros(longest, dtype=torch.float64), torch.ones(1, dtype=torch.float64)
    for count in range(8):  # this many spans after the first
        joined = torch.nn.functional.conv1d(touching.view(1, 1, -1), single.flip(0).view(1, 1, -1), padding=len(spans))
        touching = joined.flatten()
        run[: len(touching)] += (1 - rate) * rate**count * touching[:longest]
    total = sum(lengths.values())
    assert total > 8000
    shares = {n: share for n, share in enumerate(run.tolist()) if total * share >= 5}
    observed = [lengths[n] for n in shares]
    # The rest, which is rare, counts as one more kind where it is not too rare for that.
    rest = 1 - sum(shares.values())
    fitting = torch.tensor([*shares.values(), rest], dtype=torch.float64)
    counts = torch.tensor([*observed, total - sum(observed)])
    if total * rest < 5:
        fitting, counts = fitting[:-1] / fitting[:-1].sum(), counts[:-1]
    assert p_value(counts, fitting) > 1e-3


def test_spans_cover_every_place_alike() -> None:
    policy = MaskingPolicy(TOKENIZER, spans=geometric())
    chosen = sum((policy(IDS)[1] != IGNORED).sum(0) for _ in range(50))
    count = 50 * len(IDS)
    deviation = (count * policy.rate * (1 - policy.rate)) ** 0.5
    scores = (chosen[1:-1] - count * policy.rate) / deviation
    assert scores.abs().max() < 4.5
    assert scores.square().mean() == pytest.approx(1, abs=0.5)


def test_spans_of_words_are_whole_and_end_at_special_tokens() -> None:
    ids = IDS.clone()
    ids[:, 60] = 3  # [SEP], between two texts
    ids[:, [1, 61]] = FIRST
    policy = MaskingPolicy(TOKENIZER, spans=(0.0, 0.0, 0.0, 1.0), whole_words=True, mask_share=1.0, random_share=0.0)
    word = words_of(ids)
    across = 0
    for _ in range(10):
        chosen = policy(ids)[1] != IGNORED
        for row in range(len(ids)):
            for number in word[row].unique():
                inside = (word[row] == number) & (ids[row] >= FIRST)
                assert chosen[row, inside].all() or not chosen[row, inside].any()
        across += int((chosen[:, 59] & chosen[:, 61]).sum())
    # Both sides of [SEP] are chosen together as rarely as two places far apart.
    assert across < 40 * 0.15**2 * 10 * len(ids) / 20


def test_exactly_so_many_and_the_same_everywhere() -> None:
    policy = MaskingPolicy(TOKENIZER, exact=True)
    counts = torch.zeros(IDS.shape[1])
    for _ in range(20):
        chosen = policy(IDS)[1] != IGNORED
        assert (chosen.sum(1) == 20).all()
        counts += chosen.sum(0)
    places, rows = IDS.shape[1] - 2, 20 * len(IDS)
    share = 20 / places
    statistic = ((counts[1:-1] - rows * share) ** 2).sum() / (rows * share * (1 - share)) * (places - 1) / places
    assert 1e-3 < tail(statistic, places - 1) < 1 - 1e-3
