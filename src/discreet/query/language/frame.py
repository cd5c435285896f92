"""The dataframe face: the same plan, written in Python.

    table("visits").where(col("age") >= 18).group("ward").count()

Every step returns a new value; the last one returns the plan, which is quoted and asked like SQL.  Where
an expression is wanted, a column name, an `Expression` or a piece of SQL text will do.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Any, TypeAlias

from discreet.errors import QueryError
from discreet.exact.number import Real, rational
from discreet.query.plan import (
    Aggregate,
    Among,
    Block,
    Call,
    Case,
    Column,
    Item,
    Join,
    Literal,
    Nested,
    Order,
    Relation,
    Scalar,
    Scan,
    Value,
    conjunction,
)


@dataclass(frozen=True, slots=True, eq=False)
class Expression:
    """A scalar or aggregate that understands Python's operators."""

    scalar: Scalar

    def __add__(self, other: "Operand") -> "Expression":
        return _binary("add", self, other)

    def __radd__(self, other: "Operand") -> "Expression":
        return _binary("add", other, self)

    def __sub__(self, other: "Operand") -> "Expression":
        return _binary("subtract", self, other)

    def __rsub__(self, other: "Operand") -> "Expression":
        return _binary("subtract", other, self)

    def __mul__(self, other: "Operand") -> "Expression":
        return _binary("multiply", self, other)

    def __rmul__(self, other: "Operand") -> "Expression":
        return _binary("multiply", other, self)

    def __truediv__(self, other: "Operand") -> "Expression":
        return _binary("divide", self, other)

    def __rtruediv__(self, other: "Operand") -> "Expression":
        return _binary("divide", other, self)

    def __mod__(self, other: "Operand") -> "Expression":
        return _binary("modulo", self, other)

    def __neg__(self) -> "Expression":
        return Expression(Call("negate", (self.scalar,)))

    def __abs__(self) -> "Expression":
        return Expression(Call("absolute", (self.scalar,)))

    def __eq__(self, other: object) -> "Expression":  # type: ignore[override]
        return _binary("eq", self, other)

    def __ne__(self, other: object) -> "Expression":  # type: ignore[override]
        return _binary("ne", self, other)

    def __lt__(self, other: "Operand") -> "Expression":
        return _binary("lt", self, other)

    def __le__(self, other: "Operand") -> "Expression":
        return _binary("le", self, other)

    def __gt__(self, other: "Operand") -> "Expression":
        return _binary("gt", self, other)

    def __ge__(self, other: "Operand") -> "Expression":
        return _binary("ge", self, other)

    def __and__(self, other: "Operand") -> "Expression":
        return _binary("and", self, other)

    def __or__(self, other: "Operand") -> "Expression":
        return _binary("or", self, other)

    def __invert__(self) -> "Expression":
        return Expression(Call("not", (self.scalar,)))

    def __hash__(self) -> int:
        return hash(self.scalar)

    def __bool__(self) -> bool:
        raise QueryError("a condition", "has no truth value in Python", "combine conditions with & | and ~")

    def isin(self, values: Iterable[Value]) -> "Expression":
        """Return whether the value is one of these constants."""
        return Expression(Among(self.scalar, tuple(Literal(_constant(value)) for value in values)))

    def between(self, low: "Operand", high: "Operand") -> "Expression":
        """Return whether the value lies between two others, inclusive."""
        return (self >= low) & (self <= high)

    def is_null(self) -> "Expression":
        """Return whether the value is missing."""
        return Expression(Call("is_null", (self.scalar,)))

    def fill_null(self, value: "Operand") -> "Expression":
        """Return the value, or another one where it is missing."""
        return Expression(Call("coalesce", (self.scalar, _scalar(value))))

    def clamp(self, low: Real, high: Real) -> "Expression":
        """Return the value moved into an interval, which gives it bounds."""
        ends = (Literal(_number(rational(end, "bound"))) for end in (low, high))
        return Expression(Call("clamp", (self.scalar, *ends)))

    def floor(self) -> "Expression":
        """Return the largest whole number that is not greater."""
        return Expression(Call("floor", (self.scalar,)))

    def like(self, pattern: str) -> "Expression":
        """Return whether text matches a pattern with % and _."""
        return Expression(Call("like", (self.scalar, Literal(pattern))))

    def part(self, unit: str) -> "Expression":
        """Return the year, month, day, ... of a date."""
        return Expression(Call("part", (Literal(unit), self.scalar)))

    def truncate(self, unit: str) -> "Expression":
        """Return the first day of a date's year, quarter, month or week."""
        return Expression(Call("trunc", (Literal(unit), self.scalar)))


Operand: TypeAlias = Expression | Value | float


def col(name: str) -> Expression:
    """Return a column, as "name" or "table.name"."""
    relation, dot, column = name.rpartition(".")
    return Expression(Column(relation if dot else None, column))


def when(condition: Expression, then: Operand, otherwise: Operand = None) -> Expression:
    """Return one value where a condition is true and another elsewhere."""
    return Expression(Case(((condition.scalar, _scalar(then)),), _scalar(otherwise)))


def count(of: "Term | None" = None) -> Expression:
    """Return the number of rows, or of rows where an expression is not missing."""
    return Expression(Aggregate("count", None if of is None else _term(of)))


def distinct(of: "Term") -> Expression:
    """Return the number of different values; of the person's column, the number of people."""
    return Expression(Aggregate("count", _term(of), distinct=True))


def total(of: "Term") -> Expression:
    """Return the sum."""
    return Expression(Aggregate("sum", _term(of)))


def mean(of: "Term") -> Expression:
    """Return the average."""
    return Expression(Aggregate("avg", _term(of)))


def variance(of: "Term") -> Expression:
    """Return the sample variance."""
    return Expression(Aggregate("var_samp", _term(of)))


def deviation(of: "Term") -> Expression:
    """Return the sample standard deviation."""
    return Expression(Aggregate("stddev_samp", _term(of)))


def quantile(of: "Term", level: Real = "1/2") -> Expression:
    """Return a quantile; the median unless told otherwise."""
    return Expression(Aggregate("quantile", _term(of), parameter=rational(level, "level")))


def mode(of: "Term") -> Expression:
    """Return the most common value."""
    return Expression(Aggregate("mode", _term(of)))


def highest(of: "Term") -> Expression:
    """Return the largest value: per person as it is, released as an extreme quantile."""
    return Expression(Aggregate("max", _term(of)))


def lowest(of: "Term") -> Expression:
    """Return the smallest value: per person as it is, released as an extreme quantile."""
    return Expression(Aggregate("min", _term(of)))


Term: TypeAlias = Expression | str


@dataclass(frozen=True, slots=True)
class Frame:
    """A relation being narrowed down towards a question."""

    source: Relation
    condition: tuple[Scalar, ...] = ()
    keys: tuple[Item, ...] = ()
    sets: tuple[tuple[int, ...], ...] | None = None

    def where(self, *conditions: Term, **equal: Value) -> "Frame":
        """Keep the rows for which all conditions hold; `ward="A"` is short for an equality."""
        found = [_term(condition) for condition in conditions]
        found += [
            Call("eq", (Column(None, name), Literal(_constant(value)))) for name, value in equal.items()
        ]
        return replace(self, condition=(*self.condition, *found))

    def group(self, *keys: Term, **named: Term) -> "Frame":
        """Form groups by columns or expressions; a keyword names an expression."""
        items = [
            Item(key if isinstance(key, str) else f"key{n + 1}", _term(key)) for n, key in enumerate(keys)
        ]
        items += [Item(name, _term(key)) for name, key in named.items()]
        return replace(self, keys=(*self.keys, *items))

    def cube(self, *keys: Term) -> "Frame":
        """Form groups by every combination of columns, down to the total of all."""
        return self.grouping(
            *(pick for size in range(len(keys), -1, -1) for pick in combinations(keys, size))
        )

    def rollup(self, *keys: Term) -> "Frame":
        """Form groups by all columns, by all but the last, and so on down to the total of all."""
        return self.grouping(*(keys[:size] for size in range(len(keys), -1, -1)))

    def grouping(self, *sets: Sequence[Term]) -> "Frame":
        """Form groups by several sets of columns at once; they are measured together and agree."""
        items, found = list(self.keys), []
        for keys in sets:
            chosen = set(range(len(self.keys)))
            for key in keys:
                scalar = _term(key)
                place = next((n for n, item in enumerate(items) if item.scalar == scalar), len(items))
                if place == len(items):
                    items.append(Item(key if isinstance(key, str) else f"key{place + 1}", scalar))
                chosen.add(place)
            found.append(tuple(sorted(chosen)))
        return replace(self, keys=tuple(items), sets=tuple(dict.fromkeys(found)))

    def join(self, other: "Frame", on: str, *, outer: bool = False) -> "Frame":
        """Join with another table on a column that both have."""
        left, right = _alias(self.source), _alias(other.source)
        equal = Call("eq", (Column(left, on), Column(right, on)))
        return Frame(Join(self._relation(), other._relation(), equal, outer))

    def per(self, person: str, **values: Expression) -> "Frame":
        """Aggregate per person: one row for each, with these values."""
        self._ungrouped("per")
        items = (
            Item(person, Column(None, person)),
            *(Item(name, value.scalar) for name, value in values.items()),
        )
        block = Block(self.source, items, conjunction(self.condition), (Column(None, person),))
        return Frame(Nested(block, "people"))

    def agg(self, **values: Expression) -> Block:
        """Return the question for several aggregates, named by keywords."""
        items = (*self.keys, *(Item(name, value.scalar) for name, value in values.items()))
        group = tuple(item.scalar for item in self.keys)
        return Block(self.source, items, conjunction(self.condition), group, sets=self.sets)

    def count(self) -> Block:
        """Return the question for the number of rows."""
        return self.agg(count=count())

    def people(self, person: str) -> Block:
        """Return the question for the number of people, identified by a column."""
        return self.agg(people=distinct(person))

    def sum(self, of: Term) -> Block:
        """Return the question for a sum."""
        return self.agg(sum=total(of))

    def mean(self, of: Term) -> Block:
        """Return the question for an average."""
        return self.agg(mean=mean(of))

    def median(self, of: Term) -> Block:
        """Return the question for a median."""
        return self.agg(median=quantile(of))

    def quantile(self, of: Term, level: Real) -> Block:
        """Return the question for a quantile."""
        return self.agg(quantile=quantile(of, level))

    def mode(self, of: Term) -> Block:
        """Return the question for the most common value."""
        return self.agg(mode=mode(of))

    def cdf(self, of: Term, cells: int | None = None) -> Block:
        """Return the question how many values are at or below each one."""
        return self.agg(cdf=Expression(Aggregate("cdf", _term(of), cells=cells)))

    def histogram(self, of: Term, cells: int | Sequence[Real]) -> Block:
        """Return the question how many values fall into each of some equal cells, or between given edges."""
        cut = cells if isinstance(cells, int) else tuple(rational(edge, "edge") for edge in cells)
        return self.agg(histogram=Expression(Aggregate("histogram", _term(of), cells=cut)))

    def quantiles(self, of: Term, levels: Sequence[Real], cells: int | None = None) -> Block:
        """Return the question for several quantiles, read off one measurement."""
        shares = tuple(rational(level, "level") for level in levels)
        return self.agg(quantiles=Expression(Aggregate("quantiles", _term(of), cells=cells, levels=shares)))

    def _ungrouped(self, step: str) -> None:
        if self.keys or self.sets is not None:
            raise QueryError(step, "cannot follow group", f"{step} first, then group")

    def _relation(self) -> Relation:
        self._ungrouped("join")
        if not self.condition:
            return self.source
        return Nested(Block(self.source, (), conjunction(self.condition)), _alias(self.source))


def table(name: str) -> Frame:
    """Return a declared table to build a question on."""
    return Frame(Scan(name, name))


def ordered(question: Block, *by: str, descending: bool = False, limit: int | None = None) -> Block:
    """Return the question with its answer sorted by output columns, and cut to the first rows."""
    return replace(question, order=tuple(Order(Column(None, name), descending) for name in by), limit=limit)


def _alias(relation: Relation) -> str:
    return _alias(relation.left) if isinstance(relation, Join) else relation.alias


def _binary(name: str, left: Any, right: Any) -> Expression:
    return Expression(Call(name, (_scalar(left), _scalar(right))))


def _scalar(value: Any) -> Scalar:
    return value.scalar if isinstance(value, Expression) else Literal(_constant(value))


def _constant(value: Any) -> Value:
    if isinstance(value, float):
        return _number(rational(value, "constant"))
    return value  # type: ignore[no-any-return]


def _number(value: Fraction) -> int | Fraction:
    return int(value) if value.denominator == 1 else value


def _term(term: Term) -> Scalar:
    from discreet.query.language.sql import fragment

    return term.scalar if isinstance(term, Expression) else fragment(term)
