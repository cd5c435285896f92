"""Rows one after the other: unions and full joins, on engines that agree and against people who try."""

from random import Random

import duckdb
import pytest
from tests.query.gate.oracle import violation
from tests.query.gate.people import family, others, worst
from tests.query.questions import clinic
from tests.query.worlds import extreme, open_world, requests, row

from discreet.engines.duckdb.engine import open_tables
from discreet.engines.protocol import Origin
from discreet.engines.reference.engine import Reference
from discreet.errors import ProofError, QueryError
from discreet.privacy.sensitivity import Sensitivity
from discreet.query.catalog.manifest import Catalog, declare
from discreet.query.check.question import check
from discreet.query.language.sql import read
from discreet.query.plan import Call, Column, Literal
from discreet.query.price.proving import declarations, proof_of
from discreet.query.price.quote import quote
from discreet.query.proof import Claim, Noised, prove
from discreet.query.rewrite.statements import statements
from discreet.query.statement import Inner, Query, Stacked, Statement, StoredTable

TWICE = "(SELECT person, ward, age FROM visits UNION ALL SELECT person, ward, score FROM visits WHERE flag)"
SHARED = "(SELECT person, age AS x FROM visits UNION ALL SELECT person, born FROM people)"
FULL = "visits v FULL JOIN people p ON v.person = p.person"
QUESTIONS = (
    f"SELECT COUNT(*) FROM {TWICE} t",
    f"SELECT ward, SUM(CLAMP(age, -3, 9)), COUNT(DISTINCT person) FROM {TWICE} t GROUP BY ward",
    f"SELECT SUM(CLAMP(x, 0, 3000)), COUNT(DISTINCT person) FROM {SHARED} t",
    f"SELECT COUNT(*) FROM (SELECT person, COUNT(*) AS n FROM {SHARED} t GROUP BY person) WHERE n > 2",
    f"SELECT COUNT(*) FROM {SHARED} a JOIN visits b ON a.person = b.person",
    "SELECT COUNT(*) FROM (SELECT person, x, ROW_NUMBER() OVER (PARTITION BY person ORDER BY x) AS n "
    f"FROM {SHARED} t) WHERE n <= 2",
    "SELECT COUNT(DISTINCT person) FROM (SELECT person FROM visits UNION SELECT person FROM people) t",
    "SELECT COUNT(*) FROM (SELECT person FROM visits INTERSECT SELECT person FROM people) t",
    "SELECT COUNT(*) FROM (SELECT person FROM people EXCEPT SELECT person FROM visits WHERE flag) t",
    f"SELECT COUNT(*), SUM(CLAMP(v.age, 0, 9)), SUM(CLAMP(p.born, 0, 2000)) FROM {FULL}",
    f"SELECT v.ward, COUNT(*) FROM {FULL} GROUP BY v.ward",
    f"SELECT COUNT(*) FROM {FULL} AND v.age > 40 AND p.born > 1950",
    "SELECT COUNT(DISTINCT person) FROM visits FULL JOIN people USING (person) WHERE born IS NULL OR age > 4",
    "SELECT COUNT(*) FROM (SELECT person, MAX(age) AS m FROM visits GROUP BY person) a FULL JOIN "
    "(SELECT person, MIN(born) AS b FROM people GROUP BY person) b USING (person) WHERE m IS NULL OR b > 1",
    "SELECT COUNT(*), SUM(CLAMP(n, 0, 3)) FROM (SELECT person, COUNT(*) AS n FROM visits GROUP BY person "
    "UNION ALL SELECT person, MAX(age) FROM visits GROUP BY person UNION ALL SELECT person, 7 FROM people)",
)


def _frames(catalog: Catalog, random: Random) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    visits = [row(random, person) for person in ("a", "a", "a", "b", "b", "c", None)]
    people = [{"person": who, "version": 0, "born": born} for who, born in _BORN]
    return visits, people


_BORN = (("a", 1960), ("b", None), ("d", 1999), ("d", 1980), (None, 1970))


@pytest.mark.parametrize("question", QUESTIONS)
def test_unions_mean_the_same_in_every_engine(question: str) -> None:
    catalog = clinic()
    checked = check(read(question), catalog)
    data, born = _frames(catalog, Random(5))
    with open_world(data, born, catalog) as engine:
        offered = {t.name: [name for name, _ in t.offered] for t in catalog.tables}
        plain = {
            name: [
                dict(zip(names, cells, strict=True))
                for cells in engine.connection.execute(f"SELECT {', '.join(names)} FROM {name}").fetchall()
            ]
            for name, names in offered.items()
        }
        found = engine._exact(requests(checked), 7)
    wanted = Reference(plain)._exact(statements(checked), 7)
    assert {n: dict(t) for n, t in found._totals.items()} == {n: dict(t) for n, t in wanted._totals.items()}


@pytest.mark.parametrize(
    ("neighbours", "every"),
    [("add-remove", 3), *(pytest.param(n, 1, marks=pytest.mark.fuzz) for n in ("add-remove", "replace"))],
)
def test_unions_cost_no_more_than_is_charged(neighbours: str, every: int) -> None:
    """A person with many rows on both sides moves no answer further than its noise is made for."""
    catalog, random = clinic(rows=2, neighbours=neighbours), Random(3)
    known = family(
        (*worst()[::every], (extreme(random, "7"), [{"person": "7", "version": 0, "born": 9}] * 3)),
        others(),
        catalog,
    )
    for question in QUESTIONS[::every]:
        checked = check(read(question), catalog)
        priced = quote(checked, epsilon=1, conversion=None, delta=0)
        proof_of(priced, catalog)
        integers = known.integers(statements(checked), replaced=neighbours == "replace")
        for one, other in known.pairs(neighbours):
            assert violation(priced, integers[one], integers[other]) is None, question
    known.close()


def test_everybody_is_once_in_a_full_join_of_one_row_each() -> None:
    question = (
        "SELECT COUNT(*), SUM(CLAMP(m, 0, 99)), SUM(CLAMP(b, 0, 2000)) FROM (SELECT person, MAX(age) AS m "
        "FROM visits GROUP BY person) x FULL JOIN (SELECT person, MIN(born) AS b FROM people GROUP BY "
        "person) y USING (person)"
    )
    checked = check(read(question), clinic())
    visits = [{"person": who, "age": age} for who, age in (("a", 5), ("a", 7), ("b", 9), (None, 50))]
    people = [{"person": who, "born": born} for who, born in (("b", 1000), ("c", 1500), (None, 1))]
    found = Reference({"visits": visits, "people": people})._exact(statements(checked), 7)._totals
    # Somebody in visits alone, somebody in people alone, and one in both.
    assert [found[f"m{n}"][()] for n in range(3)] == [3, 7 + 9, 1000 + 1500]
    assert checked.rows.bound == 2


def test_limits_of_a_union_add_up() -> None:
    twice = "SELECT COUNT(*) FROM (SELECT age FROM visits UNION ALL SELECT score FROM visits)"
    people = declare({"tables": {"visits": {"columns": {"age": "integer", "score": "integer"}}}})
    assert check(read(twice), people).measurements[0].sensitivity == Sensitivity.of(2)
    of_people = check(read(f"SELECT COUNT(*) FROM {SHARED}"), clinic())
    assert of_people.rows.rows == 3 + 1


def _stacked(*queries: Query, claimed: int | None = None, catalog: Catalog | None = None) -> None:
    """Prove a count of the rows of a union that keeps one row of each person in every part."""
    one = Query((("u", Column("s", "u")),), Stacked(queries, "s"), None, ())
    there = Call("not", (Call("is_null", (Column("t", "u"),)),))
    body = Query((("m0", Call("count_rows", ())),), Inner(one, "t"), there)
    claim = Claim((), (Noised("m0", Sensitivity.of(claimed or len(queries))),))
    prove([Statement((), body, 0, ("m0",))], declarations(catalog or clinic()), [claim])


def _one(table: str, item: object = None, name: str = "u", **more: object) -> Query:
    """Return one row of each person of a table."""
    person = Column(table, "person")
    text = Call("to_text", (person,)) if item is None else item
    return Query(((name, text),), StoredTable(table, table), None, **{"group": (person,), **more})  # type: ignore[arg-type]


PUBLIC = Query((("u", Column("w", "ward")),), StoredTable("wards", "w"))
EVERY = Query((("u", Call("to_text", (Column("v", "person"),))),), StoredTable("visits", "v"))


def test_a_union_of_one_row_each_moves_by_their_number() -> None:
    _stacked(_one("visits"), _one("people"))
    with pytest.raises(ProofError, match="moves further"):
        _stacked(_one("visits"), _one("people"), claimed=1)


@pytest.mark.parametrize(
    ("queries", "words"),
    [
        ((_one("visits"), PUBLIC), "public rows"),
        ((_one("visits"), EVERY), "any number of rows"),
        ((_one("visits"), _one("people", name="v")), "other names"),
        ((_one("visits"),), "other names"),
        ((_one("visits"), _one("people", Call("max", (Column("people", "born"),)))), "different types"),
        # As they are stored, identifiers of two tables may be of two types.
        (
            (_one("visits", Column("visits", "person")), _one("people", Column("people", "person"))),
            "different types",
        ),
        ((_one("visits"), _one("people", Literal("x"))), "moves further|no person|have no person"),
    ],
)
def test_unions_that_no_rule_covers_are_refused(queries: tuple[Query, ...], words: str) -> None:
    with pytest.raises(ProofError, match=words):
        _stacked(*queries)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("(SELECT person, age FROM visits UNION ALL SELECT ward, floor FROM wards)", "belong to nobody"),
        ("(SELECT person, age FROM visits UNION ALL SELECT person FROM people)", "numbers of columns"),
        ("(SELECT person, age FROM visits UNION ALL SELECT person, ward FROM visits)", "mixes"),
        (
            "(SELECT person, age FROM visits UNION SELECT ward, age FROM visits)",
            "group by the person|over several",
        ),
        ("(SELECT person FROM visits EXCEPT ALL SELECT person FROM people)", "one by one"),
        ("(SELECT ward FROM visits INTERSECT SELECT ward FROM visits)", "over several people"),
        ("visits v FULL JOIN wards w ON v.ward = w.ward", "belong to nobody"),
        ("visits v FULL JOIN people p ON v.age = p.born", "joined on the person"),
        ("(SELECT person FROM visits UNION ALL SELECT person FROM people ORDER BY person)", "not supported"),
    ],
)
def test_unions_that_mix_people_are_refused(source: str, words: str) -> None:
    with pytest.raises(QueryError, match=words):
        check(
            read(
                f"SELECT COUNT(*) FROM {source} AS t"
                if source[0] == "("
                else f"SELECT COUNT(*) FROM {source}"
            ),
            clinic(),
        )


def _two(one: str | None, other: str | None) -> Catalog:
    """Return two tables that declare the person as they are told."""

    def table(kind: str | None) -> dict[str, object]:
        columns = {"x": "integer", **({} if kind is None else {"person": kind})}
        return {"unit": "person", "rows_per_unit": 1, "columns": columns}

    return declare({"tables": {"visits": table(one), "people": table(other)}})


SPELLINGS = (
    "SELECT COUNT(*) FROM (SELECT x FROM visits UNION ALL SELECT x FROM people) t",
    "SELECT COUNT(*) FROM (SELECT x FROM (SELECT person, x FROM visits) a UNION ALL SELECT x FROM people) t",
    "SELECT COUNT(*) FROM visits v FULL JOIN people p ON v.person = p.person",
    "SELECT COUNT(*) FROM (SELECT v.x FROM visits v JOIN people p ON v.person = p.person UNION ALL "
    "SELECT x FROM people) t",
)


@pytest.mark.parametrize("question", SPELLINGS)
def test_tables_that_spell_the_person_differently_are_not_united(question: str) -> None:
    """Who is 7 as a declared integer is 007 as a text: two people, where one is protected."""
    for kind in (None, "integer", "text"):
        check(read(question), _two(kind, kind))
    with pytest.raises(QueryError, match="declare the person differently"):
        check(read(question), _two("integer", None))


def test_the_checker_sees_that_people_are_spelt_differently() -> None:
    for kind in (None, "integer", "text", "date"):
        _stacked(_one("visits"), _one("people"), catalog=_two(kind, kind))
    for one, other in (("integer", None), ("text", "integer"), (None, "date"), ("boolean", "text")):
        with pytest.raises(ProofError, match="declare the person differently"):
            _stacked(_one("visits"), _one("people"), catalog=_two(one, other))


def test_a_decimal_is_written_like_the_integer_it_is() -> None:
    """Identifiers of undeclared type are compared as they are written, and 7.00 is 7."""
    catalog = _two(None, None)
    both = "SELECT person FROM visits UNION ALL SELECT person FROM people"
    checked = check(read(f"SELECT COUNT(DISTINCT person) FROM ({both})"), catalog)
    pairs = ("7", "7.00::DECIMAL(9,2)"), ("7.0::DOUBLE", "7::DECIMAL(9,0)"), ("0.5::FLOAT", "0.50")
    for one, other in pairs:
        connection = duckdb.connect()
        frames = {
            name: connection.sql(f"SELECT {person} AS person, 1 AS x").to_arrow_table()
            for name, person in (("visits", one), ("people", other))
        }
        origins = {t.name: Origin(frames[t.name], t.offered) for t in catalog.tables}
        with open_tables(origins) as engine:
            assert engine._exact(requests(checked), 7)._totals["m0"] == {(): 1}, (one, other)
