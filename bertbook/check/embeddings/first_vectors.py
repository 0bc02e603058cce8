"""Exercise 1: token + segment + position, then LayerNorm."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from bertbook.check.exercise import Case, Exercise, looks_like, normals

_ALL = ("token", "segment", "position")


def _norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
    return F.layer_norm(x.double(), weight.shape, weight.double(), bias.double(), eps).float()


def _way(*parts: str, first: int = 0, normalise: str = "sum", swapped: bool = False) -> Callable[..., Tensor]:
    """The sum of some parts; ``first`` is the first position, ``normalise`` says what goes through LayerNorm."""

    def embed(ids: Tensor, segments: Tensor, token: Tensor, segment: Tensor, position: Tensor, *norm: Tensor) -> Tensor:
        weight, bias, eps = norm
        places = torch.arange(first, first + ids.shape[1])
        if swapped:
            segments, places = places.clamp(max=1).expand_as(segments), segments
        rows = {
            "token": F.embedding(ids, token),
            "segment": F.embedding(segments, segment),
            "position": F.embedding(places, position).expand(*ids.shape, -1),
        }
        chosen = [rows[name] for name in parts or _ALL]
        if normalise == "each":
            return sum((_norm(part, weight, bias, float(eps)) for part in chosen), torch.tensor(0.0))
        total = sum(chosen, torch.tensor(0.0))
        if normalise == "nothing":
            return total
        gain, shift = (torch.ones_like(weight), torch.zeros_like(bias)) if normalise == "plain" else (weight, bias)
        return _norm(total, gain, shift, float(eps))

    return embed


def _over_the_batch(
    ids: Tensor, segments: Tensor, token: Tensor, segment: Tensor, position: Tensor, *norm: Tensor
) -> Tensor:
    """The position is the number of the text in the batch."""
    places = torch.arange(ids.shape[0])[:, None]
    total = F.embedding(ids, token) + F.embedding(segments, segment) + F.embedding(places, position)
    return _norm(total, norm[0], norm[1], float(norm[2]))


def _cases() -> list[Case]:
    draw = normals(21)

    def case(title: str, B: int, S: int, H: int, V: int, P: int, hint: str, eps: float = 1e-12) -> Case:  # noqa: N803
        ids = (draw(B, S).abs() * 1000).long() % V
        segments = (torch.arange(S) >= S // 2 + 1).long().expand(B, S).clone()
        tables = draw(V, H), draw(2, H), draw(P, H)
        return Case(title, (ids, segments, *tables, 1 + draw(H) / 2, draw(H), eps), hint)

    steps = "Compute each of the three parts alone and print its shape: which of them has a row for each token?"
    return [
        case("2 texts of 5 tokens, H = 8", 2, 5, 8, 11, 9, steps),
        case("one text of one token", 1, 1, 12, 7, 3, "A batch of one is still a batch."),
        case("as many tokens as positions", 3, 6, 4, 9, 6, "Which row belongs to the last token?"),
        case("eps = 0.1", 2, 4, 8, 11, 9, "Where does `eps` go?", eps=0.1),
    ]


_WHICH = "Three tables, three lookups. Which have you not used yet?"

FIRST_VECTORS = Exercise(
    title="exercise 1, the first vectors",
    name="my_embeddings",
    takes=("ids", "segments", "token", "segment", "position", "weight", "bias", "eps"),
    gives=("output",),
    reference=_way(),
    cases=_cases,
    diagnoses=(
        looks_like(
            _way(normalise="nothing"),
            "That is the bare sum.",
            "What comes after the sum in BERT, and before the first layer?",
        ),
        looks_like(
            _way(normalise="plain"),
            "The sum is normalised, but `weight` and `bias` do nothing.",
            "Which of the arguments have you not used yet?",
        ),
        looks_like(
            _way(normalise="each"),
            "You normalise each part before the sum.",
            "How many LayerNorms does BERT have here?",
        ),
        looks_like(_way("token", "segment"), "The position is missing.", _WHICH),
        looks_like(_way("token", "position"), "The segment is missing.", _WHICH),
        looks_like(_way("segment", "position"), "The token itself is missing.", _WHICH),
        looks_like(_way("token"), "Segment and position are missing.", _WHICH),
        looks_like(_way(first=1), "Your positions begin at 1.", "What is the number of a table's first row?"),
        looks_like(
            _over_the_batch,
            "You look up the number of the text in the batch, not the place of the token in its text.",
            "Which axis of `ids` runs along a text?",
        ),
        looks_like(_way(swapped=True), "Segment and position are looked up in each other's table.", _WHICH),
    ),
    start="Begin with the rows of `token` that `ids` asks for: what shape do they have?",
    onward="What would change in the output if the same vector were added to every row of the position table?",
)
