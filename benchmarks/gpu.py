"""Training on a GPU, in bfloat16: base and large, at 128 and at 512 tokens."""

from collections.abc import Iterator
from functools import partial

from benchmarks.case import Case, Contestant, Row, Settings
from benchmarks.training import Ways, bertbook_side, transformers_side
from benchmarks.turns import measure
from benchmarks.work import Training
from bertbook.config import BertConfig

POSITIONS = 16384  # of a batch, padding included


def works(quick: bool) -> dict[str, Training]:
    """By name. Lengths are uniform, from a sixth of the longest on."""
    if quick:
        config = BertConfig.preset("tiny", vocab_size=400)
        return {f"tiny, {n}": Training(config, 4, n // 6, n, count=1) for n in (12, 24)}
    return {
        f"{preset}, {longest}": Training(
            BertConfig.preset(preset), POSITIONS // longest, longest // 6, longest, count=2
        )
        for preset in ("base", "large")
        for longest in (128, 512)
    }


def _run(settings: Settings) -> Iterator[Row]:
    same = Ways(fused=True, bf16=True)
    ours = {"bertbook": Ways(fused=True, bf16=True, packing=True)}
    if settings.compile:
        ours["bertbook, compiled"] = Ways(fused=True, bf16=True, packing=True, compile=True)
    for name, work in works(settings.quick).items():
        contestants = {"transformers": Contestant(partial(transformers_side, work, same, settings.device), "bfloat16")}
        contestants |= {
            side: Contestant(partial(bertbook_side, work, ways, settings.device), "bfloat16", "transformers")
            for side, ways in ours.items()
        }
        measured = measure(
            contestants,
            together=False,
            rounds=2 if settings.quick else 7,
            threads=settings.threads,
            device=settings.device,
        )
        yield from measured.rows(f"gpu {name}", work.flops(), units=work.count)


CASES = (Case("gpu", "a step of BertForPreTraining, each side in its own process", _run, default=False),)
