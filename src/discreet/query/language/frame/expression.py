"""Expressions of the dataframe face: scalars and aggregates that understand Python's operators."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

from discreet.errors import QueryError
from discreet.exact.number import Real, rational
from discreet.query.language.date import iso_year
from discreet.query.language.frame.constant import CASTS, constant_of, days_of, number_of
from discreet.query.language.leaf import unit_named
from discreet.query.language.regular import matched
from discreet.query.language.spelling import quantile_level, spelled
from discreet.query.language.written import text_of
from discreet.query.plan import (
    Aggregate,
    Among,
    Call,
    Literal,
    Order,
    Scalar,
    Value,
    Window,
    given,
    windowed,
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Expression:
    """A scalar or aggregate that understands Python's operators."""

    scalar: Scalar

    def __repr__(self) -> str:
        return text_of(self.scalar)

    def __add__(self, other: "Operand | timedelta") -> "Expression":
        if isinstance(other, timedelta):
            return self.shift(days_of(other), "day")
        return binary("add", self, other)

    def __radd__(self, other: "Operand") -> "Expression":
        return binary("add", other, self)

    def __sub__(self, other: "Operand | timedelta") -> "Expression":
        if isinstance(other, timedelta):
            return self.shift(-days_of(other), "day")
        return binary("subtract", self, other)

    def __rsub__(self, other: "Operand") -> "Expression":
        return binary("subtract", other, self)

    def __mul__(self, other: "Operand") -> "Expression":
        return binary("multiply", self, other)

    def __rmul__(self, other: "Operand") -> "Expression":
        return binary("multiply", other, self)

    def __truediv__(self, other: "Operand") -> "Expression":
        return binary("divide", self, other)

    def __rtruediv__(self, other: "Operand") -> "Expression":
        return binary("divide", other, self)

    def __floordiv__(self, other: "Operand") -> "Expression":
        return binary("quotient", self, other)

    def __mod__(self, other: "Operand") -> "Expression":
        return binary("modulo", self, other)

    def __pow__(self, other: "Operand") -> "Expression":
        return binary("power", self, other)

    def __neg__(self) -> "Expression":
        return self._call("negate")

    def __abs__(self) -> "Expression":
        return self._call("absolute")

    def __eq__(self, other: object) -> "Expression":  # type: ignore[override]
        return binary("eq", self, other)

    def __ne__(self, other: object) -> "Expression":  # type: ignore[override]
        return binary("ne", self, other)

    def __lt__(self, other: "Operand") -> "Expression":
        return binary("lt", self, other)

    def __le__(self, other: "Operand") -> "Expression":
        return binary("le", self, other)

    def __gt__(self, other: "Operand") -> "Expression":
        return binary("gt", self, other)

    def __ge__(self, other: "Operand") -> "Expression":
        return binary("ge", self, other)

    def __and__(self, other: "Operand") -> "Expression":
        return binary("and", self, other)

    def __or__(self, other: "Operand") -> "Expression":
        return binary("or", self, other)

    def __invert__(self) -> "Expression":
        return self._call("not")

    def __hash__(self) -> int:
        return hash(self.scalar)

    def __bool__(self) -> bool:
        raise QueryError("a condition", "has no truth value in Python", "combine conditions with & | and ~")

    def _call(self, name: str, *others: "Operand") -> "Expression":
        return Expression(Call(name, (self.scalar, *map(scalar_of, others))))

    def isin(self, values: Iterable[Value]) -> "Expression":
        """Return whether the value is one of these constants."""
        found = tuple(Literal(constant_of(value)) for value in values)
        if not found:
            raise QueryError("isin", "needs at least one constant", "write col('ward').isin(['A', 'B'])")
        return Expression(Among(self.scalar, found))

    def between(self, low: "Operand", high: "Operand") -> "Expression":
        """Return whether the value lies between two others, inclusive."""
        return (self >= low) & (self <= high)

    def is_null(self) -> "Expression":
        """Return whether the value is missing."""
        return self._call("is_null")

    def is_not_null(self) -> "Expression":
        """Return whether the value is there."""
        return ~self.is_null()

    def differs(self, other: "Operand") -> "Expression":
        """Return whether two values differ, where a missing one is like another missing one."""
        return self._call("distinct", other)

    def fill_null(self, value: "Operand") -> "Expression":
        """Return the value, or another one where it is missing."""
        return self._call("coalesce", value)

    def null_if(self, value: "Operand") -> "Expression":
        """Return the value, or nothing where it is this one."""
        return self._call("nullif", value)

    def clamp(self, low: Real, high: Real) -> "Expression":
        """Return the value moved into an interval, which gives it bounds."""
        ends = (Literal(number_of(rational(end, "bound"))) for end in (low, high))
        return Expression(Call("clamp", (self.scalar, *ends)))

    def least(self, *others: "Operand") -> "Expression":
        """Return the smallest of several values."""
        return self._call("least", *others)

    def greatest(self, *others: "Operand") -> "Expression":
        """Return the largest of several values."""
        return self._call("greatest", *others)

    def floor(self) -> "Expression":
        """Return the largest whole number that is not greater."""
        return self._call("floor")

    def ceil(self) -> "Expression":
        """Return the smallest whole number that is not less."""
        return self._call("ceil")

    def round(self, digits: int | None = None) -> "Expression":
        """Return the nearest number with so many decimals."""
        if digits is not None and digits < 0:
            unit = int(10**-digits)
            return (self / unit).round() * unit
        return self._call("round") if digits is None else self._call("round", digits)

    def sqrt(self) -> "Expression":
        """Return the square root; of a negative number it is missing."""
        return self._call("sqrt")

    def ln(self) -> "Expression":
        """Return the natural logarithm; of what is not positive it is missing."""
        return self._call("ln")

    def exp(self) -> "Expression":
        """Return e to this power."""
        return self._call("exp")

    def sign(self) -> "Expression":
        """Return -1, 0 or 1."""
        return self._call("sign")

    def bucket(self, low: Real, high: Real, count: int) -> "Expression":
        """Return in which of some equal parts of an interval the value lies: 0 is below, count + 1 above."""
        ends = (Literal(number_of(rational(end, "bound"))) for end in (low, high))
        return Expression(given(spelled("width_bucket", (self.scalar, *ends, Literal(count)))))

    def cast(self, kind: str | type) -> "Expression":
        """Return the value as another kind; what does not convert is missing.

        Kinds are "integer", "decimal", "text", "date", "timestamp" and "boolean", or Python's own types.
        """
        name = CASTS.get(kind) if isinstance(kind, str | type) else None
        if name is None:
            raise QueryError(
                f"cast({getattr(kind, '__name__', repr(kind))})",
                "is not a kind of value that is known",
                'use "integer", "decimal", "text", "date", "timestamp" or "boolean"',
            )
        return self._call(name)

    def lower(self) -> "Expression":
        """Return text in small letters."""
        return self._call("lower")

    def upper(self) -> "Expression":
        """Return text in capital letters."""
        return self._call("upper")

    def trim(self, signs: str | None = None) -> "Expression":
        """Return text without blanks, or these signs, around it."""
        return self._call("trim") if signs is None else self._call("ltrim", signs)._call("rtrim", signs)

    def replace(self, old: str, new: str) -> "Expression":
        """Return text with another text wherever one stands."""
        return self._call("replace", old, new)

    def split(self, separator: str, part: int) -> "Expression":
        """Return one of the parts of a text between separators; the first has the number 1."""
        return self._call("split_part", separator, part)

    def length(self) -> "Expression":
        """Return how many characters a text has."""
        return self._call("length")

    def left(self, count: int) -> "Expression":
        """Return the first characters of a text."""
        return self._call("left", count)

    def right(self, count: int) -> "Expression":
        """Return the last characters of a text."""
        return self._call("right", count)

    def substring(self, start: int, length: int | None = None) -> "Expression":
        """Return a part of a text; its first character has the number 1."""
        return self._call("substring", start, *(() if length is None else (length,)))

    def concat(self, *others: "Operand") -> "Expression":
        """Return texts behind each other."""
        return self._call("concat", *others)

    def like(self, pattern: str) -> "Expression":
        """Return whether text matches a pattern with % and _."""
        return self._call("like", pattern)

    def ilike(self, pattern: str) -> "Expression":
        """Return whether text matches a pattern, capital letters or not."""
        return self._call("ilike", pattern)

    def starts_with(self, text: str) -> "Expression":
        """Return whether text begins with another."""
        return self._call("starts_with", text)

    def ends_with(self, text: str) -> "Expression":
        """Return whether text ends with another."""
        return Expression(given(spelled("ends_with", (self.scalar, Literal(text)))))

    def contains(self, text: str) -> "Expression":
        """Return whether text has another in it."""
        return Expression(given(spelled("contains", (self.scalar, Literal(text)))))

    def matches(self, pattern: str) -> "Expression":
        """Return whether a regular expression that is a pattern in disguise matches somewhere in a text."""
        return Expression(matched(self.scalar, Literal(pattern)))

    def part(self, unit: str) -> "Expression":
        """Return the year, quarter, month, week, day, dayofweek, dayofyear, ... of a date."""
        if unit == "isoyear":
            return Expression(iso_year(self.scalar))
        return Expression(Call("part", (unit_named(unit), self.scalar)))

    def truncate(self, unit: str) -> "Expression":
        """Return the first day of a date's year, quarter, month or week."""
        return Expression(Call("trunc", (unit_named(unit), self.scalar)))

    def shift(self, amount: int, unit: str) -> "Expression":
        """Return a date so many days, months, ... later, or earlier."""
        return Expression(Call("shift", (unit_named(unit), self.scalar, Literal(amount))))

    def at_zone(self, zone: str) -> "Expression":
        """Return the local time in a zone of an instant; of a time without a zone, that it is in UTC."""
        return Expression(Call("at_zone", (self.scalar, Literal(zone))))

    def until(self, later: "Operand", unit: str = "day") -> "Expression":
        """Return how many beginnings of days, months, ... lie between this date and a later one."""
        return Expression(Call("difference", (unit_named(unit), self.scalar, scalar_of(later))))

    def count(self) -> "Expression":
        """Return the number of rows in which this is not missing."""
        return self._aggregate("count")

    def distinct(self) -> "Expression":
        """Return the number of different values; of the person's column, the number of people."""
        return Expression(Aggregate("count", self.scalar, distinct=True))

    def sum(self, *, distinct: bool = False) -> "Expression":
        """Return the sum, or that of the different values."""
        return Expression(Aggregate("sum", self.scalar, distinct))

    def mean(self, *, distinct: bool = False) -> "Expression":
        """Return the average, or that of the different values."""
        return Expression(Aggregate("avg", self.scalar, distinct))

    def variance(self, *, population: bool = False) -> "Expression":
        """Return the variance, of a sample unless told otherwise."""
        return self._aggregate("var_pop" if population else "var_samp")

    def deviation(self, *, population: bool = False) -> "Expression":
        """Return the standard deviation, of a sample unless told otherwise."""
        return self._aggregate("stddev_pop" if population else "stddev_samp")

    def median(self) -> "Expression":
        """Return the median."""
        return self.quantile("1/2")

    def quantile(self, level: Real) -> "Expression":
        """Return a quantile."""
        found = quantile_level(Literal(number_of(rational(level, "level"))))
        return Expression(Aggregate("quantile", self.scalar, parameter=found))

    def mode(self) -> "Expression":
        """Return the most common value."""
        return self._aggregate("mode")

    def highest(self) -> "Expression":
        """Return the largest value: per person as it is, released as an extreme quantile."""
        return self._aggregate("max")

    def lowest(self) -> "Expression":
        """Return the smallest value: per person as it is, released as an extreme quantile."""
        return self._aggregate("min")

    def _aggregate(self, function: str) -> "Expression":
        return Expression(Aggregate(function, self.scalar))

    def where(self, condition: "Term") -> "Expression":
        """Return an aggregate of only those rows for which a condition holds."""
        if not isinstance(self.scalar, Aggregate):
            raise QueryError("where", "belongs to an aggregate here", "write count().where(col('age') > 18)")
        both = scalar_in(condition)
        if self.scalar.where is not None:
            both = Call("and", (self.scalar.where, both))
        return Expression(replace(self.scalar, where=both))

    def over(
        self,
        *order: "Term | Order",
        partition: "Sequence[Term]" = (),
        rows: tuple[int | None, int | None] | None = None,
    ) -> "Expression":
        """Return a window over released rows: of what came before in an order, or of so many `rows` around.

        `rows=(2, 0)` are this row and two before it; None is without end.
        """
        terms = tuple(order_of(term) for term in order)
        default = ("range", None, 0) if terms else ("rows", None, None)
        frame = default if rows is None else ("rows", None if rows[0] is None else -rows[0], rows[1])
        function, arguments = self._windowed()
        return Expression(
            windowed(Window(function, arguments, tuple(map(scalar_in, partition)), terms, frame))
        )

    def _windowed(self) -> tuple[str, tuple[Scalar, ...]]:
        match self.scalar:
            case Aggregate("sum" | "avg" | "min" | "max" | "count" as name, argument, False, None, None):
                return name, (Literal(1) if argument is None else argument,)
            case Call("rank" | "dense_rank" | "row_number" | "ntile" as name, arguments):
                return name, arguments
            case _:
                raise QueryError(
                    "over",
                    "needs a sum, mean, count, lowest, highest, rank or row_number",
                    "write count().sum().over(col('day')) for a running total",
                )

    def lag(self, *order: "Term | Order", steps: int = 1, partition: "Sequence[Term]" = ()) -> "Expression":
        """Return the value of the released row so many before this one; negative steps look ahead."""
        if not order:
            raise QueryError("lag", "needs an order", "write count().lag(col('month'))")
        name = "lag" if steps >= 0 else "lead"
        arguments = (self.scalar, Literal(abs(steps)), Literal(None))
        terms = tuple(order_of(term) for term in order)
        window = Window(name, arguments, tuple(map(scalar_in, partition)), terms, ("range", None, 0))
        return Expression(windowed(window))

    def asc(self, *, nulls_first: bool = False) -> Order:
        """Return this as a term of an order."""
        return Order(self.scalar, False, nulls_first)

    def desc(self, *, nulls_first: bool = False) -> Order:
        """Return this as a term of an order, the largest first."""
        return Order(self.scalar, True, nulls_first)

    def low(self) -> "Expression":
        """Return the lower end of the interval of a released value."""
        return self._call("interval_low")

    def high(self) -> "Expression":
        """Return the upper end of the interval of a released value."""
        return self._call("interval_high")


Operand: TypeAlias = Expression | Value | float | Decimal
Term: TypeAlias = Expression | str


def binary(name: str, left: Any, right: Any) -> Expression:
    """Return an operator between two values."""
    return Expression(Call(name, (scalar_of(left), scalar_of(right))))


def scalar_of(value: Any) -> Scalar:
    """Return an operand as a part of the plan; a negative constant is written as in SQL."""
    if isinstance(value, Expression):
        return value.scalar
    constant = constant_of(value)
    if isinstance(constant, int | Fraction) and not isinstance(constant, bool) and constant < 0:
        return Call("negate", (Literal(-constant),))
    return Literal(constant)


def scalar_in(term: Term) -> Scalar:
    """Return what a name, a piece of SQL text or an expression means."""
    from discreet.query.language.sql import fragment

    if not isinstance(term, Expression | str):
        raise QueryError(
            f"a {type(term).__name__}",
            "is no column, expression or piece of SQL",
            'write col("age") > 18, or "age > 18"',
        )
    return term.scalar if isinstance(term, Expression) else fragment(term)


def order_of(term: "Term | Order") -> Order:
    """Return a term of an order."""
    return term if isinstance(term, Order) else Order(scalar_in(term))
