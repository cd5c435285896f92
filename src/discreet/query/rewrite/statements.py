"""The statements of a checked question: one family for each table of disjoint groups.

Rows without a declared value in every column of a grouping set are left out of all sets: only so do the
totals of one set agree with another's.
"""

from dataclasses import replace

from discreet.query.check.measurement import Checked, Declared, Joint, Private
from discreet.query.check.tables import cells, output, tables
from discreet.query.plan import conjunction
from discreet.query.rewrite import integers
from discreet.query.rewrite.person_rows import admitted
from discreet.query.statement import Statement


def statements(checked: Checked) -> tuple[Statement, ...]:
    """Return the engine statements of a question, one or more for each table where groups overlap."""
    if checked.assembly is not None:
        raise AssertionError("each of several questions has statements of its own")
    if isinstance(checked.keys, Declared | Private):
        return integers.statements(checked)
    return tuple(
        replace(
            statement,
            outputs=tuple(output(int(name.removeprefix("m")), place) for name in statement.outputs),
        )
        for place, chosen in enumerate(tables(checked.keys))
        for statement in integers.statements(_table(checked, checked.keys, chosen))
    )


def _table(checked: Checked, keys: Joint, chosen: tuple[int, ...]) -> Checked:
    """Return the question with the disjoint groups of one table."""
    left_out = [column for place, column in enumerate(keys.columns) if place not in chosen]
    conditions = [] if checked.rows.where is None else [checked.rows.where]
    conditions += [part for column in left_out for part in admitted(column, column.scalar, checked)]
    rows = replace(checked.rows, where=conjunction(tuple(conditions)))
    return replace(checked, keys=cells(keys, chosen), rows=rows)
