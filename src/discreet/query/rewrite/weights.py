"""Bounding what each person contributes: weights for rows, and a keyed choice where groups must be few.

*In all.*  A person with n rows, m of which are allowed, counts with weight min(W, floor(W m / n)) per row.
Then the weights of a person sum to at most W m, because n * floor(W m / n) <= W m.  Nobody is dropped and
nothing is random; a person above the limit counts as m rows with that person's averages.

*Per group.*  Let n_i be the person's rows in group i, of which c are allowed, and t = max(m, sum of
min(n_i, c)).  A row of group i counts with weight floor(W m min(n_i, c) / (t n_i)), so the group weighs at
most W min(n_i, c) and the person at most W m.  Where g groups are allowed too, m is at most c g: the limit of
groups lowers what a person adds in all, and drops none of them.

Most cells hold no more rows than allowed, and their weight floor(W m / t) depends on the person alone, so
only the crowded cells are counted one by one.  To find them, each person's groups are collected as bits of
one integer.  If b bits are set, the n rows lie in at least b cells; a cell of more than c rows has at least c
that are not its first, so n - b >= c, and everybody else is passed over.

*Chosen.*  At most g of a person's cells are kept, the first in an order that a key drawn freshly for each
question makes uniformly random: the hash of a keyed hash, because a single one combines its arguments by an
exclusive or, which would favour some groups over others for everybody alike.

The weight, order and choice for one person are functions of that person's rows and the key alone, so no other
person's contribution depends on whether this one is present.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.query.check.measurement import WEIGHT, Checked, Declared
from discreet.query.plan import Call, Case, Column, Literal, Scalar, given
from discreet.query.rewrite.person_rows import (
    PERSON,
    Item,
    columns,
    items,
    keys_of,
    listed,
    person_rows,
    same,
    shown,
)
from discreet.query.statement import ROWS, Inner, JoinedRows, Listed, Named, Query, Source

MASK = 60
"""So many groups fit into the bits of a 64-bit integer, one each."""

PEOPLE, CROWDED, EXCESS, WEIGHTS, CELLS = "__people", "__crowded", "__excess", "__weights", "__cells"
"""Parts of statements; no declared table can have such a name."""

Part = tuple[str, Query]


@dataclass(frozen=True, slots=True)
class Weighed:
    """A question's rows as source `r`, each with the integer weight it counts with."""

    parts: tuple[Part, ...]
    source: Source
    weight: Scalar


def in_all(checked: Checked, named: Sequence[Item]) -> Weighed:
    """Return the rows with weights that bound what a person adds in all groups together."""
    limit = given(checked.contribution).total
    rows = person_rows(checked, named, unit=True, admit=False)
    person = Column("r", PERSON)
    people = Query(
        ((PERSON, person), ("w", share(WEIGHT, limit, Call("count_rows", ())))),
        Named(ROWS, "r"),
        listed(checked),
        (person,),
    )
    source = JoinedRows(Named(ROWS, "r"), Named(PEOPLE, "p"), same("r", "p", (PERSON,)))
    return Weighed(((ROWS, rows), (PEOPLE, people)), source, Column("p", "w"))


def per_group(checked: Checked, named: Sequence[Item]) -> Weighed:
    """Return the rows with weights that bound what a person adds in each group, and in all."""
    limits = given(checked.contribution)
    if limits.cell == limits.total:
        return in_all(checked, named)
    cell = (PERSON, *keys_of(checked))
    parts = (
        (ROWS, person_rows(checked, named, unit=True, admit=False)),
        (PEOPLE, _tallies(checked)),
        (CROWDED, _crowded(checked, limits.cell)),
        (EXCESS, _excess(limits.cell)),
        (WEIGHTS, _weights(limits.total)),
        (CELLS, _cells(cell, limits.cell * limits.total)),
    )
    people = JoinedRows(Named(ROWS, "r"), Named(WEIGHTS, "w"), same("r", "w", (PERSON,)))
    source = JoinedRows(people, Named(CELLS, "c"), same("r", "c", cell), outer=True)
    return Weighed(parts, source, Call("coalesce", (Column("c", "w"), Column("w", "w"))))


def _tallies(checked: Checked) -> Query:
    """Return each person's rows `n`, and in how many groups `b` these lie at least."""
    keys = keys_of(checked)
    source: Source = Named(ROWS, "r")
    where = listed(checked)
    bit: Scalar = Call("slot", columns("r", keys))
    if bits := few(checked):
        source, where, bit = JoinedRows(source, bits, same("r", "b", keys)), None, Column("b", "bit")
    tallies = (("n", Call("count_rows", ())), ("b", Call("bits_set", (Call("bits_or", (bit,)),))))
    return Query(((PERSON, Column("r", PERSON)), *tallies), source, where, columns("r", (PERSON,)))


def _crowded(checked: Checked, allowed: int) -> Query:
    """Return the cells of more rows than allowed."""
    cell = (PERSON, *keys_of(checked))
    count = Call("count_rows", ())
    beyond = Call("subtract", (Column("p", "n"), Column("p", "b")))
    crowded, admitted = Call("gt", (count, Literal(allowed))), shown(checked)
    return Query(
        (*items("r", cell), ("n", count)),
        JoinedRows(Named(ROWS, "r"), Named(PEOPLE, "p"), same("r", "p", (PERSON,))),
        Call("ge", (beyond, Literal(allowed))),
        columns("r", cell),
        crowded if admitted is None else Call("and", (crowded, admitted)),
    )


def _excess(allowed: int) -> Query:
    """Return by how many rows `e` the crowded cells of a person are too large together."""
    beyond = Call("sum", (Call("subtract", (Column("c", "n"), Literal(allowed))),))
    # At most the person's rows, so it fits where their count does.
    return Query(
        (*items("c", (PERSON,)), ("e", Call("long", (beyond,)))),
        Named(CROWDED, "c"),
        None,
        columns("c", (PERSON,)),
    )


def _weights(total: int) -> Query:
    """Return the number `t` by which a person's weights are divided, and the weight of a row."""
    counted = Call("subtract", (Column("p", "n"), Call("coalesce", (Column("e", "e"), Literal(0)))))
    divisor = Call("greatest", (Literal(total), counted))
    weight = Call("narrow", (Call("quotient", (Literal(WEIGHT * total), divisor)),))
    return Query(
        (*items("p", (PERSON,)), ("t", divisor), ("w", weight)),
        JoinedRows(Named(PEOPLE, "p"), Named(EXCESS, "e"), same("p", "e", (PERSON,)), outer=True),
    )


def _cells(cell: Sequence[str], allowed: int) -> Query:
    """Return the weight of a row in each crowded cell."""
    # Dividing twice and rounding down each time is dividing by the product, which could leave 64 bits.
    weight = Call("quotient", (Literal(WEIGHT * allowed), Column("w", "t")))
    return Query(
        (*items("c", cell), ("w", Call("narrow", (Call("quotient", (weight, Column("c", "n"))),)))),
        JoinedRows(Named(CROWDED, "c"), Named(WEIGHTS, "w"), same("c", "w", (PERSON,))),
    )


def few(checked: Checked) -> Listed | None:
    """Return the declared groups, each with a bit of its own, if there are few enough."""
    if not isinstance(checked.keys, Declared) or checked.keys.size > MASK or not checked.keys.columns:
        return None
    rows = tuple((*key, 2**place) for place, key in enumerate(checked.keys.product()))
    return Listed((*keys_of(checked), "bit"), rows, "b")


def share(one: int, limit: int, count: Scalar) -> Scalar:
    """Return the weight of each of `count` things that together may weigh as much as `limit` whole ones."""
    return Call("narrow", (Call("least", (Literal(one), Call("quotient", (Literal(one * limit), count)))),))


def by_count(count: Scalar, weights: Sequence[int]) -> Scalar:
    """Return the weight of a person for whom `count` is 1, 2, ...; nobody has more than there are weights."""
    told = tuple(
        (Call("eq", (count, Literal(number))), Literal(weight)) for number, weight in enumerate(weights, 1)
    )
    return Call("narrow", (Case(told, Literal(0)),))


def chosen(cells: Query, names: Sequence[str], limit: int, alias: str = "j") -> tuple[Source, Scalar]:
    """Return everyone's cells under an alias, and the condition that keeps at most `limit` of each person.

    A cell is a person, the first of `names`, with what the other names tell.
    """
    own = columns("c", names)
    keyed = Call("hash", (Call("hash", (Call("choice", ()), *own)),))
    ranked = (*items("c", names), ("j", Call("rank", (own[0], keyed, *own[1:]))))
    kept = Call("le", (Column(alias, "j"), Literal(limit)))
    return Inner(Query(ranked, Inner(cells, "c")), alias), kept
