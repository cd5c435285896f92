"""Spark: each question on tables that are looked up once, and nothing of it stays in the session.

A table becomes a view of the session that offers exactly the declared columns; it is resolved when a question
begins, so all statements of the question read the same files.  A part of a statement that is used twice is
kept until the statement has ended, so it is computed once.  What arrives here are exact integers; a task that
failed, or was run twice, has only computed them again.
"""

import contextlib
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from discreet.engines.deadline import deadline
from discreet.engines.distant import DistantTables, Public
from discreet.engines.exact import EngineRequest, Exact, collect, whole
from discreet.engines.protocol import FAILED, Origin
from discreet.engines.shelter import quietly
from discreet.engines.spark import bucket
from discreet.engines.spark.folder import read_folder
from discreet.engines.spark.render import quoted, render
from discreet.engines.spark.session import begun, has_ended, is_remote, unlogged
from discreet.engines.spark.source import SparkTable, offered, place_of, plain
from discreet.engines.sql import sources
from discreet.errors import CatalogError, EngineError
from discreet.query.statement import ROWS, JoinedRows, Named, Source, Statement, StoredTable

PUBLIC_ROWS = 200_000
"""A public table of more rows belongs where the private ones are, and does not travel."""

_TYPES = {
    "integer": "BIGINT",
    "decimal": "DOUBLE",
    "text": "STRING",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP_NTZ",
}


class Spark(DistantTables[SparkTable]):
    """Tables that one Spark can read; use `open_tables`."""

    def __init__(
        self,
        tables: Mapping[str, Origin],
        places: Mapping[str, SparkTable],
        public: Public,
        timeout: float | None,
    ) -> None:
        super().__init__(tables, places, public, timeout)
        self._asking = threading.Event()
        self._session: Any = None

    def written(self, statement: Statement) -> str:
        """Return a statement as Spark writes it, before its tables are defined; no session is opened."""
        return str(render(statement, self._columns, self._copied))

    @property
    def _copied(self) -> frozenset[str]:
        """The tables whose rows of a person are together."""
        own = {name: self._places[name].folder for name, origin in self._tables.items() if origin.copied}
        return frozenset(name for name, folder in own.items() if bucket.are_in(folder))

    def _run(self, statements: Sequence[Statement], choice: int) -> Exact:
        requests = [EngineRequest("", s.keys, s.outputs, s.cells) for s in statements]
        used = {read.table for s in statements for read in sources(s) if isinstance(read, StoredTable)}
        with self._turn:
            self._stopped.clear()
            with deadline(self._timeout, self.interrupt), self._looking(used) as session:
                return collect(requests, [self._rows(session, s, choice) for s in statements])

    def _rows(self, session: Any, statement: Statement, choice: int) -> list[tuple[object, ...]]:
        written = render(statement, self._columns, self._copied)
        uses = Counter(read.name for read in sources(statement) if isinstance(read, Named))
        joined, kept = _joined(statement.body.source), []

        def asked(text: str) -> Any:
            if self._stopped.is_set():
                raise EngineError(FAILED)
            return session.sql(text, {"choice": choice} if ":choice" in text else None)

        try:
            for name, text in written.parts:
                part = asked(text)
                # Rows are read again rather than kept: filters reach the files, and nothing is copied.
                if name != ROWS and (uses[name] > 1 or name in joined):
                    kept.append(part.persist())
                if name in joined:
                    # Once it is known how many people there are, few enough are sent to where their rows are.
                    part.count()
                part.createOrReplaceTempView(quoted(name))
            return [tuple(map(whole, row)) for row in _rows_of(asked(written.body))]
        finally:
            for part in kept:
                part.unpersist()
            for name, _ in written.parts:
                session.catalog.dropTempView(name)

    @contextlib.contextmanager
    def _looking(self, used: set[str]) -> Iterator[Any]:
        """Yield a session in which the used tables are views; after a failure the next one is new."""
        with unlogged():
            session = self._begun()
            self._asking.set()
            try:
                for name in sorted(self._tables.keys() & used):
                    self._offer(session, name)
                yield session
            except BaseException:
                self.close()
                raise
            finally:
                self._asking.clear()

    def _begun(self) -> Any:
        if self._session is not None and not has_ended(self._session):
            return self._session
        self._session = begun(next(iter(self._places.values())).address)
        for name, (origin, columns) in self._public.items():
            types = ", ".join(f"{quoted(column)} {_TYPES[kind]}" for column, kind in origin.columns)
            rows = list(zip(*(columns[column] for column, _ in origin.columns), strict=True))
            self._session.createDataFrame(rows, types).createOrReplaceTempView(quoted(name))
        return self._session

    def _offer(self, session: Any, name: str) -> None:
        """Make a table a view of the session, by the types that its columns have now."""
        origin = self._tables[name]
        found = _read(session, name, self._places[name], origin.copied)
        if not is_remote(session) and not found._jdf.queryExecution().analyzed().deterministic():
            # Rows are read more than once, and a person's weights hold for those that were counted.
            raise CatalogError(
                f"tables.{name}.source: a view with something random in it shows other rows each time it is "
                "read; store what it shows as a table"
            )
        if origin.copied:
            found.createOrReplaceTempView(quoted(name))
            return
        stored = {column.name: column.dataType.simpleString() for column in found.schema.fields}
        raw = quoted(f"__stored_{name}")
        found.createOrReplaceTempView(raw)
        session.sql(offered(name, origin, raw, stored)).createOrReplaceTempView(quoted(name))

    def interrupt(self) -> None:
        """Make whatever is running now end early, as a failure."""
        self._stopped.set()
        threading.Thread(target=self._stop, daemon=True).start()

    def _stop(self) -> None:
        """End the jobs of the question until it has ended: between two of them there is nothing to stop."""
        session, waiting = self._session, threading.Event()
        while self._asking.is_set() and self._stopped.is_set() and session is not None:
            with contextlib.suppress(Exception):
                session.interruptAll()
            waiting.wait(0.1)

    def close(self) -> None:
        """Let the session go; Java itself ends with this process."""
        session, self._session = self._session, None
        if session is not None and is_remote(session):
            with contextlib.suppress(Exception):
                session.stop()


def _rows_of(frame: Any) -> Iterator[tuple[object, ...]]:
    """Yield the rows of an answer; as columns they arrive in a third of the time of rows."""
    try:
        found = frame.toArrow()
    except Exception as problem:
        # Spark ends what was interrupted, and then says only that it has ended.
        cause: BaseException | None = problem
        while cause is not None:
            if isinstance(cause, KeyboardInterrupt):
                raise KeyboardInterrupt from None
            cause = cause.__context__
        raise
    return zip(*(column.to_pylist() for column in found.columns), strict=True)


def _joined(source: Source) -> set[str]:
    """Return the parts that a statement's rows are joined with."""
    match source:
        case JoinedRows(left, Named(name, _)):
            return _joined(left) | {name}
        case _:
            return set()


def _read(session: Any, name: str, place: SparkTable, copied: str = "") -> Any:
    if copied:
        return bucket.read(session, copied, place.folder)
    if place.table:
        # What was remembered of a table's files may be old.
        with contextlib.suppress(Exception):
            session.catalog.refreshTable(place.sql)
        return session.table(place.sql)
    try:
        return read_folder(session, place.folder)
    except CatalogError as refusal:
        raise CatalogError(f"tables.{name}.source: {refusal}") from None


def open_tables(
    tables: Mapping[str, Origin],
    public: Public | None = None,
    *,
    timeout: float | None = None,
) -> Spark:
    """Open tables of one Spark, beside public ones given column by column, and see that they are there."""
    public = public or {}
    for name, (_, columns) in public.items():
        if len(next(iter(columns.values()), ())) > PUBLIC_ROWS:
            raise CatalogError(
                f"tables.{name}: a public table of more than {PUBLIC_ROWS} rows would travel into every "
                "session; put it where the private tables are and give it as spark:catalog.table"
            )
    places = {name: place_of(name, origin.rows) for name, origin in tables.items()}
    engine = Spark(tables, places, public, timeout)
    first = next(iter(tables))
    quietly(lambda: _inspected(engine), _unreadable(first))
    return engine


def _unreadable(name: str) -> CatalogError:
    return CatalogError(
        f"tables.{name}.source: Spark could not be reached, or could not read it; check the address, the "
        "name of the table or the folder of Parquet files, and the environment (SPARK_REMOTE, SPARK_CONF_DIR)"
    )


def _inspected(engine: Spark) -> None:
    with engine._looking(set(engine._tables)):
        pass


def describe(rows: str) -> tuple[tuple[str, str | None], ...]:
    """Return the columns of a table with their types, by the words that all engines use."""
    place = place_of("data", rows)
    engine = Spark({}, {"data": place}, {}, None)

    def read() -> list[tuple[str, str]]:
        with engine._looking(set()) as session:
            fields = _read(session, "data", place).schema.fields
        return [(column.name, column.dataType.simpleString()) for column in fields]

    try:
        found = quietly(read, _unreadable("data"))
    finally:
        engine.close()
    return tuple((name, plain(physical)) for name, physical in found)


def fetch(name: str, origin: Origin) -> dict[str, list[Any]]:
    """Return a public table column by column, to travel to where the private ones are."""
    engine = open_tables({name: origin})

    def read() -> list[tuple[Any, ...]]:
        with engine._looking({name}) as session:
            return [tuple(row) for row in session.table(quoted(name)).limit(PUBLIC_ROWS + 1).collect()]

    try:
        rows = quietly(read, _unreadable(name))
    finally:
        engine.close()
    if len(rows) > PUBLIC_ROWS:
        raise CatalogError(
            f"tables.{name}: a public table of more than {PUBLIC_ROWS} rows is too large to travel"
        )
    return {column: [row[place] for row in rows] for place, (column, _) in enumerate(origin.columns)}
