"""What a clause can see: columns under their names, and scalars with their columns found and made total."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import count
from typing import assert_never

from discreet.errors import QueryError
from discreet.privacy.adjacency import Adjacency
from discreet.query.catalog.kind import Nothing, Opaque, Truth, Typed, hold, known, truth, word
from discreet.query.check import function
from discreet.query.name import same
from discreet.query.plan import Aggregate, Among, Call, Case, Column, Literal, Scalar
from discreet.query.statement import Source

UNIT = "u"
"""The person's column of a relation inside a statement; the others are c0, c1, ..."""


@dataclass(frozen=True, slots=True)
class Visible:
    """A column that a relation offers, under the alias it is reached by."""

    alias: str
    name: str
    typed: Typed
    nullable: bool = True
    auto: str | None = None


@dataclass(frozen=True, slots=True)
class Lineage:
    """A relation with its columns and its people; `units` are the columns known to equal the person."""

    source: Source
    columns: tuple[Visible, ...]
    tables: tuple[str, ...]
    private: bool
    units: tuple[Scalar, ...] = ()
    adjacency: Adjacency = Adjacency.ADD_REMOVE
    bound: int | None = None
    rows: int | None = None
    groups: int | None = None
    per_group: int | None = None
    unique: tuple[Scalar, ...] = ()
    once: tuple[Scalar, ...] = ()
    """Columns of a public subquery that differ, taken together, between any two of its rows."""
    keyed: tuple[tuple[Scalar, str], ...] = ()
    """Columns that determine the person, each with the key of a table that it is, or refers to."""
    ranks: tuple[Scalar, ...] = ()
    """Columns that number the rows of each person from 1."""
    sole: bool = False
    """Whether the declarations, and not the question alone, leave each person one row."""

    @property
    def unit(self) -> Scalar | None:
        """The column that identifies a row's person, or None when every row is its own person."""
        return self.units[0] if self.units else None

    def personal(self, scalar: Scalar) -> bool:
        """Whether a scalar is the person's column, or one that determines the person."""
        return scalar in self.units or any(scalar == column for column, _ in self.keyed)


Names = Iterator[str]


def names() -> Names:
    """Yield the aliases of engine relations: the analyst's own never reach the engine."""
    return (f"t{number}" for number in count())


def carried(inner: Lineage, alias: str, items: Sequence[tuple[str, Scalar]]) -> tuple[Scalar, ...]:
    """Return the columns of a query that hold the person."""
    if inner.unit is None:
        return ()
    named = tuple(Column(alias, name) for name, scalar in items if scalar in inner.units and name != UNIT)
    return (Column(alias, UNIT), *named)


def renamed(
    scalars: Sequence[tuple[Scalar, str]], alias: str, items: Sequence[tuple[str, Scalar]]
) -> tuple[tuple[Scalar, str], ...]:
    """Return which columns of a query are these scalars, with what was said of them."""
    said = dict(scalars)
    return tuple((Column(alias, name), said[scalar]) for name, scalar in items if scalar in said)


def resolve(scalar: Scalar, scope: Lineage, clause: str) -> Typed:
    """Return a row-level scalar with its columns found, its kind inferred and every function made total."""
    match scalar:
        case Literal(value):
            return known(value)
        case Column():
            return find(scalar, scope).typed
        case Call(name, arguments):
            return function.apply(name, [resolve(argument, scope, clause) for argument in arguments])
        case Case(branches, otherwise):
            conditions = [as_condition(resolve(when, scope, clause), "CASE WHEN") for when, _ in branches]
            values = [resolve(value, scope, clause) for _, value in branches] + [
                resolve(otherwise, scope, clause)
            ]
            return first_that_holds(conditions, values)
        case Among(argument, values_in):
            return one_of(resolve(argument, scope, clause), values_in)
        case Aggregate():
            raise QueryError(
                clause, "an aggregate is not allowed here", "aggregate per person in a subquery first"
            )
        case _:
            assert_never(scalar)


def find(column: Column, scope: Lineage) -> Visible:
    """Return the one visible column that a name means."""
    matches = [
        visible
        for visible in scope.columns
        if same(visible.name, column.name)
        and (column.relation is None or same(visible.alias, column.relation))
    ]
    if len(matches) == 1:
        return matches[0]
    shown = _show(column)
    if matches:
        # The person's column of joined private tables is the same value on both sides.
        if all(match.typed.scalar in scope.units for match in matches):
            return matches[0]
        raise QueryError(shown, "is a column of several tables", f"write {matches[0].alias}.{column.name}")
    raise QueryError(
        shown, "no such column is declared", nearest(column.name, [visible.name for visible in scope.columns])
    )


def first_that_holds(conditions: list[Scalar], values: list[Typed]) -> Typed:
    """Return a CASE whose values are of one kind."""
    parts, kind = function.agree("CASE", values)
    branches = tuple(zip(conditions, (part.scalar for part in parts[:-1]), strict=True))
    # The value is that of a branch, and the joint kind contains them all.
    return Typed(Case(branches, parts[-1].scalar), kind, parts[0].held)


def one_of(argument: Typed, values: Sequence[Literal]) -> Typed:
    """Return whether a value is one of constants of its kind."""
    parts, kind = function.agree("IN", [argument, *(known(value.value) for value in values)])
    if isinstance(kind, Opaque | Nothing):
        raise QueryError("IN", "needs a column of declared type", "declare the column's type")
    constants = tuple(part.scalar for part in parts[1:] if isinstance(part.scalar, Literal))
    if len(constants) != len(values):
        raise QueryError(
            "IN", f"cannot compare {word(argument.kind)} with these constants", "use constants of its type"
        )
    return truth(Among(parts[0].scalar, constants))


def as_condition(typed: Typed, clause: str) -> Scalar:
    """Return a scalar that is a condition, refusing any other."""
    if not isinstance(typed.kind, Truth | Nothing):
        raise QueryError(clause, f"needs a condition but got {word(typed.kind)}", "compare it with something")
    return typed.scalar


def condition(scalar: Scalar, scope: Lineage, clause: str) -> Scalar:
    """Return a resolved condition, refusing what is not true or false."""
    return as_condition(resolve(scalar, scope, clause), clause)


def held(typed: Typed) -> Typed:
    """Return a number with its declared interval enforced."""
    return hold(function.settle(typed))


def _show(column: Column) -> str:
    return column.name if column.relation is None else f"{column.relation}.{column.name}"


def nearest(name: str, known: Sequence[str]) -> str:
    """Return advice that names what was probably meant."""
    near = get_close_matches(name, known, 1, 0.5)
    if near:
        return f"did you mean {near[0]}?"
    return f"declared: {', '.join(known[:12])}" if known else "declare it in the manifest"
