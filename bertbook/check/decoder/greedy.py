"""Exercise 3: greedy decoding."""

from collections.abc import Callable

import torch
from torch import Tensor

from bertbook.check.compare import Finding, kind
from bertbook.check.exercise import Case, Diagnosis, Exercise, normals

Model = Callable[[list[int]], Tensor]
Seen = Callable[[list[int]], list[int]]

_VOCABULARY = 20
_MOST_CALLS = 1000  # checking and diagnosing need some hundred: whoever calls more often would never end


def _model(length: int, end_id: int, seed: int, patience: int | None = None) -> Model:
    """A model without a network: logits from a table, by all ids so far and their order.

    Args:
        length: the end comes as this new id.
        patience: raise if called with more ids than this, or after the end.
    """
    table = normals(seed)(_VOCABULARY, _VOCABULARY)
    calls = 0

    def next_logits(ids: list[int]) -> Tensor:
        nonlocal calls
        calls += 1
        if calls > _MOST_CALLS:
            raise RuntimeError(f"next_logits has been called {_MOST_CALLS} times: this goes on for ever")
        if type(ids) is not list or not all(type(number) is int for number in ids):
            what = kind(ids) if type(ids) is not list else next(kind(n) for n in ids if type(n) is not int)
            raise TypeError(f"next_logits takes a list of whole numbers, and was given {what}")
        if patience is not None and end_id in ids[1:]:
            raise RuntimeError("next_logits was called again after end_id had come")
        if patience is not None and len(ids) > patience:
            raise RuntimeError("next_logits was called again when all max_length ids were there")
        fading = 0.7 ** torch.arange(len(ids)).flip(0)  # the last id counts most, but all count
        logits = fading @ table[torch.tensor(ids, dtype=torch.long)]
        logits[end_id] = logits.max() + 1 if len(ids) == length else logits.median()
        return logits

    return next_logits


def _greedy(next_logits: Model, start_id: int, end_id: int, max_length: int, seen: Seen = list) -> list[int]:
    """What is expected; ``seen`` chooses what the model is given of all ids so far."""
    answer: list[int] = []
    while len(answer) < max_length and end_id not in answer:
        answer += next_logits(seen([start_id, *answer])).topk(1).indices.tolist()
    return answer


def _cases() -> list[Case]:
    follow = "Print the ids before each call of `next_logits`, and what it chooses."
    count = "Count the new ids only. How many are there after the first round of your loop?"
    both = "The start is no answer: only among new ids does `end_id` end anything."
    price = "Each call costs a pass through the decoder. When is the answer known to be complete?"
    return [
        Case("an end after 6 ids, max_length = 10", (_model(6, 2, seed=54), 1, 2, 10), follow),
        Case("an end that does not come in time, max_length = 4", (_model(6, 2, seed=43), 1, 2, 4), count),
        Case("an end that comes just in time, max_length = 6", (_model(6, 5, seed=44), 3, 5, 6), count),
        Case("an end that comes at once", (_model(1, 2, seed=34), 1, 2, 10), "An answer may be the end alone."),
        Case("start_id = end_id, as some models have it", (_model(4, 2, seed=49), 2, 2, 10), both),
        Case("a model that may not be called after the end", (_model(4, 2, seed=37, patience=10), 1, 2, 10), price),
        Case(
            "one that may not be called when max_length ids are there",
            (_model(9, 2, seed=32, patience=3), 1, 2, 3),
            price,
        ),
    ]


def _ends(case: Case, given: list[int]) -> Finding | None:
    """The right ids, but too few or too many of them at one of the ends."""
    _, start_id, end_id, max_length = case.arguments
    expected = _greedy(*case.arguments)
    ended = expected[-1] == end_id
    if given in ([start_id, *expected], [start_id, *expected][:-1]) and start_id != end_id:
        return Finding("Your answer begins with `start_id`.", "The caller knows the start. Which ids are new?")
    if given == expected[:-1]:
        if ended:
            return Finding(
                "`end_id` is missing from your answer.",
                "How would the caller tell an answer that is complete from one that was cut at `max_length`?",
            )
        return Finding(f"Your answer is one id short of {max_length}.", "Does your count include the start?")
    if not ended and given == [*expected, end_id]:
        return Finding(
            "You add `end_id` where the model did not choose it.", "Whoever cuts an answer should not hide it."
        )
    if given[: len(expected)] == expected and len(given) > len(expected):
        if ended:
            return Finding("Your answer goes on after the end.", "When is there nothing left to ask the model?")
        return Finding(
            f"Your answer has {len(given)} ids, and at most {max_length} are allowed.", "Count the new ids only."
        )
    return None


def _fed(seen: Seen, message: str, hint: str) -> Diagnosis:
    """Recognise an answer of a model that was given something else than all ids so far."""

    def diagnosis(case: Case, given: list[int]) -> Finding | None:
        next_logits, start_id, end_id, max_length = case.arguments
        variant = _greedy(next_logits, start_id, end_id, max_length, seen)
        # It may end elsewhere than the variant, but has to leave the right path where the variant does.
        length = min(len(given), len(variant))
        left_the_path = given[:length] == variant[:length] != _greedy(*case.arguments)[:length]
        return Finding(message, hint) if left_the_path and length > 2 else None

    return diagnosis


def _not_the_best(case: Case, given: list[int]) -> Finding | None:
    """Somewhere it leaves the best path: by argmin, by a sample, by the wrong axis."""
    next_logits, start_id, _, _ = case.arguments
    logits = [next_logits([start_id, *given[:place]]) for place in range(len(given))]
    larger = [int((row > row[chosen]).sum()) for row, chosen in zip(logits, given, strict=True)]
    if not any(larger):
        return None
    if set(larger) == {_VOCABULARY - 1}:
        return Finding("You choose the id with the smallest logit.", "The most probable id has the largest.")
    place = next(place for place, number in enumerate(larger) if number)
    return Finding(
        f"Your id at place {place} is {given[place]}, and {larger[place]} of the {_VOCABULARY} logits are larger.",
        "Greedy means no dice: which id is the most probable, given all those before it?",
    )


GREEDY = Exercise(
    title="exercise 3, greedy decoding",
    name="my_greedy",
    takes=("next_logits", "start_id", "end_id", "max_length"),
    gives=("ids",),
    reference=_greedy,
    cases=_cases,
    diagnoses=(
        _ends,
        _fed(
            lambda ids: ids[-1:],
            "The model is given the last id only.",
            "The function remembers nothing between calls: what does it need to know each time?",
        ),
        _fed(
            lambda ids: ids[:1],
            "The model is given the same ids every time, and so gives the same answer.",
            "Where does the id that it chose go?",
        ),
        _fed(
            lambda ids: ids[1:] or ids,
            "The model does not see the start once there are other ids.",
            "It was trained with the start in front of every text.",
        ),
        _fed(
            lambda ids: ids[::-1],
            "The model is given the ids in reverse.",
            "New ids join at the end.",
        ),
        _not_the_best,
    ),
    start="Begin with the ids the model is given first, when nothing has been written yet.",
    onward="Is the answer that takes the best id at every step the most probable answer as a whole?",
)
