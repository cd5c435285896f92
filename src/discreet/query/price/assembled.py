"""How far off a table made of released ones may be, as far as that is known beforehand.

Rule.  A cell that is computed from j measured ones is right whenever each of them lies in its interval, which
all of them do but for probability 1 - confidence if each is taken at (1 - confidence) / j.  So a column that
is linear in columns of known error has a known error too; any other has one that is known with the answer.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from discreet.query.check.assembly import (
    Assembly,
    Made,
    PairedTables,
    PiledTables,
    ReleasedTable,
    SelectedRows,
)
from discreet.query.check.formula import Formula, measured
from discreet.query.price.expected import Expected, Quote, coefficients, expect

ZERO = Fraction(0)


def surer(confidence: Fraction, cells: int) -> Fraction:
    """Return the confidence at which each of so many cells holds, so that all of them do at this one."""
    return 1 - (1 - confidence) / max(cells, 1)


def foreseen(assembly: Assembly, parts: Sequence[Quote], confidence: Fraction) -> tuple[Expected, ...]:
    """Return what is known beforehand of the errors of the columns of a table made of released ones."""
    sure = [replace(part, confidence=surer(confidence, assembly.cells)) for part in parts]
    found = zip(assembly.table.columns, _expected(assembly.table, sure), strict=True)
    return tuple(replace(one, name=output.name) for output, one in found)


def _expected(made: Made, parts: Sequence[Quote]) -> list[Expected]:
    match made:
        case ReleasedTable(place):
            part = parts[place]
            return [expect(part, output.name, output.formula) for output in part.checked.columns]
        case PairedTables(left, right):
            return [*_expected(left, parts), *_expected(right, parts)]
        case PiledTables(tables):
            sides = [_expected(table, parts) for table in tables]
            return [_worst([side[place] for side in sides]) for place in range(made.width)]
        case SelectedRows(source, columns):
            below = _expected(source, parts)
            return [_linear(output.name, output.formula, below) for output in columns]


def _worst(found: Sequence[Expected]) -> Expected:
    """Return what holds for a cell of any of several tables."""
    radii = [one.radius for one in found if one.radius is not None]
    return Expected(found[0].name, max(radii) if len(radii) == len(found) else None)


def _linear(name: str, formula: Formula, below: Sequence[Expected]) -> Expected:
    used = sorted(measured(formula))
    if not used:
        return Expected(name, ZERO)
    terms = coefficients(formula)
    radii = {place: below[place].radius for place in terms}
    if not terms or None in radii.values():
        # A column that is shown as it is may be a quantile, whose error is in rows.
        same = len(used) == 1 and terms == {used[0]: Fraction(1)}
        return replace(below[used[0]], name=name) if same else Expected(name)
    total = sum((abs(by) * (radii[place] or ZERO) for place, by in terms.items()), ZERO)
    counts = [below[place].count for place in terms if below[place].count is not None]
    return Expected(name, total, count=counts[0] if counts else None)
