"""Definitions cut out by name, against Python's own view of the same source."""

import ast
import inspect
import textwrap

import package_source
import pytest
from package_source import UnknownDefinitionError, find_definition

import bertbook.config
import bertbook.model.attention as attention
from bertbook.records import AttentionRecord


@pytest.mark.parametrize(
    ("name", "thing"),
    [
        (
            "bertbook.model.attention.scaled_dot_product_attention",
            inspect.unwrap(attention.scaled_dot_product_attention),
        ),
        ("bertbook.model.attention.MultiHeadAttention", attention.MultiHeadAttention),
        ("bertbook.config.BertConfig", bertbook.config.BertConfig),  # decorated
        ("bertbook.records.AttentionRecord.load", AttentionRecord.load),  # a decorated method
    ],
)
def test_the_source_is_what_python_says(name: str, thing: object) -> None:
    definition = find_definition(name)
    assert definition.code == textwrap.dedent(inspect.getsource(thing)).rstrip("\n")  # type: ignore[arg-type]
    lines = definition.file.read_text(encoding="utf-8").splitlines()
    assert textwrap.dedent("\n".join(lines[definition.first - 1 : definition.last])) == definition.code
    assert definition.path == "/".join(name.split(".")[: definition.path.count("/") + 1]) + ".py"


def test_decorators_belong_to_the_definition() -> None:
    assert find_definition("bertbook.config.BertConfig").code.startswith("@dataclass")
    assert find_definition("bertbook.records.AttentionRecord.load").code.startswith("@classmethod\ndef load")


def test_without_docstrings_the_code_is_the_same_code() -> None:
    name = "bertbook.records.AttentionRecord"
    code = find_definition(name, docstrings=False).code
    assert '"""' not in code
    full = ast.parse(find_definition(name).code)
    for node in ast.walk(full):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            del node.body[0]
    assert ast.dump(ast.parse(code)) == ast.dump(full)


def test_a_constant() -> None:
    assert find_definition("bertbook.__version__").code == f'__version__ = "{bertbook.__version__}"'


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("bertbook.model.attention.Attention", r"no 'bertbook.model.attention.Attention'.*MultiHeadAttention"),
        ("bertbook.records.AttentionRecord.lod", r"no 'bertbook.records.AttentionRecord.lod'.* load, .*save"),
        ("bertbook.nowhere.thing", r"no 'bertbook.nowhere.thing'. bertbook/__init__.py defines here"),
        ("bertbook.config", r"'bertbook.config' is a whole module. bertbook/config.py defines here: .*BertConfig"),
        ("bertbuch.config.BertConfig", "no package 'bertbuch' is installed"),
        ("../secret", "no package"),
    ],
)
def test_unknown_names_say_what_there_is(name: str, said: str) -> None:
    with pytest.raises(UnknownDefinitionError, match=said):
        find_definition(name)


def test_a_body_that_is_only_a_docstring_keeps_it(tmp_path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "tinypackage").mkdir()
    (tmp_path / "tinypackage" / "__init__.py").write_text(
        'class Odd(Exception):\n    """Nothing more."""\n\n\nclass Even:\n    """Gone."""\n\n    x: int = 1\n',
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert find_definition("tinypackage.Odd", docstrings=False).code == 'class Odd(Exception):\n    """Nothing more."""'
    assert find_definition("tinypackage.Even", docstrings=False).code == "class Even:\n    x: int = 1"
    assert package_source.find_definition("tinypackage.Even.x").code == "x: int = 1"
