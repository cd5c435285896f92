"""Statements as Spark writes them: every function by the meaning of the reference engine, and total.

Spark runs in its ANSI mode, where what cannot be computed raises instead of becoming something else; each
expression here avoids that for every cell.  All of them are deterministic, so a task that is run again, or
twice at a time, returns the same rows.  Whole numbers are BIGINT, totals DECIMAL, moments TIMESTAMP_NTZ.
"""

from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from fractions import Fraction

from discreet.engines import sql
from discreet.engines.kinds import Known, Scope, known, scope
from discreet.engines.spark.layout import together
from discreet.engines.sql import (
    COMPARISONS,
    FALSE,
    LAST,
    REAL,
    SINCE,
    TIME,
    TRUE,
    Items,
    ScalarWriter,
    query_text,
    unit,
    whole,
)
from discreet.errors import QueryError
from discreet.query.plan import MONTHS, Call, Case, Literal, Scalar, Value
from discreet.query.statement import Query, Source, Statement

LIMIT = 400_000
"""Longest statement given to Spark, in characters."""

PLACES, MASK = (0, 22, 44), 2**22 - 1
"""Where the parts of a 64-bit integer begin that are added up apart, and the bits of each but the last."""

LARGE, TINY = "3.273390607896142e+150D", "3.054936363499605e-151D"
"""2**500 and 2**-500."""

_UPPER, _LOWER = "'ABCDEFGHIJKLMNOPQRSTUVWXYZ'", "'abcdefghijklmnopqrstuvwxyz'"
_SMALL = str.maketrans(_UPPER, _LOWER)
_DAY = "[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}"
_BARE = "trim({0})"
_REAL = f"CAST({_BARE} AS DOUBLE)"
_END = "(?!(?s:.))"
"""Nothing follows; a dollar sign would let a line feed follow."""
_PARTS = {"week": "weekofyear"}
_WHOLE = "({0} - {0} % 1D)"
"""A double cut towards 0: what remains of a division by 1 is exact."""

TEMPLATES = {
    "add": "({0} + {1})",
    "subtract": "({0} - {1})",
    "multiply": "({0} * {1})",
    "multiply_long": "({0} * {1})",
    "multiply_wide": "(CAST({0} AS DECIMAL(19, 0)) * CAST({1} AS DECIMAL(19, 0)))",
    "divide": "({0} / nullif({1}, 0D))",
    "modulo": "({0} % {1})",
    "quotient": "({0} div {1})",
    "absolute": "abs({0})",
    "sign": "CAST(sign({0}) AS BIGINT)",
    "floor": f"CASE WHEN {{0}} % 1D < 0D THEN {_WHOLE} - 1D ELSE {_WHOLE} END",
    "ceil": f"CASE WHEN {{0}} % 1D > 0D THEN {_WHOLE} + 1D ELSE {_WHOLE} END",
    "round_whole": f"CASE WHEN abs({{0}} % 1D) >= 0.5D THEN {_WHOLE} + sign({{0}}) ELSE {_WHOLE} END",
    "sqrt": "CASE WHEN {0} >= 0D THEN sqrt({0}) END",
    "ln": "ln({0})",
    "exp": "exp(nullif(greatest(least({0}, 346D), -360D), 346D))",
    "clamp": "CASE WHEN {0} IS NOT NULL THEN least(greatest({0}, {1}), {2}) END",
    "clamp_real": "CASE WHEN {0} IS NOT NULL THEN least(greatest({0}, {1}), {2}) END",
    "bits_or": "bit_or({0})",
    "bits_set": "CAST(bit_count({0}) AS BIGINT)",
    "bit_at": "(shiftright({0}, CAST({1} AS INT)) & 1L)",
    "narrow": "CAST({0} AS BIGINT)",
    "long": "CAST({0} AS BIGINT)",
    "finite": f"CASE WHEN abs({{0}}) < {LARGE} THEN {{0}} - {{0}} % {TINY} END",
    **COMPARISONS,
    "lower": f"translate({{0}}, {_UPPER}, {_LOWER})",
    "upper": f"translate({{0}}, {_LOWER}, {_UPPER})",
    "trim": _BARE,
    "ltrim": "trim(LEADING {1} FROM {0})",
    "rtrim": "trim(TRAILING {1} FROM {0})",
    "replace": "replace({0}, {1}, {2})",
    "split_part": "split_part({0}, {1}, CAST({2} AS INT))",
    "lpad": "lpad({0}, CAST({1} AS INT), {2})",
    "rpad": "rpad({0}, CAST({1} AS INT), {2})",
    "length": "CAST(length({0}) AS BIGINT)",
    "left": "left({0}, CAST({1} AS INT))",
    "right": "right({0}, CAST({1} AS INT))",
    "starts_with": "startswith({0}, {1})",
    # The session's time zone is UTC, so nothing is moved on the way through a zoned moment.
    "microseconds": f"(unix_micros(CAST({{0}} AS TIMESTAMP)) + {SINCE}L)",
    "moment_at": f"CASE WHEN {{0}} BETWEEN 0L AND {LAST}L "
    f"THEN CAST(timestamp_micros(CAST({{0}} AS BIGINT) - {SINCE}L) AS TIMESTAMP_NTZ) END",
    "to_real": "CAST({0} AS DOUBLE)",
    "to_text": "CAST({0} AS STRING)",
    "to_day": "CAST({0} AS DATE)",
    "to_moment": "CAST({0} AS TIMESTAMP_NTZ)",
    "to_truth": "CAST({0} AS BOOLEAN)",
    "parse_whole": f"CASE WHEN {{0}} RLIKE '^ *[+-]?[0-9]{{{{1,19}}}} *{_END}' "
    f"THEN try_cast({_BARE} AS BIGINT) END",
    "parse_real": f"CASE WHEN {{0}} RLIKE '^ *{REAL} *{_END}' THEN CASE WHEN abs({_REAL}) < {TINY} THEN 0D "
    f"WHEN abs({_REAL}) < {LARGE} THEN {_REAL} END END",
    "parse_day": f"CASE WHEN {{0}} RLIKE '^ *(?!0000){_DAY} *{_END}' THEN try_cast({_BARE} AS DATE) END",
    "parse_moment": f"CASE WHEN {{0}} RLIKE '^ *(?!0000){_DAY}([ T]{TIME})? *{_END}' "
    f"THEN try_cast(rtrim('Z', {_BARE}) AS TIMESTAMP_NTZ) END",
    "parse_truth": f"CASE WHEN translate({_BARE}, {_UPPER}, {_LOWER}) IN {TRUE} THEN true "
    f"WHEN translate({_BARE}, {_UPPER}, {_LOWER}) IN {FALSE} THEN false END",
    "grouped": "{0}",
    "count_rows": "count(*)",
    "count_values": "count({0})",
    "count_distinct": "count(DISTINCT {0})",
    "mean": "(CAST({0} AS DOUBLE) / ({1} * {2}))",
    "min": "min({0})",
    "max": "max({0})",
    "choice": ":choice",
}
"""Functions of fixed arity: what each is in Spark, total for the arguments that checking admits."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """A statement as Spark is given it: its parts, each under its name, and the query that uses them."""

    parts: tuple[tuple[str, str], ...]
    body: str

    def __str__(self) -> str:
        parts = ",\n".join(f"{quoted(name)} AS (\n{text}\n)" for name, text in self.parts)
        return f"WITH {parts}\n{self.body}" if parts else self.body


def render(
    statement: Statement, tables: Mapping[str, Mapping[str, str]], copied: Set[str] = frozenset()
) -> Rendered:
    """Return the Spark text of a statement about tables of declared columns, some of them bounded copies."""
    parts, gathered = dict(statement.parts), together(statement, copied)

    def layout(query: Query) -> str | None:
        return f"DISTRIBUTE BY {quoted(gathered[1])}" if gathered and query == gathered[0] else None

    def over(source: Source) -> ScalarWriter:
        return replace(_Writing(scope(source, parts, tables)).writer, layout=layout)

    made = Rendered(
        tuple((name, query_text(query, over)) for name, query in statement.parts),
        query_text(statement.body, over),
    )
    if len(str(made)) > LIMIT:
        raise QueryError("the question", "is too large once every part is made safe", "nest fewer functions")
    return made


class _Writing:
    """Scalars over known columns."""

    def __init__(self, columns: Scope) -> None:
        self.columns = columns
        self.writer = ScalarWriter(literal, self.text, self.text, self.call, quoted, self.unfolded)

    def known(self, scalar: Scalar) -> Known:
        return known(scalar, self.columns)

    def text(self, scalar: Scalar) -> str:
        return sql.scalar_text(scalar, self.writer)

    def call(self, name: str, arguments: tuple[Scalar, ...]) -> str:
        match name:
            case "and" | "or":
                return "(" + f" {name.upper()} ".join(map(self.text, arguments)) + ")"
            case "coalesce" | "least" | "greatest":
                return f"{name}({', '.join(map(self.text, arguments))})"
            case "concat":
                return "(" + " || ".join(map(self.text, arguments)) + ")"
            case "hash":
                return f"xxhash64({', '.join(map(self.text, arguments))})"
            case "slot":
                return f"shiftleft(1L, CAST(pmod({self.call('hash', arguments)}, 60L) AS INT))"
            case "digest":
                return self.digest(arguments)
            case "rank":
                ordered = ", ".join(map(self.ordered, arguments[1:]))
                return f"row_number() OVER (PARTITION BY {self.text(arguments[0])} ORDER BY {ordered})"
            case "window":
                return sql.window_text(Call(name, arguments), self.text, self.total)
            case "sum" if not self.known(arguments[0]).wide:
                return self.parted(arguments[0])
            case "sum":
                return self.total(arguments[0])
            case "sum_distinct":
                return self.total(arguments[0], "DISTINCT ")
            case "substring":
                return self.substring(*arguments)
            case "like" | "ilike":
                return self.like(name, arguments)
            case "part" | "trunc" | "difference" | "shift":
                return _time(name, arguments, [self.text(argument) for argument in arguments[1:]])
            case "fixed":
                return self.bound(arguments[0], _fixed(*arguments[1:]))
            case "round":
                power = double(10.0 ** int(_number(arguments[1])))
                inside = f"transform(array({{0}} * {power}), __v -> {TEMPLATES['round_whole'].format('__v')})"
                return f"({inside.format(self.text(arguments[0]))}[0] / {power})"
            case "to_whole":
                return self.bound(arguments[0], _TO_WHOLE.get(self.known(arguments[0]).kind or "", _CAST))
            case "to_text" if self.known(arguments[0]).kind == "text":
                return self.text(arguments[0])
            case _:
                return self.bound(arguments[0] if arguments else None, TEMPLATES[name], *arguments[1:])

    def bound(self, first: Scalar | None, template: str, *others: Scalar) -> str:
        """Return a function of an argument that is written once, however often the function looks at it."""
        texts = [self.text(other) for other in others]
        if first is None:
            return template
        if template.count("{0}") > 1 and isinstance(first, Call | Case):
            return f"transform(array({self.text(first)}), __v -> {template.format('__v', *texts)})[0]"
        return template.format(self.text(first), *texts)

    def unfolded(self, items: Items) -> str | None:
        """Return the items that unfold one row into several, all at once, if the items do."""
        series = [scalar for _, scalar in items if isinstance(scalar, Call) and scalar.function == "series"]
        if not series:
            return None
        names = [quoted(name) for name, _ in items]
        columns = [[self.alike(cell, one) for cell in one.arguments] for one in series]
        rows = (
            ", ".join(f"{cell} AS {name}" for cell, name in zip(row, names, strict=True))
            for row in zip(*columns, strict=True)
        )
        structs = ", ".join(f"struct({row})" for row in rows)
        return f"inline(array({structs})) AS ({', '.join(names)})"

    def alike(self, cell: Scalar, series: Scalar) -> str:
        """Return a cell of a series by the type of all: where one is a total, so is each."""
        return f"CAST({self.text(cell)} AS DECIMAL(38, 0))" if self.known(series).wide else self.text(cell)

    def ordered(self, term: Scalar) -> str:
        """Return a term of an order; missing values come last either way."""
        match term:
            case Call("descending", (argument,)):
                return f"{self.text(argument)} DESC NULLS LAST"
            case _:
                return f"{self.text(term)} ASC NULLS LAST"

    def total(self, argument: Scalar, each: str = "") -> str:
        size = 38 if self.known(argument).wide else 20
        return f"sum({each}CAST({self.text(argument)} AS DECIMAL({size}, 0)))"

    def parted(self, argument: Scalar) -> str:
        """Return a total of 64-bit integers, whose parts are added up apart.

        In two's complement v = (v >> 44) 2**44 + ((v >> 22) mod 2**22) 2**22 + v mod 2**22, and each part is
        below 2**22 in size: the totals of 2**41 rows fit into 64 bits, which Spark adds up several times
        faster than decimals.  Integers below 2**44 have two parts, those below 2**22 are one.  Where no row
        has a value all of them are NULL, and so is the whole.
        """
        size, value = self.known(argument).size, f"CAST({self.text(argument)} AS BIGINT)"
        places = [place for place in PLACES if not place or size is None or size >= 2**place]
        parts = [f"shiftright({value}, {place}) & {MASK}L" for place in places[:-1]]
        parts.append(f"shiftright({value}, {places[-1]})" if places[-1] else value)
        totals = (
            f"CAST(sum({part}) AS DECIMAL(38, 0)) * {2**place}L"
            for part, place in zip(parts, places, strict=True)
        )
        return f"({' + '.join(totals)})"

    def digest(self, arguments: tuple[Scalar, ...]) -> str:
        texts = [f"CAST({self.text(argument)} AS STRING)" for argument in arguments]
        cells = " || ".join(f"coalesce('|' || length({text}) || ':' || {text}, '|n')" for text in texts)
        return f"md5(CAST({cells} AS BINARY))"

    def substring(self, text: Scalar, start: Scalar, length: Scalar | None = None) -> str:
        begin = int(_number(start)) - 1
        if length is None:
            return f"substring({self.text(text)}, {max(begin, 0) + 1})"
        end = max(begin + int(_number(length)), 0)
        return f"substring({self.text(text)}, {max(begin, 0) + 1}, {max(end - max(begin, 0), 0)})"

    def like(self, name: str, arguments: tuple[Scalar, ...]) -> str:
        """Return whether text matches a pattern, written anew with an escape that occurs nowhere in it."""
        pattern, *escape = (_constant(argument) for argument in arguments[1:])
        text = self.text(arguments[0])
        if name == "ilike":
            # Only the letters A to Z have a case, here as in `lower`.
            text, pattern = TEMPLATES["lower"].format(text), pattern.translate(_SMALL)
        mark = next(sign for sign in map(chr, range(33, 200)) if sign not in pattern and sign not in "%_\\'")
        made, rest = "", iter(pattern)
        for character in rest:
            if character in escape:
                following = next(rest)
                made += mark + following if following in "%_" else following
            else:
                made += character
        return f"({text} LIKE {string(made)} ESCAPE {string(mark)})"


def _fixed(scale: Scalar, low: Scalar, high: Scalar) -> str:
    """Return a double in fixed point; cut beforehand, one step wider, so that it fits into 64 bits."""
    factor, (bottom, top) = double(_number(scale)), (int(_number(end)) for end in (low, high))
    units = f"least(greatest({{0}} * {factor} + 0.5D, {double(bottom - 1)}), {double(top + 1)})"
    return f"CASE WHEN {{0}} IS NOT NULL THEN least(greatest(floor({units}), {bottom}L), {top}L) END"


_CAST = "CAST({0} AS BIGINT)"
_TO_WHOLE = {
    "decimal": "CASE WHEN {0} >= -9223372036854775808D AND {0} < 9223372036854775808D "
    "THEN CAST(rint({0}) AS BIGINT) END",
    "integer": "CASE WHEN {0} BETWEEN -9223372036854775808L AND 9223372036854775807L "
    "THEN CAST({0} AS BIGINT) END",
}


def _time(name: str, arguments: tuple[Scalar, ...], texts: list[str]) -> str:
    word = unit(arguments[0])
    match name:
        case "part" if word == "dayofweek":
            return f"CAST(dayofweek({texts[0]}) - 1 AS BIGINT)"
        case "part":
            return f"CAST({_PARTS.get(word, word)}({texts[0]}) AS BIGINT)"
        case "trunc":
            return _begun(word, texts[0])
        case "difference" if word in MONTHS:
            months = [f"((year({day}) * 12 + month({day}) - 1) div {MONTHS[word]})" for day in texts]
            return f"CAST({months[1]} - {months[0]} AS BIGINT)"
        case "difference":
            begun, ended = (_begun(word, day) for day in texts)
            return f"(CAST(datediff({ended}, {begun}) AS BIGINT) div {7 if word == 'week' else 1}L)"
        case _:
            count = int(_number(arguments[2])) * (MONTHS.get(word) or (7 if word == "week" else 1))
            moved = f"{'add_months' if word in MONTHS else 'date_add'}(CAST({texts[0]} AS DATE), {count})"
            before, after = "DATE '0000-12-31'", "DATE '+10000-01-01'"
            return f"nullif(nullif(least(greatest({moved}, {before}), {after}), {before}), {after})"


def _begun(word: str, moment: str) -> str:
    day = f"CAST({moment} AS DATE)"
    return day if word == "day" else f"trunc({day}, '{word}')"


def _number(scalar: Scalar) -> int | Fraction:
    match scalar:
        case Literal(int() | Fraction() as value):
            return value
        case _:
            raise AssertionError("ends, digits, places and amounts are constants")


def _constant(scalar: Scalar) -> str:
    match scalar:
        case Literal(str(value)):
            return value
        case _:
            raise AssertionError("patterns are constants")


def double(value: float | Fraction) -> str:
    """Return a double as Spark text."""
    return f"{float(value)!r}D" if value >= 0 else f"({float(value)!r}D)"


def string(value: str) -> str:
    """Return a constant text; a backslash would begin an escape."""
    sql.string(value)
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def quoted(name: str) -> str:
    """Return an identifier."""
    return "`" + name.replace("`", "``") + "`"


def literal(value: Value) -> str:
    """Return a constant as Spark text, a whole one as 64-bit integer."""
    match value:
        case str():
            return string(value)
        case int() if not isinstance(value, bool):
            return f"{whole(value)}L" if value >= 0 else f"({whole(value)}L)"
        case _:
            return sql.literal(value, double)
