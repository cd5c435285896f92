"""`discreet demo`: the whole story in one command, on data it generates."""

import os
import sys
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from discreet.release.answer import Release
    from discreet.release.session import Session

BY_WARD = (
    "SELECT ward, COUNT(*) AS visits, AVG(cost) AS mean_cost FROM visits GROUP BY ward ORDER BY visits DESC"
)
BY_REGION = """SELECT p.region, AVG(v.cost) AS mean_cost
FROM patients p JOIN visits v ON p.person_id = v.person_id
WHERE p.smoker GROUP BY p.region"""
BY_BUILDING = """SELECT w.building, COUNT(*) AS visits
FROM visits v JOIN wards w ON v.ward = w.ward GROUP BY w.building"""
PER_PERSON = """SELECT COUNT(*) AS frequent_patients FROM (
  SELECT person_id, COUNT(*) AS n FROM visits GROUP BY person_id
) WHERE n >= 6"""
MEDIAN = """SELECT MEDIAN(waited) AS median_wait, QUANTILE(waited, 0.9) AS nine_in_ten
FROM visits WHERE ward = 'Emergency'"""
CUBE = """SELECT EXTRACT(quarter FROM day) AS quarter, waited > 60 AS long_wait, COUNT(*) AS visits
FROM visits GROUP BY CUBE (quarter, long_wait)"""
QUANTILES = "SELECT QUANTILES(waited, [0.1, 0.25, 0.5, 0.75, 0.9]) AS minutes FROM visits"
NOSY = "SELECT COUNT(*) FROM visits WHERE (SELECT COUNT(*) FROM visits) > 1000"


def demo(
    folder: Annotated[Path, typer.Option(help="Where to put the generated data and the report.")] = Path(
        "demo-out"
    ),
    people: Annotated[int, typer.Option(help="How many people to make up.")] = 200_000,
    serve: Annotated[
        bool, typer.Option("--serve", help="Open the console on the clinic instead of telling the story.")
    ] = False,
    port: Annotated[int, typer.Option(help="With --serve: the port; 0 takes a free one.")] = 8443,
) -> None:
    """Make up a clinic, ask private questions about it, and watch the budget run out."""
    from rich.console import Console

    from discreet.cli.clinic import generate
    from discreet.cli.report import page
    from discreet.release.opening import open as open_session
    from discreet.show.save import can_draw

    console = Console(highlight=False)
    _fresh(folder)
    with console.status("making up a clinic ..."):
        start = perf_counter()
        manifest = generate(folder, people)
    if serve:
        _open(manifest, port)
        return
    console.rule("[bold]discreet[/]: answers about people, and nobody given away")
    console.print(
        f"\nA made-up clinic with {people:,} patients is in [bold]{folder}/[/] "
        f"({perf_counter() - start:.1f} s). Its manifest says what is public, bounds what each person adds, "
        "and allows epsilon = 3 in all, for ever."
    )
    with open_session(manifest) as session:
        answers = _story(console, session)
        _run_out(console, session)
        report = folder / "report.html"
        report.write_text(page(answers, session.budget, NOSY), encoding="utf-8")
    console.print(f"\n[bold]report[/] {report}")
    if not can_draw():
        console.print("[bold]charts[/] the report has tables only; run: pip install 'discreet\\[pictures]'")
    console.print(
        f'[bold]try[/] discreet query {manifest} "SELECT COUNT(*) AS n FROM visits" --dry-run --epsilon 1'
    )


def _open(manifest: Path, port: int) -> None:
    """Serve a clinic to this machine, with somebody of each role to sign in as."""
    from discreet.cli.analyst import enter
    from discreet.service.people import FILE, People
    from discreet.service.role import Role

    register = People(manifest.parent / FILE)
    for name, role, epsilon in (("ada", Role.ANALYST, "2"), ("carol", Role.CURATOR, None)):
        token = enter(manifest, register, name, role, epsilon)
        typer.echo(f"sign in as {name}, {role.value}: {token}")
    sys.stdout.flush()
    # A program of its own: the process at the network has never seen the data that this one made up.
    run = [sys.executable, "-c", "from discreet.cli import main; main()", "serve", str(manifest)]
    doors = ["--port", str(port), "--postgres-port", "0"]
    os.execv(run[0], [*run, *doors, "--source", str(manifest.parent)])  # noqa: S606


def _story(console: "Console", session: "Session") -> list["Release"]:
    answers = []
    _title(console, 1, "What would it cost?", "A quote is free: no data is touched.")
    _sql(console, BY_WARD)
    _quote(console, session, BY_WARD, epsilon="0.5")

    _title(console, 2, "Ask", "Exact integer noise, one answer, its error bars, its price.")
    answers.append(_ask(console, session, BY_WARD, epsilon="0.5"))
    console.print(_bars(answers[-1]))

    _title(console, 3, "Accuracy first", "Say how close you need to be; pay the least that gets there.")
    _sql(console, BY_BUILDING)
    answers.append(_ask(console, session, BY_BUILDING, within="400"))

    _title(
        console,
        4,
        "People, not rows",
        "Joins and subqueries work per person; a person with 60 visits counts as 10.",
    )
    for text in (BY_REGION, PER_PERSON, MEDIAN):
        _sql(console, text)
        answers.append(_ask(console, session, text, epsilon="0.3"))

    _title(
        console,
        5,
        "Many numbers at one price",
        "Tables with their totals and whole distributions are measured together, and agree.",
    )
    for text in (CUBE, QUANTILES):
        _sql(console, text)
        answers.append(_ask(console, session, text, epsilon="0.3"))

    _title(console, 6, "A refusal that teaches", "It costs nothing and never depends on the data.")
    _sql(console, NOSY)
    _refused(console, session, NOSY)

    _title(console, 7, "The same question again", "Same data, same question: the stored answer, free.")
    again = session.query(BY_WARD, epsilon="0.5")
    console.print(f"  free: {again.free}, the same bytes: {again.noisy == answers[0].noisy}")
    return answers


def _run_out(console: "Console", session: "Session") -> None:
    from discreet.errors import BudgetError

    _title(console, 8, "The budget runs out", "The ledger refuses before anything is looked at.")
    asked = 0
    try:
        while True:
            session.query(f"SELECT COUNT(*) AS n FROM visits WHERE waited > {asked}", epsilon="0.2")
            asked += 1
    except BudgetError as refusal:
        console.print(f"  {asked} more questions were answered, then: [red]{refusal}[/]")
    for limit in session.budget.limits:
        console.print(f"  {limit.scope}: spent {limit.spent}, left {limit.remaining}")
    report = session.ledger.verify()
    console.print(f"  the ledger's chain of seals verifies: {report.trusted}")


def _title(console: "Console", number: int, title: str, subtitle: str) -> None:
    console.print(f"\n[bold cyan]{number}[/] [bold]{title}[/]  [dim]{subtitle}[/]\n")


def _sql(console: "Console", text: str) -> None:
    from rich.padding import Padding
    from rich.syntax import Syntax

    console.print(Padding(Syntax(text, "sql", background_color="default", word_wrap=True), (0, 2)))


def _quote(console: "Console", session: "Session", text: str, **price: str) -> None:
    from rich.padding import Padding

    from discreet.query.price.words import paid
    from discreet.release.text import quote_table

    priced = session.quote(text, **price)  # type: ignore[arg-type]
    console.print(Padding(quote_table(priced), (1, 2)))
    console.print(f"  [dim]cost {paid(priced)}[/]")


def _ask(console: "Console", session: "Session", text: str, **price: str) -> "Release":
    from rich.padding import Padding

    from discreet.query.price.words import paid
    from discreet.release.text import rich_table

    start = perf_counter()
    answer = session.query(text, **price)  # type: ignore[arg-type]
    spent = (perf_counter() - start) * 1000
    console.print(Padding(rich_table(answer), (1, 2)))
    console.print(f"  [dim]± at 95 % · cost {paid(answer.quote)} · {spent:.0f} ms[/]\n")
    return answer


def _refused(console: "Console", session: "Session", text: str) -> None:
    from discreet.errors import QueryError

    try:
        session.query(text, epsilon="0.1")
    except QueryError as refusal:
        console.print(f"  [red]{refusal.clause}[/]  {refusal.reason}\n  [green]instead[/]  {refusal.instead}")


def _bars(answer: "Release") -> Any:
    """Return the first measured column as bars for the terminal."""
    from rich.padding import Padding
    from rich.table import Table

    rows = answer.rows
    largest = max(float(row.cells[1]) for row in rows)  # type: ignore[arg-type]
    shown = Table(box=None, show_header=False, pad_edge=False)
    for row in rows:
        length = max(round(float(row.cells[1]) / largest * 48), 0)  # type: ignore[arg-type]
        shown.add_row(str(row.key[0]), f"[cyan]{'█' * length}[/]")
    return Padding(shown, (0, 2))


def _fresh(folder: Path) -> None:
    """Remove the ledger and the people of an earlier demo, so that the story starts with a full budget."""
    from shutil import rmtree

    for left in (*folder.glob("clinic.ledger*"), *folder.glob("discreet.people")):
        rmtree(left) if left.is_dir() else left.unlink()
