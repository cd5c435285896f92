"""Released tables and quotes for the terminal."""

from typing import TYPE_CHECKING, Any

from discreet.query.price.words import heads, lines

if TYPE_CHECKING:
    from discreet.query.price.expected import Quote
    from discreet.release.answer import Release


def rich_table(release: "Release") -> Any:
    """Return a rich table with each cell's interval."""
    from rich.table import Table
    from rich.text import Text

    from discreet.query.check.formula import measured
    from discreet.release.answer import cell_text

    shown = Table(box=None, header_style="bold", pad_edge=False)
    for output in release.quote.checked.columns:
        shown.add_column(Text(output.name), justify="right" if measured(output.formula) else "left")
    for row in release.rows:
        shown.add_row(*(Text(cell_text(cell, span)) for cell, span in zip(row.cells, row.spans, strict=True)))
    return shown


def table(release: "Release") -> str:
    """Return the table as plain text."""
    from rich.console import Console

    console = Console(width=160, no_color=True, highlight=False)
    with console.capture() as capture:
        console.print(rich_table(release))
    return capture.get().rstrip()


def quote_table(priced: "Quote") -> Any:
    """Return a rich table of a quote: how far off each column may be."""
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=None, header_style="bold", pad_edge=False)
    for title in heads(priced):
        shown.add_column(Text(title))
    for line in lines(priced):
        shown.add_row(*map(Text, line))
    return shown
