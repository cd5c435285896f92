"""A released table for the terminal."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.release.answer import Release


def rich_table(release: "Release") -> Any:
    """Return a rich table with each cell's interval."""
    from rich.table import Table

    from discreet.query.formula import measured
    from discreet.release.answer import cell_text

    shown = Table(box=None, header_style="bold", pad_edge=False)
    for output in release.quote.checked.columns:
        shown.add_column(output.name, justify="right" if measured(output.formula) else "left")
    for row in release.rows:
        shown.add_row(*(cell_text(cell, span) for cell, span in zip(row.cells, row.spans, strict=True)))
    return shown


def table(release: "Release") -> str:
    """Return the table as plain text."""
    from rich.console import Console

    console = Console(width=160, no_color=True, highlight=False)
    with console.capture() as capture:
        console.print(rich_table(release))
    return capture.get().rstrip()
