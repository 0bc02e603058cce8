"""What happens to a text before it is cut into words."""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal

from tokenizers import normalizers
from tokenizers.normalizers import Normalizer

UnicodeForm = Literal["NFC", "NFD", "NFKC", "NFKD"]

# Marks of typography, and what a typewriter has for them. Of the left column the Chinese vocabulary has only „.
PLAIN_PUNCTUATION: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys("“”„‟", '"'),
        **dict.fromkeys("‘’‚‛", "'"),
        **dict.fromkeys("‐‑‒–—―", "-"),  # hyphens and dashes, U+2010 to U+2015
        "…": "...",
    }
)
_FORMS = {form: getattr(normalizers, form) for form in ("NFC", "NFD", "NFKC", "NFKD")}
_STEPS = {*_FORMS, "Replace"}  # what may come before BERT's own


def steps_before(unicode: UnicodeForm | None, replace: Mapping[str, str] | None) -> list[Normalizer]:
    """The steps that come before BERT's own: first what is replaced, then the Unicode form.

    Raises:
        TypeError: ``replace`` is no mapping from strings to strings.
        ValueError: no such form; an empty string to be replaced.
    """
    if unicode is not None and unicode not in _FORMS:
        raise ValueError(f"unicode={unicode!r}: choose one of {', '.join(map(repr, _FORMS))}, or None")
    replace = {} if replace is None else replace
    if not isinstance(replace, Mapping):
        raise TypeError(f'replace is {type(replace).__name__}: expected a mapping such as {{"“": \'"\'}}')
    for old, new in replace.items():
        if not isinstance(old, str) or not isinstance(new, str):
            raise TypeError(f"replace has {old!r}: {new!r}: both must be str")
        if not old:
            raise ValueError(f"replace has '': {new!r}: there is nothing to look for in an empty string")
    steps: list[Normalizer] = [normalizers.Replace(old, new) for old, new in replace.items()]
    return steps if unicode is None else [*steps, _FORMS[unicode]()]


def bert_normalizer(
    *,
    lowercase: bool = True,
    strip_accents: bool | None = None,
    chinese_chars: bool = True,
    unicode: UnicodeForm | None = None,
    replace: Mapping[str, str] | None = None,
) -> Normalizer:
    """BERT's normalizer, and what is asked for before it. The arguments are those of ``Tokenizer.from_vocab``."""
    own = normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=chinese_chars, strip_accents=strip_accents, lowercase=lowercase
    )
    before = steps_before(unicode, replace)
    return normalizers.Sequence([*before, own]) if before else own


def parts(normalizer: Normalizer | None) -> list[dict[str, Any]]:
    """The steps of a normalizer with their settings, sequences taken apart."""
    if normalizer is None:
        return []
    return _flat(json.loads(normalizer.__getstate__()))


def _flat(state: dict[str, Any]) -> list[dict[str, Any]]:
    if state["type"] != "Sequence":
        return [state]
    return [part for inner in state["normalizers"] for part in _flat(inner)]


def is_berts(normalizer: Normalizer | None) -> bool:
    """Is it BERT's own, with at most a Unicode form and replacements before it?"""
    *before, last = [part["type"] for part in parts(normalizer)] or ["nothing"]
    return last == "BertNormalizer" and set(before) <= _STEPS
