"""Which examples stand together in which batch, for one epoch: a function of the seed and the epoch, and no more."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Indices = NDArray[np.int64]


def plan_epoch(
    lengths: ArrayLike,
    *,
    batch_size: int | None = None,
    max_tokens: int | None = None,
    window: int | None = None,
    seed: int = 0,
    epoch: int = 0,
    world_size: int = 1,
    drop_last: bool = False,
) -> list[Indices]:
    """The batches of one epoch, each an array of indices; every index occurs once.

    The order is random, and another one in each epoch. Process ``rank`` of ``world_size`` takes the batches
    ``rank``, ``rank + world_size``, …: all get the same number, as training in step needs. Where the number does
    not divide, the largest batches are split in two until it does. Nothing is repeated or left out, but with
    ``drop_last``: then every step has ``batch_size · world_size`` examples, the same ones for two processes of 16 as
    for one of 32, and the few that are over, others in each epoch, wait for the next one.

    Args:
        lengths: (N,), the tokens of each example.
        batch_size: examples a batch. Or else:
        max_tokens: as many examples as fit into so many tokens, padding not counted: a nearly constant amount of
            work for a model that removes padding. (A padded model wants a ``window`` as well.)
        window: sort by length within so many examples of the random order, so that the rows of a batch have nearly
            equal lengths and little is padded. None: do not sort.
        drop_last: with ``batch_size``: leave out what makes no whole step.

    Raises:
        ValueError: no examples; sizes below 1; both or neither of ``batch_size`` and ``max_tokens``; an example that
            is longer than ``max_tokens``; too few examples for so many processes, or, with ``drop_last``, for a step.
    """
    sizes = np.asarray(lengths)
    check_sizes(len(sizes), batch_size=batch_size, max_tokens=max_tokens, window=window, world_size=world_size)
    if max_tokens is not None and int(sizes.max()) > max_tokens:
        raise ValueError(
            f"max_tokens={max_tokens}, and example {int(sizes.argmax())} alone has {int(sizes.max())} tokens: "
            "raise max_tokens, or cut the example"
        )
    draw = np.random.default_rng((seed, epoch))
    order = draw.permutation(len(sizes))
    if drop_last:
        order = order[: _whole_steps(len(sizes), batch_size, world_size)]
    if window is not None:
        for number, start in enumerate(range(0, len(order), window)):
            part = order[start : start + window]
            ranks = np.argsort(sizes[part], kind="stable")
            # Up, then down: a batch that reaches into the next window finds lengths like its own there.
            order[start : start + window] = part[ranks if number % 2 == 0 else ranks[::-1]]
    ends = _ends_by_tokens(sizes[order], max_tokens) if max_tokens is not None else _ends_by_count(order, batch_size)
    batches = _divisible(np.split(order, ends[:-1]), world_size)
    # Shuffled by steps, not by batches: the processes of one step wait for each other, so they get like lengths.
    steps = draw.permutation(len(batches) // world_size)
    return [batches[step * world_size + rank] for step in steps for rank in range(world_size)]


def check_sizes(count: int, **sizes: int | None) -> None:
    """Raise ValueError for a size below 1, or for sizes that do not go together."""
    if count == 0:
        raise ValueError("the data set is empty: there is nothing to make batches of")
    for name, value in sizes.items():
        if value is not None and not (_is_whole(value) and value >= 1):
            raise ValueError(f"{name}={value!r}: it must be a whole number of at least 1")
    if (sizes["batch_size"] is None) == (sizes["max_tokens"] is None):
        raise ValueError(
            f"batch_size={sizes['batch_size']!r}, max_tokens={sizes['max_tokens']!r}: give one of the two, "
            "the examples of a batch or its tokens"
        )


def _whole_steps(count: int, batch_size: int | None, world_size: int) -> int:
    """How many of the examples make whole steps."""
    if batch_size is None:
        raise ValueError("drop_last goes with batch_size: batches of max_tokens have no size that they must reach")
    step = batch_size * world_size
    if count < step:
        raise ValueError(
            f"{count} examples make no step of {step} ({batch_size} for each of {world_size} processes): "
            "choose a smaller batch, or take more text"
        )
    return count - count % step


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _ends_by_count(order: Indices, batch_size: int | None) -> list[int]:
    assert batch_size is not None
    return [min(start + batch_size, len(order)) for start in range(0, len(order), batch_size)]


def _ends_by_tokens(sizes: Indices, max_tokens: int) -> list[int]:
    """Where each batch ends, so that it takes what fits and the next begins with what does not."""
    total = np.cumsum(sizes, dtype=np.int64)
    ends: list[int] = []
    taken = 0
    while not ends or ends[-1] < len(sizes):
        ends.append(int(np.searchsorted(total, taken + max_tokens, side="right")))
        taken = int(total[ends[-1] - 1])
    return ends


def _divisible(batches: list[Indices], world_size: int) -> list[Indices]:
    """The same examples in a number of batches that ``world_size`` divides."""
    while len(batches) % world_size:
        counts = [len(batch) for batch in batches]
        largest = int(np.argmax(counts))
        if counts[largest] == 1:
            advice = f"allow more a batch, or leave {sum(counts) % world_size} out"
            raise ValueError(
                f"{sum(counts)} examples, one a batch, cannot be shared by {world_size} processes in equal steps: "
                + (advice if sum(counts) > world_size else "use fewer processes, or more examples")
            )
        batches[largest : largest + 1] = np.array_split(batches[largest], 2)
    return batches
