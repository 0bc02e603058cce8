"""Exercise 2: wrong answers as readers write them, and what they are told."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor

from bertbook import Bert, Tokenizer, check


def right(ids: Tensor, sep: int, pad: int) -> Tensor:
    first = (ids == sep).int().argmax(dim=1, keepdim=True)
    return ((torch.arange(ids.shape[1]) > first) & (ids != pad)).long()


def running(ids: Tensor, sep: int) -> Tensor:
    return (ids == sep).long().cumsum(1)


WRONG: dict[str, tuple[Any, str]] = {
    "at the [SEP]": (lambda i, s, p: running(i, s).clamp(max=1) * (i != p), "your segments change at the [SEP]"),
    "every [SEP] counted": (lambda i, s, p: running(i, s) * (i != p), "your segments count every [SEP]"),
    "padding in 1": (
        lambda i, s, p: (torch.arange(i.shape[1]) > (i == s).int().argmax(1, keepdim=True)).long(),
        "your padding is in segment 1",
    ),
    "padding goes on": (
        lambda i, s, p: running(i, s) - (i == s).long(),
        "your padding goes on counting",
    ),
    "1 and 2": (lambda i, s, p: (right(i, s, p) + 1) * (i != p), "your segments are 1 and 2"),
    "attention mask": (lambda i, s, p: (i != p).long(), "that is the attention mask"),
    "zeros": (lambda i, s, p: torch.zeros_like(i), "all your segments are 0"),
    "bool": (lambda i, s, p: right(i, s, p).bool(), "dtype torch.bool and should have torch.int64"),
    "[SEP] of one vocabulary": (lambda i, s, p: right(i, 3, 0), "other numbers for [SEP] and [PAD]"),
    "a list": (lambda i, s, p: right(i, s, p).tolist(), "`segments` is a list of 2 and should be a tensor"),
    "only the first row": (
        lambda i, s, p: right(i, s, p)[:1].expand_as(i) * (i != p),
        "2 of 16 numbers in `segments` are wrong",
    ),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_embeddings_2(mistake: str, refused: Callable[..., None]) -> None:
    refused(check.embeddings_2, *WRONG[mistake])


def test_embeddings_2_accepts_other_roads() -> None:
    assert check.embeddings_2(right), check.embeddings_2(right)


def test_the_solution_is_the_tokenizer(minilm: tuple[Bert, Tokenizer], solutions: Callable[[str], ModuleType]) -> None:
    tokenizer = minilm[1]
    batch = tokenizer([("The bank was steep.", "He sat on the grass."), ("", ""), "No.", ("Yes?", "")])
    found = solutions("embeddings").my_segments(batch["input_ids"], tokenizer.sep_token_id, tokenizer.pad_token_id)
    assert torch.equal(found, batch["token_type_ids"])
