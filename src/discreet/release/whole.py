"""Counts that follow from a simplex, shown as the whole numbers that they are counts of.

The number of rows beside an average is the sum of noisy corners over the width, a fraction.

Rule.  Where a row weighs one unit, the count that is measured is a whole number.  The true one lies in an
interval exactly if it is among the whole numbers inside, so the interval may end at the first and last of
these; where there is none, what lies nearest to the middle is as good as anything.  Of the whole numbers in
an interval around a value, the one nearest to the value is inside if any is.

Where people declare one row each but are weighed, because a row moves the corners by many steps, the count is
whole as far as the declaration is true, and somebody with two rows of which a group has one counts for half.
There the value is shown as the nearest whole number, and the interval stays what it is, or is widened to hold
it, so that it covers what was measured in any case.

Rounding moves a value by half at most and costs nothing; averages, and whatever else is computed from a
count, use the value as it was drawn.  HAVING compares what is shown.  Groups that overlap are left as they
are, because they would no longer add up.
"""

from dataclasses import replace

from discreet.query.check.formula import Combination, Formula, Operation
from discreet.query.check.measurement import Checked, Declared, Measurement, Private


def with_whole_counts(checked: Checked) -> Checked:
    """Return a question that shows counts from a simplex as whole numbers, where they count whole rows."""
    if not isinstance(checked.keys, Declared | Private):
        return checked
    columns = tuple(
        replace(one, formula=_shown(checked, one.formula)) if isinstance(one.formula, Combination) else one
        for one in checked.columns
    )
    having = None if checked.having is None else _throughout(checked, checked.having)
    if having is checked.having and all(map(lambda a, b: a is b, columns, checked.columns)):
        return checked
    return replace(checked, columns=columns, having=having)


def _throughout(checked: Checked, formula: Formula) -> Formula:
    match formula:
        case Operation(name, arguments):
            return Operation(name, tuple(_throughout(checked, argument) for argument in arguments))
        case Combination():
            return _shown(checked, formula)
        case _:
            return formula


def _shown(checked: Checked, formula: Combination) -> Formula:
    measured = [checked.measurements[position] for position, _ in formula.terms]
    rows = [one for one in measured if isinstance(one, Measurement) and one.fixed.degree]
    if not formula.counts or len(rows) < len(measured):
        return formula
    if all(one.weight == 1 for one in rows):
        return Operation("whole_number", (formula,))
    return Operation("nearly_whole", (formula,)) if checked.rows.rows == 1 else formula
