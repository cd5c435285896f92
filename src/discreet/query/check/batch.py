"""Several questions about the same rows, planned as one.

Every question counts or adds up the rows of some cells: those for which its condition holds, group by
group, be the groups apart, running or those of a cube.  What a row says about all conditions and group keys
together is its cell, and the questions are a 0/1 matrix over cells, measured like any other workload.  A row
falls into one cell, so nothing is paid twice, and answers that should agree do.

Counts are one measurement of cells; so is the sum of a column, and a simplex, from which averages and
variances of it follow, is one family.  Each is planned for the questions that ask it and for no other.  The
price is split as if every question had an equal part of it and split that over what it measures; a
measurement has the parts of all questions that share it.

Which cells can occur is worked out beforehand (`discreet.query.check.conditions`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeAlias, assert_never

from discreet.errors import QueryError
from discreet.query.catalog.manifest import Catalog
from discreet.query.check.conditions import Truths
from discreet.query.check.contribution import Contribution, claim, claim_simplex
from discreet.query.check.formula import NoisyTerm, Public
from discreet.query.check.measurement import (
    AskedGroups,
    Cell,
    Checked,
    Classes,
    Declared,
    Fixed,
    KeyColumn,
    Measurement,
    Output,
    RunningGroups,
    Sets,
    Sort,
    families,
)
from discreet.query.plan import Call, Scalar, conjunction, given

ZERO, ONE = Fraction(0), Fraction(1)

CELLS = 1_024
"""The most kinds of rows that are planned together: the time of planning grows with their cube."""


Listed: TypeAlias = Declared | Sets | RunningGroups
"""The groups of one question of a batch."""


@dataclass(frozen=True, slots=True)
class Slice:
    """Where a measurement of one question lies in the whole: which measurement, and which of its groups."""

    measurement: int
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Batch:
    """Questions asked together: the one question they make, and which of its answers each of them gets."""

    questions: tuple[Checked, ...]
    whole: Checked
    slices: tuple[tuple[Slice, ...], ...]
    """For each question, where each of its measurements lies."""


def combine(questions: Sequence[Checked], catalog: Catalog) -> Batch:
    """Return the one question that several make, refusing what cannot be measured together."""
    if not questions:
        raise QueryError("the batch", "is empty", "give at least one question")
    for number, checked in enumerate(questions, 1):
        _require_linear(number, checked, questions[0])
    conditions = list(
        dict.fromkeys(_condition(one, measured) for one in questions for measured in one.measurements)
    )
    keys = list(dict.fromkeys(column for checked in questions for column in listed(checked).columns))
    truths = Truths.of(conditions, keys, catalog, questions[0])
    cells = {truths.code(truth): truth for truth in truths.feasible()}
    limits = _limits(questions[0])
    measured_whole = _measurements(questions, limits)
    groups: list[frozenset[Cell]] = []
    slices = []
    for checked in questions:
        starts: dict[Scalar | None, int] = {}
        own = []
        for measured in checked.measurements:
            condition = _condition(checked, measured)
            if condition not in starts:
                starts[condition] = len(groups)
                places = [keys.index(column) for column in listed(checked).columns]
                holding = {c: v for c, (true, v) in cells.items() if true[conditions.index(condition)]}
                groups += _members(listed(checked), places, holding)
            start = starts[condition]
            own.append(Slice(_place(measured, measured_whole), start, start + listed(checked).size))
        slices.append(tuple(own))
    used = sorted(frozenset[Any]().union(*groups))
    if not used:
        raise QueryError("the batch", "asks only for rows that cannot occur", "check the conditions")
    if len(used) > CELLS:
        raise QueryError(
            "the batch",
            f"tells more than {CELLS} kinds of rows apart",
            "ask fewer questions at once, or use GROUP BY GROUPING SETS for tables",
        )
    asked = tuple(_asked(questions, slices, own) for own in families(measured_whole) for _ in own)
    keys_of_all = Classes((KeyColumn("cell", truths.scalar(), tuple(used)),), tuple(groups), asked)
    return Batch(
        tuple(questions), _whole(questions, keys_of_all, limits, measured_whole), tuple(map(tuple, slices))
    )


def _asked(
    questions: Sequence[Checked], slices: Sequence[Sequence[Slice]], family: Sequence[int]
) -> tuple[AskedGroups, ...]:
    """Return the groups that questions ask of one family of the whole: all its corners are planned alike.

    A question that measures several things would split its part of the price over them.
    """
    asked = (
        AskedGroups(part.start, part.stop, Fraction(1, len(families(checked.measurements))))
        for checked, own in zip(questions, slices, strict=True)
        for part in own
        if part.measurement in family
    )
    return tuple(dict.fromkeys(asked))


def _members(
    groups: Listed, places: Sequence[int], holding: Mapping[Cell, tuple[Public, ...]]
) -> list[frozenset[Cell]]:
    """Return the cells of each group: those that agree with its key, or do not come after it."""
    members: dict[tuple[Public, ...], set[Cell]] = {key: set() for key in groups.product()}
    for cell, values in holding.items():
        own = tuple(values[place] for place in places)
        # Who has no declared value in one column is in no group, as it would be without the others.
        if None not in own:
            for key in _keys_of(groups, own):
                members[key].add(cell)
    return [frozenset(found) for found in members.values()]


def _keys_of(groups: Listed, own: tuple[Public, ...]) -> list[tuple[Public, ...]]:
    """Return the keys of the groups in which a row with these values counts."""
    match groups:
        case Declared():
            return [own]
        case Sets(_, sets):
            return [
                tuple(value if place in chosen else None for place, value in enumerate(own))
                for chosen in sets
            ]
        case RunningGroups(columns):
            values = columns[-1].values or ()
            return [(*own[:-1], value) for value in values[values.index(own[-1]) :]]
        case _:
            assert_never(groups)


def _require_linear(number: int, checked: Checked, first: Checked) -> None:
    clause = f"question {number} of the batch"
    if checked.assembly is not None:
        raise QueryError(clause, "is made of several released tables", "ask it on its own")
    linear = all(
        isinstance(measured, Measurement) and measured.sort in (Sort.ROWS, Sort.SUM)
        for measured in checked.measurements
    )
    if checked.rows.per_group is not None:
        raise QueryError(
            clause,
            "has a limit of rows per group, and groups of a batch overlap",
            "ask it on its own, or ask the curator for rows_per_unit alone",
        )
    levels = isinstance(checked.keys, RunningGroups) and checked.keys.levels
    if not linear or levels or not isinstance(checked.keys, Declared | Sets | RunningGroups):
        raise QueryError(
            clause,
            "does not add up over rows in declared groups",
            "batch COUNT, SUM, AVG, VARIANCE, HISTOGRAM, CDF and CUBE with WHERE and GROUP BY, and ask for "
            "other statistics on their own",
        )
    same = ("source", "unit", "adjacency", "bound", "rows")
    if any(getattr(checked.rows, name) != getattr(first.rows, name) for name in same):
        raise QueryError(
            clause,
            "is about other rows than the first one",
            "batch questions about one table with the same limits",
        )


def listed(checked: Checked) -> Listed:
    """Return the groups of one question of a batch."""
    if not isinstance(checked.keys, Declared | Sets | RunningGroups):
        raise TypeError("batches have declared groups")
    return checked.keys


def _counts(measured: Measurement) -> bool:
    """Whether a measurement counts rows; which of them is its condition."""
    return measured.fixed.argument is None or measured.fixed.present


def _measurements(questions: Sequence[Checked], limits: Contribution) -> tuple[Measurement, ...]:
    """Return what the whole measures: rows once, and every sum or simplex that a question needs, once.

    A simplex that also has a corner for rows without a value serves those who need it without that corner.
    """
    found: list[tuple[Measurement, ...]] = []
    for checked in questions:
        for places in families(checked.measurements):
            family = tuple(m for p in places if isinstance(m := checked.measurements[p], Measurement))
            if _counts(family[0]):
                scale = family[0].scale
                moves = claim(limits, 0, scale)
                family = (Measurement("count(*)", Sort.ROWS, moves, scale, ZERO, ONE, Fixed(None)),)
            elif family[0].fixed.degree:
                moves = claim_simplex(limits, family[0].fixed.top * family[0].weight, len(family))
                family = tuple(replace(corner, sensitivity=moves) for corner in family)
            else:
                least, most = (end * family[0].weight for end in family[0].fixed.ends)
                family = (replace(family[0], sensitivity=claim(limits, least, most)),)
            if not any(_within(family, other) for other in found):
                found = [*(other for other in found if not _within(other, family)), family]
    return tuple(measurement for family in found for measurement in family)


def _within(one: Sequence[Measurement], other: Sequence[Measurement]) -> bool:
    return [m.fixed for m in one] == [m.fixed for m in other[: len(one)]]


def _place(measured: object, whole: Sequence[Measurement]) -> int:
    """Return the place of a question's measurement among those of the whole."""
    if not isinstance(measured, Measurement):
        raise TypeError("batches add up")
    fixed = Fixed(None) if _counts(measured) else measured.fixed
    return next(place for place, other in enumerate(whole) if other.fixed == fixed)


def _limits(first: Checked) -> Contribution:
    limits: Contribution = given(first.contribution)
    return replace(limits, single=False, groups=None, cell=limits.total)


def _condition(checked: Checked, measured: object) -> Scalar | None:
    """Return what a row must fulfil to be counted or added, besides its group."""
    if not isinstance(measured, Measurement):
        raise TypeError("batches add up")
    parts = [] if checked.rows.where is None else [checked.rows.where]
    if measured.fixed.present:
        parts.append(Call("not", (Call("is_null", (given(measured.fixed.argument),)),)))
    return conjunction(tuple(parts))


def _whole(
    questions: Sequence[Checked], keys: Classes, limits: Contribution, measurements: tuple[Measurement, ...]
) -> Checked:
    first = questions[0]
    wheres = [checked.rows.where for checked in questions]
    where = None if None in wheres else Call("or", tuple(map(given, wheres)))
    return replace(
        first,
        keys=keys,
        measurements=measurements,
        columns=tuple(Output(m.name, NoisyTerm(place)) for place, m in enumerate(measurements)),
        having=None,
        order=(),
        limit=None,
        distinct=False,
        rows=replace(first.rows, where=where),
        contribution=limits,
        weights=tuple(sum((part.weight for part in asked), ZERO) for asked in keys.asked),
        notes=tuple(dict.fromkeys(note for checked in questions for note in checked.notes)),
    )
