"""`discreet optimal`: the best mechanism for one analyst, with its proof, its rivals and its picture."""

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.target import chart_target, page_target
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from rich.console import Console

    from discreet.mechanisms.table import Label
    from discreet.utility import Graph, Loss, Optimal, Prior

SHAPES = ("count", "sum", "cycle", "category")


def optimal(
    size: Annotated[
        int, typer.Argument(help="Answers 0..SIZE for a count or a sum; the number of answers otherwise.")
    ],
    epsilon: Annotated[str, typer.Option(help="The privacy level, such as 0.5.")] = "1",
    graph: Annotated[str, typer.Option(help=f"Which answers are neighbours: {', '.join(SHAPES)}.")] = "count",
    width: Annotated[int, typer.Option(help="For a sum: how far one person moves it.")] = 1,
    loss: Annotated[
        str,
        typer.Option(
            help="absolute, squared, zero-one, circular, within:K, asymmetric:OVER:UNDER, "
            "or a CSV or JSON file with one row per guess."
        ),
    ] = "absolute",
    prior: Annotated[
        str, typer.Option(help="uniform, binomial, binomial:P, worst, or a CSV or JSON file of weights.")
    ] = "uniform",
    delta: Annotated[str, typer.Option(help="Allow approximate privacy, on small domains.")] = "0",
    target: Annotated[
        str | None, typer.Option(help="Also find the smallest epsilon with this expected loss.")
    ] = None,
    compare: Annotated[bool, typer.Option(help="Compare with the known mechanisms.")] = True,
    save: Annotated[Path | None, typer.Option(help="Write the mechanism as a JSON table.")] = None,
    proof: Annotated[
        Path | None,
        typer.Option(
            help="Write the proof of optimality as JSON, for anyone to check.", callback=page_target
        ),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the channel (svg, png, html).", callback=chart_target)
    ] = None,
    curves: Annotated[
        Path | None, typer.Option(help="Draw loss against epsilon (svg, png, html).", callback=chart_target)
    ] = None,
) -> None:
    """Find the best private mechanism for a loss and a prior, and prove that nothing beats it."""
    from rich.console import Console

    from discreet.utility import optimal as solve
    from discreet.utility import smallest_epsilon

    console = Console()
    question = read_graph(graph, size, width)
    cost = read_loss(loss, question)
    belief = None if prior == "worst" else read_prior(prior, question)
    best = solve(question, belief, cost, epsilon, delta=delta)
    _report(console, best, epsilon, delta, "worst case" if belief is None else "expected")
    if belief is not None and compare and delta == "0":
        _compare(console, question, epsilon, cost, belief, best)
    if target is not None:
        if belief is None:
            raise ParameterError("--target needs a prior other than 'worst'")
        found = smallest_epsilon(question, belief, cost, target)
        console.print(
            f"smallest epsilon for an expected loss of {target}: "
            f"above {float(found.low):g}, at most {float(found):g}"
        )
    if save is not None:
        save.write_text(best.channel.to_json(), encoding="utf-8")
        console.print(f"mechanism written to {save}")
    if proof is not None:
        from discreet.utility.proof import to_json

        proof.write_text(to_json(best.certificate), encoding="utf-8")
        console.print(f"proof written to {proof}")
    if plot is not None:
        _draw_channel(best, plot)
        console.print(f"channel drawn in {plot}")
    if curves is not None:
        if belief is None:
            raise ParameterError("--curves needs a prior other than 'worst'")
        _draw_curves(question, belief, cost, curves)
        console.print(f"loss against epsilon drawn in {curves}")


def read_graph(shape: str, size: int, width: int) -> "Graph":
    """Return the query graph that the options describe."""
    from discreet.utility import band, complete, cycle

    match shape:
        case "count":
            return band(size, 1)
        case "sum":
            return band(size, width)
        case "cycle":
            return cycle(size)
        case "category":
            if size < 1:
                raise ParameterError(f"a category needs at least one answer, got {size}")
            return complete(range(size))
        case _:
            raise ParameterError(f"graph must be one of {', '.join(SHAPES)}, got {shape!r}")


def read_prior(text: str, graph: "Graph") -> "Prior":
    """Return a named prior, or weights from a file divided by their sum."""
    from discreet.utility import Prior

    match text.split(":"):
        case ["uniform"]:
            return Prior.uniform(len(graph))
        case ["binomial"]:
            return Prior.binomial(len(graph) - 1)
        case ["binomial", chance]:
            return Prior.binomial(len(graph) - 1, chance)
        case _:
            return Prior.proportional([entry for row in _read_rows(text, "prior") for entry in row])


def read_loss(text: str, graph: "Graph") -> "Loss":
    """Return a named loss, or a matrix from a file with one row per guess."""
    from discreet.utility import Loss

    answers: tuple[Label, ...] = graph.nodes
    match text.split(":"):
        case ["absolute"]:
            return Loss.absolute(answers)
        case ["squared"]:
            return Loss.squared(answers)
        case ["zero-one"]:
            return Loss.zero_one(answers)
        case ["circular"]:
            return Loss.circular(len(answers))
        case ["within", distance]:
            return Loss.within(answers, distance)
        case ["asymmetric", over, under]:
            return Loss.asymmetric(answers, over=over, under=under)
        case _:
            return Loss.of(_read_rows(text, "loss"))


def _read_rows(text: str, what: str) -> list[list[str]]:
    path = Path(text)
    if path.suffix not in (".csv", ".json") or not path.exists():
        raise ParameterError(f"{what} must be a known name or an existing .csv or .json file, got {text!r}")
    content = path.read_text(encoding="utf-8")
    if path.suffix == ".csv":
        return [[cell.strip() for cell in row] for row in csv.reader(content.splitlines()) if row]
    try:
        data = json.loads(content, parse_float=str, parse_int=str)
    except ValueError:
        raise ParameterError(f"{text!r} is not valid JSON") from None
    if not isinstance(data, list):
        raise ParameterError(f"{text!r} must hold a list of numbers, or a list of such lists")
    return [row if isinstance(row, list) else [row] for row in data]


def _report(console: "Console", best: "Optimal", epsilon: str, delta: str, kind: str) -> None:
    from rich.table import Table as Grid

    level = f"epsilon {epsilon}" + ("" if delta == "0" else f", delta {delta}")
    grid = Grid(title=f"The best mechanism at {level}", show_header=False)
    grid.add_row(f"{kind} loss", f"{float(best.loss):.9g}")
    grid.add_row("no private mechanism below", f"{float(best.bound):.9g}")
    grid.add_row("gap", "0 (exactly optimal)" if best.gap == 0 else f"{float(best.gap):.2g}")
    grid.add_row("found by", best.method)
    grid.add_row("checked by", "exact arithmetic, independently of the search")
    console.print(grid)


def _compare(
    console: "Console",
    graph: "Graph",
    epsilon: str,
    loss: "Loss",
    prior: "Prior",
    best: "Optimal",
) -> None:
    from rich.table import Table as Grid

    from discreet.utility import advise
    from discreet.utility.advise import LARGEST

    if len(graph) > LARGEST:
        console.print(f"(mechanisms are compared on at most {LARGEST} answers)")
        return
    advice = advise(graph, epsilon, loss, prior)
    grid = Grid("mechanism", "loss, best guess", "loss, at face value", "above the optimum")
    grid.add_row("optimal", f"{float(best.loss):.6f}", f"{float(best.loss):.6f}", "-")
    for candidate in advice.candidates:
        above = float(candidate.loss) - float(best.loss)
        grid.add_row(
            candidate.name,
            f"{float(candidate.loss):.6f}",
            "-" if candidate.unmapped is None else f"{float(candidate.unmapped):.6f}",
            "0" if above < 1e-9 else f"{above:.6f}",
        )
    console.print(grid)
    console.print(f"winner among the known mechanisms: [bold]{advice.winner.name}[/bold]")


def _draw_channel(best: "Optimal", target: Path) -> None:
    from discreet.show import save
    from discreet.utility import CountCertificate, truncated_geometric
    from discreet.utility.picture import channel_picture

    match best.certificate:
        case CountCertificate() as proof:
            noise = truncated_geometric(len(proof.problem.graph) - 1, proof.alpha)
            guesses = proof.problem.loss.guesses
            remap: dict[Label, Label] = {z: guesses[w] for z, w in enumerate(proof.remap)}
            save(channel_picture(noise, remap, title="Truncated geometric with the best remap"), target)
        case _:
            save(channel_picture(best.channel, title="Optimal mechanism, truth to guess"), target)


def _draw_curves(graph: "Graph", prior: "Prior", loss: "Loss", target: Path) -> None:
    from discreet.show import save
    from discreet.utility.picture import loss_picture

    save(loss_picture(graph, prior, loss, ["0.1", "0.25", "0.5", "1", "1.5", "2", "3", "4"]), target)
