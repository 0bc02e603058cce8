"""How much arithmetic a BERT has to do: the floating-point operations that no way of computing it can leave out."""

from collections.abc import Iterable

from bertbook.config import BertConfig

# Task → does its head read the pooler? The names are those of load_pretrained; None is the encoder alone.
_POOLED = {None: True, "mlm": False, "pretraining": True, "classify": True, "tag": False, "answer": False}


def forward_flops(config: BertConfig, lengths: Iterable[int], *, head: str | None = None, masked: int = 0) -> int:
    """Useful floating-point operations of one forward pass.

    A product of an m × k and a k × n matrix counts 2 m k n: one multiplication and one addition for each pair of
    numbers that meet. Only products count; all else (softmax, LayerNorm, GELU, sums) is about one hundredth.
    Only real tokens count, and only those whose words are guessed meet the vocabulary, so that work spent on
    padding, or on logits that nobody reads, is no merit. With N tokens in all and S in a row:

    =====================  =====================================================
    every layer            N (8 H² + 4 H I), and 4 S² H a row: Q Kᵀ, and weights · V
    E to H (ALBERT)        2 N E H
    pooler                 2 H² a row
    masked words           (2 H E + 2 E V) each of the ``masked``
    next sentence          4 H a row
    classify; tag; answer  2 H K a row; 2 H K a token; 4 H a token
    =====================  =====================================================

    Args:
        lengths: tokens of each row, padding not counted: ``attention_mask.sum(1).tolist()``.
        head: None for :class:`~bertbook.Bert`, or what stands on it: ``"mlm"``, ``"pretraining"``, ``"classify"``,
            ``"tag"``, ``"answer"``.
        masked: how many tokens are guessed, all rows together (``"mlm"`` and ``"pretraining"``).

    Raises:
        ValueError: a length or ``masked`` is no whole number of at least 0; no such head; ``masked`` without a
            head that guesses words, or more of them than tokens.
    """
    rows = [_whole("a length", length) for length in lengths]
    if head not in _POOLED:
        raise ValueError(f"head={head!r}: choose None or one of {', '.join(str(name) for name in _POOLED if name)}")
    tokens = sum(rows)
    if _whole("masked", masked) and head not in ("mlm", "pretraining"):
        raise ValueError(f"masked={masked} with head={head!r}: only 'mlm' and 'pretraining' guess words")
    if masked > tokens:
        raise ValueError(f"masked={masked}, but there are {tokens} tokens in all")
    hidden, inner, embedded = config.hidden_size, config.intermediate_size, config.embedding_width

    layer = tokens * (8 * hidden**2 + 4 * hidden * inner) + sum(4 * length**2 * hidden for length in rows)
    total = config.num_hidden_layers * layer
    if config.embedding_size is not None:
        total += tokens * 2 * embedded * hidden
    if _POOLED[head]:
        total += len(rows) * 2 * hidden**2
    total += masked * (2 * hidden * embedded + 2 * embedded * config.vocab_size)
    return total + {
        "pretraining": len(rows) * 4 * hidden,
        "classify": len(rows) * 2 * hidden * config.num_labels,
        "tag": tokens * 2 * hidden * config.num_labels,
        "answer": tokens * 4 * hidden,
    }.get(head or "", 0)


def training_flops(config: BertConfig, lengths: Iterable[int], *, head: str, masked: int = 0) -> int:
    """Useful floating-point operations of one training step: three times those of the forward pass.

    Going back, each product Y = X W turns into two of its size: one for the gradient of X, one for that of W.
    The optimiser's work grows with the weights, not with the tokens, and holds no product.

    Raises:
        ValueError: as :func:`forward_flops`.
    """
    return 3 * forward_flops(config, lengths, head=head, masked=masked)


def _whole(name: str, value: object) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{name} is {value!r}: expected a whole number of at least 0")
    return value
