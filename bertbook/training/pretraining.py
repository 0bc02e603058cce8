"""Pretraining from one config: text in, model out."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import send_to_device

from bertbook.model.heads import BertForMaskedLM, BertForPreTraining
from bertbook.pretrained import load_pretrained, save_pretrained
from bertbook.speed.machine import TRUE_FLOAT32, fast_float32, keep_memory, product_error
from bertbook.speed.timing import timed
from bertbook.text.pairs import Objective
from bertbook.text.tokenizer import Tokenizer
from bertbook.training.config import PretrainConfig
from bertbook.training.config_files import differences, make_config, read_settings, write_config
from bertbook.training.evaluation import SEED, HeldOut, count_tokens, unigram_baseline
from bertbook.training.files import left_aside, write_text
from bertbook.training.journal import read_journal
from bertbook.training.loop import Leg, Trainer
from bertbook.training.machine import make_accelerator
from bertbook.training.material import (
    Share,
    check_vocabulary,
    first_examples,
    load_held_out,
    load_text,
    make_examples,
    make_loader,
    prepare_tokenizer,
)
from bertbook.training.objectives import MASKED_WORDS, MASKED_WORDS_AND_PAIRS

CONFIG, MODEL, TOKENIZER, LOG = "config.yaml", "model", "tokenizer", "log.jsonl"
_SAMPLE = 20_000  # sequences that the baseline is counted on, or twice as many at most

Model = BertForMaskedLM | BertForPreTraining


@dataclass(frozen=True)
class PretrainResult:
    """What a run left.

    ``folder``: the model, which :func:`~bertbook.load_pretrained` takes. ``log``: the entries of log.jsonl.
    ``baseline``: what the frequencies of tokens alone score on the held-out text; None without any.
    ``interrupted``: the signal that ended the run early, or "".
    """

    folder: Path
    log: list[dict[str, Any]]
    baseline: dict[str, float] | None
    interrupted: str


def pretrain(
    config: PretrainConfig | Mapping[str, Any] | str | Path,
    *,
    show: bool = True,
    say: Callable[[str], None] = print,
) -> PretrainResult:
    """Pretrain a BERT: masked words, and next sentence or sentence order (Devlin et al. 2019, sections 3.1 and A.2).

    It says what it will do, evaluates on text that is held out, writes checkpoints into ``config.out``, and, called
    once more with the same config, goes on where it was. In several processes (`accelerate launch`, `torchrun`) all
    call it alike.

    Args:
        config: a config, settings by name, or a YAML file of them.
        show: whether there is a progress bar.
        say: what happens to lines for the reader.

    Raises:
        ValueError: settings that are impossible, or others than those with which the run in ``out`` began.
        DataError, FileNotFoundError, FetchError: text that cannot be read.
        DivergedError: the loss is no finite number any more.
        OSError: ``out`` cannot be written to.
    """
    if isinstance(config, str | Path):
        config = read_settings(config)
    if isinstance(config, Mapping):
        config = make_config(config)
    precision = torch.get_float32_matmul_precision()
    try:
        return _pretrain(config, show, say)
    finally:
        torch.set_float32_matmul_precision(precision)


def _pretrain(config: PretrainConfig, show: bool, say: Callable[[str], None]) -> PretrainResult:
    accelerator = make_accelerator(config)
    main = accelerator.is_main_process
    tell = say if main else lambda _: None
    out = Path(config.out).expanduser()
    _claim(out, config, accelerator)
    _set_up_machine(out, accelerator, tell)
    documents = load_text(config, "train")
    if main:
        prepare_tokenizer(config, documents, out / TOKENIZER, show=show)
    accelerator.wait_for_everyone()
    tokenizer = Tokenizer.from_folder(out / TOKENIZER)
    first = first_examples(config, documents, tokenizer)
    objective = first.objective
    others = [make_examples(config, leg, documents, tokenizer, objective) for leg in config.legs[1:]]
    examples = [first, *others]
    check_vocabulary(first, tokenizer)
    share = Share(accelerator.process_index, accelerator.num_processes)
    pin = accelerator.device.type == "cuda"
    legs = [
        Leg(make_loader(config, leg, of_leg, tokenizer, share, pin=pin), leg.until)
        for leg, of_leg in zip(config.legs, examples, strict=True)
    ]
    model = _make_model(config, tokenizer, objective)
    held_out = _hold_out(config, tokenizer, objective)
    baseline = None
    if held_out is not None:
        sample = first[:: max(1, len(first) // _SAMPLE)]
        baseline = unigram_baseline(count_tokens(sample, tokenizer), held_out.labels, len(tokenizer))
    if main:
        tell(_plan(config, model, legs, tokenizer, objective, baseline, accelerator))
    both = MASKED_WORDS if objective == "none" else MASKED_WORDS_AND_PAIRS
    trainer = Trainer(model, legs, config, objective=both, out=out, evaluate=held_out, show=show)
    trainer.run()
    weights = accelerator.get_state_dict(trainer.model)
    if main:
        finished = type(model)(model.config)
        finished.load_state_dict(weights)
        save_pretrained(finished, tokenizer, out / MODEL)
        if trainer.interrupted:
            tell(f"Interrupted by {trainer.interrupted} after step {trainer.progress.step}; the same call goes on.")
        else:
            tell(f"Done: {trainer.progress.step:,} steps, {trainer.progress.tokens:,} tokens. The model: {out / MODEL}")
    accelerator.wait_for_everyone()
    return PretrainResult(out / MODEL, read_journal(out / LOG), baseline, trainer.interrupted)


def _claim(out: Path, config: PretrainConfig, accelerator: Accelerator) -> None:
    """Make the folder of a new run, or see that the run in it is this one. All processes refuse alike."""
    changed: list[str] = []
    if (out / CONFIG).is_file():
        changed = differences(make_config(read_settings(out / CONFIG)), config)
        if changed and any(out.glob("checkpoints/step-*")):
            raise ValueError(
                f"{out} holds a run with other settings: {'; '.join(changed)}. Go on with those it began with, or "
                "choose another folder with out=…"
            )
    elif out.exists() and (not out.is_dir() or any(not left_aside(path) for path in out.iterdir())):
        raise ValueError(f"{out} exists, and is no run's folder: choose another with out=…")
    accelerator.wait_for_everyone()  # all have looked
    if accelerator.is_main_process:
        if changed:  # it never came to a checkpoint: nothing of it is worth anything
            shutil.rmtree(out / TOKENIZER, ignore_errors=True)
            (out / LOG).unlink(missing_ok=True)
        out.mkdir(parents=True, exist_ok=True)
        write_config(config, out / CONFIG)
    accelerator.wait_for_everyone()


def _set_up_machine(out: Path, accelerator: Accelerator, tell: Callable[[str], None]) -> None:
    """Two switches for CPUs. What was found at the start holds for the whole run, else it could not repeat itself."""
    if accelerator.device.type != "cpu":
        return
    keep_memory()
    chosen = out / "float32.txt"
    if accelerator.is_main_process and not chosen.is_file():
        report = fast_float32()
        tell(f"Machine: {torch.get_num_threads()} threads; {report}")
        write_text(chosen, torch.get_float32_matmul_precision() + "\n")
    accelerator.wait_for_everyone()
    torch.set_float32_matmul_precision(chosen.read_text(encoding="utf-8").strip())
    if torch.get_float32_matmul_precision() != "highest" and product_error() > TRUE_FLOAT32:
        torch.set_float32_matmul_precision("highest")
        tell("Machine: another one than at the start; here float32 stays as it was, since oneDNN would round it")


def _make_model(config: PretrainConfig, tokenizer: Tokenizer, objective: Objective) -> Model:
    kind = BertForMaskedLM if objective == "none" else BertForPreTraining
    torch.manual_seed(config.seed)  # the same weights in every process
    if config.start is not None:
        model, _ = load_pretrained(config.start, head="mlm" if objective == "none" else "pretraining")
        size = model.config.vocab_size
        if size < len(tokenizer):
            raise ValueError(
                f"the tokenizer {config.tokenizer} has {len(tokenizer)} tokens, the model {config.start} {size}: "
                "leave tokenizer out, and the model's own is taken"
            )
        longest, positions = max(leg.max_length for leg in config.legs), model.config.max_length
        if positions is not None and longest > positions:
            raise ValueError(
                f"max_length={longest}, and the model {config.start} has {positions} positions: shorten the sequences"
            )
        assert isinstance(model, kind)
    else:
        model = kind(config.model_config(len(tokenizer), tokenizer.pad_token_id))
    return model


def _hold_out(config: PretrainConfig, tokenizer: Tokenizer, objective: Objective) -> HeldOut | None:
    documents = load_held_out(config)
    if documents is None:
        return None
    leg = config.legs[-1]
    try:
        # The same sequences, whatever the run's seed: else two runs could not be compared.
        examples = make_examples(replace(config, seed=SEED), leg, documents, tokenizer, objective)
        chosen = examples[:: max(1, len(examples) // config.eval_examples)][: config.eval_examples]
    except ValueError:  # too little text for a pair
        return None
    found = HeldOut(chosen, tokenizer, leg.batch_size)
    return found if len(found.labels) else None


def _plan(
    config: PretrainConfig,
    model: Model,
    legs: Sequence[Leg],
    tokenizer: Tokenizer,
    objective: str,
    baseline: Mapping[str, float] | None,
    accelerator: Accelerator,
) -> str:
    """What the run will do, how long it will take, and what there is to beat."""
    size, sizes = sum(parameter.numel() for parameter in model.parameters()), model.config
    batch = legs[0].loader.peek()
    tokens = float(batch["attention_mask"].sum()) * accelerator.num_processes
    lines = [
        f"Model: {sizes.num_hidden_layers} layers, hidden size {sizes.hidden_size}, {len(tokenizer):,} tokens in the "
        f"vocabulary, {size:,} parameters; on {accelerator.device}, {config.precision}",
        f"Text: {len(legs[0].loader):,} steps an epoch, of about {tokens:,.0f} tokens; "
        f"objective: masked words{_PAIRS[objective]}",
        "Held out: nothing, the text has too few documents for it"
        if baseline is None
        else "To beat on held-out text, with the frequencies of tokens alone: "
        + ", ".join(f"{name} {value:.3f}" for name, value in baseline.items()),
        f"Budget: {config.budget:,.10g} {config.unit}{_duration(config, model, legs, accelerator)}",
        f"All goes into {config.out}. Ctrl-C saves, and the same call goes on",
    ]
    return "\n".join(lines)


_PAIRS = {"nsp": " and next sentence", "sop": " and sentence order", "none": ""}


def _duration(config: PretrainConfig, model: Model, legs: Sequence[Leg], accelerator: Accelerator) -> str:
    """For a budget that is no time, how long it will take: a batch of each leg is tried, without learning from it."""
    if config.unit == "minutes":
        return ""
    model.to(accelerator.device)
    seconds = before = 0.0
    for leg in legs:
        batch = leg.loader.peek()
        rows = send_to_device(batch, accelerator.device)

        def run(rows: Mapping[str, Any] = rows) -> None:
            with accelerator.autocast():
                model(**rows).loss.backward()

        run()
        cost = timed(run, accelerator.device)
        tokens = float(batch["attention_mask"].sum()) * accelerator.num_processes
        seconds += (leg.until - before) * config.budget * cost / (1 if config.unit == "steps" else tokens)
        before = leg.until
    model.zero_grad()
    return f", about {seconds / 60:.1f} minutes where nothing else runs"
