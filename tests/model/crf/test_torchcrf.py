"""Against pytorch-crf, which knows padding at the right only: likelihood, gradients, best paths."""

import pytest
import torch
import torchcrf

from bertbook import LinearChainCRF

SIZES = [(1, 1, 1), (1, 1, 3), (4, 7, 2), (8, 33, 9), (3, 128, 25)]


def twins(num_tags: int) -> tuple[LinearChainCRF, torchcrf.CRF]:
    ours, theirs = LinearChainCRF(num_tags).double(), torchcrf.CRF(num_tags, batch_first=True).double()
    with torch.no_grad():
        for mine, other in (("start", "start_transitions"), ("end", "end_transitions"), ("transitions", "transitions")):
            getattr(ours, mine).copy_(getattr(theirs, other).mul_(10))
    return ours, theirs


@pytest.mark.parametrize(("batch", "length", "num_tags"), SIZES)
def test_equal(batch: int, length: int, num_tags: int) -> None:
    torch.manual_seed(batch + length + num_tags)
    ours, theirs = twins(num_tags)
    emissions = torch.randn(batch, length, num_tags).double().requires_grad_()
    other_emissions = emissions.detach().clone().requires_grad_()
    lengths = torch.randint(1, length + 1, (batch, 1))
    mask = torch.arange(length) < lengths
    tags = torch.randint(num_tags, (batch, length))
    labels = tags.masked_fill(~mask, -100)

    likelihood = ours.log_likelihood(emissions, labels)
    torch.testing.assert_close(likelihood, theirs(other_emissions, tags, mask, reduction="none"))
    loss = ours(emissions, labels)
    other_loss = -theirs(other_emissions, tags, mask, reduction="token_mean")
    torch.testing.assert_close(loss, other_loss)
    loss.backward()
    other_loss.backward()
    torch.testing.assert_close(emissions.grad, other_emissions.grad)
    torch.testing.assert_close(ours.start.grad, theirs.start_transitions.grad)
    torch.testing.assert_close(ours.end.grad, theirs.end_transitions.grad)
    moves = theirs.transitions.grad  # None where no row has two tokens
    torch.testing.assert_close(ours.transitions.grad, torch.zeros_like(theirs.transitions) if moves is None else moves)

    paths = [path[path != -100].tolist() for path in ours.viterbi(emissions, mask)[0]]
    assert paths == theirs.decode(emissions, mask)
