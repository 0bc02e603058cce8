"""Files that are whole or not there."""

from pathlib import Path


def write_text(path: Path, text: str) -> None:
    """Write a file aside, and move it to its place."""
    aside = path.with_name(f".{path.name}.new")
    aside.write_text(text, encoding="utf-8")
    aside.replace(path)


def left_aside(path: Path) -> bool:
    """Whether it is what :func:`write_text` left where the process was killed in it."""
    return path.name.startswith(".") and path.name.endswith(".new")
