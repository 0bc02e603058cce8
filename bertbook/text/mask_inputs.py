"""What the masking refuses, and in which words."""

import operator
from collections.abc import Sequence

import torch
from torch import Tensor


def whole_number(name: str, given: object, least: int) -> int:
    """The number, if it is a whole one of at least ``least`` that fits into 63 bits."""
    try:
        value = operator.index(given)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{name}={given!r:.80}: expected a whole number of at least {least}") from None
    if not least <= value < 2**63:
        raise ValueError(f"{name}={value}: expected a whole number from {least} to 2**63 - 1")
    return value


def check_shares(rate: object, mask_share: object, random_share: object) -> None:
    for name, share in (("rate", rate), ("mask_share", mask_share), ("random_share", random_share)):
        if isinstance(share, bool) or not isinstance(share, int | float):
            raise TypeError(f"{name}={share!r:.80}: expected a number from 0 to 1")
        if not 0 <= share <= 1:  # NaN too
            raise ValueError(f"{name}={share}: expected a share from 0 to 1" + (", as 0.15" if name == "rate" else ""))
    if rate == 0:
        raise ValueError("rate=0: nothing would be chosen, and a model would learn nothing; pass more than 0")
    if mask_share + random_share > 1 + 1e-9:  # type: ignore[operator]
        raise ValueError(
            f"mask_share={mask_share} and random_share={random_share} are more than 1 together: they are shares of "
            "the chosen tokens, and what is left of 1 stays as it is"
        )


def check_spans(spans: object) -> tuple[float, ...]:
    if isinstance(spans, str) or not isinstance(spans, Sequence):
        raise TypeError(f"spans={spans!r:.80}: expected the probabilities of the lengths 1, 2, 3, …, as geometric()")
    shares = tuple(float(share) for share in spans)
    if not shares or min(shares) < 0 or not abs(sum(shares) - 1) < 1e-6:
        raise ValueError(f"spans={spans!r:.80}: the probabilities of the lengths 1, 2, 3, … must be ≥ 0 and sum to 1")
    return shares


def check_index(index: object) -> Tensor:
    """The numbers of the examples, (B,)."""
    if isinstance(index, Tensor):
        given = index.detach().cpu()
    else:
        numbers = index if isinstance(index, Sequence) and not isinstance(index, str) else [index]
        given = torch.tensor([whole_number("index", number, 0) for number in numbers], dtype=torch.int64)
    if given.ndim != 1 or given.dtype not in (torch.int64, torch.int32) or bool((given < 0).any()):
        raise ValueError(
            f"index of shape {tuple(given.shape)} and type {given.dtype}: expected one whole number from 0 for each row"
        )
    return given.long()


def check_ids(input_ids: object, vocab_size: int) -> None:
    given = _tensor("input_ids", input_ids)
    if given.ndim != 2 or 0 in given.shape:
        raise ValueError(
            f"input_ids of shape {tuple(given.shape)}: expected (B, S), a batch of sequences"
            + ("; for one sequence pass input_ids[None]" if given.ndim == 1 else "")
        )
    if given.dtype not in (torch.int64, torch.int32):
        raise ValueError(f"input_ids of type {given.dtype}: expected torch.int64; pass input_ids.long()")
    low, high = (int(x) for x in torch.stack(given.aminmax()))  # one wait for the device, not two
    if low < 0 or high >= vocab_size:
        raise ValueError(
            f"input_ids from {low} to {high}: each must be from 0 to {vocab_size - 1}, an entry of the policy's "
            "tokenizer. Were they made by another one, or are they labels?"
        )


def check_word_ids(word_ids: object, input_ids: Tensor, whole_words: bool) -> None:
    if not whole_words:
        raise ValueError("word_ids given, but this policy masks pieces: make it with whole_words=True")
    if word_ids is None:
        raise ValueError("no entry of this vocabulary begins with ##, so pieces do not show words: pass word_ids")
    given = _tensor("word_ids", word_ids)
    if given.shape != input_ids.shape or given.device != input_ids.device:
        raise ValueError(
            f"word_ids of shape {tuple(given.shape)} on {given.device} do not fit input_ids of shape "
            f"{tuple(input_ids.shape)} on {input_ids.device}: the two must be equal"
        )
    if given.dtype not in (torch.int64, torch.int32) or bool((given < -1).any()):
        raise ValueError(f"word_ids of type {given.dtype}: expected whole numbers from 0, and -1 for tokens of no word")


def _tensor(name: str, given: object) -> Tensor:
    if not isinstance(given, Tensor):
        raise TypeError(f"{name} is {type(given).__name__}: expected a tensor, as a Tokenizer makes it")
    return given
