"""Overlapping groups as tables of disjoint cells: what the engine counts, and from which all groups follow.

Grouping sets, running counts and unions of cells are 0/1 workloads over disjoint cells of the data.  The
engine counts the cells of the largest sets of columns; the other groups are sums of those.
"""

from typing import assert_never

from discreet.query.check.measurement import Classes, Declared, Joint, RunningGroups, Sets


def tables(keys: Joint) -> tuple[tuple[int, ...], ...]:
    """Return the sets of columns by which the engine counts: the largest ones, which contain the others."""
    match keys:
        case Sets(_, sets):
            larger = {size: [set(other) for other in sets if len(other) > size] for size in map(len, sets)}
            return tuple(chosen for chosen in sets if not any(map(set(chosen).issubset, larger[len(chosen)])))
        case RunningGroups(columns) | Classes(columns):
            return (tuple(range(len(columns))),)
        case _:
            assert_never(keys)


def cells(keys: Joint, chosen: tuple[int, ...]) -> Declared:
    """Return the disjoint groups of one table."""
    return Declared(tuple(keys.columns[position] for position in chosen))


def overlap(keys: Joint) -> int:
    """Return the most groups in which one row counts."""
    match keys:
        case Sets(_, sets):
            return len(sets)
        case RunningGroups(columns):
            return len(columns[-1].values or ())
        case Classes(columns, groups):
            return max(sum(cell in group for group in groups) for cell in columns[0].values or ())
        case _:
            assert_never(keys)


def output(position: int, table: int) -> str:
    """Return the name of a measurement's integers in one table."""
    return f"m{position}" if table == 0 else f"m{position}t{table}"
