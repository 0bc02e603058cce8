"""bertbook: a real BERT, short enough to read. The companion package of *Inside BERT*.

The public names load on first use, so that looking at a saved record does not wait for torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bertbook import check as check
    from bertbook import tasks as tasks
    from bertbook import training as training
    from bertbook import viz as viz
    from bertbook.config import BertConfig as BertConfig
    from bertbook.data.corpus_loading import load_corpus as load_corpus
    from bertbook.data.task_loading import load_task as load_task
    from bertbook.model.bert import Bert as Bert
    from bertbook.model.bert import BertOutput as BertOutput
    from bertbook.model.capture import record_attention as record_attention
    from bertbook.model.capture import record_embeddings as record_embeddings
    from bertbook.model.crf import LinearChainCRF as LinearChainCRF
    from bertbook.model.heads import BertForMaskedLM as BertForMaskedLM
    from bertbook.model.heads import BertForPreTraining as BertForPreTraining
    from bertbook.model.heads import BertForQuestionAnswering as BertForQuestionAnswering
    from bertbook.model.heads import BertForSequenceClassification as BertForSequenceClassification
    from bertbook.model.heads import BertForTokenClassification as BertForTokenClassification
    from bertbook.pretrained import load_pretrained as load_pretrained
    from bertbook.pretrained import load_tokenizer as load_tokenizer
    from bertbook.pretrained import save_pretrained as save_pretrained
    from bertbook.records import AttentionRecord as AttentionRecord
    from bertbook.records import EmbeddingRecord as EmbeddingRecord
    from bertbook.text.tokenizer import Tokenizer as Tokenizer

__version__ = "0.1.0"

# public name -> the module it lives in
_PUBLIC = {
    "AttentionRecord": "bertbook.records",
    "Bert": "bertbook.model.bert",
    "BertConfig": "bertbook.config",
    "BertForMaskedLM": "bertbook.model.heads",
    "BertForPreTraining": "bertbook.model.heads",
    "BertForQuestionAnswering": "bertbook.model.heads",
    "BertForSequenceClassification": "bertbook.model.heads",
    "BertForTokenClassification": "bertbook.model.heads",
    "BertOutput": "bertbook.model.bert",
    "EmbeddingRecord": "bertbook.records",
    "LinearChainCRF": "bertbook.model.crf",
    "Tokenizer": "bertbook.text.tokenizer",
    "load_corpus": "bertbook.data.corpus_loading",
    "load_pretrained": "bertbook.pretrained",
    "load_task": "bertbook.data.task_loading",
    "load_tokenizer": "bertbook.pretrained",
    "record_attention": "bertbook.model.capture",
    "record_embeddings": "bertbook.model.capture",
    "save_pretrained": "bertbook.pretrained",
}
_SUBPACKAGES = ("check", "tasks", "training", "viz")

__all__ = [*_PUBLIC, *_SUBPACKAGES]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        value = getattr(import_module(_PUBLIC[name]), name)
    elif name in _SUBPACKAGES:
        value = import_module(f"bertbook.{name}")
    else:
        raise AttributeError(f"module 'bertbook' has no attribute {name!r}; it has {', '.join(__all__)}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
