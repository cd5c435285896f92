"""PostgreSQL: one read-only snapshot for each question, and nothing of it stays on the server.

Every question is a transaction of its own, REPEATABLE READ and READ ONLY, with settings that hold for it
alone: no locale, time zone or search path of a server, database or user changes what a statement means.
Tables are not views of the server but definitions inside each statement, so nothing is created; public tables
of other places travel along as parameters.  A connection that was lost is opened anew for the next question.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.engines.deadline import deadline
from discreet.engines.distant import DistantTables, Public
from discreet.engines.exact import EngineRequest, Exact, collect, whole
from discreet.engines.postgres.layout import laid_out
from discreet.engines.postgres.render import CHOICE, render
from discreet.engines.postgres.source import (
    COLUMNS,
    RANDOM,
    SHORT,
    ServerTable,
    driver,
    kinds,
    offered,
    plain,
    refuse_long,
    server_of,
)
from discreet.engines.protocol import FAILED, Origin
from discreet.engines.shelter import quietly
from discreet.engines.sql import quoted, sources
from discreet.errors import CatalogError, EngineError
from discreet.query.statement import JoinedRows, Statement, StoredTable

OLDEST = 140000
"""The first version of the server that has every function that statements use."""

PUBLIC_ROWS = 200_000
"""A public table of more rows belongs onto the server, and does not travel with each question."""

PATIENCE = "30s"
"""How long a question waits for a lock of the curator's before it fails."""

SETTINGS = {
    # What a statement means.
    "search_path": "pg_catalog",
    "timezone": "UTC",
    "datestyle": "ISO, YMD",
    "intervalstyle": "postgres",
    "extra_float_digits": "1",
    "standard_conforming_strings": "on",
    "transform_null_equals": "off",
    "array_nulls": "on",
    # How it runs: parts look small to the planner, and are not, so that nested loops would never end.
    "enable_nestloop": "off",
    "enable_mergejoin": "off",
    "work_mem": "512MB",
    # Each worker counts everybody's rows: one that also waits for the others would do so once more.
    "parallel_leader_participation": "off",
    "jit": "off",
    "lock_timeout": PATIENCE,
    "idle_in_transaction_session_timeout": "60s",
    # What it leaves in logs.
    "log_parameter_max_length_on_error": "0",
    "client_min_messages": "error",
}

_TYPES = {
    "integer": "bigint",
    "decimal": "float8",
    "text": "text",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "timestamp",
}


JOINING, GATHERING = 0.1, 0.01
"""What a row costs that a worker hands over, for the planner.

Where rows are joined with their people, workers do so by themselves, each with all people.  Elsewhere what
they hand over has been sorted, which is most of the work.
"""


@dataclass(frozen=True, slots=True)
class Definition:
    """A table as a statement defines it, and the kinds of its columns."""

    text: str
    kinds: Mapping[str, str]


class Postgres(DistantTables[ServerTable]):
    """Tables of one server; use `open_tables`."""

    def __init__(
        self,
        tables: Mapping[str, Origin],
        places: Mapping[str, ServerTable],
        public: Public,
        timeout: float | None,
    ) -> None:
        super().__init__(tables, places, public, timeout)
        self._connection: Any = None

    def written(self, statement: Statement) -> str:
        """Return a statement as PostgreSQL writes it, before its tables are defined; no server is asked."""
        return render(statement, self._columns)

    def _run(self, statements: Sequence[Statement], choice: int) -> Exact:
        requests = [EngineRequest("", s.keys, s.outputs, s.cells) for s in statements]
        with self._turn:
            self._stopped.clear()
            with deadline(self._timeout, self.interrupt), self._snapshot() as connection:
                connection.execute(f"SELECT set_config('{CHOICE}', $1, true)", [str(choice)])
                found = self._definitions(connection, {name for s in statements for name in _stored(s)})
                return collect(requests, [self._rows(connection, s, found) for s in statements])

    def _rows(
        self, connection: Any, statement: Statement, definitions: Mapping[str, Definition]
    ) -> list[tuple[object, ...]]:
        used, values = sorted(_stored(statement)), list[Sequence[Any]]()
        text = [definitions[name].text for name in used if name in definitions]
        known = self._columns | {name: dict(found.kinds) for name, found in definitions.items()}
        for name in used:
            if name in self._public:
                origin, columns = self._public[name]
                text.append(_travelling(name, origin, len(values)))
                values += columns.values()
        # A request to stop that came between two statements found nothing to stop.
        if self._stopped.is_set():
            raise EngineError(FAILED)
        connection.execute(f"SET LOCAL parallel_tuple_cost = {_cost(statement, known)}")
        found = connection.execute(render(statement, known, text), values or None).fetchall()
        return [tuple(map(whole, row)) for row in found]

    def _definitions(self, connection: Any, used: set[str]) -> dict[str, Definition]:
        """Return how each table is offered, by the types that its columns have in this very snapshot."""
        found = {}
        for name in self._tables.keys() & used:
            place = self._places[name]
            stored = dict(connection.execute(COLUMNS, [place.schema, place.table]).fetchall())
            # Statements read a table more than once, and a person's rows must be the same each time.
            if connection.execute(RANDOM, [place.schema, place.table]).fetchone()[0]:
                raise CatalogError(
                    f"tables.{name}.source: a view that samples, or calls a VOLATILE function as random() is "
                    "one, shows other rows each time it is read; offer a table, a materialized view, or "
                    "declare its functions STABLE or IMMUTABLE where they are"
                )
            short = connection.execute(SHORT, [place.schema, place.table]).fetchone()
            origin = self._tables[name]
            text = offered(name, origin, place, stored, short=short == (True,))
            found[name] = Definition(text, kinds(name, origin, stored))
        return found

    @contextlib.contextmanager
    def _snapshot(self, access: str = "READ ONLY") -> Iterator[Any]:
        """Yield a connection in a transaction that reads one snapshot and, unless told, can write nothing.

        What it wrote and did not commit is gone when it ends.
        """
        connection = self._begun(access)
        try:
            yield connection
        finally:
            with contextlib.suppress(Exception):
                connection.execute("ROLLBACK")

    def _begun(self, access: str) -> Any:
        begin = "; ".join(
            [
                f"BEGIN ISOLATION LEVEL REPEATABLE READ {access}",
                *(f"SET LOCAL {name} = '{value}'" for name, value in SETTINGS.items()),
                *(() if self._timeout is None else (f"SET LOCAL statement_timeout = {self._milliseconds}",)),
            ]
        )
        if self._connection is not None and not self._connection.closed:
            # The server may have gone away since the last question, which nobody has paid for yet.
            with contextlib.suppress(Exception):
                self._connection.execute("ROLLBACK")
                self._connection.execute(begin)
                return self._connection
        self.close()
        self._connection = connected(next(iter(self._places.values())))
        self._connection.execute(begin)
        return self._connection

    @property
    def _milliseconds(self) -> int:
        return max(1, int(1000 * (self._timeout or 0)))

    def interrupt(self) -> None:
        """Make whatever is running now end early, as a failure."""
        self._stopped.set()
        connection = self._connection
        if connection is not None and not connection.closed:
            with contextlib.suppress(Exception):
                connection.cancel_safe(timeout=5)

    def close(self) -> None:
        """Close the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(Exception):
                connection.close()


def connected(place: ServerTable) -> Any:
    """Return a connection to a server; what it says on failure stays unsaid."""
    psycopg = driver()
    return psycopg.connect(
        **{"application_name": "discreet", "connect_timeout": 10} | dict(place.server),
        autocommit=True,
        prepare_threshold=None,
        cursor_factory=psycopg.RawCursor,
        client_encoding="utf8",
    )


def open_tables(
    tables: Mapping[str, Origin],
    public: Public | None = None,
    *,
    timeout: float | None = None,
) -> Postgres:
    """Open tables of one server, beside public ones given column by column, and see that they are there."""
    public = public or {}
    refuse_long({**tables, **{name: origin for name, (origin, _) in public.items()}})
    for name, (_, columns) in public.items():
        if len(next(iter(columns.values()), ())) > PUBLIC_ROWS:
            raise CatalogError(
                f"tables.{name}: a public table of more than {PUBLIC_ROWS} rows would travel with every "
                "question; copy it onto the server and give it as postgresql://...#schema.table"
            )
    places = {name: server_of(name, origin.rows) for name, origin in tables.items()}
    engine = Postgres(tables, places, public, timeout)
    try:
        quietly(lambda: inspected(engine), unreachable(next(iter(tables))))
    finally:
        # Questions open their own connection, once they are paid.
        engine.close()
    return engine


def unreachable(name: str) -> CatalogError:
    """Return what is said of a server that does not answer, without its address."""
    return CatalogError(
        f"tables.{name}.source: the server could not be reached or read; check the address, and the user "
        "and password in the environment (PGUSER, PGPASSWORD), the password file or the service file"
    )


def inspected(engine: Postgres) -> None:
    """See that a server can answer questions, and has the tables with their declared columns."""
    with engine._snapshot() as connection:
        if connection.info.server_version < OLDEST:
            raise CatalogError("the server is too old; PostgreSQL 14 is the first that can answer questions")
        (encoding,) = connection.execute("SHOW server_encoding").fetchone()
        if encoding != "UTF8":
            raise CatalogError("the database is not encoded in UTF8, so its text could change its meaning")
        engine._definitions(connection, set(engine._tables))


def describe(rows: str) -> tuple[tuple[str, str | None], ...]:
    """Return the columns of a table with their types, by the words that all engines use."""
    place = server_of("data", rows)
    engine = Postgres({}, {"data": place}, {}, None)
    problem = CatalogError("the server could not be reached or read; check the address, user and password")

    def read() -> list[tuple[str, str]]:
        with engine._snapshot() as connection:
            return list(connection.execute(COLUMNS, [place.schema, place.table]).fetchall())

    try:
        found = quietly(read, problem)
    finally:
        engine.close()
    if not found:
        raise CatalogError("the server has no such table that this user may see")
    return tuple((name, plain(physical)) for name, physical in found)


def fetch(name: str, origin: Origin) -> dict[str, list[Any]]:
    """Return a public table column by column, to travel to where the private ones are."""
    engine = Postgres({name: origin}, {name: server_of(name, origin.rows)}, {}, None)
    problem = CatalogError(f"tables.{name}.source: the server could not be reached or read")

    def read() -> list[tuple[Any, ...]]:
        with engine._snapshot() as connection:
            definition = engine._definitions(connection, {name})[name].text
            text = f"WITH {definition} SELECT * FROM {quoted(name)} LIMIT {PUBLIC_ROWS + 1}"
            return list(connection.execute(text).fetchall())

    try:
        rows = quietly(read, problem)
    finally:
        engine.close()
    if len(rows) > PUBLIC_ROWS:
        raise CatalogError(
            f"tables.{name}: a public table of more than {PUBLIC_ROWS} rows is too large to travel"
        )
    return {column: [row[place] for row in rows] for place, (column, _) in enumerate(origin.columns)}


def _travelling(name: str, origin: Origin, before: int) -> str:
    """Return the definition of a public table whose columns are the parameters after so many others."""
    columns = [(quoted(column), _TYPES[kind]) for column, kind in origin.columns]
    arrays = ", ".join(f"CAST(${n} AS {kind}[])" for n, (_, kind) in enumerate(columns, before + 1))
    items = ", ".join(f'{own} COLLATE "C" AS {own}' if kind == "text" else own for own, kind in columns)
    names = ", ".join(own for own, _ in columns)
    return f"{quoted(name)} AS MATERIALIZED (SELECT {items} FROM unnest({arrays}) AS t({names}))"


def _cost(statement: Statement, tables: Mapping[str, Mapping[str, str]]) -> float:
    laid, _ = laid_out(statement, tables)
    return JOINING if isinstance(laid.body.source, JoinedRows) else GATHERING


def _stored(statement: Statement) -> set[str]:
    return {read.table for read in sources(statement) if isinstance(read, StoredTable)}
