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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any

from discreet.engines import frame, records
from discreet.engines.duckdb.render import render
from discreet.engines.exact import Exact, Request, collect
from discreet.engines.protocol import FAILED, PRIVATE, Origin
from discreet.engines.records import RFC_4180, Dialect
from discreet.engines.scratch import Scratch
from discreet.engines.shelter import Sheltered, exposed, quietly, shelter
from discreet.errors import CatalogError, EngineError
from discreet.query.name import same
from discreet.query.proof import Proved, sealed
from discreet.query.statement import Statement

MEMORY = "4GB"
SPILL = "64GB"
"""What one engine may keep on disk beyond its memory; a question that needs more fails, and that tells."""

SLOTS = 2**21
"""Groups that all threads together may hold in arrays indexed by the key, instead of in hash tables.

Counting each person's rows is the heart of most questions, and takes a third of the time where people are
numbered densely; a slot takes some 24 bytes.
"""

_TYPES = {
    "integer": ("BIGINT", "TRY_CAST({0} AS BIGINT)"),
    "decimal": (None, "CASE WHEN isfinite(TRY_CAST({0} AS DOUBLE)) THEN TRY_CAST({0} AS DOUBLE) END"),
    "text": ("VARCHAR", "TRY_CAST({0} AS VARCHAR)"),
    "boolean": ("BOOLEAN", "TRY_CAST({0} AS BOOLEAN)"),
    "date": (
        None,
        "CASE WHEN TRY_CAST({0} AS DATE) BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' "
        "THEN TRY_CAST({0} AS DATE) END",
    ),
    "timestamp": (
        None,
        "CASE WHEN TRY_CAST({0} AS TIMESTAMP) BETWEEN TIMESTAMP '0001-01-01' "
        "AND TIMESTAMP '9999-12-31 23:59:59.999999' "
        "THEN TRY_CAST({0} AS TIMESTAMP) END",
    ),
    "identifier": (None, "TRY_CAST({0} AS VARCHAR)"),
}
_WHOLE = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?$")
_TEXT_FILES = {".csv", ".tsv", ".txt"}
_TABLES = {".duckdb", ".db", ".ddb"}
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

    def __repr__(self) -> str:
        return "<an engine with its tables, not shown>"

    def written(self, statement: Statement) -> str:
        """Return a statement as DuckDB writes it."""
        return render(statement)

    def run(self, statements: Sequence[Proved], choice: int) -> Exact:
        """Return the exact integers of proved statements, all on one snapshot.

        Whatever is not a statement that the checker has proved is refused before any data is touched.
        """
        return self._exact([_request(sealed(proved)) for proved in statements], choice)

    def _exact(self, requests: Sequence[Request], choice: int) -> Exact:
        return quietly(lambda: self._run(requests, choice), EngineError(FAILED))

    def _run(self, requests: Sequence[Request], choice: int) -> Exact:
        # The tables belong to this one connection, so questions take turns on it.
        with self._turn, self._deadline():
            return collect(requests, self._tables(requests, choice))

    @contextlib.contextmanager
    def _deadline(self) -> Iterator[None]:
        if self.timeout is None:
            yield
            return
        timer = threading.Timer(self.timeout, self.connection.interrupt)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _tables(self, requests: Sequence[Request], choice: int) -> list[list[tuple[object, ...]]]:
        # An interruption may strike anywhere, even before the end of an earlier question's transaction.
        self._roll_back()
        try:
            self.connection.execute("BEGIN TRANSACTION READ ONLY")
            tables = []
            for request in requests:
                bound = {"choice": choice} if "$choice" in request.sql else None
                tables.append(self.connection.execute(request.sql, bound).fetchall())
            return tables
        finally:
            self._roll_back()

    def _roll_back(self) -> None:
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


def _request(statement: Statement) -> Request:
    return Request(render(statement), statement.keys, statement.outputs, statement.cells)


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
    engine = _connected(memory, spill, threads, timeout)
    try:
        _allow(engine, tables, folder)
        for position, (name, origin) in enumerate(tables.items()):
            _expose(engine, f"__source{position}", name, origin, folder)
        quietly(lambda: _lock(engine), CatalogError("the engine could not be locked down"))
    except BaseException:
        engine.close()
        raise
    return engine


def _connected(
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
    engine.connection.execute(f"SET max_temp_directory_size = {_string(spill)}")
    return engine


def _lock(engine: DuckDB) -> None:
    # In a notebook without widgets there is no bar, and DuckDB refuses to be told so.
    bar = engine.connection.execute("SELECT current_setting('enable_progress_bar')").fetchone()
    for setting in (
        f"perfect_ht_threshold = {_array_bits(engine)}",
        "enable_external_access = false",
        *(() if bar == (False,) else ("enable_progress_bar = false",)),
        "lock_configuration = true",
    ):
        engine.connection.execute(f"SET {setting}")


def _array_bits(engine: DuckDB) -> int:
    """Return the widest key, in bits, for which each thread may keep an array."""
    (used,) = engine.connection.execute("SELECT current_setting('threads')").fetchone()
    return (SLOTS // int(used)).bit_length() - 1


def prepare(
    name: str, origin: Origin, preparing: Proved, choice: int, target: Path, *, folder: Path = Path()
) -> None:
    """Run a proved preparation of one table and keep its rows as a table of the same name in a file.

    The file appears complete or not at all, and only its owner can read it: until it is complete it stands in
    a directory of its own, which nobody else can enter.
    """
    sql = render(sealed(preparing))
    with (
        TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as private,
        _connected() as engine,
    ):
        partial = Path(private) / "prepared.duckdb"
        _expose(engine, "__source", name, origin, folder)
        quietly(lambda: _keep(engine, name, sql, choice, partial), EngineError(FAILED))
        os.chmod(partial, PRIVATE)
        os.replace(partial, target)


def _keep(engine: DuckDB, name: str, sql: str, choice: int, partial: Path) -> None:
    engine.connection.execute(f"ATTACH {_string(str(partial))} AS __prepared")
    engine.connection.execute(f"CREATE TABLE __prepared.{_name(name)} AS {sql}", {"choice": choice})
    engine.connection.execute("DETACH __prepared")


def _allow(engine: DuckDB, tables: Mapping[str, Origin], folder: Path) -> None:
    paths = [
        str(place_of(origin.rows, folder))
        for origin in tables.values()
        if isinstance(origin.rows, str | Path)
    ]
    listed = ", ".join(_string(path) for path in paths)
    engine.connection.execute(f"SET allowed_paths = [{listed}]")


def place_of(rows: str | Path, folder: Path) -> Path:
    """Return the file that holds a table."""
    return (folder / str(rows).partition("#")[0]).resolve()


def _expose(engine: DuckDB, raw: str, name: str, origin: Origin, folder: Path) -> None:
    """Offer the declared columns of a source, with the declared types, under the table's name."""
    if isinstance(origin.rows, Sheltered):
        problem = CatalogError(
            f"table {name}: the frame could not be read; give a pandas, Polars or Arrow table"
        )
        quietly(lambda: _expose_frame(engine, raw, name, origin), problem)
        return
    place = place_of(origin.rows, folder)
    if not place.is_file():
        raise CatalogError(f"tables.{name}.source: there is no file {place}")
    problem = CatalogError(f"tables.{name}.source: {place.name} could not be read; check its format")
    if is_text(place):
        quietly(lambda: _expose_records(engine, raw, name, origin, place), problem)
        return
    found = quietly(lambda: _attach(engine, raw, name, origin.rows, place), problem)
    columns = _described(engine, name, found)
    quietly(lambda: _view(engine, name, found, columns, origin), problem)


def _expose_frame(engine: DuckDB, raw: str, name: str, origin: Origin) -> None:
    rows = exposed(origin.rows)
    stored = _stored(name, frame.schema(rows)[0], origin, "the frame")
    kinds = {stored[column]: kind for column, kind in origin.columns}
    engine.connection.register(raw, frame.table(rows, kinds))
    found = engine.connection.execute(f"DESCRIBE SELECT * FROM {_name(raw)}").fetchall()
    _view(engine, name, _name(raw), {row[0]: row[1] for row in found}, origin, stored)


def _expose_records(engine: DuckDB, raw: str, name: str, origin: Origin, place: Path) -> None:
    """Read the declared columns of a text file into memory, each cell converted by itself."""
    import pyarrow

    with pyarrow.input_stream(str(place), compression="detect") as stream:
        file = records.read(stream, origin.dialect)
        stored = _stored(name, file.names, origin, place.name)
        # Where no column is declared, rows can still be counted.
        wanted = [file.names.index(stored[column]) for column, _ in origin.columns] or [0]
        schema = pyarrow.schema([(f"c{i}", pyarrow.large_string()) for i in range(len(wanted))])
        reader = pyarrow.RecordBatchReader.from_batches(schema, file.batches(wanted))
        engine.connection.register(raw, reader)
        items = [
            f"{_typed(_present(f'c{i}', origin.dialect), 'VARCHAR', kind)} AS {_name(column)}"
            for i, (column, kind) in enumerate(origin.columns)
        ]
        engine.connection.execute(
            f"CREATE TABLE {_name(name)} AS SELECT {', '.join(items) or '1 AS nothing'} FROM {_name(raw)}"
        )
        engine.connection.unregister(raw)


def _present(column: str, dialect: Dialect) -> str:
    if not dialect.null:
        return column
    return f"CASE WHEN {column} NOT IN ({', '.join(map(_string, dialect.null))}) THEN {column} END"


def _stored(name: str, names: Sequence[str], origin: Origin, place: str) -> dict[str, str]:
    """Return the source's own name of each declared column: the same, or the only one but for case."""
    stored = {}
    for column, _ in origin.columns:
        found = [own for own in names if own == column] or [own for own in names if same(own, column)]
        if not found:
            # A file without a header would show a person's cells here.
            raise CatalogError(
                f"tables.{name}: {place} has no column {column!r}; correct the name, or for a text file "
                "without a header declare its names, csv = {header = [...]}"
            )
        if len(found) > 1:
            raise CatalogError(f"tables.{name}: {place} has several columns {column!r}; rename them")
        stored[column] = found[0]
    return stored


def _attach(engine: DuckDB, raw: str, name: str, rows: str | Path, place: Path) -> str:
    """Make a Parquet or DuckDB file readable under a hidden name, and return that name as SQL."""
    text, suffixes = _string(str(place)), {suffix.lower() for suffix in place.suffixes}
    if ".parquet" in suffixes:
        engine.connection.execute(f"CREATE VIEW {_name(raw)} AS SELECT * FROM read_parquet({text})")
        return _name(raw)
    if _TABLES & suffixes:
        engine.connection.execute(f"ATTACH {text} AS {_name(raw)} (READ_ONLY)")
        inside = str(rows).partition("#")[2] or name
        return ".".join([_name(raw), *(_name(part) for part in inside.split("."))])
    raise CatalogError(f"tables.{name}.source: {place.name} must be .csv, .parquet or .duckdb")


def _described(engine: DuckDB, name: str, found: str) -> dict[str, str]:
    rows = quietly(
        lambda: engine.connection.execute(f"DESCRIBE SELECT * FROM {found}").fetchall(),
        CatalogError(f"tables.{name}.source: the table could not be found in its file"),
    )
    return {row[0]: row[1] for row in rows}


def _view(
    engine: DuckDB,
    name: str,
    raw: str,
    columns: Mapping[str, str],
    origin: Origin,
    stored: Mapping[str, str] | None = None,
) -> None:
    stored = _stored(name, tuple(columns), origin, "the source") if stored is None else stored
    items = [
        f"{_typed(_name(stored[column]), columns[stored[column]], kind)} AS {_name(column)}"
        for column, kind in origin.columns
    ]
    engine.connection.execute(
        f"CREATE VIEW {_name(name)} AS SELECT {', '.join(items) or '1 AS nothing'} FROM {raw}"
    )


_PRINTED = (
    "CASE WHEN NOT isfinite({0}) THEN NULL WHEN {0} = trunc({0}) AND TRY_CAST({0} AS BIGINT) IS NOT NULL "
    "THEN CAST(TRY_CAST({0} AS BIGINT) AS VARCHAR) ELSE CAST({0} AS VARCHAR) END"
)
"""A floating-point number as text: 7.0 is 7 as in a column of integers, and what is no number is missing."""


def _typed(column: str, physical: str, kind: str) -> str:
    fits, template = _TYPES[kind]
    if kind in ("identifier", "text") and physical in ("DOUBLE", "FLOAT"):
        return _PRINTED.format(column)
    if physical == fits or (kind == "identifier" and physical in ("VARCHAR", "DATE", "UUID", "BOOLEAN")):
        return column
    if kind == "identifier" and _WHOLE.fullmatch(physical):
        return column
    if kind == "decimal" and (_WHOLE.fullmatch(physical) or physical.startswith("DECIMAL")):
        return f"CAST({column} AS DOUBLE)"
    return template.format(column)


def describe(
    rows: Any, folder: Path = Path(), dialect: Dialect = RFC_4180
) -> tuple[tuple[str, str | None], ...]:
    """Return the column names and engine types of a source; no cell is looked at.

    A text file and a pandas frame have no types of their own: there None stands.
    """
    rows = shelter(rows)
    if isinstance(rows, Sheltered):
        problem = CatalogError("the frame could not be read; give a pandas, Polars or Arrow table")
        return quietly(lambda: _frame_columns(rows), problem)
    place = place_of(rows, folder)
    if not place.is_file():
        raise CatalogError(f"there is no file {place}")
    problem = CatalogError(
        "the source could not be read; give a .csv, .parquet or .duckdb file (FILE.duckdb#TABLE)"
    )
    return quietly(lambda: _file_columns(rows, place, dialect), problem)


def _frame_columns(rows: Sheltered) -> tuple[tuple[str, str | None], ...]:
    names, schema = frame.schema(exposed(rows))
    if schema is None:
        return tuple((name, None) for name in names)
    with _connected() as engine:
        engine.connection.register("__source", schema.empty_table())
        found = engine.connection.execute('DESCRIBE SELECT * FROM "__source"').fetchall()
    return tuple((name, row[1]) for name, row in zip(names, found, strict=True))


def _file_columns(rows: str | Path, place: Path, dialect: Dialect) -> tuple[tuple[str, str | None], ...]:
    import pyarrow

    if is_text(place):
        with pyarrow.input_stream(str(place), compression="detect") as stream:
            return tuple((name, None) for name in records.read(stream, dialect).names)
    with _connected() as engine:
        name = Path(str(rows).partition("#")[0]).stem
        return tuple(_described(engine, name, _attach(engine, "__source", name, rows, place)).items())


def is_text(place: Path) -> bool:
    """Whether a file is text, by its name."""
    return bool(_TEXT_FILES & {suffix.lower() for suffix in place.suffixes})


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _string(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
