"""The scalar functions that the checker knows: each is row-local, total, and says where its value lies.

Rule.  Let an expression be built from columns and constants by functions of this table, with the types that
the table demands.  Then its value depends on the columns of one row alone, no cell can make it raise, and it
lies in the interval derived here.

Proof, function by function.  Doubles follow IEEE 754, which has a value for everything; casts are TRY_CASTs;
dates are computed inside TRY.  Whole numbers raise only where a result leaves its width, so every operation
on them demands that the interval of the result fits; a quotient demands a divisor of at least 1 and a
remainder a constant other than 0 and -1.  Types that an engine would convert by an implicit cast, which may
raise, are refused.  A pattern raises only if it ends in, or misuses, its escape character; ILIKE also changes
the pattern's case, so there the escape must be a character without case.
"""

from collections.abc import Callable, Mapping

from discreet.errors import ProofError
from discreet.query.plan import Aggregate, Among, Call, Case, Column, Literal, Scalar
from discreet.query.proof import number, word
from discreet.query.proof.demand import (
    TRUTHS,
    WHOLES,
    Rule,
    agreed,
    compared,
    fitting,
    need,
    refuse,
    wide,
    written,
)
from discreet.query.proof.value import MOST_ROWS, TRUTH, Kind, Value, union, whole

Leaf = Callable[[Scalar], Value | None]
"""What is known of some scalars beforehand: columns, group keys, aggregates."""


def evaluate(scalar: Scalar, leaf: Leaf) -> Value:
    """Return what is known of a scalar, refusing what may raise or is not a function of one row."""
    known = leaf(scalar)
    if known is not None:
        return known
    match scalar:
        case Literal():
            return written(scalar)
        case Call(name, arguments):
            rule = FUNCTIONS.get(name)
            if rule is None:
                raise refuse(name, "is not one that the checker knows here")
            if ARITY.get(name, len(arguments)) != len(arguments):
                raise refuse(name, "has too few arguments, or too many")
            return rule(name, [evaluate(argument, leaf) for argument in arguments], arguments)
        case Case(branches, otherwise):
            for condition, _ in branches:
                need("case", [evaluate(condition, leaf)], TRUTHS)
            parts = [*(value for _, value in branches), otherwise]
            return agreed("case", [wide(part, evaluate(part, leaf)) for part in parts])
        case Among(argument, values):
            compared("among", [evaluate(argument, leaf), *map(written, values)])
            return TRUTH
        case Column(relation, name):
            raise ProofError(f"the column {relation}.{name}", "is not one that can be read here")
        case Aggregate():
            raise ProofError("an aggregate of a question", "must have been rewritten")


FUNCTIONS: Mapping[str, Rule] = {
    **dict.fromkeys(("add", "subtract", "multiply"), number.arithmetic),
    **dict.fromkeys(("multiply_long", "multiply_wide"), number.times),
    "divide": number.divide,
    "quotient": number.quotient,
    "modulo": number.modulo,
    "absolute": number.absolute,
    "sign": number.sign,
    **dict.fromkeys(("floor", "ceil", "round_whole"), number.rounded),
    **dict.fromkeys(("sqrt", "ln", "exp"), number.curve),
    "finite": number.finite,
    "round": number.round_digits,
    "clamp": number.clamp,
    "clamp_real": number.clamp_real,
    "fixed": number.fixed,
    "bits_set": number.bits_set,
    "bit_at": number.bit_at,
    "slot": number.slot,
    "narrow": number.cast(32),
    "long": number.cast(64),
    "nullif": word.same,
    **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge", "distinct"), word.truth),
    **dict.fromkeys(("and", "or", "not"), word.logic),
    "is_null": word.is_null,
    "coalesce": number.first,
    **dict.fromkeys(("least", "greatest"), number.extreme),
    **dict.fromkeys(("lower", "upper", "trim"), word.text),
    "concat": word.joined,
    "length": word.length,
    **dict.fromkeys(("left", "right", "substring"), word.cut),
    **dict.fromkeys(("ltrim", "rtrim", "replace", "split_part", "lpad", "rpad"), word.piece),
    **dict.fromkeys(("like", "ilike", "starts_with"), word.pattern),
    "part": word.part,
    "trunc": word.trunc,
    "difference": word.difference,
    "shift": word.shift,
    "microseconds": word.microseconds,
    "moment_at": word.moment_at,
    "to_whole": word.convert(Kind.WHOLE, frozenset((Kind.WHOLE, Kind.REAL, Kind.TRUTH))),
    "to_real": word.convert(Kind.REAL, frozenset((Kind.WHOLE, Kind.REAL))),
    "to_text": word.convert(Kind.TEXT, frozenset(Kind) - {Kind.REAL, Kind.MOMENT}),
    "to_day": word.convert(Kind.DAY, frozenset((Kind.DAY, Kind.MOMENT))),
    "to_moment": word.convert(Kind.MOMENT, frozenset((Kind.DAY, Kind.MOMENT))),
    "to_truth": word.convert(Kind.TRUTH, frozenset((Kind.TRUTH,))),
    "parse_whole": word.convert(Kind.WHOLE, frozenset((Kind.TEXT,))),
    "parse_real": word.convert(Kind.REAL, frozenset((Kind.TEXT,))),
    "parse_day": word.convert(Kind.DAY, frozenset((Kind.TEXT,))),
    "parse_moment": word.convert(Kind.MOMENT, frozenset((Kind.TEXT,))),
    "parse_truth": word.convert(Kind.TRUTH, frozenset((Kind.TEXT,))),
    "mean": number.mean,
}
"""Functions of one row (and of one person's totals)."""

ARITY: Mapping[str, int] = {
    **dict.fromkeys(("not", "is_null", "lower", "upper", "trim", "length", "microseconds", "moment_at"), 1),
    **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge", "distinct", "nullif"), 2),
    **dict.fromkeys(("left", "right", "starts_with", "part", "trunc"), 2),
    **dict.fromkeys(("difference", "shift", "mean"), 3),
}
"""How many arguments functions take whose rules do not name them one by one."""

COUNTED = whole(0, MOST_ROWS, null=False)


def aggregate(scalar: Scalar, leaf: Leaf, rows: int | None, *, grouped: bool) -> Value | None:
    """Return what is known of an aggregate over a group of rows, or None for what is none.

    Whole numbers alone are added up: a sum of doubles would depend on the order of other people's rows.  A
    group has at least one row; without grouping there may be none.
    """
    match scalar:
        case Call("count_rows", ()):
            return whole(1 if grouped else 0, MOST_ROWS, null=False)
        case Call("count_values" | "count_distinct", (argument,)):
            evaluate(argument, leaf)
            return COUNTED
        case Call("sum", (argument,)):
            value = evaluate(argument, leaf)
            need("sum", [value], WHOLES)
            return fitting("sum", min(value.low, 0) * MOST_ROWS, max(value.high, 0) * MOST_ROWS, 128)
        case Call("min" | "max", (argument,)):
            return union([evaluate(argument, leaf)])
        case Call("bits_or", (argument,)):
            value = evaluate(argument, leaf)
            if value.kind is not Kind.WHOLE or value.low < 0 or value.bits > 64:
                raise refuse("bits_or", "needs integers of 64 bits that are not negative")
            ones = None if value.ones is None or rows is None else value.ones * rows
            # Of no rows, or of NULL alone, it is NULL.
            null = value.null or not grouped
            return Value(Kind.WHOLE, value.low, 2 ** value.high.bit_length() - 1, 64, null, None, ones)
        case _:
            return None
