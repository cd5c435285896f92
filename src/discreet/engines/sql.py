"""What SQL is in every dialect: the shape of statements, names and constants, and how texts are read.

A dialect writes its own functions and types (`ScalarWriter`); whatever must never differ between two engines
is written here: what a query consists of, how a name or a constant is kept from being read as anything else,
which constants are refused, and which texts are numbers, times and truths.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from typing import assert_never

from discreet.errors import QueryError
from discreet.query.plan import (
    Aggregate,
    Among,
    Call,
    Case,
    Column,
    Literal,
    Scalar,
    Value,
    conjuncts,
    constant,
    given,
    window_of,
)
from discreet.query.statement import (
    ROWS,
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

TIME = "([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{{1,6}})?)?Z?"
REAL = "[+-]?([0-9]{{1,40}}([.][0-9]{{0,40}})?|[.][0-9]{{1,40}})([eE][+-]?[0-9]{{1,3}})?"
"""Texts that are a time of day or a number, as parts of templates: braces are doubled."""

TRUE, FALSE = "('true', 't', 'yes', 'y', '1')", "('false', 'f', 'no', 'n', '0')"
"""Texts that are a truth, in small letters."""

SINCE, LAST = 62_135_596_800_000_000, 315_537_897_599_999_999
"""Microseconds from the beginning of the year 1 to that of 1970, and to the end of 9999."""

COMPARISONS = {
    "nullif": "nullif({0}, {1})",
    "eq": "({0} = {1})",
    "ne": "({0} <> {1})",
    "lt": "({0} < {1})",
    "le": "({0} <= {1})",
    "gt": "({0} > {1})",
    "ge": "({0} >= {1})",
    "distinct": "({0} IS DISTINCT FROM {1})",
    "not": "(NOT {0})",
    "is_null": "({0} IS NULL)",
}
"""Functions that every dialect writes alike, as templates over their arguments."""


Items = Sequence[tuple[str, Scalar]]
"""What a query selects."""


@dataclass(frozen=True, slots=True)
class ScalarWriter:
    """How one engine writes scalars over the columns that it knows.

    `literal` writes a constant beside which a type is known, `typed` a scalar of a definite type, `item` one
    that becomes an output column, `call` a function of the closed table, total for every cell, `name` an
    identifier.  `select` writes all items of a query where a dialect cannot write them one by one, `test` one
    of the conditions of WHERE and HAVING where that has a quicker form than elsewhere, and `layout` a last
    clause, such as an order, by which the rows of a query inside another are quicker to work with.
    """

    literal: Callable[[Value], str]
    typed: Callable[[Scalar], str]
    item: Callable[[Scalar], str]
    call: Callable[[str, tuple[Scalar, ...]], str]
    name: Callable[[str], str] = lambda name: quoted(name)
    select: Callable[[Items], str | None] = lambda items: None
    test: Callable[[Scalar], str | None] = lambda condition: None
    layout: Callable[[Query], str | None] = lambda query: None


Over = Callable[[Source], ScalarWriter]
"""How a dialect writes scalars over the columns of a source."""


INLINE = "NOT MATERIALIZED "
"""How every dialect says that a part is computed where it is used."""


def statement_text(
    statement: Statement,
    over: Over,
    *,
    once: str,
    limit: int,
    single: str | None = None,
    offered: Sequence[str] = (),
) -> str:
    """Return a statement; `once` is how a dialect says that a part is to be computed once.

    The part of the person's rows is computed where it is used, so that filters reach the stored table, no
    copy is made, and it can run in parallel.  `single` is said of a part that only one other reads, where
    that is not `once`.  `offered` are definitions that come before the parts.
    """
    uses = Counter(source.name for source in sources(statement) if isinstance(source, Named))
    kept = {name: once if single is None or uses[name] > 1 else single for name, _ in statement.parts}
    parts = [
        f"{quoted(name)} AS {INLINE if name == ROWS else kept[name]}(\n{query_text(query, over)}\n)"
        for name, query in statement.parts
    ]
    parts = [*offered, *parts]
    text = ("WITH " + ",\n".join(parts) + "\n" if parts else "") + query_text(statement.body, over)
    if len(text) > limit:
        raise QueryError("the question", "is too large once every part is made safe", "nest fewer functions")
    return text


def query_text(query: Query, over: Over) -> str:
    """Return one SELECT."""
    write = over(query.source)
    items = (f"{write.item(scalar)} AS {write.name(name)}" for name, scalar in query.items)
    selected = write.select(query.items) or ", ".join(items)
    lines = [f"SELECT {selected}", f"FROM {_source(query.source, write, over)}"]
    if query.where is not None:
        lines.append(f"WHERE {_condition(query.where, write)}")
    if query.group:
        lines.append(f"GROUP BY {', '.join(scalar_text(key, write) for key in query.group)}")
    if query.having is not None:
        lines.append(f"HAVING {_condition(query.having, write)}")
    if layout := write.layout(query):
        lines.append(layout)
    return "\n".join(lines)


def _condition(condition: Scalar, write: ScalarWriter) -> str:
    parts = conjuncts(condition)
    tests = [write.test(part) for part in parts]
    if not any(tests):
        return scalar_text(condition, write)
    return " AND ".join(test or scalar_text(part, write) for test, part in zip(tests, parts, strict=True))


def _source(source: Source, write: ScalarWriter, over: Over) -> str:
    match source:
        case StoredTable(name, alias) | Named(name, alias):
            return f"{write.name(name)} AS {write.name(alias)}"
        case Inner(query, alias):
            return f"({query_text(query, over)}) AS {write.name(alias)}"
        case Stacked(queries, alias):
            stacked = "\nUNION ALL\n".join(query_text(query, over) for query in queries)
            return f"({stacked}) AS {write.name(alias)}"
        case JoinedRows(left, right, on, outer):
            sides = [_source(side, write, over) for side in (left, right)]
            if isinstance(right, JoinedRows):
                sides[1] = f"({sides[1]})"
            return f" {'LEFT JOIN' if outer else 'JOIN'} ".join(sides) + f" ON {scalar_text(on, write)}"
        case Listed(names, rows, alias):
            cells = [", ".join(write.item(Literal(value)) for value in row) for row in rows]
            values = ", ".join(f"({row})" for row in cells)
            return f"(VALUES {values}) AS {write.name(alias)}({', '.join(map(write.name, names))})"
        case _:
            assert_never(source)


def sources(statement: Statement) -> Iterator[StoredTable | Named | Listed]:
    """Yield what a statement reads: stored tables, its own parts and constants, each as often as it does."""
    waiting: list[Source] = [query.source for query in (statement.body, *dict(statement.parts).values())]
    while waiting:
        match waiting.pop():
            case Inner(inner):
                waiting.append(inner.source)
            case JoinedRows(left, right):
                waiting += [left, right]
            case Stacked(queries):
                waiting += [query.source for query in queries]
            case read:
                yield read


def scalar_text(scalar: Scalar, write: ScalarWriter) -> str:
    """Return one scalar."""
    match scalar:
        case Literal(value):
            return write.literal(value)
        case Column(None, name):
            return write.name(name)
        case Column(relation, name):
            return f"{write.name(given(relation))}.{write.name(name)}"
        case Case(branches, otherwise):
            whens = " ".join(
                f"WHEN {scalar_text(test, write)} THEN {write.typed(value)}" for test, value in branches
            )
            last = "" if otherwise == Literal(None) else f" ELSE {write.typed(otherwise)}"
            return f"CASE {whens}{last} END"
        case Among(argument, values):
            listed = ", ".join(write.literal(value.value) for value in values)
            return f"({scalar_text(argument, write)} IN ({listed}))"
        case Call(name, arguments):
            return write.call(name, arguments)
        case Aggregate():
            raise AssertionError("aggregates of a question are rewritten before rendering")
        case _:
            assert_never(scalar)


def window_text(
    call: Call, write: Callable[[Scalar], str], total: Callable[[Scalar], str] | None = None
) -> str:
    """Return a window; `total` is how a dialect adds up whole numbers, where SUM alone does not do."""
    window = window_of(call)
    if window.function == "sum" and total is not None:
        function = total(window.arguments[0])
    else:
        # How far to look is a plain number everywhere, whatever the width of others.
        arguments = (str(n) if (n := constant(one)) is not None else write(one) for one in window.arguments)
        function = f"{window.function}({', '.join(arguments)})"
    parts = [f"PARTITION BY {', '.join(map(write, window.partition))}"]
    if window.order:
        terms = (
            f"{write(term.scalar)} {'DESC' if term.descending else 'ASC'} "
            f"NULLS {'FIRST' if term.nulls_first else 'LAST'}"
            for term in window.order
        )
        parts.append(f"ORDER BY {', '.join(terms)}")
    if window.function not in ("row_number", "rank", "dense_rank", "ntile", "lag", "lead"):
        kind, start, end = window.frame
        first = "UNBOUNDED PRECEDING" if start is None else _end(start)
        last = "UNBOUNDED FOLLOWING" if end is None else _end(end)
        parts.append(f"{kind.upper()} BETWEEN {first} AND {last}")
    return f"{function} OVER ({' '.join(parts)})"


def _end(distance: int) -> str:
    if distance == 0:
        return "CURRENT ROW"
    return f"{abs(distance)} {'PRECEDING' if distance < 0 else 'FOLLOWING'}"


def literal(value: Value, double: Callable[[Fraction], str], collation: str = "") -> str:
    """Return a constant; how a double is written, and how text compares, are a dialect's own."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case int():
            return whole(value)
        case Fraction():
            return double(value)
        case str():
            return string(value) + collation
        case datetime():
            return f"TIMESTAMP '{value.isoformat(' ')}'"
        case date():
            return f"DATE '{value.isoformat()}'"
        case _:
            assert_never(value)


def whole(value: int) -> str:
    """Return a whole constant; beyond 64 bits an engine would choose wider types, or doubles, all around."""
    if not -(2**63) <= value < 2**63:
        raise QueryError("a whole constant", "needs more than 64 bits", "use a smaller number")
    return str(value)


def string(value: str) -> str:
    """Return a constant text."""
    if "\x00" in value:
        raise QueryError("a text constant", "contains a NUL character", "leave it out")
    return "'" + value.replace("'", "''") + "'"


def quoted(name: str) -> str:
    """Return an identifier."""
    return '"' + name.replace('"', '""') + '"'


def unit(scalar: Scalar) -> str:
    """Return a unit of time, which stands in a statement as a plain word."""
    match scalar:
        case Literal(str(value)) if value.isalpha():
            return value
        case _:
            raise AssertionError("units of time are plain words")
