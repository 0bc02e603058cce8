"""Look into a running model, and change it on the way, without a line in the model's own code.

::

    with activations(model, ["layers.*"]) as seen:
        model(**batch)
    seen["layers.3"]  # (B, S, H)

Everything hangs on PyTorch's forward hooks: a model that nobody inspects pays nothing, and the end of the
``with`` block takes every hook away, after an exception too. Blocks may be nested and hold several models.
At one place hooks act in the order in which they were entered: enter ``patch`` before ``activations`` to
record what was patched. Compiled code does not notice hooks, so inside a block it runs uncompiled.

The activations, from the bottom to the top:

=============================  ============  =================================================================
name                           shape         what it is
=============================  ============  =================================================================
embeddings                     (B, S, H)     what the first layer reads
layers.3.attention.query       (B, h, S, d)  the queries of layer 3, head by head; so ``.key`` and ``.value``
layers.3.attention.mixed       (B, h, S, d)  the values, mixed by the attention weights, before W_O
layers.3.attention             (B, S, H)     after W_O, before dropout and the residual sum
layers.3.feed_forward.neurons  (B, S, 4 H)   after the activation function, between the two matrices
layers.3.feed_forward          (B, S, H)     after the second matrix, before dropout and the residual sum
layers.3                       (B, S, H)     what layer 3 hands to layer 4
norm                           (B, S, H)     after the last LayerNorm; pre-norm models only
pooler                         (B, H)        models with a pooler only
=============================  ============  =================================================================

At padding they are zeros where the model packs its rows (see :class:`~bertbook.model.bert.Bert`).
Layers count from 0 to L − 1, also where one shared layer runs L times (ALBERT). Every function takes a
:class:`Bert` or a model with one inside, and raises TypeError for anything else.
"""

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, SupportsIndex

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from bertbook.model.evaluating import evaluating
from bertbook.model.hooks import encoder_of, matching, places, visiting


class Recording(dict[Any, Tensor]):
    """What was seen, filled while the model runs. A second run overwrites the first."""

    def __missing__(self, key: object) -> Tensor:
        there = f"there are {', '.join(map(str, self))}" if self else "nothing is: run the model inside the with-block"
        raise KeyError(f"{key!r} is not in this recording; {there}")


@contextmanager
def activations(
    model: nn.Module, names: str | Iterable[str] | None = None, *, keep_grad: bool = False
) -> Iterator[Recording]:
    """Record named activations while the model runs. Its outputs stay the same to the bit.

    Args:
        names: names from the module's table; ``*`` stands for anything but a dot, so that ``"layers.*"`` is the
            output of every layer. All when not given.
        keep_grad: leave the tensors in the graph, to backpropagate from them, or to them with
            ``torch.autograd.grad(loss, seen[name])``. Otherwise they are detached.

    Yields:
        name → tensor, in the shape of the module's table.

    Raises:
        ValueError: a name that this model does not have.
    """
    encoder = encoder_of(model)
    if names is None:
        names = places(encoder)
    seen = Recording()

    def record(name: str, x: Tensor) -> Tensor | None:
        seen[name] = x if keep_grad else x.detach()
        return x if keep_grad else None  # split into heads, x is a view: returned, it lies on the way to the loss

    chosen = matching(encoder, [names] if isinstance(names, str) else names)
    with visiting(encoder, {name: partial(record, name) for name in chosen}):
        yield seen


@contextmanager
def attention_weights(
    model: nn.Module,
    layers: Iterable[SupportsIndex] | None = None,
    *,
    rows: Iterable[SupportsIndex] | None = None,
    keep_grad: bool = False,
) -> Iterator[Recording]:
    """Record the attention weights of some layers while the model runs its fast path.

    The fast path never makes the weights. Here they are computed beside it, from its queries and keys; the
    outputs stay the same to the bit. They equal those of ``output_attentions=True`` to rounding; in training
    mode they are the weights before dropout. Half precision yields weights in float32.

    Args:
        layers: which layers, counted from 0; all when not given.
        rows: the positions whose queries are wanted; ``[0]`` is where [CLS] looks. All when not given.
        keep_grad: leave the weights in the graph, for a loss on the weights themselves.

    Yields:
        layer → (B, h, S, S), or (B, h, len(rows), S).

    Raises:
        ValueError: no such layer; while the model runs, no such row.
    """
    encoder = encoder_of(model)
    chosen = _indices("layer", layers, encoder.config.num_hidden_layers)
    wanted = None if rows is None else list(rows)
    weights = Recording()
    found: dict[str, Tensor] = {}  # queries or keys of the layer that runs, until the other comes by
    mask: Tensor | None = None

    def begin(_module: nn.Module, _args: tuple[Any, ...], inputs: dict[str, Any]) -> None:
        nonlocal mask
        mask = inputs.get("attention_mask")
        if mask is not None and bool(mask.all()):
            mask = None  # nothing is hidden

    def compute(layer: int, part: str, x: Tensor) -> None:
        found[part] = x if keep_grad else x.detach()
        if len(found) == 2:
            query, key = found.pop("query"), found.pop("key")
            if wanted is not None:
                query = query[:, :, _indices("row", wanted, query.shape[2])]
            weights[layer] = _weights(query, key, None if mask is None else mask[:, None, None, :] == 1)

    visitors = {
        f"layers.{at}.attention.{part}": partial(compute, at, part) for at in chosen for part in ("query", "key")
    }
    with encoder.register_forward_pre_hook(begin, with_kwargs=True), visiting(encoder, visitors):
        yield weights


def _weights(
    query: Float[Tensor, "B h R d"], key: Float[Tensor, "B h S d"], mask: Bool[Tensor, "B 1 1 S"] | None
) -> Float[Tensor, "B h R S"]:
    """softmax(Q Kᵀ / √d), where each pass over the S² numbers costs as much as the product itself.

    So the mask goes into the product: with a 1 appended to each query, what is appended to a key is added to
    its scores. It is the lowest number, not −∞, which would make NaN of a text of padding alone.
    """
    query = query / math.sqrt(query.shape[-1])
    if mask is not None:
        lowest = (~mask).to(key.dtype).mT * torch.finfo(key.dtype).min  # (B, 1, S, 1), 0 for keys that may be seen
        query = torch.cat([query, torch.ones_like(query[..., :1])], dim=-1)  # (B, h, R, d + 1)
        key = torch.cat([key, lowest.expand(*key.shape[:-1], 1)], dim=-1)  # (B, h, S, d + 1)
    scores = query @ key.mT  # (B, h, R, S)
    weights = scores.softmax(-1, dtype=torch.promote_types(scores.dtype, torch.float32))
    if mask is not None and not mask.any(-1).all():
        weights = weights.masked_fill(~mask, 0)  # a text of padding alone: every weight was 1 / S
    return weights


@contextmanager
def patch(
    model: nn.Module,
    values: Mapping[str, Tensor | Callable[[Tensor], Tensor]],
    *,
    positions: Iterable[SupportsIndex] | None = None,
) -> Iterator[None]:
    """Replace activations while the model runs, by those of another run or by a function of themselves.

    Args:
        values: name from the module's table, or pattern as in :func:`activations` → a tensor of the activation's
            shape, or a function that makes one from the activation. It is brought to its type and device.
        positions: replace at these tokens only, counted from 0; at all tokens when not given.

    Raises:
        ValueError: a name that this model does not have; while the model runs, another shape, or no such position.
        TypeError: while the model runs, a function that returns no tensor.
    """
    encoder = encoder_of(model)
    chosen = None if positions is None else list(positions)
    if chosen is not None and "pooler" in values:
        raise ValueError("positions with 'pooler', one vector for a whole text: patch it in a block of its own")

    def replace(value: Tensor | Callable[[Tensor], Tensor], name: str, x: Tensor) -> Tensor:
        new = value if isinstance(value, Tensor) else value(x)
        if not isinstance(new, Tensor):
            raise TypeError(f"patch for {name!r} is {type(new).__name__}: expected a tensor of shape {tuple(x.shape)}")
        if new.shape != x.shape:
            raise ValueError(f"patch for {name!r} of shape {tuple(new.shape)}: this run needs {tuple(x.shape)}")
        new = new.to(x)
        return new if chosen is None else torch.where(_marks("position", chosen, x.shape[-2], x)[:, None], new, x)

    visitors = {
        name: partial(replace, value, name)
        for pattern, value in values.items()
        for name in matching(encoder, [pattern])
    }
    with visiting(encoder, visitors):
        yield


@contextmanager
def ablate_heads(
    model: nn.Module, heads: Mapping[int, Iterable[SupportsIndex]], to: str | Float[Tensor, "..."] = "zero"
) -> Iterator[None]:
    """Silence attention heads: what a head hands to W_O no longer depends on the text.

    Args:
        heads: layer → heads, both counted from 0, e.g. ``{0: [3], 5: [0, 11]}``.
        to: ``"zero"``, or (L, h, d), the vector to put in the place of each head's: see :func:`mean_heads`.

    Raises:
        ValueError: no such layer or head; ``to`` is neither.
    """
    config = encoder_of(model).config
    shape = (config.num_hidden_layers, config.num_attention_heads, config.head_size)
    if isinstance(to, str):
        if to != "zero":
            raise ValueError(f'to={to!r}: choose "zero", or pass the means themselves, to=mean_heads(model, batches)')
        to = torch.zeros(shape)
    if to.shape != shape:
        raise ValueError(f"to of shape {tuple(to.shape)}: this model's heads need (L, h, d) = {shape}")

    def silence(chosen: list[int], constant: Tensor, mixed: Tensor) -> Tensor:
        return torch.where(_marks("head", chosen, shape[1], mixed)[:, None, None], constant.to(mixed), mixed)

    visitors = {
        f"layers.{layer}.attention.mixed": partial(
            silence, _indices("head", heads[layer], shape[1]), to[layer, :, None]
        )
        for layer in _indices("layer", heads, shape[0])
    }
    with visiting(encoder_of(model), visitors):
        yield


def mean_heads(model: nn.Module, batches: Iterable[Mapping[str, Tensor]]) -> Float[Tensor, "L h d"]:
    """What each head hands to W_O, averaged over the tokens of the batches, padding left out.

    Args:
        batches: each as the model takes it. Labels and the like are passed over.

    Returns:
        The means in float32, on the CPU, for ``ablate_heads(..., to=...)``.

    Raises:
        ValueError: there is no token to average over.
    """
    encoder = encoder_of(model)
    total, count = torch.zeros((), dtype=torch.float64), 0
    with evaluating(encoder), activations(encoder, "layers.*.attention.mixed") as seen:
        for batch in batches:
            inputs = {name: batch[name] for name in ("input_ids", "token_type_ids", "attention_mask") if name in batch}
            encoder(**inputs)
            real = inputs.get("attention_mask", torch.ones_like(inputs["input_ids"]))  # (B, S)
            sums = [torch.einsum("bhsd,bs->hd", mixed.float(), real.float()) for mixed in seen.values()]
            total = total + torch.stack(sums).double().cpu()  # (L, h, d)
            count += int(real.sum())
    if count == 0:
        raise ValueError("no token to average over: there is no batch, or nothing but padding")
    return (total / count).float()


def activation_names(model: nn.Module) -> list[str]:
    """The names of this model's activations, from the bottom to the top."""
    return list(places(encoder_of(model)))


def _indices(what: str, given: Iterable[SupportsIndex] | None, count: int) -> list[int]:
    """Whole numbers from 0 to ``count`` − 1, NumPy's too; all of them for None."""
    chosen: list[int] = []
    for index in range(count) if given is None else given:
        if isinstance(index, bool) or not isinstance(index, SupportsIndex) or not 0 <= operator.index(index) < count:
            raise ValueError(f"no {what} {index!r}: choose from 0 to {count - 1}")
        chosen.append(operator.index(index))
    return chosen


def _marks(what: str, given: Iterable[SupportsIndex], count: int, like: Tensor) -> Bool[Tensor, "N"]:  # noqa: F821 (a shape)
    """True at the given indices, on the device of ``like``."""
    marks = torch.zeros(count, dtype=torch.bool)
    marks[_indices(what, given, count)] = True
    return marks.to(like.device)
