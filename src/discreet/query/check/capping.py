"""What a limit on a person's rows takes away, and the count of people that bounds it.

Setting.  A question lets a person count with at most L rows in all; whoever has n > L rows there is *above*.
Nobody else loses anything.  What is lost is the integer over all rows less the integer that is measured.

Theorem.  Let nobody have more than M rows, and c people above have rows in a group.  Then in that group

    rows and sums      lose at most c (M - L + M / W) rows, each of an integer in [low, high];
    distinct values    lose at most c (M - L) values;
    people             lose at most c.

Proof.  A row of somebody with n rows counts with weight min(W, floor(W L / n)) / W, which is 1 for n <= L
and more than L / n - 1 / W otherwise; so the n rows lose less than n - L + n / W together, at most that much
of it in one group, and n <= M.  Where rows count whole, one of n is kept, for L = 1.  Of pairs of group and
value a person has at most n and keeps min(n, L) of them or more.  A person counts in a group with a weight
between 0 and 1, and with 1 in all of them unless there are more than L, which takes more than L rows.

The count c is measured in each group: everybody above adds one to every group that holds rows of theirs, so
with G declared groups it moves by at most G in l1 and 1 in one group, whatever M is.  M is an assumption of
the analyst: where somebody has more rows, privacy is as promised and the intervals may be too narrow.
"""

from dataclasses import replace
from fractions import Fraction

from discreet.errors import QueryError
from discreet.query.check.contribution import Contribution, claim
from discreet.query.check.formula import NoisyTerm
from discreet.query.check.limits import Bounding
from discreet.query.check.measurement import (
    WEIGHT,
    Capping,
    Checked,
    Declared,
    Fixed,
    Measured,
    Measurement,
    Output,
    Sort,
)
from discreet.query.name import folded
from discreet.query.plan import given

ABOVE = "people_over_limit"
CLAUSE = "rows_at_most"


def capped(checked: Checked, bounding: Bounding, most: int) -> Checked:
    """Return a question that also counts the people above its limit, to allow for what they lose."""
    limit = _limit(checked, bounding, most)
    size = given(bounding.size)
    moves = claim(Contribution(bounding.scope.adjacency, size, 1, size, bounding.single), 0, 1)
    fixed = Fixed(bounding.scope.unit, present=True)
    above = Measurement("people above the limit", Sort.ABOVE, moves, 1, Fraction(0), Fraction(1), fixed)
    lost = tuple(_lost(one, limit, most, enforced=checked.rows.people) for one in checked.measurements)
    place = len(lost)
    shown = Output(_free(ABOVE, checked), NoisyTerm(place))
    return replace(
        checked,
        measurements=(*checked.measurements, above),
        columns=(*checked.columns, shown),
        capping=Capping(place, most, (*lost, (Fraction(0), Fraction(0)))),
    )


def _limit(checked: Checked, bounding: Bounding, most: int) -> int:
    """Return the limit that people may be above, or refuse."""
    scope = bounding.scope
    if not isinstance(checked.keys, Declared):
        raise QueryError(
            CLAUSE,
            "people above the limit are counted in declared groups that do not overlap",
            "declare the values of the keys, or ask without CUBE, ROLLUP, CDF and QUANTILES",
        )
    if checked.rows.rows is None or scope.unit is None:
        raise QueryError(
            CLAUSE,
            "people are within their limit by construction, so nobody can be seen to be above it",
            "leave it out",
        )
    people = checked.rows.people
    if bounding.cellwise or (people is not None and people < checked.rows.rows):
        raise QueryError(
            CLAUSE,
            "people can be above a limit of groups, or of rows in a group, without having many rows",
            "ask under rows_per_unit alone",
        )
    if type(most) is not int or most <= checked.rows.rows:
        raise QueryError(
            CLAUSE,
            f"must be a whole number above the limit of rows that count, which is {checked.rows.rows}",
            f"say that nobody has more than, perhaps, {2 * checked.rows.rows} rows",
        )
    return checked.rows.rows


def _lost(one: Measured, limit: int, most: int, *, enforced: int | None) -> tuple[Fraction, Fraction]:
    """Return between what one person above the limit takes away from a group's integer, in natural units."""
    if not isinstance(one, Measurement):
        # A choice has no interval that could be widened.
        return Fraction(0), Fraction(0)
    if one.sort is Sort.PEOPLE:
        return Fraction(0), Fraction(0 if enforced is None else 1)
    weighed = one.sort in (Sort.ROWS, Sort.SUM) and one.weight == WEIGHT
    rows = most - limit + (Fraction(most, WEIGHT) if weighed else 0)
    return one.low * rows, one.high * rows


def _free(name: str, checked: Checked) -> str:
    taken = {folded(output.name) for output in checked.columns}
    while folded(name) in taken:
        name += "_"
    return name
