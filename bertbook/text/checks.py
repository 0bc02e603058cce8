"""What the tokenizer refuses, and in which words."""

from collections.abc import Sequence
from typing import Any

import tokenizers
from tokenizers import models, normalizers, pre_tokenizers

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def require_bert(backend: tokenizers.Tokenizer) -> None:
    """Raise unless ``backend`` is built of BERT's parts: a near miss would give other ids in silence."""
    for part, expected in (
        ("model", models.WordPiece),
        ("normalizer", normalizers.BertNormalizer),
        ("pre_tokenizer", pre_tokenizers.BertPreTokenizer),
    ):
        found = getattr(backend, part)
        if not isinstance(found, expected):
            raise ValueError(  # noqa: TRY004
                f"not a BERT tokenizer: its {part} is {type(found).__name__}, BERT's is {expected.__name__}"
            )
    vocab = backend.get_vocab()
    require_special_tokens(vocab)
    if sorted(vocab.values()) != list(range(len(vocab))):
        raise ValueError(
            f"the ids of its {len(vocab)} tokens are not 0 to {len(vocab) - 1}: some are missing or double"
        )
    if [backend.num_special_tokens_to_add(pair) for pair in (False, True)] != [2, 3]:
        raise ValueError(
            "not a BERT tokenizer: its post_processor does not write [CLS] A [SEP] and [CLS] A [SEP] B [SEP]"
        )


def require_special_tokens(vocab: dict[str, int], source: str = "its vocabulary") -> None:
    if missing := [token for token in SPECIAL_TOKENS if token not in vocab]:
        raise ValueError(f"{source} lacks {', '.join(missing)}; BERT needs {', '.join(SPECIAL_TOKENS)}")


def check_texts(texts: object) -> list[Any]:
    """The texts and pairs as a list, each part checked to be a string of valid Unicode."""
    if isinstance(texts, str | tuple):
        texts = [texts]
    if not isinstance(texts, Sequence) or isinstance(texts, bytes | bytearray):
        raise TypeError(f"texts is {type(texts).__name__}: expected a str, a pair (str, str), or a list of these")
    if not texts:
        raise ValueError("texts is an empty list: there is nothing to tokenize")
    for index, item in enumerate(texts):
        if isinstance(item, tuple):
            if len(item) != 2:
                raise TypeError(f"texts[{index}] is a tuple of {len(item)}: a pair has two texts")
            for side, part in enumerate(item):
                check_text(part, f"texts[{index}][{side}]")
        else:
            check_text(item, f"texts[{index}]")
    return list(texts)


def check_text(text: object, name: str) -> None:
    if not isinstance(text, str):
        hint = "; write a pair as a tuple (first, second)" if isinstance(text, list) else ""
        raise TypeError(f"{name} is {type(text).__name__}: expected str{hint}")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{name} is not valid Unicode: half a surrogate pair, U+{ord(text[error.start]):04X}, at character "
            f'{error.start}; text.encode("utf-8", "replace").decode("utf-8") puts "?" in its place'
        ) from None
