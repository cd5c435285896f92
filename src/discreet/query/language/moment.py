"""Times of day as SQL writes them: seconds since 1970, bins, zones, and how long something took."""

from collections.abc import Callable
from datetime import date, datetime, time

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.language.date import at_zone
from discreet.query.language.leaf import unit_of
from discreet.query.language.refusal import fields, refusal
from discreet.query.plan import Call, Literal, Scalar

Reader = Callable[[object], Scalar]

SECONDS = {"week": 604_800, "day": 86_400, "hour": 3_600, "minute": 60, "second": 1}
"""The lengths of units that always have the same."""


def interval_of(node: exp.Expr) -> tuple[Literal, int]:
    """Return the unit and the number of units of an INTERVAL."""
    parts = fields(node, "this", "unit")
    inner = parts.get("this")
    text = str(inner.this) if isinstance(inner, exp.Literal) else ""
    sign = text.removeprefix("-")
    if not sign.isdecimal() or len(sign) > 6:
        raise QueryError("INTERVAL", "must be a whole number of one unit", "write INTERVAL 7 DAY")
    return unit_of(parts.get("unit")), int(text)


def seconds_of(node: exp.Expr) -> int:
    """Return the length of an INTERVAL in seconds."""
    unit, amount = interval_of(node)
    if unit.value not in SECONDS:
        raise QueryError(
            "INTERVAL", "of months or years has no length of its own", "write INTERVAL 30 DAY, or DATE_DIFF"
        )
    return amount * SECONDS[str(unit.value)]


def took(node: exp.Expr, read: Reader) -> Scalar | None:
    """Return how many seconds lie between two moments that are subtracted, or None for anything else."""
    while isinstance(node, exp.Paren):
        node = node.this
    if not isinstance(node, exp.Sub) or isinstance(node.expression, exp.Interval):
        return None
    parts = fields(node, "this", "expression")
    return Call("elapsed", (read(parts["expression"]), read(parts["this"])))


def compared(node: exp.Expr, name: str, read: Reader) -> Scalar | None:
    """Return how long something took against a length, b - a < INTERVAL '30 minutes', or None without one."""
    if not any(isinstance(node.args.get(key), exp.Interval) for key in ("this", "expression")):
        return None
    parts = fields(node, "this", "expression")
    sides: list[exp.Expr] = [parts["this"], parts["expression"]]
    found = [Literal(seconds_of(s)) if isinstance(s, exp.Interval) else took(s, read) for s in sides]
    if None in found or name not in ("eq", "ne", "lt", "le", "gt", "ge"):
        raise QueryError(
            "INTERVAL", "is compared with the difference of two times", "write b - a < INTERVAL 1 HOUR"
        )
    return Call(name, tuple(side for side in found if side is not None))


def between(node: exp.Expr, read: Reader) -> Scalar:
    """EXTRACT(EPOCH FROM b - a), or of one moment."""
    return took(node, read) or Call("part", (Literal("epoch"), read(node)))


def _epoch(node: exp.Expr, read: Reader) -> Scalar:
    return between(fields(node, "this")["this"], read)


def _bin(node: exp.Expr, read: Reader) -> Scalar:
    """TIME_BUCKET(INTERVAL '15 minutes', t) and DATE_BIN: the beginning of the bin that holds a time."""
    parts = fields(node, "this", "expression", "unit")
    width = parts["this"]
    if isinstance(width, exp.Literal) and width.is_string and len(str(width.this).split()) == 2:
        amount, unit = str(width.this).split()
        width = exp.Interval(this=exp.Literal.string(amount), unit=exp.var(unit))
    if not isinstance(width, exp.Interval):
        raise refusal(node)
    origin = Literal(None) if parts.get("unit") is None else read(parts["unit"])
    # Bins divide a day, so they begin at any midnight alike.
    if origin != Literal(None) and not _midnight(origin):
        raise QueryError("DATE_BIN", "counts bins from midnight", "write DATE_BIN(INTERVAL 15 MINUTE, t)")
    return Call("bin", (Literal(seconds_of(width) * 10**6), read(parts["expression"])))


def _midnight(origin: Scalar) -> bool:
    match origin:
        case Literal(datetime() as moment):
            return moment.time() == time(0)
        case Literal(date()):
            return True
        case _:
            return False


def _zoned(node: exp.Expr, read: Reader) -> Scalar:
    parts = fields(node, "this", "zone")
    return at_zone(read(parts["this"]), read(parts["zone"]))


MOMENTS: dict[type[exp.Expr], Callable[[exp.Expr, Reader], Scalar]] = {
    exp.TimeToUnix: _epoch,
    exp.UnixSeconds: _epoch,
    exp.DateBin: _bin,
    exp.AtTimeZone: _zoned,
}
