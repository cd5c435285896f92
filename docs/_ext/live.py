"""The directive `{live}`: Python that runs while the site is built, followed by what it shows.

The value of the last expression is shown as a picture when it is a chart, as HTML when it knows how, and
else as text; what the block prints comes first.  `:hide-code:` shows the result alone.  With `:markdown:` the
printed text takes the place of the block, as if it had been written there.
"""

import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

import cell
from discreet.show.save import inline_svg
from discreet.show.vega import Chart

KEY = "outcomes"
LOG = logging.getLogger(__name__)


class Live(SphinxDirective):
    """Python that has run, and its result."""

    has_content = True
    optional_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar[dict[str, Any]] = {"hide-code": directives.flag, "markdown": directives.flag}

    def run(self) -> list[nodes.Node]:
        """Return the code and the result of the next cell of this page."""
        outcome = next(self.env.current_document.get(KEY, iter(())), None)
        if outcome is None:
            return []
        if outcome.cell.code.strip() != "\n".join(self.content).strip():
            raise self.error("a live block must stand at the top level of its page")
        shown: list[nodes.Node] = []
        if "hide-code" not in self.options:
            shown.append(block(outcome.cell.code, "python"))
        return [*shown, *self.result(outcome)]

    def result(self, outcome: cell.Outcome) -> Iterator[nodes.Node]:
        """Yield what the cell printed, then its value, then the caption."""
        caption = self.arguments[0] if self.arguments else ""
        figure = nodes.figure(classes=["live"])
        if outcome.printed.strip():
            figure += block(outcome.printed, "text")
        match outcome.value:
            case None:
                pass
            case Chart() as chart:
                number = self.env.new_serialno("picture")
                alternative = escape(caption or chart.title or "a chart", quote=True)
                drawing = own_names(inline_svg(chart), f"picture{number}-")
                figure += html(f'<div class="picture" role="img" aria-label="{alternative}">{drawing}</div>')
            case rich if hasattr(rich, "_repr_html_"):
                figure += html(f'<div class="rich">{rich._repr_html_()}</div>')
            case value:
                figure += block(repr(value), "text")
        if caption and figure.children:
            inline, messages = self.parse_inline(caption)
            figure += nodes.caption(caption, "", *inline)
            figure += messages
        if figure.children:
            yield figure


def block(text: str, language: str) -> nodes.literal_block:
    """Return code, or what it said, as a node."""
    return nodes.literal_block(text.rstrip(), text.rstrip(), language=language)


def html(text: str) -> nodes.raw:
    """Return HTML as a node."""
    return nodes.raw("", text, format="html")


def own_names(drawing: str, prefix: str) -> str:
    """Return an SVG whose ids start with a prefix, so that pictures on one page do not share any."""
    for name in set(re.findall(r'\bid="([^"]+)"', drawing)):
        quoted = re.escape(name)
        drawing = re.sub(rf'(\bid="|url\(#|href="#){quoted}(?=[")])', rf"\g<1>{prefix}{name}", drawing)
    return drawing


def run_page(app: Sphinx, docname: str, source: list[str]) -> None:
    """Run the cells of a page before it is read; a cell that fails fails the build."""
    if docname in app.config.pages_at_rest:
        return
    outcomes = []
    try:
        for outcome in cell.run(source[0], Path(app.env.doc2path(docname))):
            outcomes.append(outcome)
    except cell.PageError as problem:
        LOG.warning(problem.reason, location=(docname, problem.line))
    lines = source[0].split("\n")
    for outcome in reversed(outcomes):
        if "markdown" in outcome.cell.options:
            start, end = outcome.cell.place
            lines[start:end] = outcome.printed.split("\n")
    source[0] = "\n".join(lines)
    shown = [outcome for outcome in outcomes if "markdown" not in outcome.cell.options]
    app.env.current_document[KEY] = iter(shown)


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directive to a site."""
    app.add_config_value("pages_at_rest", [], "env", list, "Pages that are read without running their cells.")
    app.add_directive("live", Live)
    app.connect("source-read", run_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
