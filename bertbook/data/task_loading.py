"""A task by name: one of the book's, the reader's own files, or one from the hub."""

from collections.abc import Sequence
from os import PathLike

from bertbook.data.corpus_loading import own_path
from bertbook.data.hub import PREFIX
from bertbook.data.hub_task import hub_task
from bertbook.data.own_task import own_task
from bertbook.data.task import Task
from bertbook.data.tasks import SOURCES, read_task


def load_task(name: str | PathLike[str], *, labels: Sequence[str] | None = None) -> Task:
    """Examples to train on, to choose by and to report on, in splits that are the same for everybody.

    Args:
        name: one of the book's tasks (``bertbook data list`` names them), which are fetched once from the package
            index. Or a file of your own, ``.jsonl``, ``.csv`` or ``.tsv``, in UTF-8: it is split 8 : 1 : 1 by the
            hash of its texts. Or a folder with files train, dev (or validation) and test. Or ``"hf:owner/name"``,
            as for :func:`~bertbook.data.load_corpus`.
        labels: of your own task, the names of the labels by id; those of the training examples when not given,
            sorted, "O" first.

    What the task is, the names of the fields tell: "text" and "label"; "text_a", "text_b" and "label", or "score"
    for a number; "words" and "tags", lists or strings with blanks; "question", "context" and "answer", which is
    empty where there is none, with "start", the number of its first character, if it stands more than once.
    Examples that stand twice are left out, and texts with two labels; a warning says how many.

    Raises:
        ValueError: an unknown name; files that cannot be used as they are: a label that is missing or unknown, a
            quote that is not closed, another encoding. The message names the file and the line.
        FileNotFoundError: no such file.
        FetchError: the task could not be fetched.
        ImportError: a ``hf:`` source, and `datasets` is not installed.
    """
    if name in SOURCES:
        return read_task(str(name))
    if isinstance(name, str) and name.startswith(PREFIX):
        return hub_task(name, labels)
    return own_task(own_path(name, SOURCES, "task"), labels)
