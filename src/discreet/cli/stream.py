"""`discreet stream`: begin a running count, take its next step, or look at what it released."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.paper import Format, Output, print_csv

if TYPE_CHECKING:
    from discreet.release.stream import NamedStream
    from discreet.workload.stream import RunningCount


def stream(
    manifest: Annotated[Path, typer.Argument(help="A manifest (.toml).")],
    name: Annotated[str, typer.Argument(help="The name of the stream.")],
    length: Annotated[int | None, typer.Option(help="To begin: the most steps it can have.")] = None,
    epsilon: Annotated[str | None, typer.Option(help="To begin: what the whole stream costs.")] = None,
    rho: Annotated[str | None, typer.Option(help="The same in zCDP, under a budget with a delta.")] = None,
    contribution: Annotated[
        int | None, typer.Option(help="To begin: the most that one person adds to all steps together.")
    ] = None,
    step: Annotated[
        int | None, typer.Option(help="The step to take; taken before, it is shown again.")
    ] = None,
    add: Annotated[int | None, typer.Option(help="The count that belongs to the step.")] = None,
    last: Annotated[int, typer.Option(help="How many of the newest steps to show.")] = 10,
    output: Output = Format.TABLE,
    plot: Annotated[Path | None, typer.Option(help="Save a chart: .svg, .png or .html.")] = None,
    card: Annotated[bool, typer.Option("--card", help="Print a statement ready for publication.")] = False,
    analyst: Annotated[str, typer.Option(help="Who asks.")] = "analyst",
    project: Annotated[str, typer.Option(help="For which project.")] = "project",
) -> None:
    """Count continually: the whole stream is paid for once, and each step is released once."""
    from discreet.errors import ParameterError
    from discreet.release.opening import open as open_session

    if (step is None) != (add is None):
        raise ParameterError("a step needs both --step NUMBER and --add COUNT")
    with open_session(manifest, analyst=analyst, project=project) as session:
        found = session.stream(name, length=length, epsilon=epsilon, rho=rho, contribution=contribution)
        if step is not None and add is not None:
            counts: Sequence[RunningCount] = [found.add(add, step=step)]
        else:
            counts = found.released(max(1, found.steps - last + 1))
        _print(found, counts, output)
        if card:
            typer.echo(found.card())
        if plot is not None:
            found.plot(str(plot))
            typer.echo(f"chart: {plot}", err=True)


def _print(stream: "NamedStream", counts: "Sequence[RunningCount]", output: Format) -> None:
    records = [{"step": c.step, "count": c.value, "deviation": c.deviation} for c in counts]
    match output:
        case Format.TABLE:
            _show(stream, counts)
        case Format.JSON:
            facts = {"stream": stream.name, "steps": stream.steps, "length": stream.length}
            typer.echo(json.dumps({**facts, "cost": str(stream.cost), "counts": records}, indent=2))
        case Format.CSV:
            print_csv(("step", "count", "deviation"), records)


def _show(stream: "NamedStream", counts: "Sequence[RunningCount]") -> None:
    from rich.console import Console
    from rich.table import Table

    from discreet.query.price.words import price
    from discreet.show.number import format_number

    grid = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("step", "count", "deviation"):
        grid.add_column(heading, justify="right")
    for count in counts:
        grid.add_row(str(count.step), format_number(count.value), format_number(count.deviation))
    if counts:
        Console().print(grid)
    progress = f"{stream.steps} of {stream.length} steps released · {price(stream.cost)} for all of them"
    Console(stderr=True, highlight=False).print(f"[dim]{progress}[/]")
