"""Which engine opens which tables: chosen here, so that nothing above has to know one by name."""

import contextlib
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from discreet.engines import duckdb
from discreet.engines.protocol import PRIVATE, Engine, Origin
from discreet.engines.records import RFC_4180, Dialect
from discreet.query.proof import Proved, sealed


def open_engine(
    tables: Mapping[str, Origin], *, folder: Path = Path(), timeout: float | None = None
) -> Engine:
    """Open declared tables for questions."""
    return duckdb.open_tables(tables, folder=folder, timeout=timeout)


def describe(rows: Any, *, dialect: Dialect = RFC_4180) -> tuple[tuple[str, str | None], ...]:
    """Return the columns of a source with their physical types, None where a cell could change them."""
    return duckdb.describe(rows, dialect=dialect)


def prepare(stem: str, name: str, origin: Origin, proved: Proved, choice: int, folder: Path) -> Origin:
    """Return the bounded copy of a table on disk, made when this version of the data is first opened.

    The name tells copies apart that were bounded by other limits, for another unit or from another source.
    """
    meant = "\n".join((repr(sealed(proved)), str(origin.rows), repr(origin.columns), repr(origin.dialect)))
    digest = sha256(meant.encode()).hexdigest()[:12]
    target = (folder / f"{stem}-{digest}.prepared.duckdb").resolve()
    if target.exists():
        _only_for_its_owner(target)
    else:
        duckdb.prepare(name, origin, proved, choice, target, folder=folder)
    return Origin(f"{target}#{name}", origin.columns)


def _only_for_its_owner(target: Path) -> None:
    """Take from others what an older version left them: a copy of raw rows that they may read."""
    mode = target.stat().st_mode & 0o777
    if mode & ~PRIVATE:
        with contextlib.suppress(PermissionError):
            target.chmod(PRIVATE)
