"""A released table for the terminal."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.privacy.filter import Cost
    from discreet.query.allocate import Quote
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


def price(cost: "Cost") -> str:
    """Return a cost as people say it: the epsilon where there is one, else the rho, and the delta if any."""
    from discreet.show.number import format_number

    parts = (
        [f"rho {format_number(cost.rho)}"]
        if cost.epsilon is None
        else [f"epsilon {format_number(cost.epsilon)}"]
    )
    return ", ".join(parts + ([f"delta {float(cost.delta):.2g}"] if cost.delta else []))


def quote_table(priced: "Quote") -> Any:
    """Return a rich table of a quote: how far off each column may be."""
    from rich.table import Table

    from discreet.query.formula import measured
    from discreet.show.number import format_number

    sure = f"{float(priced.confidence):.0%}"
    shown = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("column", f"± at {sure}", "mechanism"):
        shown.add_column(title)
    for output, expected in zip(priced.checked.columns, priced.expected, strict=True):
        used = [priced.shares[position] for position in sorted(measured(output.formula))]
        names = ", ".join(dict.fromkeys(type(share.mechanism).__name__ for share in used)) or "a group key"
        if expected.radius is not None:
            error = format_number(expected.radius) if used else ""
        elif expected.rank is not None:
            error = f"within {format_number(expected.rank)} rows of the right one"
        else:
            error = "known with the answer"
        shown.add_row(output.name, error, names)
    return shown
