"""Exercise 1: a pair cut to fit."""

from collections.abc import Callable

from bertbook.check.exercise import Case, Exercise, looks_like

Ids = list[int]
Pair = tuple[Ids, Ids]


def _lengths(a: int, b: int, room: int, spare_second: bool = False) -> tuple[int, int]:
    """How many ids of each are left, without taking any away: the shorter one keeps up to half of the room."""
    if a + b <= room:
        return a, b
    half, odd = divmod(room, 2)
    if spare_second:  # of two equal ones the first loses
        return (room - min(b, half + odd), min(b, half + odd)) if a > half else (a, room - a)
    return (room - min(b, half), min(b, half)) if a > half else (a, room - a)


def _cut(first: Ids, second: Ids, room: int) -> Pair:
    a, b = _lengths(len(first), len(second), room)
    return first[:a], second[:b]


def _first_of_equals(first: Ids, second: Ids, room: int) -> Pair:
    a, b = _lengths(len(first), len(second), room, spare_second=True)
    return first[:a], second[:b]


def _from_the_front(first: Ids, second: Ids, room: int) -> Pair:
    a, b = _lengths(len(first), len(second), room)
    return first[len(first) - a :], second[len(second) - b :]


def _halves(larger_half_first: bool) -> Callable[[Ids, Ids, int], Pair]:
    def halves(first: Ids, second: Ids, room: int) -> Pair:
        half = -(-room // 2) if larger_half_first else room // 2
        return first[:half], second[: room - half]

    return halves


def _second_alone(first: Ids, second: Ids, room: int) -> Pair:
    kept = first[:room]
    return kept, second[: room - len(kept)]


def _first_alone(first: Ids, second: Ids, room: int) -> Pair:
    kept = second[:room]
    return first[: room - len(kept)], kept


def _one_too_many(first: Ids, second: Ids, room: int) -> Pair:
    return _cut(first, second, room - 1)


def _cases() -> list[Case]:
    def case(title: str, a: int, b: int, room: int, hint: str) -> Case:
        return Case(title, (list(range(100, 100 + a)), list(range(200, 200 + b)), room), hint)

    trace = "Do it on paper for the first three ids that go: from which list does each of them go, and why?"
    return [
        case("a first text of 11 ids, a second of 3, and room for 11", 11, 3, 11, trace),
        case("two texts of 5 ids and room for 7", 5, 5, 7, "Which of two equal lists is to lose one?"),
        case("a second text of 12 ids, a first of 2, and room for 9", 2, 12, 9, "A text that is short can stay whole."),
        case("texts that fit", 3, 4, 7, "Nothing has to go while both together are no longer than the room."),
        case("room for one id", 4, 4, 1, "Follow the rule to its end: which of the two is the last to lose one?"),
        case("an empty second text", 6, 0, 5, "An empty list is a list too."),
    ]


TRUNCATE = Exercise(
    title="exercise 1, a pair cut to fit",
    name="my_truncate",
    takes=("first", "second", "room"),
    gives=("first", "second"),
    reference=_cut,
    cases=_cases,
    diagnoses=(
        looks_like(lambda *a: a[:2], "Nothing is cut.", "How long are both together, and how much room is there?"),
        looks_like(_first_of_equals, "Of two equally long texts, the first loses.", "Compare with > or with >=?"),
        looks_like(_from_the_front, "The ids go from the front.", "Which end of a list does `pop()` take?"),
        looks_like(_one_too_many, "One id too many goes.", "Is a pair that exactly fills the room too long?"),
        looks_like(_halves(True), "Each text gets half of the room, needed or not.", "What does a short one leave?"),
        looks_like(_halves(False), "Each text gets half of the room, needed or not.", "What does a short one leave?"),
        looks_like(_second_alone, "Only the second text is cut.", "Compare the two lengths before each id that goes."),
        looks_like(_first_alone, "Only the first text is cut.", "Compare the two lengths before each id that goes."),
    ),
    start="Begin with the condition: when is there still something to take away?",
    onward="The original recipe takes ids from the front or the end, by a coin. What for?",
)
