"""Conversions as SQL writes them: types of all dialects, and constants that are dates."""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.language.leaf import read_constant
from discreet.query.language.refusal import fields, refusal
from discreet.query.language.vocabulary import TYPES
from discreet.query.plan import Call, Literal, Scalar, constant

Reader = Callable[[object], Scalar]


def _cast(node: exp.Expr, read: Reader) -> Scalar:
    # Every conversion here is safe: what does not convert is NULL.
    parts = fields(node, "this", "to", "safe")
    if not isinstance(parts["to"], exp.DataType):
        raise refusal(parts["to"])
    named = fields(parts["to"], "this", "expressions", "nested")
    target = named["this"]
    digits = _digits(getattr(target, "value", str(target)), named.get("expressions", ()), read)
    function = TYPES.get(getattr(target, "value", str(target)))
    if getattr(target, "value", "") == "TIME":
        raise QueryError(
            "CAST AS TIME",
            "is a time of day, which is compared with others",
            "write CAST(t AS TIME) >= '09:00', or group by HOUR(t) or TO_CHAR(t, 'HH24:MI')",
        )
    if function is None:
        raise QueryError(
            "CAST", "this type is not supported", "use INTEGER, DOUBLE, TEXT, DATE, TIMESTAMP or BOOLEAN"
        )
    inner = read(parts["this"])
    if digits is not None:
        return Call("round", (Call("to_real", (inner,)), Literal(digits)))
    zoned = getattr(target, "value", "") == "TIMESTAMPTZ"
    match function, inner:
        case "to_text", Literal(str()):
            # Libraries write the type of a parameter beside it: ward IN ($1::VARCHAR).
            return inner
        case "to_moment", Literal(str(text)) if zoned or _OFFSET.search(text):
            return Call("instant", (Literal(_instant(text)),))
        case "to_day", Literal(str(text)):
            return Literal(read_constant(date.fromisoformat, text, "DATE", "DATE '2024-01-31'"))
        case "to_moment", Literal(str(text)):
            return Literal(
                read_constant(datetime.fromisoformat, text, "TIMESTAMP", "TIMESTAMP '2024-01-31 10:00:00'")
            )
    return Call(function, (inner,))


_OFFSET = re.compile(r":\d\d(\.\d+)?\s*(Z|[+-]\d\d(:?\d\d)?)$", re.IGNORECASE)
"""How a time ends that says how far its clock is from UTC."""


def _instant(text: str) -> datetime:
    """Return in UTC when a time is that says its offset; one that says none is in UTC."""
    example = "TIMESTAMP '2024-01-31 10:00:00+01:00'"
    try:
        moment = datetime.fromisoformat(re.sub(r"\s+(?=[Z+-][\d:]*$)", "", text.strip()))
        return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        raise QueryError("TIMESTAMP", "cannot be read", f"write {example}") from None


def _digits(target: str, parameters: list[exp.Expr], read: Reader) -> int | None:
    """Return the decimals that DECIMAL(10, 2) keeps, or None where a type has no parameters."""
    if not parameters:
        return None
    counts = [constant(read(fields(one, "this")["this"])) for one in parameters]
    last = counts[1] if len(counts) == 2 else 0
    if target != "DECIMAL" or len(counts) > 2 or last is None or not 0 <= last <= 9:
        raise QueryError(
            "CAST",
            "this length or number of digits is not supported",
            "use ROUND(x, 2), or LEFT(x, 3) for text",
        )
    return last


CASTS: dict[type[exp.Expr], Callable[[exp.Expr, Reader], Scalar]] = {exp.Cast: _cast, exp.TryCast: _cast}
