"""Cut a definition out of a package's source by its dotted name. The source is read, never imported."""

import ast
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

_Named = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class UnknownDefinitionError(ValueError):
    """There is no definition of that name; the message says which ones there are."""


@dataclass(frozen=True)
class Definition:
    """One function, class, method or constant as it stands in its file."""

    name: str  # bertbook.model.attention.MultiHeadAttention
    file: Path
    path: str  # bertbook/model/attention.py
    first: int  # its lines in the file, decorators included, from 1
    last: int
    code: str


def find_definition(name: str, docstrings: bool = True) -> Definition:
    """Find ``package.module.Class.method`` (any depth).

    Args:
        docstrings: False leaves out the docstring, and those of a class's methods.

    Raises:
        UnknownDefinitionError: no such package, module or definition.
    """
    folder, file, parts = _locate(name)
    path = file.relative_to(folder.parent).as_posix()
    text = file.read_text(encoding="utf-8")
    if not parts:
        raise UnknownDefinitionError(f"{name!r} is a whole module. {_existing(path, ast.parse(text).body)}")
    node: ast.stmt | None = None
    body = ast.parse(text).body
    for part in parts:
        node = _names(body).get(part)
        if node is None:
            raise UnknownDefinitionError(f"there is no {name!r}. {_existing(path, body)}")
        body = node.body if isinstance(node, _Named) else []
    assert node is not None
    assert node.end_lineno is not None
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
    hidden = set() if docstrings else _docstring_lines(node, text.splitlines())
    lines = [
        line
        for number, line in enumerate(text.splitlines(), start=1)
        if first <= number <= node.end_lineno and number not in hidden
    ]
    return Definition(name, file, path, first, node.end_lineno, textwrap.dedent("\n".join(lines)))


def _locate(name: str) -> tuple[Path, Path, list[str]]:
    """The package's folder, the file of the innermost module in ``name``, and the names left over."""
    package, *parts = name.split(".")
    spec = find_spec(package) if package.isidentifier() else None
    if spec is None or not spec.submodule_search_locations:
        raise UnknownDefinitionError(f"{name!r}: no package {package!r} is installed; expected bertbook.module.name")
    top = folder = Path(spec.submodule_search_locations[0])
    while parts and (folder / parts[0] / "__init__.py").is_file():
        folder /= parts.pop(0)
    if parts and (folder / f"{parts[0]}.py").is_file():
        return top, folder / f"{parts.pop(0)}.py", parts
    return top, folder / "__init__.py", parts


def _names(body: Iterable[ast.stmt]) -> dict[str, ast.stmt]:
    """Name -> statement, for every definition and plain assignment in ``body``."""
    found: dict[str, ast.stmt] = {}
    for node in body:
        if isinstance(node, _Named):
            found[node.name] = node
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found[node.target.id] = node
        elif isinstance(node, ast.Assign):
            found |= {target.id: node for target in node.targets if isinstance(target, ast.Name)}
    return found


def _existing(path: str, body: Iterable[ast.stmt]) -> str:
    return f"{path} defines here: {', '.join(sorted(_names(body))) or 'nothing'}"


def _docstring_lines(node: ast.AST, lines: list[str]) -> set[int]:
    """The numbers of the docstring lines inside ``node``, and of the blank line that follows a class's."""
    hidden: set[int] = set()
    for inner in ast.walk(node):
        # A body that is a docstring and nothing else must keep it, or it would be no Python.
        if not isinstance(inner, _Named) or ast.get_docstring(inner) is None or len(inner.body) == 1:
            continue
        start, end = inner.body[0].lineno, inner.body[0].end_lineno
        assert end is not None
        hidden.update(range(start, end + 1))
        if not lines[end].strip():
            hidden.add(end + 1)
    return hidden
