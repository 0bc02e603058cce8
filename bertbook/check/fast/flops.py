"""Exercise 1: the floating-point operations of a layer."""
# ruff: noqa: N803  # sizes carry their names from the papers

import math
from collections.abc import Callable
from itertools import combinations
from typing import Any

from bertbook.check.compare import Finding, same
from bertbook.check.exercise import Case, Exercise

# What is computed for one length, as (rows, inner, columns) of each matrix product.
Products = dict[str, tuple[int, int, int]]


def _products(S: int, H: int, F: int) -> Products:
    """F: intermediate. All heads together make one product of inner size H, and so of the values' columns."""
    square = (S, H, H)
    return {
        **{"query": square, "key": square, "value": square, "output": square},
        "scores": (S, H, S),
        "mixing": (S, S, H),
        "up": (S, H, F),
        "down": (S, F, H),
    }


def _count(S: int, H: int, F: int, *changes: Callable[[Products], None]) -> int:
    """The operations of all products; with ``changes``, some of them wrong in the usual ways."""
    products = _products(S, H, F)
    for change in changes:
        change(products)
    return sum(2 * math.prod(product) for product in products.values())


def _without(*names: str) -> Callable[[Products], None]:
    def change(products: Products) -> None:
        for name in names:
            products.pop(name, None)

    return change


def _once_for_all(products: Products) -> None:
    """The linear maps for one token alone."""
    for name in products.keys() - {"scores", "mixing"}:
        products[name] = (1, *products[name][1:])


def _short(products: Products) -> None:
    """S where S² belongs: each token looks at one."""
    S, H, _ = products["query"]  # noqa: N806
    products.update(scores=(S, H, 1), mixing=(S, 1, H))


def _thin(products: Products) -> None:
    """S² with nothing behind it: a score is one operation."""
    S = products["query"][0]  # noqa: N806
    products.update(scores=(S, 1, S), mixing=(S, S, 1))


def _four(products: Products) -> None:
    S, H, _ = products["query"]  # noqa: N806
    products.update(up=(S, H, 4 * H), down=(S, 4 * H, H))


_FORWARD = "Two matrices lie between the two sizes of the feed-forward network: there and back."
# What goes wrong in single products, and what is said about it. Two of these at once are recognised too, made in this
# order: what changes a product stands before what leaves it out.
_MISTAKES: dict[str, tuple[str, Callable[[Products], None]]] = {
    "the intermediate size is taken to be 4 H": ("It is an argument of its own.", _four),
    "attention grows with S, not with S²": ("How many scores has a text of S tokens?", _short),
    "a score counts as one product, whatever H": ("What is multiplied and added up to give one score?", _thin),
    "the linear maps are counted for one token, not for S": (
        "Which of your numbers do not grow with the text?",
        _once_for_all,
    ),
    "W_O is missing": ("How does what the heads have gathered get back into the stream?", _without("output")),
    "one projection is counted where there are four": (
        "What does attention make of each token before any is compared, and what happens to what it gathers?",
        _without("key", "value", "output"),
    ),
    "no projection is counted": (
        "Attention has four matrices of its own.",
        _without("query", "key", "value", "output"),
    ),
    "only one of attention's two products over S × S is counted": (
        "The scores are one of them. What are the weights for?",
        _without("mixing"),
    ),
    "neither of attention's products over S × S is counted": (
        "Count what happens between the projections too: it has no parameters, but it costs.",
        _without("scores", "mixing"),
    ),
    "one matrix of the feed-forward network is missing": (_FORWARD, _without("down")),
    "the feed-forward network is missing": (_FORWARD, _without("up", "down")),
}


def _parts(case: Case, given: Any) -> Finding | None:
    """Which product, or which two, are counted wrongly? Perhaps with the 2 forgotten besides."""
    for factor, also in ((1, ""), (2, ", and each multiplication with its addition counts once")):
        for together in (1, 2):
            for names in combinations(_MISTAKES, together):
                changes = [_MISTAKES[name][1] for name in names]
                if same(given, _count(*case.arguments, *changes) // factor, 0):
                    message = f"Your number is what comes out when {' and '.join(names)}{also}."
                    return Finding(message, _MISTAKES[names[0]][0])
    return None


def _whole(case: Case, given: Any) -> Finding | None:
    """Mistakes that run through the whole sum."""
    S, H, F = case.arguments  # noqa: N806
    right = _count(S, H, F)
    outputs = sum(rows * columns for rows, _, columns in _products(S, H, F).values())
    known = {
        right // 2: (
            "Your number is half of what is asked: each multiplication with its addition counts once.",
            "A dot product of n numbers takes n multiplications. What else?",
        ),
        right * 2: (
            "Your number is twice what is asked.",
            "A multiplication and an addition are two operations. Where do your third and fourth come from?",
        ),
        right - outputs: (
            "You count n − 1 additions for n products, which is exact, and not what is usual.",
            "Count two operations for each product: the first addition is to a zero, or to a bias.",
        ),
        right + S * (5 * H + F): (
            "Your number is too large by the additions of the biases.",
            "They are left out here: beside a matrix product they are nothing.",
        ),
        right * 3: (
            "Your number is three times what is asked, as much as a training step takes.",
            "Only the forward pass is counted.",
        ),
    }
    return Finding(*known[given]) if given in known else None


def _heads(case: Case, given: Any) -> Finding | None:
    """Attention with the size of one head, or with the size of all in each head."""
    S, H, F = case.arguments  # noqa: N806
    attention = 4 * S * S * H
    rest = _count(S, H, F) - attention
    # Of 2 heads, one is half of attention; one of H heads has size 1. Both look like other mistakes, told below.
    for heads in range(3, H):
        if H % heads == 0 and given == rest + attention // heads:
            return Finding(
                f"Your attention is that of one head of {heads}, of size {H // heads}.",
                "How many heads work side by side?",
            )
        if H % heads == 0 and given == rest + attention * heads:
            return Finding(
                f"Your attention is too large by a factor of {heads}, as if each of {heads} heads had size H.",
                "Heads share out the H columns. Does their number change the work?",
            )
    if given == rest + 4 * S * S * 64:
        return Finding(
            "Your attention takes 64 numbers for each score.", "How many heads of that size work side by side?"
        )
    return None


def _cases() -> list[Case]:
    by_part = "Write down the matrix products one by one, each with the shapes of its two factors."
    fixed = "Which of your numbers is a fixed one, where an argument should stand?"
    return [
        # Of these sizes, no two of the mistakes above give the same number.
        Case("S = 5, H = 24, intermediate size 50, small enough for paper", (5, 24, 50), by_part),
        Case("the sizes of BERT-base and 128 tokens", (128, 768, 3072), fixed),
        Case("the sizes of BERT-large and 512 tokens", (512, 1024, 4096), fixed),
        Case("one token", (1, 384, 1536), "What does attention compute for a text of one token?"),
        Case("an intermediate size below H", (40, 48, 20), fixed),
    ]


LAYER_FLOPS = Exercise(
    title="exercise 1, the operations of a layer",
    name="layer_flops",
    takes=("length", "hidden_size", "intermediate_size"),
    gives=("number",),
    reference=_count,
    cases=_cases,
    diagnoses=(_whole, _heads, _parts),
    start="Begin with one linear map: S tokens of H numbers times a matrix of H × H.",
    onward="At which length do the two products over S × S cost as much as all the rest?",
)
