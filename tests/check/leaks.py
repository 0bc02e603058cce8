"""What would give a solution away."""

import ast
import inspect
import re
from collections.abc import Callable
from typing import Any


def solution_lines(function: Callable[..., Any]) -> list[str]:
    """The lines of its body that hold more than 12 characters of code, without comments and docstrings."""
    source = inspect.getsource(function)
    (definition,) = ast.parse(source).body
    assert isinstance(definition, ast.FunctionDef)
    body = "\n".join(source.splitlines()[definition.body[0].lineno - 1 :])  # a signature may take several lines
    code = re.sub(r'"""[^"]*"""', "", body)
    lines = [re.sub(r"\s+#.*", "", line).strip() for line in code.splitlines()]
    return [line for line in lines if len(line) > 12 and not line.startswith(("#", "def "))]
