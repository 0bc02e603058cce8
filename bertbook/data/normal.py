"""When two texts count as the same: the ground for removing duplicates and for keeping splits apart."""

import re
import unicodedata
from collections.abc import Iterable

# What is dropped, in the words of the cards.
AGAIN = "paragraphs that stand earlier in the corpus"
ONE_SENTENCE = "documents of which at most one sentence was left"
TWIN = "documents of which three in ten sentences stand earlier in the corpus"

_NO_LETTER = re.compile(r"[\W_]+")


def fingerprint(text: str) -> str:
    """The letters and digits of a text, in one form: NFKC, no case, no blanks, no signs.

    So a sentence is found again whatever was done to its quotes, its full-width digits or the blanks round its
    full stop. Empty for a text without a letter or a digit.
    """
    plain = text if text.isascii() else unicodedata.normalize("NFKC", text)
    return _NO_LETTER.sub("", plain.casefold())


class Seen:
    """The texts that went by."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._fingerprints = set(map(fingerprint, texts))

    def __contains__(self, text: str) -> bool:
        return fingerprint(text) in self._fingerprints

    def again(self, text: str) -> bool:
        """Whether the text went by before; from now on it has. A text without letters never did."""
        print_ = fingerprint(text)
        if not print_ or print_ not in self._fingerprints:
            self._fingerprints.add(print_)
            return False
        return True


class Twins:
    """Recognises a document that is mostly a rewriting of an earlier one."""

    _LONG = 20  # letters and digits; shorter sentences repeat by chance
    _SHARE = 0.3

    def __init__(self) -> None:
        self._sentences: set[str] = set()

    def is_twin(self, sentences: Iterable[str]) -> bool:
        """Whether three in ten of the longer sentences went by before. Those of a twin are not remembered."""
        long = {print_ for sentence in sentences if len(print_ := fingerprint(sentence)) >= self._LONG}
        if long and len(long & self._sentences) >= self._SHARE * len(long):
            return True
        self._sentences |= long
        return False
