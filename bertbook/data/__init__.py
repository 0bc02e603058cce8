"""Real text: corpora to pretrain on and tasks to train for, each with a card that says whose text it is."""

from bertbook.data.cards import Card as Card
from bertbook.data.corpus import Corpus as Corpus
from bertbook.data.corpus_loading import load_corpus as load_corpus

__all__ = ["Card", "Corpus", "load_corpus"]
