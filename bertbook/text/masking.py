"""What BERT's first exercise is made of: some tokens hidden, and the ids that were there (Devlin et al. 2019, 3.1)."""

import re
from collections.abc import Callable, Mapping, Sequence

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from bertbook.text.batches import IGNORED
from bertbook.text.draws import BITS, below, draws, key_of
from bertbook.text.mask_inputs import check_ids, check_index, check_shares, check_spans, check_word_ids, whole_number
from bertbook.text.tokenizer import Tokenizer


def geometric(p: float = 0.2, longest: int = 10) -> tuple[float, ...]:
    """Probabilities of the lengths 1 to ``longest``, each 1 − p times the one before (Joshi et al. 2020, SpanBERT).

    Raises:
        ValueError: ``p`` is not above 0 and at most 1, or ``longest`` is below 1.
    """
    if not (0 < p <= 1 and longest >= 1):
        raise ValueError(f"p={p}, longest={longest}: p must be above 0 and at most 1, longest at least 1")
    weights = [(1 - p) ** length for length in range(longest)]
    return tuple(weight / sum(weights) for weight in weights)


def special_ids(tokenizer: Tokenizer) -> set[int]:
    """Ids that are never chosen and never drawn: the tokenizer's five, and special ones that were added to it."""
    added = tokenizer.backend.get_added_tokens_decoder().items()
    return {*tokenizer.special_ids, *(number for number, token in added if token.special)}


def drawable_ids(tokenizer: Tokenizer) -> list[int]:
    """Ids that may stand in the place of another, in order: all but special ones and [unused…], which no text holds."""
    unused = {number for token, number in tokenizer.vocab.items() if re.fullmatch(r"\[unused\d+\]", token)}
    return sorted(set(tokenizer.vocab.values()) - special_ids(tokenizer) - unused)


class MaskingPolicy:
    """Chooses tokens, hides most of them, and makes the labels: ``corrupted, labels = policy(input_ids)``.

    Each token is chosen with the probability ``rate``, independently of all others. Of the chosen ones,
    ``mask_share`` become [MASK], ``random_share`` become a token drawn from the vocabulary, the rest stay. Special
    tokens are neither chosen nor drawn: not [CLS], [SEP] and [PAD], which hold a sequence together; not [MASK]
    and [UNK], which stand where a token is not known, so that there is nothing to guess. The original code spares
    [CLS] and [SEP] alone, and draws from the whole vocabulary. Entries named [unused…] are not drawn either: no
    text holds them. As in the original, the token drawn may happen to be the one that was there.

    Every call draws anew ("dynamic masking", Liu et al. 2019). The same seed gives the same results on every
    device, and a sequence is masked alike however much padding follows it.

    ::

        policy(input_ids)             # call number 0, 1, 2, …: state_dict() holds where it stands
        policy.at(epoch, index)(ids)  # a function of (seed, epoch, index): for loaders with several workers

    Args:
        rate: the share of tokens chosen, above 0 and at most 1.
        seed: a whole number from 0.
        mask_share, random_share: shares of the chosen tokens, at most 1 together.
        whole_words: choose words, not pieces: all pieces of a word are chosen together, and share one fate. (The
            original code draws a fate for each piece.) Words are pieces joined by ``##``, or what ``word_ids`` says.
        spans: probabilities of spans of 1, 2, 3, … tokens (words, with ``whole_words``): each sequence is cut
            into spans of such lengths, and spans are chosen as tokens are. :func:`geometric` gives SpanBERT's
            lengths. No span reaches over a special token.
        exact: choose a fixed number of each sequence's n tokens, special ones counted and padding not:
            max(1, round(n · rate)), but at most ``max_predictions``. As in the original code, words and spans
            that no longer fit are passed over, so that it can be fewer.
        max_predictions: the bound of ``exact``. The original's 20 is meant for 128 tokens; of 512, 15 % are 77.

    Raises:
        TypeError, ValueError: a share outside its range, a seed that is no whole number, no tokenizer.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        rate: float = 0.15,
        *,
        seed: int = 0,
        mask_share: float = 0.8,
        random_share: float = 0.1,
        whole_words: bool = False,
        spans: Sequence[float] | None = None,
        exact: bool = False,
        max_predictions: int = 20,
    ) -> None:
        if not isinstance(tokenizer, Tokenizer):
            raise TypeError(f"tokenizer is {type(tokenizer).__name__}: expected a Tokenizer, whose ids are masked")
        check_shares(rate, mask_share, random_share)
        self.rate, self.mask_share, self.random_share = rate, mask_share, random_share
        self.seed = whole_number("seed", seed, 0)
        self.whole_words, self.exact = bool(whole_words), bool(exact)
        self.spans = None if spans is None else check_spans(spans)
        self.max_predictions = whole_number("max_predictions", max_predictions, 1)
        self.calls = 0

        self._drawn_ids = torch.tensor(drawable_ids(tokenizer))
        pieces = [number for token, number in tokenizer.vocab.items() if token.startswith("##")]
        self._pad_id, self._mask_id = tokenizer.pad_token_id, tokenizer.mask_token_id
        self._may_be_chosen = torch.ones(len(tokenizer), dtype=torch.bool)  # (V,)
        self._may_be_chosen[sorted(special_ids(tokenizer))] = False
        if len(self._drawn_ids) == 0:
            raise ValueError("the vocabulary holds special tokens alone: there is nothing to mask or to draw")
        self._continues = torch.zeros(len(tokenizer), dtype=torch.bool)  # (V,), of a piece that begins with ##
        self._continues[pieces] = True

    def __repr__(self) -> str:
        shares = f"{self.rate:g}: {self.mask_share:g} [MASK], {self.random_share:g} random"
        kind = f"{', whole words' if self.whole_words else ''}{', spans' if self.spans else ''}"
        return f"MaskingPolicy({shares}{kind}{', exact' if self.exact else ''}, seed={self.seed}, calls={self.calls})"

    def __call__(
        self, input_ids: Int[Tensor, "B S"], word_ids: Int[Tensor, "B S"] | None = None
    ) -> tuple[Int[Tensor, "B S"], Int[Tensor, "B S"]]:
        """Mask a batch; the next call masks it anew.

        Args:
            input_ids: as a :class:`~bertbook.text.tokenizer.Tokenizer` makes them. They stay as they are.
            word_ids: with ``whole_words``, the number of each token's word, −1 for tokens of none: neighbours with
                the same number are one word.

        Returns:
            New tensors, of the type and on the device of ``input_ids``: what the model reads; and the labels, the
            original id where a token was chosen, −100 elsewhere. Where nothing may be chosen all labels are −100.

        Raises:
            TypeError, ValueError: ids or word numbers that do not fit, or words where none are asked for.
        """
        check_ids(input_ids, len(self._may_be_chosen))
        rows = torch.arange(len(input_ids))
        masked = self._mask(key_of(0, self.seed, self.calls, rows), input_ids, word_ids)
        self.calls += 1
        return masked

    def at(
        self, epoch: int, index: int | Sequence[int] | Int[Tensor, " B"]
    ) -> Callable[..., tuple[Int[Tensor, "B S"], Int[Tensor, "B S"]]]:
        """What to call with ``(input_ids, word_ids=None)`` to mask certain examples in a certain epoch.

        The result depends on the seed, on the epoch and on each row's own index, and on nothing else: not on what is
        in the batch beside it, not on the number of calls (which stays as it is), workers or restarts.

        Args:
            epoch: a whole number from 0.
            index: of each of the B rows its example's number in the data, from 0. For one row an int will do.
        """
        keys = key_of(1, self.seed, whole_number("epoch", epoch, 0), check_index(index))

        def mask(
            input_ids: Int[Tensor, "B S"], word_ids: Int[Tensor, "B S"] | None = None
        ) -> tuple[Int[Tensor, "B S"], Int[Tensor, "B S"]]:
            check_ids(input_ids, len(self._may_be_chosen))
            if len(keys) != len(input_ids):
                raise ValueError(
                    f"{len(keys)} indices for {len(input_ids)} rows: each row needs the number of its example"
                )
            return self._mask(keys, input_ids, word_ids)

        return mask

    def state_dict(self) -> dict[str, int]:
        """Where the draws stand: the seed and the number of calls so far."""
        return {"seed": self.seed, "calls": self.calls}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Go on from there: the next call draws what it would have drawn.

        Raises:
            TypeError, ValueError: not what :meth:`state_dict` returned.
        """
        if not isinstance(state, Mapping) or set(state) != {"seed", "calls"}:
            raise ValueError(f"state={state!r:.80}: expected what state_dict() returned, seed and calls")
        self.seed, self.calls = (whole_number(name, state[name], 0) for name in ("seed", "calls"))

    def _mask(
        self, keys: Int[Tensor, " B"], input_ids: Int[Tensor, "B S"], word_ids: Int[Tensor, "B S"] | None
    ) -> tuple[Int[Tensor, "B S"], Int[Tensor, "B S"]]:
        if word_ids is not None or (self.whole_words and not self._continues.any()):
            check_word_ids(word_ids, input_ids, self.whole_words)
        device = input_ids.device
        position = torch.arange(input_ids.shape[1], device=device)  # (S,)
        keys = keys.to(device)[:, None]  # (B, 1)
        # Four numbers for each place, (B, S). The first two serve units, at the place of their first token.
        (lot, fate), (which, length) = (draws(keys, 2 * position + n) for n in (0, 1))

        free = self._may_be_chosen.to(device)[input_ids.long()]  # (B, S)
        first = torch.where(self._starts(input_ids, word_ids, free, length), position, 0).cummax(1).values
        lot, fate = lot.gather(1, first), fate.gather(1, first)
        chosen = free & (self._exactly(input_ids, free, first, lot) if self.exact else lot < below(self.rate))

        drawn_ids = self._drawn_ids.to(device)
        drawn = drawn_ids[which * len(drawn_ids) >> BITS].to(input_ids.dtype)
        return self._corrupt(input_ids, chosen, fate, drawn)

    def _corrupt(
        self,
        input_ids: Int[Tensor, "B S"],
        chosen: Bool[Tensor, "B S"],
        fate: Int[Tensor, "B S"],
        drawn: Int[Tensor, "B S"],
    ) -> tuple[Int[Tensor, "B S"], Int[Tensor, "B S"]]:
        """What the model reads, and the labels."""
        # One number decides: with two, 80/10/10 would come out as 80/2/18 or 81/10/9.
        either = below(self.mask_share + self.random_share)
        hidden = chosen & (fate < below(self.mask_share))
        replaced = chosen & ~hidden & (fate < either)
        corrupted = input_ids.masked_fill(hidden, self._mask_id)
        corrupted = torch.where(replaced, drawn, corrupted)
        return corrupted, input_ids.masked_fill(~chosen, IGNORED)

    def _starts(
        self,
        input_ids: Int[Tensor, "B S"],
        word_ids: Int[Tensor, "B S"] | None,
        free: Bool[Tensor, "B S"],
        length: Int[Tensor, "B S"],
    ) -> Bool[Tensor, "B S"]:
        """Where a unit begins: what is chosen together is a token, a word, or a span of these."""
        starts = torch.ones_like(free)
        if self.whole_words and word_ids is not None:
            starts[:, 1:] = (word_ids[:, 1:] != word_ids[:, :-1]) | (word_ids[:, 1:] < 0)
        elif self.whole_words:
            starts[:, 1:] = ~self._continues.to(free.device)[input_ids[:, 1:].long()]
        if self.spans is None:
            return starts
        bounds = torch.tensor([below(sum(self.spans[:n])) for n in range(1, len(self.spans))], device=free.device)
        lengths = torch.bucketize(length, bounds, right=True) + 1  # (B, S), of more spans than there can be
        word = (starts & free).cumsum(1) - 1  # (B, S), from 0
        span = torch.searchsorted(lengths.cumsum(1), word, right=True)  # (B, S): the span that holds this word
        cut = torch.ones_like(free)
        cut[:, 1:] = (span[:, 1:] != span[:, :-1]) | ~free[:, 1:] | ~free[:, :-1]
        return starts & cut

    def _exactly(
        self,
        input_ids: Int[Tensor, "B S"],
        free: Bool[Tensor, "B S"],
        first: Int[Tensor, "B S"],
        lot: Int[Tensor, "B S"],
    ) -> Bool[Tensor, "B S"]:
        """Units in the order of their lots, each taken if there is still room for it."""
        counts = [min(self.max_predictions, max(1, round(n * self.rate))) for n in range(input_ids.shape[1] + 1)]
        room = torch.tensor(counts, device=free.device)[(input_ids != self._pad_id).sum(1)]  # (B,)
        size = torch.zeros_like(first).scatter_add_(1, first, free.long())  # (B, S), at the first of each unit
        order = lot.masked_fill(size == 0, 2**BITS).argsort(dim=1, stable=True)
        sizes = size.gather(1, order)
        if self.whole_words or self.spans:
            taken = []
            for wanted in sizes.unbind(1):
                taken.append(wanted <= room)
                room = room - torch.where(taken[-1], wanted, 0)
            fits = torch.stack(taken, dim=1)
        else:
            fits = sizes.cumsum(1) <= room[:, None]
        return torch.zeros_like(free).scatter(1, order, fits).gather(1, first)
