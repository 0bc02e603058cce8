"""The peers, with our weights in them. Each import is where it is used: who lacks a peer still gets the other rows."""

import logging
import warnings
from collections.abc import Sequence
from contextlib import redirect_stdout
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader

from benchmarks.case import MissingError
from bertbook.fetch import FetchError
from bertbook.model.heads import BertForPreTraining
from bertbook.pretrained import locate
from bertbook.published import published_key
from bertbook.text.pair_examples import PairExample
from bertbook.text.tokenizer import Batch, Tokenizer

_INPUTS = ["input_ids", "attention_mask", "token_type_ids"]


def require(*libraries: str) -> None:
    """Raise :class:`MissingError` and name those that are not installed."""
    absent = [name for name in libraries if find_spec(name) is None]
    if absent:
        raise MissingError(f"not installed: {', '.join(absent)}")


def checkpoint() -> Path:
    """The folder of the MiniLM checkpoint, fetched where that is needed.

    Raises:
        MissingError: it cannot be had.
    """
    try:
        return locate("minilm")
    except FetchError as error:
        raise MissingError(str(error)) from error


def transformers_pretraining(own: BertForPreTraining) -> nn.Module:
    """Their BertForPreTraining with the weights of ours."""
    require("transformers")
    import transformers

    config = transformers.BertConfig(**own.config.to_dict())
    model = transformers.BertForPreTraining._from_config(config, attn_implementation="sdpa")
    weights = {published_key(key, head="pretraining"): tensor for key, tensor in own.state_dict().items()}
    # They hold the table and the bias of the vocabulary a second time, tied: strict would ask for both.
    left_out = model.load_state_dict(weights, strict=False)
    assert not left_out.unexpected_keys
    assert all(key.startswith("cls.predictions.decoder") for key in left_out.missing_keys)
    return model


def transformers_trainer(
    model: nn.Module,
    examples: Sequence[PairExample],
    tokenizer: Tokenizer,
    folder: str,
    *,
    fed: Sequence[Batch] | None = None,
    **arguments: Any,
) -> Any:
    """Their Trainer of masked words and next sentences, on the CPU and silent, for one epoch.

    The pairs lie ready in a list, and their collator pads and masks them, as their documentation has it.

    Args:
        folder: where it would save; it never does.
        fed: batches that it trains on in this order instead; ``log_history`` of its state then has each one's loss.
        arguments: more of their TrainingArguments.
    """
    require("transformers", "accelerate")
    import transformers

    class Fed(transformers.Trainer):
        def get_train_dataloader(self) -> DataLoader[Any]:
            return super().get_train_dataloader() if fed is None else DataLoader(fed, batch_size=None)  # type: ignore[arg-type]

    names = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
    specials: dict[str, Any] = dict(zip(names, tokenizer.special_tokens, strict=True))
    reader = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer.backend, **specials)
    every: dict[str, Any] = {} if fed is None else {"logging_steps": 1, "max_steps": len(fed)}
    trainer = Fed(
        model,
        transformers.TrainingArguments(
            output_dir=folder, use_cpu=True, num_train_epochs=1, dataloader_drop_last=True,
            save_strategy="no", report_to="none", disable_tqdm=True,
            remove_unused_columns=False,  # else the collator finds out for each token whether it is a special one
            **every, **arguments,
        ),
        train_dataset=[_as_dict(example, tokenizer) for example in examples],
        data_collator=transformers.DataCollatorForLanguageModeling(reader),
    )  # fmt: skip
    trainer.remove_callback(transformers.PrinterCallback)
    return trainer


def _as_dict(example: PairExample, tokenizer: Tokenizer) -> dict[str, Any]:
    special = {tokenizer.cls_token_id, tokenizer.sep_token_id}
    return {
        "input_ids": list(example.input_ids),
        "token_type_ids": list(example.token_type_ids),
        "special_tokens_mask": [int(token in special) for token in example.input_ids],
        "next_sentence_label": example.label,
    }


def transformers_encoder(dtype: torch.dtype = torch.float32) -> nn.Module:
    """Their BertModel of the MiniLM checkpoint, in evaluation mode."""
    require("transformers")
    import transformers

    transformers.logging.disable_progress_bar()
    return transformers.BertModel.from_pretrained(checkpoint(), attn_implementation="sdpa", dtype=dtype).eval()


def onnx_session(folder: Path, threads: int) -> Any:
    """An ONNX Runtime session of :func:`transformers_encoder`, exported into ``folder``.

    All its own optimisations are on, as they are when nothing is said: they fuse GELU, LayerNorm and sums. Its
    separate transformer optimizer found nothing to fuse beyond that.
    """
    require("transformers", "onnxruntime", "onnx", "onnxscript")
    import onnxruntime

    class Encoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.bert = transformers_encoder()

        def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
            return self.bert(
                input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids
            ).last_hidden_state

    # Three tensors: the exporter takes one tensor that is given twice for one input.
    ids, segments, mask = (torch.full((2, 8), value) for value in (1, 0, 1))
    mask[0, 5:] = 0  # with nothing to hide, the mask might be left out of the graph
    free = {0: torch.export.Dim("batch"), 1: torch.export.Dim("tokens", max=512)}
    path = folder / "encoder.onnx"
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with warnings.catch_warnings(), redirect_stdout(StringIO()):  # the exporter tells of each of its steps
        warnings.simplefilter("ignore")
        torch.onnx.export(
            Encoder().eval(),
            (ids, mask, segments),
            path,
            dynamo=True,
            input_names=_INPUTS,
            output_names=["last_hidden_state"],
            dynamic_shapes=dict.fromkeys(_INPUTS, free),
            verbose=False,
        )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
