"""Several counting questions about the same rows, planned as one.

Every question counts the rows of some cells: those for which its condition holds, group by group.  What a row
says about all conditions and group keys together is its cell, and the questions are a 0/1 matrix over cells,
measured like any other workload.  A row falls into one cell, so nothing is paid twice, and answers that
should agree do.

Which cells can occur is worked out beforehand (`discreet.query.check.conditions`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from discreet.errors import QueryError
from discreet.query.catalog.manifest import Catalog
from discreet.query.check.conditions import Truths
from discreet.query.check.contribution import claim
from discreet.query.check.formula import NoisyTerm, Public
from discreet.query.check.measurement import (
    Cell,
    Checked,
    Classes,
    Declared,
    Fixed,
    KeyColumn,
    Measurement,
    Output,
    Sort,
)
from discreet.query.plan import Call, Scalar, conjunction, given

CELLS = 1_024
"""The most kinds of rows that are planned together: the time of planning grows with their cube."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Questions asked together: the one question they make, and which of its groups each of them gets."""

    questions: tuple[Checked, ...]
    whole: Checked
    starts: tuple[tuple[int, ...], ...]
    """For each question and each of its measurements, the first of its groups."""


def combine(questions: Sequence[Checked], catalog: Catalog) -> Batch:
    """Return the one question that several make, refusing what cannot be counted together."""
    if not questions:
        raise QueryError("the batch", "is empty", "give at least one question")
    for number, checked in enumerate(questions, 1):
        _require_counts(number, checked, questions[0])
    asked = [(checked, measured) for checked in questions for measured in checked.measurements]
    conditions = list(dict.fromkeys(_condition(checked, measured) for checked, measured in asked))
    keys = list(dict.fromkeys(column for checked in questions for column in disjoint(checked).columns))
    truths = Truths.of(conditions, keys, catalog, questions[0])
    cells = {truths.code(truth): truth for truth in truths.feasible()}
    groups: list[frozenset[Cell]] = []
    starts: list[tuple[int, ...]] = []
    for checked in questions:
        own = []
        for measured in checked.measurements:
            own.append(len(groups))
            condition = conditions.index(_condition(checked, measured))
            columns = [keys.index(column) for column in disjoint(checked).columns]
            members: dict[tuple[Public, ...], set[Cell]] = {key: set() for key in disjoint(checked).product()}
            for cell, (true, values) in cells.items():
                key = tuple(values[column] for column in columns)
                if true[condition] and key in members:
                    members[key].add(cell)
            groups += [frozenset(found) for found in members.values()]
        starts.append(tuple(own))
    used = sorted(frozenset[Any]().union(*groups))
    if not used:
        raise QueryError("the batch", "asks only for rows that cannot occur", "check the conditions")
    if len(used) > CELLS:
        raise QueryError(
            "the batch",
            f"tells more than {CELLS} kinds of rows apart",
            "ask fewer questions at once, or use GROUP BY GROUPING SETS for tables",
        )
    return Batch(tuple(questions), _whole(questions, truths, used, groups), tuple(starts))


def _require_counts(number: int, checked: Checked, first: Checked) -> None:
    clause = f"question {number} of the batch"
    counts = all(
        isinstance(measured, Measurement) and measured.sort is Sort.ROWS for measured in checked.measurements
    )
    if checked.rows.per_group is not None:
        raise QueryError(
            clause,
            "has a limit of rows per group, and groups of a batch overlap",
            "ask it on its own, or ask the curator for rows_per_unit alone",
        )
    if not counts or not isinstance(checked.keys, Declared):
        raise QueryError(
            clause,
            "is not a count of rows in declared groups",
            "batch COUNT(*) and COUNT(x) with WHERE and GROUP BY, and ask for other statistics on their own",
        )
    same = ("source", "unit", "adjacency", "bound", "rows")
    if any(getattr(checked.rows, name) != getattr(first.rows, name) for name in same):
        raise QueryError(
            clause,
            "is about other rows than the first one",
            "batch questions about one table with the same limits",
        )


def disjoint(checked: Checked) -> Declared:
    """Return the groups of one question of a batch."""
    if not isinstance(checked.keys, Declared):
        raise TypeError("batches have declared groups")
    return checked.keys


def _condition(checked: Checked, measured: object) -> Scalar | None:
    """Return what a row must fulfil to be counted, besides its group."""
    if not isinstance(measured, Measurement):
        raise TypeError("batches count")
    parts = [] if checked.rows.where is None else [checked.rows.where]
    if measured.fixed.present:
        parts.append(Call("not", (Call("is_null", (given(measured.fixed.argument),)),)))
    return conjunction(tuple(parts))


def _whole(
    questions: Sequence[Checked], truths: Truths, used: Sequence[Cell], groups: Sequence[frozenset[Cell]]
) -> Checked:
    first = questions[0]
    wheres = [checked.rows.where for checked in questions]
    where = None if None in wheres else Call("or", tuple(map(given, wheres)))
    limits = replace(given(first.contribution), single=False, groups=None)
    limits = replace(limits, cell=limits.total)
    model = first.measurements[0]
    if not isinstance(model, Measurement):
        raise TypeError("batches count")
    counted = Measurement(
        "count(*)",
        Sort.ROWS,
        claim(limits, 0, model.scale),
        model.scale,
        Fraction(0),
        Fraction(1),
        Fixed(None),
    )
    return replace(
        first,
        keys=Classes((KeyColumn("cell", truths.scalar(), tuple(used)),), tuple(groups)),
        measurements=(counted,),
        columns=(Output("count", NoisyTerm(0)),),
        having=None,
        order=(),
        limit=None,
        distinct=False,
        rows=replace(first.rows, where=where),
        contribution=limits,
        notes=tuple(dict.fromkeys(note for checked in questions for note in checked.notes)),
    )
