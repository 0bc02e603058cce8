"""Fill the gaps of a text with a masked language model, and score whole texts with it."""

import warnings
from collections.abc import Sequence
from os import PathLike
from typing import Self, overload

import torch
from tokenizers import models
from torch import Tensor

from bertbook.model.heads import BertForMaskedLM, BertForPreTraining
from bertbook.pretrained import load_pretrained
from bertbook.tasks.asking import MaskedModel
from bertbook.tasks.candidates import Offer, asked, combination, entire_words, named_words, single_tokens
from bertbook.tasks.filled import Candidate, Combination
from bertbook.tasks.gaps import GappedText, gap_marks
from bertbook.tasks.pseudo_likelihood import Score, scored
from bertbook.tasks.searching import BEAMS, ORDERS, Order, fill_together
from bertbook.text.checks import check_text, check_texts
from bertbook.text.mask_inputs import whole_number
from bertbook.text.tokenizer import Text, Tokenizer

Filled = list[Candidate] | list[list[Candidate]]
Texts = list[str] | list[tuple[str, str]] | list[Text]


class FillMask:
    """What a model puts where a text has ``[MASK]``.

    ::

        fill = FillMask.from_pretrained("a/folder")
        fill("中国人民[MASK]行", top_k=3)  # a list of 3 candidates
        fill("The [MASK] eats [MASK].")  # two gaps: a list for each, as if the other stayed hidden
        fill.together("The [MASK] eats [MASK].")  # combinations: the one fits the other
        fill.score("The cat eats fish.").total  # how much the model expects this text

    Probabilities are the model's own, over its whole vocabulary: they are not made to sum to 1 over what is
    offered. Special tokens and entries named [unused…] are never offered.

    Args:
        model: with a head for masked words.
        tokenizer: the one that it was trained with.
        batch_tokens: how many tokens, padding included, the model reads at once; less needs less memory. A text
            that has more is read alone.

    Raises:
        TypeError: a model without such a head; no tokenizer.
        ValueError: a tokenizer with more tokens than the model has, or with special ones alone.
    """

    def __init__(
        self, model: BertForMaskedLM | BertForPreTraining, tokenizer: Tokenizer, *, batch_tokens: int = 8192
    ) -> None:
        if not isinstance(model, BertForMaskedLM | BertForPreTraining):
            raise TypeError(
                f"model is {type(model).__name__}: masked words need BertForMaskedLM or BertForPreTraining, as "
                'load_pretrained(…, head="mlm") returns. For a name, call FillMask.from_pretrained'
            )
        if not isinstance(tokenizer, Tokenizer):
            raise TypeError(f"tokenizer is {type(tokenizer).__name__}: expected the Tokenizer that the model goes with")
        if len(tokenizer) > model.config.vocab_size:
            raise ValueError(
                f"the tokenizer has {len(tokenizer)} tokens, the model's table {model.config.vocab_size} rows: they do "
                "not belong together; take both from one checkpoint"
            )
        self.model, self.tokenizer = model, tokenizer
        self._asking = MaskedModel(model, tokenizer, whole_number("batch_tokens", batch_tokens, 1))
        self._offer = Offer(tokenizer, model.config.vocab_size)
        if not self._offer.any.any():
            raise ValueError("the vocabulary holds special tokens alone: there is nothing to fill a gap with")

    @classmethod
    def from_pretrained(
        cls,
        name: str | PathLike[str],
        *,
        device: str | torch.device | None = None,
        dtype: torch.dtype | None = None,
        batch_tokens: int = 8192,
    ) -> Self:
        """With a checkpoint's model and tokenizer.

        Args:
            name, device, dtype: as :func:`~bertbook.load_pretrained` takes them: a folder or a hub id. The name
                ``"minilm"`` has no head for masked words.

        Raises:
            ValueError, FileNotFoundError, FetchError: as there; ValueError too for a checkpoint without trained
                weights for that head.
        """
        if not isinstance(name, str | PathLike):
            raise TypeError(f"name is {type(name).__name__}: expected a folder or a hub id; for a model call FillMask")
        with warnings.catch_warnings():
            warnings.filterwarnings("error", "(?s).*start untrained", UserWarning)
            try:
                model, tokenizer = load_pretrained(name, head="mlm", device=device, dtype=dtype)
            except UserWarning as error:
                raise ValueError(
                    f"{str(name)!r} has no trained head for masked words, so it cannot fill them. Take a checkpoint "
                    "of a masked language model: a folder that pretraining wrote, or a BERT as it was published"
                ) from error
        assert isinstance(model, BertForMaskedLM)
        return cls(model, tokenizer, batch_tokens=batch_tokens)

    def __repr__(self) -> str:
        return f"FillMask({self.model.name or type(self.model).__name__}, {self.tokenizer})"

    @overload
    def __call__(
        self,
        texts: Text,
        top_k: int | None = None,
        *,
        whole_words: bool = False,
        max_pieces: int = 1,
        candidates: Sequence[str] | None = None,
    ) -> Filled: ...
    @overload
    def __call__(
        self,
        texts: Texts,
        top_k: int | None = None,
        *,
        whole_words: bool = False,
        max_pieces: int = 1,
        candidates: Sequence[str] | None = None,
    ) -> list[Filled]: ...
    def __call__(
        self,
        texts: Text | Texts,
        top_k: int | None = None,
        *,
        whole_words: bool = False,
        max_pieces: int = 1,
        candidates: Sequence[str] | None = None,
    ) -> Filled | list[Filled]:
        """The best candidates for each gap, while all other gaps stay hidden.

        A gap holds one token, unless ``max_pieces`` or ``candidates`` say otherwise. A word of k pieces is asked for
        with k masks in the gap, filled from left to right, and the product of their probabilities is its probability
        among all sequences of k tokens. These products rank words of the same k. They do not compare different
        ones: that the gap holds k tokens was told to the model, and where it expects no such word it still has to
        choose one. So where lengths differ, candidates are ranked by ``text_score``, how much the model expects
        the filled text as a whole (Salazar et al. 2020; within words as Kauf and Ivanova 2023), which costs one more
        sequence a candidate and token of the text.

        Args:
            texts: a text, a pair ``(first, second)``, or a list of such. A gap is written ``[MASK]`` for every
                model; RoBERTa's own ``<mask>`` works too.
            top_k: how many; 5 when not given, or all of ``candidates``.
            whole_words: offer entire words alone. A text's [MASK] is a word to BERT, and what follows it begins a new
                one, so that only pieces such as ``##ing`` are none: they would go on with the word before.
            max_pieces: with ``whole_words``, the most pieces that a word may have. Those of several are looked for by
                the search of :meth:`together`, the 8 best of each length or ``top_k``, if that is more.
            candidates: words of your own to compare, with several gaps at each. They may have any number of pieces.

        Returns:
            For a text with one gap a list of candidates, the best first. With several gaps, a list of such
            lists, from left to right. For a list of texts a list, which holds for each what it would have alone.

        Raises:
            TypeError: something that is no text, no pair and no list of these; arguments of the wrong type.
            ValueError: a text without a gap, empty, or longer than the model's positions (nothing is cut: it might
                be the gap); ``top_k`` out of range; a candidate that the vocabulary cannot spell.
        """
        items = self._items(texts)
        pieces = whole_number("max_pieces", max_pieces, 1)
        if candidates is not None:
            if whole_words or pieces > 1:
                raise ValueError(
                    "whole_words or max_pieces with candidates: yours are compared as they are; leave one out"
                )
            words = _words(candidates)
            count = _top_k(len(words) if top_k is None else top_k, len(words), "there are no more candidates")
            filled = named_words(self._asking, items, self._offer, words, count)
        elif whole_words:
            if not isinstance(self.tokenizer.backend.model, models.WordPiece):
                raise ValueError(
                    "whole_words=True: only BERT's ## marks the pieces of a word, and this tokenizer is RoBERTa's or "
                    "ALBERT's; pass the words that you want to compare as candidates"
                )
            count = self._top_k(5 if top_k is None else top_k, self._offer.starting)
            filled = entire_words(self._asking, items, self._offer, count, pieces)
        elif pieces > 1:
            raise ValueError(f"max_pieces={pieces}: words of several pieces are looked for with whole_words=True")
        else:
            count = self._top_k(5 if top_k is None else top_k, self._offer.any)
            filled = single_tokens(self._asking, items, self._offer.any, count)
        found: list[Filled] = [gaps[0] if len(gaps) == 1 else gaps for gaps in filled]
        return found[0] if _is_one(texts) else found

    @overload
    def together(
        self, texts: Text, top_k: int = 5, *, beams: int = BEAMS, order: Order = "left to right"
    ) -> list[Combination]: ...
    @overload
    def together(
        self, texts: Texts, top_k: int = 5, *, beams: int = BEAMS, order: Order = "left to right"
    ) -> list[list[Combination]]: ...
    def together(
        self, texts: Text | Texts, top_k: int = 5, *, beams: int = BEAMS, order: Order = "left to right"
    ) -> list[Combination] | list[list[Combination]]:
        """The best combinations of tokens for all gaps of a text: what is filled in, the next gap's question shows.

        A combination's probability is the product of its ``steps``: the first token's as the text stands, the second
        one's given the first, and so on. Over all combinations that sums to 1. It hangs on the order, as nothing
        in its training makes the model agree with itself.

        Args:
            texts, top_k: as above; one token a gap.
            beams: how many partial fillings are kept after each step, at least ``top_k``. As many as the vocabulary
                has tokens, and nothing is missed with two gaps; fewer can miss what begins improbably.
            order: ``"left to right"``; or ``"surest first"``: of the gaps that are left the one where some token
                has the highest probability.

        Returns:
            The best found, the most probable first; for a list of texts a list of such lists.

        Raises:
            TypeError, ValueError: as above; an unknown order.
        """
        items = self._items(texts)
        count = self._top_k(top_k, self._offer.any)
        width = max(whole_number("beams", beams, 1), count)
        if order not in ORDERS:
            raise ValueError(f"order={order!r}: choose one of {', '.join(map(repr, ORDERS))}")
        allowed = [[self._offer.any] * len(item.places) for item in items]
        paths = fill_together(self._asking, [asked(item) for item in items], allowed, width, order)
        found = [[combination(item, path) for path in group[:count]] for item, group in zip(items, paths, strict=True)]
        return found[0] if _is_one(texts) else found

    @overload
    def score(self, texts: Text, *, by_word: bool = False) -> Score: ...
    @overload
    def score(self, texts: Texts, *, by_word: bool = False) -> list[Score]: ...
    def score(self, texts: Text | Texts, *, by_word: bool = False) -> Score | list[Score]:
        """The pseudo-log-likelihood of a text: each token hidden in turn, Σ ln p (Salazar et al. 2020).

        Args:
            texts: a text, a pair, or a list of such, without gaps. Special tokens are not scored.
            by_word: hide with each piece the pieces of the same word to its right too (Kauf and Ivanova 2023).
                Otherwise a rare word's pieces give each other away, and it seems more probable than it is.

        Raises:
            TypeError: something that is no text, no pair and no list of these.
            ValueError: a text with a gap, without a token to score, or longer than the model's positions.
        """
        items = [GappedText.of(self.tokenizer, text) for text in check_texts(texts)]
        for item in items:
            if item.places:
                raise ValueError(f"there is a gap in {item.written!r:.80}: score takes whole texts; fill it first")
            self._asking.check_length(len(item.ids), item.written)
        found = scored(self._asking, items, by_word)
        return found[0] if _is_one(texts) else found

    def _items(self, texts: object) -> list[GappedText]:
        """The texts, each with at least one gap, and short enough."""
        items = [GappedText.of(self.tokenizer, text) for text in check_texts(texts)]
        for item in items:
            if not item.places:
                marks = " or ".join(gap_marks(self.tokenizer))
                raise ValueError(
                    f"there is no gap in {item.written!r:.80}: write {marks}, in capitals, where a word is missing"
                )
            self._asking.check_length(len(item.ids), item.written)
        return items

    def _top_k(self, top_k: object, offered: Tensor) -> int:
        return _top_k(top_k, int(offered.sum()), "the vocabulary has no more to offer")


def _top_k(top_k: object, most: int, why: str) -> int:
    count = whole_number("top_k", top_k, 1)
    if count > most:
        raise ValueError(f"top_k={count}: choose from 1 to {most}; {why}")
    return count


def _words(candidates: object) -> list[str]:
    if isinstance(candidates, str) or not isinstance(candidates, Sequence):
        raise TypeError(f"candidates is {type(candidates).__name__}: expected a list of words")
    if not candidates:
        raise ValueError("candidates is an empty list: there is nothing to compare")
    for number, word in enumerate(candidates):
        check_text(word, f"candidates[{number}]")
    return list(candidates)


def _is_one(texts: object) -> bool:
    """Whether it is one text or one pair, and no list."""
    return isinstance(texts, str | tuple)
