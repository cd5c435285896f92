"""The plan: a question as a small closed tree that both faces (SQL and dataframe) build.

Nothing outside these node types can be said, so nothing outside them can reach an engine.  A `Block` is
one SELECT; a block inside another one's FROM aggregates or filters per person; the outermost block is the
question whose answer is released.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime
from fractions import Fraction
from itertools import islice
from operator import is_
from typing import Any, TypeAlias, assert_never

from discreet.query.name import HIDDEN

Value: TypeAlias = int | Fraction | str | bool | date | datetime | None


@dataclass(frozen=True, slots=True, eq=False)
class Literal:
    """A constant of the question; a whole number is an int, any other number a Fraction.

    Constants of different types are different, although in Python 1 == Fraction(1) == True: an engine
    computes with integers, doubles and truth values in different ways.
    """

    value: Value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Literal):
            return NotImplemented
        return type(self.value) is type(other.value) and self.value == other.value

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


@dataclass(frozen=True, slots=True)
class Column:
    """A column by name, optionally of a named relation; checking fills the relation in."""

    relation: str | None
    name: str


@dataclass(frozen=True, slots=True)
class Call:
    """A scalar function from the closed table of functions that can be made total."""

    function: str
    arguments: tuple["Scalar", ...]


@dataclass(frozen=True, slots=True)
class Case:
    """The value of the first branch whose condition is true, else `otherwise`."""

    branches: tuple[tuple["Scalar", "Scalar"], ...]
    otherwise: "Scalar"


@dataclass(frozen=True, slots=True)
class Among:
    """Whether the argument equals one of finitely many constants."""

    argument: "Scalar"
    values: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One statistic of a set of rows: `parameter` is the level of a quantile, `where` a FILTER clause.

    A distribution (`cdf`, `histogram`, `quantiles`) has one value for each of many places: `cells` is how
    many equal parts the interval of the argument is cut into, or the edges between; `levels` are quantiles.
    `within` bounds what one person adds to a group.
    """

    function: str
    argument: "Scalar | None" = None
    distinct: bool = False
    parameter: Fraction | None = None
    where: "Scalar | None" = None
    cells: int | tuple[Fraction, ...] | None = None
    levels: tuple[Fraction, ...] = ()
    within: tuple[Fraction, Fraction] | None = None


Scalar: TypeAlias = Literal | Column | Call | Case | Among | Aggregate


@dataclass(frozen=True, slots=True)
class Item:
    """One output column of a block."""

    name: str
    scalar: Scalar


@dataclass(frozen=True, slots=True)
class Order:
    """One ORDER BY term."""

    scalar: Scalar
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True, slots=True)
class Window:
    """A function of released rows: `frame` is rows or range, and how far it reaches before and behind."""

    function: str
    arguments: tuple[Scalar, ...]
    partition: tuple[Scalar, ...]
    order: tuple[Order, ...]
    frame: tuple[str, int | None, int | None]


WINDOW = "window"

LISTED = "string_agg"
"""The aggregate of released rows that writes their values into one text: its argument is a window."""


def windowed(window: Window) -> Call:
    """Return a window function as a scalar; no engine is ever asked for one."""
    head = (window.function, len(window.arguments), len(window.partition), *window.frame)
    order = (
        part
        for term in window.order
        for part in (term.scalar, Literal(term.descending), Literal(term.nulls_first))
    )
    return Call(WINDOW, (*map(Literal, head), *window.arguments, *window.partition, *order))


def window_of(call: Call) -> Window:
    """Return the window function that a scalar stands for."""
    values = [part.value if isinstance(part, Literal) else None for part in call.arguments[:6]]
    function, count, groups, kind, start, end = values
    if not (isinstance(function, str) and isinstance(count, int) and isinstance(groups, int)):
        raise AssertionError("a window is made by `windowed`")
    rest = call.arguments[6:]
    order = rest[count + groups :]
    return Window(
        function,
        rest[:count],
        rest[count : count + groups],
        tuple(
            Order(scalar, descending == Literal(True), nulls == Literal(True))
            for scalar, descending, nulls in zip(order[::3], order[1::3], order[2::3], strict=True)
        ),
        (str(kind), start if isinstance(start, int) else None, end if isinstance(end, int) else None),
    )


@dataclass(frozen=True, slots=True)
class Scan:
    """The rows of a declared table."""

    table: str
    alias: str


@dataclass(frozen=True, slots=True)
class Nested:
    """The rows of another block: a derived table, or a common table expression under its `name`."""

    block: "Block"
    alias: str
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Join:
    """Pairs of rows satisfying `on`; with `outer`, also the left rows without a partner, with `full` both."""

    left: "Relation"
    right: "Relation"
    on: Scalar
    outer: bool = False
    full: bool = False


@dataclass(frozen=True, slots=True)
class UnionAll:
    """The rows of several blocks, one after the other: columns by place, under the names of the first."""

    blocks: tuple["Block", ...]
    alias: str


COMMA = Literal(True)
"""The condition of a join without one: that of FROM a, b, whose conditions stand in WHERE."""

USING, NATURAL, EXISTS = "using", "natural", "exists"
"""Conditions of joins that say less than they mean; what they mean is settled with the declarations.

USING names the columns that are equal, NATURAL leaves even that to the tables.  EXISTS joins a subquery to
the rows that it is asked about: its arguments equal the columns of the subquery, and whatever its condition
equates with columns outside are further such pairs.
"""

STAR = "*"
"""The name of an item that stands for all columns of a subquery's rows, beside others."""

MONTHS = {"month": 1, "quarter": 3, "year": 12}
"""How many months a unit of the calendar has that is made of months."""

TURNED = {"eq": "eq", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
"""Comparisons by what they are with their sides exchanged."""

ONE_VALUE = f"{HIDDEN}scalar"
"""How the names of subqueries begin that stand for a value: they have one row, and are joined to all."""

Relation: TypeAlias = Scan | Nested | Join | UnionAll


@dataclass(frozen=True, slots=True)
class Block:
    """One SELECT; `items` is empty for SELECT * of a relation.

    `qualify` filters released rows once their windows are computed.
    `privacy` are the options of a vendor's privacy clause, as they were written.
    `sets` are the grouping sets, as positions in `group`; None stands for the one set of all terms.
    """

    source: Relation
    items: tuple[Item, ...]
    where: Scalar | None = None
    group: tuple[Scalar, ...] = ()
    having: Scalar | None = None
    order: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int = 0
    distinct: bool = False
    qualify: Scalar | None = None
    sets: tuple[tuple[int, ...], ...] | None = None
    privacy: tuple[tuple[str, str], ...] = ()


def asked_of(block: Block) -> tuple[Scalar, ...]:
    """Return what a block makes of its rows or groups: what it shows, orders by and keeps them for."""
    kept = tuple(part for part in (block.having, block.qualify) if part is not None)
    return (*(item.scalar for item in block.items), *(order.scalar for order in block.order), *kept)


def change_asked(block: Block, change: Callable[[Scalar], Scalar]) -> Block:
    """Return a block whose clauses after grouping are changed: SELECT, HAVING, QUALIFY and ORDER BY."""
    before = asked_of(block)
    after = [change(scalar) for scalar in before]
    if all(map(is_, before, after)):
        return block
    changed = iter(after)
    return replace(
        block,
        items=tuple(Item(item.name, next(changed)) for item in block.items),
        order=tuple(replace(order, scalar=next(changed)) for order in block.order),
        having=None if block.having is None else next(changed),
        qualify=None if block.qualify is None else next(changed),
    )


def given(value: Any) -> Any:
    """Return a value that checking has already established."""
    if value is None:
        raise AssertionError("a value that checking establishes is missing")
    return value


def constant(scalar: Scalar) -> int | None:
    """Return the whole number that a scalar is, if it is one; a boolean is not."""
    return scalar.value if isinstance(scalar, Literal) and type(scalar.value) is int else None


def children(scalar: Scalar) -> tuple[Scalar, ...]:
    """Return the direct parts of a scalar."""
    match scalar:
        case Literal() | Column():
            return ()
        case Call():
            return scalar.arguments
        case Case():
            return (*(part for branch in scalar.branches for part in branch), scalar.otherwise)
        case Among():
            return (scalar.argument, *scalar.values)
        case Aggregate():
            return tuple(part for part in (scalar.argument, scalar.where) if part is not None)
        case _:
            assert_never(scalar)


def rebuilt(scalar: Scalar, change: Callable[[Scalar], Scalar | None]) -> Scalar:
    """Return a scalar in which every part that `change` has something else for is that; as it is, if none."""
    other = change(scalar)
    if other is not None:
        return other

    def again(part: Scalar) -> Scalar:
        return rebuilt(part, change)

    match scalar:
        case Literal() | Column():
            return scalar
        case Call(name, arguments):
            others = tuple(map(again, arguments))
            return scalar if all(map(is_, arguments, others)) else Call(name, others)
        case Case(branches, otherwise):
            return Case(tuple((again(test), again(value)) for test, value in branches), again(otherwise))
        case Among(argument, values):
            return Among(again(argument), values)
        case Aggregate(argument=argument, where=where):
            about = None if argument is None else again(argument)
            kept = None if where is None else again(where)
            same = about is argument and kept is where
            return scalar if same else replace(scalar, argument=about, where=kept)
        case _:
            assert_never(scalar)


def walk(scalar: Scalar) -> Iterator[Scalar]:
    """Yield a scalar and everything inside it."""
    yield scalar
    for part in children(scalar):
        yield from walk(part)


SCALAR_LIMIT = 5_000
"""The most parts that an expression may have; what is written once and used often counts each time."""


def too_large(scalar: Scalar) -> bool:
    """Whether a scalar has more parts than any statement should; it is not walked further than that."""
    return next(islice(walk(scalar), SCALAR_LIMIT, None), None) is not None


def aggregates(scalar: Scalar) -> bool:
    """Whether a scalar contains an aggregate."""
    return any(isinstance(part, Aggregate) for part in walk(scalar))


def aggregates_of(block: Block) -> tuple[Aggregate, ...]:
    """Return the aggregates that a block asks for, wherever they stand."""
    return tuple(part for scalar in asked_of(block) for part in walk(scalar) if isinstance(part, Aggregate))


def has_window(scalar: Scalar) -> bool:
    """Whether a scalar contains a window function."""
    return any(isinstance(part, Call) and part.function == WINDOW for part in walk(scalar))


def conjuncts(condition: Scalar | None) -> tuple[Scalar, ...]:
    """Return the parts of a condition joined by AND."""
    match condition:
        case None:
            return ()
        case Call("and", arguments):
            return tuple(part for argument in arguments for part in conjuncts(argument))
        case _:
            return (condition,)


def conjunction(parts: tuple[Scalar, ...]) -> Scalar | None:
    """Return the AND of conditions, or None when there are none."""
    match parts:
        case ():
            return None
        case (only,):
            return only
        case _:
            return Call("and", parts)
