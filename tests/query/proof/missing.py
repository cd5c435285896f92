"""Statements in which something is missing without a word: a count, a weight, a key, all rows of one side.

An outer join puts NULL where there is no partner, and functions such as GREATEST and COALESCE pass over it;
what a rule knows of a column it must not believe of its absence.
"""

from dataclasses import replace

from tests.query.proof.hostile import BOTH, COUNT, PERSON, dealt, shared
from tests.query.proof.world import WARDS, Case, c, f, noised, statement, there, total

from discreet.query.plan import Among, Literal, Scalar
from discreet.query.plan import Case as When
from discreet.query.statement import Inner, JoinedRows, Named, Query, Statement, StoredTable


def same(one: str, other: str) -> Scalar:
    return f("eq", c(one, "u"), c(other, "u"))


def changed(*, before: dict[str, tuple[tuple[str, Query], ...]], **parts: Query) -> Statement:
    """Return the count of rows by ward of `dealt` with other parts, some of them new."""
    body, *named = dealt()
    held: list[tuple[str, Query]] = []
    for name, query in named:  # type: ignore[misc]
        held += before.get(name, ())
        held.append((name, parts.get(name, query)))
    return statement(parts.get("body", body), *held)


def part(name: str) -> Query:
    return dict(dealt()[1:])[name]  # type: ignore[arg-type]


TALLIES = part("people")
FEW = replace(TALLIES, having=f("gt", COUNT, 10**6))
DIVISOR = f("greatest", 4, f("subtract", c("q", "n"), f("coalesce", c("e", "e"), 0)))


def without_counts() -> Statement:
    """Weights divided by a count that nobody has."""
    base = JoinedRows(Named("people", "p"), Named("few", "q"), same("p", "q"), True)
    weights = Query(
        (("u", c("p", "u")), ("t", DIVISOR), ("w", f("narrow", f("quotient", 4 * 2**16, DIVISOR)))),
        JoinedRows(base, Named("excess", "e"), same("p", "e"), True),
    )
    return changed(before={"weights": (("few", FEW),)}, weights=weights)


def without_spreads() -> Statement:
    """A crowd that is looked for among people whose spread is missing."""
    lost = Query(
        (("u", c("p", "u")), ("n", c("p", "n")), ("b", c("q", "b"))),
        JoinedRows(Named("people", "p"), Named("few", "q"), same("p", "q"), True),
    )
    crowded = part("crowded")
    source = replace(crowded.source, right=Named("lost", "p"))  # type: ignore[type-var]
    return changed(
        before={"crowded": (("few", FEW), ("lost", lost))}, crowded=replace(crowded, source=source)
    )


def without_divisors() -> Statement:
    """Weights of crowded cells divided by something that is missing, so that others are taken."""
    few = Query((("u", c("w", "u")), ("t", c("w", "t"))), Named("weights", "w"), f("lt", c("w", "t"), 0))
    lost = Query(
        (("u", c("p", "u")), ("t", c("w", "t"))),
        JoinedRows(Named("people", "p"), Named("fewer", "w"), same("p", "w"), True),
    )
    cells = part("cells")
    source = replace(cells.source, right=Named("lost", "w"))  # type: ignore[type-var]
    return changed(before={"cells": (("fewer", few), ("lost", lost))}, cells=replace(cells, source=source))


def of_another_cell() -> Statement:
    """The weight of a person's crowded ward b, which is smaller, used for all crowded wards."""
    only = f("and", same("p", "d"), f("eq", c("d", "k"), "z9"))
    lost = Query(
        (("u", c("p", "u")), ("w", c("d", "w"))),
        JoinedRows(Named("people", "p"), Named("dealt", "d"), only, True),
    )
    cells = Query(
        (("u", c("c", "u")), ("k", c("c", "k")), ("w", c("l", "w"))),
        JoinedRows(Named("crowded", "c"), Named("lost", "l"), same("c", "l")),
    )
    return changed(before={"cells": (("dealt", part("cells")), ("lost", lost))}, cells=cells)


def outer_of_nothing() -> Statement:
    """Everybody once, beside rows of which there are none, so that a product of bounds is zero."""
    inside = f("and", there(PERSON), f("ge", c("t", "x"), 5), f("le", c("t", "x"), 3))
    x = c("t", "x")
    nothing = Inner(Query((("u", PERSON), ("x", x)), StoredTable("visits", "t"), inside, (PERSON, x)), "n")
    everybody = Inner(Query((("u", PERSON),), StoredTable("visits", "t"), there(PERSON), (PERSON,)), "r")
    return statement(total(COUNT, JoinedRows(everybody, nothing, same("r", "n"), True)))


NAMELESS = When(((Among(c("t", "k"), (Literal("b"),)), Literal("b")),), Literal(None))


def nameless_rows() -> Query:
    """Rows of which the ward is told only if it is b."""
    items = (("u", PERSON), ("k", NAMELESS), ("x", c("t", "x")))
    return Query(items, StoredTable("visits", "t"), there(PERSON))


def nameless_group() -> Statement:
    """Weights that count the rows of ward b, while those without a ward leave too."""
    listed = Among(c("r", "k"), (Literal("b"),))
    body, _, (_, people) = shared(rows=nameless_rows(), having=None)
    return statement(body, ("rows", nameless_rows()), ("people", replace(people, where=listed)))


def nameless_crowd() -> Statement:
    """A crowded cell without a ward, which no join can meet."""
    body, *_ = dealt()
    return changed(
        before={},
        rows=nameless_rows(),
        people=replace(TALLIES, where=None),
        crowded=replace(part("crowded"), having=f("gt", COUNT, 2)),
        body=replace(body, having=None),
    )


MISSING: tuple[Case, ...] = (
    Case("counts that are missing", without_counts(), noised(BOTH, WARDS)),
    Case("spreads that are missing", without_spreads(), noised(BOTH, WARDS)),
    Case("divisors that are missing", without_divisors(), noised(BOTH, WARDS)),
    Case("weights of another cell", of_another_cell(), noised(BOTH, WARDS)),
    Case("nothing times everybody", outer_of_nothing(), noised(0)),
    Case("a group without a key", nameless_group(), noised(3 * 2**16, ("b", None))),
    Case("a crowd without a key", nameless_crowd(), noised(BOTH, ("b", None))),
)
