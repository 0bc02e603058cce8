"""Settings from and to YAML, and ``name=value`` from the command line."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import yaml

from bertbook.training.config import BUDGETS, FREE, PretrainConfig, unknown_key
from bertbook.training.files import write_text

_KNOWN = [field.name for field in fields(PretrainConfig)]


def make_config(values: Mapping[str, Any]) -> PretrainConfig:
    """A config from settings by name.

    Raises:
        ValueError: an unknown setting, with the one that was probably meant; a value that is impossible.
    """
    if unknown := [name for name in values if name not in _KNOWN]:
        raise ValueError(unknown_key(str(unknown[0]), _KNOWN))
    return PretrainConfig(**values)


def read_settings(path: str | Path) -> dict[str, Any]:
    """The settings of a YAML file.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is no YAML, or no list of settings; the message names the file and the line.
    """
    path = Path(path).expanduser()
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is no YAML: {' '.join(str(error).split())}") from error
    if not isinstance(values, dict):
        raise ValueError(f"{path}: expected settings, a `name: value` a line; found {type(values).__name__}")  # noqa: TRY004
    return {name: _plain_number(value) for name, value in values.items()}


def write_config(config: PretrainConfig, path: str | Path) -> None:
    """All settings, as a YAML file that :func:`read_settings` reads."""
    write_text(Path(path), yaml.safe_dump(as_settings(config), sort_keys=False, allow_unicode=True))


def as_settings(config: PretrainConfig) -> dict[str, Any]:
    """The config as plain values."""
    values = asdict(config)
    values["corpus"] = config.corpora[0] if len(config.corpora) == 1 else list(config.corpora)
    values["betas"] = list(values["betas"])
    values["phases"] = list(values["phases"])
    values["model"] = dict(values["model"])
    return values


def override(values: Mapping[str, Any], settings: Sequence[str]) -> dict[str, Any]:
    """Settings with some replaced: ``["steps=100", "model.hidden_size=256"]``. A value is read as YAML.

    A budget takes the place of the one before.

    Raises:
        ValueError: no ``=``, or an unknown name.
    """
    changed = dict(values)
    if any(setting.partition("=")[0] in BUDGETS for setting in settings):
        changed = {name: value for name, value in changed.items() if name not in BUDGETS}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise ValueError(f"{setting!r}: expected name=value, as steps=1000")
        try:
            value = _plain_number(yaml.safe_load(text))
        except yaml.YAMLError as error:
            raise ValueError(f"{setting!r}: the value is no YAML") from error
        first, dot, second = name.partition(".")
        if first not in _KNOWN:
            raise ValueError(unknown_key(first, _KNOWN))
        if dot and first != "model":
            raise ValueError(f"{setting!r}: only the model has settings of its own, as model.hidden_size=256")
        if dot:
            value = {**changed.get("model", {}), second: value}
        changed[first] = value
    return changed


def differences(old: PretrainConfig, new: PretrainConfig) -> list[str]:
    """The settings in which two runs would learn something else, each as ``name: old, now new``."""
    before, after = as_settings(old), as_settings(new)
    return [
        f"{name}: {before[name]}, now {after[name]}"
        for name in before
        if name not in FREE and before[name] != after[name]
    ]


def _plain_number(value: Any) -> Any:
    """``1e-3`` and ``1e6`` as numbers: in YAML 1.1 they are text, since they have no point."""
    if not isinstance(value, str) or "e" not in value.lower():
        return value
    try:
        number = float(value)
    except ValueError:
        return value
    return int(number) if number.is_integer() else number
