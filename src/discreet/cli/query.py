"""`discreet query`: ask in SQL, get a private answer with its error bars and price."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.paper import Format, Output, print_csv, waiting
from discreet.errors import ParameterError
from discreet.show.save import check_target

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from discreet.query.price.expected import Quote
    from discreet.release.answer import Release
    from discreet.release.session import Session


def query(
    data: Annotated[Path, typer.Argument(help="A manifest (.toml), or a file of data.")],
    sql: Annotated[
        list[str],
        typer.Argument(
            help="The question; - reads it from standard input, @FILE from a file; several are one batch."
        ),
    ],
    epsilon: Annotated[str | None, typer.Option(help="What to spend on this question.")] = None,
    within: Annotated[
        str | None, typer.Option(help="Spend the least that gets every answer this close.")
    ] = None,
    count: Annotated[str | None, typer.Option(help="The rows that averages are of, at least.")] = None,
    confidence: Annotated[str, typer.Option(help="How sure the intervals are.")] = "0.95",
    delta: Annotated[
        str | None, typer.Option(help="What the question may use to find its group keys.")
    ] = None,
    dialect: Annotated[str | None, typer.Option(help="Whose SQL it is: bigquery, tsql, mysql, ...")] = None,
    weight: Annotated[
        list[str] | None,
        typer.Option(help="Which of several errors matter more, as in --weight n=3; once for each column."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Quote only: free, and no data is touched.")
    ] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show why the claim holds, step by step: free, and no data.")
    ] = False,
    postprocess: Annotated[
        bool,
        typer.Option(help="Show values as they can be, or as drawn: without bias; both are free."),
    ] = True,
    output: Output = Format.TABLE,
    plot: Annotated[Path | None, typer.Option(help="Save a chart: .svg, .png or .html.")] = None,
    card: Annotated[bool, typer.Option("--card", help="Print a statement ready for publication.")] = False,
    unit: Annotated[
        str | None, typer.Option(help="For a file of data: the column that names a person.")
    ] = None,
    rows_per_unit: Annotated[
        int | None, typer.Option(help="For a file of data: rows kept per person.")
    ] = None,
    budget: Annotated[str | None, typer.Option(help="For a file of data: the most it may ever cost.")] = None,
    analyst: Annotated[str, typer.Option(help="Who asks.")] = "analyst",
    project: Annotated[str, typer.Option(help="For which project.")] = "project",
    request: Annotated[str | None, typer.Option(help="A request id, to retry safely.")] = None,
) -> None:
    """Ask a question and get a private answer; the same question again is free."""
    asked: dict[str, Any] = {"epsilon": epsilon, "within": within, "confidence": confidence}
    asked |= {"dialect": dialect}
    sql = [question_text(word) for word in sql]
    if len(sql) > 1 and (plot or delta or count or weight):
        raise ParameterError("--plot, --delta, --count and --weight are for one question, not for a batch")
    alone: dict[str, Any] = {"delta": delta, "count": count, "weights": _weights(weight or [])}
    if plot is not None:
        check_target(plot)
    with waiting("opening ..."):
        opened = _open(data, unit, rows_per_unit, budget, analyst, project)
    with opened as session:
        if dry_run or explain:
            with waiting("planning ..."):
                priced = session.quote(sql if len(sql) > 1 else sql[0], **alone, **asked)
            if dry_run:
                _print_quote(priced, output)
            if explain:
                typer.echo(_explained(priced, output))
            return
        with waiting("asking ..."):
            asked |= {"request_id": request, "postprocess": postprocess}
            answers = (
                session.batch(sql, **asked) if len(sql) > 1 else (session.query(sql[0], **alone, **asked),)
            )
        _print(answers, output)
        if output is Format.TABLE:
            show_price(answers[0], session)
        for answer in answers if card else ():
            typer.echo(answer.card())
        if plot is not None:
            answers[0].plot(str(plot))
            typer.echo(f"chart: {plot}", err=True)


def _weights(words: "Sequence[str]") -> dict[str, str]:
    """Return the weights of columns, each said as NAME=WEIGHT."""
    parted = [word.rpartition("=") for word in words]
    if any(not name for name, _, _ in parted):
        raise ParameterError("--weight is said as NAME=WEIGHT, as in --weight n=3")
    return {name: weight for name, _, weight in parted}


def question_text(word: str) -> str:
    """Return the question that a word of the command line means: itself, standard input, or a file."""
    if word == "-":
        return sys.stdin.read()
    if not word.startswith("@"):
        return word
    try:
        return Path(word[1:]).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise ParameterError(f"the file {word[1:]} with the question cannot be read") from None


def _open(
    data: Path, unit: str | None, rows: int | None, budget: str | None, analyst: str, project: str
) -> "Session":
    from discreet.errors import CatalogError
    from discreet.release.opening import open as open_session

    if data.suffix == ".toml":
        return open_session(data, analyst=analyst, project=project)
    if budget is None:
        raise CatalogError("a file of data needs --budget EPSILON, the most that all answers may ever cost")
    given: dict[str, Any] = {"unit": unit, "rows_per_unit": rows}
    return open_session(
        data,
        epsilon=budget,
        ledger=f"{data}.ledger",
        name=data.stem,
        analyst=analyst,
        project=project,
        **{key: value for key, value in given.items() if value is not None},
    )


def _print(answers: "Sequence[Release]", output: Format) -> None:
    from rich.console import Console

    from discreet.release.text import rich_table

    if output is Format.JSON:
        bodies = [_body(answer) for answer in answers]
        typer.echo(json.dumps(bodies if len(bodies) > 1 else bodies[0], indent=2, default=str))
        return
    for number, answer in enumerate(answers):
        if number:
            typer.echo()
        if output is Format.TABLE:
            Console().print(rich_table(answer))
        else:
            _print_csv(answer)


def _body(answer: "Release") -> dict[str, Any]:
    return {
        "rows": answer.intervals(answer.quote.confidence),
        "cost": str(answer.quote.cost),
        "confidence": float(answer.quote.confidence),
        "receipt": str(answer.receipt),
        "free": answer.free,
    }


def _print_csv(answer: "Release") -> None:
    records = answer.intervals(answer.quote.confidence)
    print_csv(list(records[0]) if records else list(answer.columns), records)


def show_price(answer: "Release", session: "Session") -> None:
    """Print what the answer cost and what is left."""
    from rich.console import Console
    from rich.text import Text

    from discreet.query.price.words import paid

    cost = "already paid for: free" if answer.free else f"cost {paid(answer.quote)}"
    left = f"left: {session.budget.limits[0].remaining}"
    said = [f"± at {float(answer.quote.confidence):.0%}", *answer.said, cost, left]
    Console(stderr=True, highlight=False).print(Text(" · ".join(said), "dim"))


def _print_quote(priced: "Quote", output: Format) -> None:
    from discreet.query.price.words import heads, lines

    if output is Format.TABLE:
        show_quote(priced)
    elif output is Format.JSON:
        typer.echo(json.dumps(_quoted(priced), indent=2))
    else:
        records = [dict(zip(heads(priced), line, strict=True)) for line in lines(priced)]
        print_csv(heads(priced), records)


def _explained(priced: "Quote", output: Format) -> str:
    """Return the derivation of a question's claims as a tree, or as nested JSON."""
    if priced.proof is None:
        raise ParameterError("this quote carries no derivation; ask the session for one")
    if output is Format.JSON:
        return json.dumps([proved.step.nested() for proved in priced.proof.statements], indent=2)
    return str(priced.proof)


def _quoted(priced: "Quote") -> dict[str, Any]:
    from discreet.query.price.words import lines

    return {
        "columns": [
            {"name": name, "error": error, "mechanism": mechanism, "radius": _number(expected.radius)}
            for (name, error, mechanism), expected in zip(lines(priced), priced.expected, strict=True)
        ],
        "cost": str(priced.cost),
        "epsilon": str(priced.epsilon),
        "delta": str(priced.delta),
        "alone": None if priced.alone is None else [str(part) for part in priced.alone],
        "share": _number(priced.share),
        "closes": priced.closes,
        "confidence": float(priced.confidence),
        "questions_left": priced.copies,
        "sql": list(priced.sql),
    }


def _number(value: "Fraction | None") -> float | None:
    return None if value is None else float(value)


def show_quote(priced: "Quote") -> None:
    """Print a quote: the price, the error of each column, the mechanisms and the SQL that would run."""
    from rich.console import Console
    from rich.text import Text

    from discreet.query.price.words import afford, caps, paced, paid, takes
    from discreet.release.text import quote_table

    console = Console(highlight=False)
    console.print(quote_table(priced))
    console.print(
        Text.assemble(
            ("cost ", "bold"),
            paid(priced),
            ("   nothing was spent, no data was touched", "dim"),
        )
    )
    for said in (*takes(priced), *caps(priced.checked)):
        console.print(Text(said, "dim"))
    for known, count in ((afford(priced), priced.copies), (paced(priced), priced.today)):
        if known is not None:
            console.print(Text(known, "" if count else "bold yellow"))
    for statement in priced.sql:
        console.print(Text(statement, "dim"), soft_wrap=True)
