"""Cells run in a kernel of their own, to see how widgets show themselves there."""

from typing import Any

import nbformat
from nbclient import NotebookClient

VIEW = "application/vnd.jupyter.widget-view+json"


def run(*cells: str) -> tuple[list[list[Any]], dict[str, Any]]:
    """The outputs of the cells in a kernel of their own, and the state of its widgets."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    client = NotebookClient(notebook, kernel_name="python3", timeout=120)
    client.execute()
    return [cell["outputs"] for cell in notebook.cells], client.widget_state
