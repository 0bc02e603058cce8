"""Exercise 1: LayerNorm."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from bertbook.check.exercise import Case, Diagnosis, Exercise, looks_like, normals


def _layer_norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
    exact = F.layer_norm(x.double(), weight.shape, weight.double(), bias.double(), eps)
    return exact.to(x.dtype)


def _wrong(*changed: str, axes: tuple[int, ...] = (-1,)) -> Callable[..., Tensor]:
    """LayerNorm in which one or more steps go wrong in one of the usual ways."""

    def norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
        about = torch.zeros(()) if "uncentred variance" in changed else x.mean(axes, keepdim=True)
        squares = (x - about).square()
        count = squares.numel() // squares.sum(axes, keepdim=True).numel()
        variance = squares.sum(axes, keepdim=True) / (count - ("unbiased" in changed))
        if "no eps" in changed:
            eps = 0.0
        if "eps outside" in changed:
            divisor = variance.sqrt() + eps
        else:
            divisor = variance + eps if "no root" in changed else (variance + eps).sqrt()
        if "not divided" in changed:
            divisor = torch.ones(())

        result = (x if "not centred" in changed else x - x.mean(axes, keepdim=True)) / divisor
        gain = torch.ones_like(weight) if "no weight" in changed else weight
        shift = torch.zeros_like(bias) if "no bias" in changed else bias
        if "weight and bias swapped" in changed:
            gain, shift = shift, gain
        return (result + shift) * gain if "bias first" in changed else result * gain + shift

    return norm


def _cases() -> list[Case]:
    draw = normals(11)

    def case(
        title: str,
        *shape: int,
        eps: float = 1e-12,
        spread: float = 3,
        centre: float = 2,
        hint: str,
        tolerance: float = 1e-5,
    ) -> Case:
        size = shape[-1]
        return Case(title, (draw(*shape) * spread + centre, draw(size), draw(size), eps), hint, tolerance)

    line_up = "Print the shape of your mean: how does it line up with `x`, axis by axis from the right?"
    front = "How many axes stand before the last is not yours to know."
    return [
        case("2 texts of 5 tokens, H = 8", 2, 5, 8, hint=line_up),
        case("one token alone, H = 12", 12, hint=front),
        case("three axes before the last", 2, 3, 4, 6, hint=front),
        case("small numbers and eps = 0.1", 3, 4, 8, eps=0.1, spread=0.5, centre=0, hint="What is `eps` added to?"),
        case(
            "numbers near 1000",
            2,
            4,
            16,
            spread=1,
            centre=1000,
            hint="Their squares are near a million, and a float32 has about 7 digits. How many survive a subtraction?",
            tolerance=1e-3,  # the mean of such numbers is itself rounded to about 1e-4
        ),
    ]


def _recognise(message: str, hint: str, *ways: Callable[..., Tensor]) -> list[Diagnosis]:
    """One mistake, in every way that it is made."""
    return [looks_like(way, message, hint) for way in ways]


def _over(*axes: int) -> list[Callable[..., Tensor]]:
    return [_wrong(axes=axes), _wrong("unbiased", axes=axes)]


_ONE_TOKEN = "Each token is normalised by its own numbers and no others. Along which axis do they lie?"

LAYER_NORM = Exercise(
    title="exercise 1, LayerNorm",
    name="my_layer_norm",
    takes=("x", "weight", "bias", "eps"),
    gives=("output",),
    reference=_layer_norm,
    cases=_cases,
    diagnoses=(
        *_recognise(
            "Your `weight` does nothing.",
            "After each token is normalised, every entry gets back a scale that was learned.",
            _wrong("no weight"),
        ),
        *_recognise(
            "Your `bias` does nothing.", "Which of the four arguments have you not used yet?", _wrong("no bias")
        ),
        *_recognise(
            "The tokens are normalised, but `weight` and `bias` do nothing.",
            "Which of the four arguments have you not used yet?",
            _wrong("no weight", "no bias"),
        ),
        *_recognise(
            "Your bias is added before the weight is applied, which scales it too.",
            "Which of the two comes last?",
            _wrong("bias first"),
        ),
        *_recognise(
            "`weight` and `bias` have changed places.",
            "Which of the two is 1 in a fresh LayerNorm, and which is 0?",
            _wrong("weight and bias swapped"),
        ),
        *_recognise(
            "Your variance is divided by H − 1, not by H.",
            "`var` and `std` estimate by default the variance of a population from a sample. Here nothing is "
            "estimated; which of their arguments says so?",
            _wrong("unbiased"),
        ),
        *_recognise("You normalise across the texts of the batch: that is BatchNorm.", _ONE_TOKEN, *_over(0)),
        *_recognise("You normalise across the tokens of a text, entry by entry.", _ONE_TOKEN, *_over(-2)),
        *_recognise("You normalise across all tokens, entry by entry: that is BatchNorm.", _ONE_TOKEN, *_over(0, 1)),
        *_recognise("You normalise all numbers of a text together.", _ONE_TOKEN, *_over(-2, -1)),
        *_recognise("You normalise all numbers of the batch together.", _ONE_TOKEN, *_over(0, 1, 2)),
        *_recognise(
            "The mean stays in: that is RMSNorm, which other models use.",
            "After this step, the numbers of one token have the mean 0.",
            _wrong("not centred", "uncentred variance"),
            _wrong("not centred"),
            _wrong("not centred", "unbiased"),
        ),
        *_recognise(
            "You divide by the root of the mean square of `x`, which is not its variance.",
            "The variance measures distances from the mean.",
            _wrong("uncentred variance"),
        ),
        *_recognise(
            "You subtract the mean, and divide by nothing.",
            "After this step, the numbers of one token have the variance 1.",
            _wrong("not divided"),
        ),
        *_recognise(
            "You divide by the variance itself.",
            "The numbers of one token should then have the variance 1. Which do yours have?",
            _wrong("no root"),
            _wrong("no root", "unbiased"),
        ),
        *_recognise(
            "Your numbers are those of `eps` = 0.",
            "A token whose numbers are all equal would give 0 / 0. The argument prevents that.",
            _wrong("no eps"),
        ),
        *_recognise(
            "You add `eps` to the standard deviation.",
            "In the formula, what is under the root together?",
            _wrong("eps outside"),
        ),
    ),
    start="Begin with the mean of each token: one number for H. What shape do they have together?",
    onward="What does a token become whose H numbers are all equal?",
)
