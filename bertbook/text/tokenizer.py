"""Text to ids and back: BERT's WordPiece tokenizer, and its relatives', over the `tokenizers` library."""

import json
import operator
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, SupportsIndex

import tokenizers
import torch
from tokenizers import models, normalizers
from torch import Tensor

from bertbook.text.building import numbered, wordpiece
from bertbook.text.checks import check_text, check_texts, special_tokens_of
from bertbook.text.cutting import kept_positions
from bertbook.text.files import parse_tokenizer, read_json, read_vocab
from bertbook.text.normalising import UnicodeForm, bert_normalizer, parts, steps_before
from bertbook.text.word_ids import running_word_ids

Text = str | tuple[str, str]  # one text, or a pair


class Batch(dict[str, Tensor]):
    """What a model takes, by name, so that ``model(**batch)`` works. Every value is int64.

    - ``input_ids`` (B, S): ids, padded on the right with [PAD];
    - ``token_type_ids`` (B, S): 0 for the first text with its [CLS] and [SEP], 1 for the second, 0 for padding;
    - ``attention_mask`` (B, S): 1 for tokens, 0 for padding;
    - ``offset_mapping`` (B, S, 2), on request: token ``k`` is ``text[start:end]`` of the text it comes from, in
      characters of the text as given; (0, 0) for special tokens and padding;
    - ``word_ids`` (B, S), on request: equal for the pieces of one word, from 0 and through both texts of a pair; −1
      for [CLS], [SEP] and padding. A word is what WordPiece cuts: "don't" is three, a Chinese character is one.

    No model takes the last two: ``pop`` them first.
    """

    def to(self, device: str | torch.device) -> "Batch":
        """The same batch on another device."""
        return Batch({name: tensor.to(device) for name, tensor in self.items()})


class Tokenizer:
    """Exactly BERT's tokenizer: clean, split off punctuation and Chinese characters, then WordPiece.

    A ``tokenizer.json`` may also be RoBERTa's (byte-level BPE, ``<s> A </s></s> B </s>``, every segment 0) or
    ALBERT's (Unigram). Where this text says [CLS], [SEP], [PAD], they have theirs in the same roles.

    Usually made by :func:`~bertbook.load_tokenizer`, :func:`~bertbook.text.train_wordpiece`, :meth:`from_folder`,
    :meth:`from_file` or :meth:`from_vocab`.

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
        unicode: UnicodeForm | None = None,
        replace: Mapping[str, str] | None = None,
    ) -> Self:
        """A tokenizer from its entries in the order of their ids.

        Args:
            vocab: the entries, or the path of a ``vocab.txt`` with one entry a line.
            strip_accents: é → e. ``None`` means: as ``lowercase``, which is how BERT was published.
            chinese_chars: make every Chinese character a token of its own.
            unicode: a Unicode form to bring texts into first. "NFKC" makes full-width digits and letters plain
                ones. No published BERT has one.
            replace: what to put in the place of what, before all else, such as
                :data:`~bertbook.text.normalising.PLAIN_PUNCTUATION`.

        Raises:
            FileNotFoundError: there is no such file.
            TypeError: ``replace`` is no mapping from strings to strings.
            ValueError: an unknown ``unicode``; an entry twice, a special token missing, nothing at all, or a file
                that is not UTF-8.
        """
        source = "the vocabulary"
        if isinstance(vocab, str | Path):
            source = str(vocab)
            vocab = read_vocab(Path(vocab))
        normalizer = bert_normalizer(
            lowercase=lowercase,
            strip_accents=strip_accents,
            chinese_chars=chinese_chars,
            unicode=unicode,
            replace=replace,
        )
        return cls(wordpiece(numbered(vocab, source), normalizer))

    @classmethod
    def from_file(cls, path: str | Path) -> Self:
        """A tokenizer from a ``tokenizer.json``. Truncation and padding saved in the file are ignored.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: the file is no tokenizer, or one of another model; the message names it.
        """
        path = Path(path)
        try:
            return cls(parse_tokenizer(path.read_text(encoding="utf-8")))
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
            config = read_json(folder / "tokenizer_config.json")
            return cls.from_vocab(
                folder / "vocab.txt",
                lowercase=config.get("do_lower_case", True),
                strip_accents=config.get("strip_accents"),
                chinese_chars=config.get("tokenize_chinese_chars", True),
            )
        raise FileNotFoundError(f"no tokenizer in {folder}: looked for tokenizer.json, then for vocab.txt")

    def with_normalisation(
        self, *, unicode: UnicodeForm | None = None, replace: Mapping[str, str] | None = None
    ) -> Self:
        """The same vocabulary behind another preparation: ``replace``, then ``unicode``, then what is done already.

        A trained model saw texts as its own tokenizer prepares them. What this adds should bring a text nearer to
        those, as plain quotes do where the vocabulary has no curly ones.

        Args:
            unicode, replace: as for :meth:`from_vocab`.

        Returns:
            A new tokenizer; this one stays as it is.

        Raises:
            TypeError, ValueError: as :meth:`from_vocab`; also for RoBERTa's tokenizer and ALBERT's.
        """
        if not isinstance(self._backend.model, models.WordPiece):
            raise ValueError("only BERT's tokenizer takes other normalisation: this one is RoBERTa's or ALBERT's")  # noqa: TRY004
        backend = parse_tokenizer(self._backend.to_str())
        backend.normalizer = normalizers.Sequence([*steps_before(unicode, replace), backend.normalizer])
        return type(self)(backend)

    def save(self, folder: str | Path) -> None:
        """Write ``tokenizer.json``, ``tokenizer_config.json`` and ``vocab.txt``, as BERT's are published.

        ``vocab.txt`` is left out where it would not be the whole truth: of RoBERTa and ALBERT, and of a tokenizer
        with a Unicode form or replacements, which stand in ``tokenizer.json`` alone.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        steps = parts(self._backend.normalizer)
        files = {"tokenizer.json": self._backend.to_str()}
        if [step["type"] for step in steps] == ["BertNormalizer"]:
            config = {
                "tokenizer_class": "BertTokenizer",
                "do_lower_case": steps[0]["lowercase"],
                "strip_accents": steps[0]["strip_accents"],
                "tokenize_chinese_chars": steps[0]["handle_chinese_chars"],
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
        self,
        texts: Text | Sequence[Text],
        *,
        max_length: int | None = None,
        return_offsets: bool = False,
        return_word_ids: bool = False,
    ) -> Batch:
        """Make one batch, padded on the right to its longest sequence.

        Args:
            texts: a text, a pair ``(first, second)``, or a list in which the two may be mixed.
            max_length: cut sequences to at most this many tokens, [CLS] and [SEP] included; the
                longer text of a pair is cut first. ``None`` never cuts.
            return_offsets: add ``offset_mapping``.
            return_word_ids: add ``word_ids``.

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
        if return_word_ids:
            batch["word_ids"] = table([running_word_ids(encoding) for encoding in encodings], -1)
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
