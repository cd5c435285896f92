"""Times of day in comparisons: CAST(t AS TIME) BETWEEN '09:00' AND '17:00' is about seconds of a day."""

from collections.abc import Callable
from datetime import time
from fractions import Fraction

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.language.refusal import fields
from discreet.query.language.vocabulary import BINARY
from discreet.query.plan import Call, Literal, Scalar

Reader = Callable[[object], Scalar]

TESTS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)


def _is_time(node: object) -> bool:
    while isinstance(node, exp.Paren):
        node = node.this
    return isinstance(node, exp.Cast) and node.to.this == exp.DataType.Type.TIME


def compares_times(node: exp.Expr) -> bool:
    """Whether a comparison is one of times of day."""
    sides = ("this", "low", "high") if isinstance(node, exp.Between) else ("this", "expression")
    return any(_is_time(node.args.get(side)) for side in sides)


def times_compared(node: exp.Expr, read: Reader) -> Scalar:
    """Return a comparison of times of day."""
    if isinstance(node, exp.Between):
        parts = fields(node, "this", "low", "high")
        subject, low, high = (_seconds(parts[key], read) for key in ("this", "low", "high"))
        return Call("and", (Call("ge", (subject, low)), Call("le", (subject, high))))
    parts = fields(node, "this", "expression")
    return Call(BINARY[type(node)], tuple(_seconds(parts[key], read) for key in ("this", "expression")))


def _seconds(node: exp.Expr, read: Reader) -> Scalar:
    """Return how many seconds after midnight a time of day is."""
    while isinstance(node, exp.Paren):
        node = node.this
    inner = node.this if _is_time(node) else node
    if isinstance(inner, exp.Literal) and inner.is_string:
        return _constant(str(inner.this))
    if not _is_time(node):
        raise QueryError(
            "a time of day", "is compared with another one", "write CAST(t AS TIME) >= TIME '09:00'"
        )
    moment = read(inner)
    midnight = Call("to_moment", (Call("to_day", (moment,)),))
    return Call("elapsed", (midnight, moment))


def _constant(text: str) -> Literal:
    try:
        found = time.fromisoformat(text if len(text.partition(":")[0]) == 2 else f"0{text}")
    except ValueError:
        found = None
    if found is None or found.tzinfo is not None:
        raise QueryError("a time of day", "cannot be read", "write TIME '09:00', or '17:30:00'")
    seconds = Fraction(found.microsecond, 10**6) + found.second + 60 * found.minute + 3600 * found.hour
    return Literal(int(seconds) if seconds.denominator == 1 else seconds)
