"""Names: one rule for when two are the same, and none of an analyst's inside a statement."""

import re
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from tests.attacks.test_sql_contributions import honest, visit
from tests.query.questions import Questions, clinic
from tests.query.worlds import open_world, requests

from discreet.errors import CatalogError, QueryError
from discreet.query.catalog.manifest import Catalog, declare
from discreet.query.check.identity import identity
from discreet.query.check.question import check
from discreet.query.language.frame import count, table
from discreet.query.language.sql import read
from discreet.query.name import folded, same
from discreet.query.plan import Block, Column, Item, Nested, Scalar, Scan, walk
from discreet.query.rewrite.statements import statements
from discreet.query.statement import Inner, JoinedRows, Listed, Named, Query, Source, Statement, StoredTable

MANY = [visit("eve", age=n, city=f"town{n}") for n in range(100)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x", "X"),
        ("ward", "WARD"),
        ("é", "É"),
        ("straße", "STRASSE"),
        ("ı", "I"),
        ("ﬁ", "FI"),
        ("ſ", "S"),
        ("K", "k"),
    ],
)
def test_names_that_some_engine_may_confuse_are_one(one: str, other: str) -> None:
    assert same(one, other)
    assert folded(folded(one)) == folded(one)
    for columns in ({one: "integer", other: "text"}, {other: "integer", one: "text"}):
        with pytest.raises(CatalogError, match="differ only by case"):
            declare({"tables": {"t": {"columns": columns}}})
    with pytest.raises(CatalogError, match="differ only by case"):
        declare({"tables": {one: {"columns": {"a": "integer"}}, other: {"columns": {"a": "integer"}}}})


def test_other_names_are_different() -> None:
    for one, other in (("x", "y"), ("a b", "ab"), ("é", "e"), ("x", "x ")):
        assert not same(one, other)


SHADOWS = [
    "SELECT {a} AS x, {b} AS X FROM visits",
    'SELECT {a} AS x, {b} AS "X" FROM visits',
    'SELECT {a} AS "é", {b} AS "É" FROM visits',
    "SELECT {a} AS x, {b} AS x FROM visits",
    "SELECT age AS person, person AS PERSON FROM visits",
    "SELECT age, {b} AS AGE FROM visits",
    "SELECT *, person AS Age FROM visits",
]


@pytest.mark.parametrize("inner", SHADOWS)
@pytest.mark.parametrize("order", [("age", "person"), ("person", "age")])
@pytest.mark.parametrize(
    "around",
    [
        "SELECT COUNT(*) FROM (SELECT X, COUNT(*) AS n FROM ({0}) AS t GROUP BY X) AS s",
        "WITH t AS ({0}), s AS (SELECT DISTINCT x FROM t) SELECT COUNT(*) FROM s",
        "SELECT COUNT(*) FROM ({0}) AS t",
    ],
)
def test_two_columns_of_a_subquery_cannot_have_one_name(
    inner: str, order: tuple[str, str], around: str
) -> None:
    """`X` was taken for the person where the engine took it for `x`: groups of many passed for one person."""
    with pytest.raises(QueryError):
        check(read(around.format(inner.format(a=order[0], b=order[1]))), clinic())


def test_the_dataframe_face_has_the_same_rule() -> None:
    with pytest.raises(QueryError, match="two columns"):
        check(table("visits").per("person", Person=count()).count().block, clinic())
    block = Block(
        Scan("visits", "visits"), (Item("x", Column(None, "age")), Item("X", Column(None, "person")))
    )
    with pytest.raises(QueryError, match="two columns"):
        check(Block(Nested(block, "t"), (Item("n", count().scalar),)), clinic())
    with pytest.raises(QueryError, match="cannot follow group"):
        table("visits").group("ward").per("person", n=count())


@pytest.mark.parametrize(
    "question",
    [
        "WITH a AS (SELECT * FROM visits), A AS (SELECT * FROM people) SELECT COUNT(*) FROM a",
        "WITH VISITS AS (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) SELECT n FROM Visits",
        "SELECT COUNT(*) FROM visits AS t JOIN people AS T ON t.person = T.person",
        "SELECT COUNT(*) FROM visits JOIN visits AS VISITS ON 1 = 1",
        "SELECT COUNT(*) FROM (SELECT * FROM visits JOIN people ON visits.person = people.person) AS t",
    ],
)
def test_relations_follow_the_same_rule(question: str) -> None:
    with pytest.raises(QueryError):
        check(read(question), clinic())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "SELECT COUNT(*) AS n FROM VISITS AS V WHERE v.AGE > 3",
            "SELECT COUNT(*) AS n FROM visits WHERE age > 3",
        ),
        (
            "WITH Often AS (SELECT Person, COUNT(*) AS N FROM visits GROUP BY PERSON) "
            "SELECT AVG(n) AS a FROM oFTEN",
            "SELECT AVG(m) AS a FROM (SELECT person, COUNT(*) AS m FROM visits GROUP BY person) AS q",
        ),
        (
            "SELECT AVG(born) AS b FROM visits JOIN people USING (PERSON)",
            "SELECT AVG(born) AS b FROM visits JOIN people ON visits.person = people.person",
        ),
    ],
)
def test_questions_that_differ_in_names_only_are_the_same_question(one: str, other: str) -> None:
    assert identity(check(read(one), clinic())) == identity(check(read(other), clinic()))


def test_columns_of_an_answer_get_names_of_their_own() -> None:
    checked = check(read("SELECT COUNT(*) AS n, SUM(age) AS N, COUNT(*) AS n FROM visits"), clinic())
    names = [output.name for output in checked.columns]
    assert names == ["n", "N_2", "n_3"]
    assert len({folded(name) for name in names}) == 3


def test_no_name_of_an_answer_enters_the_identity_of_a_question() -> None:
    """So none can be written to look like another column with its formula."""
    plain = identity(check(read("SELECT COUNT(*) AS a FROM visits"), clinic()))
    for name in ("a = NoisyTerm(measurement=0)", "a'", 'a" = b', "a\\", "keys []", "having None"):
        quoted = '"' + name.replace('"', '""') + '"'
        assert identity(check(read(f"SELECT COUNT(*) AS {quoted} FROM visits"), clinic())) == plain


# Statements hold declared names and generated ones, nothing else.

GENERATED = re.compile(r"[a-z]\d*|m\d+t\d+|one|bit|__[a-z]+")
HOSTILE = ("t0", "t1", "c0", "c1", "u", "r", "k0", "m0", "a0", "__rows", "person", "visits", "x", "ward", "N")


def queries(statement: Statement) -> Iterator[Query]:
    waiting = [statement.body, *(query for _, query in statement.parts)]
    while waiting:
        query = waiting.pop()
        yield query
        waiting += [source.query for source in sources(query.source) if isinstance(source, Inner)]


def sources(source: Source) -> list[Any]:
    if isinstance(source, JoinedRows):
        return sources(source.left) + sources(source.right)
    return [source]


def scalars(query: Query) -> Iterator[Scalar]:
    conditions = [source.on for source in _joins(query.source)] + [query.where, query.having, *query.group]
    for scalar in [scalar for _, scalar in query.items] + [part for part in conditions if part is not None]:
        yield from walk(scalar)


def _joins(source: Source) -> list[JoinedRows]:
    return [source, *_joins(source.left), *_joins(source.right)] if isinstance(source, JoinedRows) else []


def foreign(statement: Statement, catalog: Catalog) -> list[str]:
    """Return the names in a statement that are neither generated nor a declared column of a stored table."""
    found = [name for name, _ in statement.parts if not GENERATED.fullmatch(name)]
    for query in queries(statement):
        found += [name for name, _ in query.items if not GENERATED.fullmatch(name)]
        stored: dict[str, set[str]] = {}
        for source in sources(query.source):
            found += [] if GENERATED.fullmatch(source.alias) else [source.alias]
            match source:
                case StoredTable(name, alias):
                    declared = catalog.table(name)
                    assert declared is not None
                    assert declared.name == name
                    stored[alias] = {column for column, _ in declared.offered}
                case Listed(names, _, _):
                    found += [name for name in names if not GENERATED.fullmatch(name)]
                case Named(name, _):
                    found += [] if GENERATED.fullmatch(name) else [name]
        for scalar in scalars(query):
            if isinstance(scalar, Column):
                assert scalar.relation is not None
                known = stored.get(scalar.relation)
                if not (scalar.name in known if known is not None else GENERATED.fullmatch(scalar.name)):
                    found.append(scalar.name)
    return found


def renamed(question: str, random: Random) -> str:
    """Return the question with every name that its writer chose replaced by one made to collide."""
    for old in ("other", "t", "p", "w"):
        new = f'"{random.choice(HOSTILE)}{old}"' if random.random() < 0.5 else f'"{old.upper()}"'
        question = re.sub(rf"\bAS {old}\b", f"AS {new}", question)
        question = re.sub(rf"\b{old}\.", f"{new}.", question)
    return question


def test_statements_hold_no_name_that_an_analyst_chose() -> None:
    catalogs = [clinic(per_group=kind, groups=2) for kind in (None, 1)]
    seen = 0
    for seed in range(200):
        random = Random(seed)
        text = renamed(Questions(random).draw().sql(), random)
        catalog = random.choice(catalogs)
        try:
            checked = check(read(text), catalog)
        except QueryError:
            continue
        seen += 1
        for statement in statements(checked):
            assert not foreign(statement, catalog), text
    assert seen > 100


def test_names_made_to_collide_change_nothing() -> None:
    """Subqueries whose columns are called like generated ones: the claims hold and the integers agree."""
    catalog, answers = clinic(), set()
    with open_world(MANY[:6], [], catalog) as engine:
        for value in HOSTILE[:9]:
            for alias in ("t0", "r", "v"):
                own = f'person AS "{"c1" if value == "u" else "u"}", COUNT(*) AS "{value}", MAX(ward) AS "k1"'
                inner = f'(SELECT {own} FROM visits GROUP BY person) AS "{alias}"'
                question = f'SELECT SUM(CLAMP("{value}", 0, 3)) AS s FROM {inner} WHERE "k1" = \'A\''
                checked = check(read(question), catalog)
                answers.add(engine._exact(requests(checked), 1)._totals["m0"][()])
    assert answers == {3}
    assert honest(question, MANY)


def test_the_detector_sees_a_name_of_an_analyst() -> None:
    checked = check(read("SELECT SUM(age) FROM visits"), clinic())
    (statement,) = statements(checked)
    query = statement.parts[0][1]
    spoilt = Statement((("person's rows", query),), statement.body, 0, ("m0",))
    assert foreign(spoilt, clinic()) == ["person's rows"]
    inner = Query(
        (("Total", Column("t0", "age")), ("c0", Column("t0", "hidden"))), StoredTable("visits", "t0")
    )
    assert foreign(Statement((), inner, 0, ()), clinic()) == ["Total", "hidden"]


@pytest.mark.parametrize("name", ["person_rows", "people", "cells", "weights", "rows", "r", "t0", "u"])
def test_a_table_may_have_any_declared_name(name: str) -> None:
    """A part of a statement that was called like a declared table would hide it."""
    import pyarrow

    from discreet.engines.duckdb.engine import open_tables
    from discreet.engines.protocol import Origin

    limits = {"unit": "u", "rows_per_unit": 3, "groups_per_unit": 2, "rows_per_group": 1}
    catalog = declare(
        {"tables": {name: {**limits, "columns": {"k0": {"type": "text", "values": ["a", "b"]}}}}}
    )
    frame = pyarrow.table({"u": [1, 2, 2], "k0": ["a", "a", "b"]})
    with open_tables({name: Origin(frame, catalog.tables[0].offered)}, threads=1) as engine:
        for asked in ("COUNT(*)", "COUNT(DISTINCT u)", "MODE(k0)", "COUNT(DISTINCT k0)"):
            for text in (f'SELECT {asked} FROM "{name}"', f'SELECT k0, {asked} FROM "{name}" GROUP BY k0'):
                checked = check(read(text), catalog)
                found = engine._exact(requests(checked), 1)
                assert found._totals or found._cells


@pytest.mark.parametrize(
    "place", ["FROM ''", 'FROM ""', "FROM visits AS ''", "FROM visits.''", "FROM ''visits"]
)
def test_nothing_is_no_name(place: str) -> None:
    with pytest.raises(QueryError):
        check(read(f"SELECT COUNT(*) AS n {place}"), clinic())
