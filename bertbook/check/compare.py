"""Is this the expected value, and if not: what is different, in words."""

import dataclasses
import math
from collections.abc import Sequence
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor


class Finding(NamedTuple):
    """What is wrong, in one sentence, and where to look (empty: the case at hand knows a better hint)."""

    message: str
    hint: str = ""


def difference(given: Any, expected: Any, names: Sequence[str], tolerance: float) -> Finding | None:
    """The first difference between what a function returned and what it should have, or None.

    Args:
        expected: a tensor, a number or another plain value; or a tuple of these.
        names: what to call ``expected``, or each of its parts if it is a tuple.
        tolerance: allowed difference of floats, absolute and relative. Shapes and dtypes must be equal; a tensor
            that is expected with a gradient must have one.
    """
    if not isinstance(expected, tuple):
        return _difference(given, expected, names[0], tolerance)
    return_line = "Look at the line with `return`."
    if isinstance(given, tuple | list) and len(given) == len(expected):
        parts = zip(given, expected, names, strict=True)
        found = next((f for part in parts if (f := _difference(*part, tolerance))), None)
        if found and any(same(order, expected, tolerance) for order in permutations(given)):
            return Finding(f"It returns the right things, but not in the order {listed(names)}.", return_line)
        return found
    for name, part in zip(names, expected, strict=True):
        if _difference(given, part, name, tolerance) is None:
            missing = [other for other in names if other != name]
            return Finding(f"It returns `{name}` alone, which is right, but {listed(missing)} is missing.", return_line)
    return Finding(f"It returns {kind(given)}; it should return {len(names)} things: {listed(names)}.", return_line)


def same(given: Any, expected: Any, tolerance: float) -> bool:
    """Is there no difference?"""
    if not isinstance(expected, tuple):
        return _difference(given, expected, "", tolerance) is None
    return (
        isinstance(given, tuple | list)
        and len(given) == len(expected)
        and all(_difference(*pair, "", tolerance) is None for pair in zip(given, expected, strict=True))
    )


def rounding(given: Any, expected: Any, names: Sequence[str]) -> Finding | None:
    """Are the numbers right but for having been rounded, in one of the tensors at least?"""
    if not isinstance(expected, tuple):
        given, expected = (given,), (expected,)
    if not isinstance(given, tuple | list):
        return None
    for part, should_be, name in zip(given, expected, names, strict=False):
        both = isinstance(part, Tensor) and isinstance(should_be, Tensor)
        if not (both and part.dtype == should_be.dtype and part.is_floating_point() and part.shape == should_be.shape):
            continue
        numbers = part.detach().cpu()
        for decimals in range(1, 5):
            if torch.allclose(numbers, should_be.round(decimals=decimals), rtol=1e-6, atol=1e-6):
                return Finding(
                    f"The numbers in `{name}` are rounded to {decimals} decimals.",
                    "Round when you print, never in between: the error would travel through every later layer.",
                )
    return None


def unchanged(after: Any, before: Any) -> bool:
    """Is an argument, after the call, what it was before? Bit by bit, in tensors, arrays and dataclasses of them."""
    if isinstance(before, Tensor):
        return after.shape == before.shape and after.dtype == before.dtype and torch.equal(after, before)
    if isinstance(before, np.ndarray):
        return after.dtype == before.dtype and np.array_equal(after, before)
    if dataclasses.is_dataclass(before):
        return all(unchanged(getattr(after, f.name), getattr(before, f.name)) for f in dataclasses.fields(before))
    return bool(after == before)


def kind(value: Any) -> str:
    """What a thing is, for a sentence: "a tensor of shape (2, 3)", "a tuple of 2", "a generator"."""
    if isinstance(value, Tensor):
        return f"a tensor of shape {tuple(value.shape)}"
    if isinstance(value, np.ndarray):
        return f"a NumPy array of shape {value.shape}"
    if isinstance(value, tuple | list):
        return f"a {type(value).__name__} of {len(value)}"
    if value is None or value is Ellipsis:
        return f"`{value}`"
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def listed(names: Sequence[str]) -> str:
    """The names as code, with commas."""
    return ", ".join(f"`{name}`" for name in names)


def printable(text: str, limit: int = 300) -> str:
    """In one line, no control characters (a terminal would obey them), cut at ``limit``, no full stop at the end."""
    line = " ".join("".join(c if c.isprintable() or c.isspace() else "\ufffd" for c in text[: 2 * limit]).split())
    return (line if len(line) <= limit else line[: limit - 1] + "…").rstrip(".")


def _difference(given: Any, expected: Any, name: str, tolerance: float) -> Finding | None:
    if isinstance(expected, Tensor):
        return _tensor_difference(given, expected, name, tolerance)
    if isinstance(given, np.generic) or (isinstance(given, Tensor) and given.ndim == 0):
        given = given.item()  # such a number is a number too
    if isinstance(expected, float) and type(given) is int:
        given = float(given)
    if type(given) is not type(expected):
        return Finding(f"`{name}` is {kind(given)} and should be {kind(expected)}.")
    if isinstance(expected, float):
        equal = math.isclose(given, expected, rel_tol=tolerance, abs_tol=tolerance)
    else:
        equal = given == expected
    if equal:
        return None
    return Finding(f"`{name}` is {printable(repr(given))} and should be {printable(repr(expected))}.")


def _tensor_difference(given: Any, expected: Tensor, name: str, tolerance: float) -> Finding | None:
    if not isinstance(given, Tensor):
        hint = "Stay with PyTorch's operations to the end: only they keep device and gradient."
        return Finding(
            f"`{name}` is {kind(given)} and should be {kind(expected)}.", hint if isinstance(given, np.ndarray) else ""
        )
    cut_off = expected.requires_grad and not given.requires_grad
    given = given.detach().cpu()
    if given.shape != expected.shape:
        return Finding(f"`{name}` has shape {tuple(given.shape)} and should have {tuple(expected.shape)}.")
    if given.dtype != expected.dtype:
        return Finding(
            f"`{name}` has the dtype {given.dtype} and should have {expected.dtype}.",
            "Print the dtype after each line: which one leaves that of the arguments?",
        )
    wrong = ~torch.isclose(given, expected, rtol=tolerance, atol=tolerance, equal_nan=True)
    if not wrong.any():
        return (
            Finding(f"The numbers in `{name}` are right, but no gradient flows back through them.") if cut_off else None
        )
    broken = ~given.isfinite() & expected.isfinite()
    if broken.any():
        return Finding(f"{_share(broken)} in `{name}` are NaN (not a number) or infinite.")
    index = tuple(wrong.nonzero()[0].tolist())
    where = f"{name}{list(index)}" if index else name
    return Finding(
        f"{_share(wrong)} in `{name}` are wrong; the first is `{where}`: "
        f"it is {_number(given[index])} and should be {_number(expected[index])}."
    )


def _share(chosen: Tensor) -> str:
    return f"{int(chosen.sum())} of {chosen.numel()} numbers"


def _number(value: Tensor) -> str:
    return f"{value.item():.6g}" if value.is_floating_point() else str(value.item())
