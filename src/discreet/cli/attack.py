"""`discreet attack`: what answers give away, shown on invented data, and where a budget stops it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.target import chart_target, page_target
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from rich.console import Console

    from discreet.audit.attack import Report

NAMES = ("reconstruction", "difference", "average", "trace", "float", "timing")


def attack(
    name: Annotated[str, typer.Argument(help=f"Which attack: {', '.join(NAMES)}, or all.")],
    html: Annotated[
        Path | None, typer.Option(help="Write one file with words and pictures.", callback=page_target)
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Save the first picture (svg, png, html).", callback=chart_target)
    ] = None,
) -> None:
    """Attack raw answers, naive noise and discreet on the same invented data."""
    from rich.console import Console

    from discreet.audit.attack import ATTACKS, page
    from discreet.show import save

    if name != "all" and name not in ATTACKS:
        raise ParameterError(f"attack must be one of {', '.join(NAMES)}, or all; got {name!r}")
    console = Console(highlight=False)
    reports = []
    for chosen in ATTACKS if name == "all" else (name,):
        with console.status(f"attacking: {chosen}"):
            reports.append(ATTACKS[chosen]())
        _print(console, reports[-1])
    if html is not None:
        html.write_text(page(reports), encoding="utf-8")
        console.print(f"report: {html}")
    if plot is not None:
        save(reports[0].figures[0].picture(), plot)
        console.print(f"chart: {plot}")


def _print(console: "Console", report: "Report") -> None:
    from rich.table import Table

    grid = Table(*report.columns, title=report.title)
    for row in report.table:
        grid.add_row(*row)
    console.print(grid)
    console.print(f"{report.stop}\n")
