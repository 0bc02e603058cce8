"""Training on a GPU, in bfloat16: base and large, at 128 and at 512 tokens.

No dropout on the attention weights, on either side: with it, no fused kernel takes rows of any length.
"""

from collections.abc import Iterator
from functools import partial
from itertools import product

from benchmarks.case import Case, Contestant, FailedError, Row, Settings
from benchmarks.training import Ways, bertbook_side, transformers_side
from benchmarks.turns import measure
from benchmarks.work import Training
from bertbook.config import BertConfig

POSITIONS = 16384  # of a batch, padding included


def works(quick: bool) -> dict[str, Training]:
    """By name. Lengths are uniform, from a sixth of the longest on."""
    if quick:
        config = BertConfig.preset("tiny", vocab_size=400, attention_probs_dropout_prob=0.0)
        return {"tiny, 24": Training(config, rows=4, shortest=4, longest=24, count=1)}
    found = {}
    for preset, longest in product(("base", "large"), (128, 512)):
        config = BertConfig.preset(preset, attention_probs_dropout_prob=0.0)
        found[f"{preset}, {longest}"] = Training(config, POSITIONS // longest, longest // 6, longest)
    return found


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
        rounds = 2 if settings.quick else 7
        try:
            measured = measure(
                contestants, together=False, rounds=rounds, threads=settings.threads, device=settings.device
            )
        except FailedError as error:  # out of memory, perhaps: a smaller one may fit
            yield Row(f"gpu {name}", "", note=f"failed: {str(error).splitlines()[0]}")
        else:
            yield from measured.rows(f"gpu {name}", work.flops(), units=work.count)


CASES = (Case("gpu", "a step of BertForPreTraining, each side in its own process", _run, default=False),)
