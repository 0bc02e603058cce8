"""Batches for training, from any number of workers and processes, that can go on where they stopped."""

import hashlib
import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch.utils.data import DataLoader, Dataset

from bertbook.text.batches import field
from bertbook.text.collating import Collate, Padded
from bertbook.text.epochs import Indices, plan_epoch


class Examples(Protocol):
    """What can be loaded: its length is known, and ``examples[i]`` is always the same. A list will do.

    Where there is a method ``at_epoch(epoch)``, as in :class:`~bertbook.text.pairs.SentencePairs`, what it returns
    is loaded in that epoch.
    """

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Any: ...


class ExampleError(RuntimeError):
    """An example could not be read or put into a batch; the message begins with its index in the data set."""


class BatchLoader:
    """Iterate over batches; one iteration is what is left of the present epoch.

    Everything that is random depends on the seed, the epoch and an example's index alone
    (:func:`~bertbook.text.epochs.plan_epoch`). So neither the number of workers nor their pace changes a batch, and
    the position in the data is two numbers: :meth:`state_dict` holds them. It counts the batches that were handed
    out, not those that workers have prepared. After a ``break`` or Ctrl-C, iterating goes on with the next batch.

    Underneath is PyTorch's ``DataLoader``. (The loader of `torchdata` saves a state for each worker, and
    can go on only with as many; here there is nothing of a worker to save.)

    Args:
        examples: the data set, :class:`Examples`. Workers get a copy, or share its memory where they are forked; one
            that is larger than memory should read from disk in ``__getitem__``.
        collate: makes a batch of them; pads only, when not given.
        batch_size, max_tokens, window, drop_last: see :func:`~bertbook.text.epochs.plan_epoch`.
        lengths: (N,), the tokens of each example, where they are the same in every epoch; where needed and not
            given, all examples are read once to count.
        max_length: the positions of the model; a longer example is refused at once. Needs lengths too.
        seed: of the order.
        rank, world_size: the number of this process, from 0, and of all. Each process makes its own loader with the
            same arguments but for ``rank``, and all get the same number of batches.
        num_workers: processes that prepare batches ahead; 0: none.
        prefetch: batches that each worker keeps ready.
        start_method: of the workers: ``"fork"``, ``"spawn"`` or ``"forkserver"``; the platform's when not given.
        pin_memory: for copying to a GPU without waiting.

    Raises:
        ValueError: what :func:`~bertbook.text.epochs.plan_epoch` refuses; a rank outside ``world_size``; lengths that
            do not fit the examples; an example longer than ``max_length``.
        ExampleError: while iterating: an example could not be read or put into a batch.
    """

    def __init__(
        self,
        examples: Examples,
        collate: Collate | None = None,
        *,
        batch_size: int | None = None,
        max_tokens: int | None = None,
        window: int | None = None,
        drop_last: bool = False,
        lengths: ArrayLike | None = None,
        max_length: int | None = None,
        seed: int = 0,
        rank: int = 0,
        world_size: int = 1,
        num_workers: int = 0,
        prefetch: int = 2,
        start_method: str | None = None,
        pin_memory: bool = False,
    ) -> None:
        if lengths is not None and hasattr(examples, "at_epoch"):
            raise ValueError("lengths of examples that change from epoch to epoch: leave them out; they are counted")
        self._examples = examples
        self._collate: Collate = Padded(max_length=max_length) if collate is None else collate
        self._given_lengths, self._max_length = lengths, max_length
        self._sizes: dict[str, Any] = {
            "batch_size": batch_size,
            "max_tokens": max_tokens,
            "window": window,
            "drop_last": drop_last,
        }
        self._sizes |= {"seed": seed, "world_size": world_size}
        self._rank = rank
        self._options: dict[str, Any] = {"num_workers": num_workers, "pin_memory": pin_memory}
        if num_workers:
            self._options |= {"prefetch_factor": prefetch, "multiprocessing_context": start_method}
        self.epoch = 0
        self.step = 0
        self._running: object = None
        self._present: _Epoch | None = None
        self._plan()  # what is wrong with the sizes shows here, not in the first iteration
        if not 0 <= rank < world_size:
            raise ValueError(f"rank={rank} of world_size={world_size}: ranks go from 0 to {world_size - 1}")

    def __len__(self) -> int:
        """Batches that this process gets in the present epoch. (With ``max_tokens`` epochs differ a little.)"""
        return len(self._plan().batches)

    def __iter__(self) -> Iterator[Any]:
        """The batches that are left of this epoch. ``epoch`` and ``step`` say, at any time, which batch comes next."""
        self._running = this = object()
        plan = self._plan()
        keys = [(self.epoch, batch) for batch in plan.batches[self.step :]]
        with _quiet_tokenizers():
            # batch_size=None: an "item" of this DataLoader is a whole batch.
            # A generator of its own: else each start draws a number from PyTorch's, and dropout after a resume is
            # another one.
            source = iter(
                DataLoader(
                    _Fetch(plan.examples, self._collate), sampler=keys, batch_size=None, collate_fn=_as_it_is,
                    worker_init_fn=_leave_ctrl_c_to_the_parent, generator=torch.Generator(), **self._options,
                )
            )  # fmt: skip
        try:
            for batch in source:
                if self._running is not this:
                    raise RuntimeError(
                        "this loader was started again or moved elsewhere: one iteration at a time goes on"
                    )
                self._advance()
                yield batch
        finally:
            # By hand: a notebook keeps the last traceback, and with it the iterator and its workers.
            if hasattr(source, "_shutdown_workers"):
                source._shutdown_workers()

    def peek(self) -> Any:
        """The batch that comes next, made here and now; the loader stays where it is."""
        plan = self._plan()
        return _Fetch(plan.examples, self._collate)[self.epoch, plan.batches[self.step]]

    def examples_of(self, epoch: int, step: int) -> list[int]:
        """The examples of a batch, by their numbers in that epoch's data."""
        return self._plan_of(epoch).batches[step].tolist()

    def state_dict(self) -> dict[str, Any]:
        """Where the loader stands, and for which data and sizes that holds: plain values."""
        lengths = self._plan().lengths
        data = {"examples": len(lengths), "lengths": hashlib.sha256(lengths.tobytes()).hexdigest()[:16]}
        sizes = dict(self._sizes)
        if sizes["drop_last"]:  # then what counts is the step, however many processes share it
            sizes["batch_size"] *= sizes.pop("world_size")
        return {"epoch": self.epoch, "step": self.step, **sizes, **data}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where another loader stood. Its number of workers and its rank may have been others.

        With ``drop_last`` the number of processes, too, if together they make steps of the same size.

        Raises:
            ValueError: it stood in other data, or made batches of other sizes: the message says what differs.
        """
        before = self.epoch, self.step
        if missing := [name for name in self.state_dict() if name not in state]:
            raise ValueError(f"no state of a BatchLoader: it lacks {', '.join(missing)}")
        for name in ("epoch", "step"):
            if type(state[name]) is not int or state[name] < 0:
                raise ValueError(f"{name}={state[name]!r} in the state: it must be a whole number from 0")
        try:
            self.epoch, self.step = state["epoch"], state["step"]
            own = self.state_dict()
            if differ := [f"{name} {state[name]!r} (here {own[name]!r})" for name in own if own[name] != state[name]]:
                raise ValueError(
                    f"the state was saved with {', '.join(differ)}: batches would differ; "
                    "make the loader as it was then"
                )
            if self.step >= len(self):
                raise ValueError(f"step={self.step} in the state: this epoch has steps 0 to {len(self) - 1}")
        except Exception:
            self.epoch, self.step = before
            raise
        self._running = None

    def _plan(self) -> "_Epoch":
        """The present epoch, as this process sees it."""
        if self._present is None or self._present.number != self.epoch:
            self._present = self._plan_of(self.epoch)
        return self._present

    def _plan_of(self, epoch: int) -> "_Epoch":
        if self._present is not None and self._present.number == epoch:
            return self._present
        examples = self._examples
        if hasattr(examples, "at_epoch"):
            examples = examples.at_epoch(epoch)
        lengths = self._lengths_of(examples)
        plan = plan_epoch(lengths, epoch=epoch, **self._sizes)
        return _Epoch(epoch, examples, lengths, plan[self._rank :: self._sizes["world_size"]])

    def _lengths_of(self, examples: Examples) -> NDArray[np.int64]:
        """(N,): the tokens of each example; ones where nobody needs to know."""
        count, limit = len(examples), self._max_length
        known, sizes = self._given_lengths is not None, self._sizes
        if not known and limit is None and sizes["max_tokens"] is None and sizes["window"] is None:
            return np.broadcast_to(np.int64(1), (count,))
        given = self._given_lengths if known else [len(field(examples[n], "input_ids")) for n in range(count)]
        lengths = np.asarray(given)
        if count and (lengths.shape != (count,) or lengths.dtype.kind not in "iu"):
            raise ValueError(
                f"lengths of shape {lengths.shape} and type {lengths.dtype} for {count} examples: "
                "one whole number each is needed"
            )
        if limit is not None and count and int(lengths.max()) > limit:
            longest = int(lengths.argmax())
            raise ValueError(
                f"example {longest} has {lengths[longest]} tokens; the model has {limit} positions: "
                f"cut it (max_length={limit} in the tokenizer), or split its text"
            )
        return lengths.astype(np.int64)

    def _advance(self) -> None:
        self.step += 1
        if self.step == len(self):
            self.epoch, self.step = self.epoch + 1, 0


class _Epoch(NamedTuple):
    number: int
    examples: Examples
    lengths: NDArray[np.int64]
    batches: list[Indices]


class _Fetch(Dataset[Any]):
    """Runs in the workers: examples by index, made into a batch."""

    def __init__(self, examples: Examples, collate: Collate) -> None:
        self.examples = examples
        self.collate = collate

    def __getitem__(self, key: tuple[int, Indices]) -> Any:
        epoch, indices = key[0], key[1].tolist()
        examples = []
        for index in indices:
            try:
                examples.append(self.examples[index])
            except Exception as error:
                raise ExampleError(f"example {index} cannot be read: {type(error).__name__}: {error}") from error
        try:
            return self.collate(examples, epoch, indices)
        except Exception as error:
            raise ExampleError(
                f"examples {', '.join(map(str, indices))} make no batch: {type(error).__name__}: {error}"
            ) from error


def _as_it_is(batch: Any) -> Any:
    return batch


def _leave_ctrl_c_to_the_parent(worker: int) -> None:
    """The terminal sends it to all. The parent ends the workers in order; else each would print a traceback."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def _quiet_tokenizers() -> Iterator[None]:
    """While workers start: the `tokenizers` library else warns of its own threads on standard error."""
    name = "TOKENIZERS_PARALLELISM"
    if name in os.environ:
        yield
        return
    os.environ[name] = "false"  # which the workers keep
    try:
        yield
    finally:
        del os.environ[name]
