"""Train a WordPiece vocabulary on texts."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import tokenizers
from tokenizers import models, pre_tokenizers, trainers
from tokenizers.normalizers import Normalizer
from tqdm.auto import tqdm

from bertbook.text.building import LONGEST_WORD
from bertbook.text.checks import SPECIAL_TOKENS, check_text
from bertbook.text.normalising import UnicodeForm, bert_normalizer
from bertbook.text.tokenizer import Tokenizer

_COPIES = 10_000  # of a word in one text


def train_wordpiece(
    texts: Iterable[str],
    vocab_size: int = 30_000,
    *,
    lowercase: bool = True,
    strip_accents: bool | None = None,
    chinese_chars: bool = True,
    unicode: UnicodeForm | None = None,
    replace: Mapping[str, str] | None = None,
    min_frequency: int = 2,
    limit_alphabet: int | None = None,
    progress: bool = False,
) -> Tokenizer:
    """A tokenizer with a vocabulary of its own, learned from texts.

    The vocabulary starts from single characters and grows by the most frequent pair of neighbouring pieces, over and
    over, until it is full: byte-pair encoding, over characters. (The program that made BERT's own vocabularies was
    never published.) Ids: [PAD], [UNK], [CLS], [SEP], [MASK]; every character; the characters that also continue
    words, with ##; both by code point; then the pieces in the order in which they were found. The same texts give
    the same vocabulary, in whatever order they come.

    Args:
        texts: any iterable, gone through once. What stays in memory are its distinct words.
        vocab_size: entries of the finished vocabulary, at most: fewer if the texts have no more pairs.
        lowercase, strip_accents, chinese_chars, unicode, replace: how texts are prepared, here and later, as for
            :meth:`~bertbook.text.tokenizer.Tokenizer.from_vocab`.
        min_frequency: leave alone pairs that occur less often.
        limit_alphabet: keep only so many characters, the most frequent. Words with another one are [UNK], then.
        progress: show bars, on stderr.

    Raises:
        TypeError: ``texts`` is one string, bytes, or holds something that is no string; the message gives its place.
        ValueError: no words at all; a text that is not valid Unicode; a ``vocab_size`` that has no room for the
            special tokens and the characters, the message says how many there are; another number out of range.
    """
    sizes = {"vocab_size": vocab_size, "min_frequency": min_frequency, "limit_alphabet": limit_alphabet}
    for name, size in sizes.items():
        if size is not None and (not isinstance(size, int) or isinstance(size, bool) or size < 1):
            raise ValueError(f"{name}={size!r}: expected a whole number of at least 1")
    if isinstance(texts, str | bytes | bytearray):
        raise TypeError(f"texts is {type(texts).__name__}: expected many texts, such as a list of str")
    prepared: dict[str, Any] = {
        "lowercase": lowercase,
        "strip_accents": strip_accents,
        "chinese_chars": chinese_chars,
        "unicode": unicode,
        "replace": replace,
    }
    words = count_words(tqdm(texts, "Counting words", disable=not progress), bert_normalizer(**prepared))
    if limit_alphabet is not None:
        words = _within_alphabet(words, limit_alphabet)
    if not words:
        raise ValueError("texts hold no words to learn from: they are empty, blank, or there are none")

    characters = sorted({character for word in words for character in word})
    continuing = sorted({f"##{character}" for word in words for character in word[1:]})
    start = [*SPECIAL_TOKENS, *characters, *continuing]
    if len(start) > vocab_size:
        raise ValueError(
            f"vocab_size={vocab_size} is too small: the texts need {len(start)} entries before the first pair, "
            f"{len(SPECIAL_TOKENS)} special tokens, {len(characters)} characters, and {len(continuing)} that continue "
            "words (##). Choose a larger vocab_size, or leave rare characters out with limit_alphabet"
        )
    # Of characters that it meets by itself the library numbers the ## ones in an order that changes from run to run,
    # and breaks ties between pairs by these numbers. So it is given all of them, in our order.
    learner = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    learner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    learner.train_from_iterator(
        _repeated(words),
        trainers.WordPieceTrainer(
            vocab_size=vocab_size, min_frequency=min_frequency, special_tokens=start, show_progress=progress
        ),
    )
    found = learner.get_vocab()
    return Tokenizer.from_vocab(sorted(found, key=found.__getitem__), **prepared)


def count_words(texts: Iterable[str], normalizer: Normalizer) -> Counter[str]:
    """How often each word occurs, as WordPiece is given them: normalised, and split at blanks and punctuation.

    Words too long for WordPiece, which are [UNK] whatever the vocabulary, are left out.

    Raises:
        TypeError, ValueError: something that is no string, or no valid Unicode; the message gives its place.
    """
    runs: Counter[str] = Counter()  # between blanks
    for number, text in enumerate(texts):
        check_text(text, f"texts[{number}]")
        runs.update(normalizer.normalize_str(text).split())
    splitter = pre_tokenizers.BertPreTokenizer()
    words: Counter[str] = Counter()
    for run, count in runs.items():  # each once: this is far quicker than to split every text
        for word, _ in splitter.pre_tokenize_str(run):
            if len(word) <= LONGEST_WORD:
                words[word] += count
    return words


def _within_alphabet(words: Counter[str], size: int) -> Counter[str]:
    """The words that are made of the ``size`` most frequent characters."""
    frequency: Counter[str] = Counter()
    for word, count in words.items():
        for character in word:
            frequency[character] += count
    kept = set(sorted(frequency, key=lambda character: (-frequency[character], character))[:size])
    return Counter({word: count for word, count in words.items() if kept.issuperset(word)})


def _repeated(words: Counter[str]) -> Iterator[str]:
    """Each word as often as it was counted: the library has no other way to be told."""
    for word, count in words.items():
        for done in range(0, count, _COPIES):
            yield " ".join([word] * min(_COPIES, count - done))
