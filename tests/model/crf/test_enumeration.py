"""Every method against the list of all paths: random tags, lengths, holes, constraints, ties."""

import math
from random import Random
from typing import NamedTuple

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import Tensor

from bertbook import LinearChainCRF
from bertbook.model.tag_schemes import TagConstraints, tag_constraints
from tests.model.crf.enumeration import Scored, all_paths, log_z, marginals, random_crf, score_of


def near(expected: object) -> object:
    return pytest.approx(expected, rel=1e-10, abs=1e-10)


class Drawn(NamedTuple):
    """What hypothesis chooses; the numbers come from torch, by the seed."""

    seed: int
    num_tags: int
    mask: list[list[bool]]
    constrained: bool
    whole: bool  # small whole numbers: many paths of one score


@st.composite
def problems(draw: st.DrawFn) -> Drawn:
    length = draw(st.integers(1, 5))
    row = st.lists(st.booleans(), min_size=length, max_size=length)
    mask = draw(st.lists(row, min_size=1, max_size=3))
    return Drawn(
        draw(st.integers(0, 2**32 - 1)), draw(st.integers(1, 4)), mask, draw(st.booleans()), draw(st.booleans())
    )


def make(drawn: Drawn) -> tuple[LinearChainCRF, Tensor, Tensor, list[list[Scored]]]:
    """A CRF, emissions (B, S, K), the mask (B, S), and all paths of each row, which has at least one."""
    torch.manual_seed(drawn.seed)
    constraints, num_tags = None, drawn.num_tags
    if drawn.constrained:
        tables = [torch.rand(size) < 0.8 for size in ((num_tags,), (num_tags,), (num_tags, num_tags))]
        constraints = TagConstraints(tuple(f"tag {i}" for i in range(num_tags)), *tables)
    crf, mask = random_crf(num_tags, constraints), torch.tensor(drawn.mask)
    emissions = 2 * torch.randn(*mask.shape, num_tags, dtype=torch.float64)
    if drawn.whole:
        emissions = emissions.round()
        with torch.no_grad():
            for parameter in crf.parameters():
                parameter.round_()
    paths = [all_paths(crf, *row) for row in zip(emissions, mask, strict=True)]
    assume(all(paths))
    return crf, emissions, mask, paths


@given(problems())
def test_everything(drawn: Drawn) -> None:
    crf, emissions, mask, paths = make(drawn)
    assert crf.log_partition(emissions, mask).tolist() == near([log_z(row) for row in paths])
    got = crf.marginals(emissions, mask)
    for row, table in zip(got.tolist(), paths, strict=True):
        expected = marginals(table, crf.num_tags)
        assert [x for scores in row for x in scores] == near([x for xs in expected for x in xs])
    best, scores = crf.viterbi(emissions, mask)
    for path, score, row in zip(best.tolist(), scores.tolist(), paths, strict=True):
        assert score == near(row[0].score)
        assert dict(row)[tuple(path)] == near(score)  # an allowed path, as good as the best


@given(problems(), st.integers(1, 40))
def test_k_best(drawn: Drawn, k: int) -> None:
    crf, emissions, mask, paths = make(drawn)
    found = crf.k_best(emissions, mask, k)
    assert len(found) == len(paths)
    for row, expected in zip(found, paths, strict=True):
        # Ties may come in any order: the scores must be those of the list, the paths distinct and truly so scored.
        assert [score for _, score in row] == near([x.score for x in expected[:k]])
        distinct = {tuple(path.tolist()) for path, _ in row}
        assert len(distinct) == len(row)
        for path, score in row:
            assert dict(expected)[tuple(path.tolist())] == near(score)


@given(problems(), st.randoms(use_true_random=False))
def test_likelihood(drawn: Drawn, random: Random) -> None:
    crf, emissions, mask, paths = make(drawn)
    assume(mask.any())
    gold = [random.choice(row) for row in paths]
    labels = torch.tensor([path for path, _ in gold])
    expected = [score - log_z(row) for (_, score), row in zip(gold, paths, strict=True)]
    assert crf.log_likelihood(emissions, labels).tolist() == near(expected)
    assert crf(emissions, labels).item() == near(-sum(expected) / int(mask.sum()))


@given(problems())
def test_probabilities_sum_to_one(drawn: Drawn) -> None:
    crf, emissions, mask, paths = make(drawn)
    assume(mask[0].any())
    labels = torch.tensor([path for path, _ in paths[0]])
    many = emissions[:1].expand(len(labels), -1, -1)
    assert crf.log_likelihood(many, labels).exp().sum().item() == pytest.approx(1, abs=1e-10)


def test_no_allowed_path() -> None:
    """B may start, E may end, but a chain of one would need both: the second row has no path."""
    crf = random_crf(2, tag_constraints(["B", "E"], "BMES"))
    emissions, mask = torch.zeros(2, 2, 2).double(), torch.tensor([[1, 1], [0, 1]])
    assert not all_paths(crf, emissions[1], mask[1])
    for method in (crf.log_partition, crf.viterbi, crf.marginals, lambda *given: crf.k_best(given[0], given[1], 2)):
        with pytest.raises(ValueError, match="row 1: the constraints allow no path of its length"):
            method(emissions, mask)
    assert crf.viterbi(emissions[:1], mask[:1])[0].tolist() == [[0, 1]]


def test_an_empty_row_has_the_empty_path() -> None:
    crf = random_crf(3)
    emissions, mask = torch.randn(2, 4, 3).double(), torch.tensor([[0, 0, 0, 0], [1, 0, 0, 1]])
    assert crf.log_partition(emissions, mask)[0] == 0
    assert crf.log_likelihood(emissions, torch.where(mask == 1, 2, -100))[0] == 0
    assert not crf.marginals(emissions, mask)[0].any()
    paths, scores = crf.viterbi(emissions, mask)
    assert paths[0].tolist() == [-100] * 4
    assert scores[0] == 0
    (path, score), *others = crf.k_best(emissions, mask, 5)[0]
    assert (path.tolist(), score, others) == ([-100] * 4, 0, [])
    assert crf.viterbi(emissions[:1], mask[:1])[0].tolist() == [[-100] * 4]  # nothing in the whole batch


def test_k_larger_than_the_number_of_paths() -> None:
    crf = random_crf(2)
    emissions, mask = torch.randn(2, 3, 2).double(), torch.tensor([[1, 0, 1], [0, 1, 0]])
    assert [len(row) for row in crf.k_best(emissions, mask, 10**9)] == [4, 2]


def test_bio_is_kept_when_the_emissions_pull_the_other_way() -> None:
    names = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
    crf, free = LinearChainCRF(5, tag_constraints(names, "BIO")), LinearChainCRF(5)
    emissions = torch.zeros(1, 3, 5)
    emissions[0, 0, 4], emissions[0, 1, 2], emissions[0, 2, 2] = 9.0, 8.0, 8.0  # I-LOC I-PER I-PER
    mask = torch.ones(1, 3, dtype=torch.bool)
    assert [names[i] for i in free.viterbi(emissions, mask)[0][0]] == ["I-LOC", "I-PER", "I-PER"]
    assert [names[i] for i in crf.viterbi(emissions, mask)[0][0]] == ["B-PER", "I-PER", "I-PER"]
    assert all(path[0] not in (2, 4) for path, _ in crf.k_best(emissions, mask, 125)[0])
    assert crf.marginals(emissions, mask)[0, 0, [2, 4]].tolist() == [0, 0]  # 0 exactly


def test_the_definition_of_the_definition() -> None:
    """Two tags, two positions, by hand: the enumeration itself is held to something."""
    crf = LinearChainCRF(2)
    with torch.no_grad():
        crf.start.copy_(torch.tensor([1.0, 2.0]))
        crf.end.copy_(torch.tensor([4.0, 8.0]))
        crf.transitions.copy_(torch.tensor([[16.0, 32.0], [64.0, 128.0]]))
    emissions = torch.tensor([[256.0, 512.0], [1024.0, 2048.0]])
    assert score_of(crf, emissions.tolist(), (0, 1)) == 1 + 256 + 32 + 2048 + 8
    assert score_of(crf, emissions.tolist(), (1, 0)) == 2 + 512 + 64 + 1024 + 4
    paths = all_paths(crf, emissions, torch.ones(2))
    assert [path for path, _ in paths] == [(1, 1), (0, 1), (1, 0), (0, 0)]
    assert log_z([Scored((0,), 0.0), Scored((1,), math.log(3))]) == pytest.approx(math.log(4))
