"""Statements as PostgreSQL writes them: every function by the meaning of the reference engine, and total.

PostgreSQL raises where others return infinity, zero or nothing: at products that are too large or too small,
at casts, at impossible dates.  Each expression here avoids that for every cell, without looking at the
others.  Text compares and folds by COLLATE "C", so that no locale of a server changes an answer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from discreet.engines import sql
from discreet.engines.kinds import Known, Scope, known, scope
from discreet.engines.postgres.layout import laid_out
from discreet.engines.sql import (
    COMPARISONS,
    FALSE,
    LAST,
    REAL,
    SINCE,
    TIME,
    TRUE,
    ScalarWriter,
    unit,
    whole,
)
from discreet.errors import QueryError
from discreet.query.plan import MONTHS, Call, Column, Literal, Scalar, Value
from discreet.query.statement import Query, Source, Statement

LIMIT = 400_000
"""Longest statement sent to a server, in characters."""

CHOICE = "discreet.choice"
"""The setting of a transaction that holds the key of the random choice, so that no statement contains it."""

LARGE, TINY = "3.273390607896142e+150::float8", "3.054936363499605e-151::float8"
"""2**500 and 2**-500."""

FAR = "4.149515568880993e+180::float8"
"""2**600: further than any double that is rounded to digits."""

_DAY = "(?!0000)[0-9]{{4}}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
_BARE = "btrim({0}, ' ')"
_FIRST = f"CAST(left({_BARE}, 8) || '01' AS date)"
_LATER = f"CAST(substr({_BARE}, 9, 2) AS integer) - 1"
_IS_DAY = f"date_part('month', {_FIRST} + ({_LATER})) = date_part('month', {_FIRST})"
_NUMBER = f"CAST({_BARE} AS numeric)"
_TICKS = f"nullif(nullif(least(greatest(CAST({{0}} AS numeric), -1), {LAST + 1}), -1), {LAST + 1})"
_SENTINELS = "date '0001-12-31 BC'", "date '10000-01-01'"
_PARTS = {"dayofweek": "dow", "dayofyear": "doy"}

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
    **COMPARISONS,
    "lower": 'lower({0} COLLATE "C")',
    "upper": 'upper({0} COLLATE "C")',
    "trim": "btrim({0}, ' ')",
    "ltrim": "ltrim({0}, {1})",
    "rtrim": "rtrim({0}, {1})",
    "replace": "replace({0}, {1}, {2})",
    "split_part": "split_part({0}, {1}, CAST({2} AS integer))",
    "lpad": "lpad({0}, CAST({1} AS integer), {2})",
    "rpad": "rpad({0}, CAST({1} AS integer), {2})",
    "length": "CAST(length({0}) AS bigint)",
    "left": "left({0}, CAST({1} AS integer))",
    "right": "right({0}, CAST({1} AS integer))",
    "starts_with": "starts_with({0}, {1})",
    "microseconds": f"(CAST(extract(epoch FROM {{0}}) * 1000000 AS bigint) + {SINCE})",
    # Whole days and what remains of one: either is a double without rounding.
    "moment_at": f"(timestamp '0001-01-01' + div({_TICKS}, 86400000000)::float8 * interval '1 day' "
    f"+ mod({_TICKS}, 86400000000)::float8 * interval '1 microsecond')",
    "to_real": "CAST({0} AS float8)",
    "to_text": 'CAST({0} AS text) COLLATE "C"',
    "to_day": "CAST({0} AS date)",
    "to_moment": "CAST({0} AS timestamp)",
    "to_truth": "CAST({0} AS boolean)",
    "parse_whole": f"CASE WHEN {{0}} ~ '^ *[+-]?[0-9]{{{{1,19}}}} *$' THEN CASE WHEN {_NUMBER} "
    f"BETWEEN -9223372036854775808 AND 9223372036854775807 THEN CAST({_NUMBER} AS bigint) END END",
    # Beyond 1e300 and below 1e-300 the cast to a double itself could raise.
    "parse_real": f"CASE WHEN {{0}} ~ '^ *{REAL} *$' THEN CASE WHEN abs({_NUMBER}) < 1e-300 THEN 0 "
    f"WHEN abs({_NUMBER}) < 1e300 THEN CASE WHEN abs(CAST({_BARE} AS float8)) < {TINY} THEN 0 "
    f"WHEN abs(CAST({_BARE} AS float8)) < {LARGE} THEN CAST({_BARE} AS float8) END END END",
    "parse_day": f"CASE WHEN {{0}} ~ '^ *{_DAY} *$' THEN CASE WHEN {_IS_DAY} "
    f"THEN CAST({_BARE} AS date) END END",
    "parse_moment": f"CASE WHEN {{0}} ~ '^ *{_DAY}([ T]{TIME})? *$' THEN CASE WHEN {_IS_DAY} "
    f"THEN CAST(rtrim({_BARE}, 'Z') AS timestamp) END END",
    "parse_truth": "CASE WHEN lower(btrim({0}, ' ') COLLATE \"C\") IN " + TRUE + " THEN true "
    "WHEN lower(btrim({0}, ' ') COLLATE \"C\") IN " + FALSE + " THEN false END",
    "grouped": "{0}",
    "count_rows": "count(*)",
    "count_values": "count({0})",
    "count_distinct": "count(DISTINCT {0})",
    "sum_distinct": "sum(DISTINCT {0})",
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
    statement, orders = laid_out(statement, tables)
    parts = dict(statement.parts)

    def layout(query: Query) -> str | None:
        return f"ORDER BY {', '.join(map(sql.quoted, orders[query]))}" if query in orders else None

    def over(source: Source) -> ScalarWriter:
        return replace(_Scalars(scope(source, parts, tables)).writer, layout=layout)

    return sql.statement_text(statement, over, once="", limit=LIMIT, offered=offered)


class _Scalars:
    """Scalars over known columns."""

    def __init__(self, columns: Scope) -> None:
        self.columns = columns
        self.writer = ScalarWriter(literal, self.typed, self.typed, self.call)

    def known(self, scalar: Scalar) -> Known:
        return known(scalar, self.columns)

    def text(self, scalar: Scalar) -> str:
        return sql.scalar_text(scalar, self.writer)

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
            case "quotient" if _dealt(arguments[0]) and not self.known(arguments[1]).wide:
                # Weights are worked out for every person, and decimals take several times longer.
                return "({} / {})".format(*(f"CAST({self.typed(one)} AS bigint)" for one in arguments))
            case "clamp" if isinstance(arguments[0], Column):
                # Comparing is quicker than taking the least and the greatest, of every row.
                return "CASE WHEN {0} > {2} THEN {2} WHEN {0} < {1} THEN {1} ELSE {0} END".format(
                    *map(self.typed, arguments)
                )
            case "sum":
                return self.bit_total(arguments[0]) or TEMPLATES[name].format(self.typed(arguments[0]))
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
            case "descending":
                return f"{self.text(arguments[0])} DESC NULLS LAST"
            case "rank":
                person, *order = map(self.text, arguments)
                return f"row_number() OVER (PARTITION BY {person} ORDER BY {', '.join(order)})"
            case "window":
                return sql.window_text(Call(name, arguments), self.text)
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

    def bit_total(self, argument: Scalar) -> str | None:
        """Return the total of weights times a bit, which only rows with the bit add to, if it is one.

        Where no row has the bit it is 0, and NULL where none has any: as many weights times 0.
        """
        match argument:
            case Call("multiply", (weight, Call("bit_at", (bits, Literal(int(place)))))) if place < 63:
                total, held = f"sum({self.typed(weight)})", self.typed(bits)
            case _:
                return None
        there = f"{total} FILTER (WHERE ({held} & {typed_literal(2**place)}) <> 0)"
        return f"coalesce({there}, 0 * {total} FILTER (WHERE {held} IS NOT NULL))"

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
            if self.known(argument).kind == "decimal":
                # 0 and -0 are one number of two texts; which of them a group shows, the rows' order decides.
                text = f"({text} + 0)"
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
        word = unit(arguments[0])
        texts = [self.typed(argument) for argument in arguments[1:]]
        match name:
            case "part":
                return f"CAST(floor(date_part('{_PARTS.get(word, word)}', {texts[0]})) AS bigint)"
            case "trunc":
                return f"CAST(date_trunc('{word}', CAST({texts[0]} AS timestamp)) AS date)"
            case "difference":
                return _difference(word, *texts)
            case _:
                kind = "months" if word in MONTHS else "days"
                count = int(_number(arguments[2])) * (MONTHS.get(word) or (7 if word == "week" else 1))
                moved = f"CAST({texts[0]} + make_interval({kind} => {count}) AS date)"
                before, after = _SENTINELS
                return f"nullif(nullif(least(greatest({moved}, {before}), {after}), {before}), {after})"


def _difference(word: str, first: str, second: str) -> str:
    if word in MONTHS:
        months = (
            f"(date_part('year', {day}) * 12 + date_part('month', {day}) - 1)" for day in (first, second)
        )
        begun, ended = (f"floor({count} / {MONTHS[word]})" for count in months)
        return f"CAST({ended} - {begun} AS bigint)"
    begun, ended = (
        f"CAST(date_trunc('{word}', CAST({day} AS timestamp)) AS date)" for day in (first, second)
    )
    return f"CAST(({ended} - {begun}) / {7 if word == 'week' else 1} AS bigint)"


def _dealt(scalar: Scalar) -> bool:
    """Whether a scalar is a constant of 64 bits or a quotient of one, and is not negative throughout.

    Its quotient by any other integer is no larger, so that it stays within 64 bits; only the smallest integer
    of all has one that does not, by -1.
    """
    match scalar:
        case Literal(int(value)):
            return 0 <= value < 2**63
        case Call("quotient", (inner, _)):
            return _dealt(inner)
        case _:
            return False


def _number(scalar: Scalar) -> int | Fraction:
    match scalar:
        case Literal(int() | Fraction() as value):
            return value
        case _:
            raise AssertionError("ends, digits and amounts are constants")


def double(value: float | Fraction) -> str:
    """Return a double as PostgreSQL text."""
    text = f"{float(value)!r}::float8"
    return f"({text})" if value < 0 else text


def literal(value: Value) -> str:
    """Return a constant as PostgreSQL text."""
    return sql.literal(value, double, ' COLLATE "C"')


def typed_literal(value: Value) -> str:
    """Return a constant, a whole one as 64-bit integer."""
    return f"({whole(value)})::bigint" if type(value) is int else literal(value)
