"""What a checked question measures: exact integers per group, or choices among public candidates.

These values are the seam between planning, the engine and the release.  They say which integers the
engine returns, how far one person moves them, and how the output columns follow from the noisy ones.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.quantile import Quantile
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.sensitivity import Sensitivity
from discreet.query.check.contribution import Contribution
from discreet.query.check.formula import Formula, Public
from discreet.query.plan import Scalar
from discreet.query.statement import Source

if TYPE_CHECKING:
    from discreet.query.check.assembly import Assembly

_HALF = Fraction(1, 2)

WEIGHT = 2**16
"""Integer units that stand for one whole row when people above their limit are weighted down."""


class Sort(StrEnum):
    """What an integer of a measurement counts."""

    ROWS = "rows"
    SUM = "sum"
    PEOPLE = "people"
    DISTINCT = "distinct"
    EACH = "each value once"
    ABOVE = "people above the limit"
    KEY_WEIGHTS = "weights of keys"


@dataclass(frozen=True, slots=True)
class Fixed:
    """How one row becomes an integer: x = floor(argument * scale + 1/2), clamped to [low, high].

    With a degree d it is a corner of a simplex instead (see `contribution`): the term of number `corner` in
    the expansion of ((high - x) + (x - low))**d, or, after the last of them, (high - low)**d for a row
    without a value and 0 for any other.  `present` alone asks whether the argument is not NULL; no argument
    at all counts the row itself.
    """

    argument: Scalar | None
    whole: bool = True
    scale: int = 1
    low: int = 1
    high: int = 1
    degree: int = 0
    corner: int = 0
    present: bool = False

    @property
    def missing(self) -> bool:
        """Whether it is the corner for rows without a value."""
        return self.corner > self.degree

    @property
    def top(self) -> int:
        """What a row adds to all corners together."""
        top: int = (self.high - self.low) ** self.degree
        return top

    @property
    def ends(self) -> tuple[int, int]:
        """The smallest and largest integer one row can add, zero included (a NULL adds nothing)."""
        if self.argument is None or self.present:
            return 0, 1
        return (0, self.top) if self.degree else (min(self.low, 0), max(self.high, 0))


@dataclass(frozen=True, slots=True)
class Measurement:
    """One exact integer per group, to be released with additive noise.

    `scale` integer units make 1 in natural units; `sensitivity` is in integer units, over all groups
    together; one row adds between `low` and `high` natural units.  The corners of a simplex follow each
    other, numbered by `corner`: their `sensitivity` is that of all of them together, and the price of the
    first pays for all.
    """

    name: str
    sort: Sort
    sensitivity: Sensitivity
    scale: int
    low: Fraction
    high: Fraction
    fixed: Fixed

    @property
    def corner(self) -> int:
        """Which corner of a simplex it is; 0 is the first, or one that stands alone."""
        return self.fixed.corner

    @property
    def weight(self) -> int:
        """The integer units that stand for one whole row, or person."""
        steps: int = self.fixed.scale ** max(self.fixed.degree, 1)
        return self.scale // steps

    @property
    def counting(self) -> bool:
        """Whether the measurement is a plain count: one unit in one group moves it by one."""
        return self.sort not in (Sort.SUM, Sort.EACH, Sort.KEY_WEIGHTS)


@dataclass(frozen=True, slots=True)
class QuantileChoice:
    """A quantile of each group, chosen from the grid of integers low, ..., low + size - 1 (`units` make 1).

    The engine returns the weight of every occupied position of the grid; a row weighs `scale`.  `level` is
    0 for a minimum and 1 for a maximum, which need a target some way inside the data, as does a level near an
    end that says `inward`.  `sensitivity`
    bounds the sum over all groups of the largest change of any candidate's score (in the units of
    `discreet.mechanisms.quantile`), so mechanisms whose loss is proportional to that change compose over
    the groups of a question at no further cost.
    """

    name: str
    level: Fraction
    low: int
    size: int
    units: int
    sensitivity: Sensitivity
    scale: int
    argument: Scalar
    inward: bool = False

    monotone: ClassVar[bool] = False

    def value(self, position: int) -> Fraction:
        """Return the number at a position of the grid."""
        return Fraction(self.low + position, self.units)

    @property
    def candidates(self) -> int:
        """The number of candidates."""
        return self.size

    def pick(self, mechanism: Exponential, offset: int, weights: Mapping[object, int]) -> Fraction:
        """Return the quantile that the mechanism selects, aiming `offset` weight units inside the data."""
        positions = sorted(position for position in weights if isinstance(position, int))
        counts = [weights[position] for position in positions]
        return self.value(mechanism.sample(self.aim(offset).levels(positions, counts, self.size)))

    def aim(self, offset: int) -> Quantile:
        """Return the target among weights, `offset` units inside the data or where an interpolated one lies.

        The quantile q of n rows is q (n - 1) rows above the first.  A row covers ranks from those below it to
        those up to it, so the first one's middle is rank 1/2, and the target is rank q n + 1/2 - q.  What is
        added is the same for all data, in whole units of the scores, so no score moves further for it.
        """
        if offset:
            return Quantile(self.level, Fraction(offset if self.level < _HALF else -offset))
        units = self.level.denominator
        return Quantile(self.level, Fraction(round((_HALF - self.level) * self.scale * units), units))


@dataclass(frozen=True, slots=True)
class ModeChoice:
    """The most common of finitely many declared values in each group.

    A candidate's score is its weight, which only grows when a person is added; `sensitivity` bounds the sum
    over all groups of the largest change of any score.
    """

    name: str
    values: tuple[Public, ...]
    sensitivity: Sensitivity
    scale: int
    monotone: bool
    argument: Scalar

    @property
    def candidates(self) -> int:
        """The number of candidates."""
        return len(self.values)

    def pick(self, mechanism: Exponential | PermuteAndFlip, weights: Mapping[object, int]) -> Public:
        """Return the value that the mechanism selects."""
        return self.values[mechanism.sample([weights.get(value, 0) for value in self.values])]


Selection: TypeAlias = QuantileChoice | ModeChoice
Measured: TypeAlias = Measurement | QuantileChoice | ModeChoice


def families(measured: Sequence[Measured]) -> tuple[tuple[int, ...], ...]:
    """Return the positions that are paid for together: the corners of a simplex, or one measurement alone."""
    found: list[tuple[int, ...]] = []
    for position, one in enumerate(measured):
        if isinstance(one, Measurement) and one.corner:
            last = measured[position - 1] if position else None
            if not isinstance(last, Measurement) or replace(one.fixed, corner=last.corner) != last.fixed:
                raise AssertionError("a corner of a simplex follows another one of it")
            found[-1] = (*found[-1], position)
        else:
            found.append((position,))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """One GROUP BY term: its name, the scalar that computes it, and its declared values if it has them.

    Where the values number cells of a distribution, `ends` are the first and last value of a cell.
    """

    name: str
    scalar: Scalar
    values: tuple[Public, ...] | None
    day: bool = False
    ends: tuple[Formula, Formula] | None = None


@dataclass(frozen=True, slots=True)
class Declared:
    """Group keys that are public: every combination of declared values appears, empty ones too."""

    columns: tuple[KeyColumn, ...]

    @property
    def size(self) -> int:
        """The number of groups."""
        size = 1
        for column in self.columns:
            size *= len(column.values or ())
        return size

    def product(self) -> tuple[tuple[Public, ...], ...]:
        """Return every group key, sorted by column."""
        return tuple(product(*(column.values or () for column in self.columns)))


@dataclass(frozen=True, slots=True)
class Private:
    """Group keys found in the data: each is released only if enough people share it, at a cost in delta.

    `people` is the position of the measurement that counts people per key, or adds up their weights.
    """

    columns: tuple[KeyColumn, ...]
    people: int


@dataclass(frozen=True, slots=True)
class Sets:
    """Public groups by several sets of columns at once; a column that a set leaves out is NULL there."""

    columns: tuple[KeyColumn, ...]
    sets: tuple[tuple[int, ...], ...]

    @property
    def size(self) -> int:
        """The number of groups of all sets together."""
        return sum(Declared(self.of(chosen)).size for chosen in self.sets)

    def of(self, chosen: tuple[int, ...]) -> tuple[KeyColumn, ...]:
        """Return the columns of one set."""
        return tuple(self.columns[position] for position in chosen)

    def product(self) -> tuple[tuple[Public, ...], ...]:
        """Return every group key, set by set."""
        found = []
        for chosen in self.sets:
            for key in Declared(self.of(chosen)).product():
                held = dict(zip(chosen, key, strict=True))
                found.append(tuple(held.get(position) for position in range(len(self.columns))))
        return tuple(found)


@dataclass(frozen=True, slots=True)
class RunningGroups:
    """Public groups whose last column is ordered: a group holds everything up to its value.

    With `levels` the answer is not the running counts but the values at which they reach these shares of the
    whole.
    """

    columns: tuple[KeyColumn, ...]
    levels: tuple[Fraction, ...] = ()

    @property
    def size(self) -> int:
        """The number of groups."""
        return Declared(self.columns).size

    def product(self) -> tuple[tuple[Public, ...], ...]:
        """Return every group key, sorted by column."""
        return Declared(self.columns).product()


Cell: TypeAlias = int | str
"""The name of a cell; those of one question are all numbers or all texts."""


@dataclass(frozen=True, slots=True)
class AskedGroups:
    """Groups in a row that one question asks of a measurement, and how much of the price stands for them."""

    start: int
    stop: int
    weight: Fraction


@dataclass(frozen=True, slots=True)
class Classes:
    """Public groups that are unions of cells: rows fall into one cell each, and a group lists its cells.

    `asked` are, for each measurement, the groups that questions ask of it; of others it says nothing.
    """

    columns: tuple[KeyColumn, ...]
    groups: tuple[frozenset[Cell], ...]
    asked: tuple[tuple[AskedGroups, ...], ...]

    def places(self, position: int) -> tuple[int, ...]:
        """Return the groups that are asked of one measurement, in their order."""
        return tuple(sorted({n for part in self.asked[position] for n in range(part.start, part.stop)}))

    @property
    def size(self) -> int:
        """The number of groups."""
        return len(self.groups)

    def product(self) -> tuple[tuple[Public, ...], ...]:
        """Return every group key: its number."""
        return tuple((place,) for place in range(len(self.groups)))


Joint: TypeAlias = Sets | RunningGroups | Classes
"""Public groups that overlap: one row counts in several, so they are measured together."""

Keys: TypeAlias = Declared | Private | Joint


@dataclass(frozen=True, slots=True)
class Output:
    """One output column: its name and how it follows from the released measurements.

    With `end` (low or high) it is not the value but that end of its interval.
    """

    name: str
    formula: Formula
    end: str | None = None
    kind: str | None = field(default=None, compare=False)
    """What it is for people, where anything can be done with it: a number, text, a date."""


@dataclass(frozen=True, slots=True)
class Ordering:
    """One ORDER BY term over released values."""

    formula: Formula
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True)
class Rows:
    """The private rows a question aggregates: their source, filter, unit, and how each person is bounded.

    `bound` is the number of rows that one person can have by construction (None: any number).
    `rows`, `per_group` and (for counts of people) `people` are the limits that the rewrite must enforce; one
    that already holds by construction is None.
    """

    source: Source
    where: Scalar | None
    unit: Scalar | None
    adjacency: Adjacency
    bound: int | None
    rows: int | None
    per_group: int | None
    people: int | None


@dataclass(frozen=True, slots=True)
class Capping:
    """What bounds the loss by a limit of rows (see `check.capping`).

    Measurement `above` counts the people above the limit in each group.  Where nobody has more than `most`
    rows, each of them takes from measurement i a number between the two of `lost[i]`, in natural units.
    """

    above: int
    most: int
    lost: tuple[tuple[Fraction, Fraction], ...]


@dataclass(frozen=True, slots=True)
class Checked:
    """A question whose privacy is understood: what to measure, how sensitive, and what to make of it."""

    keys: Keys
    measurements: tuple[Measured, ...]
    columns: tuple[Output, ...]
    having: Formula | None
    order: tuple[Ordering, ...]
    limit: int | None
    distinct: bool
    rows: Rows
    contribution: Contribution | None
    tables: tuple[str, ...]
    notes: tuple[str, ...] = ()
    offset: int = 0
    qualify: Formula | None = None
    asks: tuple[tuple[str, Fraction], ...] = ()
    """The price that the text itself names, if any: epsilon and delta."""
    weights: tuple[Fraction, ...] = ()
    """How much the analyst minds the relative error of each column; none: all alike."""
    capping: Capping | None = None
    """Where intervals allow for the people above a limit: how many they are, and what they may lose."""
    assembly: "Assembly | None" = None
    """The questions that this one is made of, where it is about several released tables."""


def weighs_keys(checked: Checked) -> bool:
    """Return whether keys of a question are found by weights of people, not by counts of them."""
    return any(
        isinstance(measured, Measurement) and measured.sort is Sort.KEY_WEIGHTS
        for measured in checked.measurements
    )


def questions_of(checked: Checked) -> tuple[Checked, ...]:
    """Return the questions that are measured for this one: itself, unless it is made of others."""
    return (checked,) if checked.assembly is None else checked.assembly.parts
