"""Bounds found privately: a first question whose answer becomes a declaration.

Every value falls into one cell of a logarithmic grid: cell 0 holds zero, cell p > 0 the numbers from 2**(p-1)
to 2**p (in units of the finest size), cell -p their negatives.  Two quantiles near the ends of the data are
chosen privately among the cells, and the outer edges of their cells are the bounds.  The grid is the same
for every dataset, the choice costs what any two quantiles cost, and the bounds found are public afterwards:
store them with `Catalog.with_bounds` and every later question uses them for free.
"""

from fractions import Fraction

from discreet.errors import CatalogError, QueryError
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.sensitivity import Sensitivity
from discreet.query.catalog.column import STEPS
from discreet.query.catalog.kind import Real, Whole
from discreet.query.catalog.manifest import Catalog
from discreet.query.check.formula import NoisyTerm
from discreet.query.check.limits import Bounding
from discreet.query.check.lineage import trace
from discreet.query.check.measurement import Checked, Declared, Output, QuantileChoice
from discreet.query.check.scope import names
from discreet.query.name import folded
from discreet.query.plan import (
    Aggregate,
    Block,
    Call,
    Case,
    Column,
    Join,
    Literal,
    Nested,
    Relation,
    Scalar,
    Scan,
    UnionAll,
    walk,
)

LEVEL = Fraction(1, 100)
"""The share of the data that may lie outside the bounds at each end."""

FINEST = -20
"""Numbers below 2**FINEST in size count as the smallest cell; whole numbers start at 1."""

LARGEST = 53


def needed(block: Block, catalog: Catalog) -> tuple[tuple[str, str], ...]:
    """Return the columns (with their tables) whose bounds a question needs and which are to be found."""
    names_used = {
        folded(part.name)
        for scalar in (*(item.scalar for item in block.items), *(order.scalar for order in block.order))
        for aggregate in walk(scalar)
        if isinstance(aggregate, Aggregate)
        and aggregate.function != "count"
        and aggregate.argument is not None
        for part in walk(aggregate.argument)
        if isinstance(part, Column)
    }
    found = [
        (table.name, column.name)
        for name in dict.fromkeys(_scanned(block.source))
        if (table := catalog.meant(name)) is not None
        for column in table.columns
        if column.auto and folded(column.name) in names_used
    ]
    inner = [pair for nested in _blocks(block.source) for pair in needed(nested, catalog)]
    return tuple(dict.fromkeys((*found, *inner)))


def question(catalog: Catalog, table: str, column: str) -> Checked:
    """Return the question that finds the bounds of a numeric column; its columns are `low` and `high`."""
    scope = trace(Scan(table, table), catalog, names())
    declared = catalog.table(table)
    target = None if declared is None else declared.column(column)
    if declared is None or target is None or word_of(target.kind) is None:
        raise QueryError(f"{table}.{column}", "is not a declared numeric column", "declare its type first")
    bounding = Bounding(scope, 1)
    limits, weight = bounding.sums(), bounding.weight
    levels = (LEVEL, 1 - LEVEL)
    both = limits.adjacency is Adjacency.REPLACE
    argument = _cell(
        next(v.typed.scalar for v in scope.columns if v.name == target.name), finest(target.kind)
    )
    reach = LARGEST - finest(target.kind) + 1
    choices = tuple(
        QuantileChoice(
            name=f"{name} of {target.name}",
            level=level,
            low=-reach,
            size=2 * reach + 1,
            units=1,
            sensitivity=Sensitivity.of(
                limits.total
                * weight
                * (level.denominator if both else max(level.numerator, level.denominator - level.numerator))
            ),
            scale=weight,
            argument=Call("add", (argument, Literal(reach))),
            inward=True,
        )
        for name, level in zip(("low", "high"), levels, strict=True)
    )
    return Checked(
        keys=Declared(()),
        measurements=choices,
        columns=(Output("low", NoisyTerm(0)), Output("high", NoisyTerm(1))),
        having=None,
        order=(),
        limit=None,
        distinct=False,
        rows=bounding.rows(None, people=False),
        contribution=limits,
        tables=scope.tables,
        notes=(f"finds bounds for {target.name}; about {float(LEVEL):.0%} at each end may lie outside",),
    )


def found(catalog: Catalog, table: str, column: str, low: Fraction, high: Fraction) -> Catalog:
    """Return the catalog with the bounds that the released cells `low` and `high` stand for."""
    declared = catalog.table(table)
    target = None if declared is None else declared.column(column)
    if target is None:
        raise QueryError(f"{table}.{column}", "is not a declared column", "declare it first")
    unit = Fraction(2) ** finest(target.kind)
    first, last = min(int(low), int(high)), max(int(low), int(high))
    bottom = -(unit * 2**-first) if first < 0 else (unit * 2 ** (first - 1) if first else Fraction(0))
    top = unit * 2**last if last > 0 else (-(unit * 2 ** (-last - 1)) if last else Fraction(0))
    limit = _widest(target.kind)
    bottom, top = (min(max(end, -limit), limit) for end in (bottom, top))
    if isinstance(target.kind, Whole):
        bottom, top = Fraction(bottom.__floor__()), Fraction(top.__ceil__())
    return catalog.with_bounds(table, column, bottom, max(top, bottom))


def _widest(kind: object) -> Fraction:
    """Return the largest bound that can be declared: what is found has been paid for, and must be of use."""
    most = Fraction(2**LARGEST)
    return min(most, kind.step * STEPS) if isinstance(kind, Real) and kind.step is not None else most


def finest(kind: object) -> int:
    """Return the exponent of the smallest size that the grid tells apart."""
    return 0 if isinstance(kind, Whole) else FINEST


def word_of(kind: object) -> str | None:
    """Return the name of a numeric kind, and None for others."""
    from discreet.query.catalog.kind import Real

    return "number" if isinstance(kind, Whole | Real) else None


def _cell(column: Scalar, exponent: int) -> Scalar:
    """Return the signed position of a number on the grid: 0, or sign * (1 + floor(log2(size / finest)))."""
    real = Call("to_real", (column,))
    size = Call("multiply", (Call("absolute", (real,)), Literal(Fraction(2) ** -exponent)))
    logarithm = Call("divide", (Call("ln", (size,)), Call("ln", (Literal(Fraction(2)),))))
    level = Call("add", (Call("to_whole", (Call("floor", (logarithm,)),)), Literal(1)))
    top = LARGEST - exponent + 1
    inside = Call("clamp", (level, Literal(1), Literal(top)))
    signed = Case(((Call("lt", (column, Literal(0))), Call("subtract", (Literal(0), inside))),), inside)
    return Case(((Call("eq", (column, Literal(0))), Literal(0)),), signed)


def _scanned(relation: Relation) -> list[str]:
    match relation:
        case Scan(table, _):
            return [table]
        case Join(left, right):
            return _scanned(left) + _scanned(right)
        case Nested(block):
            return _scanned(block.source)
        case UnionAll(blocks):
            return [table for block in blocks for table in _scanned(block.source)]


def _blocks(relation: Relation) -> list[Block]:
    match relation:
        case Scan():
            return []
        case Join(left, right):
            return _blocks(left) + _blocks(right)
        case Nested(block):
            return [block]
        case UnionAll(blocks):
            return list(blocks)


def declared(catalog: Catalog, table: str, column: str) -> tuple[Fraction, Fraction]:
    """Return the bounds of a numeric column."""
    found = catalog.table(table)
    target = None if found is None else found.column(column)
    match None if target is None else target.kind:
        case Whole(int() as low, int() as high) | Real(Fraction() as low, Fraction() as high):
            return Fraction(low), Fraction(high)
    raise CatalogError(f"tables.{table}.columns.{column} has no bounds")
