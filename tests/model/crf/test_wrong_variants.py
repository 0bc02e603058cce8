"""CRFs with one mistake each: the comparisons of this folder must tell every one from the right one."""

from collections.abc import Callable
from types import ModuleType

import pytest
import torch
from torch import Tensor

from tests.model.crf.enumeration import all_paths, log_z, marginals, random_crf
from tests.model.crf.plain import plain_crf

# What is wrong, what the source says, what the mistaken one says, the check that fails.
MISTAKES = [
    ("from and to exchanged", "alphas[-1][:, :, None] + chain.transitions",
     "alphas[-1][:, :, None] + chain.transitions.T", "log Z"),
    ("summed over the wrong tag", "arriving.logsumexp(1)", "arriving.logsumexp(2)", "log Z"),
    ("the best path for the sum", "arriving.logsumexp(1)", "arriving.amax(1)", "log Z"),
    ("the sum read at the last position of the batch", "(chain.inside.sum(1) - 1).clamp(min=0)",
     "chain.inside.sum(1) * 0 + chain.inside.shape[1] - 1", "log Z"),
    ("a row of nothing counts log K", ".masked_fill(~chain.inside[:, 0], 0.0)", "", "log Z"),
    ("no end score", "+ last[..., None] * end", "", "log Z"),
    ("the end score at the end of the batch", "step == lengths - 1", "step == step[-1:]", "log Z"),
    ("a start score in every row, empty ones too", "inside & (step == 0)", "(lengths > 1) & (step == 0)", "log Z"),
    ("an order that is not stable", "mask.long().argsort(dim=1, descending=True, stable=True)",
     "mask.long().argsort(dim=1, stable=True).flip(1)", "log Z"),
    ("holes left where they are", "mask.long().argsort(dim=1, descending=True, stable=True)",
     "torch.arange(mask.shape[1]).expand(mask.shape)", "log Z"),
    ("the shift forgotten", "log_zs + chain.offset", "log_zs", "log Z"),
    ("padding moves counted", "moves.masked_fill(~chain.inside[:, 1:], 0.0)", "moves", "likelihood"),
    ("forbidden moves taken", "self.transitions.to(dtype).masked_fill(~self.allowed_transitions, FORBIDDEN)",
     "self.transitions.to(dtype)", "log Z"),
    ("a wrong sign", "-self.log_likelihood", "self.log_likelihood", "loss"),
    ("a mean over rows", "/ (labels != IGNORED).sum()", "/ len(labels)", "loss"),
    ("going on into the padding", ".masked_fill(~chain.inside[:, t, None], 0.0)", "", "marginals"),
    ("backward without what is emitted next", "(chain.scores[:, t] + betas[-1])", "betas[-1]", "marginals"),
    ("backward in the wrong direction", "leaving.logsumexp(2)", "leaving.logsumexp(1)", "marginals"),
    ("what the forward half knows", "alphas + backward_scores(chain)", "alphas", "marginals"),
    ("marginals left at the left", "chain.positions[..., None].expand_as(marginals)",
     "torch.arange(marginals.shape[1])[None, :, None].expand_as(marginals)", "marginals"),
    ("paths left at the left", "index = chain.positions[:, None].expand_as(tags)",
     "index = torch.arange(tags.shape[2]).expand_as(tags)", "viterbi"),
    ("the trace goes on in the padding", "torch.where(inside, origin.transpose(1, 2).flatten(1), same)",
     "origin.transpose(1, 2).flatten(1)", "viterbi"),
    ("ranks and tags exchanged", "origin.transpose(1, 2).flatten(1)", "origin.flatten(1)", "k best"),
    ("each tag has k paths at the start", "first.new_full((batch, num_tags, k - 1), -math.inf)",
     "first[..., None].expand(batch, num_tags, k - 1)", "k best"),
    ("the empty path K times", "scores.masked_fill(empty, -math.inf)", "scores", "k best"),
    ("forbidden paths among the k", "(scores > FORBIDDEN / 2)", "(scores > 4 * FORBIDDEN)", "k best"),
    ("-inf for what is forbidden", "FORBIDDEN = -1e30", "FORBIDDEN = -math.inf", "gradient"),
    ("a floor that can be paid", "FORBIDDEN = -1e30", "FORBIDDEN = -10.0", "marginals"),
    ("sums in the type that was given", "torch.promote_types(torch.promote_types(emissions.dtype, "
     "self.transitions.dtype), torch.float32)", "emissions.dtype", "half"),
    ("no centre", "scores = (scores - highest)", "highest = highest * 0; scores = (scores - highest)", "height"),
]  # fmt: skip


def failing(old: str = "", new: str = "") -> set[str]:
    """The checks that this variant of the source fails; none, for the source as it is. An error fails its check."""
    failed = set()
    with plain_crf(old, new) as module:
        for constrained in (False, True):
            for name, check in checks(module, constrained).items():
                try:
                    passed = check()
                except (RuntimeError, ValueError, IndexError):
                    passed = False
                if not passed:
                    failed.add(name)
    return failed


def checks(module: ModuleType, constrained: bool) -> dict[str, Callable[[], bool]]:
    torch.manual_seed(0)
    start, end, moves = torch.ones(3).bool(), torch.ones(3).bool(), torch.ones(3, 3).bool()
    if constrained:
        start[1] = moves[:, 1] = False  # tag 1 is reached by no path
        moves[0, 0] = False
    crf = module.LinearChainCRF(3, module.TagConstraints(("a", "b", "c"), start, end, moves)).double()
    single = module.LinearChainCRF(3)
    for each in (crf, single):
        each.load_state_dict(random_crf(3).state_dict())
    mask = torch.tensor(
        [[0, 1, 0, 1, 1, 1], [1, 0, 1, 0, 0, 0], [0] * 6, [0, 0, 1, 0, 0, 0], [0, 0, 0, 1, 1, 0], [1, 1, 0, 0, 0, 0]]
    )
    emissions = (2 * torch.randn(*mask.shape, 3).double() * 256).round() / 256  # exact in float32, at a height too
    paths = [all_paths(crf, *row) for row in zip(emissions, mask, strict=True)]
    gold = [row[-1] for row in paths]  # the worst
    labels = torch.tensor([path for path, _ in gold])
    likelihood = [score - log_z(row) for (_, score), row in zip(gold, paths, strict=True)]

    def close(given: Tensor, expected: object) -> bool:
        return torch.allclose(given, torch.tensor(expected, dtype=torch.float64), rtol=1e-9, atol=1e-9)

    def k_best() -> bool:
        found = [[tuple(path.tolist()) for path, _ in row] for row in crf.k_best(emissions, mask, 50)]
        return found == [[path for path, _ in row[:50]] for row in paths]

    def gradient() -> bool:
        scores = emissions.clone().requires_grad_()
        crf(scores, labels).backward()
        return all(given.grad is None or bool(given.grad.isfinite().all()) for given in (scores, *crf.parameters()))

    return {
        "log Z": lambda: close(crf.log_partition(emissions, mask), [log_z(row) for row in paths]),
        "likelihood": lambda: close(crf.log_likelihood(emissions, labels), likelihood),
        "loss": lambda: close(crf(emissions, labels), -sum(likelihood) / int(mask.sum())),
        "marginals": lambda: close(crf.marginals(emissions, mask), [marginals(row, 3) for row in paths]),
        "viterbi": lambda: crf.viterbi(emissions, mask)[0].tolist() == [list(row[0].path) for row in paths],
        "k best": k_best,
        "gradient": gradient,
        "half": lambda: torch.equal(
            single(emissions.bfloat16(), labels).double(), single(emissions.bfloat16().float(), labels).double()
        ),
        "height": lambda: torch.allclose(
            single(emissions.float() + 2**13, labels), single(emissions.float(), labels), rtol=0, atol=1e-6
        ),
    }


def test_the_source_as_it_is() -> None:
    assert failing() == set()


@pytest.mark.parametrize(("what", "old", "new", "check"), MISTAKES, ids=[mistake[0] for mistake in MISTAKES])
def test_each_mistake_is_seen(what: str, old: str, new: str, check: str) -> None:
    assert check in failing(old, new), what
