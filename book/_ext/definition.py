"""``{definition} bertbook.module.name``: the package's own code, cut out by name, so that the book cannot drift."""

from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from package_source import UnknownDefinitionError, find_definition
from repository import Repository
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.typing import ExtensionMetadata, OptionSpec


class DefinitionDirective(SphinxDirective):
    """Show one definition as highlighted Python, under a caption that links to its lines in the repository."""

    required_arguments = 1
    option_spec: ClassVar[OptionSpec] = {"no-docstring": directives.flag}

    def run(self) -> list[nodes.Node]:
        try:
            definition = find_definition(self.arguments[0], docstrings="no-docstring" not in self.options)
        except UnknownDefinitionError as error:
            raise self.error(f"definition: {error}") from error
        self.env.note_dependency(str(definition.file))  # a change in the package rebuilds the page

        page = Repository.from_theme(self.config.html_theme_options).page(definition.path)
        link = nodes.reference("", "", internal=False, refuri=f"{page}#L{definition.first}-L{definition.last}")
        link += nodes.literal(text=definition.name)
        code = nodes.literal_block(definition.code, definition.code, language="python")
        self.set_source_info(code)
        # A real caption would make it "Listing 1": the name is the number here.
        caption = nodes.paragraph("", "", link, classes=["code-block-caption"])
        return [nodes.container("", caption, code, classes=["literal-block-wrapper", "definition"])]


def setup(app: Sphinx) -> ExtensionMetadata:
    app.add_directive("definition", DefinitionDirective)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
