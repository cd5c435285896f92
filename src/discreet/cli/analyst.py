"""`discreet analyst`: who may ask through the service, with which token, and up to which limit."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from discreet.cli.paper import Format, Output, Paper
from discreet.errors import ParameterError
from discreet.service.people import DAYS, FILE, People, person_name, taken, unknown
from discreet.service.role import Role

if TYPE_CHECKING:
    from discreet.ledger import Ledger, Scope
    from discreet.query.catalog.manifest import Catalog

HEADS = ("limit on", "budget", "spent", "left", "used")

app = typer.Typer(help="People and their tokens.", no_args_is_help=True)

Manifest: TypeAlias = Annotated[Path, typer.Argument(help="The manifest of the dataset.")]
Name: TypeAlias = Annotated[str, typer.Argument(help="Who: lower-case letters, digits, dots and hyphens.")]
Days: TypeAlias = Annotated[int, typer.Option(help="For how many days the token is good.")]
Register: TypeAlias = Annotated[
    Path | None, typer.Option("--people", help="The register of people; by default beside the manifest.")
]
Most: TypeAlias = Annotated[str | None, typer.Option(help="The most that they may spend on this dataset.")]
PerQuestion: TypeAlias = Annotated[
    str | None, typer.Option(help="The most that one question may cost; 'none' for no such limit any more.")
]
PerDay: TypeAlias = Annotated[
    str | None, typer.Option(help="The most that one day may cost; 'none' for no such limit any more.")
]


@app.command()
def add(
    manifest: Manifest,
    name: Name,
    role: Annotated[Role, typer.Option(help="What they may do.")] = Role.ANALYST,
    epsilon: Most = None,
    per_question: PerQuestion = None,
    per_day: PerDay = None,
    days: Days = DAYS,
    people: Register = None,
    output: Output = Format.TABLE,
) -> None:
    """Enter somebody, with limits of their own if any are given, and print their token, once."""
    register = _register(manifest, people)
    if register.knows(person_name(name)):
        raise taken(name)
    with Paper(output) as paper:
        token = enter(manifest, register, name, role, epsilon, per_question, per_day, days=days)
        paper.fact("name", name)
        paper.fact("role", role.value)
        paper.fact("limit", None if epsilon is None else epsilon, epsilon or "that of the whole dataset")
        paper.fact("token", token)
        paper.say(
            "This token is shown once and kept only as a hash; send it over a channel you trust.", "dim"
        )


@app.command("list")
def listed(manifest: Manifest, people: Register = None, output: Output = Format.TABLE) -> None:
    """Show everybody who was entered."""
    register = _register(manifest, people)
    rows = [
        (
            person.name,
            person.role.value,
            person.standing(register.clock()),
            person.expires.date().isoformat(),
            " ".join(sorted(person.datasets)),
        )
        for person in register.all()
    ]
    with Paper(output) as paper:
        paper.table("", ("name", "role", "token", "expires", "datasets"), rows, name="people")


@app.command()
def limit(
    manifest: Manifest,
    name: Annotated[str | None, typer.Argument(help="Who; without a name everybody together.")] = None,
    epsilon: Most = None,
    per_question: PerQuestion = None,
    per_day: PerDay = None,
    people: Register = None,
    output: Output = Format.TABLE,
) -> None:
    """Let somebody ask about this dataset, up to these limits; what they spent before counts.

    A day begins at midnight, universal time; a limit per day counts from when it is first set.
    """
    from discreet.ledger import Scope

    register = _register(manifest, people)
    if name is not None and not register.knows(name):
        raise unknown(name)
    if name is None and (epsilon is not None or (per_question is None and per_day is None)):
        raise ParameterError(
            "everybody together has the budget of the manifest, which is raised in the console; give "
            "--per-question or --per-day, or say who is limited"
        )
    with Paper(output) as paper:
        catalog, ledger = _books(manifest)
        with ledger:
            if name is not None:
                _limit(ledger, catalog, name, epsilon)
            _pace(ledger, catalog, Scope(analyst=name), per_question, per_day)
            view = ledger.budget(catalog.name)
        if name is not None:
            register.allow(name, catalog.name)
        rows = [limit.cells for limit in view.every if limit.scope.analyst == name]
        paper.fact("limit", epsilon, f"on {name or 'everybody'}: {epsilon or 'as before'}")
        paper.table("", HEADS, rows, name="limits")


@app.command()
def project(
    manifest: Manifest,
    name: Annotated[str, typer.Argument(help="The project.")],
    members: Annotated[list[str] | None, typer.Argument(help="Who works for it from now on.")] = None,
    epsilon: Annotated[str | None, typer.Option(help="The most that it may spend on this dataset.")] = None,
    per_question: PerQuestion = None,
    per_day: PerDay = None,
    people: Register = None,
    output: Output = Format.TABLE,
) -> None:
    """Limit what a project may spend, and say whose questions count for it; what it spent before counts."""
    from discreet.ledger import Scope
    from discreet.ledger.name import one_name
    from discreet.service.deciding import like_cap

    register, called = _register(manifest, people), one_name(name, "project")
    for member in members or ():
        if not register.knows(member):
            raise unknown(member)
    with Paper(output) as paper:
        catalog, ledger = _books(manifest)
        with ledger:
            scope = Scope(project=called)
            if epsilon is not None:
                most = like_cap(catalog, epsilon)
                ledger.set_limit(catalog.name, scope, most, reason="limited for the service")
            _pace(ledger, catalog, scope, per_question, per_day)
            view = ledger.budget(catalog.name)
        for member in members or ():
            register.assign(member, catalog.name, called)
        paper.fact("project", called)
        paper.table("", HEADS, [one.cells for one in view.every if one.scope == scope], name="limits")


@app.command()
def revoke(manifest: Manifest, name: Name, people: Register = None, output: Output = Format.TABLE) -> None:
    """Make somebody's token worth nothing, at once; what they spent stays spent."""
    with Paper(output) as paper:
        _register(manifest, people).revoke(name)
        paper.fact("revoked", name)


@app.command()
def rotate(
    manifest: Manifest, name: Name, days: Days = DAYS, people: Register = None, output: Output = Format.TABLE
) -> None:
    """Print a new token for somebody, once; the old one is worth nothing from now on."""
    with Paper(output) as paper:
        paper.fact("token", _register(manifest, people).rotate(name, days=days))


def enter(
    manifest: Path,
    register: People,
    name: str,
    role: Role,
    epsilon: str | None,
    per_question: str | None = None,
    per_day: str | None = None,
    *,
    days: int = DAYS,
) -> str:
    """Enter somebody for a dataset and return their token."""
    from discreet.ledger import Scope

    catalog, ledger = _books(manifest)
    with ledger:
        # Limited before they exist: nobody asks without the limit they were meant to have.
        _limit(ledger, catalog, name, epsilon)
        _pace(ledger, catalog, Scope(analyst=name), per_question, per_day)
    return register.add(name, role, catalog.name, days=days)


def _register(manifest: Path, people: Path | None) -> People:
    return People(people or manifest.parent / FILE)


def _books(manifest: Path) -> "tuple[Catalog, Ledger]":
    from discreet.release.opening import open_books

    return open_books(manifest)


def _limit(ledger: "Ledger", catalog: "Catalog", name: str, epsilon: str | None) -> None:
    from discreet.service.deciding import admit

    admit(ledger, catalog, name, epsilon, "limited for the service", "entered for the service")


def _pace(
    ledger: "Ledger", catalog: "Catalog", scope: "Scope", question: str | None, day: str | None
) -> None:
    from discreet.service.deciding import keep_pace

    keep_pace(ledger, catalog, scope, question, day, "paced for the service")
