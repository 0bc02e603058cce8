"""A reader's text with gaps: what the model reads, and the text with the gaps filled."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from tokenizers import decoders, models

from bertbook.text.tokenizer import Text, Tokenizer

GAP = "[MASK]"  # understood everywhere, also where the tokenizer's own is <mask>


def gap_marks(tokenizer: Tokenizer) -> list[str]:
    """How a gap may be written."""
    return list(dict.fromkeys([GAP, tokenizer.special_tokens[-1]]))


@dataclass(frozen=True)
class GappedText:
    """One text or pair, cut at its gaps.

    - ``texts``: for each of its one or two texts the reader's own characters: words, gap, words, gap, …, words;
    - ``ids``, ``segments``: what the model reads, S of each;
    - ``words``: the number of each token's word, −1 for special tokens;
    - ``places``: where in ``ids`` the gaps are.
    """

    tokenizer: Tokenizer
    texts: list[list[str]]
    ids: list[int]
    segments: list[int]
    words: list[int]
    places: list[int]

    @classmethod
    def of(cls, tokenizer: Tokenizer, item: Text) -> "GappedText":
        """Cut a text, or a pair, that the tokenizer takes.

        Raises:
            ValueError: the tokenizer does not take every mark of a gap for [MASK].
        """
        marks = "|".join(map(re.escape, gap_marks(tokenizer)))
        texts = [re.split(f"({marks})", text) for text in ([item] if isinstance(item, str) else item)]
        written = [tokenizer.special_tokens[-1].join(parts[::2]) for parts in texts]
        batch = tokenizer(written[0] if len(written) == 1 else (written[0], written[1]), return_word_ids=True)
        ids, segments, words = (batch[name][0].tolist() for name in ("input_ids", "token_type_ids", "word_ids"))
        places = [place for place, number in enumerate(ids) if number == tokenizer.mask_token_id]
        gaps = sum(len(parts) // 2 for parts in texts)
        if len(places) != gaps:
            raise ValueError(
                f"gaps in the text: {gaps}; masks that this tokenizer reads in it: {len(places)}: {item!r:.80}. Set "
                f"{tokenizer.special_tokens[-1]} off with spaces"
            )
        return cls(tokenizer, texts, ids, segments, words, places)

    @property
    def written(self) -> Text:
        """As the reader wrote it."""
        return self.filled({})

    def widened(self, gap: int, count: int) -> "GappedText":
        """What the model reads with ``count`` masks in the place of one; ``places`` are then those masks alone."""
        place = self.places[gap]
        ids, segments, words = (
            [*row[:place], *[row[place]] * count, *row[place + 1 :]] for row in (self.ids, self.segments, self.words)
        )
        places = list(range(place, place + count))
        return replace(self, ids=ids, segments=segments, words=words, places=places)

    def pieces(self, gap: int, word: str) -> list[int]:
        """The ids of a word that stands in this gap. ``##ing`` is a piece, if the vocabulary has it."""
        if is_continuation(self.tokenizer, word):
            return [self.tokenizer.vocab[word]]
        before = [part for parts in self.texts for part in parts[:-1:2]][gap]
        space = " " if before[-1:].isspace() else ""  # RoBERTa's words begin with the space before them
        return [self.tokenizer.vocab[token] for token in self.tokenizer.tokenize(space + word)]

    def filled(self, fillings: Mapping[int, int | str]) -> Text:
        """The reader's text with some gaps filled, by an id or by words; the others stay as they were written."""
        done, gap = [], 0
        for parts in self.texts:
            text = ""
            for number, part in enumerate(parts):
                filling: int | str = part
                if number % 2:
                    filling = fillings.get(gap, part)
                    gap += 1
                if not fillings:
                    text += part
                elif isinstance(filling, str):
                    text = _joined(self.tokenizer, text, filling)
                else:
                    text = _with_token(self.tokenizer, text, self.tokenizer.ids_to_tokens([filling])[0])
            done.append(text)
        return done[0] if len(done) == 1 else (done[0], done[1])


def is_continuation(tokenizer: Tokenizer, token: str) -> bool:
    """Whether BERT's vocabulary has this piece, and it goes on with a word, as ``##ing`` does."""
    pieces = isinstance(tokenizer.backend.model, models.WordPiece)
    return pieces and token.startswith("##") and token != "##" and token in tokenizer.vocab


def _with_token(tokenizer: Tokenizer, text: str, token: str) -> str:
    """The token after the text, so that its tokenizer would see the two as the model has."""
    kind = tokenizer.backend.model
    if is_continuation(tokenizer, token):
        return text.rstrip() + token[2:]
    if isinstance(kind, models.WordPiece):
        return _joined(tokenizer, text, token)
    # Tokens of RoBERTa and ALBERT bring the space before them along, and the mask took that of the text.
    surface = decoders.ByteLevel().decode([token]) if isinstance(kind, models.BPE) else token.replace("▁", " ")
    mask = tokenizer.backend.get_added_tokens_decoder()[tokenizer.mask_token_id]
    if mask.lstrip or surface.startswith(" "):
        text = text.rstrip()
    return text + surface if text else surface.lstrip()


def _joined(tokenizer: Tokenizer, before: str, after: str) -> str:
    """One after the other; for BERT, with a space where two words would become one: "[MASK]ing" is two to the model."""
    seam = before[-1:] + after[:1]
    if len(seam) < 2 or any(map(str.isspace, seam)) or not isinstance(tokenizer.backend.model, models.WordPiece):
        return before + after
    backend = tokenizer.backend
    words = backend.pre_tokenizer.pre_tokenize_str(backend.normalizer.normalize_str(seam))
    return before + " " * (len(words) == 1) + after
