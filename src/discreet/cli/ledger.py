"""`discreet ledger`: begin an account, back up, restore, change keys, give rights, watch."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.budget import locate

if TYPE_CHECKING:
    from discreet.ledger import Receipt
    from discreet.privacy.filter import Cost

Place = Annotated[str, typer.Argument(help="A manifest (.toml), a ledger file, or a postgresql:// address.")]
Key = Annotated[Path | None, typer.Option(help="The file that holds the ledger's key.")]
Where = Annotated[str | None, typer.Option(help="The ledger's anchor: a file, a directory/ or an address.")]
Reason = Annotated[str, typer.Option(help="Why; it is recorded in the ledger.")]

app = typer.Typer(help="Look after a ledger: back up, restore, change keys, give rights, watch.")


@app.command()
def backup(
    place: Place,
    target: Annotated[Path, typer.Argument(help="The file to write; it must not exist.")],
    key: Key = None,
) -> None:
    """Write all that a ledger holds into a file, and verify that file; key and anchor are not in it."""
    from discreet.ledger.backup import backup_ledger

    location, _ = locate(place)
    report = backup_ledger(location, target, key=key)
    for finding in report.findings:
        typer.echo(f"{target}: {finding}")
    if not report.trusted:
        typer.echo("The ledger does not hold, so neither does its backup: run discreet budget --verify.")
        raise typer.Exit(1)


@app.command()
def restore(
    source: Annotated[Path, typer.Argument(help="The backup.")],
    place: Place,
    reason: Reason,
    key: Key = None,
    anchor: Where = None,
    lost_epsilon: Annotated[
        str | None, typer.Option(help="The most that was spent since the backup, where no anchor knows.")
    ] = None,
    lost_delta: Annotated[str, typer.Option(help="... and the delta of it.")] = "0",
    receipt: Annotated[
        list[Path] | None, typer.Option(help="A file with a receipt that came with an answer; repeatable.")
    ] = None,
) -> None:
    """Put a backup where there is no ledger, and count what may have been released since as spent."""
    from discreet.ledger.backup import restore_ledger

    location, _ = locate(place)
    charges = restore_ledger(
        source,
        location,
        reason=reason,
        key=key,
        anchor=anchor,
        lost=_stated(lost_epsilon, lost_delta),
        receipts=[read_receipt(path) for path in receipt or ()],
    )
    for charge in charges:
        how = "as the anchor knows" if charge.known else "which nobody knows better"
        typer.echo(f"dataset {charge.dataset}: {charge.lost} counted as spent since the backup, {how}")


@app.command()
def rotate(
    place: Place,
    reason: Reason,
    key: Key = None,
    anchor: Where = None,
    new_key: Annotated[
        Path | None, typer.Option(help="Where to put the new key; else it takes the old one's place.")
    ] = None,
) -> None:
    """Give a ledger a new key; nothing that the old one could seal is accepted any more."""
    from discreet.ledger import open_ledger
    from discreet.ledger.rotating import rotate_ledger

    location, dataset = locate(place)
    where = rotate_ledger(location, reason=reason, key=key, anchor=anchor, target=new_key)
    typer.echo(f"the new key is in {where}; back the ledger up, for older backups need the older key")
    if dataset is not None and place.endswith(".toml"):
        from discreet.query.catalog.manifest import load
        from discreet.release.pinning import pin

        with open_ledger(location, key=where, anchor=anchor, create=False) as ledger:
            pin(Path(place), ledger.account_name(dataset), instead_of=load(place).account)


@app.command()
def grant(
    place: Place,
    member: Annotated[str, typer.Argument(help="A role of the PostgreSQL database.")],
    duty: Annotated[str, typer.Argument(help="curator, analyst or auditor.")],
) -> None:
    """Give a role of the database exactly the rights that its duty needs."""
    from discreet.errors import ParameterError
    from discreet.ledger.granting import RIGHTS, grant_ledger

    location, _ = locate(place)
    known = next((name for name in RIGHTS if name == duty), None)
    if known is None:
        raise ParameterError(f"the duty is curator, analyst or auditor, got {duty!r}")
    if not str(location).startswith(("postgresql://", "postgres://")):
        raise ParameterError(
            "a ledger in a file has no roles: the rights on the file decide who may write it"
        )
    grant_ledger(str(location), member, known)
    typer.echo(f"{member} may now do what {'an' if duty[0] == 'a' else 'a'} {duty} does, and nothing else")


@app.command()
def begin(
    manifest: Annotated[Path, typer.Argument(help="A manifest (.toml).")],
    reason: Reason,
    key: Key = None,
    anchor: Where = None,
) -> None:
    """Begin a new account for a manifest whose account is lost or given up; it remembers the old one."""
    from discreet.errors import CatalogError
    from discreet.ledger import open_ledger
    from discreet.query.catalog.manifest import load
    from discreet.release.pinning import pin
    from discreet.release.pricing import declared_budget

    catalog, (location, _) = load(manifest), locate(str(manifest))
    with open_ledger(location, key=key, anchor=anchor) as ledger:
        if catalog.name in ledger.datasets():
            raise CatalogError(
                f"the ledger already has an account of dataset {catalog.name}; give the dataset a new name, "
                "or remove the line `account` from the manifest to go on with this one"
            )
        before = catalog.account or "nothing known"
        ledger.create_dataset(catalog.name, declared_budget(catalog), reason=reason, instead_of=before)
        pin(manifest, ledger.account_name(catalog.name), instead_of=catalog.account)
    typer.echo(f"dataset {catalog.name} has a new account, and a full budget; {manifest} names it")


@app.command()
def watch(place: Place, key: Key = None, anchor: Where = None) -> None:
    """Print how each dataset stands, in the text format that Prometheus reads."""
    from discreet.ledger import open_ledger
    from discreet.ledger.gauge import exposition

    location, only = locate(place)
    with open_ledger(location, key=key, anchor=anchor, create=False, role="auditor") as ledger:
        names = [only] if only is not None else list(ledger.datasets())
        typer.echo(
            exposition({name: ledger.gauges(name) for name in names}, ledger.counters.read()), nl=False
        )


def read_receipt(path: Path) -> "Receipt":
    """Return the receipt in a file: its text, or JSON that holds one under `receipt`."""
    import json

    from discreet.errors import ParameterError
    from discreet.ledger import Receipt

    try:
        text = path.read_text(encoding="utf-8").strip()
        found = json.loads(text) if text.startswith(("{", '"')) else text
    except (OSError, ValueError):
        raise ParameterError(f"the file {path} with the receipt cannot be read") from None
    value = found.get("receipt") if isinstance(found, dict) else found
    if not isinstance(value, str):
        raise ParameterError(f"the file {path} holds no receipt")
    return Receipt.parse(value)


def _stated(epsilon: str | None, delta: str) -> "Cost | None":
    from discreet.privacy.filter import Cost

    return None if epsilon is None else Cost.approximate(epsilon, delta)
