"""Statements as PostgreSQL writes them: every function by the meaning of the reference engine, and total.

PostgreSQL raises where others return infinity, zero or nothing: at products that are too large or too small,
at casts, at impossible dates.  Each expression here avoids that for every cell, without looking at the
others.  Text compares and folds by COLLATE "C", so that no locale of a server changes an answer.
"""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from fractions import Fraction
from typing import assert_never

from discreet.engines.postgres.kinds import Known, Scope, known, scope
from discreet.errors import QueryError
from discreet.query.plan import Aggregate, Among, Call, Case, Column, Literal, Scalar, Value, given
from discreet.query.statement import ROWS, Inner, Joined, Listed, Named, Query, Source, Statement, Stored

LIMIT = 400_000
"""Longest statement sent to a server, in characters."""

CHOICE = "discreet.choice"
"""The setting of a transaction that holds the key of the random choice, so that no statement contains it."""

LARGE, TINY = "3.273390607896142e+150::float8", "3.054936363499605e-151::float8"
"""2**500 and 2**-500."""

FAR = "4.149515568880993e+180::float8"
"""2**600: further than any double that is rounded to digits."""

_DAY = "(?!0000)[0-9]{{4}}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
_TIME = "([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{{1,6}})?)?Z?"
_REAL = "[+-]?([0-9]{{1,40}}([.][0-9]{{0,40}})?|[.][0-9]{{1,40}})([eE][+-]?[0-9]{{1,3}})?"
_BARE = "btrim({0}, ' ')"
_FIRST = f"CAST(left({_BARE}, 8) || '01' AS date)"
_LATER = f"CAST(substr({_BARE}, 9, 2) AS integer) - 1"
_IS_DAY = f"date_part('month', {_FIRST} + ({_LATER})) = date_part('month', {_FIRST})"
_NUMBER = f"CAST({_BARE} AS numeric)"
_WORDS = "('true', 't', 'yes', 'y', '1')", "('false', 'f', 'no', 'n', '0')"
_SENTINELS = "date '0001-12-31 BC'", "date '10000-01-01'"
_PARTS = {"dayofweek": "dow", "dayofyear": "doy"}
_MONTHS = {"month": 1, "quarter": 3, "year": 12}

TEMPLATES = {
    "add": "({0} + {1})",
    "subtract": "({0} - {1})",
    "multiply": "({0} * {1})",
    "multiply_long": "(CAST({0} AS bigint) * {1})",
    "multiply_wide": "(CAST({0} AS numeric) * {1})",
    "divide": "({0} / nullif({1}, 0))",
    "modulo": "({0} % {1})",
    # Totals are decimals here, whose quotients would not be whole.
    "quotient": "div(CAST({0} AS numeric), CAST({1} AS numeric))",
    "absolute": "abs({0})",
    "sign": "CAST(sign({0}) AS bigint)",
    "floor": "floor({0})",
    "ceil": "ceil({0})",
    "round_whole": "CASE WHEN abs({0} - trunc({0})) >= 0.5 THEN trunc({0}) + sign({0}) ELSE trunc({0}) END",
    "sqrt": "sqrt(CASE WHEN {0} >= 0 THEN {0} END)",
    "ln": "ln(nullif(greatest({0}, 0), 0))",
    "exp": "exp(nullif(greatest(least({0}, 346), -360), 346))",
    "clamp": "CASE WHEN {0} IS NOT NULL THEN least(greatest({0}, {1}), {2}) END",
    "clamp_real": "CASE WHEN {0} IS NOT NULL THEN least(greatest({0}, {1}), {2}) END",
    "bits_or": "bit_or(CAST({0} AS bigint))",
    "bits_set": "bit_count(CAST(CAST({0} AS bigint) AS bit(64)))",
    "bit_at": "((CAST({0} AS bigint) >> CAST({1} AS integer)) & 1)",
    "narrow": "CAST({0} AS bigint)",
    "long": "CAST({0} AS bigint)",
    "finite": f"(trunc(nullif(nullif(least(greatest({{0}}, -{LARGE}), {LARGE}), {LARGE}), -{LARGE}) "
    f"* {LARGE}) * {TINY})",
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
    "lower": 'lower({0} COLLATE "C")',
    "upper": 'upper({0} COLLATE "C")',
    "trim": "btrim({0}, ' ')",
    "length": "CAST(length({0}) AS bigint)",
    "left": "left({0}, CAST({1} AS integer))",
    "right": "right({0}, CAST({1} AS integer))",
    "starts_with": "starts_with({0}, {1})",
    "to_real": "CAST({0} AS float8)",
    "to_text": 'CAST({0} AS text) COLLATE "C"',
    "to_day": "CAST({0} AS date)",
    "to_moment": "CAST({0} AS timestamp)",
    "to_truth": "CAST({0} AS boolean)",
    "parse_whole": f"CASE WHEN {{0}} ~ '^ *[+-]?[0-9]{{{{1,19}}}} *$' THEN CASE WHEN {_NUMBER} "
    f"BETWEEN -9223372036854775808 AND 9223372036854775807 THEN CAST({_NUMBER} AS bigint) END END",
    # Beyond 1e300 and below 1e-300 the cast to a double itself could raise.
    "parse_real": f"CASE WHEN {{0}} ~ '^ *{_REAL} *$' THEN CASE WHEN abs({_NUMBER}) < 1e-300 THEN 0 "
    f"WHEN abs({_NUMBER}) < 1e300 THEN CASE WHEN abs(CAST({_BARE} AS float8)) < {TINY} THEN 0 "
    f"WHEN abs(CAST({_BARE} AS float8)) < {LARGE} THEN CAST({_BARE} AS float8) END END END",
    "parse_day": f"CASE WHEN {{0}} ~ '^ *{_DAY} *$' THEN CASE WHEN {_IS_DAY} "
    f"THEN CAST({_BARE} AS date) END END",
    "parse_moment": f"CASE WHEN {{0}} ~ '^ *{_DAY}([ T]{_TIME})? *$' THEN CASE WHEN {_IS_DAY} "
    f"THEN CAST(rtrim({_BARE}, 'Z') AS timestamp) END END",
    "parse_truth": "CASE WHEN lower(btrim({0}, ' ') COLLATE \"C\") IN " + _WORDS[0] + " THEN true "
    "WHEN lower(btrim({0}, ' ') COLLATE \"C\") IN " + _WORDS[1] + " THEN false END",
    "grouped": "{0}",
    "count_rows": "count(*)",
    "count_values": "count({0})",
    "count_distinct": "count(DISTINCT {0})",
    "sum": "sum({0})",
    "mean": "(CAST({0} AS float8) / ({1} * {2}))",
    "min": "min({0})",
    "max": "max({0})",
    "choice": f"current_setting('{CHOICE}')",
}
"""Functions of fixed arity: what each is in PostgreSQL, total for the arguments that checking admits."""


def render(statement: Statement, tables: Mapping[str, Mapping[str, str]], offered: Sequence[str] = ()) -> str:
    """Return the PostgreSQL text of a statement about tables of declared columns.

    `offered` are definitions of the tables themselves, which come before the statement's own parts.
    """
    writer = _Writer(tables, dict(statement.parts))
    # A part that is used once belongs into the query that uses it, where it can run in parallel.
    parts = [
        f"{name_text(name)} AS {'NOT MATERIALIZED ' if name == ROWS else ''}(\n{writer.query(query)}\n)"
        for name, query in statement.parts
    ]
    body = writer.query(statement.body)
    parts = [*offered, *parts]
    text = ("WITH " + ",\n".join(parts) + "\n" if parts else "") + body
    if len(text) > LIMIT:
        raise QueryError("the question", "is too large once every part is made safe", "nest fewer functions")
    return text


class _Writer:
    """The renderer of one statement."""

    def __init__(self, tables: Mapping[str, Mapping[str, str]], parts: Mapping[str, Query]) -> None:
        self.tables, self.parts = tables, parts

    def query(self, query: Query) -> str:
        columns = scope(query.source, self.parts, self.tables)
        write = _Scalars(columns)
        items = ", ".join(f"{write.typed(scalar)} AS {name_text(name)}" for name, scalar in query.items)
        lines = [f"SELECT {items}", f"FROM {self.source(query.source, write)}"]
        if query.where is not None:
            lines.append(f"WHERE {write.text(query.where)}")
        if query.group:
            lines.append(f"GROUP BY {', '.join(write.text(key) for key in query.group)}")
        if query.having is not None:
            lines.append(f"HAVING {write.text(query.having)}")
        return "\n".join(lines)

    def source(self, source: Source, write: "_Scalars") -> str:
        match source:
            case Stored(name, alias) | Named(name, alias):
                return f"{name_text(name)} AS {name_text(alias)}"
            case Inner(query, alias):
                return f"({self.query(query)}) AS {name_text(alias)}"
            case Joined(left, right, on, outer):
                word = "LEFT JOIN" if outer else "JOIN"
                return f"{self.source(left, write)} {word} {self.source(right, write)} ON {write.text(on)}"
            case Listed(names, rows, alias):
                values = ", ".join(f"({', '.join(map(typed_literal, row))})" for row in rows)
                return f"(VALUES {values}) AS {name_text(alias)}({', '.join(map(name_text, names))})"
            case _:
                assert_never(source)


class _Scalars:
    """Scalars over known columns."""

    def __init__(self, columns: Scope) -> None:
        self.columns = columns

    def known(self, scalar: Scalar) -> Known:
        return known(scalar, self.columns)

    def text(self, scalar: Scalar) -> str:
        match scalar:
            case Literal(value):
                return literal(value)
            case Column(None, name):
                return name_text(name)
            case Column(relation, name):
                return f"{name_text(given(relation))}.{name_text(name)}"
            case Case(branches, otherwise):
                tests = " ".join(f"WHEN {self.text(t)} THEN {self.typed(value)}" for t, value in branches)
                last = "" if otherwise == Literal(None) else f" ELSE {self.typed(otherwise)}"
                return f"CASE {tests}{last} END"
            case Among(argument, values):
                return f"({self.text(argument)} IN ({', '.join(literal(value.value) for value in values)}))"
            case Call(name, arguments):
                return self.call(name, arguments)
            case Aggregate():
                raise AssertionError("aggregates of a question are rewritten before rendering")
            case _:
                assert_never(scalar)

    def typed(self, scalar: Scalar) -> str:
        """Return a scalar's text with constants of a definite type."""
        return typed_literal(scalar.value) if isinstance(scalar, Literal) else self.text(scalar)

    def call(self, name: str, arguments: tuple[Scalar, ...]) -> str:
        match name:
            case "and" | "or":
                return "(" + f" {name.upper()} ".join(map(self.text, arguments)) + ")"
            case "multiply" | "divide" if any(self.known(a).kind == "decimal" for a in arguments):
                self.demand_graded(arguments)
                return TEMPLATES[name].format(*map(self.typed, arguments))
            case "coalesce" | "least" | "greatest":
                return f"{name}({', '.join(map(self.typed, arguments))})"
            case "series":
                return f"unnest(ARRAY[{', '.join(map(self.typed, arguments))}])"
            case "hash" if isinstance(arguments[0], Call) and arguments[0].function == "hash":
                # The inner one is mixed well enough; the outer one is for engines whose own is not.
                return self.text(arguments[0])
            case "hash" if arguments[0] == Call("choice", ()):
                return self.hashed(arguments[1:], f"CAST({TEMPLATES['choice']} AS bigint)")
            case "hash":
                return self.hashed(arguments, "0")
            case "slot":
                return f"(CAST(1 AS bigint) << CAST(({self.hashed(arguments, '0')} & 1023) % 60 AS integer))"
            case "digest":
                return self.digest(arguments)
            case "rank":
                person, *order = map(self.text, arguments)
                return f"row_number() OVER (PARTITION BY {person} ORDER BY {', '.join(order)})"
            case "concat":
                return "(" + " || ".join(map(self.typed, arguments)) + ")"
            case "substring":
                return f"substr({', '.join(map(self.text, arguments))})"
            case "like" | "ilike":
                return self.like(name, arguments)
            case "part" | "trunc" | "difference" | "shift":
                return self.time(name, arguments)
            case "fixed":
                return self.fixed(*arguments)
            case "round":
                return self.rounded(self.typed(arguments[0]), arguments[1])
            case "to_whole":
                return self.whole(arguments[0])
            case "to_text" if self.known(arguments[0]).kind == "text":
                return self.typed(arguments[0])
            case _:
                return TEMPLATES[name].format(*map(self.typed, arguments))

    def demand_graded(self, arguments: tuple[Scalar, ...]) -> None:
        if not all(self.known(argument).graded for argument in arguments):
            raise QueryError("arithmetic", "could leave the numbers of PostgreSQL", "use CLAMP on its parts")

    def rounded(self, text: str, digits: Scalar) -> str:
        """Return a double with so many digits; cut beforehand, far out, so that no product is too large."""
        power = double(10.0 ** int(_number(digits)))
        inside = f"(least(greatest({text}, -{FAR}), {FAR}) * {power})"
        whole = TEMPLATES["round_whole"].format(inside)
        return f"CASE WHEN {text} IS NOT NULL THEN ({whole}) / {power} END"

    def whole(self, argument: Scalar) -> str:
        text = self.typed(argument)
        match self.known(argument).kind:
            case "boolean":
                return f"CAST(CAST({text} AS integer) AS bigint)"
            case "decimal":
                most = "9223372036854775808::float8"
                return f"CASE WHEN {text} >= -{most} AND {text} < {most} THEN CAST({text} AS bigint) END"
            case "integer":
                inside = "BETWEEN -9223372036854775808 AND 9223372036854775807"
                return f"CASE WHEN {text} {inside} THEN CAST({text} AS bigint) END"
            case _:
                return f"CAST({text} AS bigint)"

    def fixed(self, x: Scalar, scale: Scalar, low: Scalar, high: Scalar) -> str:
        """Return a double in fixed point; cut beforehand, one step wider, so that no product is too large."""
        factor, bottom, top = (float(_number(end)) for end in (scale, low, high))
        if factor < 1:
            raise QueryError("arithmetic", "could leave the numbers of PostgreSQL", "use a larger step")
        ends = double(bottom / factor - 1), double(top / factor + 1)
        text, before = self.text(x), f"least(greatest({self.text(x)}, {ends[0]}), {ends[1]})"
        units = f"floor({before} * {double(factor)} + {double(0.5)})"
        inside = f"least(greatest({units}, {double(bottom)}), {double(top)})"
        return f"CASE WHEN {text} IS NOT NULL THEN CAST({inside} AS bigint) END"

    def digest(self, arguments: tuple[Scalar, ...]) -> str:
        texts = [f"CAST({self.typed(argument)} AS text)" for argument in arguments]
        cells = " || ".join(f"coalesce('|' || length({text}) || ':' || {text}, '|n')" for text in texts)
        return f'md5({cells}) COLLATE "C"'

    def hashed(self, arguments: tuple[Scalar, ...], start: str) -> str:
        """Return the server's own hash of cells, the hash of each the start of the next."""
        for argument in arguments:
            text = self.typed(argument)
            if self.known(argument).kind == "integer":
                start = f"hashint8extended(coalesce(CAST({text} AS bigint), 0), {start})"
            else:
                start = f"hashtextextended(coalesce(CAST({text} AS text), ''), {start})"
        return start

    def like(self, name: str, arguments: tuple[Scalar, ...]) -> str:
        text, pattern, *escape = map(self.typed, arguments)
        mark = escape[0] if escape else "''"
        if name == "ilike":
            text, pattern = (f'lower({part} COLLATE "C")' for part in (text, pattern))
        return f"({text} LIKE {pattern} ESCAPE {mark})"

    def time(self, name: str, arguments: tuple[Scalar, ...]) -> str:
        unit = _unit(arguments[0])
        texts = [self.typed(argument) for argument in arguments[1:]]
        match name:
            case "part":
                return f"CAST(floor(date_part('{_PARTS.get(unit, unit)}', {texts[0]})) AS bigint)"
            case "trunc":
                return f"CAST(date_trunc('{unit}', CAST({texts[0]} AS timestamp)) AS date)"
            case "difference":
                return _difference(unit, *texts)
            case _:
                kind = "months" if unit in _MONTHS else "days"
                count = int(_number(arguments[2])) * (_MONTHS.get(unit) or (7 if unit == "week" else 1))
                moved = f"CAST({texts[0]} + make_interval({kind} => {count}) AS date)"
                before, after = _SENTINELS
                return f"nullif(nullif(least(greatest({moved}, {before}), {after}), {before}), {after})"


def _difference(unit: str, first: str, second: str) -> str:
    if unit in _MONTHS:
        months = (
            f"(date_part('year', {day}) * 12 + date_part('month', {day}) - 1)" for day in (first, second)
        )
        begun, ended = (f"floor({count} / {_MONTHS[unit]})" for count in months)
        return f"CAST({ended} - {begun} AS bigint)"
    begun, ended = (
        f"CAST(date_trunc('{unit}', CAST({day} AS timestamp)) AS date)" for day in (first, second)
    )
    return f"CAST(({ended} - {begun}) / {7 if unit == 'week' else 1} AS bigint)"


def _number(scalar: Scalar) -> int | Fraction:
    match scalar:
        case Literal(int() | Fraction() as value):
            return value
        case _:
            raise AssertionError("ends, digits and amounts are constants")


def _unit(scalar: Scalar) -> str:
    match scalar:
        case Literal(str(value)) if value.isalpha():
            return value
        case _:
            raise AssertionError("units of time are plain words")


def double(value: float | Fraction) -> str:
    """Return a double as PostgreSQL text."""
    text = f"{float(value)!r}::float8"
    return f"({text})" if value < 0 else text


def literal(value: Value) -> str:
    """Return a constant as PostgreSQL text."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case int():
            return _whole(value)
        case Fraction():
            return double(value)
        case str():
            return string(value)
        case datetime():
            return f"timestamp '{value.isoformat(' ')}'"
        case date():
            return f"date '{value.isoformat()}'"
        case _:
            assert_never(value)


def typed_literal(value: Value) -> str:
    """Return a constant, a whole one as 64-bit integer."""
    return f"({_whole(value)})::bigint" if type(value) is int else literal(value)


def _whole(value: int) -> str:
    if not -(2**63) <= value < 2**63:
        raise QueryError("a whole constant", "needs more than 64 bits", "use a smaller number")
    return str(value)


def string(value: str) -> str:
    """Return a constant text as SQL."""
    if "\x00" in value:
        raise QueryError("a text constant", "contains a NUL character", "leave it out")
    return "'" + value.replace("'", "''") + "'" + ' COLLATE "C"'


def name_text(name: str) -> str:
    """Return an identifier as SQL."""
    return '"' + name.replace('"', '""') + '"'
