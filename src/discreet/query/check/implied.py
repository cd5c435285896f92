"""Bounds that conditions imply: SUM(x) ... WHERE x BETWEEN 0 AND 9 is SUM(CLAMP(x, 0, 9)) of the same rows.

Where a row counts only if x lies between two constants, moving x between them changes nothing.  What bounds
how far a person moves the answer is the clamp, which the statement has, and never the condition.  Branches of
CASE are rows under conditions too: a value is reached where its own condition holds and none before it does,
or where x is missing, which a clamp leaves missing.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from discreet.errors import QueryError
from discreet.query.catalog.kind import Kind, Real, Whole
from discreet.query.check import function
from discreet.query.check.scope import Lineage, find, resolve
from discreet.query.plan import (
    TURNED,
    Aggregate,
    Block,
    Call,
    Case,
    Column,
    Literal,
    Scalar,
    change_asked,
    conjuncts,
    rebuilt,
)

BOUNDED = frozenset(
    (
        *("sum", "avg", "min", "max", "quantile", "quantiles", "cdf", "histogram", "skewness", "kurtosis"),
        *("kurtosis_pop", "var_samp", "var_pop", "stddev_samp", "stddev_pop"),
    )
)
"""Statistics that need an interval."""

_UP, _DOWN = ("gt", "ge"), ("lt", "le")
_OTHERWISE = {"gt": "le", "ge": "lt", "lt": "ge", "le": "gt"}


def implied(block: Block, scope: Lineage) -> Block:
    """Return a block in which what has no bounds is clamped to those that conditions imply."""

    def meant(scalar: Scalar) -> Scalar | None:
        return _clamped(scalar, block.where, scope) if isinstance(scalar, Aggregate) else None

    def change(scalar: Scalar) -> Scalar:
        return rebuilt(scalar, meant)

    return change_asked(block, change)


def _clamped(aggregate: Aggregate, where: Scalar | None, scope: Lineage) -> Aggregate:
    argument = aggregate.argument
    if argument is None or aggregate.function not in BOUNDED:
        return aggregate
    if not _unbounded(function.settle(resolve(argument, scope, aggregate.function.upper())).kind):
        return aggregate
    known = (*conjuncts(where), *conjuncts(aggregate.where))
    return replace(aggregate, argument=_Within(scope, known).of(argument))


def _unbounded(kind: Kind) -> bool:
    return isinstance(kind, Whole | Real) and (kind.low is None or kind.high is None)


@dataclass(frozen=True, slots=True)
class _Within:
    """What is known of a row: conditions that hold for it, unless what they compare is missing."""

    scope: Lineage
    known: tuple[Scalar, ...]

    def of(self, scalar: Scalar) -> Scalar:
        return rebuilt(scalar, self._meant)

    def _meant(self, scalar: Scalar) -> Scalar | None:
        match scalar:
            case Column():
                return self._column(scalar)
            case Case(branches, otherwise):
                return self._case(branches, otherwise)
            case _:
                return None

    def _case(self, branches: tuple[tuple[Scalar, Scalar], ...], otherwise: Scalar) -> Scalar:
        found, before = list[tuple[Scalar, Scalar]](), self.known
        for test, value in branches:
            here = _Within(self.scope, (*before, *conjuncts(test)))
            found.append((test, here.of(value)))
            before = (*before, *_untrue(test))
        return Case(tuple(found), _Within(self.scope, before).of(otherwise))

    def _column(self, column: Column) -> Scalar:
        visible = find(column, self.scope)
        kind = visible.typed.kind
        if not isinstance(kind, Whole | Real) or not _unbounded(kind):
            return column
        found = list(self._ends(visible.typed.scalar))
        lows = [end for word, end in found if word in _UP] + _given(kind.low)
        highs = [end for word, end in found if word in _DOWN] + _given(kind.high)
        if not lows or not highs or max(lows) > min(highs):
            return column
        return Call("clamp", (column, _literal(max(lows)), _literal(min(highs))))

    def _ends(self, subject: Scalar) -> Iterator[tuple[str, Fraction]]:
        for part in _held(self.known):
            match part:
                case Call(word, (Column() as column, other)) if word in _OTHERWISE:
                    end = _number(other)
                case Call(word, (other, Column() as column)) if word in _OTHERWISE:
                    end, word = _number(other), TURNED[word]
                case Call("eq", (Column() as column, other)) if self._is(column, subject):
                    end = _number(other)
                    yield from () if end is None else (("ge", end), ("le", end))
                    continue
                case _:
                    continue
            if end is not None and self._is(column, subject):
                yield word, end

    def _is(self, column: Column, subject: Scalar) -> bool:
        try:
            return find(column, self.scope).typed.scalar == subject
        except QueryError:
            return False


def _held(known: Iterable[Scalar]) -> Iterator[Scalar]:
    for part in known:
        match part:
            case Call("not", (inner,)):
                yield from _untrue(inner)
            case _:
                yield part


def _untrue(test: Scalar) -> tuple[Scalar, ...]:
    """Return what holds where a condition does not, unless what it compares is missing."""
    match test:
        case Call("or", parts):
            return tuple(found for part in parts for found in _untrue(part))
        case Call("not", (inner,)):
            return conjuncts(inner)
        case Call(word, parts) if word in _OTHERWISE:
            return (Call(_OTHERWISE[word], parts),)
        case _:
            return ()


def _number(scalar: Scalar) -> Fraction | None:
    match scalar:
        case Literal(int() | Fraction() as number) if not isinstance(number, bool):
            return Fraction(number)
        case Call("negate", (inner,)):
            found = _number(inner)
            return None if found is None else -found
        case _:
            return None


def _given(end: int | Fraction | None) -> list[Fraction]:
    return [] if end is None else [Fraction(end)]


def _literal(number: Fraction) -> Scalar:
    return Literal(int(number) if number.denominator == 1 else number)
