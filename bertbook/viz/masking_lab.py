"""The masking lab: a text, what the masking makes of it, and whether it keeps its shares."""

import operator
from typing import Any

from bertbook.records import TokenRecord
from bertbook.viz.embed import BookWidget, name_from_caption, name_from_content

# What still can be looked at, what a page can count anew in a moment, and what a JavaScript number holds exactly.
MAX_TOKENS, MAX_ROLLS, MAX_SEED = 64, 10_000, 2**32 - 1


class MaskingLab(BookWidget):
    """Mask texts as often as you like: what becomes of each token, its label, and a tally against the expected shares.

    Show it as the last line of a cell, or call :meth:`html` or :meth:`save_html`. In a running notebook ``text``,
    ``rate``, ``mask_share``, ``random_share``, ``whole_words``, ``seed`` and ``rolls`` follow the reader, and setting
    them changes the picture.

    What is chosen and what becomes of it is what
    ``MaskingPolicy(tokenizer, rate, seed=seed, …).at(epoch=rolls - 1, index=text)`` makes of the text. Only the
    replacements are others, drawn from the record's sample of the vocabulary.

    Args:
        *records: texts to choose from, as ``record_tokens(tokenizer, text)`` makes them; at most 64 tokens each.
        text: number of the text to begin with, from 0.
        rate: the share of tokens chosen.
        mask_share, random_share: shares of the chosen ones that become [MASK], and another token.
        whole_words: whether words are chosen, not pieces.
        seed: of all rolls, a whole number from 0.
        rolls: how many to begin with, from 1. The last one is shown, all are counted.
        mask: how the mask is written.
        caption: the title and accessible name.
        id: the widget's name in links; by default made from the caption, or from the texts.

    Raises:
        TypeError: something that is no TokenRecord, or a value of another type.
        IndexError: no text of that number.
        ValueError: no record, too many tokens, a share or a number out of its range; an unusable id.
    """

    front_end = "masking-lab"

    def __init__(
        self,
        *records: TokenRecord,
        text: int = 0,
        rate: float = 0.15,
        mask_share: float = 0.8,
        random_share: float = 0.1,
        whole_words: bool = False,
        seed: int = 0,
        rolls: int = 1,
        mask: str = "[MASK]",
        caption: str | None = None,
        id: str | None = None,
    ) -> None:
        if not records:
            raise ValueError("no text to mask: pass at least one record, as record_tokens(tokenizer, text) makes it")
        for record in records:
            if not isinstance(record, TokenRecord):
                raise TypeError(
                    f"found a {type(record).__name__}; pass records, as record_tokens(tokenizer, text) makes"
                )
            if len(record) > MAX_TOKENS:
                raise ValueError(f"a text has {len(record)} tokens; at most {MAX_TOKENS} fit: pass a shorter text")
        self.records = records
        self.mask = mask
        _check_shares(mask_share, random_share)
        state = {
            "text": self._number_of_text(text),
            "rate": _share("rate", rate),
            "mask_share": _share("mask_share", mask_share),
            "random_share": _share("random_share", random_share),
            "whole_words": _truth(whole_words),
            "seed": _whole("seed", seed, 0, MAX_SEED),
            "rolls": _whole("rolls", rolls, 1, MAX_ROLLS),
        }
        self._initial = dict(state)
        name = id or (name_from_caption("masking", caption) if caption else "")
        texts = [token for record in records for token in record.tokens]
        super().__init__(caption or "Masking lab", name or name_from_content("masking", *texts), state)

    def __repr__(self) -> str:
        count = len(self.records)
        return f"MaskingLab({count} text{'s' if count > 1 else ''}, text={self.text}, rolls={self.rolls})"

    @property
    def text(self) -> int:
        """Number of the text shown, from 0."""
        return int(self._get("text"))

    @text.setter
    def text(self, value: int) -> None:
        self._set("text", self._number_of_text(value))

    @property
    def rate(self) -> float:
        """The share of tokens chosen."""
        return float(self._get("rate"))

    @rate.setter
    def rate(self, value: float) -> None:
        self._set("rate", _share("rate", value))

    @property
    def mask_share(self) -> float:
        """The share of the chosen tokens that become [MASK]."""
        return float(self._get("mask_share"))

    @mask_share.setter
    def mask_share(self, value: float) -> None:
        _check_shares(value, self.random_share)
        self._set("mask_share", _share("mask_share", value))

    @property
    def random_share(self) -> float:
        """The share of the chosen tokens that become another one."""
        return float(self._get("random_share"))

    @random_share.setter
    def random_share(self, value: float) -> None:
        _check_shares(self.mask_share, value)
        self._set("random_share", _share("random_share", value))

    @property
    def whole_words(self) -> bool:
        """Whether words are chosen, not pieces."""
        return bool(self._get("whole_words"))

    @whole_words.setter
    def whole_words(self, value: bool) -> None:
        self._set("whole_words", _truth(value))

    @property
    def seed(self) -> int:
        """The seed of all rolls."""
        return int(self._get("seed"))

    @seed.setter
    def seed(self, value: int) -> None:
        self._set("seed", _whole("seed", value, 0, MAX_SEED))

    @property
    def rolls(self) -> int:
        """How many rolls are counted; the last one is shown."""
        return int(self._get("rolls"))

    @rolls.setter
    def rolls(self, value: int) -> None:
        self._set("rolls", _whole("rolls", value, 1, MAX_ROLLS))

    def _number_of_text(self, value: Any) -> int:
        number = _whole("text", value, None, None)
        if not 0 <= number < len(self.records):
            raise IndexError(f"text={number}: choose 0 to {len(self.records) - 1}")
        return number

    def _data(self) -> dict[str, Any]:
        # Texts of one tokenizer share what is drawn from: it is sent once.
        samples = list(dict.fromkeys(record.drawable for record in self.records))
        return {
            "id": self.id,
            "caption": self.caption,
            "mask": self.mask,
            "limits": {"rolls": MAX_ROLLS, "seed": MAX_SEED},
            "initial": self._initial,
            "samples": [list(sample) for sample in samples],
            "texts": [
                {
                    "tokens": list(record.tokens),
                    "special": [int(flag) for flag in record.special],
                    "words": list(record.word_ids),
                    "sample": samples.index(record.drawable),
                }
                for record in self.records
            ],
        }

    def _text(self) -> str:
        tokens = " ".join(self.records[self.text].tokens)
        kept = max(0.0, 1 - self.mask_share - self.random_share)
        shares = f"{self.mask_share:.0%} become {self.mask}, {self.random_share:.0%} another token, {kept:.0%} stay"
        return (
            f"Masking, interactive. Of the tokens {tokens}, special ones apart, {self.rate:.0%} are chosen; "
            f"of these {shares}."
        )


def _share(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name}={value!r:.80}: a share from 0 to 1 is needed")
    if not 0 <= value <= 1:
        raise ValueError(f"{name}={value}: a share from 0 to 1 is needed")
    return float(value)


def _check_shares(mask_share: Any, random_share: Any) -> None:
    if _share("mask_share", mask_share) + _share("random_share", random_share) > 1 + 1e-9:
        raise ValueError(f"mask_share={mask_share} and random_share={random_share} are more than 1 together")


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"whole_words={value!r:.80}: True or False is needed")
    return value


def _whole(name: str, value: Any, least: int | None, most: int | None) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}={value!r:.80}: a whole number is needed") from None
    if least is not None and most is not None and not least <= number <= most:
        raise ValueError(f"{name}={number}: a whole number from {least} to {most} is needed")
    return number
