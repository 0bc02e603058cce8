"""Made-up documents whose every token says where it comes from."""

from collections import Counter
from collections.abc import Sequence
from random import Random

from bertbook.text.documents import Document
from bertbook.text.pair_examples import PairExample
from bertbook.text.tokenizer import Tokenizer

LETTERS = 20
TOKENIZER = Tokenizer.from_vocab(
    ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", "?", *(f"{c}{n}" for c in "abcdefgh" for n in range(LETTERS))]
)


def documents(
    count: int,
    random: Random,
    *,
    sentences: tuple[int, int] = (2, 20),
    tokens: tuple[int, int] = (2, 30),
    sources: int = 2,
) -> list[Document]:
    """Sentences of independent random words and lengths, each with a full stop or a question mark."""

    def sentence() -> str:
        words = [f"{random.choice('abcdefgh')}{random.randrange(LETTERS)}" for _ in range(random.randint(*tokens) - 1)]
        return " ".join([*words, random.choice("..?")])

    return [
        Document(
            tuple(sentence() for _ in range(random.randint(*sentences))), f"source {number % sources}", str(number)
        )
        for number in range(count)
    ]


def ids(document: Document, start: int, stop: int) -> list[int]:
    """The ids of some of its sentences, without special tokens."""
    text = " ".join(document.sentences[start:stop])
    return TOKENIZER.backend.encode(text, add_special_tokens=False).ids


def is_within(part: Sequence[int], whole: Sequence[int]) -> bool:
    """Whether ``part`` stands in ``whole`` without a gap."""
    return any(list(whole[i : i + len(part)]) == list(part) for i in range(len(whole) - len(part) + 1))


def uses(examples: Sequence[PairExample], *, random_too: bool) -> Counter[tuple[int, int]]:
    """How often each sentence, as (document, number), is in an example; random segments counted or not."""
    return Counter(
        (place.document, number)
        for example in examples
        for side, place in enumerate(example.places)
        if random_too or side == 0 or place.document == example.places[0].document
        for number in range(place.start, place.stop)
    )
