"""DuckDB: files, frames and databases opened read-only behind typed views, then locked.

Each declared table becomes a view that offers exactly the declared columns with exactly the declared types;
a cell that does not fit its type is NULL, and so are NaN, infinity and dates outside the years 1 to 9999.
After the views exist the connection loses access to files, extensions and settings, so even a statement that
was not generated here could do nothing else.  Whatever goes wrong while a statement runs becomes one
constant error that carries neither data nor the engine's own message.
"""

import contextlib
import os
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, TypeVar

from discreet.engines.deadline import deadline
from discreet.engines.duckdb.render import render
from discreet.engines.duckdb.source import Again, expose, pattern_of, place_of
from discreet.engines.exact import EngineRequest, Exact, collect
from discreet.engines.protocol import FAILED, PRIVATE, UNPREPARED, Origin, Preparation
from discreet.engines.scratch import Scratch
from discreet.engines.shelter import quietly
from discreet.engines.sql import quoted, string
from discreet.errors import CatalogError, EngineError
from discreet.query.proof import ProvedStatement, sealed
from discreet.query.statement import Statement

T = TypeVar("T")

MEMORY = "4GB"

SPILL = "64GB"
"""What one engine may keep on disk beyond its memory; a question that needs more fails, and that tells."""

SLOTS = 2**21
"""Groups that all threads together may hold in arrays indexed by the key, instead of in hash tables.

Counting each person's rows is the heart of most questions, and takes a third of the time where people are
numbered densely; a slot takes some 24 bytes.
"""

FEW = 2**15
"""Where the engine expects no more rows than these to be read, it has one thread and no large arrays.

Its threads are woken for every part of a statement: a thousand rows took two of them a third longer than one,
and half as much processor time again.  From some fifty thousand rows on they are worth it.
"""

_EXPECTED = re.compile(r'"Estimated Cardinality": "(\d+)"')

_QUOTED = re.compile(r"""'[^']*'|"[^"]*\"""")
"""Constants and names; a quote that is doubled ends one and begins the next."""

KEPT = 16
"""How many of the newest statements are kept as texts: each is written for its quote, and then runs."""

_LOCKED = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
}


@dataclass(repr=False, eq=False)
class DuckDB:
    """An open set of tables; use `open_tables`."""

    connection: Any
    timeout: float | None = None
    _scratch: Scratch | None = None
    _turn: threading.Lock = field(default_factory=threading.Lock)
    _texts: dict[int, tuple[Statement, str]] = field(default_factory=dict)
    _again: list[Again] = field(default_factory=list)
    _reading: bool = False
    """Whether a transaction is open in which nothing has gone wrong."""

    def __repr__(self) -> str:
        return "<an engine with its tables, not shown>"

    def written(self, statement: Statement) -> str:
        """Return a statement as DuckDB writes it, worked out now or before for this very object."""
        found = self._texts.get(id(statement))
        # A statement that is kept here is there still, so nothing else has its number.
        if found is not None and found[0] is statement:
            return found[1]
        text = render(statement)
        if len(self._texts) >= KEPT:
            self._texts.clear()
        self._texts[id(statement)] = statement, text
        return text

    def run(self, statements: Sequence[ProvedStatement], choice: int) -> Exact:
        """Return the exact integers of proved statements, all on one snapshot.

        Whatever is not a statement that the checker has proved is refused before any data is touched.
        """
        return self._exact([self._request(sealed(proved)) for proved in statements], choice)

    def _request(self, statement: Statement) -> EngineRequest:
        return EngineRequest(self.written(statement), statement.keys, statement.outputs, statement.cells)

    def _exact(self, requests: Sequence[EngineRequest], choice: int) -> Exact:
        return quietly(lambda: self._run(requests, choice), EngineError(FAILED))

    def _run(self, requests: Sequence[EngineRequest], choice: int) -> Exact:
        # The tables belong to this one connection, so questions take turns on it.
        with self._turn, deadline(self.timeout, self.interrupt):
            return collect(requests, self.legibly(lambda: self._tables(requests, choice)))

    def expose(self, raw: str, name: str, origin: Origin, folder: Path) -> None:
        """Offer a table under its name."""
        again = expose(self.connection, raw, name, origin, folder)
        if again is not None:
            self._again.append(again)

    def legibly(self, work: Callable[[], T]) -> T:
        """Return what `work` returns; a text of a Parquet file that is not UTF-8 makes it begin anew.

        Such files are then read once more in a way that leaves out these texts and nothing else.  Which texts
        the engine comes across differs by question, so looking for them beforehand would mean all of them.
        """
        try:
            return work()
        except Exception as problem:
            if not self._again or "UTF8" not in str(problem):
                raise
        self._roll_back()
        while self._again:
            self._again[0]()
            self._again.pop(0)
        return work()

    def _tables(self, requests: Sequence[EngineRequest], choice: int) -> list[list[tuple[object, ...]]]:
        try:
            self._begin()
            tables = []
            for request in requests:
                bound = {"choice": choice} if _chooses(request.sql) else None
                tables.append(self.connection.execute(request.sql, bound).fetchall())
            return tables
        except BaseException:
            self._roll_back()
            raise

    def _begin(self) -> None:
        """Read only from here on, until something goes wrong.

        Nobody writes to the tables that it would show as they were, so one transaction does for all
        questions; to begin and end one for each took an eighth of the engine's time, or more, for small ones.
        """
        if self._reading:
            return
        begin = "BEGIN TRANSACTION READ ONLY"
        try:
            self.connection.execute(begin)
        except Exception:
            # An interruption may strike anywhere, even before the end of an earlier question's transaction.
            self._roll_back()
            self.connection.execute(begin)
        self._reading = True

    def _roll_back(self) -> None:
        self._reading = False
        with contextlib.suppress(Exception):
            self.connection.execute("ROLLBACK")

    def interrupt(self) -> None:
        """Make whatever is running now end early, as a failure."""
        self.connection.interrupt()

    def close(self) -> None:
        """Release the files and memory."""
        self.connection.close()
        if self._scratch is not None:
            self._scratch.close()

    def __enter__(self) -> "DuckDB":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _chooses(sql: str) -> bool:
    """Whether a statement asks for the key of the choice; a constant may hold the same characters."""
    return "$choice" in sql and "$choice" in _QUOTED.sub("", sql)


def open_tables(
    tables: Mapping[str, Origin],
    *,
    folder: Path = Path(),
    memory: str = MEMORY,
    spill: str = SPILL,
    threads: int | None = None,
    timeout: float | None = None,
) -> DuckDB:
    """Open the tables behind typed views and lock the connection down."""
    engine = connected(memory, spill, threads, timeout)
    try:
        _allow(engine, tables, folder)
        for position, (name, origin) in enumerate(tables.items()):
            engine.expose(f"__source{position}", name, origin, folder)
        quietly(lambda: _lock(engine, tables), CatalogError("the engine could not be locked down"))
    except BaseException:
        engine.close()
        raise
    return engine


def connected(
    memory: str = MEMORY, spill: str = SPILL, threads: int | None = None, timeout: float | None = None
) -> DuckDB:
    """Return an engine without tables; what does not fit into its memory goes to a private directory."""
    import duckdb

    scratch = Scratch()
    settings = {
        **_LOCKED,
        "memory_limit": memory,
        "temp_directory": str(scratch.path),
        **({} if threads is None else {"threads": str(threads)}),
    }
    engine = DuckDB(duckdb.connect(":memory:", config=settings), timeout, scratch)
    # Given while connecting, this limit is shown but not kept.
    engine.connection.execute(f"SET max_temp_directory_size = {string(spill)}")
    return engine


def _lock(engine: DuckDB, tables: Iterable[str]) -> None:
    settings = "SELECT current_setting('enable_progress_bar'), current_setting('threads')"
    bar, threads = engine.connection.execute(settings).fetchone()
    few = sum(_expected(engine.connection, name) for name in tables) <= FEW
    for setting in (
        "threads = 1" if few else f"perfect_ht_threshold = {_array_bits(int(threads))}",
        "enable_external_access = false",
        # In a notebook without widgets there is no bar, and DuckDB refuses to be told so.
        *(("enable_progress_bar = false",) if bar else ()),
        "lock_configuration = true",
    ):
        engine.connection.execute(f"SET {setting}")


def _expected(connection: Any, name: str) -> int:
    """Return how many rows the engine expects to read for a table, which it says without reading any."""
    _, plan = connection.execute(f"EXPLAIN (FORMAT json) SELECT 1 FROM {quoted(name)}").fetchone()
    return max(map(int, _EXPECTED.findall(plan)), default=FEW + 1)


def _array_bits(threads: int) -> int:
    """Return the widest key, in bits, for which each thread may keep an array."""
    return (SLOTS // threads).bit_length() - 1


def prepare(asked: Preparation, target: Path, *, folder: Path = Path()) -> None:
    """Run a proved preparation of one table and keep its rows as a table of the same name in a file.

    The file appears complete or not at all, and only its owner can read it: until it is complete it stands in
    a directory of its own, which nobody else can enter.
    """
    sql = f"{render(sealed(asked.proved))}\nORDER BY {quoted(asked.unit)}"
    with (
        TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as private,
        connected() as engine,
    ):
        partial = Path(private) / "prepared.duckdb"
        engine.expose("__source", asked.name, asked.origin, folder)
        quietly(lambda: _keep(engine, asked.name, sql, asked.choice, partial), EngineError(UNPREPARED))
        os.chmod(partial, PRIVATE)
        os.replace(partial, target)


def _keep(engine: DuckDB, name: str, sql: str, choice: int, partial: Path) -> None:
    create = f"CREATE TABLE __prepared.{quoted(name)} AS {sql}"
    engine.connection.execute(f"ATTACH {string(str(partial))} AS __prepared")
    engine.legibly(lambda: engine.connection.execute(create, {"choice": choice}))
    engine.connection.execute("DETACH __prepared")


def fetch(name: str, origin: Origin, *, folder: Path = Path()) -> dict[str, list[Any]]:
    """Return a public table column by column, to travel to where the private ones are."""
    with open_tables({name: origin}, folder=folder) as engine:
        found = quietly(
            lambda: engine.legibly(
                lambda: engine.connection.execute(f"SELECT * FROM {quoted(name)}").fetchall()
            ),
            CatalogError(f"tables.{name}.source could not be read; check its format"),
        )
        return {column: [row[n] for row in found] for n, (column, _) in enumerate(origin.columns)}


def _allow(engine: DuckDB, tables: Mapping[str, Origin], folder: Path) -> None:
    places = [
        place_of(origin.rows, folder) for origin in tables.values() if isinstance(origin.rows, str | Path)
    ]
    paths = dict.fromkeys(path for place in places for path in (str(place), pattern_of(place)))
    listed = ", ".join(string(path) for path in paths)
    engine.connection.execute(f"SET allowed_paths = [{listed}]")
