"""Exercise 2: the number of parameters."""
# ruff: noqa: N803  # sizes carry their names from the papers

import math
import re
from itertools import combinations
from typing import Any

from bertbook.check.compare import Finding
from bertbook.check.exercise import Case, Exercise


def _shapes(V: int, H: int, L: int, F: int, P: int, T: int) -> dict[str, tuple[int, ...]]:
    """Every tensor of a BERT with its shape; those of the layers are stacked, so that L comes first. F: intermediate.

    The bias of a linear map is an "offset" here, so that a pattern tells it from that of a LayerNorm.
    """
    return {
        "words": (V, H),
        "positions": (P, H),
        "segments": (T, H),
        "embeddings norm weight": (H,),
        "embeddings norm bias": (H,),
        "layers attention query matrix": (L, H, H),
        "layers attention query offset": (L, H),
        "layers attention key matrix": (L, H, H),
        "layers attention key offset": (L, H),
        "layers attention value matrix": (L, H, H),
        "layers attention value offset": (L, H),
        "layers attention output matrix": (L, H, H),
        "layers attention output offset": (L, H),
        "layers norm first weight": (L, H),
        "layers norm first bias": (L, H),
        "layers forward up matrix": (L, H, F),
        "layers forward up offset": (L, F),
        "layers forward down matrix": (L, F, H),
        "layers forward down offset": (L, H),
        "layers norm second weight": (L, H),
        "layers norm second bias": (L, H),
        "pooler matrix": (H, H),
        "pooler offset": (H,),
    }


def _count(*sizes: int) -> int:
    return sum(math.prod(shape) for shape in _shapes(*sizes).values())


# What people leave out -> a pattern of the tensors' names. Two of these at once are recognised too.
_LEFT_OUT = {
    "the table of word vectors": "^words",
    "the table of positions": "^positions",
    "the table of segments": "^segments",
    "the LayerNorm of the embeddings": "^embeddings norm",
    "both LayerNorms of every layer": "^layers norm",
    "one of the two LayerNorms of every layer": "^layers norm first",
    "every LayerNorm": "norm",
    "the bias of every LayerNorm": "norm.* bias",
    "the bias of every linear map": "offset",
    "every bias, of linear maps and of LayerNorms": "offset|bias",
    "the four biases of every attention": "attention.*offset",
    "the two biases of every feed-forward network": "forward.*offset",
    "the pooler": "^pooler",
    "the pooler's matrix": "^pooler matrix",
    "the pooler's bias": "^pooler offset",
    "W_O of every layer, with its bias": "attention output",
    "W_O of every layer": "attention output matrix",
    "two of the four matrices of every attention, with their biases": "attention (key|value)",
    "two of the four matrices of every attention": "attention (key|value) matrix",
    "one matrix of every feed-forward network, with the bias of size H": "forward down",
    "one matrix of every feed-forward network, with the larger bias": "forward up",
    "one matrix of every feed-forward network": "forward down matrix",
    "every feed-forward network": "forward",
    "every attention": "attention",
}


def _tensors(*parts: str) -> frozenset[str]:
    """The names of all tensors in these parts."""
    pattern = "|".join(_LEFT_OUT[part] for part in parts)
    return frozenset(name for name in _shapes(0, 0, 0, 0, 0, 0) if re.search(pattern, name))


def _too_small(case: Case, given: Any) -> Finding | None:
    """Which part, or which two, hold as much as is missing?"""
    sizes = {name: math.prod(shape) for name, shape in _shapes(*case.arguments).items()}
    missing = sum(sizes.values()) - int(given)
    if missing <= 0:
        return None

    def explained(found: dict[frozenset[str], str]) -> list[str]:
        return [part for tensors, part in found.items() if sum(sizes[name] for name in tensors) == missing]

    parts = explained({_tensors(part): part for part in _LEFT_OUT})
    _, H, L, _, _, T = case.arguments  # noqa: N806
    in_layers = sum(size for name, size in sizes.items() if name.startswith("layers"))
    if missing * L == in_layers * (L - 1):
        parts.append(f"{L - 1} of the {L} layers")
    if missing == H * (T - 2):  # as if there were two in every BERT
        parts.append(f"{T - 2} of the {T} segments")
    if not parts:
        parts = explained({_tensors(a, b): f"{a} and {b} together" for a, b in combinations(_LEFT_OUT, 2)})
    if not parts:
        return None
    return Finding(
        f"Your number is {missing:,} too small. So many are in {', and as many in '.join(parts[:3])}.",
        "Write down the shape of each tensor there. A linear map has a matrix and a bias, a LayerNorm two vectors.",
    )


def _too_large(case: Case, given: Any) -> Finding | None:
    """Which addition holds as much as is too many?"""
    V, H, L, F, _, _ = case.arguments  # noqa: N806
    linear, norm = H * H + H, 2 * H
    masked = linear + norm + V  # the decoder's matrix is that of the words: counted once more, or not
    layer = 4 * linear + 2 * norm + 2 * H * F + F + H
    heads = [h for h in range(2, H + 1) if H % h == 0]
    apart = {L * (h - 1) * n * size for h in heads for n in (3, 4) for size in (linear, H * H)}
    body = "Only the body is counted: tables, layers, pooler."
    added = [
        ("as much as a head for masked language modelling holds", {masked, masked + V * H}, body),
        ("as much as a head for next sentence prediction holds", {norm + 2}, body),
        ("as much as both heads of the pretraining hold", {masked + norm + 2, masked + V * H + norm + 2}, body),
        ("as much as a second table of word vectors holds", {V * H, V * H + V}, body),
        (
            "as much as two more LayerNorms hold",
            {2 * norm},
            "Are the three embeddings of a token normalised one by one, or as a sum?",
        ),
        ("as much as one more layer holds", {layer}, "How often does each layer come?"),
        ("as if the intermediate size were 4 H", {L * (2 * H + 1) * (4 * H - F)}, "It is an argument of its own."),
        ("as if there were a pooler in every layer", {(L - 1) * linear}, "Where does the pooler stand?"),
        (
            "as if each head had matrices of size H × H",
            apart,
            "Heads share out the H columns of one matrix. Does their number change its size?",
        ),
    ]
    extra = int(given) - _count(*case.arguments)
    found = ((reason, hint) for reason, amounts, hint in added if extra in amounts)
    return next((Finding(f"Your number is {extra:,} too large, {reason}.", hint) for reason, hint in found), None)


def _cases() -> list[Case]:
    by_part = "Split your number into tables, layers and pooler, and the layer into attention and the rest."
    fixed = "Which of your numbers is a fixed one, where an argument should stand?"
    return [
        # Of these sizes, no two parts above are equally large, but for those that are in every BERT.
        Case("the sizes (500, 20, 3, 50, 40, 5), small enough for paper", (500, 20, 3, 50, 40, 5), by_part),
        Case("the sizes of BERT-base", (30522, 768, 12, 3072, 512, 2), fixed),
        Case("the sizes of BERT-large", (30522, 1024, 24, 4096, 512, 2), fixed),
        Case("the sizes of BERT-base for Chinese", (21128, 768, 12, 3072, 512, 2), fixed),
        Case("one segment and 514 positions", (50265, 768, 12, 3072, 514, 1), fixed),
    ]


COUNT_PARAMETERS = Exercise(
    title="exercise 2, the number of parameters",
    name="count_parameters",
    takes=("vocab_size", "hidden_size", "num_layers", "intermediate_size", "max_positions", "num_segments"),
    gives=("number",),
    reference=_count,
    cases=_cases,
    diagnoses=(_too_small, _too_large),
    start="Begin with the three tables of the embeddings. How many rows and columns does each have?",
    onward="Which part would grow most if you doubled V, and which if you doubled H?",
)
