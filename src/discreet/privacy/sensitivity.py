"""How far one unit can move an exact answer.

For a vector-valued query f, the sensitivity in a norm is the largest norm of f(D) - f(D') over
neighbours D, D'.  The three norms, and the number of coordinates one unit can touch, are kept
together because different mechanisms ask for different ones and they belong to the same theorem
about the query.  Values are exact; for what the engines compute they are integers.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import TypeVar

from discreet.errors import ParameterError
from discreet.exact.number import Real, non_negative, rational, shown, whole
from discreet.markup import built, figure
from discreet.privacy.adjacency import Adjacency

Record = TypeVar("Record")


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """The largest change one unit can cause: l1, squared l2, l-infinity, and coordinates touched (l0)."""

    l1: Fraction
    l2_squared: Fraction
    linf: Fraction
    l0: int | None = None

    __repr__ = built

    def __post_init__(self) -> None:
        for name in ("l1", "l2_squared", "linf"):
            object.__setattr__(self, name, non_negative(getattr(self, name), name))
        if self.l0 is not None:
            object.__setattr__(self, "l0", whole(non_negative(self.l0, "l0"), "l0"))
        if not 0 <= self.linf <= self.l1:
            raise ParameterError("a sensitivity needs 0 <= linf <= l1")
        if not self.linf**2 <= self.l2_squared <= self.l1**2:
            raise ParameterError("a sensitivity needs linf**2 <= l2_squared <= l1**2")

    @classmethod
    def of(cls, value: "Sensitivity | Real") -> "Sensitivity":
        """Return a sensitivity as it is, or that of a single number which moves by at most `value`."""
        if isinstance(value, Sensitivity):
            return value
        change = non_negative(value, "sensitivity")
        return cls(change, change**2, change, 1)

    @classmethod
    def spread(cls, coordinates: int, each: Real) -> "Sensitivity":
        """Return that of a vector in which one unit moves at most `coordinates` entries by at most `each`."""
        change, touched = non_negative(each, "each"), whole(coordinates, "coordinates")
        if touched < 0:
            raise ParameterError(f"coordinates must not be negative, got {shown(coordinates)}")
        return cls(touched * change, touched * change**2, min(touched, 1) * change, touched)

    @property
    def scalar(self) -> bool:
        """Whether a unit can only ever move one coordinate."""
        return self.l0 is not None and self.l0 <= 1

    @property
    def words(self) -> str:
        """Return the sensitivity in words: one number for a single number, else every norm."""
        if self.l0 == 1 and self.l1 == self.linf and self.l2_squared == self.l1**2:
            return figure(self.l1)
        norms = f"l1 {figure(self.l1)}, l2 squared {figure(self.l2_squared)}, linf {figure(self.linf)}"
        return norms if self.l0 is None else f"{norms}, in {self.l0} coordinates"

    def group(self, size: int) -> "Sensitivity":
        """Return the sensitivity to `size` units changing at once."""
        members = whole(size, "size")
        if members < 1:
            raise ParameterError(f"a group has at least one member, got {shown(size)}")
        return Sensitivity(
            self.l1 * members,
            self.l2_squared * members**2,
            self.linf * members,
            None if self.l0 is None else self.l0 * members,
        )


def count() -> Sensitivity:
    """Return the sensitivity of a counting query: 1, whichever the adjacency."""
    return Sensitivity.of(1)


def total(low: Real, high: Real, adjacency: Adjacency) -> Sensitivity:
    """Return the sensitivity of a sum of values in [low, high]."""
    bottom, top = _interval(low, high)
    match Adjacency.of(adjacency):
        case Adjacency.ADD_REMOVE:
            return Sensitivity.of(max(abs(bottom), abs(top)))
        case Adjacency.REPLACE:
            return Sensitivity.of(top - bottom)


def mean(low: Real, high: Real, at_least: int, adjacency: Adjacency) -> Sensitivity:
    """Return the sensitivity of a mean of values in [low, high] when both neighbours hold `at_least` records.

    Under replace the number n of records is the same in both and the mean moves by (high - low) / n.
    Under add-remove the larger neighbour has at least n + 1 records, and adding a record to n others
    moves their mean by at most (high - low) / (n + 1).
    """
    bottom, top = _interval(low, high)
    records = whole(at_least, "at_least")
    if records < 1:
        raise ParameterError(f"a mean needs at least one record in every dataset, got at_least={at_least}")
    match Adjacency.of(adjacency):
        case Adjacency.REPLACE:
            return Sensitivity.of((top - bottom) / records)
        case Adjacency.ADD_REMOVE:
            return Sensitivity.of((top - bottom) / (records + 1))


def histogram(adjacency: Adjacency) -> Sensitivity:
    """Return the sensitivity of the counts of a partition: one cell moves, or two under replace."""
    match Adjacency.of(adjacency):
        case Adjacency.ADD_REMOVE:
            return Sensitivity.spread(1, 1)
        case Adjacency.REPLACE:
            return Sensitivity.spread(2, 1)


def prefix_sums(length: int, adjacency: Adjacency) -> Sensitivity:
    """Return the sensitivity of all running counts over an ordered domain of `length` cells.

    Adding a record to the first cell moves every prefix by one.  Under replace the last prefix is the
    public number of records, so one fewer moves.
    """
    length = whole(length, "length")
    if length < 1:
        raise ParameterError(f"length must be at least 1, got {shown(length)}")
    match Adjacency.of(adjacency):
        case Adjacency.ADD_REMOVE:
            return Sensitivity.spread(length, 1)
        case Adjacency.REPLACE:
            return Sensitivity.spread(length - 1, 1)


def workload(
    queries: Sequence[Callable[[Record], Real]], domain: Iterable[Record], adjacency: Adjacency
) -> Sensitivity:
    """Return the exact sensitivity of counting queries over a finite domain, maximised over all records.

    Each query maps a record to its contribution (a truth value for a counting query); the answers are sums
    over the records.  Divide by n with `scaled` for the normalised form of the lectures.
    """
    profiles = sorted({tuple(_contribution(query(record)) for query in queries) for record in domain})
    if not profiles:
        raise ParameterError("the domain of a workload must not be empty")
    match Adjacency.of(adjacency):
        case Adjacency.ADD_REMOVE:
            moves = profiles
        case Adjacency.REPLACE:
            zero = tuple(Fraction(0) for _ in queries)
            moves = [zero] + [
                tuple(a - b for a, b in zip(x, y, strict=True)) for x, y in combinations(profiles, 2)
            ]
    return Sensitivity(
        max(sum((abs(v) for v in move), Fraction(0)) for move in moves),
        max(sum((v * v for v in move), Fraction(0)) for move in moves),
        max((abs(v) for move in moves for v in move), default=Fraction(0)),
        max(sum(v != 0 for v in move) for move in moves),
    )


def marginals(sizes: Sequence[int], sets: Iterable[Sequence[int]], adjacency: Adjacency) -> Sensitivity:
    """Return the sensitivity of the marginal tables over the given sets of attribute positions.

    Every table is a histogram of its own: a record is in one cell of each, so adding one moves as many
    cells as there are tables, and replacing one moves two in each table that has more than one cell.
    """
    tables = [frozenset(chosen) for chosen in sets]
    if any(not 0 <= position < len(sizes) for chosen in tables for position in chosen):
        raise ParameterError("a marginal names an attribute that does not exist")
    match Adjacency.of(adjacency):
        case Adjacency.ADD_REMOVE:
            return Sensitivity.spread(len(tables), 1)
        case Adjacency.REPLACE:
            moving = sum(any(sizes[position] > 1 for position in chosen) for chosen in tables)
            return Sensitivity.spread(2 * moving, 1)


def scaled(sensitivity: Sensitivity, factor: Real) -> Sensitivity:
    """Return the sensitivity of the same answers multiplied by `factor`, such as 1/n."""
    by = abs(rational(factor, "factor"))
    return Sensitivity(
        sensitivity.l1 * by, sensitivity.l2_squared * by**2, sensitivity.linf * by, sensitivity.l0
    )


def _contribution(value: Real) -> Fraction:
    return Fraction(int(value)) if isinstance(value, bool) else rational(value, "contribution")


def _interval(low: Real, high: Real) -> tuple[Fraction, Fraction]:
    bottom, top = rational(low, "low"), rational(high, "high")
    if bottom > top:
        raise ParameterError(f"low must not exceed high, got low={low} and high={high}")
    return bottom, top
