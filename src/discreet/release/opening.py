"""Opening data: a manifest, a file, or frames with their declarations, and the ledger that goes with them."""

import os
from collections.abc import Mapping
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any
from weakref import finalize

from discreet.engines.opening import open_engine
from discreet.engines.shelter import Sheltered, shelter
from discreet.errors import CatalogError, ConflictError
from discreet.exact.number import Real as Number
from discreet.exact.number import positive, rational
from discreet.ledger import Ledger, open_ledger
from discreet.ledger.signing import Name
from discreet.privacy.filter import ApproximateBudget, Budget
from discreet.query.catalog.manifest import Catalog, load
from discreet.release.pinning import pin
from discreet.release.pricing import declared_budget, promised
from discreet.release.session import Session
from discreet.release.sources import declared, origins

KEYWORDS = (
    *("unit", "neighbours", "rows_per_unit", "groups_per_unit", "rows_per_group", "columns", "csv"),
    *("epsilon", "delta", "slack", "ledger", "analyst", "project", "timeout", "name"),
)
"""What `open` takes besides tables."""


def open(  # noqa: A001 - reads as dp.open
    data: Any = None,
    *,
    unit: str | None = None,
    neighbours: str | None = None,
    rows_per_unit: int | None = None,
    groups_per_unit: int | None = None,
    rows_per_group: int | None = None,
    columns: Mapping[str, Any] | None = None,
    csv: Mapping[str, Any] | None = None,
    epsilon: Number | None = None,
    delta: Number = 0,
    slack: Number | None = None,
    ledger: str | Path | None = None,
    analyst: str = "analyst",
    project: str = "project",
    timeout: float | None = None,
    name: str = "dataset",
    **tables: Any,
) -> Session:
    """Open data for private questions.

    `data` is a manifest (.toml), a file of data, or a frame, which questions call `data`; tables can also be
    given by name as frames or paths, `dp.open(people=frame, unit="person_id", epsilon=1)`.  The keywords up
    to `csv` are the keys of a manifest's table section.  A budget given here without a ledger lasts as long
    as the session; with one it is durable.  `slack` is the part of delta for finding keys.
    """
    # Before anything can go wrong: an error's traceback shows local variables to whoever asks for them.
    data = None if data is None else shelter(data)
    tables = {table: shelter(rows) for table, rows in tables.items()}
    declarations = {
        "unit": unit,
        "neighbours": neighbours,
        "rows_per_unit": rows_per_unit,
        "groups_per_unit": groups_per_unit,
        "rows_per_group": rows_per_group,
        "columns": columns,
        "csv": csv,
    }
    section = {key: value for key, value in declarations.items() if value is not None}
    _refuse_misspelt(tables)
    if isinstance(data, str | Path) and _is_manifest(data):
        if tables or section or epsilon is not None:
            raise CatalogError("a manifest already declares tables and budget; leave the other arguments out")
        catalog = load(data)
        frames: dict[str, Any] = {}
        home: str | Path | None = _home(Path(data), catalog, ledger)
    else:
        if epsilon is None:
            raise CatalogError("give a budget: epsilon=..., the most that all answers together may cost")
        budget = {"epsilon": str(positive(epsilon, "epsilon")), "delta": str(rational(delta, "delta"))}
        budget |= {} if slack is None else {"slack": str(rational(slack, "slack"))}
        catalog, frames = declared(data, tables, section, name=name, budget=budget)
        home = ledger
    manifest = Path(data) if not frames and isinstance(data, str | Path) and _is_manifest(data) else None
    return open_catalog(
        catalog, frames, home, analyst=analyst, project=project, timeout=timeout, manifest=manifest
    )


def _is_manifest(data: object) -> bool:
    return isinstance(data, str | Path) and Path(data).suffix == ".toml"


def open_manifest(manifest: str | Path, *, threads: int | None = None) -> Session:
    """Open what a manifest declares, with an engine of so many threads: one of several beside each other."""
    place, catalog = Path(manifest), load(manifest)
    return open_catalog(catalog, {}, _home(place, catalog), manifest=place, threads=threads)


def open_books(manifest: str | Path) -> tuple[Catalog, Ledger]:
    """Return what a manifest declares and its ledger with the dataset's account; no data is opened."""
    catalog = load(manifest)
    book = open_ledger(_home(Path(manifest), catalog))
    try:
        _agree(book, catalog, declared_budget(catalog), Path(manifest))
    except BaseException:
        book.close()
        raise
    return catalog, book


def _home(manifest: Path, catalog: Catalog, ledger: str | Path | None = None) -> str | Path:
    """Return where the ledger of a manifest is: a file beside it, unless it says otherwise."""
    home = ledger or catalog.ledger or f"{manifest.stem}.ledger"
    if isinstance(home, str) and not home.startswith(("postgresql://", "postgres://")):
        return catalog.folder / home
    return home


def _refuse_misspelt(tables: Mapping[str, Any]) -> None:
    """Refuse what can only be a keyword with a slip in it: a name near one, and nothing to read."""
    for table, rows in tables.items():
        near = get_close_matches(table, KEYWORDS, 1, 0.75)
        readable = isinstance(rows, str | Path) and Path(str(rows).partition("#")[0]).is_file()
        if near and not readable and not (isinstance(rows, Sheltered) and rows.is_frame):
            raise CatalogError(f"open has no keyword {table!r}; did you mean {near[0]}?")


def open_catalog(
    catalog: Catalog,
    frames: Mapping[str, Any],
    home: str | Path | None = None,
    *,
    analyst: str = "analyst",
    project: str = "project",
    timeout: float | None = None,
    manifest: Path | None = None,
    threads: int | None = None,
) -> Session:
    """Open a catalog whose tables are files or the given frames, with its ledger at `home` or in memory.

    The account is pinned in the `manifest` that declared the catalog, if one did.
    """
    budget = declared_budget(catalog)
    found = origins(catalog, frames)
    engine = open_engine(found, folder=catalog.folder, timeout=timeout, threads=threads)
    scratch = mkdtemp(prefix="discreet-", dir=_memory()) if home is None else None
    try:
        # A ledger that the manifest names is somewhere, or lost: a new one would be a new budget.
        book = (
            open_ledger(home, create=catalog.account is None)
            if home is not None
            else _open_scratch(Path(scratch or ""))
        )
        try:
            _agree(book, catalog, budget, manifest)
        except BaseException:
            book.close()
            raise
    except BaseException:
        engine.close()
        if scratch is not None:
            rmtree(scratch, ignore_errors=True)
        raise
    session = Session(catalog, engine, book, analyst, project, manifest)
    if scratch is not None:
        session._scratch = finalize(session, rmtree, scratch, ignore_errors=True)
    return session


def _memory() -> str | None:
    """Return a directory in memory, where a ledger that lasts only as long as its session is quickest."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108 - mkdtemp makes it private


def _open_scratch(folder: Path) -> Ledger:
    """Open a ledger that lasts as long as its session, with a key and an anchor of its own.

    What the environment names belongs to a ledger that stays.
    """
    place = folder / "session.ledger"
    return open_ledger(place, key=Path(f"{place}.key"), anchor=Path(f"{place}.anchor"))


def _agree(book: Ledger, catalog: Catalog, budget: Budget, manifest: Path | None) -> None:
    """Open the dataset's account with the declared cap, or make sure that it is the one declared."""
    dataset = catalog.name
    if catalog.account is not None:
        book.require_account(dataset, Name.parse(catalog.account))
    elif dataset not in book.datasets():
        # Somebody else may open the same data for the first time at this very moment.
        with suppress(ConflictError):
            book.create_dataset(dataset, budget, reason="declared when the data was first opened")
    capped = book.budget(dataset).limits[0].budget
    # The promise is what is declared; by which rule it is kept is what the ledger began with.
    if promised(capped) != promised(budget):
        raise CatalogError(
            f"the ledger caps dataset {dataset} at {capped}, but {budget} is declared; a cap "
            "changes only by an entry of its own: Ledger.set_limit(dataset, EVERYBODY, budget, reason=...)"
        )
    declared = None if catalog.budget is None else catalog.budget.slack
    if declared is not None and isinstance(capped, ApproximateBudget) and capped.slack != declared:
        raise CatalogError(
            f"the ledger keeps {float(capped.slack):g} of delta for keys, as it began with, but "
            f"budget.slack = {float(declared):g} is declared; what it began with cannot be changed"
        )
    if catalog.account is None and manifest is not None:
        pin(manifest, book.account_name(dataset))
