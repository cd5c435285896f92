"""`discreet attack`: what answers give away, shown on invented data, and where a budget stops it."""

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.paper import Format, Output, Paper, waiting
from discreet.cli.target import chart_target, page_target
from discreet.errors import ParameterError

NAMES = ("reconstruction", "difference", "average", "trace", "float", "timing")


def attack(
    name: Annotated[str, typer.Argument(help=f"Which attack: {', '.join(NAMES)}, or all.")],
    html: Annotated[
        Path | None, typer.Option(help="Write one file with words and pictures.", callback=page_target)
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Save the first picture (svg, png, html).", callback=chart_target)
    ] = None,
    output: Output = Format.TABLE,
) -> None:
    """Attack raw answers, naive noise and discreet on the same invented data."""
    from discreet.audit.attack import ATTACKS, page
    from discreet.show import save

    if name != "all" and name not in ATTACKS:
        raise ParameterError(f"attack must be one of {', '.join(NAMES)}, or all; got {name!r}")
    reports = []
    with Paper(output) as paper:
        for chosen in ATTACKS if name == "all" else (name,):
            with waiting(f"attacking: {chosen}"):
                reports.append(ATTACKS[chosen]())
            paper.table(reports[-1].title, reports[-1].columns, reports[-1].table, name=chosen)
            paper.say(f"{reports[-1].stop}\n")
        if html is not None:
            html.write_text(page(reports), encoding="utf-8")
            paper.say(f"report: {html}")
        if plot is not None:
            save(reports[0].figures[0].picture(), plot)
            paper.say(f"chart: {plot}")
