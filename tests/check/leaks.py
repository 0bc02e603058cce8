"""What would give a solution away."""

import inspect
import re
from collections.abc import Callable
from typing import Any


def solution_lines(function: Callable[..., Any]) -> list[str]:
    """The lines of its body that hold more than 12 characters of code, without comments and docstrings."""
    code = re.sub(r'"""[^"]*"""', "", inspect.getsource(function))
    lines = [re.sub(r"\s+#.*", "", line).strip() for line in code.splitlines()]
    return [line for line in lines if len(line) > 12 and not line.startswith(("#", "def "))]
