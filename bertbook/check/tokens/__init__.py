"""The exercises of the chapter "Tokens", one module each: what is tried, and the mistakes that are recognised."""

from bertbook.check.result import CheckResult
from bertbook.check.tokens.answer import ANSWER_TOKENS
from bertbook.check.tokens.longest_match import LONGEST_MATCH
from bertbook.check.tokens.pair import BUILD_PAIR
from bertbook.check.tokens.training_step import FREQUENT_PAIR


def tokens_1(my_wordpiece: object) -> CheckResult:
    """Exercise 1. ``my_wordpiece(word, vocab) → pieces``.

    A word, and a vocabulary whose keys are the entries → a list of entries, or ["[UNK]"].
    """
    return LONGEST_MATCH.check(my_wordpiece)


def tokens_2(build_pair: object) -> CheckResult:
    """Exercise 2. ``build_pair(first, second, cls_id, sep_id) → ids, segments``.

    Two lists of ids, of the texts alone, and two ids → two lists of ints, of the same length.
    """
    return BUILD_PAIR.check(build_pair)


def tokens_3(answer_tokens: object) -> CheckResult:
    """Exercise 3. ``answer_tokens(offsets, start, end) → first, last``.

    S pairs of ints, (0, 0) for special tokens, and the characters of an answer, text[start:end] → two places.
    """
    return ANSWER_TOKENS.check(answer_tokens)


def tokens_4(frequent_pair: object) -> CheckResult:
    """Exercise 4. ``frequent_pair(words) → left, right``.

    Words as tuples of pieces, with how often each occurs → the pair of neighbours that is the most frequent.
    """
    return FREQUENT_PAIR.check(frequent_pair)
