"""From a config to what is trained on: corpus, tokenizer, examples."""

import bisect
import itertools
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import overload

from bertbook.data.corpus import Corpus
from bertbook.data.corpus_loading import load_corpus
from bertbook.data.own_text import DataError
from bertbook.pretrained import load_tokenizer
from bertbook.text.collating import Masked
from bertbook.text.documents import Document
from bertbook.text.loader import BatchLoader
from bertbook.text.masking import MaskingPolicy
from bertbook.text.pairs import Objective, SentencePairs, sentence_pairs
from bertbook.text.tokenizer import Tokenizer
from bertbook.text.training import train_wordpiece
from bertbook.training.config import Phase, PretrainConfig


class Joined(Sequence[Document]):
    """Several corpora, one after the other."""

    def __init__(self, corpora: Sequence[Corpus]) -> None:
        self.corpora = corpora
        self._ends = list(itertools.accumulate(map(len, corpora)))

    def __len__(self) -> int:
        return self._ends[-1]

    @overload
    def __getitem__(self, index: int) -> Document: ...
    @overload
    def __getitem__(self, index: slice) -> list[Document]: ...
    def __getitem__(self, index: int | slice) -> Document | list[Document]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(f"document {index} of {len(self)}")
        index %= len(self)
        part = bisect.bisect_right(self._ends, index)
        return self.corpora[part][index - self._ends[part] + len(self.corpora[part])]

    def __iter__(self) -> Iterator[Document]:
        return itertools.chain.from_iterable(self.corpora)


def load_text(config: PretrainConfig, split: str) -> Joined:
    """The documents of a split.

    Raises:
        DataError, ValueError, FileNotFoundError: as :func:`~bertbook.load_corpus`.
    """
    options = {"language": config.language, "documents": config.documents, "column": config.column}
    return Joined([load_corpus(name, split, **options) for name in config.corpora])  # type: ignore[arg-type]


def load_held_out(config: PretrainConfig) -> Joined | None:
    """The documents that are not trained on; None where there are too few to hold some out."""
    try:
        return load_text(config, "held-out")
    except DataError:
        return None


def prepare_tokenizer(config: PretrainConfig, documents: Sequence[Document], folder: Path, *, show: bool) -> None:
    """Put the run's tokenizer into a folder, if it is not there: the one that is named, or one trained on the text.

    Of the vocabulary at most half are characters; rarer ones become [UNK].

    Raises:
        ValueError: no such tokenizer; a vocabulary too small for anything.
    """
    if folder.exists():
        return
    if named := config.tokenizer or config.start:
        tokenizer = load_tokenizer(named)
    else:
        sentences = (sentence for document in documents for sentence in document.sentences)
        alphabet = max(1, (config.vocab_size - 5) // 2)
        try:
            tokenizer = train_wordpiece(sentences, config.vocab_size, limit_alphabet=alphabet, progress=show)
        except ValueError as error:
            raise ValueError(f"vocab_size={config.vocab_size} and {alphabet} characters: {error}") from error
    aside = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir()
    tokenizer.save(aside)
    aside.rename(folder)


def first_examples(config: PretrainConfig, documents: Sequence[Document], tokenizer: Tokenizer) -> SentencePairs:
    """The sequences of the first leg, with the objective of the config.

    Where there is none, with the first one for which the text has a step's worth of them: ``.objective`` says which.
    """
    leg = config.legs[0]
    if config.objective is not None:
        return make_examples(config, leg, documents, tokenizer, config.objective)  # type: ignore[arg-type]
    pairs: tuple[Objective, ...] = ("nsp", "sop")
    for objective in pairs:
        try:
            examples = make_examples(config, leg, documents, tokenizer, objective)
            if len(examples) >= leg.batch_size:
                return examples
        except ValueError:  # no pairs in this text
            continue
    return make_examples(config, leg, documents, tokenizer, "none")


def make_examples(
    config: PretrainConfig, leg: Phase, documents: Sequence[Document], tokenizer: Tokenizer, objective: Objective
) -> SentencePairs:
    """The training sequences of a leg."""
    return sentence_pairs(documents, tokenizer, objective=objective, max_length=leg.max_length, seed=config.seed)


def check_vocabulary(examples: SentencePairs, tokenizer: Tokenizer) -> None:
    """See that the tokenizer knows the text.

    Raises:
        ValueError: of some examples most tokens are [UNK].
    """
    ids = [i for example in examples[:: max(1, len(examples) // 100)] for i in example.input_ids]
    text = [i for i in ids if i not in (tokenizer.cls_token_id, tokenizer.sep_token_id)]
    share = text.count(tokenizer.unk_token_id) / len(text)
    if share > 0.5:
        raise ValueError(
            f"{share:.0%} of the text is [UNK] in a vocabulary of {len(tokenizer):,} tokens: raise vocab_size, or "
            "choose a tokenizer of the text's language"
        )


@dataclass(frozen=True)
class Share:
    """Which process this is, of how many."""

    rank: int = 0
    world_size: int = 1


def make_loader(
    config: PretrainConfig, leg: Phase, examples: SentencePairs, tokenizer: Tokenizer, share: Share, *, pin: bool
) -> BatchLoader:
    """Masked batches of a leg: this process's share of each step.

    Raises:
        ValueError: processes that cannot share a step equally; less text than a step needs; whole words, and a
            vocabulary that does not show them.
    """
    if leg.batch_size % share.world_size:
        raise ValueError(
            f"batch_size={leg.batch_size} cannot be shared by {share.world_size} processes: "
            f"choose a multiple of {share.world_size}"
        )
    if config.whole_words and not any(token.startswith("##") for token in tokenizer.vocab):
        raise ValueError(
            "whole_words=True, and no token of this vocabulary begins with ##: nothing shows which ones make a word; "
            "leave whole_words out"
        )
    policy = MaskingPolicy(
        tokenizer, config.mask_rate, mask_share=config.mask_share, random_share=config.random_share,
        whole_words=config.whole_words, seed=config.seed,
    )  # fmt: skip
    try:
        return BatchLoader(
            examples, Masked(policy, tokenizer.pad_token_id), batch_size=leg.batch_size // share.world_size,
            drop_last=True, seed=config.seed, rank=share.rank, world_size=share.world_size,
            num_workers=config.workers, pin_memory=pin,
        )  # fmt: skip
    except ValueError as error:
        raise ValueError(f"{' and '.join(config.corpora)}, at max_length={leg.max_length}: {error}") from error
