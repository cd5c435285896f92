"""Queries over lists of rows: filter, join, group, rank and unfold, exactly as the words say."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, assert_never

from discreet.engines import cells, frame
from discreet.engines.exact import EngineRequest, Exact, collect
from discreet.engines.protocol import FAILED, Origin
from discreet.engines.reference.meaning import AGGREGATES, LENIENT, STRICT, stored
from discreet.engines.reference.window import window
from discreet.engines.shelter import Sheltered, exposed, quietly
from discreet.errors import CatalogError, EngineError
from discreet.query.plan import (
    WINDOW,
    Aggregate,
    Among,
    Call,
    Case,
    Column,
    Literal,
    Order,
    Scalar,
    Window,
    walk,
    window_of,
)
from discreet.query.proof import ProvedStatement, sealed
from discreet.query.statement import (
    Inner,
    JoinedRows,
    Listed,
    Named,
    Query,
    Source,
    Stacked,
    Statement,
    StoredTable,
)

Row = dict[tuple[str | None, str], Any]
"""The cells of a row by the alias of their relation and their name."""

Table = Sequence[Mapping[str, Any]]
"""The rows of a relation by the names of its columns."""

Meaning = Callable[[Sequence[Row]], Any]
"""The value of a scalar for a group of rows, of which it sees the first unless it is an aggregate."""


class Reference:
    """Tables as lists of rows; use `open_tables`."""

    def __init__(self, tables: Mapping[str, Table]) -> None:
        self._tables = tables
        self._stopped = threading.Event()

    def __repr__(self) -> str:
        return "<an engine with its tables, not shown>"

    def written(self, statement: Statement) -> str:
        """Return a statement as it is: it needs no translation here."""
        return repr(statement)

    def run(self, statements: Sequence[ProvedStatement], choice: int) -> Exact:
        """Return the exact integers of proved statements."""
        return self._exact([sealed(proved) for proved in statements], choice)

    def _exact(self, statements: Sequence[Statement], choice: int) -> Exact:
        self._stopped.clear()
        return quietly(lambda: self._run(statements, choice), EngineError(FAILED))

    def _run(self, statements: Sequence[Statement], choice: int) -> Exact:
        requests = [EngineRequest("", s.keys, s.outputs, s.cells) for s in statements]
        found = [_Statement(self._tables, choice, self._stopped).rows(s) for s in statements]
        return collect(requests, [[tuple(row.values()) for row in table] for table in found])

    def interrupt(self) -> None:
        """Make whatever is running now end early, as a failure."""
        self._stopped.set()

    def close(self) -> None:
        """Let the rows go."""
        self._tables = {}


class _Statement:
    """One statement on its way: the tables it may read, its parts so far, and the key of its choice."""

    def __init__(self, tables: Mapping[str, Table], choice: int, stopped: threading.Event) -> None:
        self.tables, self.choice, self.stopped = tables, choice, stopped
        self.parts: dict[str, Table] = {}

    def rows(self, statement: Statement) -> Table:
        for name, query in statement.parts:
            self.parts[name] = self.select(query)
        return self.select(statement.body)

    def select(self, query: Query) -> Table:
        if self.stopped.is_set():
            raise EngineError(FAILED)
        rows = list(self.source(query.source))
        if query.where is not None:
            kept = self.meaning(query.where)
            rows = [row for row in rows if kept([row]) is True]
        names = [name for name, _ in query.items]
        if _any(query, "rank", WINDOW):
            columns = [self.beside(scalar, rows) for _, scalar in query.items]
            return [dict(zip(names, found, strict=True)) for found in zip(*columns, strict=True)]
        groups = self.groups(query, rows)
        if query.having is not None:
            shown = self.meaning(query.having)
            groups = [group for group in groups if shown(group) is True]
        if _any(query, "series"):
            return [row for group in groups for row in self.unfolded(query, group)]
        meanings = [self.meaning(scalar) for _, scalar in query.items]
        return [{n: m(group) for n, m in zip(names, meanings, strict=True)} for group in groups]

    def groups(self, query: Query, rows: list[Row]) -> list[list[Row]]:
        """Return the rows of equal keys together (NULL is a key); without keys, all rows or each alone."""
        if not query.group:
            together = _any(query, "count_rows", *AGGREGATES)
            return [rows] if together else [[row] for row in rows]
        keys = [self.meaning(key) for key in query.group]
        found: dict[tuple[Any, ...], list[Row]] = {}
        for row in rows:
            found.setdefault(tuple(key([row]) for key in keys), []).append(row)
        return list(found.values())

    def beside(self, scalar: Scalar, rows: list[Row]) -> list[Any]:
        """Return one item for each row: a scalar, or what a window sees of the rows of its person."""
        match scalar:
            case Call("rank", (person, *order)):
                terms = [_term(one) for one in order]
                asked = Window("row_number", (), (person,), tuple(terms), ("rows", None, None))
            case Call("window"):
                asked = window_of(scalar)
            case _:
                return self.cells(scalar, rows)
        return window(
            asked.function,
            [self.cells(argument, rows) for argument in asked.arguments],
            list(zip(*(self.cells(key, rows) for key in asked.partition), strict=True)),
            [(self.cells(o.scalar, rows), o.descending, o.nulls_first) for o in asked.order],
            asked.frame,
        )

    def cells(self, scalar: Scalar, rows: list[Row]) -> list[Any]:
        own = self.meaning(scalar)
        return [own([row]) for row in rows]

    def unfolded(self, query: Query, group: list[Row]) -> Iterator[dict[str, Any]]:
        """Yield one row for each place of the series."""
        for cells_ in zip(*(scalar.arguments for _, scalar in query.items), strict=True):  # type: ignore[union-attr]
            found = [self.meaning(cell)(group) for cell in cells_]
            yield {name: cell for (name, _), cell in zip(query.items, found, strict=True)}

    def source(self, source: Source) -> Iterator[Row]:
        match source:
            case StoredTable(name, alias):
                yield from _called(self.tables[name], alias)
            case Named(name, alias):
                yield from _called(self.parts[name], alias)
            case Inner(query, alias):
                yield from _called(self.select(query), alias)
            case Stacked(queries, alias):
                for query in queries:
                    yield from _called(self.select(query), alias)
            case Listed(names, rows, alias):
                yield from _called(
                    [dict(zip(names, map(_constant, row), strict=True)) for row in rows], alias
                )
            case JoinedRows(left, right, on, outer):
                met, others = self.meaning(on), list(self.source(right))
                for row in self.source(left):
                    pairs = [pair for other in others if met([pair := {**row, **other}]) is True]
                    yield from pairs or ([row] if outer else [])
            case _:
                assert_never(source)

    def meaning(self, scalar: Scalar) -> Meaning:
        match scalar:
            case Literal(value):
                constant = _constant(value)
                return lambda rows: constant
            case Column(relation, name):
                # What an outer join did not find has no cells.
                return lambda rows: rows[0].get((relation, name))
            case Case(branches, otherwise):
                tests = [(self.meaning(test), self.meaning(value)) for test, value in branches]
                last = self.meaning(otherwise)
                return lambda rows: next((v for t, v in tests if t(rows) is True), last)(rows)
            case Among(argument, values):
                return self.meaning(Call("or", tuple(Call("eq", (argument, value)) for value in values)))
            case Call("choice", ()):
                return lambda rows: self.choice
            case Call("count_rows", ()):
                return len
            case Call("grouped", (inner,)):
                return self.meaning(inner)
            case Call(name, (argument,)) if name in AGGREGATES:
                cell, together = self.meaning(argument), AGGREGATES[name]
                return lambda rows: together([x for row in rows if (x := cell([row])) is not None])
            case Call(name, arguments):
                return _applied(name, [self.meaning(argument) for argument in arguments])
            case Aggregate():
                raise AssertionError("aggregates of a question are rewritten before")
            case _:
                assert_never(scalar)


def _term(scalar: Scalar) -> Order:
    match scalar:
        case Call("descending", (inner,)):
            return Order(inner, descending=True)
        case _:
            return Order(scalar)


def _applied(name: str, arguments: list[Meaning]) -> Meaning:
    if name in LENIENT:
        lenient = LENIENT[name]
        return lambda rows: lenient(*(argument(rows) for argument in arguments))
    strict = STRICT[name]

    def value(rows: Sequence[Row]) -> Any:
        found = [argument(rows) for argument in arguments]
        return None if None in found else strict(*found)

    return value


def _constant(value: Any) -> Any:
    return float(value) if isinstance(value, Fraction) else value


def _called(table: Table, alias: str) -> Iterator[Row]:
    return ({(alias, name): cell for name, cell in row.items()} for row in table)


def _any(query: Query, *names: str) -> bool:
    """Whether an item of a query calls one of these functions."""
    parts = (part for _, scalar in query.items for part in walk(scalar))
    return any(isinstance(part, Call) and part.function in names for part in parts)


def open_tables(tables: Mapping[str, Origin]) -> Reference:
    """Open frames as lists of rows of their declared columns; files are for other engines."""
    return Reference({name: _rows(name, origin) for name, origin in tables.items()})


def _rows(name: str, origin: Origin) -> Table:
    if not isinstance(origin.rows, Sheltered):
        raise CatalogError(f"table {name}: the reference engine reads frames only; use DuckDB for files")
    kinds = dict(origin.columns)
    problem = CatalogError(f"table {name}: the frame could not be read; give a pandas, Polars or Arrow table")
    rows = quietly(lambda: frame.table(exposed(origin.rows), kinds).to_pylist(), problem)
    return [{column: _offered(row[column], kind) for column, kind in kinds.items()} for row in rows]


def _offered(cell: Any, kind: str) -> Any:
    if kind == "identifier" and type(cell) is int:
        return cell
    found = cells.cell(cell, kind)
    return stored(found) if kind == "decimal" else found
