"""The peers, with our weights in them. Each import is where it is used: who lacks a peer still gets the other rows."""

import logging
import warnings
from contextlib import redirect_stdout
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.case import MissingError
from bertbook.fetch import FetchError
from bertbook.model.heads import BertForPreTraining
from bertbook.pretrained import locate
from bertbook.published import published_key

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
