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
from types import TracebackType
from typing import Any

from discreet.engines.exact import Exact, Request, collect
from discreet.errors import CatalogError, EngineError
from discreet.query.proof import Proved, sealed
from discreet.query.render import render
from discreet.query.statement import Statement

FAILED = "the engine could not finish the question; what was reserved for it stays spent"
"""The one message for everything that can go wrong after data was touched."""

MEMORY = "4GB"

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
_CSV = "all_varchar = true, header = true, ignore_errors = true, null_padding = true, strict_mode = false"
_WHOLE = re.compile(r"U?(TINY|SMALL|BIG)?INT(EGER)?$")


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a table's rows come from, and the declared columns with their types.

    `rows` is a path (CSV, Parquet, or DuckDB file, the table named after '#') or a pandas, Polars or Arrow
    table.  The type "identifier" keeps a whole number as it is and makes text of anything else.
    """

    rows: Any
    columns: tuple[tuple[str, str], ...]


@dataclass
class DuckDB:
    """An open set of tables; use `open_tables`."""

    connection: Any
    timeout: float | None = None
    _frames: list[Any] = field(default_factory=list)
    _turn: threading.Lock = field(default_factory=threading.Lock)

    def run(self, statements: Sequence[Proved], choice: int) -> Exact:
        """Return the exact integers of proved statements, all on one snapshot.

        `choice` is the fresh 64-bit key of the random choice of groups.  Whatever is not a statement that the
        checker has proved is refused before any data is touched.
        """
        return self._exact([_request(sealed(proved)) for proved in statements], choice)

    def _exact(self, requests: Sequence[Request], choice: int) -> Exact:
        # Registered frames belong to this one connection, so questions take turns on it.
        with self._turn, self._deadline(), contextlib.suppress(Exception):
            return collect(requests, self._tables(requests, choice))
        # Raised here and not while handling the engine's own error, so that nothing holds on to its message.
        raise EngineError(FAILED)

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
        self._frames.clear()

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
    threads: int | None = None,
    timeout: float | None = None,
) -> DuckDB:
    """Open the tables behind typed views and lock the connection down."""
    import duckdb

    engine = DuckDB(
        duckdb.connect(
            ":memory:",
            config={
                "autoinstall_known_extensions": "false",
                "autoload_known_extensions": "false",
                "allow_community_extensions": "false",
                "memory_limit": memory,
                **({} if threads is None else {"threads": str(threads)}),
            },
        ),
        timeout,
    )
    try:
        _allow(engine, tables, folder)
        for position, (name, origin) in enumerate(tables.items()):
            raw = _attach(engine, f"__source{position}", name, origin, folder)
            _expose(engine, name, raw, origin)
        # In a notebook without widgets there is no bar, and DuckDB refuses to be told so.
        bar = engine.connection.execute("SELECT current_setting('enable_progress_bar')").fetchone()
        for setting in (
            f"perfect_ht_threshold = {_array_bits(engine)}",
            "enable_external_access = false",
            "max_temp_directory_size = '0B'",
            *(() if bar == (False,) else ("enable_progress_bar = false",)),
            "lock_configuration = true",
        ):
            engine.connection.execute(f"SET {setting}")
    except CatalogError:
        engine.close()
        raise
    except Exception:
        engine.close()
        raise CatalogError("the tables could not be opened by the engine; check their format") from None
    return engine


def _array_bits(engine: DuckDB) -> int:
    """Return the widest key, in bits, for which each thread may keep an array."""
    (used,) = engine.connection.execute("SELECT current_setting('threads')").fetchone()
    return (SLOTS // int(used)).bit_length() - 1


def prepare(
    name: str, origin: Origin, preparing: Proved, choice: int, target: Path, *, folder: Path = Path()
) -> None:
    """Run a proved preparation of one table and keep its rows as a table of the same name in a file.

    The file appears complete or not at all.
    """
    import duckdb

    sql = render(sealed(preparing))
    partial = target.with_name(target.name + ".partial")
    for leftover in (partial, partial.with_name(partial.name + ".wal")):
        leftover.unlink(missing_ok=True)
    engine = DuckDB(duckdb.connect(":memory:", config={"memory_limit": MEMORY}))
    try:
        raw = _attach(engine, "__source", name, origin, folder)
        _expose(engine, name, raw, origin)
        engine.connection.execute(f"ATTACH {_string(str(partial))} AS __prepared")
        engine.connection.execute(f"CREATE TABLE __prepared.{_name(name)} AS {sql}", {"choice": choice})
        engine.connection.execute("DETACH __prepared")
        os.replace(partial, target)
    except CatalogError:
        raise
    except Exception:
        raise EngineError(FAILED) from None
    finally:
        engine.close()
        partial.unlink(missing_ok=True)


def _allow(engine: DuckDB, tables: Mapping[str, Origin], folder: Path) -> None:
    paths = [
        str(_place(origin.rows, folder)) for origin in tables.values() if isinstance(origin.rows, str | Path)
    ]
    listed = ", ".join(_string(path) for path in paths)
    engine.connection.execute(f"SET allowed_paths = [{listed}]")


def _place(rows: str | Path, folder: Path) -> Path:
    return (folder / str(rows).partition("#")[0]).resolve()


def _attach(engine: DuckDB, raw: str, name: str, origin: Origin, folder: Path) -> str:
    """Make a source readable under a hidden name, and return that name as SQL."""
    connection, rows = engine.connection, origin.rows
    if not isinstance(rows, str | Path):
        frame = _arrow(name, rows)
        engine._frames.append(frame)
        connection.register(raw, frame)
        return _name(raw)
    place = _place(rows, folder)
    if not place.is_file():
        raise CatalogError(f"tables.{name}.source: there is no file {place}")
    text = _string(str(place))
    suffixes = [suffix.lower() for suffix in place.suffixes]
    try:
        if ".parquet" in suffixes:
            connection.execute(f"CREATE VIEW {_name(raw)} AS SELECT * FROM read_parquet({text})")
            return _name(raw)
        if {".csv", ".tsv", ".txt"} & set(suffixes):
            # Everything is read as text, so that no cell can stop the reader; types are the view's business.
            connection.execute(f"CREATE TABLE {_name(raw)} AS SELECT * FROM read_csv({text}, {_CSV})")
            return _name(raw)
        if {".duckdb", ".db", ".ddb"} & set(suffixes):
            connection.execute(f"ATTACH {text} AS {_name(raw)} (READ_ONLY)")
            inside = str(rows).partition("#")[2] or name
            return ".".join([_name(raw), *(_name(part) for part in inside.split("."))])
    except Exception:
        raise CatalogError(
            f"tables.{name}.source: {place.name} could not be read; check its format"
        ) from None
    raise CatalogError(f"tables.{name}.source: {place.name} must be .csv, .parquet or .duckdb")


def _arrow(name: str, rows: object) -> Any:
    import narwhals
    import pyarrow

    if isinstance(rows, pyarrow.Table):
        return rows
    try:
        frame = narwhals.from_native(rows)
        frame = frame.collect() if isinstance(frame, narwhals.LazyFrame) else frame
        return frame.to_arrow()
    except TypeError:
        raise CatalogError(f"table {name}: give a path, or a pandas, Polars or Arrow table") from None
    except Exception:
        raise CatalogError(
            f"table {name}: the frame has columns of mixed types; convert them first"
        ) from None


def _expose(engine: DuckDB, name: str, raw: str, origin: Origin) -> None:
    try:
        found = {
            row[0].lower(): (row[0], row[1])
            for row in engine.connection.execute(f"DESCRIBE SELECT * FROM {raw}").fetchall()
        }
    except Exception:
        raise CatalogError(f"tables.{name}.source: the table could not be found in its file") from None
    items = []
    for column, kind in origin.columns:
        if column.lower() not in found:
            known = ", ".join(stored for stored, _ in found.values())
            raise CatalogError(f"tables.{name}: the source has no column {column!r}; it has {known}")
        stored, physical = found[column.lower()]
        items.append(f"{_typed(_name(stored), physical, kind)} AS {_name(column)}")
    engine.connection.execute(
        f"CREATE VIEW {_name(name)} AS SELECT {', '.join(items) or '1 AS nothing'} FROM {raw}"
    )


def _typed(column: str, physical: str, kind: str) -> str:
    same, template = _TYPES[kind]
    if physical == same or (kind == "identifier" and physical in ("VARCHAR", "DATE", "UUID", "BOOLEAN")):
        return column
    if kind == "identifier" and _WHOLE.fullmatch(physical):
        return column
    if kind == "decimal" and (_WHOLE.fullmatch(physical) or physical.startswith("DECIMAL")):
        return f"CAST({column} AS DOUBLE)"
    return template.format(column)


def describe(rows: Any, folder: Path = Path()) -> tuple[tuple[str, str], ...]:
    """Return the column names and engine types of a source, for drafting a manifest; no cell is returned."""
    origin = Origin(rows, ())
    import duckdb

    engine = DuckDB(duckdb.connect(":memory:"))
    try:
        if isinstance(rows, str | Path) and {".csv", ".tsv", ".txt"} & {
            s.lower() for s in _place(rows, folder).suffixes
        }:
            place = _place(rows, folder)
            if not place.is_file():
                raise CatalogError(f"there is no file {place}")
            found = engine.connection.execute(
                f"DESCRIBE SELECT * FROM read_csv({_string(str(place))})"
            ).fetchall()
        else:
            raw = _attach(engine, "__source", _table_name(rows), origin, folder)
            found = engine.connection.execute(f"DESCRIBE SELECT * FROM {raw}").fetchall()
        return tuple((row[0], row[1]) for row in found)
    except CatalogError:
        raise
    except Exception:
        raise CatalogError(
            "the source could not be read; give a .csv, .parquet or .duckdb file (FILE.duckdb#TABLE)"
        ) from None
    finally:
        engine.close()


def _table_name(rows: object) -> str:
    return Path(str(rows).partition("#")[0]).stem if isinstance(rows, str | Path) else "data"


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _string(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
