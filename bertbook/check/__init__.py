"""The book's exercises, checked: ``check.attention_1(my_attention)`` says "Right", or what to look at.

One function an exercise, named after the chapter and the exercise's number there. Each returns a
:class:`~bertbook.check.result.CheckResult`, whatever the reader's function does, and never raises on
its account. Only the reader's own Ctrl-C goes through: an endless loop can be stopped as usual.
"""

import difflib
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bertbook.check.attention import attention_1 as attention_1
    from bertbook.check.attention import attention_2 as attention_2
    from bertbook.check.attention import attention_3 as attention_3
    from bertbook.check.attention import attention_4 as attention_4
    from bertbook.check.decoder import decoder_1 as decoder_1
    from bertbook.check.decoder import decoder_2 as decoder_2
    from bertbook.check.decoder import decoder_3 as decoder_3
    from bertbook.check.decoder import decoder_4 as decoder_4
    from bertbook.check.embeddings import embeddings_1 as embeddings_1
    from bertbook.check.embeddings import embeddings_2 as embeddings_2
    from bertbook.check.embeddings import embeddings_3 as embeddings_3
    from bertbook.check.embeddings import embeddings_4 as embeddings_4
    from bertbook.check.encoder import encoder_1 as encoder_1
    from bertbook.check.encoder import encoder_2 as encoder_2
    from bertbook.check.encoder import encoder_3 as encoder_3
    from bertbook.check.fast import fast_1 as fast_1
    from bertbook.check.fast import fast_2 as fast_2
    from bertbook.check.fast import fast_3 as fast_3
    from bertbook.check.fast import fast_4 as fast_4
    from bertbook.check.fast import fast_5 as fast_5
    from bertbook.check.mlm import mlm_1 as mlm_1
    from bertbook.check.mlm import mlm_2 as mlm_2
    from bertbook.check.mlm import mlm_3 as mlm_3
    from bertbook.check.mlm import mlm_4 as mlm_4
    from bertbook.check.nsp import nsp_1 as nsp_1
    from bertbook.check.nsp import nsp_2 as nsp_2
    from bertbook.check.nsp import nsp_3 as nsp_3
    from bertbook.check.tokens import tokens_1 as tokens_1
    from bertbook.check.tokens import tokens_2 as tokens_2
    from bertbook.check.tokens import tokens_3 as tokens_3
    from bertbook.check.tokens import tokens_4 as tokens_4
    from bertbook.check.why_bert import why_bert_1 as why_bert_1
    from bertbook.check.why_bert import why_bert_2 as why_bert_2
    from bertbook.check.why_bert import why_bert_3 as why_bert_3

# chapter (the module of its exercises) -> how many it has, counted from 1
_EXERCISES = {
    "why_bert": 3,
    "tokens": 4,
    "embeddings": 4,
    "attention": 4,
    "encoder": 3,
    "decoder": 4,
    "mlm": 4,
    "nsp": 3,
    "fast": 5,
}
_CHAPTER_OF = {
    f"{chapter}_{number}": chapter for chapter, count in _EXERCISES.items() for number in range(1, count + 1)
}

__all__ = [*_CHAPTER_OF]


def __getattr__(name: str) -> Any:
    if name not in _CHAPTER_OF:
        near = difflib.get_close_matches(name, _CHAPTER_OF, n=1)
        guess = f"; did you mean {near[0]}?" if near else "."
        raise AttributeError(f"no exercise is called {name!r}{guess} There are {', '.join(_CHAPTER_OF)}")
    value = getattr(import_module(f"bertbook.check.{_CHAPTER_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
