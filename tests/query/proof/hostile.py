"""Statements that keep their claim, and statements one edit away that do not.

The violation of each hostile statement shows in the exact integers of two neighbouring datasets
(`tests.query.proof.world`), unless it says that it cannot be seen there.
"""

from dataclasses import replace
from datetime import datetime
from fractions import Fraction

from tests.query.proof.world import (
    HUGE,
    WARDS,
    Case,
    W,
    c,
    f,
    inner,
    moves,
    noised,
    people,
    rows,
    statement,
    there,
    total,
)

from discreet.query.plan import Among, Call, Column, Literal, Scalar
from discreet.query.plan import Case as When
from discreet.query.proof import Chosen, Claim, Divided, Kept, Reached, Swapped
from discreet.query.statement import Inner, JoinedRows, Listed, Named, Query, Source, StoredTable

COUNT = f("count_rows")
SHOWN = Among(f("grouped", c("r", "k")), tuple(map(Literal, WARDS)))
LISTED = Among(c("r", "k"), tuple(map(Literal, WARDS)))
VOTES = StoredTable("votes", "t")
PERSON = c("t", "person")


def both(part: Query, on: Scalar | None = None) -> JoinedRows:
    return JoinedRows(Named("rows", "r"), Named("people", "p"), on or f("eq", c("r", "u"), c("p", "u")))


def shared(**change: object) -> tuple[Query, tuple[str, Query], tuple[str, Query]]:
    """Return the count of rows by ward, where everybody weighs at most three rows."""
    parts = {"rows": rows(), "people": people(where=LISTED), "source": both(rows()), **change}
    scalar = change.get("scalar", f("sum", c("p", "w")))
    keys = change.get("keys", (c("r", "k"),))
    body = total(scalar, parts["source"], change.get("where"), *keys, having=change.get("having", SHOWN))  # type: ignore[arg-type, misc]
    return body, ("rows", parts["rows"]), ("people", parts["people"])  # type: ignore[return-value]


def ward_once(items: tuple[tuple[str, Scalar], ...] | None = None) -> Inner:
    """Return the public wards, one row for each."""
    made = items or (("ward", c("w", "ward")), ("name", f("min", c("w", "name"))))
    return Inner(Query(made, StoredTable("wards", "w"), None, (c("w", "ward"),)), "w")


def per_person(value: Scalar, *keys: Scalar, having: Scalar | None = None, table: str = "visits") -> Inner:
    """Return groups of one person's rows, with a value each."""
    named = tuple((f"g{place}", key) for place, key in enumerate(keys))
    grouped = Query(
        (("u", PERSON), ("v", value), *named), StoredTable(table, "t"), there(PERSON), (PERSON, *keys), having
    )
    return Inner(grouped, "r")


def own_counts(
    count: Scalar, *keys: Scalar, least: int = W, most: int = 3 * W, among: Scalar = COUNT
) -> Query:
    """Return what everybody's rows count for, at most three each, added up without looking at them again."""
    weight = f("narrow", f("least", least, f("quotient", most, among)))
    return total(f("sum", c("r", "v")), per_person(f("multiply_long", count, weight), *keys))


def split(count: Scalar, at: int) -> When:
    """Return 9 for groups of more than so many rows and -9 for others: one mixed group moves by 18."""
    return When(((f("gt", count, at), Literal(9)),), Literal(-9))


def mixed(source: Source) -> Query:
    return total(f("sum", c("r", "v")), source)


def ranked(*order: Scalar, by: Column = PERSON) -> Inner:
    items = (("u", PERSON), ("k", c("t", "k")), ("x", c("t", "x")))
    rank = f(
        "rank",
        by,
        *(order or (f("hash", f("choice"), PERSON, c("t", "x")), PERSON, c("t", "k"), c("t", "x"))),
    )
    return Inner(Query((*items, ("j", rank)), StoredTable("visits", "t"), there(PERSON)), "r")


BITS = Listed(("k", "bit"), (("a", 1), ("b", 2), ("c", 4)), "b")


def masks(bits: Listed = BITS, *more: Column) -> Query:
    source = JoinedRows(Named("rows", "r"), bits, f("eq", c("r", "k"), c("b", "k")))
    items = (("u", c("r", "u")), ("b", f("bits_or", c("b", "bit"))))
    return Query(items, source, None, (c("r", "u"), *more))


def bit_counts(
    weight: Scalar = f("narrow", f("least", W, f("quotient", W, f("bits_set", c("p", "b"))))),  # noqa: B008
    places: tuple[int, ...] = (0, 1, 2),
    keys: tuple[Scalar, ...] = tuple(map(Literal, WARDS)),
    part: Query | None = None,
) -> tuple[Query, tuple[str, Query], tuple[str, Query]]:
    inside = Inner(Query((("b", c("p", "b")), ("w", weight)), Named("people", "p")), "p")
    sums = [f("sum", f("multiply", c("p", "w"), f("bit_at", c("p", "b"), place))) for place in places]
    body = Query((("k0", f("series", *keys)), ("m0", f("series", *sums))), inside)
    return body, ("rows", rows()), ("people", part or masks())


CELL = f("and", f("eq", c("r", "u"), c("p", "u")), f("eq", c("r", "k"), c("p", "k")))


def dealt(
    *,
    least: int = 2,
    allowed: int = 2,
    heavy: int = 2 * 4 * W,
    excess: int = 2,
    spread: Scalar | None = None,
    on: Scalar | None = None,
    crowd_where: Scalar | None = None,
    counted: Scalar | None = LISTED,
    shown: Scalar | None = SHOWN,
    join: Scalar | None = None,
) -> tuple[Query, ...]:
    """Return the count of rows by ward: at most two rows in one ward count, and four in all."""
    bit = spread or f("bits_set", f("bits_or", f("slot", c("r", "k"))))
    tallies = Query(
        (("u", c("r", "u")), ("n", COUNT), ("b", bit)), Named("rows", "r"), counted, (c("r", "u"),)
    )
    crowded = Query(
        (("u", c("r", "u")), ("k", c("r", "k")), ("n", COUNT)),
        JoinedRows(Named("rows", "r"), Named("people", "p"), join or f("eq", c("r", "u"), c("p", "u"))),
        crowd_where or f("ge", f("subtract", c("p", "n"), c("p", "b")), least),
        (c("r", "u"), c("r", "k")),
        f("gt", COUNT, allowed) if shown is None else f("and", f("gt", COUNT, allowed), shown),
    )
    over = f("long", f("sum", f("subtract", c("c", "n"), excess)))
    extra = Query((("u", c("c", "u")), ("e", over)), Named("crowded", "c"), None, (c("c", "u"),))
    divisor = f("greatest", 4, f("subtract", c("p", "n"), f("coalesce", c("e", "e"), 0)))
    weights = Query(
        (("u", c("p", "u")), ("t", divisor), ("w", f("narrow", f("quotient", 4 * W, divisor)))),
        JoinedRows(Named("people", "p"), Named("excess", "e"), f("eq", c("p", "u"), c("e", "u")), True),
    )
    cells = Query(
        (
            ("u", c("c", "u")),
            ("k", c("c", "k")),
            ("w", f("narrow", f("quotient", f("quotient", heavy, c("w", "t")), c("c", "n")))),
        ),
        JoinedRows(Named("crowded", "c"), Named("weights", "w"), f("eq", c("c", "u"), c("w", "u"))),
    )
    light = JoinedRows(Named("rows", "r"), Named("weights", "w"), f("eq", c("r", "u"), c("w", "u")))
    cell = f("and", f("eq", c("r", "u"), c("c", "u")), f("eq", c("r", "k"), c("c", "k")))
    source = JoinedRows(light, Named("cells", "c"), on or cell, True)
    body = total(f("sum", f("coalesce", c("c", "w"), c("w", "w"))), source, None, c("r", "k"), having=SHOWN)
    named = zip(
        ("rows", "people", "crowded", "excess", "weights", "cells"),
        (rows(), tallies, crowded, extra, weights, cells),
        strict=True,
    )
    return body, *named  # type: ignore[return-value]


ONLY_A = {
    "counted": Among(c("r", "k"), (Literal("a"),)),
    "shown": Among(f("grouped", c("r", "k")), (Literal("a"),)),
}
BOTH = moves(4 * W, 2 * W, 8 * W**2)
AGE = f("clamp", c("t", "a"), 0, 9)
LEANING = f("sum", f("multiply", c("r", "a"), c("p", "w")))


def raising(name: str, scalar: Scalar, *, seen: bool = True) -> Case:
    """Return a sum that no row can move far, of an expression that raises for some cells."""
    truth = isinstance(scalar, Call) and scalar.function in ("eq", "like", "ilike")
    number = When(((scalar, Literal(1)),), Literal(0)) if truth else scalar
    changed = rows(a=f("clamp", number, 0, 1))
    added = f("sum", f("multiply_long", c("r", "a"), c("p", "w")))
    return Case(name, statement(*shared(rows=changed, scalar=added)), noised(3 * W, WARDS), seen)


NULL, AGED = Literal(None), c("t", "a")
MILLENNIUM = datetime(2000, 1, 1)
FIRST, LAST = f("to_day", "5877000-01-01 (BC)"), f("to_day", "5881000-01-01")
DAY = 86_400_000_000
"""Microseconds."""


def voted(name: str, scalar: Scalar, claimed: int, *, seen: bool = True) -> Case:
    """Return a sum over rows that are people."""
    return Case(name, statement(total(f("sum", scalar), VOTES)), noised(claimed), seen)


def counted(name: str, condition: Scalar, *, seen: bool = False) -> Case:
    return Case(name, statement(total(COUNT, VOTES, condition)), noised(1), seen)


# A cast reads years that no stored date has; reading a text as a date does not.
_YEAR = f("left", f("to_text", f("add", f("clamp", AGED, 0, 10**6), 4 * 10**6)), 10)
BEFORE = f("to_day", f("concat", _YEAR, "-01-01 (BC)"))
SINCE = f("subtract", f("microseconds", Literal(MILLENNIUM)), 1999 * 366 * DAY)
"""The year 2000 begins 1515 days earlier than if all years before were leap years."""


def converted(factor: Fraction) -> tuple[Query, tuple[str, Query], tuple[str, Query]]:
    """Return the rows with one number, counted as an integer and added up as something else."""
    one, other = (f("eq", f("multiply", c("r", "x"), number), HUGE + 1) for number in (1, factor))
    return shared(people=people(where=one, most=W), where=other, keys=(), having=None)


REFINED = inner(
    Query((("v", f("multiply", AGED, Fraction(1))),), VOTES, there(f("multiply", AGED, 1))),
)
SMALL = When(((f("lt", c("t", "x"), 3), f("clamp", c("t", "x"), 0, 1)),), NULL)
MASK = c("z", "m")
MASKS = Inner(
    Query(
        (("u", PERSON), ("m", f("bits_or", SMALL))),
        StoredTable("visits", "t"),
        there(PERSON),
        (PERSON, c("t", "x")),
    ),
    "z",
)


GOOD = (
    Case("a count of rows that are people", statement(total(COUNT, VOTES)), noised(1)),
    Case("a sum of clamped numbers", statement(total(f("sum", AGE), VOTES)), noised(9)),
    Case("shares", statement(*shared()), noised(3 * W, WARDS)),
    Case("shares of one's own count", statement(own_counts(COUNT)), noised(3 * W)),
    Case("shares of one's own values", statement(own_counts(f("count_values", c("t", "x")))), noised(3 * W)),
    Case(
        "a public row at most",
        statement(total(COUNT, JoinedRows(VOTES, ward_once(), f("eq", c("w", "ward"), c("t", "k"))))),
        noised(1),
    ),
    Case("one row of a person", statement(total(COUNT, per_person(COUNT))), noised(1)),
    Case(
        "few rows of a person",
        statement(total(COUNT, per_person(COUNT, f("gt", c("t", "a"), 3)))),
        noised(3),
    ),
    Case(
        "a keyed choice",
        statement(total(COUNT, ranked(), f("le", c("r", "j"), 2))),
        noised(2),
    ),
    Case("bits of groups", statement(*bit_counts()), noised(moves(W, W, W**2), WARDS)),
    Case("shares per group", statement(*dealt()), noised(BOTH, WARDS)),
    Case("a prepared table", statement(total(COUNT, StoredTable("ready", "t"), there(PERSON))), noised(2)),
    Case(
        "both neighbours count",
        statement(*shared(rows=rows("swaps"))),
        noised(moves(6 * W, 3 * W, 2 * 9 * W**2), WARDS),
    ),
    Case(
        "a threshold on people",
        statement(total(COUNT, per_person(COUNT, c("t", "k")), None, c("r", "g0"))),
        Claim((WARDS,), (Reached("m0", 3),)),
    ),
    Case(
        "units that are swapped",
        statement(*shared(rows=rows("swaps"))),
        Claim((WARDS,), (Swapped("m0", 3 * W),)),
    ),
    Case(
        "sums that lean to one side",
        statement(*shared(rows=rows("swaps", a=f("clamp", c("t", "a"), -3, 9)), scalar=LEANING)),
        Claim((WARDS,), (Swapped("m0", 27 * W, Fraction(1, 3)),)),
    ),
    Case("cells or blocks of them", statement(*dealt()), Claim((WARDS,), (Divided("m0", 4 * W),))),
    Case(
        "candidates",
        statement(total(COUNT, inner(Query((("x", AGE),), VOTES)), None, c("r", "x")), cells=True),
        Claim((), (Chosen("m0", Fraction(1), Fraction(1, 2), 10),)),
    ),
)

_Q1 = f("eq", c("w", "ward"), f("concat", f("left", c("w", "ward"), 4_096), ""))
_COALESCED = f("eq", c("w", "ward"), f("coalesce", c("w", "ward"), c("t", "k")))
_TWICE = Listed(("k", "v"), (("a", 1), ("a", 1), ("b", 1)), "l")
_CODES = Inner(
    Query(
        (("code", c("d", "code")), ("name", f("min", c("d", "name")))),
        StoredTable("codes", "d"),
        None,
        (c("d", "code"),),
    ),
    "d",
)
_CASED = Inner(
    Query((("x", c("t", "k")), ("X", PERSON)), StoredTable("visits", "t"), there(PERSON)),
    "i",
)
_FEW = f("and", f("eq", c("a", "person"), c("b", "person")), f("eq", c("a", "k"), c("b", "k")))
_PAIRS = JoinedRows(
    StoredTable("visits", "a"),
    StoredTable("visits", "b"),
    f("and", _FEW, f("gt", c("b", "x"), 2)),
    outer=True,
)
_NULLED = Inner(
    Query(
        (("u", c("b", "person")), ("v", split(COUNT, 9))),
        _PAIRS,
        there(c("a", "person")),
        (c("b", "person"),),
    ),
    "r",
)
_STRANGERS = Inner(
    Query(
        (("u", c("a", "person")), ("v", split(COUNT, 3))),
        JoinedRows(StoredTable("visits", "a"), StoredTable("visits", "b"), f("eq", c("a", "k"), c("b", "k"))),
        there(c("a", "person")),
        (c("a", "person"),),
    ),
    "r",
)
_MERGED = Inner(
    Query(
        (("u", c("s", "person")), ("v", split(COUNT, 1))),
        JoinedRows(
            StoredTable("united", "m"),
            StoredTable("scores", "s"),
            f("eq", c("m", "person"), c("s", "person")),
        ),
        None,
        (c("s", "person"),),
    ),
    "r",
)
_FOLDED = Inner(
    Query(
        (("u", f("lower", f("to_text", PERSON))), ("v", split(COUNT, 1))),
        StoredTable("visits", "t"),
        there(PERSON),
        (f("lower", f("to_text", PERSON)),),
    ),
    "r",
)
_HIDDEN = Query((("k", c("t", "k")), ("a", c("t", "a"))), JoinedRows(VOTES, _TWICE, Literal(True)))

HOSTILE = (
    # Names.
    Case(
        "Q2: names that differ only by case",
        statement(total(COUNT, inner(Query((("g", c("i", "X")),), _CASED, None, (c("i", "X"),))))),
        noised(1),
    ),
    Case("a part hides a table", statement(total(COUNT, VOTES), ("votes", _HIDDEN)), noised(1)),
    Case(
        "a constant key is the number of a column",
        statement(
            total(
                COUNT,
                inner(
                    Query(
                        (("u", PERSON), ("k", f("min", c("t", "k")))),
                        StoredTable("visits", "t"),
                        there(PERSON),
                        (PERSON, Literal(2)),
                    )
                ),
            )
        ),
        noised(1),
        seen=False,
    ),
    # Joins with public rows.
    Case(
        "Q1: a key equated with itself",
        statement(total(COUNT, JoinedRows(VOTES, ward_once(), _Q1))),
        noised(1),
    ),
    Case(
        "Q1: a key equated with a mixture",
        statement(total(COUNT, JoinedRows(VOTES, ward_once(), _COALESCED))),
        noised(1),
    ),
    Case(
        "a public table with two rows for a key",
        statement(
            total(COUNT, JoinedRows(VOTES, StoredTable("wards", "w"), f("eq", c("w", "ward"), c("t", "k"))))
        ),
        noised(1),
    ),
    Case(
        "constants with two rows for a key",
        statement(total(COUNT, JoinedRows(VOTES, _TWICE, f("eq", c("l", "k"), c("t", "k"))))),
        noised(1),
    ),
    Case(
        "different keys that are one double",
        statement(total(COUNT, JoinedRows(VOTES, _CODES, f("eq", c("d", "code"), c("t", "c"))))),
        noised(1),
    ),
    Case(
        "another column than the unique one",
        statement(total(COUNT, JoinedRows(VOTES, ward_once(), f("eq", c("w", "name"), Literal("x"))))),
        noised(1),
    ),
    Case(
        "a public table on the left of an outer join",
        statement(
            total(COUNT, JoinedRows(ward_once(), VOTES, f("eq", c("w", "ward"), c("t", "k")), outer=True)),
        ),
        noised(1),
        seen=False,
    ),
    # Joins and groups of people.
    Case("people joined on something else", statement(mixed(_STRANGERS)), noised(9)),
    Case("people that are one double", statement(mixed(_MERGED)), noised(9)),
    Case("the person of an outer join's right side", statement(mixed(_NULLED)), noised(9)),
    Case("people that a function makes one", statement(mixed(_FOLDED)), noised(9)),
    Case(
        "groups that mix people",
        statement(
            mixed(
                inner(
                    Query(
                        (("v", split(COUNT, 12)),), StoredTable("visits", "t"), there(PERSON), (c("t", "k"),)
                    )
                )
            )
        ),
        noised(9),
    ),
    Case(
        "Q3: declared values that the data need not keep",
        statement(total(COUNT, per_person(COUNT, f("lower", c("t", "k"))))),
        noised(4),
    ),
    Case(
        "constants that are one double",
        statement(
            total(
                COUNT,
                inner(
                    Query(
                        (("u", PERSON), ("x", c("t", "x"))),
                        StoredTable("visits", "t"),
                        f("and", there(PERSON), f("eq", c("t", "x"), Fraction(HUGE))),
                        (PERSON, c("t", "x")),
                    )
                ),
            )
        ),
        noised(1),
    ),
    Case("rows of nobody", statement(total(COUNT, StoredTable("ready", "t"))), noised(2)),
    Case("any number of rows", statement(total(COUNT, StoredTable("visits", "t"), there(PERSON))), noised(3)),
    Case(
        "a table without a unit, grouped",
        statement(mixed(inner(Query((("v", split(COUNT, 5)),), VOTES, None, (c("t", "k"),))))),
        noised(9),
    ),
    # Sums.
    Case("no clamp", statement(total(f("sum", c("t", "a")), VOTES)), noised(9)),
    Case("a wider clamp", statement(total(f("sum", f("clamp", c("t", "a"), 0, 99)), VOTES)), noised(9)),
    Case(
        "a wider fixed point",
        statement(total(f("sum", f("fixed", c("t", "c"), Fraction(1), Fraction(0), Fraction(99))), VOTES)),
        noised(9),
    ),
    Case(
        "a sum of doubles",
        statement(total(f("sum", c("t", "c")), VOTES, f("gt", c("t", "c"), Fraction(1)))),
        noised(9),
    ),
    Case("an extreme", statement(total(f("max", f("clamp", c("t", "a"), -9, 9)), VOTES)), noised(9)),
    Case("a value of a row", statement(total(AGE, VOTES, f("gt", c("t", "a"), 3))), noised(1)),
    Case(
        "a condition on a group's count",
        statement(total(COUNT, VOTES, None, c("t", "k"), having=f("gt", COUNT, 5))),
        noised(1, WARDS),
    ),
    Case(
        "finer groups than keys",
        replace(
            statement(total(COUNT, VOTES, None, c("t", "k"))),
            body=Query((("k0", c("t", "k")), ("m0", COUNT)), VOTES, None, (c("t", "k"), c("t", "a"))),
        ),
        noised(1, WARDS),
    ),
    Case("half of replace", statement(*shared(rows=rows("swaps"))), noised(3 * W, WARDS)),
    Case(
        "different values without a limit",
        statement(total(f("count_distinct", c("t", "x")), StoredTable("visits", "t"), there(PERSON))),
        noised(3),
    ),
    # Shares.
    Case(
        "shares of other rows",
        statement(*shared(people=people(where=Among(c("r", "k"), (Literal("b"),))))),
        noised(3 * W, WARDS),
    ),
    Case(
        "shares under another condition",
        statement(*shared(people=people(where=f("gt", c("r", "x"), 9)))),
        noised(3 * W, WARDS),
    ),
    Case(
        "shares that are too large",
        statement(*shared(people=people(where=LISTED, most=6 * W))),
        noised(3 * W, WARDS),
    ),
    Case(
        "shares of no count",
        statement(*shared(people=people(where=LISTED, count=Literal(1)))),
        noised(3 * W, WARDS),
    ),
    Case(
        "rows that multiply after their share",
        statement(
            *shared(
                source=JoinedRows(
                    both(rows()), StoredTable("wards", "w"), f("eq", c("w", "ward"), c("r", "k"))
                )
            )
        ),
        noised(3 * W, WARDS),
    ),
    Case(
        "shares of another part",
        statement(
            *shared(people=people(part="few", where=LISTED))[:2],
            ("few", replace(rows(), where=f("and", there(PERSON), f("gt", c("t", "x"), 9)))),
            ("people", people(part="few", where=LISTED)),
        ),
        noised(3 * W, WARDS),
    ),
    Case("own shares that are too large", statement(own_counts(COUNT, most=6 * W)), noised(3 * W)),
    Case("own shares that are negative", statement(own_counts(COUNT, least=-5 * W)), noised(3 * W)),
    Case("own shares of no count", statement(own_counts(COUNT, among=Literal(1))), noised(3 * W)),
    Case(
        "own shares of fewer rows",
        statement(own_counts(COUNT, among=f("greatest", 1, f("count_values", f("nullif", c("t", "a"), 1))))),
        noised(3 * W),
    ),
    Case("own shares in every ward", statement(own_counts(COUNT, c("t", "k"))), noised(3 * W)),
    Case(
        "sums at the share of a count",
        statement(own_counts(f("sum", f("clamp", c("t", "a"), 0, 9)))),
        noised(3 * W),
    ),
    # Choices.
    Case(
        "a choice within wards",
        statement(total(COUNT, ranked(by=c("t", "k")), f("le", c("r", "j"), 2))),
        noised(2),
    ),
    Case("the other end of a choice", statement(total(COUNT, ranked(), f("ge", c("r", "j"), 2))), noised(2)),
    Case("a wider choice", statement(total(COUNT, ranked(), f("le", c("r", "j"), 5))), noised(2)),
    Case(
        "a choice that multiplies",
        statement(
            total(
                COUNT,
                JoinedRows(ranked(), StoredTable("wards", "w"), Literal(True)),
                f("le", c("r", "j"), 2),
            )
        ),
        noised(2),
    ),
    Case(
        "a choice decided by ties",
        statement(total(COUNT, ranked(c("t", "k")), f("le", c("r", "j"), 2))),
        noised(2),
        seen=False,
    ),
    # Bits.
    Case(
        "one bit read three times",
        statement(*bit_counts(places=(0, 0, 0), part=masks(replace(BITS, rows=(("a", 1),))))),
        noised(moves(W, W, W**2), WARDS),
    ),
    Case(
        "masks of several rows",
        statement(*bit_counts(part=masks(BITS, c("r", "x")))),
        noised(moves(W, W, W**2), WARDS),
    ),
    Case(
        "weights of no mask",
        statement(*bit_counts(weight=f("narrow", f("least", W, f("quotient", W, 1))))),
        noised(moves(W, W, W**2), WARDS),
    ),
    Case(
        "weights for more groups",
        statement(
            *bit_counts(weight=f("narrow", f("least", W, f("quotient", 2 * W, f("bits_set", c("p", "b"))))))
        ),
        noised(moves(W, W, W**2), WARDS),
    ),
    Case(
        "keys of bits from the data",
        statement(*bit_counts(keys=(Literal("a"), Literal("b")))),
        noised(W, WARDS),
        seen=False,
    ),
    # Shares per group.
    Case("crowded cells passed over", statement(*dealt(least=21)), noised(BOTH, WARDS)),
    Case("crowded cells defined otherwise", statement(*dealt(allowed=5)), noised(BOTH, WARDS)),
    Case("crowded cells that weigh more", statement(*dealt(heavy=4 * 4 * W)), noised(BOTH, WARDS)),
    Case("an excess that is too large", statement(*dealt(excess=0)), noised(BOTH, WARDS)),
    Case(
        "a spread of other columns",
        statement(*dealt(spread=f("bits_set", f("bits_or", f("slot", c("r", "x")))), least=2, **ONLY_A)),
        noised(BOTH, ("a",)),
    ),
    Case(
        "crowded cells that are not met",
        statement(
            *dealt(
                on=f(
                    "and",
                    f("eq", c("r", "u"), c("c", "u")),
                    f("eq", c("r", "k"), c("c", "k")),
                    f("gt", c("r", "x"), 3),
                )
            )
        ),
        noised(BOTH, WARDS),
    ),
    Case(
        "a crowd of some rows",
        statement(*dealt(join=f("and", f("eq", c("r", "u"), c("p", "u")), f("gt", c("r", "x"), 2**62)))),
        noised(BOTH, WARDS),
    ),
    Case(
        "a crowd of one ward",
        statement(*dealt(shown=Among(f("grouped", c("r", "k")), (Literal("b"),)))),
        noised(BOTH, WARDS),
    ),
    Case(
        "a count of one ward",
        statement(*dealt(counted=Among(c("r", "k"), (Literal("b"),)))),
        noised(BOTH, WARDS),
        seen=False,
    ),
    # Selections and thresholds.
    Case(
        "candidates outside of the grid",
        statement(total(COUNT, inner(Query((("x", c("t", "a")),), VOTES)), None, c("r", "x")), cells=True),
        Claim((), (Chosen("m0", Fraction(1), Fraction(1, 2), 10),)),
    ),
    Case(
        "a person at every candidate",
        statement(
            total(COUNT, per_person(COUNT, f("clamp", c("t", "x"), 0, 9)), None, c("r", "g0")), cells=True
        ),
        Claim((), (Chosen("m0", Fraction(1), None, 10, True),)),
    ),
    Case(
        "scores that move both ways",
        statement(
            total(
                COUNT,
                inner(
                    Query(
                        (("x", f("max", f("clamp", c("t", "x"), 0, 9))),),
                        StoredTable("swaps", "t"),
                        there(PERSON),
                        (PERSON,),
                    )
                ),
                None,
                c("r", "x"),
            ),
            cells=True,
        ),
        Claim((), (Chosen("m0", Fraction(9), None, 10, True),)),
    ),
    Case(
        "a threshold on rows",
        statement(total(COUNT, StoredTable("ready", "t"), there(PERSON), c("t", "k"))),
        Claim(None, (Kept("m0", 2),)),
        seen=False,
    ),
    Case(
        "keys found without a threshold",
        statement(total(COUNT, VOTES, None, c("t", "k"))),
        Claim(None, noised(1).releases),
        seen=False,
    ),
    Case(
        "more keys than the threshold allows for",
        statement(total(COUNT, per_person(COUNT, f("gt", c("t", "a"), 3)), None, c("r", "g0"))),
        Claim(None, (Kept("m0", 1),)),
    ),
    # Norms.
    Case("less in one group", statement(*shared()), noised(moves(3 * W, W, 9 * W**2), WARDS)),
    Case("less in l2", statement(*dealt()), noised(moves(4 * W, 2 * W, 4 * W**2), WARDS)),
    Case("less in l1", statement(*dealt()), noised(moves(3 * W, 2 * W, 8 * W**2), WARDS)),
    Case(
        "half of replace in l2",
        statement(*shared(rows=rows("swaps"))),
        noised(moves(6 * W, 3 * W, 9 * W**2), WARDS),
    ),
    Case(
        "half of replace in cells",
        statement(*shared(rows=rows("swaps"))),
        Claim((WARDS,), (Reached("m0", 3 * W),)),
    ),
    Case(
        "fewer units that are swapped",
        statement(*shared(rows=rows("swaps"))),
        Claim((WARDS,), (Swapped("m0", 2 * W),)),
    ),
    Case(
        "sums that lean further than claimed",
        statement(*shared(rows=rows("swaps", a=f("clamp", c("t", "a"), -4, 9)), scalar=LEANING)),
        Claim((WARDS,), (Swapped("m0", 27 * W, Fraction(1, 3)),)),
        seen=False,
    ),
    Case(
        "sums of both signs as if none were negative",
        statement(*shared(rows=rows("swaps", a=f("clamp", c("t", "a"), -9, 9)), scalar=LEANING)),
        Claim((WARDS,), (Swapped("m0", 27 * W),)),
        seen=False,
    ),
    Case(
        "fewer units of sums that lean",
        statement(*shared(rows=rows("swaps", a=f("clamp", c("t", "a"), -3, 9)), scalar=LEANING)),
        Claim((WARDS,), (Swapped("m0", 27 * W - 1, Fraction(1, 3)),)),
        seen=False,
    ),
    Case(
        "swaps where people come and go",
        statement(*dealt()),
        Claim((WARDS,), (Swapped("m0", 4 * W),)),
        seen=False,
    ),
    Case(
        "half of replace in blocks",
        statement(*shared(rows=rows("swaps"))),
        Claim((WARDS,), (Divided("m0", 3 * W),)),
    ),
    # Functions that raise for some cells.
    raising("an overflow of a sum", f("add", c("t", "x"), 1)),
    raising("an overflow of a difference", f("subtract", c("t", "x"), 1)),
    raising("an overflow of a product", f("multiply", c("t", "x"), c("t", "x"))),
    raising("an overflow of a size", f("absolute", c("t", "x"))),
    raising("a cast to fewer bits", f("narrow", c("t", "x"))),
    raising("a division by zero", f("quotient", 5, c("t", "x"))),
    raising("a remainder by minus one", f("modulo", c("t", "x"), -1)),
    raising("a text compared with a number", f("eq", c("t", "s"), 5)),
    raising("texts and numbers in one choice", f("coalesce", c("t", "s"), 2), seen=False),
    raising("Q5: an escape whose case changes", f("ilike", c("t", "s"), "xA", "a")),
    raising("a pattern that ends in its escape", f("like", c("t", "s"), "x!", "!")),
    raising("a function that nobody declared", f("error", c("t", "s")), seen=False),
    # Constants without an interval, or without a type of their own.
    voted("least of NULL", f("least", f("clamp", AGED, 0, 100), NULL), 0),
    voted("greatest of NULL", f("greatest", f("multiply", f("clamp", AGED, 0, 100), -1), NULL), 0),
    voted("doubles cut at NULL", f("to_whole", f("clamp_real", c("t", "c"), NULL, NULL)), 0),
    voted(
        "a choice between a constant and a cell",
        When(((f("lt", AGED, 0), Literal(1)),), f("to_whole", f("clamp", AGED, 0, 9))),
        1,
    ),
    voted(
        "a choice between a small and a large constant",
        When(((f("lt", AGED, 0), Literal(1)),), Literal(9)),
        1,
    ),
    voted("the first of NULL and a cell", f("coalesce", f("to_whole", NULL), f("clamp", AGED, 0, 9)), 1),
    voted("bits of 128", f("bits_set", f("multiply_wide", AGED, -1)), 64),
    voted("a choice of 71 bits", When(((f("gt", AGED, 7), Literal(2**70)),), Literal(0)), 2**70, seen=False),
    voted("a sum of 71 bits", f("add", f("clamp", AGED, 0, 9), 2**70), 2**70 + 9, seen=False),
    voted("ends of 167 bits", f("clamp", AGED, 0, 10**50), 2**63 - 1, seen=False),
    voted("a remainder of 128 bits", f("modulo", f("clamp", AGED, 0, 9), 2**127), 2**127, seen=False),
    counted("less than 128 bits", f("lt", AGED, 2 * 10**38)),
    counted("among 71 bits", Among(AGED, (Literal(2**70),))),
    Case(
        "a mask of NULL alone",
        statement(
            total(COUNT, inner(Query((("u", c("z", "u")), ("m", MASK)), MASKS, None, (c("z", "u"), MASK))))
        ),
        noised(2),
    ),
    # Constants that are equal in Python, but not for an engine.
    Case("one as an integer and as a double", statement(*converted(Fraction(1))), noised(W)),
    Case("a filter on integers, a sum of doubles", statement(mixed(REFINED)), noised(2**63), seen=False),
    # Dates.
    voted("a year before Christ", f("clamp", f("part", "year", BEFORE), -6 * 10**6, 0), 10**6),
    voted(
        "days between the ends of the calendar", f("difference", "day", FIRST, LAST), 11 * 10**6 * 366 + 366
    ),
    voted("the last year of a text", f("part", "year", f("parse_day", "9999-12-31")), 9998),
    voted(
        "days of the years of texts",
        f("difference", "day", f("parse_day", "0001-01-01"), f("parse_day", "9999-12-31")),
        3652057,
    ),
    voted("years that are no leap years", SINCE, 366 * DAY),
    counted("a date compared with a moment", f("eq", f("parse_day", "9999-12-31"), Literal(MILLENNIUM))),
    counted("a date among moments", Among(f("parse_day", "9999-12-31"), (Literal(MILLENNIUM),))),
    # Keys outside of the engine.
    Case(
        "doubles as keys",
        statement(total(COUNT, VOTES, None, c("t", "c"))),
        noised(1, (Fraction(1, 2),)),
        seen=False,
    ),
    Case(
        "one key declared twice",
        statement(total(COUNT, VOTES, None, c("t", "k"))),
        noised(1, ("a", "a")),
        seen=False,
    ),
)
