"""Header buttons for the generated notebooks: open in Colab, download. A page without a notebook gets neither."""

import shutil
from pathlib import Path
from typing import Any

from docutils import nodes
from repository import Repository
from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata

FOLDER = "notebooks"  # book/notebooks here, notebooks/ in the HTML output


def notebook_of(root: Path, pagename: str) -> Path | None:
    """The notebook that scripts/notebooks.py made of the page, if there is one."""
    page = root / pagename
    notebook = page.parent / FOLDER / f"{page.name}.ipynb"
    return notebook if notebook.is_file() else None


def _add_buttons(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    root = Path(app.srcdir)
    notebook = notebook_of(root, pagename)
    if notebook is None:
        return
    copy = Path(app.outdir, FOLDER, notebook.name)
    copy.parent.mkdir(exist_ok=True)
    shutil.copyfile(notebook, copy)

    repository = Repository.from_theme(app.config.html_theme_options)
    buttons = context["header_buttons"]
    buttons.insert(
        0,
        {
            "type": "link",
            "url": repository.colab(notebook.relative_to(root).as_posix()),
            "text": "Colab",
            "tooltip": "Open this chapter as a notebook in Colab",
            "icon": "_static/images/logo_colab.png",
            "label": "colab-button",
        },
    )
    downloads = next(group for group in buttons if group.get("label") == "download-buttons")
    downloads["buttons"].insert(
        0,
        {
            "type": "link",
            "url": context["pathto"](f"{FOLDER}/{notebook.name}", 1),
            "text": ".ipynb",
            "tooltip": "Download notebook file",
            "icon": "fas fa-code",
            "label": "download-notebook-button",
        },
    )


def setup(app: Sphinx) -> ExtensionMetadata:
    app.connect("html-page-context", _add_buttons, priority=900)  # after the theme has made its own
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
