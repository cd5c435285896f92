"""Which engine opens which tables: chosen here, so that nothing above has to know one by name.

Private rows stay where they are.  All private tables of a dataset are in one place, and its public tables
travel there.
"""

import contextlib
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from discreet.engines import duckdb, postgres, spark
from discreet.engines.protocol import PRIVATE, PRIVATE_FOLDER, Engine, Origin, Preparation
from discreet.engines.records import RFC_4180, Dialect
from discreet.errors import CatalogError
from discreet.query.proof import sealed

_NO_WORD = re.compile(r"[^\w-]", re.ASCII)
"""What Spark would read as a pattern, or a hidden name; of a name that is for people only."""

_UNFIT = re.compile(r"[/#\x00-\x1f\x7f]")
"""What no name of a file in this folder can hold, or not before the table in it."""

_LONG = 150
"""A name is cut to so many bytes: with what is added to it a file system still takes it."""


def open_engine(
    tables: Mapping[str, Origin],
    *,
    folder: Path = Path(),
    timeout: float | None = None,
    threads: int | None = None,
) -> Engine:
    """Open declared tables for questions, where the private ones are.

    Files and frames are read by so many threads of this process, by default as many as the machine has cores.
    """
    places = {name: _place(name, origin.rows) for name, origin in tables.items()}
    home = _home(tables, places)
    own = {name: origin for name, origin in tables.items() if places[name] == home}
    others = {name: origin for name, origin in tables.items() if places[name] != home}
    if home is None:
        every = {**own, **_arrived(others)}
        return duckdb.open_tables(every, folder=folder, timeout=timeout, threads=threads)
    public = {name: (origin, _columns(name, origin, folder)) for name, origin in others.items()}
    if home[0] == "postgres":
        return postgres.open_tables(own, public, timeout=timeout)
    return spark.open_tables(own, public, timeout=timeout)


def _place(name: str, rows: Any) -> tuple[str, Any] | None:
    """Return where rows are: at a server, in what a Spark can read, or, for files and frames, here."""
    if postgres.is_server(rows):
        return "postgres", postgres.server_of(name, rows).server
    if spark.is_spark(rows):
        return "spark", spark.place_of(name, rows).address
    return None


def _home(tables: Mapping[str, Origin], places: Mapping[str, Any]) -> Any:
    """Return the one place of all private tables, None for files and frames."""
    private = {name: places[name] for name, origin in tables.items() if not origin.public} or places
    first, home = next(iter(private.items()))
    for name, place in private.items():
        if place != home and not tables[name].public:
            raise CatalogError(
                f"tables.{name}: private tables of one dataset must be in one place, and tables.{first} is "
                "in another; copy one of them to where the other is, or declare a dataset for each place"
            )
    return home


def _arrived(tables: Mapping[str, Origin]) -> dict[str, Origin]:
    """Return public tables of other places as frames."""
    import pyarrow

    types = {
        "integer": pyarrow.int64(),
        "decimal": pyarrow.float64(),
        "text": pyarrow.large_string(),
        "boolean": pyarrow.bool_(),
        "date": pyarrow.date32(),
        "timestamp": pyarrow.timestamp("us"),
    }
    found = {}
    for name, origin in tables.items():
        columns = _columns(name, origin, Path())
        held = {column: pyarrow.array(columns[column], types[kind]) for column, kind in origin.columns}
        found[name] = replace(origin, rows=pyarrow.table(held))
    return found


def _columns(name: str, origin: Origin, folder: Path) -> dict[str, list[Any]]:
    """Return a public table column by column, from wherever it is."""
    if postgres.is_server(origin.rows):
        return postgres.fetch(name, origin)
    if spark.is_spark(origin.rows):
        return spark.fetch(name, origin)
    return duckdb.fetch(name, origin, folder=folder)


def describe(rows: Any, *, dialect: Dialect = RFC_4180) -> tuple[tuple[str, str | None], ...]:
    """Return the columns of a source with their physical types, None where a cell could change them."""
    if postgres.is_server(rows):
        return postgres.describe(rows)
    return spark.describe(rows) if spark.is_spark(rows) else duckdb.describe(rows, dialect=dialect)


def prepare(asked: Preparation, stem: str, folder: Path) -> Origin:
    """Return the bounded copy of a table, made when this version of the data is first opened.

    It is where the rows are: a file or a folder of Spark's beside the manifest, a table of the same server.
    The name tells copies apart that were bounded by other limits, for another unit or from another source.
    """
    origin, name = asked.origin, asked.name
    meant = (repr(sealed(asked.proved)), str(origin.rows), repr(origin.columns), repr(origin.dialect))
    if postgres.is_server(origin.rows):
        # A server cuts long names, so everything is in the digest.
        return postgres.prepare(asked, stem, _digest(stem, *meant))
    if spark.is_spark(origin.rows):
        place = folder / f"{_words(stem)}-{_digest(stem, *meant)}.prepared"
        target = place.resolve()
        return _kept(asked, place, f"spark:{target}", lambda: spark.prepare(asked, target))
    fit = not _UNFIT.search(stem) and len(stem.encode()) <= _LONG
    named = f"{stem}-{_digest(*meant)}" if fit else f"{_words(stem)}-{_digest(stem, *meant)}"
    place = folder / f"{named}.prepared.duckdb"
    target = place.resolve()
    make = partial(duckdb.prepare, asked, target, folder=folder)
    return _kept(asked, place, f"{target}#{name}", make)


def _words(stem: str) -> str:
    """Return a name for people, of which two may be the same."""
    return _NO_WORD.sub("_", stem)[:_LONG]


def _digest(*meant: str) -> str:
    return sha256("\n".join(meant).encode()).hexdigest()[:12]


def _kept(asked: Preparation, place: Path, rows: str, make: Callable[[], None]) -> Origin:
    """Return the copy at a place, made unless it is there."""
    _refuse_others(asked.name, place)
    if place.exists():
        _only_for_its_owner(place)
    else:
        make()
        # Somebody may have been sooner.
        _refuse_others(asked.name, place)
    return Origin(rows, asked.origin.columns, copied=asked.unit)


def _refuse_others(name: str, place: Path) -> None:
    """Refuse what somebody else put where a copy belongs, or a link of theirs.

    Nobody has proved how many rows of a person it holds.
    """
    for found in (place, place.resolve()):
        if os.path.lexists(found) and os.lstat(found).st_uid not in (0, os.geteuid()):
            raise CatalogError(
                f"tables.{name}.prepared: what has the name of the bounded copy belongs to another user; "
                "open the data as the user who made it, or have it deleted"
            )


def _only_for_its_owner(target: Path) -> None:
    """Take from others what an older version left them: a copy of raw rows that they may read."""
    mode = PRIVATE_FOLDER if target.is_dir() else PRIVATE
    if target.stat().st_mode & 0o777 & ~mode:
        with contextlib.suppress(PermissionError):
            target.chmod(mode)
