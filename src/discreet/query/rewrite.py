"""Bounding what each person contributes, as engine statements.

Four small rules, one per family of measurements; each ends in integers per group, and each has the shape
that `discreet.query.claim` proves a sensitivity for.

*Weights* (counts of rows, sums, candidate cells).  A person with n rows, m of which are allowed, counts with
weight min(W, floor(W m / n)) per row.  Then the weights of a person sum to at most W m, because
n * floor(W m / n) <= W m.  Nobody is dropped and nothing is random; a person above the limit counts as m
rows with that person's averages.

*Cells* (limits per group).  Rows are first summed per person and group; of a person's groups at most g are
kept, the first in the order of a hash keyed freshly for each question; a cell of n rows counts with weight
floor(W min(n, c) m / (n t)), where t = max(m, sum of min(n, c) over the person's kept cells), so a cell
weighs at most W c and a person at most W m.

*People*.  With declared keys a person in n > g groups counts with weight floor(W g / n) in each of them, so
at most W g in all; nothing is random, and no sampling error is missing from the error bars.  With private
keys, where the number of groups itself must be bounded, a person keeps at most g of them, the first in the
keyed order.

*Distinct values*.  Each person keeps at most m pairs of group and value, again the first in the keyed
order; a pair adds at most one value to its group.

Rows whose person or group key is NULL are dropped.  Duplicated rows are rows.  The weight, order and choice
for one person are functions of that person's rows and the key alone, so no other person's contribution
depends on whether this one is present.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from discreet.query.fixed import quantise
from discreet.query.kind import Real, Whole
from discreet.query.measure import (
    WEIGHT,
    Checked,
    Declared,
    Fixed,
    KeyColumn,
    Measurement,
    ModeChoice,
    Private,
    QuantileChoice,
    Selection,
    Sort,
)
from discreet.query.plan import Among, Call, Case, Column, Literal, Scalar, conjunction, given
from discreet.query.statement import ROWS, Inner, Joined, Listed, Named, Query, Source, Statement, Union

MASK = 60
"""With at most so many declared groups, those of a person fit into the bits of a 64-bit integer."""

CELLS, OVER, KEPT, PEOPLE = "cells", "over", "kept", "people"


def statements(checked: Checked) -> tuple[Statement, ...]:
    """Return the engine statements whose integers are the question's exact measurements."""
    found: list[Statement] = []
    weighed = [
        (position, m)
        for position, m in enumerate(checked.measurements)
        if isinstance(m, Measurement) and m.sort in (Sort.ROWS, Sort.SUM)
    ]
    if weighed:
        found.append(_weighed(checked, weighed))
    people = [
        f"m{position}"
        for position, m in enumerate(checked.measurements)
        if isinstance(m, Measurement) and m.sort is Sort.PEOPLE
    ]
    if people:
        found.append(_people(checked, tuple(people)))
    for position, measurement in enumerate(checked.measurements):
        match measurement:
            case Measurement(sort=Sort.DISTINCT):
                found.append(_distinct(checked, position, measurement))
            case QuantileChoice() | ModeChoice():
                found.append(_selection(checked, position, measurement))
            case Measurement():
                pass
    return tuple(found)


def canonical(checked: Checked) -> str:
    """Return the question as text that does not depend on how it was written."""
    from discreet.query.render import render

    lines = [render(statement) for statement in statements(checked)]
    lines += [f"{output.name} = {output.formula!r}" for output in checked.columns]
    lines += [f"{m.name}: {m!r}" for m in checked.measurements if not isinstance(m, Measurement)]
    lines.append(f"keys {[(column.name, column.values) for column in checked.keys.columns]!r}")
    lines += [f"having {checked.having!r}", f"order {checked.order!r}"]
    lines += [f"limit {checked.limit!r}", f"distinct {checked.distinct!r}"]
    return "\n".join(lines)


def cell(fixed: Fixed) -> Scalar:
    """Return the position of a row on its grid: its clamped integer, counted from the low end."""
    integer = quantise(
        given(fixed.argument), Whole() if fixed.whole else Real(), fixed.scale, fixed.low, fixed.high
    )
    return Call("subtract", (integer, Literal(fixed.low))) if fixed.low else integer


@dataclass(frozen=True, slots=True)
class _Slot:
    """A measurement's integer as an engine expression over the rows, before weighting."""

    raw: Scalar | None
    fixed: Fixed

    def integer(self, column: Scalar) -> Scalar:
        """Return the integer that one row adds; NULL adds nothing."""
        fixed = self.fixed
        centred = Call("subtract", (column, Literal(fixed.centre))) if fixed.centre else column
        if not fixed.square:
            return centred
        squared: Scalar = Call("multiply", (centred, centred))
        return Call("subtract", (squared, Literal(fixed.offset))) if fixed.offset else squared

    @property
    def reach(self) -> int:
        return max(abs(end) for end in self.fixed.ends)


def _slot(fixed: Fixed) -> _Slot:
    if fixed.argument is None:
        return _Slot(None, fixed)
    if fixed.present:
        return _Slot(fixed.argument, fixed)
    kind = Whole() if fixed.whole else Real()
    integer = quantise(fixed.argument, kind, fixed.scale, fixed.low, fixed.high)
    # Sums of 32-bit integers are faster; products of them would overflow.
    if not fixed.square and max(abs(fixed.low), abs(fixed.high)) < 2**31:
        integer = Call("narrow", (integer,))
    return _Slot(integer, fixed)


def _keys(columns: Sequence[KeyColumn]) -> tuple[str, ...]:
    return tuple(f"k{position}" for position in range(len(columns)))


def _of(alias: str, names: Sequence[str]) -> tuple[Scalar, ...]:
    return tuple(Column(alias, name) for name in names)


def _person_rows(
    checked: Checked, raws: Sequence[tuple[str, Scalar]], *, unit: bool, admit: bool = True
) -> Query:
    """Return the question's rows with their person, group keys and integers, everything else dropped.

    With `admit` off, undeclared values of a key are left for the caller to drop after grouping.
    """
    rows = checked.rows
    items: list[tuple[str, Scalar]] = []
    if unit and rows.unit is not None:
        items.append(("u", rows.unit))
    items += [
        (name, column.scalar)
        for name, column in zip(_keys(checked.keys.columns), checked.keys.columns, strict=True)
    ]
    conditions = [] if rows.where is None else [rows.where]
    if rows.unit is not None:
        conditions.append(_present(rows.unit))
    conditions += [
        part
        for column in checked.keys.columns
        for part in _admitted(column, column.scalar, checked)
        if admit or not isinstance(part, Among)
    ]
    found = (*items, *raws) or (("one", Literal(1)),)
    return Query(found, rows.source, conjunction(tuple(conditions)))


def _present(scalar: Scalar) -> Scalar:
    return Call("not", (Call("is_null", (scalar,)),))


def _admitted(column: KeyColumn, scalar: Scalar, checked: Checked) -> list[Scalar]:
    values = column.values if isinstance(checked.keys, Declared) else None
    if values is None:
        ends: tuple[Scalar, Scalar] = (Literal(date.min), Literal(date.max))
        if column.day:
            return [Call("ge", (scalar, ends[0])), Call("le", (scalar, ends[1]))]
        return [_present(scalar)]
    first, last = values[0], values[-1]
    if (
        isinstance(first, int)
        and isinstance(last, int)
        and not isinstance(first, bool)
        and last - first + 1 == len(values)
    ):
        return [Call("ge", (scalar, Literal(first))), Call("le", (scalar, Literal(last)))]
    if isinstance(first, bool):
        return [_present(scalar)]
    return [Among(scalar, tuple(Literal(value) for value in values))]


def _weighed(checked: Checked, weighed: Sequence[tuple[int, Measurement]]) -> Statement:
    slots = [_slot(measurement.fixed) for _, measurement in weighed]
    raws: dict[Scalar, str] = {}
    for slot in slots:
        if slot.raw is not None:
            raws.setdefault(slot.raw, f"a{len(raws)}")
    named = [(name, raw) for raw, name in raws.items()]
    columns = [None if slot.raw is None else raws[slot.raw] for slot in slots]
    outputs = tuple(f"m{position}" for position, _ in weighed)
    if checked.rows.per_group is not None:
        return _cellwise(checked, slots, columns, named, outputs)
    keys = _keys(checked.keys.columns)
    if checked.rows.rows is None:
        source: Source = Inner(_person_rows(checked, named, unit=False, admit=False), "r")
        sums = [_plain(slot, column) for slot, column in zip(slots, columns, strict=True)]
        items = (*zip(keys, _of("r", keys), strict=True), *zip(outputs, sums, strict=True))
        return Statement((), Query(items, source, None, _of("r", keys), _shown(checked)), len(keys), outputs)
    parts, source, weight = _weights(checked, named)
    sums = [_weighted(slot, column, weight) for slot, column in zip(slots, columns, strict=True)]
    items = (*zip(keys, _of("r", keys), strict=True), *zip(outputs, sums, strict=True))
    return Statement(parts, Query(items, source, None, _of("r", keys), _shown(checked)), len(keys), outputs)


def _listed(checked: Checked, wrap: str | None) -> Scalar | None:
    """Return the condition that keys are among their declared values, on the columns of the rows."""
    parts: list[Scalar] = []
    for name, column in zip(_keys(checked.keys.columns), checked.keys.columns, strict=True):
        own: Scalar = Column("r", name)
        tested = own if wrap is None else Call(wrap, (own,))
        parts += [part for part in _admitted(column, tested, checked) if isinstance(part, Among)]
    return conjunction(tuple(parts))


def _shown(checked: Checked) -> Scalar | None:
    """Return the condition on a group to be shown.

    Comparing each group's key is much cheaper than comparing each row's, as the engine would if it could see
    that the condition is about the key alone.
    """
    return _listed(checked, "grouped")


def _plain(slot: _Slot, column: str | None) -> Scalar:
    if column is None:
        return Call("count_rows", ())
    if slot.fixed.present:
        return Call("count_values", (Column("r", column),))
    return Call("sum", (slot.integer(Column("r", column)),))


def _weights(
    checked: Checked, named: Sequence[tuple[str, Scalar]]
) -> tuple[tuple[tuple[str, Query], ...], Source, Scalar]:
    """Return the rows joined with their people's weights, and a row's weight."""
    limit = given(checked.contribution).total
    one = weight_of(checked)
    rows = _person_rows(checked, named, unit=True, admit=False)
    per_row = Call("least", (Literal(one), Call("quotient", (Literal(one * limit), Call("count_rows", ())))))
    people = Query(
        (("u", Column("r", "u")), ("w", Call("narrow", (per_row,)))),
        Named(ROWS, "r"),
        _listed(checked, None),
        (Column("r", "u"),),
    )
    source = Joined(Named(ROWS, "r"), Named(PEOPLE, "p"), Call("eq", (Column("r", "u"), Column("p", "u"))))
    return ((ROWS, rows), (PEOPLE, people)), source, Column("p", "w")


def weight_of(checked: Checked) -> int:
    """Return the integer units that stand for one whole row in this question."""
    return 1 if checked.rows.rows is None and checked.rows.per_group is None else WEIGHT


def _weighted(slot: _Slot, column: str | None, weight: Scalar) -> Scalar:
    if column is None:
        return Call("sum", (weight,))
    value = Column("r", column)
    if slot.fixed.present:
        return Call("sum", (Case(((_present(value), weight),), Literal(None)),))
    return Call("sum", (_times(slot.integer(value), weight, slot.reach),))


def _times(integer: Scalar, weight: Scalar, reach: int) -> Scalar:
    # Products that could leave 64 bits are taken in 128; sums of either kind are 128 bits wide.
    return Call("multiply_long" if reach < 2**44 else "multiply_wide", (integer, weight))


def _cellwise(
    checked: Checked,
    slots: Sequence[_Slot],
    columns: Sequence[str | None],
    named: Sequence[tuple[str, Scalar]],
    outputs: tuple[str, ...],
) -> Statement:
    rows, keys = checked.rows, _keys(checked.keys.columns)
    per_group = given(rows.per_group)
    one = weight_of(checked)
    sums = [
        (f"s{position}", _plain(slot, column))
        for position, (slot, column) in enumerate(zip(slots, columns, strict=True))
    ]
    items = (
        ("u", Column("r", "u")),
        *zip(keys, _of("r", keys), strict=True),
        ("n", Call("count_rows", ())),
        *sums,
    )
    by_person = (Column("r", "u"), *_of("r", keys))
    parts: list[tuple[str, Query]] = [
        (ROWS, _person_rows(checked, named, unit=True)),
        (CELLS, Query(items, Named(ROWS, "r"), None, by_person)),
    ]
    names = ["u", *keys, "n", *(name for name, _ in sums)]
    held = CELLS
    if rows.groups is not None and keys:
        parts += _kept(names, keys, rows.groups)
        held = KEPT
    counted = Call("least", (Column("c", "n"), Literal(per_group)))
    share: Scalar = Call("quotient", (Call("multiply", (Literal(one), counted)), Column("c", "n")))
    source: Source = Named(held, "c")
    if rows.rows is not None:
        total = Call("sum", (counted,))
        over = Query(
            (("u", Column("c", "u")), ("t", total)),
            Named(held, "c"),
            None,
            (Column("c", "u"),),
            Call("gt", (total, Literal(rows.rows))),
        )
        parts.append((OVER, over))
        source = Joined(
            source, Named(OVER, "p"), Call("eq", (Column("c", "u"), Column("p", "u"))), outer=True
        )
        scaled = Call("multiply_wide", (Call("multiply", (Literal(one * rows.rows), counted)), Literal(1)))
        reduced = Call("quotient", (scaled, Call("multiply_wide", (Column("c", "n"), Column("p", "t")))))
        share = Case(((Call("is_null", (Column("p", "t"),)), share),), reduced)
    totals = [
        (output, Call("sum", (Call("multiply_wide", (Column("c", name), share)),)))
        for output, (name, _) in zip(outputs, sums, strict=True)
    ]
    body = Query((*zip(keys, _of("c", keys), strict=True), *totals), source, None, _of("c", keys))
    return Statement(tuple(parts), body, len(keys), outputs)


def _kept(
    names: Sequence[str], order: Sequence[str], limit: int, over: str = "over_groups"
) -> list[tuple[str, Query]]:
    """Return the cells of everyone, cut for people above the limit to the first cells in the keyed order."""
    heavy = Query(
        (("u", Column("c", "u")),),
        Named(CELLS, "c"),
        None,
        (Column("c", "u"),),
        Call("gt", (Call("count_rows", ()), Literal(limit))),
    )
    same = Call("eq", (Column("c", "u"), Column("o", "u")))
    pick = tuple((name, Column("c", name)) for name in names)
    light = Query(
        pick,
        Joined(Named(CELLS, "c"), Named(over, "o"), same, outer=True),
        Call("is_null", (Column("o", "u"),)),
    )
    hashed = Call("hash", (Call("choice", ()), Column("c", "u"), *_of("c", order)))
    ranked = Query(
        (*pick, ("j", Call("rank", (Column("c", "u"), hashed, *_of("c", order))))),
        Joined(Named(CELLS, "c"), Named(over, "o"), same),
    )
    chosen = Query(
        tuple((name, Column("j", name)) for name in names),
        Inner(ranked, "j"),
        Call("le", (Column("j", "j"), Literal(limit))),
    )
    union = Query(tuple((name, Column("b", name)) for name in names), Union((light, chosen), "b"))
    return [(over, heavy), (KEPT, union)]


def _people(checked: Checked, outputs: tuple[str, ...]) -> Statement:
    keys = _keys(checked.keys.columns)
    if isinstance(checked.keys, Declared) and keys and checked.keys.size <= MASK:
        return _people_by_mask(checked, checked.keys, outputs)
    grouped = (Column("r", "u"), *_of("r", keys))
    once = (("u", Column("r", "u")), *zip(keys, _of("r", keys), strict=True))
    cells = Query(once, Inner(_person_rows(checked, (), unit=True), "r"), None, grouped)
    parts: list[tuple[str, Query]] = [(CELLS, cells)]
    source: Source = Named(CELLS, "c")
    total: Scalar = Call("count_rows", ())
    limit = checked.rows.people
    if limit is not None and isinstance(checked.keys, Declared):
        share = Call("quotient", (Literal(WEIGHT * limit), Call("count_rows", ())))
        weight = Call("narrow", (Call("least", (Literal(WEIGHT), share)),))
        people = Query((("u", Column("c", "u")), ("w", weight)), source, None, (Column("c", "u"),))
        parts.append((PEOPLE, people))
        source = Joined(source, Named(PEOPLE, "p"), Call("eq", (Column("c", "u"), Column("p", "u"))))
        total = Call("sum", (Column("p", "w"),))
    elif limit is not None:
        parts += _kept(("u", *keys), keys, limit)
        source = Named(KEPT, "c")
    counts = tuple((output, total) for output in outputs)
    body = Query((*zip(keys, _of("c", keys), strict=True), *counts), source, None, _of("c", keys))
    return Statement(tuple(parts), body, len(keys), outputs)


def _people_by_mask(checked: Checked, declared: Declared, outputs: tuple[str, ...]) -> Statement:
    """Collect each person's groups as bits of one integer, which is much faster than one row per group."""
    keys, groups = _keys(declared.columns), declared.product()
    listed = Listed((*keys, "bit"), tuple((*key, 2**place) for place, key in enumerate(groups)), "b")
    same = conjunction(tuple(Call("eq", (Column("r", name), Column("b", name))) for name in keys))
    masks = Query(
        (("u", Column("r", "u")), ("b", Call("bits_or", (Column("b", "bit"),)))),
        Joined(Named(ROWS, "r"), listed, given(same)),
        None,
        (Column("r", "u"),),
    )
    rows = _person_rows(checked, (), unit=True, admit=False)
    limit, whole = checked.rows.people, WEIGHT
    weight: Scalar = Literal(1)
    if limit is not None:
        share = Call("quotient", (Literal(whole * limit), Call("bits_set", (Column("p", "b"),))))
        weight = Call("narrow", (Call("least", (Literal(whole), share)),))
    weighed = Inner(Query((("b", Column("p", "b")), ("w", weight)), Named(PEOPLE, "p")), "p")
    counts = [
        Call(
            "sum", (Call("multiply", (Column("p", "w"), Call("bit_at", (Column("p", "b"), Literal(place))))),)
        )
        for place in range(len(groups))
    ]
    shown = [
        (name, Call("series", tuple(Literal(key[position]) for key in groups)))
        for position, name in enumerate(keys)
    ]
    items = (*shown, *((output, Call("series", tuple(counts))) for output in outputs))
    return Statement(((ROWS, rows), (PEOPLE, masks)), Query(items, weighed), len(keys), outputs)


def _distinct(checked: Checked, position: int, measurement: Measurement) -> Statement:
    keys, output = _keys(checked.keys.columns), f"m{position}"
    limited = checked.rows.rows is not None
    rows = _person_rows(checked, (("x", given(measurement.fixed.argument)),), unit=limited)
    if not limited:
        items = (
            *zip(keys, _of("r", keys), strict=True),
            (output, Call("count_distinct", (Column("r", "x"),))),
        )
        return Statement((), Query(items, Inner(rows, "r"), None, _of("r", keys)), len(keys), (output,))
    names = ("u", *keys, "x")
    cells = Query(
        tuple((name, Column("r", name)) for name in names),
        Inner(rows, "r"),
        _present(Column("r", "x")),
        _of("r", names),
    )
    parts = [(CELLS, cells), *_kept(names, (*keys, "x"), given(checked.rows.rows))]
    items = (*zip(keys, _of("c", keys), strict=True), (output, Call("count_distinct", (Column("c", "x"),))))
    return Statement(tuple(parts), Query(items, Named(KEPT, "c"), None, _of("c", keys)), len(keys), (output,))


def _selection(checked: Checked, position: int, selection: Selection) -> Statement:
    keys, output = _keys(checked.keys.columns), f"m{position}"
    named = (("x", selection.argument),)
    columns = (*keys, "x")
    seen = _present(Column("r", "x"))
    if isinstance(selection, ModeChoice):
        seen = Among(Column("r", "x"), tuple(Literal(value) for value in selection.values))
    if weight_of(checked) == 1:
        parts: tuple[tuple[str, Query], ...] = ()
        source: Source = Inner(_person_rows(checked, named, unit=False, admit=False), "r")
        total: Scalar = Call("count_rows", ())
    else:
        parts, source, weight = _weights(checked, named)
        total = Call("sum", (weight,))
    items = (*zip(columns, _of("r", columns), strict=True), (output, total))
    body = Query(items, source, seen, _of("r", columns), _shown(checked))
    return Statement(parts, body, len(columns), (output,), cells=True)


def needs_choice(checked: Checked) -> bool:
    """Whether the statements use the keyed random choice of groups."""
    return any(
        isinstance(part, Call) and part.function == "rank"
        for statement in statements(checked)
        for _, query in statement.parts
        for part in _scalars(query)
    )


def _scalars(query: Query) -> list[Scalar]:
    found = [scalar for _, scalar in query.items]
    match query.source:
        case Inner(inner, _):
            found += _scalars(inner)
        case Union(queries, _):
            found += [scalar for inner in queries for scalar in _scalars(inner)]
        case _:
            pass
    return found


def private(checked: Checked) -> bool:
    """Whether group keys must be found in the data, at a cost in delta."""
    return isinstance(checked.keys, Private)
