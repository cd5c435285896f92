"""A checked question as engine statements that return integers per group.

Four small rules, one per family of measurements; each has the shape that `check.contribution` proves a
sensitivity for, by means of the weights and choices of `rewrite.weights`.

*Rows and sums* add up integers, each times the weight of its row; *candidates* of a selection add up the
weights of the rows that hold them.  Rows that are counted without groups are counted for each person and
weighed then: n rows of weight w count for n w.  Where people are declared to have one row, counts take one
row of each as it is, chosen by the key: a person adds one row's integers to one group, so l1 <= B, without
any weight.

*People*.  With declared keys a person in n > g groups counts with weight floor(W g / n) in each of them, so
at most W g in all; nothing is random, and no sampling error is missing from the error bars.  With private
keys, where the number of groups itself must be bounded, a person keeps at most g of them, chosen by the key.

*Distinct values*.  Each person keeps at most m pairs of group and value, again chosen by the key; a pair adds
at most one value to its group, which counts for one, or for what it is.

*Weights of keys*.  A person in m <= g groups, chosen as above, adds floor(W / sqrt(m)) to each of them; these
whole numbers are written out by cases of m, so no engine takes a root.

*People above the limit* have more rows than count; each adds one to every group that holds any of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from math import comb

from discreet.mechanisms.key_weight import weights
from discreet.query.catalog.kind import Real, Whole
from discreet.query.check.fixed_point import quantise
from discreet.query.check.key_weights import most_groups
from discreet.query.check.measurement import (
    WEIGHT,
    Checked,
    Declared,
    Fixed,
    Measurement,
    ModeChoice,
    QuantileChoice,
    Selection,
    Sort,
)
from discreet.query.plan import Among, Call, Case, Column, Literal, Scalar, given
from discreet.query.rewrite import weights as cap
from discreet.query.rewrite.person_rows import (
    PERSON,
    Item,
    columns,
    items,
    keys_of,
    person_rows,
    present,
    same,
    shown,
)
from discreet.query.statement import ROWS, Inner, JoinedRows, Listed, Named, Query, Source, Statement


def statements(checked: Checked) -> tuple[Statement, ...]:
    """Return the engine statements whose integers are the question's exact measurements."""
    found: list[Statement] = []
    weighed = [
        (position, m)
        for position, m in enumerate(checked.measurements)
        if isinstance(m, Measurement) and m.sort in (Sort.ROWS, Sort.SUM)
    ]
    for whole in (False, True):
        own = [(position, m) for position, m in weighed if (m.weight == 1) is whole]
        if own:
            found.append(_weighed(checked, own, whole=whole))
    people = {
        f"m{position}": m
        for position, m in enumerate(checked.measurements)
        if isinstance(m, Measurement) and m.sort is Sort.PEOPLE
    }
    if people:
        found.append(_people(checked, tuple(people), whole=all(m.scale == 1 for m in people.values())))
    for position, measurement in enumerate(checked.measurements):
        match measurement:
            case Measurement(sort=Sort.DISTINCT | Sort.EACH):
                found.append(_distinct(checked, position, measurement))
            case Measurement(sort=Sort.ABOVE):
                found.append(_above(checked, position))
            case Measurement(sort=Sort.KEY_WEIGHTS):
                found.append(_key_weights(checked, position, measurement))
            case QuantileChoice() | ModeChoice():
                found.append(_selection(checked, position, measurement))
            case Measurement():
                pass
    return tuple(found)


def _unlimited(checked: Checked) -> bool:
    """Whether the rows of people are within their limits by construction."""
    return checked.rows.rows is None and checked.rows.per_group is None


@dataclass(frozen=True, slots=True)
class _Slot:
    """A measurement's integer as an engine expression over the rows, before weighting."""

    raw: Scalar | None
    fixed: Fixed

    def integer(self, column: Scalar) -> Scalar:
        """Return the integer that one row adds; NULL adds nothing."""
        fixed = self.fixed
        if not fixed.degree:
            return column
        if fixed.missing:
            return Case(((Call("is_null", (column,)), Literal(fixed.top)),), Literal(0))
        above: Scalar = Call("subtract", (column, Literal(fixed.low))) if fixed.low else column
        below: Scalar = Call("subtract", (Literal(fixed.high), column))
        factors = [above] * fixed.corner + [below] * (fixed.degree - fixed.corner)
        many = comb(fixed.degree, fixed.corner)
        return reduce(
            lambda one, other: Call("multiply", (one, other)), [Literal(many)] * (many > 1) + factors
        )

    def plain(self, column: str | None) -> Scalar:
        """Return the sum of what the rows add."""
        if column is None:
            return Call("count_rows", ())
        if self.fixed.present:
            return Call("count_values", (Column("r", column),))
        return Call("sum", (self.integer(Column("r", column)),))

    def weighted(self, column: str | None, weight: Scalar) -> Scalar:
        """Return the sum of what the rows add, each times its weight."""
        if column is None:
            return Call("sum", (weight,))
        value = Column("r", column)
        if self.fixed.present:
            return Call("sum", (Case(((present(value), weight),), Literal(None)),))
        # Products that could leave 64 bits are taken in 128; sums of either kind are 128 bits wide.
        narrow = max(abs(end) for end in self.fixed.ends) < 2**44
        return Call(
            "sum", (Call("multiply_long" if narrow else "multiply_wide", (self.integer(value), weight)),)
        )


def _slot(fixed: Fixed, *, ranked: bool) -> _Slot:
    if fixed.argument is None:
        return _Slot(None, fixed)
    if fixed.present:
        # Rows are ordered by what they add, which here is whether there is a value and not which.
        there = Case(((present(fixed.argument), Literal(1)),), Literal(None))
        return _Slot(there if ranked else fixed.argument, fixed)
    kind = Whole() if fixed.whole else Real()
    integer = quantise(fixed.argument, kind, fixed.scale, fixed.low, fixed.high)
    # Sums of 32-bit integers are faster; products of them would overflow.
    if fixed.degree < 2 and max(abs(fixed.low), abs(fixed.high), fixed.high - fixed.low) < 2**31:
        integer = Call("narrow", (integer,))
    return _Slot(integer, fixed)


def _weighed(checked: Checked, weighed: Sequence[tuple[int, Measurement]], *, whole: bool) -> Statement:
    """Return the statement of sums over rows, which count for their weights or, where `whole`, for one."""
    ranked = whole and not _unlimited(checked)
    slots = [_slot(measurement.fixed, ranked=ranked) for _, measurement in weighed]
    raws: dict[Scalar, str] = {}
    for slot in slots:
        if slot.raw is not None:
            raws.setdefault(slot.raw, f"a{len(raws)}")
    named = [(name, raw) for raw, name in raws.items()]
    held = [None if slot.raw is None else raws[slot.raw] for slot in slots]
    outputs = tuple(f"m{position}" for position, _ in weighed)
    keys = keys_of(checked)
    parts: tuple[cap.Part, ...] = ()
    where: Scalar | None = None
    if whole:
        source: Source
        if ranked:
            source, where = _one_each(checked, named)
        else:
            source = Inner(person_rows(checked, named, unit=False, admit=False), "r")
        sums = [slot.plain(column) for slot, column in zip(slots, held, strict=True)]
    elif _counted_at_once(checked, slots):
        return _own_counts(
            checked, named, [slot.plain(c) for slot, c in zip(slots, held, strict=True)], outputs
        )
    else:
        bounded = cap.in_all if checked.rows.per_group is None else cap.per_group
        rows = bounded(checked, named)
        parts, source = rows.parts, rows.source
        sums = [slot.weighted(column, rows.weight) for slot, column in zip(slots, held, strict=True)]
    found = (*items("r", keys), *zip(outputs, sums, strict=True))
    return Statement(
        parts, Query(found, source, where, columns("r", keys), shown(checked)), len(keys), outputs
    )


def _counted_at_once(checked: Checked, slots: Sequence[_Slot]) -> bool:
    """Whether all rows are counted in one group, where a person's can be counted before they are weighed."""
    within = checked.rows.per_group is None and not checked.keys.columns
    return within and all(slot.raw is None or slot.fixed.present for slot in slots)


def _own_counts(
    checked: Checked, named: Sequence[Item], counts: Sequence[Scalar], outputs: tuple[str, ...]
) -> Statement:
    """Add up what each person's rows count for, which needs no second look at the rows."""
    weight = cap.share(WEIGHT, given(checked.contribution).total, Call("count_rows", ()))
    own = tuple(
        (output, Call("multiply_long", (count, weight)))
        for output, count in zip(outputs, counts, strict=True)
    )
    rows = Inner(person_rows(checked, named, unit=True), "r")
    people = Inner(Query(own, rows, None, columns("r", (PERSON,))), "p")
    sums = tuple((output, Call("sum", (Column("p", output),))) for output in outputs)
    return Statement((), Query(sums, people), 0, outputs)


def _one_each(checked: Checked, named: Sequence[Item]) -> tuple[Source, Scalar]:
    """Return everyone's rows as source `r`, and the condition that keeps one of each person."""
    if given(checked.contribution).total != 1:
        raise AssertionError("rows count whole only where each person keeps one")
    rows = person_rows(checked, named, unit=True)
    return cap.chosen(rows, (PERSON, *keys_of(checked), *(name for name, _ in named)), 1, "r")


def _people(checked: Checked, outputs: tuple[str, ...], *, whole: bool) -> Statement:
    keys, limit = keys_of(checked), checked.rows.people
    # Who is whole and in too many groups is kept in a few of them; all others count for their weight.
    chosen = limit is not None and (whole or not isinstance(checked.keys, Declared))
    if not chosen and (bits := cap.few(checked)) is not None:
        return _people_by_bits(checked, bits, outputs)
    names = (PERSON, *keys)
    cells = Query(
        items("r", names),
        Inner(person_rows(checked, (), unit=True), "r"),
        None,
        columns("r", names),
    )
    if limit is not None and chosen:
        source, kept = cap.chosen(cells, names, limit)
        return _grouped(keys, "j", outputs, Call("count_rows", ()), (), source, kept)
    if limit is None:
        return _grouped(keys, "c", outputs, Call("count_rows", ()), (), Inner(cells, "c"), None)
    weight = cap.share(WEIGHT, limit, Call("count_rows", ()))
    people = Query(
        ((PERSON, Column("c", PERSON)), ("w", weight)), Named(cap.CELLS, "c"), None, columns("c", (PERSON,))
    )
    source = JoinedRows(Named(cap.CELLS, "c"), Named(cap.PEOPLE, "p"), same("c", "p", (PERSON,)))
    parts = ((cap.CELLS, cells), (cap.PEOPLE, people))
    return _grouped(keys, "c", outputs, Call("sum", (Column("p", "w"),)), parts, source, None)


def _grouped(
    keys: tuple[str, ...],
    alias: str,
    outputs: tuple[str, ...],
    total: Scalar,
    parts: tuple[cap.Part, ...],
    source: Source,
    where: Scalar | None,
) -> Statement:
    """Return the statement that feeds one total of each group to all outputs."""
    found = (*items(alias, keys), *((output, total) for output in outputs))
    return Statement(parts, Query(found, source, where, columns(alias, keys)), len(keys), outputs)


def _people_by_bits(checked: Checked, bits: Listed, outputs: tuple[str, ...]) -> Statement:
    """Collect each person's groups as bits of one integer, which is much faster than one row per group."""
    keys = keys_of(checked)
    masks = Query(
        ((PERSON, Column("r", PERSON)), ("b", Call("bits_or", (Column("b", "bit"),)))),
        JoinedRows(Named(ROWS, "r"), bits, same("r", "b", keys)),
        None,
        columns("r", (PERSON,)),
    )
    rows = person_rows(checked, (), unit=True, admit=False)
    weight: Scalar = Literal(1)
    if checked.rows.people is not None:
        weight = cap.share(WEIGHT, checked.rows.people, Call("bits_set", (Column("p", "b"),)))
    weighed = Inner(Query((("b", Column("p", "b")), ("w", weight)), Named(cap.PEOPLE, "p")), "p")
    counts = [
        Call(
            "sum", (Call("multiply", (Column("p", "w"), Call("bit_at", (Column("p", "b"), Literal(place))))),)
        )
        for place in range(len(bits.rows))
    ]
    listed = [
        (name, Call("series", tuple(Literal(row[position]) for row in bits.rows)))
        for position, name in enumerate(keys)
    ]
    found = (*listed, *((output, Call("series", tuple(counts))) for output in outputs))
    return Statement(((ROWS, rows), (cap.PEOPLE, masks)), Query(found, weighed), len(keys), outputs)


def _distinct(checked: Checked, position: int, measurement: Measurement) -> Statement:
    keys, outputs = keys_of(checked), (f"m{position}",)
    limit, fixed = checked.rows.rows, measurement.fixed
    each = measurement.sort is Sort.EACH
    value = given(_slot(fixed, ranked=False).raw if each else fixed.argument)
    name = "sum_distinct" if each else "count_distinct"
    rows = person_rows(checked, (("x", value),), unit=limit is not None)
    if limit is None:
        return _grouped(keys, "r", outputs, Call(name, (Column("r", "x"),)), (), Inner(rows, "r"), None)
    names = (PERSON, *keys, "x")
    cells = Query(items("r", names), Inner(rows, "r"), present(Column("r", "x")), columns("r", names))
    source, kept = cap.chosen(cells, names, limit)
    return _grouped(keys, "j", outputs, Call(name, (Column("j", "x"),)), (), source, kept)


def _key_weights(checked: Checked, position: int, measurement: Measurement) -> Statement:
    """Add up the weights of everybody's groups, each of which depends on how many they are."""
    keys, names = keys_of(checked), (PERSON, *keys_of(checked))
    cells = Query(
        items("r", names), Inner(person_rows(checked, (), unit=True), "r"), None, columns("r", names)
    )
    if checked.rows.people is not None:
        source, kept = cap.chosen(cells, names, checked.rows.people)
        cells = Query(items("j", names), source, kept)
    groups = most_groups(measurement, checked.rows.adjacency)
    own = (Call("count_rows", ()), weights(measurement.scale, groups))
    people = Query(
        ((PERSON, Column("c", PERSON)), ("w", cap.by_count(*own))),
        Named(cap.CELLS, "c"),
        None,
        columns("c", (PERSON,)),
    )
    joined = JoinedRows(Named(cap.CELLS, "c"), Named(cap.PEOPLE, "p"), same("c", "p", (PERSON,)))
    parts = ((cap.CELLS, cells), (cap.PEOPLE, people))
    total = Call("sum", (Column("p", "w"),))
    return _grouped(keys, "c", (f"m{position}",), total, parts, joined, None)


def _above(checked: Checked, position: int) -> Statement:
    """Count the people with more rows than their limit, in every group that holds rows of theirs."""
    keys, names = keys_of(checked), (PERSON, *keys_of(checked))
    many = Call("gt", (Call("count_rows", ()), Literal(given(checked.rows.rows))))
    above = Query(items("r", (PERSON,)), Named(ROWS, "r"), None, columns("r", (PERSON,)), many)
    parts: tuple[cap.Part, ...] = ((ROWS, person_rows(checked, (), unit=True)), (cap.PEOPLE, above))
    source: Source = Named(cap.PEOPLE, "c")
    if keys:
        theirs = JoinedRows(Named(ROWS, "r"), Named(cap.PEOPLE, "p"), same("r", "p", (PERSON,)))
        source = Inner(Query(items("r", names), theirs, None, columns("r", names)), "c")
    return _grouped(keys, "c", (f"m{position}",), Call("count_rows", ()), parts, source, None)


def _selection(checked: Checked, position: int, selection: Selection) -> Statement:
    named = (("x", selection.argument),)
    names, output = (*keys_of(checked), "x"), f"m{position}"
    seen = present(Column("r", "x"))
    if isinstance(selection, ModeChoice):
        seen = Among(Column("r", "x"), tuple(Literal(value) for value in selection.values))
    parts: tuple[cap.Part, ...] = ()
    if _unlimited(checked):
        source: Source = Inner(person_rows(checked, named, unit=False, admit=False), "r")
        total: Scalar = Call("count_rows", ())
    else:
        # A score moves with all of a person's weights together, so limits per group would not lower a claim.
        rows = cap.in_all(checked, named)
        parts, source, total = rows.parts, rows.source, Call("sum", (rows.weight,))
    body = Query((*items("r", names), (output, total)), source, seen, columns("r", names), shown(checked))
    return Statement(parts, body, len(names), (output,), cells=True)
