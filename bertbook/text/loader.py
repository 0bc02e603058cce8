"""Batches for training, from any number of workers and processes, that can go on where they stopped."""

import hashlib
import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from torch.utils.data import DataLoader, Dataset

from bertbook.text.batches import field, pad_batch, pad_column
from bertbook.text.epochs import Indices, check_sizes, plan_epoch
from bertbook.text.masking import MaskingPolicy
from bertbook.text.tokenizer import Batch


class Examples(Protocol):
    """What can be loaded: its length is known, and ``examples[i]`` is always the same. A list will do."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Any: ...


#: Makes a batch of examples. It is told the epoch and each example's index, and must depend on nothing else, so that
#: it does not matter which worker runs it, or when. With workers that are spawned it must be picklable.
Collate = Callable[[Sequence[Any], int, Sequence[int]], Any]


class ExampleError(RuntimeError):
    """An example could not be read or put into a batch; the message begins with its index in the data set."""


@dataclass(frozen=True)
class Padded:
    """Collate with :func:`~bertbook.text.batches.pad_batch`, whose arguments these are."""

    pad_id: int = 0
    multiple_of: int | None = None
    max_length: int | None = None

    def __call__(self, examples: Sequence[Any], epoch: int, indices: Sequence[int]) -> Batch:
        """Make the batch."""
        return pad_batch(examples, self.pad_id, multiple_of=self.multiple_of, max_length=self.max_length)


@dataclass(frozen=True)
class Masked:
    """Collate for guessing masked words: pad, then mask each example as its index and the epoch say.

    Examples may have ``word_ids``, the number of each token's word, for a policy of whole words.

    Args:
        policy: what to mask.
        pad_id, multiple_of, max_length: as in :func:`~bertbook.text.batches.pad_batch`.

    Raises:
        ValueError: when called, besides what padding refuses: the examples have labels of their own.
    """

    policy: MaskingPolicy
    pad_id: int = 0
    multiple_of: int | None = None
    max_length: int | None = None

    def __call__(self, examples: Sequence[Any], epoch: int, indices: Sequence[int]) -> Batch:
        """Make the batch: ``input_ids`` with tokens hidden, ``labels`` with what they were, −100 elsewhere."""
        batch = pad_batch(examples, self.pad_id, multiple_of=self.multiple_of, max_length=self.max_length)
        if "labels" in batch:
            raise ValueError("the examples have labels of their own: Masked makes labels; use Padded")
        words = pad_column(examples, "word_ids", batch["input_ids"].shape[1], padding=-1)
        batch["input_ids"], batch["labels"] = self.policy.at(epoch, indices)(batch["input_ids"], words)
        return batch


class BatchLoader:
    """Iterate over batches; one iteration is what is left of the present epoch.

    Everything that is random depends on the seed, the epoch and an example's index alone
    (:func:`~bertbook.text.epochs.plan_epoch`). So neither the number of workers nor their pace changes a batch, and
    the position in the data is two numbers: :meth:`state_dict` holds them. It counts the batches that were handed
    out, not those that workers have prepared. After a ``break`` or Ctrl-C, iterating goes on with the next batch.

    Underneath is PyTorch's ``DataLoader``. (The loader of `torchdata` saves a state for each worker, and
    can go on only with as many; here there is nothing of a worker to save.)

    Args:
        examples: the data set. Workers get a copy, or share its memory where they are forked; one that is larger
            than memory should read from disk in ``__getitem__``.
        collate: makes a batch of them; pads only, when not given.
        batch_size, max_tokens, window: see :func:`~bertbook.text.epochs.plan_epoch`.
        lengths: (N,), the tokens of each example; where needed and not given, all examples are read once to count.
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
        count = len(examples)
        check_sizes(count, batch_size=batch_size, max_tokens=max_tokens, window=window, world_size=world_size)
        if not 0 <= rank < world_size:
            raise ValueError(f"rank={rank} of world_size={world_size}: ranks go from 0 to {world_size - 1}")
        self._examples = examples
        self._fetch = _Fetch(examples, Padded(max_length=max_length) if collate is None else collate)
        self._lengths: NDArray[np.int64] = np.broadcast_to(np.int64(1), (count,))
        if lengths is not None or max_tokens is not None or window is not None or max_length is not None:
            self._lengths = _lengths_of(examples, lengths)
        if max_length is not None and int(self._lengths.max()) > max_length:
            longest = int(self._lengths.argmax())
            raise ValueError(
                f"example {longest} has {self._lengths[longest]} tokens; the model has {max_length} positions: "
                f"cut it (max_length={max_length} in the tokenizer), or split its text"
            )
        self._sizes = {"batch_size": batch_size, "max_tokens": max_tokens, "window": window}
        self._sizes |= {"seed": seed, "world_size": world_size}
        self._rank = rank
        self._options: dict[str, Any] = {"num_workers": num_workers, "pin_memory": pin_memory}
        if num_workers:
            self._options |= {"prefetch_factor": prefetch, "multiprocessing_context": start_method}
        self.epoch = 0
        self.step = 0
        self._running: object = None
        self._planned: tuple[int, list[Indices]] | None = None
        self._plan()  # what is wrong with the sizes shows here, not in the first iteration

    def __len__(self) -> int:
        """Batches that this process gets in the present epoch. (With ``max_tokens`` epochs differ a little.)"""
        return len(self._plan())

    def __iter__(self) -> Iterator[Any]:
        """The batches that are left of this epoch. ``epoch`` and ``step`` say, at any time, which batch comes next."""
        self._running = this = object()
        keys = [(self.epoch, batch) for batch in self._plan()[self.step :]]
        with _quiet_tokenizers():
            # batch_size=None: an "item" of this DataLoader is a whole batch.
            source = iter(
                DataLoader(
                    self._fetch, sampler=keys, batch_size=None, collate_fn=_as_it_is,
                    worker_init_fn=_leave_ctrl_c_to_the_parent, **self._options,
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

    def state_dict(self) -> dict[str, Any]:
        """Where the loader stands, and for which data and sizes that holds: plain values."""
        digest = hashlib.sha256(self._lengths.tobytes()).hexdigest()[:16]
        data = {"examples": len(self._lengths), "lengths": digest}
        return {"epoch": self.epoch, "step": self.step, **self._sizes, **data}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where another loader stood. Its number of workers and its rank may have been others.

        Raises:
            ValueError: it stood in other data, or made batches of other sizes: the message says what differs.
        """
        own = self.state_dict()
        if missing := [name for name in own if name not in state]:
            raise ValueError(f"no state of a BatchLoader: it lacks {', '.join(missing)}")
        differ = [name for name in own if name not in ("epoch", "step") and own[name] != state[name]]
        if differ:
            what = ", ".join(f"{name} {state[name]!r} (here {own[name]!r})" for name in differ)
            raise ValueError(f"the state was saved with {what}: batches would differ; make the loader as it was then")
        for name in ("epoch", "step"):
            if type(state[name]) is not int or state[name] < 0:
                raise ValueError(f"{name}={state[name]!r} in the state: it must be a whole number from 0")
        before = self.epoch
        self.epoch = state["epoch"]
        if state["step"] >= len(self):
            last, self.epoch = len(self) - 1, before
            raise ValueError(f"step={state['step']} in the state: this epoch has steps 0 to {last}")
        self.step = state["step"]
        self._running = None

    def _plan(self) -> list[Indices]:
        """This process's batches of the present epoch."""
        if self._planned is None or self._planned[0] != self.epoch:
            plan = plan_epoch(self._lengths, epoch=self.epoch, **self._sizes)  # type: ignore[arg-type]
            self._planned = self.epoch, plan[self._rank :: self._sizes["world_size"]]
        return self._planned[1]

    def _advance(self) -> None:
        self.step += 1
        if self.step == len(self):
            self.epoch, self.step = self.epoch + 1, 0


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


def _lengths_of(examples: Examples, lengths: ArrayLike | None) -> NDArray[np.int64]:
    if lengths is None:
        lengths = [len(field(examples[index], "input_ids")) for index in range(len(examples))]
    array = np.asarray(lengths)
    if array.shape != (len(examples),) or array.dtype.kind not in "iu":
        raise ValueError(
            f"lengths of shape {array.shape} and type {array.dtype} for {len(examples)} examples: "
            "one whole number each is needed"
        )
    return array.astype(np.int64)


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
