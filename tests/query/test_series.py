"""Windows over each person's rows: the same in every engine and order of rows, and within their price."""

from random import Random

import pytest
from tests.query.gate.oracle import violation
from tests.query.gate.people import family, others, worst
from tests.query.questions import clinic
from tests.query.worlds import extreme, open_world, requests, row

from discreet.engines.reference.engine import Reference
from discreet.engines.reference.window import window
from discreet.errors import ProofError
from discreet.privacy.sensitivity import Sensitivity
from discreet.query.check.question import check
from discreet.query.language.sql import read
from discreet.query.plan import Call, Column, Literal, Order, Window, windowed
from discreet.query.price.proving import declarations, proof_of
from discreet.query.price.quote import quote
from discreet.query.proof import Claim, Noised, prove
from discreet.query.rewrite.statements import statements
from discreet.query.statement import Inner, Query, Statement, StoredTable

QUESTIONS = (
    "SELECT COUNT(*) FROM (SELECT person, ward, LAG(ward) OVER (PARTITION BY person ORDER BY day) AS b "
    "FROM visits) WHERE ward = b",
    "SELECT SUM(CLAMP(score - b, -5, 5)) FROM (SELECT person, score, LEAD(score, 2, 0) OVER (PARTITION BY "
    "person ORDER BY day DESC) AS b FROM visits)",
    "SELECT COUNT(*) FROM (SELECT person, SUM(age) OVER (PARTITION BY person ORDER BY day) AS s FROM visits) "
    "WHERE s > 60",
    "SELECT SUM(CLAMP(s, 0, 99)) FROM (SELECT person, SUM(cost) OVER (PARTITION BY person ORDER BY day, age "
    "ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS s FROM visits)",
    "SELECT COUNT(*) FROM (SELECT person, age, AVG(age) OVER (PARTITION BY person, ward) AS m FROM visits) "
    "WHERE age > m",
    "SELECT f, COUNT(*) FROM (SELECT person, FIRST_VALUE(ward) OVER (PARTITION BY person ORDER BY day "
    "NULLS FIRST) AS f FROM visits) GROUP BY f",
    "SELECT ward, COUNT(*) FROM (SELECT person, ward FROM visits QUALIFY ROW_NUMBER() OVER (PARTITION BY "
    "person ORDER BY moment DESC) <= 2) GROUP BY ward",
    "SELECT COUNT(*) FROM (SELECT person, RANK() OVER (PARTITION BY person ORDER BY score DESC) AS r, "
    "DENSE_RANK() OVER (PARTITION BY person ORDER BY ward) AS d FROM visits) WHERE r <= 3 AND d = 1",
    "SELECT COUNT(*), COUNT(DISTINCT person) FROM (SELECT person, COUNT(*) OVER (PARTITION BY person) AS n "
    "FROM visits) WHERE n > 2",
    "SELECT SUM(CLAMP(g, 0, 9)) FROM (SELECT person, ward, COUNT(*) - LAG(COUNT(*), 1, 0) OVER (PARTITION BY "
    "person ORDER BY ward) AS g FROM visits GROUP BY person, ward)",
    "SELECT COUNT(*) FROM (SELECT person, ROW_NUMBER() OVER (PARTITION BY person, flag ORDER BY day) AS n, "
    "LAST_VALUE(age) OVER (PARTITION BY person ORDER BY day) AS v, MIN(score) OVER (PARTITION BY person "
    "ORDER BY city) AS m FROM visits) WHERE n = 1 AND v > 3 OR m < 0",
    "SELECT q, COUNT(*) FROM (SELECT person, NTILE(3) OVER (PARTITION BY person ORDER BY age) AS q FROM "
    "visits) GROUP BY q",
    "SELECT s, w, COUNT(*) FROM (SELECT person, NTH_VALUE(ward, 2) OVER (PARTITION BY person ORDER BY day) "
    "AS s, NTH_VALUE(ward, 3) OVER (PARTITION BY person ORDER BY day DESC ROWS BETWEEN UNBOUNDED PRECEDING "
    "AND UNBOUNDED FOLLOWING) AS w FROM visits) GROUP BY s, w",
)


@pytest.mark.parametrize("every", [2, pytest.param(1, marks=pytest.mark.fuzz)])
def test_windows_mean_the_same_in_every_engine_and_order(every: int) -> None:
    """Rows are offered in two orders; ties of a window are decided by neither."""
    catalog = clinic()
    data = [row(Random(n // 2), person) for n, person in enumerate(("a", "a", "a", "a", "b", "b", "c", None))]
    data += data[:3]
    for question in QUESTIONS[::every]:
        checked = check(read(question), catalog)
        answers = []
        for rows in (data, data[::-1]):
            with open_world(rows, [], catalog) as engine:
                offered = [name for name, _ in catalog.tables[0].offered]
                seen = engine.connection.execute(f"SELECT {', '.join(offered)} FROM visits").fetchall()
                answers.append(engine._exact(requests(checked), 7))
            plain = [dict(zip(offered, cells, strict=True)) for cells in seen]
            answers.append(Reference({"visits": plain})._exact(statements(checked), 7))
        totals = [{n: dict(t) for n, t in answer._totals.items()} for answer in answers]
        assert all(other == totals[0] for other in totals), question


@pytest.mark.parametrize(
    ("neighbours", "every"),
    [("add-remove", 3), *(pytest.param(n, 1, marks=pytest.mark.fuzz) for n in ("add-remove", "replace"))],
)
def test_windows_cost_no_more_than_is_charged(neighbours: str, every: int) -> None:
    catalog, random = clinic(rows=2, neighbours=neighbours), Random(3)
    known = family((*worst()[::every], (extreme(random, "7"), [])), others(), catalog)
    for question in QUESTIONS[::every]:
        checked = check(read(question), catalog)
        priced = quote(checked, epsilon=1, conversion=None, delta=0)
        proof_of(priced, catalog)
        integers = known.integers(statements(checked), replaced=neighbours == "replace")
        for one, other in known.pairs(neighbours):
            assert violation(priced, integers[one], integers[other]) is None, question
    known.close()


def test_a_window_is_what_the_words_say() -> None:
    days, values, who = (1, 2, 2, None), (5, None, 7, 9), ("p", "p", "p", "p")
    order = [(days, False, False)]
    tie = [*order, ((0, 1, 2, 3), False, False)]
    whole, so_far, two = ("rows", None, None), ("range", None, 0), ("rows", -1, 0)

    def found(name, arguments, terms, frame):  # type: ignore[no-untyped-def]
        return window(name, arguments, who, terms, frame)

    assert found("row_number", [], tie, whole) == [1, 2, 3, 4]
    assert found("rank", [], order, whole) == [1, 2, 2, 4]
    assert found("dense_rank", [], order, whole) == [1, 2, 2, 3]
    assert found("ntile", [(3,) * 4], tie, whole) == [1, 1, 2, 3]
    assert found("ntile", [(9,) * 4], tie, whole) == [1, 2, 3, 4]
    assert found("lag", [values, (1,) * 4], tie, whole) == [None, 5, None, 7]
    assert found("lead", [values, (2,) * 4], tie, whole) == [7, 9, None, None]
    assert found("sum", [values], order, so_far) == [5, 12, 12, 21]
    assert found("sum", [values], tie, two) == [5, 5, 7, 16]
    assert found("count", [values], [], whole) == [3] * 4
    assert found("max", [values], order, so_far) == [5, 7, 7, 9]
    assert found("first_value", [values], [(days, True, False), tie[1]], so_far) == [None] * 4
    assert found("last_value", [values], tie, so_far) == [5, None, 7, 9]
    assert found("nth_value", [values, (3,) * 4], tie, so_far) == [None, None, 7, 7]
    assert found("nth_value", [values, (2,) * 4], order, so_far) == [None, None, None, None]
    assert found("nth_value", [values, (5,) * 4], tie, whole) == [None] * 4
    assert window("row_number", [], ("p", "q", "p", "q"), tie, whole) == [1, 1, 2, 2]


def _counted(function: str, arguments: tuple, partition: tuple, order: tuple, frame: tuple) -> None:  # type: ignore[type-arg]
    """Prove a count of rows that one window keeps."""
    base = Query((("u", Column("v", "person")), ("a", Column("v", "age"))), StoredTable("visits", "v"))
    place = Call("rank", (Column("b", "u"), Column("b", "a")))
    ranked = Query((("u", Column("b", "u")), ("a", Column("b", "a")), ("j", place)), Inner(base, "b"))
    terms = tuple(Order(Column("r", name)) for name in order)
    keys = tuple(Column("r", name) for name in partition)
    call = windowed(Window(function, arguments, keys, terms, frame))
    seen = Query((("u", Column("r", "u")), ("w", call)), Inner(ranked, "r"))
    there = Call("not", (Call("is_null", (Column("s", "u"),)),))
    first = Call("eq", (Column("s", "w"), Literal(1)))
    body = Query((("m0", Call("count_rows", ())),), Inner(seen, "s"), Call("and", (there, first)))
    claim = Claim((), (Noised("m0", Sensitivity.of(1)),))
    prove([Statement((), body, 0, ("m0",))], declarations(clinic()), [claim])


ALL, TWO, SO_FAR = ("rows", None, None), ("rows", -1, 0), ("range", None, 0)
AGE = (Column("r", "a"),)


def test_the_number_of_a_row_keeps_one_of_each_person() -> None:
    _counted("row_number", (), ("u",), ("a", "j"), ALL)


@pytest.mark.parametrize(
    ("window", "words"),
    [
        (("row_number", (), ("a",), ("j",), ALL), "other people"),
        (("row_number", (), (), ("j",), ALL), "other people"),
        (("row_number", (), ("u",), ("a",), ALL), "tie"),
        (("ntile", (Literal(2),), ("u",), ("a",), ALL), "tie"),
        (("ntile", (Literal(2),), ("a",), ("j",), ALL), "other people"),
        (("ntile", (Literal(0),), ("u",), ("a", "j"), ALL), "does not know"),
        (("ntile", AGE, ("u",), ("a", "j"), ALL), "does not know"),
        (("row_number", (), ("u",), (), ALL), "tie"),
        (("lag", (*AGE, Literal(1)), ("u",), ("a",), ALL), "tie"),
        (("first_value", AGE, ("u",), ("a",), SO_FAR), "tie"),
        (("nth_value", (*AGE, Literal(2)), ("u",), ("a",), ALL), "tie"),
        (("nth_value", (*AGE, Literal(2)), ("a",), ("j",), ALL), "other people"),
        (("nth_value", (*AGE, Literal(0)), ("u",), ("j",), ALL), "does not know"),
        (("nth_value", (*AGE, *AGE), ("u",), ("j",), ALL), "does not know"),
        (("nth_value", (*AGE, Literal(2)), ("u",), ("j",), ALL), "any number of rows"),
        (("sum", AGE, ("u",), ("a",), TWO), "tie"),
        (("sum", AGE, ("u",), (), SO_FAR), "tie"),
        (("sum", (Literal("x"),), ("u",), ("j",), TWO), "does not take"),
        (("ntile", (Literal(4),), ("u",), ("j",), ALL), "any number of rows"),
        (("lag", (*AGE, Literal(-1)), ("u",), ("j",), ALL), "does not know"),
        (("sum", AGE, ("u",), ("j",), ("range", -1, 0)), "range"),
        # Two rows of a person may have the same rank, and each partition has a first row.
        (("rank", (), ("u",), ("j",), ALL), "any number of rows"),
        (("row_number", (), ("u", "a"), ("j",), ALL), "any number of rows"),
    ],
)
def test_windows_that_no_rule_covers_are_refused(window: tuple, words: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(ProofError, match=words):
        _counted(*window)
