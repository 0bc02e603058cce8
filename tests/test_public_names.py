"""The names that chapters and other people's code stand on, and the direction in which imports go."""

import ast
import importlib
import subprocess
import sys
import tomllib
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import bertbook

ROOT = Path(bertbook.__file__).parent
PROMISED = {
    "AttentionRecord",
    "Bert",
    "BertConfig",
    "BertForMaskedLM",
    "BertForPreTraining",
    "BertForQuestionAnswering",
    "BertForSequenceClassification",
    "BertForTokenClassification",
    "LinearChainCRF",
    "Tokenizer",
    "check",
    "load_corpus",
    "load_pretrained",
    "load_task",
    "load_tokenizer",
    "record_attention",
    "save_pretrained",
    "tasks",
    "training",
    "viz",
}
# The floors of the house, lowest first. A module imports from its own part and from lower floors.
FLOORS = [
    {"archive", "families", "records", "published", "weights_io", "wheel"},
    {"config", "fetch", "text"},
    {"data", "model"},
    {"fitting", "speed"},
    {"pretrained"},
    {"tasks", "training"},
    {"cli"},
    {"__main__"},
]
# These stand beside them, on what is named here alone.
BESIDE: dict[str, set[str]] = {"viz": {"records"}, "check": {"records"}}


def modules() -> dict[str, Path]:
    """Every module of the package but its front door, whose imports are for type checkers."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):  # every process that tests must find the same tests
        parts = path.relative_to(ROOT.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    del found["bertbook"]
    return found


def imports(path: Path) -> set[str]:
    """The modules that a file imports, wherever in it, as dotted names."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute here"
            assert node.module
            below = {f"{node.module}.{alias.name}" for alias in node.names}
            names |= (below & MODULES.keys()) or {node.module}
    return names


MODULES = modules()
IMPORTS = {name: imports(path) for name, path in MODULES.items()}
OWN_IMPORTS = {name: {other for other in found if other.split(".")[0] == "bertbook"} for name, found in IMPORTS.items()}


def part(module: str) -> str:
    """``bertbook.model.bert`` is in the part ``model``."""
    return module.split(".")[1]


@pytest.mark.parametrize("name", sorted(PROMISED | set(bertbook.__all__)))
def test_public_names(name: str) -> None:
    assert name in bertbook.__all__
    assert name in dir(bertbook)
    value = getattr(bertbook, name)
    assert value.__doc__
    assert value.__name__.removeprefix("bertbook.") == name


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'Brt'; it has .*BertConfig"):
        bertbook.Brt  # noqa: B018


def test_the_version_is_that_of_the_project() -> None:
    project = tomllib.loads((ROOT.parent / "pyproject.toml").read_text(encoding="utf-8"))
    assert bertbook.__version__ == project["project"]["version"]


@pytest.mark.parametrize("module", ["bertbook", "bertbook.config", "bertbook.records", "bertbook.viz"])
def test_records_and_pictures_do_not_wait_for_torch(module: str) -> None:
    code = f"import sys, {module}; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_down(module: str) -> None:
    own = part(module)
    if own in BESIDE:
        allowed = BESIDE[own]
    else:
        floor = next((number for number, parts in enumerate(FLOORS) if own in parts), None)
        assert floor is not None, f"{module}: which floor does it stand on? Add {own} to FLOORS"
        allowed = set().union(*FLOORS[:floor])
    for imported in OWN_IMPORTS[module]:
        assert imported != "bertbook", f"{module} goes through the front door: import the module itself"
        assert part(imported) in allowed | {own}, f"{module} imports {imported}"


def test_no_circles() -> None:
    TopologicalSorter(OWN_IMPORTS).prepare()  # raises CycleError, which shows the circle


@pytest.mark.parametrize("module", MODULES)
def test_peers_of_the_tests_are_no_imports_of_the_package(module: str) -> None:
    assert not {name.split(".")[0] for name in IMPORTS[module]} & {"transformers", "torchcrf", "pytest", "bertviz"}


@pytest.mark.parametrize("module", [name for name in MODULES if part(name) == "viz"])
def test_pictures_need_no_torch(module: str) -> None:
    assert "torch" not in {name.split(".")[0] for name in IMPORTS[module]}


@pytest.mark.parametrize("module", [name for name, found in IMPORTS.items() if "jaxtyping" in found])
def test_shapes_in_signatures_are_checked(module: str) -> None:
    """Else add its package to SHAPED_PACKAGES in conftest.py."""
    assert "jaxtyping" in type(importlib.import_module(module).__spec__.loader).__module__
