"""`discreet budget`: what was spent, what is left, who could learn how much, and whether the ledger holds."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, assert_never

import typer

from discreet.cli.paper import Format, Output, print_body, print_csv
from discreet.cli.target import chart_target

if TYPE_CHECKING:
    from rich.console import Console

    from discreet.ledger import BudgetView, Entry, Ledger, LimitView, Report

BAR = 20


def budget(
    place: Annotated[
        str, typer.Argument(help="A manifest (.toml), a ledger file, or a postgresql:// address.")
    ],
    dataset: Annotated[str | None, typer.Option(help="Only this dataset.")] = None,
    verify: Annotated[bool, typer.Option("--verify", help="Check every entry of the ledger.")] = False,
    output: Output = Format.TABLE,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Draw spending over time (svg, png, html); needs one dataset.", callback=chart_target
        ),
    ] = None,
    history: Annotated[int, typer.Option(help="How many of the newest entries to show.")] = 10,
    receipt: Annotated[str | None, typer.Option(help="Check a receipt that came with an answer.")] = None,
    against: Annotated[
        Path | None,
        typer.Option(
            help="Hold a file with a receipt against the ledger that a manifest names, without its key."
        ),
    ] = None,
    key: Annotated[Path | None, typer.Option(help="The file that holds the ledger's key.")] = None,
    anchor: Annotated[Path | None, typer.Option(help="The file that holds the ledger's anchor.")] = None,
    migrate: Annotated[
        bool, typer.Option("--migrate", help="Bring an older ledger up to date first.")
    ] = False,
    adopt: Annotated[
        bool, typer.Option("--adopt", help="Verify a ledger that has no anchor here and begin one.")
    ] = False,
) -> None:
    """Show what was spent and what is left, and check that nobody touched the ledger."""
    from rich.console import Console

    from discreet.ledger import adopt_ledger, migrate_ledger, open_ledger, verify_ledger

    console = Console()
    location, only = locate(place)
    if against is not None:
        _hold(console, place, location, against)
        return
    if migrate:
        migrate_ledger(location, key=key, anchor=anchor)
    if adopt:
        _explain(console, adopt_ledger(location, key=key, anchor=anchor), location, output)
        return
    if verify:
        with _Progress(quiet=output is not Format.TABLE) as progress:
            report = verify_ledger(location, key=key, anchor=anchor, progress=progress.advance)
        _explain(console, report, location, output)
        return
    with open_ledger(location, key=key, anchor=anchor, create=False) as ledger:
        if receipt is not None:
            _show_receipt(console, ledger, receipt)
            return
        names = [name for name in (dataset, only) if name is not None][:1] or list(ledger.datasets())
        if plot is not None:
            _draw(console, ledger, names, plot)
        elif output is Format.JSON:
            told = [
                ledger.budget(name).to_json() | {"history": _told(ledger, name, history)} for name in names
            ]
            print_body({"ledger": ledger.identity, "datasets": told}, output)
        elif output is Format.CSV:
            rows = [row for name in names for row in _told(ledger, name, history)]
            print_csv(("dataset", "entry", "time", "what", "who", "details"), rows)
        else:
            for name in names:
                _show(console, ledger.budget(name), ledger.history(name, last=history) if history else ())


def locate(place: str) -> tuple[str | Path, str | None]:
    """Return where the ledger is, and the dataset if `place` is a manifest or a file of data beside it."""
    if place.startswith(("postgresql://", "postgres://")):
        return place, None
    path = Path(place)
    if path.suffix == ".toml":
        from discreet.query.catalog.manifest import load

        catalog = load(path)
        home = catalog.ledger or f"{path.stem}.ledger"
        return (home if "://" in home else catalog.folder / home), catalog.name
    beside = Path(f"{place}.ledger")
    return (beside, path.stem) if beside.exists() else (path, None)


class _Progress:
    """A bar on the terminal while many entries are checked, and nothing for a few."""

    def __init__(self, *, quiet: bool) -> None:
        from rich.console import Console
        from rich.progress import Progress

        self._bar = Progress(console=Console(stderr=True), transient=True, disable=quiet)
        self._task = self._bar.add_task("checking entries", total=None)

    def __enter__(self) -> "_Progress":
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def advance(self, done: int, total: int) -> None:
        if done % 500 == 0:
            self._bar.update(self._task, completed=done, total=total)


def _show(console: "Console", view: "BudgetView", history: "tuple[Entry, ...]") -> None:
    from rich.markup import escape
    from rich.table import Table

    state = "closed, " if view.closed else ""
    grid = Table(
        title=f"Dataset {escape(view.dataset)} ({state}{view.entries} entries)", title_justify="left"
    )
    for heading in ("limit on", "budget", "spent", "left"):
        grid.add_column(heading)
    grid.add_column("used", no_wrap=True)
    for limit in view.every:
        grid.add_row(*map(escape, limit.row), _bar(limit))
    console.print(grid)
    together = view.collusion
    pooled = f"{view.limits[0].paid} so far, {together.worst} at the very most."
    console.print(f"If everybody pools their answers: {pooled}")
    if together.sum_of_limits is not None:
        console.print(f"The analysts' own limits add up to epsilon {float(together.sum_of_limits):g}.")
    if view.analysts is not None:
        console.print(f"Who may ask: {escape(', '.join(view.analysts)) or 'nobody'}.")
    if view.running:
        console.print(f"{view.running} request(s) paid for and not answered yet.")
    if history:
        console.print(_history(history))


def _history(history: "tuple[Entry, ...]") -> object:
    from rich.markup import escape
    from rich.table import Table

    grid = Table(title=f"The newest {len(history)} entries", title_justify="left")
    grid.add_column("entry", justify="right")
    for heading in ("time", "what", "who", "details"):
        grid.add_column(heading)
    for entry in history:
        words = map(escape, describe(entry))
        grid.add_row(str(entry.number), entry.time.replace("+00:00", "Z"), *words)
    return grid


def describe(entry: "Entry") -> tuple[str, str, str]:
    """Return what happened in an entry, who did it, and the details, in printable words."""
    what, who, details = _words(entry)
    return what, who, "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in details)


def _words(entry: "Entry") -> tuple[str, str, str]:
    from discreet.ledger.entry import (
        Adopted,
        Advanced,
        Answered,
        Closed,
        Created,
        Failed,
        Joined,
        Left,
        Limited,
        Migrated,
        Paced,
        Reserved,
        Restored,
        Retried,
        Rotated,
        Succeeded,
    )

    match entry.event:
        case Created(cap, _, reason):
            return "opened", "curator", f"cap {cap}; {reason}"
        case Limited(scope, cap, reason):
            return "limit set", "curator", f"{scope}: {cap}; {reason}"
        case Paced(scope, pace, reason):
            question, day = pace.question or "no limit", pace.day or "no limit"
            return "pace set", "curator", f"{scope}: per question {question}, per day {day}; {reason}"
        case Joined(analyst, reason):
            return "analyst added", "curator", f"{analyst}; {reason}"
        case Left(analyst, reason):
            return "analyst removed", "curator", f"{analyst}; {reason}"
        case Closed(reason):
            return "closed", "curator", reason
        case Reserved(request):
            question = " ".join((request.text or request.question).split())
            shown = question if len(question) <= 60 else question[:57] + "..."
            return "paid", f"{request.analyst} ({request.project})", f"{request.cost}: {shown}"
        case Retried(reservation, attempt):
            return "run again", "", f"entry {reservation}, attempt {attempt}, free"
        case Answered(reservation, _, _, size):
            return "answered", "", f"entry {reservation}, {size} bytes"
        case Failed(reservation, code):
            return "failed", "", f"entry {reservation}, {code}; stays spent"
        case Advanced(reservation, first, last):
            steps = f"steps {first} to {last}, free" if last else "begun"
            return "stream", "", f"entry {reservation}, {steps}"
        case Migrated(schema):
            return "migrated", "curator", f"to version {schema}"
        case Adopted(_, reason):
            return "anchored anew", "curator", reason
        case Restored(lost, known, _, reason):
            return "restored", "curator", f"{lost} counted as lost, entry {known} known; {reason}"
        case Rotated(_, _, reason):
            return "new key", "curator", reason
        case Succeeded(account, reason):
            return "succeeds", "curator", f"{account[:40]}; {reason}"
        case never:
            assert_never(never)


def _explain(console: "Console", report: "Report", location: "str | Path", output: Format) -> None:
    """Print what a check found, and end with status 1 if anything is wrong."""
    from rich.markup import escape

    findings = [
        {"dataset": f.dataset, "entries": f.entries, "anchored": f.anchored, "problem": f.problem}
        for f in report.findings
    ]
    if output is Format.JSON:
        body = {"trusted": report.trusted, "damage": report.damage, "findings": findings}
        print_body(body, output)
    elif output is Format.CSV:
        print_csv(("dataset", "entries", "anchored", "problem"), findings)
    else:
        for finding in report.findings:
            mark = "[green]holds[/]" if finding.problem is None else "[bold red]broken[/]"
            console.print(
                f"{mark}  {escape(str(finding))} (anchored up to entry {finding.anchored})", highlight=False
            )
        if report.damage is not None:
            console.print(
                f"[bold red]damaged[/]  the database reports: {escape(report.damage)}", highlight=False
            )
        console.print(escape(_verdict(report, location)), highlight=False)
    if not report.trusted:
        raise typer.Exit(1)


def _verdict(report: "Report", location: "str | Path") -> str:
    if report.trusted:
        return "Every seal, link, total, limit and answer was recomputed; the ledger can be trusted."
    return (
        f"Do not release anything from {location}: restore the newest intact copy of the ledger.  If none "
        "reaches the anchor, what was spent since is unknown, and the dataset should be closed."
    )


def _show_receipt(console: "Console", ledger: "Ledger", text: str) -> None:

    from discreet.ledger import Receipt

    entry = ledger.verify_receipt(Receipt.parse(text))
    what, _, details = describe(entry)
    console.print(
        f"[green]valid[/]  entry {entry.number} of {entry.dataset}, {entry.time}: {what}, {details}"
    )


def _hold(console: "Console", place: str, location: "str | Path", receipt: Path) -> None:
    """Say whether a ledger holds what a receipt proves, and end with status 1 if it does not."""
    from rich.markup import escape

    from discreet.cli.ledger import read_receipt
    from discreet.errors import ParameterError
    from discreet.ledger.proving import hold_against
    from discreet.ledger.signing import Name
    from discreet.query.catalog.manifest import load

    account = load(place).account if place.endswith(".toml") else None
    if account is None:
        raise ParameterError(
            "--against needs a manifest that names its account: whose signature is to count?"
        )
    verdict = hold_against(location, Name.parse(account), read_receipt(receipt))
    mark = "[green]holds[/]" if verdict.holds else "[bold red]broken[/]"
    console.print(f"{mark}  {escape(verdict.words)}", highlight=False)
    if not verdict.holds:
        raise typer.Exit(1)


def _draw(console: "Console", ledger: "Ledger", names: list[str], target: Path) -> None:
    from discreet.errors import ParameterError
    from discreet.ledger.picture import spending_picture
    from discreet.show import save

    if len(names) != 1:
        raise ParameterError(f"--plot draws one dataset; choose it with --dataset out of {', '.join(names)}")
    entries = ledger.history(names[0], last=ledger.budget(names[0]).entries)
    save(spending_picture(entries, title=f"Privacy budget of {names[0]}"), target)
    console.print(f"spending drawn in {target}")


def _told(ledger: "Ledger", name: str, history: int) -> list[dict[str, object]]:
    entries = ledger.history(name, last=history) if history else ()
    return [
        {
            "dataset": name,
            "entry": entry.number,
            "time": entry.time,
            **dict(zip(("what", "who", "details"), describe(entry), strict=True)),
        }
        for entry in entries
    ]


def _bar(limit: "LimitView") -> str:
    share = float(limit.used)
    # A bar never looks full before the limit is, nor empty once something was spent.
    blocks = BAR if share == 1 else min(BAR - 1, max(int(share > 0), round(share * BAR)))
    colour = "red" if share >= 0.9 else "yellow" if share >= 0.6 else "green"
    return f"[{colour}]{'█' * blocks}[/][dim]{'░' * (BAR - blocks)}[/] {100 * share:5.1f} %"
