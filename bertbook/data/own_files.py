"""Which files a path means."""

from pathlib import Path

from bertbook.data.own_text import DataError


def find_files(path: Path, kinds: tuple[str, ...]) -> tuple[Path, tuple[Path, ...]]:
    """The folder, and the files in it and below it, by name; for a single file, its folder and it.

    Names that begin with a dot or with "__" (``.DS_Store``, ``__MACOSX``) are passed over.

    Raises:
        FileNotFoundError: there is no such file or folder.
        DataError: files of another kind, or none at all.
    """
    known = ", ".join(kinds)
    if path.is_file():
        if path.suffix.lower() not in kinds:
            raise DataError(f"{path}: the name of a file says what it is; it ends in one of {known}")
        return path.parent, (path,)
    if not path.is_dir():
        raise FileNotFoundError(f"there is no file or folder {path}")
    found = sorted(
        inside
        for inside in path.rglob("*")
        if inside.is_file() and not any(part.startswith((".", "__")) for part in inside.relative_to(path).parts)
    )
    others = [inside for inside in found if inside.suffix.lower() not in kinds]
    if others:
        more = f" and {len(others) - 1} more" if len(others) > 1 else ""
        raise DataError(
            f"{path} holds {others[0].relative_to(path)}{more}: only files that end in {known} can be read. "
            "Move the others out of the folder, or save their text as .txt"
        )
    if not found:
        raise DataError(f"{path} is empty: there is no file in it that ends in {known}")
    return path, tuple(found)
