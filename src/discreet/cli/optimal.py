"""`discreet optimal`: the best mechanism for one analyst, with its proof, its rivals and its picture."""

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.paper import Cell, Format, Output, Paper, waiting
from discreet.cli.target import chart_target, page_target
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from fractions import Fraction

    from discreet.mechanisms.table import Label
    from discreet.privacy.bounds import Bounds
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
    output: Output = Format.TABLE,
) -> None:
    """Find the best private mechanism for a loss and a prior, and prove that nothing beats it."""
    from discreet.utility import optimal as solve
    from discreet.utility import smallest_epsilon

    if prior == "worst" and (target is not None or curves is not None):
        raise ParameterError("--target and --curves need a prior other than 'worst'")
    question = read_graph(graph, size, width)
    cost = read_loss(loss, question)
    belief = None if prior == "worst" else read_prior(prior, question)
    with Paper(output) as paper:
        with waiting("searching"):
            best = solve(question, belief, cost, epsilon, delta=delta)
        _report(paper, best, epsilon, delta, "worst case" if belief is None else "expected")
        if belief is not None and compare and delta == "0":
            _compare(paper, question, epsilon, cost, belief, best)
        if belief is not None and target is not None:
            with waiting("searching"):
                found = smallest_epsilon(question, belief, cost, target)
            paper.fact(
                "smallest epsilon",
                float(found),
                f"for an expected loss of {target}: above {float(found.low):g}, at most {float(found):g}",
            )
        if save is not None:
            save.write_text(best.channel.to_json(), encoding="utf-8")
            paper.say(f"mechanism written to {save}")
        if proof is not None:
            from discreet.utility.proof import to_json

            proof.write_text(to_json(best.certificate), encoding="utf-8")
            paper.say(f"proof written to {proof}")
        if plot is not None:
            _draw_channel(best, plot)
            paper.say(f"channel drawn in {plot}")
        if belief is not None and curves is not None:
            with waiting("drawing"):
                _draw_curves(question, belief, cost, curves)
            paper.say(f"loss against epsilon drawn in {curves}")


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


def _report(paper: Paper, best: "Optimal", epsilon: str, delta: str, kind: str) -> None:
    level = f"epsilon {epsilon}" + ("" if delta == "0" else f", delta {delta}")
    paper.facts(
        f"The best mechanism at {level}",
        [
            (f"{kind} loss", _figure(best.loss, ".9g")),
            ("no private mechanism below", _figure(best.bound, ".9g")),
            ("gap", Cell(0.0, "0 (exactly optimal)") if best.gap == 0 else _figure(best.gap, ".2g")),
            ("found by", best.method),
            ("checked by", "exact arithmetic, independently of the search"),
        ],
    )


def _figure(value: "Bounds | Fraction", spec: str) -> Cell:
    return Cell(float(value), f"{float(value):{spec}}")


def _compare(
    paper: Paper,
    graph: "Graph",
    epsilon: str,
    loss: "Loss",
    prior: "Prior",
    best: "Optimal",
) -> None:
    from discreet.utility import advise
    from discreet.utility.advise import LARGEST

    if len(graph) > LARGEST:
        paper.say(f"(mechanisms are compared on at most {LARGEST} answers)")
        return
    with waiting("comparing"):
        advice = advise(graph, epsilon, loss, prior)
    least = _figure(best.loss, ".6f")
    rows: list[tuple[object, ...]] = [("optimal", least, least, Cell(None, "-"))]
    for candidate in advice.candidates:
        above = float(candidate.loss) - float(best.loss)
        rows.append(
            (
                candidate.name,
                _figure(candidate.loss, ".6f"),
                Cell(None, "-") if candidate.unmapped is None else _figure(candidate.unmapped, ".6f"),
                Cell(above, "0" if above < 1e-9 else f"{above:.6f}"),
            )
        )
    paper.table("rivals", ("mechanism", "loss, best guess", "loss, at face value", "above the optimum"), rows)
    paper.fact("winner among the known mechanisms", advice.winner.name)


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
