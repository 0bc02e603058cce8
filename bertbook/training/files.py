"""Files that are whole or not there."""

from pathlib import Path


def write_text(path: Path, text: str) -> None:
    """Write a file aside, and move it to its place."""
    aside = path.with_name(f".{path.name}.new")
    aside.write_text(text, encoding="utf-8")
    aside.replace(path)
