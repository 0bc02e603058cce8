"""Real text: corpora to pretrain on and tasks to train for, each with a card that says whose text it is."""

from bertbook.data.cards import Card as Card
from bertbook.data.corpus import Corpus as Corpus
from bertbook.data.corpus_cards import CORPUS_CARDS
from bertbook.data.corpus_loading import load_corpus as load_corpus
from bertbook.data.own_text import DataError as DataError
from bertbook.data.task import Task as Task
from bertbook.data.task_cards import TASK_CARDS
from bertbook.data.task_loading import load_task as load_task

CARDS = CORPUS_CARDS | TASK_CARDS  #: every data set of the book, by name

__all__ = ["CARDS", "Card", "Corpus", "DataError", "Task", "load_corpus", "load_task"]
