"""Engine statements as DuckDB SQL: identifiers quoted, constants escaped, every function from one table.

No text of an analyst appears in the result except inside quoted constants and declared names.
"""

from collections.abc import Mapping
from fractions import Fraction

from discreet.engines import sql
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
from discreet.query.plan import Among, Call, Case, Column, Literal, Scalar, Value, walk
from discreet.query.statement import Statement

LARGE, TINY = "3.273390607896142e+150", "3.054936363499605e-151"
"""2**500 and 2**-500: numbers beyond do not exist, and what is smaller is 0."""

LIMIT = 200_000
"""Longest statement sent to an engine, in characters."""

MANY, TYPED, COMPARED, MARKS = 8, 64, 256, "|;~\x1f"
"""From how many texts on these are not compared one by one, up to how many make a type, up to how many groups
are compared with each of them, and at which of these characters a constant of many is split."""

_UPPER, _LOWER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"
_FOLDED = "CASE WHEN strlen({{0}}) = length({{0}}) THEN {0}({{0}}) ELSE translate({{0}}, '{1}', '{2}') END"
_DIGESTED = "coalesce('|' || length({0}) || ':' || {0}, '|n')"
_DAY = "[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}"

TEMPLATES = {
    "add": "({0} + {1})",
    "subtract": "({0} - {1})",
    "multiply": "({0} * {1})",
    "multiply_long": "(CAST({0} AS BIGINT) * {1})",
    "multiply_wide": "(CAST({0} AS HUGEINT) * {1})",
    "modulo": "({0} % {1})",
    "quotient": "({0} // {1})",
    "absolute": "abs({0})",
    "sign": "sign({0})",
    "floor": "floor({0})",
    "ceil": "ceil({0})",
    "round": "round({0}, {1})",
    "round_whole": "round({0})",
    "sqrt": "sqrt(CASE WHEN {0} >= 0 THEN {0} END)",
    "ln": "ln(nullif(greatest({0}, 0e0), 0e0))",
    "exp": "exp(nullif(greatest(least({0}, 346e0), -360e0), 346e0))",
    "clamp": "CASE WHEN {0} IS NOT NULL THEN least(greatest({0}, {1}), {2}) END",
    "clamp_real": "CASE WHEN isfinite({0}) THEN least(greatest({0}, {1}), {2}) END",
    "fixed": "CASE WHEN isfinite({0}) THEN "
    "CAST(least(greatest(floor({0} * {1} + 0.5e0), {2}), {3}) AS BIGINT) END",
    "bits_or": "bit_or({0})",
    "bits_set": "bit_count({0})",
    "bit_at": "(({0} >> {1}) & 1)",
    "narrow": "CAST({0} AS INTEGER)",
    "long": "CAST({0} AS BIGINT)",
    "finite": f"(trunc(nullif(nullif(least(greatest({{0}}, -{LARGE}), {LARGE}), {LARGE}), -{LARGE}) "
    f"* {LARGE}) * {TINY})",
    **COMPARISONS,
    "lower": _FOLDED.format("lower", _UPPER, _LOWER),
    "upper": _FOLDED.format("upper", _LOWER, _UPPER),
    "trim": "trim({0}, ' ')",
    "ltrim": "ltrim({0}, {1})",
    "rtrim": "rtrim({0}, {1})",
    "replace": "replace({0}, {1}, {2})",
    "split_part": "CASE WHEN {0} IS NOT NULL THEN split_part({0}, {1}, {2}) END",
    "lpad": "lpad({0}, {1}, {2})",
    "rpad": "rpad({0}, {1}, {2})",
    "length": "length({0})",
    "left": "left({0}, {1})",
    "right": "right({0}, {1})",
    "starts_with": "starts_with({0}, {1})",
    "microseconds": f"(epoch_us(CAST({{0}} AS TIMESTAMP)) + {SINCE})",
    "moment_at": f"CASE WHEN {{0}} BETWEEN 0 AND {LAST} "
    f"THEN make_timestamp(CAST(least(greatest({{0}}, 0), {LAST}) AS BIGINT) - {SINCE}) END",
    "to_whole": "TRY_CAST({0} AS BIGINT)",
    "to_real": "TRY_CAST({0} AS DOUBLE)",
    "to_text": "CAST({0} AS VARCHAR)",
    # Infinite ones would leave the engine as the last day of the calendar.
    "to_day": "CASE WHEN isfinite(TRY_CAST({0} AS DATE)) THEN TRY_CAST({0} AS DATE) END",
    "to_moment": "CASE WHEN isfinite(TRY_CAST({0} AS TIMESTAMP)) THEN TRY_CAST({0} AS TIMESTAMP) END",
    "to_truth": "CAST({0} AS BOOLEAN)",
    "parse_whole": "CASE WHEN regexp_full_match({0}, ' *[+-]?[0-9]{{1,19}} *') "
    "THEN TRY_CAST({0} AS BIGINT) END",
    "parse_real": f"CASE WHEN regexp_full_match({{0}}, ' *{REAL} *') THEN CASE "
    f"WHEN abs(TRY_CAST({{0}} AS DOUBLE)) < {TINY} THEN 0e0 "
    f"WHEN abs(TRY_CAST({{0}} AS DOUBLE)) < {LARGE} THEN TRY_CAST({{0}} AS DOUBLE) END END",
    "parse_day": f"CASE WHEN regexp_full_match({{0}}, ' *{_DAY} *') AND {{0}} NOT LIKE '%0000-%' "
    "THEN TRY_CAST({0} AS DATE) END",
    "parse_moment": f"CASE WHEN regexp_full_match({{0}}, ' *{_DAY}([ T]{TIME})? *') "
    # A space after a date without a time is no timestamp for the engine.
    "AND {0} NOT LIKE '%0000-%' THEN TRY_CAST(trim({0}, ' ') AS TIMESTAMP) END",
    "parse_truth": "CASE WHEN lower(trim({0}, ' ')) IN " + TRUE + " THEN true "
    "WHEN lower(trim({0}, ' ')) IN " + FALSE + " THEN false END",
    "grouped": "CASE WHEN count(*) > 0 THEN {0} END",
    "count_rows": "count(*)",
    "count_values": "count({0})",
    "count_distinct": "count(DISTINCT {0})",
    "sum_distinct": "sum(DISTINCT {0})",
    "sum": "sum({0})",
    "mean": "(TRY_CAST({0} AS DOUBLE) / ({1} * {2}))",
    "min": "min({0})",
    "max": "max({0})",
    "choice": "CAST($choice AS UBIGINT)",
}
"""Functions of fixed arity: what each is in DuckDB, total for the arguments that checking admits."""

GUARDED = frozenset(("finite", "divide", "ln", "exp", "sqrt", "shift"))
"""Functions whose guard mentions the argument several times, also where `nullif` does so unseen."""

LONG = 1_000
"""A longer text than this is not written twice for the sake of a guard, either."""


def render(statement: Statement) -> str:
    """Return the DuckDB text of a statement."""
    return sql.statement_text(
        statement, lambda _: _WRITER, once="MATERIALIZED ", single=sql.INLINE, limit=LIMIT
    )


def scalar_text(scalar: Scalar) -> str:
    """Return the DuckDB text of one scalar."""
    return sql.scalar_text(scalar, _WRITER)


def literal(value: Value) -> str:
    """Return a constant as DuckDB text."""
    return sql.literal(value, _double)


def _call(name: str, arguments: tuple[Scalar, ...]) -> str:
    match name:
        case "and" | "or":
            return "(" + f" {name.upper()} ".join(scalar_text(argument) for argument in arguments) + ")"
        case "multiply" if isinstance(bit := arguments[1], Call) and bit.function == "bit_at":
            # All bits of the number or none, which a product finds out more slowly: it looks for overflow.
            return f"({scalar_text(arguments[0])} & -{scalar_text(bit)})"
        case "add" | "subtract" | "multiply":
            return TEMPLATES[name].format(*map(_typed, arguments))
        case "coalesce" | "least" | "greatest":
            return f"{name}({', '.join(map(_typed, arguments))})"
        case "clamp" if isinstance(arguments[0], Column):
            value, low, high = map(scalar_text, arguments)
            return f"CASE WHEN {value} < {low} THEN {low} WHEN {value} > {high} THEN {high} ELSE {value} END"
        case "series":
            return f"unnest([{', '.join(map(scalar_text, arguments))}])"
        case "hash":
            return f"hash({', '.join(map(scalar_text, arguments))})"
        case "digest":
            # What `hash` is in engines that have none of this one's: slower here, and the same everywhere.
            texts = [f"CAST({scalar_text(argument)} AS VARCHAR)" for argument in arguments]
            return f"md5({' || '.join(_DIGESTED.format(text) for text in texts)})"
        case "slot":
            return f"(1::BIGINT << CAST(hash({', '.join(map(scalar_text, arguments))}) % 60 AS BIGINT))"
        case "descending":
            return f"{scalar_text(arguments[0])} DESC NULLS LAST"
        case "rank":
            person, *order = map(scalar_text, arguments)
            return f"row_number() OVER (PARTITION BY {person} ORDER BY {', '.join(order)})"
        case "window":
            return sql.window_text(Call(name, arguments), scalar_text)
        case "concat":
            return "(" + " || ".join(map(scalar_text, arguments)) + ")"
        case "substring":
            return f"substring({', '.join(map(scalar_text, arguments))})"
        case "like":
            text, pattern, *escape = map(scalar_text, arguments)
            return f"({text} LIKE {pattern}{''.join(f' ESCAPE {mark}' for mark in escape)})"
        case "ilike":
            # Only the letters A to Z have a case, here as in `lower`.
            return _call("like", (Call("lower", arguments[:1]), *map(_lowered, arguments[1:])))
        case "part":
            return f"TRY(date_part('{unit(arguments[0])}', {scalar_text(arguments[1])}))"
        case "trunc":
            moment = scalar_text(arguments[1])
            return f"TRY_CAST(TRY(date_trunc('{unit(arguments[0])}', {moment})) AS DATE)"
        case "difference" if arguments[0] == Literal("week"):
            # By the Mondays between: the engine's own weeks are sevens of days.
            first, second = (f"date_trunc('week', {scalar_text(moment)})" for moment in arguments[1:])
            return f"(date_diff('day', {first}, {second}) // 7)"
        case "difference":
            first, second = map(scalar_text, arguments[1:])
            return f"TRY(date_diff('{unit(arguments[0])}', {first}, {second}))"
        case "shift":
            moment, amount = map(scalar_text, arguments[1:])
            moved = f"CAST({moment} + INTERVAL ({amount}) {unit(arguments[0]).upper()} AS DATE)"
            before, after = "DATE '0000-12-31'", "DATE '10000-01-01'"
            within = f"nullif(nullif(least(greatest({{0}}, {before}), {after}), {before}), {after})"
            return _guarded(within, arguments[1], moved)
        case "to_real" | "mean" if _is_total(arguments[0]):
            # Integers of 128 bits become doubles by two roundings; their digits by one.
            digits = f"CAST({scalar_text(arguments[0])} AS VARCHAR)"
            return TEMPLATES[name].format(digits, *map(scalar_text, arguments[1:]))
        case "divide" if isinstance(arguments[1], Literal) and arguments[1].value:
            return f"({scalar_text(arguments[0])} / {scalar_text(arguments[1])})"
        case "divide":
            return f"({scalar_text(arguments[0])} / {_guarded('nullif({0}, 0e0)', arguments[1])})"
        case "finite" | "ln" | "exp" | "sqrt" | "moment_at" | "to_day" | "to_moment":
            return _guarded(TEMPLATES[name], arguments[0])
        case _:
            return TEMPLATES[name].format(*map(scalar_text, arguments))


def _guarded(template: str, argument: Scalar, text: str | None = None) -> str:
    """Return a guard around an argument, which is computed once where it has guards inside, or is long.

    Written out, each guard would mention the next several times, and the engine would plan them all: eight
    products of products took it minutes, and two days added to the clock of a zone were too long to be sent.
    """
    text = scalar_text(argument) if text is None else text
    nested = any(isinstance(part, Call) and part.function in GUARDED for part in walk(argument))
    if nested or len(text) > LONG:
        return f"list_transform([{text}], lambda x: {template.format('x')})[1]"
    return template.format(text)


def _test(condition: Scalar) -> str | None:
    """Return whether a text is one of many, with these as one constant instead of one each.

    Every constant is read, bound and copied by each of the engine's planners, which takes longer than a small
    question itself.  Groups are few, so they are compared with the texts one after the other: by their place
    in the list, because the engine would plan `list_contains` as a join.  A few texts are the type of what
    is one of them, which a row is cast to once for each entry of a dictionary that its file keeps; the join
    looks at every row.  NULL is none of the texts, and passes no condition, as with IN.
    """
    match condition:
        case Among(Column() as column, values) if (texts := _texts(values)) is not None:
            if len(values) > TYPED:
                return f"({scalar_text(column)} IN (SELECT unnest({texts})))"
            listed = ", ".join(dict.fromkeys(literal(value.value) for value in values))
            return f"(TRY_CAST({scalar_text(column)} AS ENUM({listed})) IS NOT NULL)"
        case Among(Call("grouped", _) as key, values) if len(values) <= COMPARED:
            texts = _texts(values)
            return None if texts is None else f"(list_position({texts}, {scalar_text(key)}) IS NOT NULL)"
        case _:
            return None


def _texts(values: tuple[Literal, ...]) -> str | None:
    """Return a list of texts, split at a character that none of them contains; None for anything else."""
    texts = [value.value for value in values if isinstance(value.value, str)]
    if len(texts) < MANY or len(texts) != len(values):
        return None
    apart = next((mark for mark in MARKS if not any(mark in text for text in texts)), None)
    return None if apart is None else f"string_split({literal(apart.join(texts))}, {literal(apart)})"


def _select(items: sql.Items) -> str:
    """Return the items of a query, in which the sums of c - x and of x, weighted alike, share their products.

    The weights of people fill a table that no cache holds, and each product looks one up.  Since c - x is
    (c - d) - (x - d), the sum of w (c - x) is c - d times that of w over the rows with an x, less that of
    w (x - d).  Where there is no such row all three are NULL; and because |c - d| <= |c - x| + |x - d|, the
    new one is no larger than both others together, which are proved to stay far from the ends of 128 bits.
    """
    known = dict(one for _, scalar in items if (one := _risen(scalar)) is not None)
    return ", ".join(f"{_item(scalar, known)} AS {sql.quoted(name)}" for name, scalar in items)


def _risen(scalar: Scalar) -> tuple[tuple[Scalar, Scalar], tuple[int, Scalar]] | None:
    """Return x and w, with d and the whole scalar, where this is the sum of w (x - d)."""
    match scalar:
        case Call("sum", (Call("multiply_long", (Column() as value, weight)),)):
            return (value, weight), (0, scalar)
        case Call(
            "sum",
            (Call("multiply_long", (Call("subtract", (Column() as value, Literal(int(low)))), weight)),),
        ):
            return (value, weight), (low, scalar)
        case _:
            return None


def _item(scalar: Scalar, known: Mapping[tuple[Scalar, Scalar], tuple[int, Scalar]]) -> str:
    match scalar:
        case Call(
            "sum",
            (Call("multiply_long", (Call("subtract", (Literal(int(high)), Column() as value)), weight)),),
        ) if (value, weight) in known:
            low, risen = known[value, weight]
            there = Case(((Call("not", (Call("is_null", (value,)),)), weight),), Literal(None))
            total = scalar_text(Call("sum", (there,)))
            return f"({_typed(Literal(high - low))} * {total} - {scalar_text(risen)})"
        case _:
            return scalar_text(scalar)


def _is_total(scalar: Scalar) -> bool:
    return isinstance(scalar, Call) and scalar.function == "sum"


def _lowered(scalar: Scalar) -> Scalar:
    match scalar:
        case Literal(str(value)):
            return Literal(value.translate(str.maketrans(_UPPER, _LOWER)))
        case _:
            raise AssertionError("patterns are constants")


def _typed(scalar: Scalar) -> str:
    """Return a scalar's text with whole constants as 64-bit integers, so that arithmetic on them is too."""
    match scalar:
        case Literal(bool()):
            return literal(scalar.value)
        case Literal(int(value)):
            text = whole(value)
            return f"{text}::BIGINT" if value >= 0 else f"({text})::BIGINT"
        case _:
            return scalar_text(scalar)


def _double(value: Fraction) -> str:
    # With an exponent DuckDB reads a double; without one a DECIMAL, whose arithmetic can overflow.
    text = repr(float(value))
    return text if "e" in text else text + "e0"


_WRITER = ScalarWriter(literal, _typed, scalar_text, _call, select=_select, test=_test)
