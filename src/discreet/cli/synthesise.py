"""`discreet synthesise`: made-up records of a private table, in a file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.paper import Cell, Format, Output, Paper, waiting
from discreet.cli.target import chart_target, page_target
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.release.made_up import MadeUp
    from discreet.release.records_plan import RecordsPlan

ENDINGS = (".csv", ".parquet")


def synthesise(
    manifest: Annotated[Path, typer.Argument(help="A manifest (.toml).")],
    epsilon: Annotated[str, typer.Option(help="What to spend on the records.")],
    table: Annotated[str | None, typer.Argument(help="The table, where there are several.")] = None,
    to: Annotated[
        Path | None, typer.Option(callback=page_target, help="Where to write them: .csv or .parquet.")
    ] = None,
    columns: Annotated[
        str | None, typer.Option(help="Which columns, with commas between; otherwise all that are declared.")
    ] = None,
    rows: Annotated[
        int | None, typer.Option(help="How many; otherwise as many as the noisy total says.")
    ] = None,
    bins: Annotated[int, typer.Option(help="Into how many parts a wide range is cut.")] = 32,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what it would cost: free, and no data is touched.")
    ] = False,
    output: Output = Format.TABLE,
    plot: Annotated[
        Path | None, typer.Option(callback=chart_target, help="Save a chart of how far pairs are off.")
    ] = None,
    analyst: Annotated[str, typer.Option(help="Who asks.")] = "analyst",
    project: Annotated[str, typer.Option(help="For which project.")] = "project",
) -> None:
    """Make up records whose tables agree with private ones; the same records again are free."""
    from discreet.release.opening import open as open_session

    if not dry_run and (to is None or to.suffix.lower() not in ENDINGS):
        raise ParameterError(
            f"say with --to FILE where the records go; its name ends in {' or '.join(ENDINGS)}"
        )
    named = None if columns is None else [name.strip() for name in columns.split(",")]
    with waiting("opening ..."):
        opened = open_session(manifest, analyst=analyst, project=project)
    with opened as session, Paper(output) as paper:
        if dry_run:
            with waiting("planning ..."):
                _planned(paper, session.plan_records(table, epsilon=epsilon, columns=named, bins=bins))
            return
        with waiting("asking ..."):
            made = session.synthesise(table, epsilon=epsilon, columns=named, rows=rows, bins=bins)
        if to is not None:
            _write(made, to)
        _told(paper, made, to)
        if plot is not None:
            made.plot(str(plot))
            typer.echo(f"chart: {plot}", err=True)


def _planned(paper: Paper, plan: "RecordsPlan") -> None:
    from discreet.query.price.words import lone, price

    paper.fact("cost", str(plan.cost), price(plan.cost) + lone(plan.alone))
    if plan.left_out:
        paper.fact("left out", ", ".join(plan.left_out), plan.left_out_why)
    paper.table("columns", ("column", "cells"), [(one.name, one.size) for one in plan.cells])
    paper.say("nothing was spent, no data was touched", "dim")


def _write(made: "MadeUp", to: Path) -> None:
    if to.suffix.lower() == ".csv":
        from pyarrow.csv import write_csv

        write_csv(made.to_arrow(), to)
        return
    from pyarrow.parquet import write_table

    write_table(made.to_arrow(), to)


def _told(paper: Paper, made: "MadeUp", to: Path | None) -> None:
    from discreet.query.price.words import lone, price

    paper.fact("records", len(made), f"{len(made):,} made up, in {to}")
    if made.plan.left_out:
        paper.fact("left out", ", ".join(made.plan.left_out), made.plan.left_out_why)
    paid = "paid for before" if made.free else price(made.cost) + lone(made.plan.alone)
    paper.fact("cost", str(made.cost), paid)
    rows = [(*one.columns, Cell(one.off, _off(one.off))) for one in made.report()]
    paper.table("pairs", ("column", "other", "off"), rows)
    paper.say(
        "off: estimated sum of the differences of all shares in the table of two columns, 0 to 2; "
        "at 2 nothing is known",
        "dim",
    )


def _off(estimate: float | None) -> str:
    return "nothing to compare" if estimate is None else f"{estimate:.3f}"
