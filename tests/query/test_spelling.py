"""What other dialects' spellings mean: exact answers agree with what DuckDB makes of its own.

Questions are answered without noise, from the integers that the noise would be added to.  Where DuckDB knows
the spelling it is asked the same text.
"""

from datetime import date, datetime, timedelta

import pytest
from tests.query.questions import clinic
from tests.query.test_clauses import CATALOG, comparable, dense, exactly
from tests.query.worlds import open_world

from discreet.engines.duckdb.engine import DuckDB
from discreet.errors import QueryError
from discreet.query.check.identity import identity
from discreet.query.check.question import check
from discreet.query.language.parameter import parameters
from discreet.query.language.sql import read


@pytest.fixture(scope="module")
def engine() -> DuckDB:
    people = [{"person": f"p{n}", "version": 0, "born": 1950 + n} for n in range(9)]
    visits = [
        {
            **row,
            "day": date(2024, 1, 1) + timedelta(days=4 * row["age"]),
            "moment": datetime(2024, 1, 1, 7) + timedelta(hours=13 * row["age"]),
            "city": ("ada", "bern", "zug", "banda")[row["age"] % 4],
        }
        for row in dense()
    ]
    return open_world(visits, people, CATALOG)


SAME_TEXT = [
    "SELECT SUM(age // 10), COUNT(*) FROM visits WHERE age // 10 > 2",
    "SELECT SUM((age - 40) // 7), SUM((age - 40) // 7 * ((age - 40) // 7)) FROM visits",
    "SELECT SUM((score - 2) // 2) FROM visits",
    "SELECT MOD(age, 3) AS k, COUNT(*) FROM visits GROUP BY k",
    "SELECT SUM(IFNULL(NULLIF(score, 3), 1)) FROM visits",
    "SELECT COUNT_IF(age > 40), COUNT_IF(age > 40) FILTER (WHERE flag) FROM visits",
    "SELECT ward, AVG(flag::INT), SUM(flag::INT) FROM visits GROUP BY ward",
    "SELECT ward FROM visits GROUP BY ward",
    "SELECT DISTINCT ward, flag FROM visits",
    "SELECT ward AS w, COUNT(*) FROM visits GROUP BY w ORDER BY 2 DESC LIMIT 1 OFFSET 1",
    "SELECT COUNT(*) FROM visits WHERE city NOT LIKE 'a%' OR ward NOT LIKE 'A'",
    "SELECT COUNT(*) FROM visits WHERE ward IS NOT DISTINCT FROM 'A'",
    "SELECT COUNT(*) FROM visits, people WHERE visits.person = people.person AND age > 20",
    "SELECT COUNT(*), SUM(born) FROM people p, wards w, visits v WHERE v.person = p.person "
    "AND w.ward = v.ward",
    "SELECT ward, COUNT(*) FROM visits NATURAL JOIN wards GROUP BY ward",
    "SELECT ward, COUNT(*) FROM visits JOIN wards USING (ward) GROUP BY ward",
    "SELECT COUNT(*), COUNT(born) FROM people RIGHT JOIN visits USING (person)",
    "SELECT COUNT(*) FROM visits WHERE ward IN (SELECT ward FROM wards WHERE floor > 1)",
    "SELECT COUNT(*) FROM visits WHERE NULLIF(ward, 'A') IN (SELECT ward FROM wards WHERE floor < 9)",
    "SELECT COUNT(*) FROM visits WHERE NULLIF(ward, 'A') NOT IN (SELECT ward FROM wards WHERE floor = 2)",
    "SELECT COUNT(*) FROM visits WHERE NOT (flag AND ward IN (SELECT ward FROM wards WHERE floor = 2))",
    "SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM wards w WHERE w.ward = v.ward AND floor > 1)",
    "SELECT COUNT(*) FROM visits v WHERE NOT EXISTS (SELECT 1 FROM wards w WHERE w.ward = v.ward "
    "AND floor > 1)",
    "SELECT COUNT(*) FROM people WHERE person IN (SELECT person FROM visits WHERE age > 78)",
    "SELECT COUNT(*) FROM visits WHERE person NOT IN (SELECT person FROM people WHERE born < 1953)",
    "SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM visits w WHERE w.person = v.person "
    "AND w.age = v.age AND w.ward = 'B')",
    "SELECT COUNT(*) FROM visits WHERE person IN (SELECT person FROM visits GROUP BY person "
    "HAVING MAX(age) > 77)",
    "SELECT COUNT(*) FROM visits WHERE day - 30 < '2024-03-01' AND day + 1 > DATE '2024-01-05'",
    "SELECT COUNT(*) FROM visits WHERE MONTHNAME(day) = 'March' OR DAYNAME(day) = 'Sunday'",
    "SELECT SUM(ISODOW(day)), SUM(ISODOW(day) * ISODOW(day)) FROM visits",
    "SELECT COUNT(*) FROM visits WHERE DATE_TRUNC('month', day) = '2024-03-01'",
    "SELECT COUNT(*) FROM visits WHERE DATEDIFF('day', day, DATE '2024-12-31') % 50 > 20",
    "SELECT COUNT(*) FROM visits WHERE DATE_PART('month', day) = 3 "
    "OR DATE_ADD(day, INTERVAL 1 MONTH) < '2024-04-01'",
    "SELECT COUNT(*) FROM visits WHERE CONTAINS(city, 'd') AND ENDS_WITH(city, 'a')",
    "SELECT SUM(TRUNC(cost - 1.5)) FROM visits",
    "SELECT COUNT(*) FROM visits WHERE moment >= '2024-01-20' AND moment < '2024-02-03 18:00:00'",
    "SELECT COUNT(*) FROM visits WHERE EXTRACT(hour FROM moment) > 12",
    "SELECT COUNT(*) FROM visits WHERE day IN ('2024-03-01', '2024-04-02', '2024-05-04', '2024-06-09')",
]


@pytest.mark.parametrize("text", SAME_TEXT)
def test_a_spelling_means_what_it_means_elsewhere(text: str, engine: DuckDB) -> None:
    mine = exactly(engine, text)
    theirs = engine.connection.execute(text).fetchall()
    assert comparable(mine, "ORDER BY" in text) == comparable(theirs, "ORDER BY" in text)


BUCKETS = "WIDTH_BUCKET({0}, 20, 70, 5)"


def test_buckets_are_those_of_the_standard(engine: DuckDB) -> None:
    (mine,) = exactly(engine, f"SELECT SUM({BUCKETS.format('age')}) FROM visits")
    theirs = engine.connection.execute(
        "SELECT SUM(CASE WHEN age < 20 THEN 0 WHEN age >= 70 THEN 6 ELSE (age - 20) // 10 + 1 END) "
        "FROM visits"
    ).fetchone()
    assert theirs is not None
    assert mine[0] == theirs[0]


def test_parameters_are_values_and_never_text() -> None:
    hostile = "' OR 1=1 --"
    asked = read("SELECT COUNT(*) FROM visits WHERE city = ? AND age > ?", parameters([hostile, 3]))
    plain = read("SELECT COUNT(*) FROM visits WHERE city = ''' OR 1=1 --' AND age > 3")
    assert identity(check(asked, clinic())) == identity(check(plain, clinic()))
    named = read(
        "SELECT COUNT(*) FROM visits WHERE city = :where AND age > $low",
        parameters({"where": hostile, "low": 3}),
    )
    assert named == asked


def test_parameters_of_different_types_are_different_constants() -> None:
    texts = {
        repr(read("SELECT COUNT(*) FROM visits WHERE age = ?", parameters([value])))
        for value in (1, True, "1", 1.5)
    }
    assert len(texts) == 4


@pytest.mark.parametrize(
    ("text", "values", "words"),
    [
        ("SELECT COUNT(*) FROM visits WHERE age > ?", [], "has no value"),
        ("SELECT COUNT(*) FROM visits WHERE age > ?", [1, 2], "does not occur"),
        ("SELECT COUNT(*) FROM visits WHERE age > :low", {"high": 2}, "has no value"),
        ("SELECT COUNT(*) FROM visits WHERE age > ?", [float("nan")], "finite"),
        ("SELECT COUNT(*) FROM visits WHERE age > ?", [[1]], "plain Python value"),
        ("SELECT COUNT(*) FROM visits WHERE age > ?", "12", "list of values"),
        ("SELECT COUNT(*) FROM ?", ["visits"], "the question|FROM"),
        ("SELECT COUNT(*) FROM visits GROUP BY ?", [1.5], "GROUP BY"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(text: str, values: object, words: str) -> None:
    with pytest.raises(QueryError, match=words):
        check(read(text, parameters(values)), clinic())  # type: ignore[arg-type]


VIEWS = (
    ("adults", "SELECT person, ward, age FROM visits WHERE age >= 18"),
    ("often", "SELECT person, COUNT(*) AS times FROM adults GROUP BY person"),
    ("broken", "SELECT nothing(age) AS x FROM visits"),
)


def test_a_view_is_read_like_a_table() -> None:
    asked = check(read("SELECT AVG(CLAMP(times, 0, 9)) FROM often", (), VIEWS), clinic())
    plain = check(
        read(
            "SELECT AVG(CLAMP(times, 0, 9)) FROM (SELECT person, COUNT(*) AS times FROM "
            "(SELECT person, ward, age FROM visits WHERE age >= 18) AS a GROUP BY person) AS o"
        ),
        clinic(),
    )
    assert identity(asked) == identity(plain)


def test_a_view_that_cannot_be_read_is_named() -> None:
    with pytest.raises(QueryError, match="the view broken"):
        read("SELECT COUNT(*) FROM broken", (), VIEWS)
    read("SELECT COUNT(*) FROM adults", (), VIEWS)
