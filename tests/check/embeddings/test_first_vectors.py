"""Exercise 1: wrong answers as readers write them, and what they are told."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from bertbook import Bert, Tokenizer, check


def embed(
    ids: Tensor, seg: Tensor, tok: Tensor, seg_t: Tensor, pos: Tensor, w: Tensor, b: Tensor, eps: float
) -> Tensor:
    return F.layer_norm(tok[ids] + seg_t[seg] + pos[: ids.shape[1]], (len(w),), w, b, eps)


def bare(ids: Tensor, seg: Tensor, tok: Tensor, seg_t: Tensor, pos: Tensor, *_: Any) -> Tensor:
    return tok[ids] + seg_t[seg] + pos[: ids.shape[1]]


def zeroed(*which: int) -> Callable[..., Tensor]:
    """Without the tables at these places among the arguments."""
    return lambda *a: embed(*(x * 0 if n in which else x for n, x in enumerate(a)))


WRONG: dict[str, tuple[Any, str]] = {
    "bare sum": (bare, "that is the bare sum"),
    "plain norm": (
        lambda *a: F.layer_norm(bare(*a), (len(a[5]),), eps=a[7]),
        "the sum is normalised, but `weight` and `bias` do nothing",
    ),
    "norm of each": (
        lambda i, s, t, g, p, w, b, e: sum(
            F.layer_norm(x, (len(w),), w, b, e) for x in (t[i], g[s], p[: i.shape[1]].expand(*i.shape, -1))
        ),
        "you normalise each part before the sum",
    ),
    "no position": (zeroed(4), "the position is missing"),
    "no segment": (zeroed(3), "the segment is missing"),
    "no token": (zeroed(2), "the token itself is missing"),
    "token alone": (zeroed(3, 4), "segment and position are missing"),
    "from 1": (
        lambda i, s, t, g, p, w, b, e: F.layer_norm(t[i] + g[s] + p[1 : i.shape[1] + 1], (len(w),), w, b, e),
        "your positions begin at 1",
    ),
    "position of the text": (
        lambda i, s, t, g, p, w, b, e: F.layer_norm(t[i] + g[s] + p[torch.arange(len(i))][:, None], (len(w),), w, b, e),
        "the number of the text in the batch",
    ),
    "position by segment": (
        lambda i, s, t, g, p, w, b, e: F.layer_norm(
            t[i] + p[s] + g[torch.arange(i.shape[1]).clamp(max=1)], (len(w),), w, b, e
        ),
        "looked up in each other's table",
    ),
    "another eps": (lambda *a: embed(*a[:7], 1e-12), "eps = 0.1: 64 of 64 numbers"),
    "no batch": (lambda *a: embed(*a)[0], "`output` has shape (5, 8)"),
    "reads beyond": (lambda i, s, t, g, p, *r: bare(i, s, t, g, p[:5]), "that is the bare sum"),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_embeddings_1(mistake: str, refused: Callable[..., None]) -> None:
    refused(check.embeddings_1, *WRONG[mistake])


def test_embeddings_1_accepts_other_roads() -> None:
    def one_hot(ids: Tensor, seg: Tensor, tok: Tensor, seg_t: Tensor, pos: Tensor, *norm: Any) -> Tensor:
        x = F.one_hot(ids, len(tok)).float() @ tok + F.one_hot(seg, 2).float() @ seg_t + pos[: ids.shape[1]]
        return F.layer_norm(x, x.shape[-1:], *norm)

    assert check.embeddings_1(embed), check.embeddings_1(embed)
    assert check.embeddings_1(one_hot), check.embeddings_1(one_hot)


def test_the_solution_is_the_model(minilm: tuple[Bert, Tokenizer], solutions: Callable[[str], ModuleType]) -> None:
    model, tokenizer = minilm
    batch = tokenizer([("The bank was steep.", "He sat."), "No."])
    e = model.embeddings
    with torch.inference_mode():
        found = solutions("embeddings").my_embeddings(
            batch["input_ids"],
            batch["token_type_ids"],
            e.token.weight,
            e.segment.weight,
            e.position.weight,
            e.norm.weight,
            e.norm.bias,
            e.norm.eps,
        )
        expected = e(batch["input_ids"], batch["token_type_ids"])
    torch.testing.assert_close(found, expected)
