"""Text to ids and back: BERT's WordPiece tokenizer, and its relatives', over the `tokenizers` library."""

import json
import operator
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Self, SupportsIndex

import tokenizers
import torch
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors
from torch import Tensor

from bertbook.text.checks import check_text, check_texts, require_special_tokens, special_tokens_of
from bertbook.text.cutting import kept_positions

Text = str | tuple[str, str]  # one text, or a pair


class Batch(dict[str, Tensor]):
    """What a model takes, by name, so that ``model(**batch)`` works. Every value is int64.

    - ``input_ids`` (B, S): ids, padded on the right with [PAD];
    - ``token_type_ids`` (B, S): 0 for the first text with its [CLS] and [SEP], 1 for the second, 0 for padding;
    - ``attention_mask`` (B, S): 1 for tokens, 0 for padding;
    - ``offset_mapping`` (B, S, 2), on request: token ``k`` is ``text[start:end]`` of the text it comes from, in
      characters of the text as given; (0, 0) for special tokens and padding. No model takes it: ``pop`` it first.
    """

    def to(self, device: str | torch.device) -> "Batch":
        """The same batch on another device."""
        return Batch({name: tensor.to(device) for name, tensor in self.items()})


class Tokenizer:
    """Exactly BERT's tokenizer: clean, split off punctuation and Chinese characters, then WordPiece.

    A ``tokenizer.json`` may also be RoBERTa's (byte-level BPE, ``<s> A </s></s> B </s>``, every segment 0) or
    ALBERT's (Unigram). Where this text says [CLS], [SEP], [PAD], they have theirs in the same roles.

    Usually made by :meth:`from_folder`, :meth:`from_file` or :meth:`from_vocab`.

    Args:
        backend: the tokenizer of the `tokenizers` library that does the work. It is taken over:
            truncation and padding saved in it are switched off.

    Raises:
        ValueError: ``backend`` is none of these: another model, another normalizer, a special token missing.
    """

    def __init__(self, backend: tokenizers.Tokenizer) -> None:
        backend.no_truncation()
        backend.no_padding()
        self.special_tokens = special_tokens_of(backend)
        known = {token.content for token in backend.get_added_tokens_decoder().values() if token.special}
        # So that "[MASK]" inside a text is one token.
        backend.add_special_tokens([token for token in self.special_tokens if token not in known])
        self._backend = backend
        self.vocab: dict[str, int] = backend.get_vocab()
        self.pad_token_id, self.unk_token_id, self.cls_token_id, self.sep_token_id, self.mask_token_id = (
            self.vocab[token] for token in self.special_tokens
        )
        self.special_ids = frozenset(self.vocab[token] for token in self.special_tokens)

    @classmethod
    def from_vocab(
        cls,
        vocab: Sequence[str] | str | Path,
        *,
        lowercase: bool = True,
        strip_accents: bool | None = None,
        chinese_chars: bool = True,
    ) -> Self:
        """A tokenizer from its entries in the order of their ids.

        Args:
            vocab: the entries, or the path of a ``vocab.txt`` with one entry a line.
            strip_accents: é → e. ``None`` means: as ``lowercase``, which is how BERT was published.
            chinese_chars: make every Chinese character a token of its own.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: an entry twice, a special token missing, nothing at all, or a file that is not UTF-8.
        """
        source = "the vocabulary"
        if isinstance(vocab, str | Path):
            source = str(vocab)
            vocab = _read_vocab(Path(vocab))
        if not vocab:
            raise ValueError(
                f"{source} is empty: expected one token a line, [PAD], [UNK], [CLS], [SEP], [MASK] included"
            )
        ids: dict[str, int] = {}
        for number, token in enumerate(vocab):
            if token in ids:
                raise ValueError(f"{source} has {token!r} twice, in lines {ids[token] + 1} and {number + 1}")
            ids[token] = number
        require_special_tokens(ids, source)
        backend = tokenizers.Tokenizer(models.WordPiece(ids, unk_token="[UNK]", max_input_chars_per_word=100))
        backend.normalizer = normalizers.BertNormalizer(
            clean_text=True, handle_chinese_chars=chinese_chars, strip_accents=strip_accents, lowercase=lowercase
        )
        backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        backend.post_processor = processors.TemplateProcessing(
            single="[CLS]:0 $A:0 [SEP]:0",
            pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
            special_tokens=[(token, ids[token]) for token in ("[CLS]", "[SEP]")],
        )
        backend.decoder = decoders.WordPiece(prefix="##")
        return cls(backend)

    @classmethod
    def from_file(cls, path: str | Path) -> Self:
        """A tokenizer from a ``tokenizer.json``. Truncation and padding saved in the file are ignored.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: the file is no tokenizer, or one of another model; the message names it.
        """
        path = Path(path)
        try:
            return cls(_parse(path.read_text(encoding="utf-8")))
        except ValueError as error:  # also what a wrong encoding raises
            raise ValueError(f"{path}: {error}") from error

    @classmethod
    def from_folder(cls, folder: str | Path) -> Self:
        """A tokenizer from a checkpoint's folder: its ``tokenizer.json``, or else its ``vocab.txt``.

        With a ``vocab.txt`` the ``tokenizer_config.json`` beside it, if any, says whether to lower-case.

        Raises:
            FileNotFoundError: the folder has neither file.
            ValueError: a file is damaged, or of another model; the message names it.
        """
        folder = Path(folder)
        if (folder / "tokenizer.json").is_file():
            return cls.from_file(folder / "tokenizer.json")
        if (folder / "vocab.txt").is_file():
            config = _read_json(folder / "tokenizer_config.json")
            return cls.from_vocab(
                folder / "vocab.txt",
                lowercase=config.get("do_lower_case", True),
                strip_accents=config.get("strip_accents"),
                chinese_chars=config.get("tokenize_chinese_chars", True),
            )
        raise FileNotFoundError(f"no tokenizer in {folder}: looked for tokenizer.json, then for vocab.txt")

    def save(self, folder: str | Path) -> None:
        """Write ``tokenizer.json``, ``tokenizer_config.json`` and, of a WordPiece tokenizer, ``vocab.txt``."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        normalizer = self._backend.normalizer
        files = {"tokenizer.json": self._backend.to_str()}
        if isinstance(normalizer, normalizers.BertNormalizer):
            config = {
                "tokenizer_class": "BertTokenizer",
                "do_lower_case": normalizer.lowercase,
                "strip_accents": normalizer.strip_accents,
                "tokenize_chinese_chars": normalizer.handle_chinese_chars,
            }
            files["vocab.txt"] = "".join(f"{token}\n" for token in sorted(self.vocab, key=self.vocab.__getitem__))
        else:  # the class that takes a tokenizer.json as it is
            roles = ("pad", "unk", "cls", "sep", "mask")
            inputs = ["input_ids", "token_type_ids", "attention_mask"]
            config = {"tokenizer_class": "PreTrainedTokenizerFast", "model_input_names": inputs}
            config |= {f"{role}_token": token for role, token in zip(roles, self.special_tokens, strict=True)}
        files["tokenizer_config.json"] = json.dumps(config, indent=2) + "\n"
        for name, content in files.items():
            (folder / name).write_bytes(content.encode("utf-8"))  # bytes: Windows would write \r\n

    def __call__(
        self, texts: Text | Sequence[Text], *, max_length: int | None = None, return_offsets: bool = False
    ) -> Batch:
        """Make one batch, padded on the right to its longest sequence.

        Args:
            texts: a text, a pair ``(first, second)``, or a list in which the two may be mixed.
            max_length: cut sequences to at most this many tokens, [CLS] and [SEP] included; the
                longer text of a pair is cut first. ``None`` never cuts.
            return_offsets: add ``offset_mapping``.

        Raises:
            TypeError: something that is no text and no pair; the message names its place in the list.
            ValueError: an empty list, a text that is not valid Unicode, or no room for the special tokens.
        """
        items = check_texts(texts)
        if max_length is not None:
            self._check_max_length(items, max_length)
        encodings = self._backend.encode_batch(items)
        kept = [kept_positions(encoding, max_length) for encoding in encodings]
        longest = max(map(len, kept))

        def table(rows: list[list[Any]], padding: Any) -> Tensor:
            """(B, S): of each row the positions that are kept, then padding."""
            return torch.tensor(
                [
                    [row[i] for i in where] + [padding] * (longest - len(where))
                    for row, where in zip(rows, kept, strict=True)
                ]
            )

        batch = Batch(
            input_ids=table([encoding.ids for encoding in encodings], self.pad_token_id),
            token_type_ids=table([encoding.type_ids for encoding in encodings], 0),
            attention_mask=table([encoding.attention_mask for encoding in encodings], 0),
        )
        if return_offsets:
            batch["offset_mapping"] = table([encoding.offsets for encoding in encodings], (0, 0))
        return batch

    def tokenize(self, text: str) -> list[str]:
        """The tokens of one text, without [CLS] and [SEP]."""
        check_text(text, "text")
        return list(self._backend.encode(text, add_special_tokens=False).tokens)

    def encode(self, text: str, pair: str | None = None) -> list[int]:
        """The ids of one text, or of one pair, with [CLS] and [SEP]."""
        item = text if pair is None else (text, pair)
        return list(self._backend.encode_batch(check_texts([item]))[0].ids)

    def decode(self, ids: Iterable[SupportsIndex], *, skip_special_tokens: bool = True) -> str:
        """Text from ids: pieces joined, spaces before punctuation removed. What normalising lost stays lost."""
        numbers = [operator.index(i) for i in ids]
        self.ids_to_tokens(numbers)  # the backend would leave unknown ids out in silence
        return str(self._backend.decode(numbers, skip_special_tokens=skip_special_tokens))

    def ids_to_tokens(self, ids: Iterable[SupportsIndex]) -> list[str]:
        """The token of each id. Raises ValueError for an id outside the vocabulary."""
        tokens = []
        for i in map(operator.index, ids):
            token = self._backend.id_to_token(i) if i >= 0 else None
            if token is None:
                raise ValueError(f"id {i} is not in the vocabulary: ids go from 0 to {len(self) - 1}")
            tokens.append(token)
        return tokens

    def tokens_to_ids(self, tokens: Iterable[str]) -> list[int]:
        """The id of each token, which must be an entry of the vocabulary as it stands.

        Raises:
            ValueError: no such entry. For running text use the tokenizer itself.
        """
        tokens = list(tokens)
        for token in tokens:
            if token not in self.vocab:
                raise ValueError(f"{token!r} is not in the vocabulary; to split running text call tokenize or encode")
        return [self.vocab[token] for token in tokens]

    @property
    def vocab_size(self) -> int:
        """V."""
        return len(self.vocab)

    def __len__(self) -> int:
        return len(self.vocab)

    def __repr__(self) -> str:
        return f"Tokenizer({len(self)} tokens)"

    @property
    def backend(self) -> tokenizers.Tokenizer:
        """The tokenizer of the `tokenizers` library underneath."""
        return self._backend

    def _check_max_length(self, items: list[Text], max_length: object) -> None:
        pairs = any(isinstance(item, tuple) for item in items)
        least = self._backend.num_special_tokens_to_add(pairs)
        if not isinstance(max_length, int) or max_length < least:
            raise ValueError(
                f"max_length={max_length!r}: it must be a whole number of at least {least}, "
                f"the special tokens of {'a pair' if pairs else 'one text'}"
            )


def _parse(content: str) -> tokenizers.Tokenizer:
    try:
        return tokenizers.Tokenizer.from_str(content)
    except Exception as error:  # the library raises bare Exception
        raise ValueError(f"not a tokenizer.json: {error}") from error


def _read_vocab(path: Path) -> list[str]:
    content = path.read_bytes()
    try:
        # Split on \n alone: the Chinese vocabulary has the line separator U+2028 as a token.
        lines = content.decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8: byte {error.start} is 0x{content[error.start]:02x}") from error
    if lines[-1] == "":
        lines.pop()  # the file ends with a line's end
    return [line.removesuffix("\r") for line in lines]


def _read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file; an empty one if there is no such file."""
    if not path.is_file():
        return {}
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is not JSON: {error}") from error
    if not isinstance(values, dict):
        raise ValueError(f"{path}: expected a JSON object, found {type(values).__name__}")  # noqa: TRY004
    return values
