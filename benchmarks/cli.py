"""The command line: measure the chosen cases and print one table."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import torch

from benchmarks import gpu, inference, ladder, pretraining, recording, training
from benchmarks.case import Case, FailedError, Row, Settings
from benchmarks.machine import describe, peaks
from benchmarks.table import heading, records, table

# To add a benchmark: write its module and name it here.
CASES: dict[str, Case] = {
    case.name: case for module in (training, pretraining, inference, recording, ladder, gpu) for case in module.CASES
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print.

    Returns:
        The exit status: 0; 1 if a case failed; 130 after Ctrl-C. What was measured is printed all the same.
    """
    parser = _parser()
    given = parser.parse_args(arguments)
    names = [*given.case, *(name for name in ("ladder", "gpu") if getattr(given, name))]
    chosen = [CASES[name] for name in dict.fromkeys(names)] or [case for case in CASES.values() if case.default]
    device = _device(parser, given.device, [case.name for case in chosen])
    if given.threads is not None and given.threads < 1:
        parser.error(f"--threads {given.threads}: at least 1")
    if given.json is not None and not given.json.resolve().parent.is_dir():
        parser.error(f"--json {given.json}: there is no such folder; make it first")
    threads = given.threads or torch.get_num_threads()
    settings = Settings(given.quick, threads, device, given.compile)

    machine = describe(threads, device)
    reached = peaks(threads, device)
    rows: list[Row] = []
    status = 0
    try:
        for number, case in enumerate(chosen, start=1):
            print(f"{number} of {len(chosen)}: {case.name}", file=sys.stderr)
            try:
                rows.extend(case.run(settings))
            except FailedError as error:
                status = 1
                print(f"{case.name}: {error}", file=sys.stderr)
                rows.append(Row(case.name, "", note=f"failed: {str(error).splitlines()[0]}"))
    except KeyboardInterrupt:
        status = 130
        print("interrupted; what was measured before:", file=sys.stderr)
    print(heading(machine, reached))
    print("\n".join(f"{case.name}: {case.unit}" for case in chosen))
    print(f"\n{table(rows, reached)}")
    if given.json is not None:
        everything = {"machine": machine, "peaks": reached, "quick": given.quick, "rows": records(rows, reached)}
        given.json.write_text(json.dumps(everything, indent=2) + "\n", encoding="utf-8")
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__, allow_abbrev=False)
    default = ", ".join(case.name for case in CASES.values() if case.default)
    known = f"{', '.join(CASES)}; default: {default}"
    parser.add_argument("--case", action="append", default=[], choices=CASES, metavar="NAME", help=known)
    parser.add_argument("--ladder", action="store_true", help="the case ladder: one step at a time")
    parser.add_argument("--gpu", action="store_true", help="the case gpu: training in bfloat16 on --device")
    parser.add_argument("--device", help="for gpu; default: cuda. cpu runs the same code")
    parser.add_argument("--compile", action="store_true", help="ladder, gpu: torch.compile too, which takes minutes")
    parser.add_argument("--threads", type=int, metavar="N", help="default: as many as torch takes")
    parser.add_argument("--quick", action="store_true", help="small sizes: to see that it runs, not how fast")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures, too")
    return parser


def _device(parser: argparse.ArgumentParser, given: str | None, cases: list[str]) -> str:
    """Where the chosen cases run: on the CPU, but for the case gpu."""
    if cases != ["gpu"]:
        if "gpu" in cases:
            parser.error("gpu runs by itself: the other cases are for the CPU. Start them one after the other")
        if given not in (None, "cpu"):
            parser.error(f"--device {given}: only the case gpu runs elsewhere than on the CPU; add --gpu")
        return "cpu"
    device = given or "cuda"
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:  # AssertionError: a torch built without CUDA
        parser.error(f"--device {device}: {str(error).splitlines()[0]}. Without a GPU: --gpu --device cpu --quick")
    return device
