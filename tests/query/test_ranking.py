"""The rows of each person in an order: the first, the last and the n-th are whom an engine would name."""

from random import Random

import pytest
from tests.query.gate.oracle import violation
from tests.query.gate.people import family, others, worst
from tests.query.questions import clinic
from tests.query.worlds import Row, extreme, open_world, requests, row

from discreet.engines.reference.engine import Reference
from discreet.errors import ProofError, QueryError
from discreet.query.check.question import check
from discreet.query.language.sql import read
from discreet.query.plan import Call, Column
from discreet.query.price.proving import declarations, proof_of
from discreet.query.price.quote import quote
from discreet.query.proof import Claim, Noised, prove
from discreet.query.rewrite.statements import statements
from discreet.query.statement import Inner, Query, Statement

FIRST = (
    "SELECT {} FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY person ORDER BY {}) AS n FROM visits) AS t "
    "WHERE n {}"
)
QUESTIONS = [
    FIRST.format(value, order, kept)
    for value, order, kept in (
        ("COUNT(*)", "day", "= 1"),
        ("SUM(age)", "day DESC", "= 1"),
        ("SUM(score)", "score DESC, huge", "<= 2"),
        ("SUM(score)", "city DESC, cost", "IN (1, 3)"),
        ("SUM(age), COUNT(DISTINCT person)", "moment DESC, flag", "= 2"),
        ("COUNT(*)", "flag, ward DESC", "> 1"),
    )
]


def rows(random: Random) -> list[Row]:
    return [row(random, person) for person in ("a", "a", "a", "b", "b", "c", None)]


@pytest.mark.parametrize("question", QUESTIONS)
def test_numbers_are_the_same_in_every_engine(question: str) -> None:
    catalog = clinic()
    checked = check(read(question), catalog)
    for seed in range(3):
        data = rows(Random(seed))
        with open_world(data, [], catalog) as engine:
            offered = [name for name, _ in catalog.tables[0].offered]
            seen = engine.connection.execute(f"SELECT {', '.join(offered)} FROM visits").fetchall()
            found = engine._exact(requests(checked), 7)
        plain = [dict(zip(offered, cells, strict=True)) for cells in seen]
        wanted = Reference({"visits": plain})._exact(statements(checked), 7)
        assert {n: dict(t) for n, t in found._totals.items()} == {
            n: dict(t) for n, t in wanted._totals.items()
        }


def test_the_last_row_is_the_one_with_the_latest_day() -> None:
    question = "SELECT SUM(score) FROM (SELECT person, score, ROW_NUMBER() OVER (PARTITION BY person " + (
        "ORDER BY day DESC) AS n FROM visits) AS t WHERE n = 1"
    )
    checked = check(read(question), clinic())
    assert checked.rows.bound == 1
    data = [{"person": who, "score": score, "day": day} for who, score, day in _SEEN]
    found = Reference({"visits": data})._exact(statements(checked), 7)._totals["m0"][()]
    assert found == 2 + 5 - 7


_SEEN = (("a", 1, 10), ("a", 2, 20), ("a", 3, None), ("b", 5, 1), ("c", -7, None), ("c", -7, None))


def test_first_rows_cost_no_more_than_is_charged() -> None:
    catalog, random = clinic(rows=2), Random(3)
    known = family((*worst(), (extreme(random, "7"), [])), others(), catalog)
    for question in QUESTIONS:
        checked = check(read(question), catalog)
        priced = quote(checked, epsilon=1, conversion=None, delta=0)
        proof_of(priced, catalog)
        integers = known.integers(statements(checked), replaced=False)
        for one, other in known.pairs("add-remove"):
            assert violation(priced, integers[one], integers[other]) is None, question
    known.close()


def _rank(statement: Statement, change: object) -> Statement:
    """Return a statement with another numbering inside."""

    def again(query: Query) -> Query:
        items = tuple((name, change(s) if _is_rank(s) else s) for name, s in query.items)  # type: ignore[operator]
        source = query.source
        if isinstance(source, Inner):
            source = Inner(again(source.query), source.alias)
        return Query(items, source, query.where, query.group, query.having)

    return Statement(statement.parts, again(statement.body), statement.keys, statement.outputs)


def _is_rank(scalar: object) -> bool:
    return isinstance(scalar, Call) and scalar.function == "rank"


@pytest.mark.parametrize(
    "change",
    [
        lambda rank: Call("rank", (rank.arguments[1].arguments[0], *rank.arguments)),
        lambda rank: Call("rank", rank.arguments[:2]),
        lambda rank: Call("rank", (Column(rank.arguments[0].relation, "c0"), *rank.arguments[1:])),
    ],
    ids=("not by the person", "decided by a tie", "by another column"),
)
def test_other_numberings_are_refused(change: object) -> None:
    question = (
        "SELECT COUNT(*) FROM (SELECT ward, age, ROW_NUMBER() OVER (PARTITION BY person ORDER BY day DESC) "
    )
    checked = check(read(question + "AS n FROM visits) AS t WHERE n = 1"), clinic())
    priced = quote(checked, epsilon=1, conversion=None, delta=0)
    (running,) = statements(checked)
    claim = Claim((), (Noised("m0", priced.shares[0].measured.sensitivity),))
    prove([running], declarations(clinic()), [claim])
    with pytest.raises(ProofError):
        prove([_rank(running, change)], declarations(clinic()), [claim])


@pytest.mark.parametrize(
    "window",
    [
        "ROW_NUMBER() OVER (PARTITION BY ward ORDER BY day)",
        "ROW_NUMBER() OVER (ORDER BY day)",
        "ROW_NUMBER() OVER (PARTITION BY LOWER(ward) ORDER BY day)",
        "ROW_NUMBER() OVER (PARTITION BY LOWER(person) ORDER BY day)",
        "RANK() OVER (PARTITION BY ward ORDER BY day)",
        "LAG(age) OVER (ORDER BY person, day)",
        "SUM(age) OVER ()",
        "SUM(age) OVER (PARTITION BY ward, flag)",
        "PERCENT_RANK() OVER (PARTITION BY person ORDER BY day)",
        "ROW_NUMBER() OVER (PARTITION BY person ORDER BY COUNT(*))",
        "ROW_NUMBER() OVER (PARTITION BY person)",
    ],
)
def test_windows_that_see_other_rows_are_refused(window: str) -> None:
    with pytest.raises(QueryError):
        check(
            read(f"SELECT COUNT(*) FROM (SELECT person, {window} AS n FROM visits) AS t WHERE n = 1"),
            clinic(),
        )


def test_a_join_that_multiplies_rows_forgets_that_there_was_one() -> None:
    inner = (
        "(SELECT person, ward, ROW_NUMBER() OVER (PARTITION BY person ORDER BY day) AS n FROM visits) AS t"
    )
    many = check(read(f"SELECT COUNT(*) FROM {inner} JOIN wards w ON w.floor >= 1 WHERE n = 1"), clinic())
    once = check(read(f"SELECT COUNT(*) FROM {inner} JOIN wards w ON w.ward = t.ward WHERE n = 1"), clinic())
    assert (many.rows.bound, once.rows.bound) == (None, 1)
    for checked in (many, once):
        proof_of(quote(checked, epsilon=1, conversion=None, delta=0), clinic())
