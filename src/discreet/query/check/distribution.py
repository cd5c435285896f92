"""A whole distribution as one answer: HISTOGRAM, CDF and QUANTILES of a bounded number.

The argument becomes the number of the cell it falls into, and that is one more group key with declared
values: a distribution is a question with ordinary groups (HISTOGRAM) or with running ones (CDF, QUANTILES).

Cells.  Let the clamped argument be the integer p of n on its fixed-point grid.  With m equal cells it falls
into cell floor(p m / n); for whole numbers n counts the numbers themselves, so 0, ..., 99 in ten cells are
tens.  Edges given in the question are compared with the argument one by one.  Rows without a value are left
out.
"""

from fractions import Fraction

from discreet.errors import QueryError
from discreet.query.catalog.kind import Typed, Whole
from discreet.query.check.fixed_point import fixed_point
from discreet.query.check.formula import Constant, Formula, Key, Operation
from discreet.query.check.measurement import KeyColumn
from discreet.query.plan import Aggregate, Call, Case, Column, Literal, Scalar

KINDS = frozenset(("cdf", "histogram", "quantiles"))

EACH_VALUE = 512
"""A range of at most so many whole numbers has a cell for each, unless the question says otherwise."""

CELLS = 256
"""How many cells a wider range has, unless the question says otherwise."""

MOST_CELLS = {"histogram": 4096, "cdf": 1024, "quantiles": 1024}
"""The most cells; for running counts the time of planning grows with their cube."""


def cells(aggregate: Aggregate, argument: Typed, auto: str | None, place: int) -> KeyColumn:
    """Return the cells of a distribution as the group key in this place.

    For whole numbers both ends belong to the cell; otherwise the upper one is where the next cell begins.
    """
    integer = fixed_point(aggregate.function, argument, auto)
    whole = isinstance(argument.kind, Whole)
    size = integer.high - integer.low + (1 if whole else 0)
    name = aggregate.argument.name if isinstance(aggregate.argument, Column) else "value"
    ends = Fraction(integer.low, integer.scale), Fraction(integer.high, integer.scale)
    if isinstance(aggregate.cells, tuple):
        return _edged(name, argument, aggregate.cells, ends, place, whole=whole)
    count = aggregate.cells or (size if whole and size <= EACH_VALUE else CELLS)
    count, most = max(min(count, size), 1), MOST_CELLS[aggregate.function]
    if count > most:
        raise QueryError(
            aggregate.function.upper(), f"has more than {most} cells", "ask for fewer, wider ones"
        )
    position: Scalar = integer.scalar
    if integer.low:
        position = Call("subtract", (position, Literal(integer.low)))
    if count < size:
        # 64 bits hold the product unless the grid is very fine.
        times = "multiply" if size * count < 2**62 else "multiply_wide"
        position = Call("quotient", (Call(times, (position, Literal(count))), Literal(size)))
    if not whole:
        # The upper bound itself belongs to the last cell.
        position = Call("clamp", (position, Literal(0), Literal(count - 1)))
    here = Key(place)
    if whole:
        low, high = _whole_ends(here, integer.low, size, count)
    else:
        step = Constant((ends[1] - ends[0]) / count)
        low = _sum(Constant(ends[0]), Operation("multiply", (here, step)))
        high = _sum(low, step)
    return KeyColumn(name, position, tuple(range(count)), ends=(low, high))


def _whole_ends(here: Key, bottom: int, size: int, count: int) -> tuple[Formula, Formula]:
    """Return the first and last whole number p of a cell k: ceil(k n / m) <= p < ceil((k + 1) n / m)."""

    def start(cell: Formula) -> Formula:
        if count == size:
            return _sum(Constant(bottom), cell)
        scaled = Operation("multiply", (cell, Constant(Fraction(size, count))))
        return _sum(Constant(bottom), Operation("ceil", (scaled,)))

    following = start(_sum(here, Constant(1)))
    return start(here), Operation("subtract", (following, Constant(1)))


def _edged(
    name: str,
    argument: Typed,
    edges: tuple[Fraction, ...],
    ends: tuple[Fraction, Fraction],
    place: int,
    *,
    whole: bool,
) -> KeyColumn:
    if not (ends[0] < edges[0] and edges[-1] <= ends[1]) or (whole and any(e.denominator > 1 for e in edges)):
        kind = "whole numbers " if whole else ""
        raise QueryError(
            "HISTOGRAM",
            f"the edges must be {kind}inside the bounds of the values, "
            f"{float(ends[0]):g} to {float(ends[1]):g}",
            "list only the edges between cells, as in HISTOGRAM(age, [18, 65])",
        )
    value = argument.scalar
    branches = tuple(
        (Call("lt", (value, Literal(int(edge) if whole else edge))), Literal(number))
        for number, edge in enumerate(edges)
    )
    missing = (Call("is_null", (value,)), Literal(None))
    starts = (ends[0], *edges)
    stops = (*(edge - 1 if whole else edge for edge in edges), ends[1])
    return KeyColumn(
        name,
        Case((missing, *branches), Literal(len(edges))),
        tuple(range(len(edges) + 1)),
        ends=(_listed(Key(place), starts), _listed(Key(place), stops)),
    )


def _listed(here: Key, values: tuple[Fraction, ...]) -> Formula:
    parts: list[Formula] = []
    for number, value in enumerate(values[:-1]):
        parts += [Operation("eq", (here, Constant(number))), Constant(value)]
    return Operation("case", (*parts, Constant(values[-1])))


def _sum(one: Formula, other: Formula) -> Formula:
    return other if one == Constant(0) else Operation("add", (one, other))
