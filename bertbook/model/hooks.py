"""The places in a running BERT that have names, and visitors that are called there. The uses: inspect.py."""

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from bertbook.model.bert import Bert
from bertbook.model.packing import Packing

Visitor = Callable[[Tensor], Tensor | None]  # takes an activation; returns what replaces it, or None


@dataclass(frozen=True)
class Place:
    """Where an activation passes: out of a module, or into it."""

    module: nn.Module
    layer: int | None = None
    heads: bool = False  # the activation is split into heads for the visitor, (B, h, S, d)
    enters: bool = False


# name below "layers.3" -> module below the layer, split into heads?, the activation enters the module?
_IN_A_LAYER = {
    ".attention.query": ("attention.query", True, False),
    ".attention.key": ("attention.key", True, False),
    ".attention.value": ("attention.value", True, False),
    ".attention.mixed": ("attention.output", True, True),
    ".attention": ("attention.output", False, False),
    ".feed_forward.neurons": ("feed_forward.down", False, True),
    ".feed_forward": ("feed_forward", False, False),
    "": ("", False, False),
}


def encoder_of(model: nn.Module) -> Bert:
    """The :class:`Bert` in a model: itself, or the one under a head.

    Raises:
        TypeError: there is none.
        ValueError: there are several.
    """
    found = [part for part in model.modules() if isinstance(part, Bert)] if isinstance(model, nn.Module) else []
    if not found:
        raise TypeError(f"{type(model).__name__} holds no Bert: pass a Bert, or a model with one as its encoder")
    if len(found) > 1:
        raise ValueError(f"{type(model).__name__} holds {len(found)} Berts: pass the one that you mean")
    return found[0]


def places(encoder: Bert) -> dict[str, Place]:
    """Every name and its place, from the bottom to the top."""
    found = {"embeddings": Place(encoder.embeddings)}
    for index in range(encoder.config.num_hidden_layers):
        layer = encoder.layers[index % len(encoder.layers)]
        for name, (path, heads, enters) in _IN_A_LAYER.items():
            found[f"layers.{index}{name}"] = Place(layer.get_submodule(path), index, heads, enters)
    if encoder.config.norm_first:
        found["norm"] = Place(encoder.norm)
    if encoder.pooler is not None:
        found["pooler"] = Place(encoder.pooler)
    return found


def matching(encoder: Bert, patterns: Iterable[str]) -> list[str]:
    """The names that the patterns stand for; ``*`` stands for anything but a dot.

    Raises:
        ValueError: a pattern without a match; the message names what comes near.
    """
    known = places(encoder)
    found: dict[str, None] = {}  # a set that keeps its order
    for pattern in patterns:
        wanted = re.compile(re.escape(pattern).replace(r"\*", r"[^.]*"))
        matches = [name for name in known if wanted.fullmatch(name)]
        if not matches:
            near = difflib.get_close_matches(pattern, known, n=3)
            raise ValueError(
                f"this model has no activation {pattern!r}; "
                + (f"did you mean {' or '.join(map(repr, near))}? " if near else "")
                + f"Layers are 0 to {encoder.config.num_hidden_layers - 1}; activation_names(model) lists all names"
            )
        found.update(dict.fromkeys(matches))
    return list(found)


@contextmanager
def visiting(encoder: Bert, visitors: Mapping[str, Visitor]) -> Iterator[None]:
    """Call each visitor whenever the activation of its name passes; afterwards every hook is gone."""
    known = places(encoder)
    with ExitStack() as stack:
        stack.enter_context(_uncompiled())
        stack.enter_context(_each_layer_once(encoder))
        rows = _Rows(encoder)
        stack.enter_context(encoder.register_forward_pre_hook(rows.begin, with_kwargs=True))
        stack.enter_context(encoder.register_forward_hook(rows.end, always_call=True))
        turns = _Turns()
        if encoder.config.share_layers:
            stack.enter_context(encoder.register_forward_pre_hook(turns.restart))
            stack.enter_context(encoder.layers[0].register_forward_pre_hook(turns.advance))
        for name, visit in visitors.items():
            place = known[name]
            if encoder.config.share_layers and place.layer is not None:
                visit = partial(turns.only_at, place.layer, visit)
            if place.heads:
                visit = partial(_by_head, encoder.config.num_attention_heads, visit)
            if name != "pooler":
                visit = partial(rows.unpacked, visit)
            if place.enters:
                stack.enter_context(place.module.register_forward_pre_hook(partial(_entering, visit)))
            else:
                stack.enter_context(place.module.register_forward_hook(partial(_leaving, visit)))
        yield


@contextmanager
def _each_layer_once(encoder: Bert) -> Iterator[None]:
    """No layer runs again in the backward pass: visitors would come by twice."""
    encoder.inspected += 1
    try:
        yield
    finally:
        encoder.inspected -= 1


class _Rows:
    """Shows visitors (B, S, …) where the model works on packed rows, and packs what they return."""

    def __init__(self, encoder: Bert) -> None:
        self.encoder = encoder
        self.packing: Packing | None = None

    def begin(self, _encoder: nn.Module, _args: tuple[Any, ...], inputs: dict[str, Any]) -> None:
        asked = {name: inputs[name] for name in ("attention_mask", "output_attentions") if name in inputs}
        self.packing = self.encoder.packing_of(**asked)

    def end(self, *_: object) -> None:
        self.packing = None

    def unpacked(self, visit: Visitor, x: Tensor) -> Tensor | None:
        if self.packing is None:
            return visit(x)
        new = visit(self.packing.unpack(x))
        return None if new is None else self.packing.pack(new)


class _Turns:
    """Counts the turns of a shared layer: one module, run L times in a forward pass."""

    def __init__(self) -> None:
        self.now = -1

    def restart(self, *_: object) -> None:
        self.now = -1

    def advance(self, *_: object) -> None:
        self.now += 1

    def only_at(self, turn: int, visit: Visitor, x: Tensor) -> Tensor | None:
        return visit(x) if turn == self.now else None


def _by_head(heads: int, visit: Visitor, x: Float[Tensor, "B S H"]) -> Float[Tensor, "B S H"] | None:
    new = visit(x.unflatten(-1, (heads, -1)).transpose(1, 2))  # (B, h, S, d)
    return None if new is None else new.transpose(1, 2).flatten(-2)


def _entering(visit: Visitor, _module: nn.Module, inputs: tuple[Tensor, ...]) -> Tensor | None:
    return visit(inputs[0])


def _leaving(visit: Visitor, _module: nn.Module, _inputs: object, output: Any) -> Any:
    if isinstance(output, tuple):  # a layer returns its attention weights too
        new = visit(output[0])
        return None if new is None else (new, *output[1:])
    return visit(output)


_blocks: set[object] = set()
_stance = ExitStack()


@contextmanager
def _uncompiled() -> Iterator[None]:
    """Run compiled functions as plain Python until the last block is left.

    ``torch.compile`` does not look for hooks that came after it: they would be passed over in silence.
    Blocks are counted because they need not end in the reverse order of their beginning.
    """
    block = object()
    if not _blocks:
        _stance.enter_context(torch.compiler.set_stance("force_eager"))
    _blocks.add(block)
    try:
        yield
    finally:
        _blocks.remove(block)
        if not _blocks:
            _stance.close()
