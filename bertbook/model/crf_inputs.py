"""Bad input to the CRF, refused in words before the sums begin."""

import torch
from torch import Tensor

from bertbook.model.crf_chain import FORBIDDEN
from bertbook.model.inputs import IGNORED
from bertbook.model.tag_schemes import TagConstraints


def check_constraints(num_tags: int, constraints: TagConstraints | None) -> None:
    """Raise ValueError unless there is a tag, and the constraints are for as many."""
    if num_tags < 1:
        raise ValueError(f"num_tags = {num_tags}: a CRF needs at least one tag")
    if constraints is not None and len(constraints.labels) != num_tags:
        raise ValueError(
            f"constraints for {len(constraints.labels)} labels, num_tags = {num_tags}: the two must be equal"
        )


def check_emissions(num_tags: int, emissions: object) -> None:
    """Raise unless the emissions are (B, S, K) real numbers, none of the three 0."""
    scores = _tensor("emissions", emissions)
    shape = tuple(scores.shape)
    if scores.ndim != 3:
        raise ValueError(f"emissions of shape {shape}: expected (B, S, K), a score for each tag at each position")
    if 0 in shape[:2]:
        raise ValueError(f"emissions of shape {shape}: the batch is empty; there is nothing to score")
    if shape[2] != num_tags:
        raise ValueError(f"emissions of shape {shape}: {shape[2]} scores a position, but the CRF has {num_tags} tags")
    if not scores.is_floating_point():
        raise ValueError(f"emissions of type {scores.dtype}: expected scores, as a linear layer gives them")


def check_labels(num_tags: int, labels: object, emissions: Tensor) -> None:
    """Raise unless the labels are (B, S), each -100 or a tag, and one of them at least a tag."""
    given = _tensor("labels", labels)
    _check_shape("labels", given, emissions)
    if given.dtype not in (torch.int64, torch.int32):
        raise ValueError(f"labels of type {given.dtype}: expected torch.int64; pass labels.long()")
    wrong = (given != IGNORED) & ((given < 0) | (given >= num_tags))
    ignored = given == IGNORED
    any_wrong, all_ignored = torch.stack([wrong.any(), ignored.all()]).tolist()  # one wait for the device, not two
    if any_wrong:
        row, position = wrong.nonzero()[0].tolist()
        raise ValueError(
            f"labels[{row}, {position}] = {int(given[row, position])}: each must be a tag, from 0 to {num_tags - 1}, "
            f"or {IGNORED} where the position is no part of the chain"
        )
    if all_ignored:
        raise ValueError(
            f"every label of the batch is {IGNORED}: there is nothing to learn from; label a token, or skip"
        )


def check_mask(mask: object, emissions: Tensor) -> None:
    """Raise unless the mask is (B, S), True and False or 1 and 0."""
    given = _tensor("mask", mask)
    _check_shape("mask", given, emissions)
    if given.is_floating_point() or given.is_complex():
        raise ValueError(f"mask of type {given.dtype}: expected torch.bool, True for a position of the chain")
    if given.dtype != torch.bool:
        low, high = (int(x) for x in torch.stack(given.aminmax()))
        if low < 0 or high > 1:
            raise ValueError(f"mask from {low} to {high}: each must be 1 for a position of the chain, or 0")


def check_gold(constraints: TagConstraints | None, tags: Tensor, inside: Tensor, positions: Tensor) -> None:
    """Raise ValueError where the labelled path starts, goes on or ends as the constraints forbid.

    Args:
        tags: (B, T), the labels of each chain, moved together to the left; ``inside`` is False in the padding.
        positions: (B, T), where in its row each stood.
    """
    if constraints is None:
        return
    following = torch.cat([inside[:, 1:], torch.zeros_like(inside[:, :1])], dim=1)
    bad_start = inside[:, 0] & ~constraints.allowed_start[tags[:, 0]]  # (B,)
    bad_end = inside & ~following & ~constraints.allowed_end[tags]  # (B, T)
    bad_move = inside[:, 1:] & ~constraints.allowed_transitions[tags[:, :-1], tags[:, 1:]]  # (B, T - 1)
    if not torch.stack([bad_start.any(), bad_end.any(), bad_move.any()]).any():
        return

    def named(row: int, step: int) -> str:
        return f"labels[{row}, {int(positions[row, step])}] = {constraints.labels[int(tags[row, step])]!r}"

    if bad_start.any():
        what = f"{named(int(bad_start.nonzero()[0]), 0)}: no chain may start with it"
    elif bad_move.any():
        row, step = bad_move.nonzero()[0].tolist()
        what = f"{named(row, step + 1)} after {named(row, step)}: no chain may make this move"
    else:
        row, step = bad_end.nonzero()[0].tolist()
        what = f"{named(row, step)}: no chain may end with it"
    raise ValueError(f"{what}; repair the labels, or make the CRF without these constraints")


def check_some_path(best: Tensor) -> None:
    """Raise ValueError where the best path of a row, or the sum of all, is a forbidden one. ``best``: (B,) scores."""
    if torch.compiler.is_compiling():
        return
    lost = (best <= FORBIDDEN / 2).nonzero().flatten().tolist()
    if lost:
        raise ValueError(
            f"row {lost[0]}: the constraints allow no path of its length; allow more moves, or mask the row out"
        )


def _tensor(name: str, given: object) -> Tensor:
    if not isinstance(given, Tensor):
        raise TypeError(f"{name} is {type(given).__name__}: expected a tensor")
    return given


def _check_shape(name: str, given: Tensor, emissions: Tensor) -> None:
    if given.shape != emissions.shape[:2]:
        raise ValueError(
            f"{name} of shape {tuple(given.shape)} does not fit emissions of shape {tuple(emissions.shape)}: "
            f"expected {tuple(emissions.shape[:2])}"
        )
