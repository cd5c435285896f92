"""Of which kind the columns and scalars of a statement are, for an engine that must be told.

PostgreSQL and Spark choose functions by the types of their arguments.  PostgreSQL raises where a product of
doubles becomes too large or too small, so its renderer has to know which doubles are *graded*: 0 or of a
size between 2**-500 and 2**500, so that one product or quotient of two stays among the doubles.  A stored
column is graded because the table is offered so; anything else has to be so by how it is written.  Spark
raises where an integer leaves 64 bits, so its renderer has to know which integers are *wide*: totals, and
products made so.  It adds up integers in parts, and fewer of them where the *size* of each is known.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from fractions import Fraction
from typing import assert_never

from discreet.query.plan import Aggregate, Among, Call, Case, Column, Literal, Scalar, window_of
from discreet.query.statement import Inner, JoinedRows, Listed, Named, Query, Source, Stacked, StoredTable

SMALLEST, LARGEST = Fraction(1, 2**500), Fraction(2**500)

_KINDS = {
    **dict.fromkeys(("divide", "sqrt", "ln", "exp", "round", "floor", "ceil", "round_whole"), "decimal"),
    **dict.fromkeys(("clamp_real", "finite", "to_real", "parse_real", "mean"), "decimal"),
    **dict.fromkeys(("multiply_long", "quotient", "modulo", "sign", "clamp", "fixed"), "integer"),
    **dict.fromkeys(("bits_or", "bits_set", "bit_at", "slot", "narrow", "long", "length", "part"), "integer"),
    **dict.fromkeys(("difference", "to_whole", "parse_whole", "rank", "choice", "microseconds"), "integer"),
    **dict.fromkeys(("count_rows", "count_values", "count_distinct"), "integer"),
    **dict.fromkeys(
        ("eq", "ne", "lt", "le", "gt", "ge", "distinct", "and", "or", "not", "is_null"), "boolean"
    ),
    **dict.fromkeys(("like", "ilike", "starts_with", "to_truth", "parse_truth"), "boolean"),
    **dict.fromkeys(("lower", "upper", "trim", "concat", "left", "right", "substring", "to_text"), "text"),
    **dict.fromkeys(("hash", "digest"), "text"),
    **dict.fromkeys(("ltrim", "rtrim", "replace", "split_part", "lpad", "rpad"), "text"),
    **dict.fromkeys(("trunc", "shift", "to_day", "parse_day"), "date"),
    **dict.fromkeys(("to_moment", "parse_moment", "moment_at"), "timestamp"),
}
"""What functions yield whose arguments do not decide it."""


@dataclass(frozen=True, slots=True)
class Known:
    """The kind of a scalar (None: NULL alone), whether a double is graded, and whether an integer is wide.

    `size` is what an integer is at most, without its sign; None is unknown.
    """

    kind: str | None
    graded: bool = True
    wide: bool = False
    size: int | None = None


Scope = Mapping[tuple[str | None, str], Known]
"""The columns that a query can see, by alias and name."""


def scope(source: Source, parts: Mapping[str, Query], tables: Mapping[str, Mapping[str, str]]) -> Scope:
    """Return the columns of a source."""
    return dict(_columns(source, parts, tables))


def _columns(
    source: Source, parts: Mapping[str, Query], tables: Mapping[str, Mapping[str, str]]
) -> Iterator[tuple[tuple[str | None, str], Known]]:
    match source:
        case StoredTable(table, alias):
            yield from (((alias, name), Known(kind)) for name, kind in tables[table].items())
        case Named(part, alias):
            yield from _columns(Inner(parts[part], alias), parts, tables)
        case Inner(query, alias):
            own = scope(query.source, parts, tables)
            yield from (((alias, name), known(scalar, own)) for name, scalar in query.items)
        case Stacked(queries, alias):
            found = [dict(_columns(Inner(query, alias), parts, tables)) for query in queries]
            yield from ((name, _joint([one[name] for one in found])) for name in found[0])
        case JoinedRows(left, right):
            yield from _columns(left, parts, tables)
            yield from _columns(right, parts, tables)
        case Listed(names, rows, alias):
            for place, name in enumerate(names):
                yield (alias, name), _joint([_constant(row[place]) for row in rows])
        case _:
            assert_never(source)


def known(scalar: Scalar, columns: Scope) -> Known:
    """Return what is known of a scalar."""
    match scalar:
        case Literal(value):
            return _constant(value)
        case Column(None, name):
            return next(found for (_, own), found in columns.items() if own == name)
        case Column(relation, name):
            return columns[relation, name]
        case Case(branches, otherwise):
            return _joint([known(value, columns) for value in (*(value for _, value in branches), otherwise)])
        case Among():
            return Known("boolean")
        case Call("window"):
            window = window_of(scalar)
            found = _windowed(window.function, [known(argument, columns) for argument in window.arguments])
            return replace(found, size=None)
        case Call(name, arguments):
            given = [known(argument, columns) for argument in arguments]
            return replace(_called(name, given), size=_size(name, [one.size for one in given]))
        case Aggregate():
            raise AssertionError("aggregates of a question are rewritten before rendering")
        case _:
            assert_never(scalar)


def _called(name: str, arguments: list[Known]) -> Known:
    match name:
        case "finite" | "parse_real" | "mean" | "ln" | "floor" | "ceil" | "round_whole":
            # A mean is at least one unit divided by all rows, a logarithm other than 0 at least 2**-53; what
            # rounding to whole numbers leaves is 0 or at least 1, and no larger than what it was.
            return Known("decimal", name not in ("floor", "ceil", "round_whole") or arguments[0].graded)
        case "to_real":
            return Known("decimal", arguments[0].kind != "decimal" or arguments[0].graded)
        case "clamp_real" | "sqrt":
            return Known("decimal", all(argument.graded for argument in arguments))
        case "divide" | "exp" | "round":
            return Known("decimal", graded=False)
        case "add" | "subtract" | "multiply" | "absolute" | "least" | "greatest" | "coalesce" | "nullif":
            joint = _joint(arguments)
            return Known(joint.kind, joint.graded and name not in ("add", "subtract", "multiply"), joint.wide)
        case "min" | "max" | "grouped" | "series" | "descending":
            return _joint(arguments)
        case "sum" | "sum_distinct" | "multiply_wide":
            return Known("integer", wide=True)
        case _:
            return Known(_KINDS[name])


def _size(name: str, sizes: list[int | None]) -> int | None:
    """Return how large a function of integers of some sizes is at most, where that is known."""
    match name, sizes:
        case "bit_at", _:
            return 1
        case "bits_set", _:
            return 64
        case "clamp", [_, int(low), int(high)]:
            return max(low, high)
        case "narrow" | "long" | "grouped" | "min" | "max" | "absolute" | "nullif", [size, *_]:
            return size
        case "quotient", [int(size), _]:
            # Whatever it is divided by is an integer.
            return size
        case "least" | "greatest" | "coalesce", _:
            return _largest(sizes)
        case "add" | "subtract", [int(one), int(other)]:
            return one + other
        case "multiply" | "multiply_long" | "multiply_wide", [int(one), int(other)]:
            return one * other
        case _:
            return None


def _largest(sizes: list[int | None]) -> int | None:
    there = [size for size in sizes if size is not None]
    return max(there) if len(there) == len(sizes) else None


def _windowed(function: str, arguments: list[Known]) -> Known:
    if function in ("lag", "lead", "first_value", "last_value", "nth_value", "min", "max"):
        return arguments[0]
    return Known("integer", wide=function == "sum")


def _joint(parts: list[Known]) -> Known:
    kinds = {part.kind for part in parts} - {None}
    kind = "decimal" if "decimal" in kinds else next(iter(kinds), None)
    size = _largest([part.size for part in parts])
    return Known(kind, all(part.graded for part in parts), any(part.wide for part in parts), size)


def _constant(value: object) -> Known:
    match value:
        case None:
            return Known(None, size=0)
        case bool():
            return Known("boolean")
        case int():
            return Known("integer", size=abs(value))
        case Fraction():
            return Known("decimal", value == 0 or SMALLEST <= abs(value) < LARGEST)
        case str():
            return Known("text")
        case datetime():
            return Known("timestamp")
        case date():
            return Known("date")
        case _:
            raise AssertionError("constants are of these types")
