"""What the tokenizer refuses, and in which words."""

from collections.abc import Sequence
from typing import Any

import tokenizers
from tokenizers import models, pre_tokenizers

from bertbook.text.normalising import is_berts, parts

# By their roles: padding, unknown, start of a sequence, end of a text, masked.
SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_ROBERTA = ("<pad>", "<unk>", "<s>", "</s>", "<mask>")
_ALBERT = ("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]")
_PARTS: dict[str, dict[str, type]] = {
    "BERT": {
        "model": models.WordPiece,
        "pre_tokenizer": pre_tokenizers.BertPreTokenizer,
    },
    "RoBERTa": {"model": models.BPE, "normalizer": type(None), "pre_tokenizer": pre_tokenizers.ByteLevel},
    "ALBERT": {"model": models.Unigram},
}


def special_tokens_of(backend: tokenizers.Tokenizer) -> tuple[str, ...]:
    """The special tokens, in the order of their roles, of a tokenizer that BERT, RoBERTa or ALBERT could have.

    Raises:
        ValueError: one that is built of other parts: a near miss would give other ids in silence.
    """
    if isinstance(backend.model, models.BPE):
        family, special = "RoBERTa", _ROBERTA
    elif isinstance(backend.model, models.Unigram):
        family, special = "ALBERT", _ALBERT
    else:
        family, special = "BERT", SPECIAL_TOKENS
    for part, expected in _PARTS[family].items():
        found = getattr(backend, part)
        if not isinstance(found, expected):
            wanted = "none" if expected is type(None) else expected.__name__
            raise ValueError(  # noqa: TRY004
                f"not a {family} tokenizer: its {part} is {type(found).__name__}, {family}'s is {wanted}"
            )
    if family == "BERT" and not is_berts(backend.normalizer):
        found = " + ".join(part["type"] for part in parts(backend.normalizer)) or "none"
        raise ValueError(
            f"not a BERT tokenizer: its normalizer is {found}, BERT's is BertNormalizer, before which only "
            "Replace and a Unicode form may stand"
        )
    vocab = backend.get_vocab()
    require_special_tokens(vocab, special=special, family=family)
    if sorted(vocab.values()) != list(range(len(vocab))):
        raise ValueError(
            f"the ids of its {len(vocab)} tokens are not 0 to {len(vocab) - 1}: some are missing or double"
        )
    cls, sep = vocab[special[2]], vocab[special[3]]
    between = [sep, sep] if family == "RoBERTa" else [sep]
    if backend.encode("").ids != [cls, sep] or backend.encode("", "").ids != [cls, *between, sep]:
        one, two = f"{special[2]} A {special[3]}", special[3] * len(between)
        raise ValueError(
            f"not a {family} tokenizer: its post_processor does not write {one} and {special[2]} A {two} B {special[3]}"
        )
    return special


def require_special_tokens(
    vocab: dict[str, int],
    source: str = "its vocabulary",
    special: tuple[str, ...] = SPECIAL_TOKENS,
    family: str = "BERT",
) -> None:
    if missing := [token for token in special if token not in vocab]:
        raise ValueError(f"{source} lacks {', '.join(missing)}; {family} needs {', '.join(special)}")


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
