"""What is computed from released values: windows and functions agree with DuckDB's, and cannot fail."""

from fractions import Fraction

import pytest
from tests.query.questions import clinic
from tests.query.test_clauses import CATALOG, comparable, dense, exactly, ours
from tests.query.worlds import open_world

import discreet as dp
from discreet.engines.duckdb.engine import DuckDB
from discreet.errors import QueryError
from discreet.query.check.formula import Constant, Operation, evaluate
from discreet.query.check.identity import identity
from discreet.query.check.question import check
from discreet.query.language.sql import read


@pytest.fixture(scope="module")
def engine() -> DuckDB:
    return open_world(dense(), [{"person": "p0", "version": 0, "born": 1950}], CATALOG)


BY = "FROM visits GROUP BY ward, flag"
T = f"(SELECT ward, flag, COUNT(*) AS n, SUM(CLAMPED(age)) AS s {BY}) AS t"
QUESTIONS = [
    f"SELECT ward, flag, RANK() OVER (ORDER BY COUNT(*) DESC) {BY}",
    f"SELECT ward, flag, RANK() OVER (ORDER BY ward), DENSE_RANK() OVER (ORDER BY ward) {BY}",
    f"SELECT ward, flag, ROW_NUMBER() OVER (PARTITION BY flag ORDER BY COUNT(*)) {BY}",
    f"SELECT ward, flag, PERCENT_RANK() OVER (ORDER BY ward), CUME_DIST() OVER (ORDER BY ward DESC) {BY}",
    f"SELECT ward, flag, COUNT(*) / SUM(COUNT(*)) OVER () {BY}",
    f"SELECT ward, flag, SUM(COUNT(*)) OVER (ORDER BY COUNT(*)), SUM(COUNT(*)) OVER (ORDER BY ward) {BY}",
    f"SELECT ward, flag, COUNT(*) OVER (PARTITION BY ward), MIN(COUNT(*)) OVER (PARTITION BY ward) {BY}",
    f"SELECT ward, flag, MAX(COUNT(*)) OVER (ORDER BY ward, flag ROWS BETWEEN 1 PRECEDING AND 1 "
    f"FOLLOWING) {BY}",
    f"SELECT ward, flag, AVG(COUNT(*)) OVER (ORDER BY COUNT(*) ROWS BETWEEN 2 PRECEDING AND 1 "
    f"PRECEDING) {BY}",
    f"SELECT ward, flag, SUM(COUNT(*)) OVER (ORDER BY COUNT(*) ROWS BETWEEN 1 FOLLOWING AND "
    f"UNBOUNDED FOLLOWING) "
    f"{BY}",
    f"SELECT ward, flag, FIRST_VALUE(ward) OVER (ORDER BY COUNT(*)), LAST_VALUE(ward) OVER (ORDER BY flag, "
    f"COUNT(*)) {BY}",
    f"SELECT ward, flag, LAG(COUNT(*)) OVER (ORDER BY COUNT(*)), LEAD(COUNT(*), 2, -1) OVER (ORDER "
    f"BY COUNT(*)) {BY}",
    f"SELECT ward, flag, n, n - LAG(n) OVER (PARTITION BY flag ORDER BY ward DESC) FROM {T}",
    f"SELECT ward, flag, SUM(n) OVER (ORDER BY ward DESC, flag), s / n FROM {T} WHERE n > 35",
    f"SELECT * FROM (SELECT ward, flag, RANK() OVER (ORDER BY COUNT(*)) AS r {BY}) AS t WHERE r <= "
    f"3 AND ward <> 'A'",
    f"SELECT ward, flag {BY} QUALIFY ROW_NUMBER() OVER (PARTITION BY flag ORDER BY COUNT(*) DESC) = 1",
    f"SELECT ward, flag, COUNT(*) {BY} HAVING COUNT(*) > 40 QUALIFY RANK() OVER (ORDER BY ward) < 3",
    f"SELECT ward, COUNT(*) {BY} ORDER BY RANK() OVER (ORDER BY COUNT(*) DESC) LIMIT 2 OFFSET 1",
    f"SELECT LOWER(ward) || '!', LENGTH(ward), LEFT(ward, 1), RIGHT(ward, 1), SUBSTRING(ward, 1, 1) {BY}",
    f"SELECT NULLIF(COUNT(*), 37), COUNT(*) % 7, COUNT(*) // 4, POWER(COUNT(*), 3), SIGN(COUNT(*) - 40) {BY}",
    f"SELECT LN(COUNT(*)), EXP(COUNT(*) / 40), SQRT(COUNT(*)), CAST(COUNT(*) AS DOUBLE) / 2 {BY}",
    f"SELECT CASE WHEN ward = 'A' THEN 'first' ELSE 'other' END, COUNT(*) {BY}",
    "SELECT CORR(CLAMPED(age), CLAMPED(cost)), COVAR_POP(CLAMPED(age), CLAMPED(cost)) FROM visits",
    "SELECT ward, COVAR_SAMP(CLAMPED(cost), CLAMPED(age)), REGR_COUNT(CLAMPED(cost), CLAMPED(age)) "
    "FROM visits GROUP BY ward",
    "SELECT REGR_SLOPE(CLAMPED(cost), CLAMPED(age)), REGR_INTERCEPT(CLAMPED(cost), CLAMPED(age)) FROM visits",
    "SELECT REGR_R2(CLAMPED(cost), NULLIF(CLAMPED(age), 12)), REGR_AVGX(CLAMPED(age), CLAMPED(cost)) "
    "FROM visits",
    f"SELECT COALESCE(NULLIF(ward, 'A'), '?'), ward IS DISTINCT FROM 'B' {BY}",
    f"SELECT ward, flag, NTILE(4) OVER (ORDER BY COUNT(*)), NTILE(9) OVER (ORDER BY ward, flag) {BY}",
    f"SELECT ward, flag, NTH_VALUE(ward, 2) OVER (ORDER BY COUNT(*)) {BY}",
    f"SELECT ward, flag, STDDEV(COUNT(*)) OVER (), MEDIAN(COUNT(*)) OVER (PARTITION BY flag) {BY}",
    f"SELECT ward, VAR_POP(n), STDDEV_SAMP(n), MEDIAN(n) FROM {T} GROUP BY ward",
    f"SELECT 'n = ' || CAST(COUNT(*) AS VARCHAR), CONCAT(ward, '-', COUNT(*)), CAST(flag AS TEXT) {BY}",
    f"SELECT LPAD(CAST(COUNT(*) AS TEXT), 6, '01'), RPAD(ward, 3, 'xy'), REPEAT(ward, 3), REVERSE('ab' || "
    f"ward) {BY}",
    f"SELECT REPLACE('AB' || ward, 'A', 'xx'), SPLIT_PART('q-' || ward, '-', 2), LTRIM(ward || 'A', 'A') "
    f"{BY}",
    f"SELECT ward LIKE '_' AND flag, ward ILIKE 'a%', ward || 'x%' LIKE '%!%' ESCAPE '!', "
    f"STARTS_WITH(ward, 'A') {BY}",
    f"SELECT TRUNC(COUNT(*) / 7, 2), TRUNC(-COUNT(*), -1), TRUNC(COUNT(*) / 2) {BY}",
    "SELECT SUM(DISTINCT CLAMPED(age)), AVG(DISTINCT CLAMPED(cost)) FROM visits",
    "SELECT ward, SUM(DISTINCT score), COUNT(DISTINCT score) FROM visits GROUP BY ward",
    "SELECT SKEWNESS(CLAMPED(age)), KURTOSIS(CLAMPED(age)), KURTOSIS_POP(CLAMPED(age)) FROM visits",
    "SELECT ward, SKEWNESS(score), AVG(score), STDDEV(score), VAR_POP(score) FROM visits GROUP BY ward",
    "SELECT ENTROPY(ward) FROM visits",
    "SELECT flag, ROUND(ENTROPY(ward), 4), COUNT(*) FROM visits GROUP BY flag ORDER BY 2 DESC",
    "SELECT AVG(LN(GREATEST(CLAMPED(age), 20))), SUM(LEAST(CLAMPED(cost), 1)) FROM visits",
    "SELECT COUNT(*) FROM visits WHERE age & 5 = 4",
    "SELECT SUM((score | 2) & 3) FROM visits",
    *(
        f"WITH a AS (SELECT ward, COUNT(*) AS n FROM visits WHERE flag GROUP BY ward), b AS (SELECT ward, "
        f"COUNT(*) AS n, SUM(score) AS s FROM visits WHERE NOT flag GROUP BY 1), c AS (SELECT flag, COUNT(*) "
        f"AS n FROM visits GROUP BY flag), t AS (SELECT COUNT(*) AS total FROM visits) {rest}"
        for rest in (
            "SELECT a.ward, a.n, b.n, b.n - a.n AS more, a.n / b.n FROM a JOIN b ON a.ward = "
            "b.ward ORDER BY more",
            "SELECT ward, a.n + b.n FROM a JOIN b USING (ward) WHERE b.s > 60",
            "SELECT x.ward, y.ward, x.n FROM a x LEFT JOIN a y ON x.n = y.n + 14 AND y.ward <> 'Q'",
            "SELECT x.ward, y.ward FROM a x FULL JOIN b y ON x.n > y.n AND x.ward < y.ward",
            "SELECT ward, x.n, y.s FROM a x FULL JOIN (SELECT * FROM b WHERE n > 45) y USING (ward)",
            "SELECT x.ward, y.ward FROM a x RIGHT JOIN b y ON x.n = y.n + 21",
            "SELECT ward, 100.0 * n / total FROM a, t WHERE total > n",
            "SELECT ward, n FROM a UNION ALL SELECT ward, n + 1 FROM b ORDER BY n DESC LIMIT 4 OFFSET 1",
            "SELECT ward FROM a UNION SELECT UPPER(ward) FROM b",
            "SELECT ward, SUM(n), COUNT(*), MIN(n) FROM (SELECT * FROM a UNION ALL SELECT ward, s FROM b) u "
            "GROUP BY ward HAVING SUM(n) > 100",
            "SELECT AVG(n) FROM (SELECT ward, n FROM b ORDER BY n DESC LIMIT 2) u",
            "SELECT ward, RANK() OVER (ORDER BY r DESC, ward) FROM (SELECT ward, RANK() OVER (ORDER BY n) AS "
            "r FROM a) u",
            "SELECT ward, n FROM a WHERE n > (SELECT AVG(n) FROM a) OR n = (SELECT MAX(n) FROM b)",
            "SELECT a.ward, c.flag, a.n * c.n FROM a CROSS JOIN c QUALIFY ROW_NUMBER() OVER (PARTITION BY "
            "a.ward ORDER BY c.n) = 1",
            "SELECT a.ward, SUM(c.n) AS s FROM a, c GROUP BY a.ward ORDER BY s + MAX(a.n) DESC LIMIT 2",
            "SELECT (SELECT SUM(n) FROM a) / (SELECT total FROM t LIMIT 1), (SELECT COUNT(*) FROM visits)",
            "SELECT flag, COUNT(*) / (SELECT SUM(score) FROM visits) AS q FROM visits GROUP BY flag HAVING "
            "COUNT(*) > (SELECT MIN(n) FROM c) ORDER BY 2 DESC LIMIT 2",
            "SELECT ward, LENGTH(ward || (SELECT MAX(ward) FROM b)), (SELECT n FROM c WHERE flag LIMIT 1) "
            "FROM a LIMIT 2",
            "SELECT DISTINCT y.total FROM a, t y",
            "SELECT DATE '2024-03-01' - DATE '2024-02-01' + n, DATE '2024-01-31' + 1, DATE '2024-03-01' - 1 "
            "FROM a",
            "SELECT ward FROM a EXCEPT SELECT ward FROM b WHERE n > 45",
            "SELECT n + 7 FROM a INTERSECT SELECT n FROM b",
            "SELECT STRING_AGG(ward, ', ' ORDER BY n DESC), COUNT(*) FROM a",
            "SELECT LISTAGG(UPPER(ward) || n, '/' ORDER BY ward) FILTER (WHERE n > 33) FROM a HAVING "
            "COUNT(*) > 1",
            "SELECT x.n > 40 AS big, STRING_AGG(NULLIF(y.ward, 'B'), '' ORDER BY y.ward DESC) FROM a x, b y "
            "GROUP BY 1",
            "SELECT STRING_AGG(ward, ';' ORDER BY r) FROM (SELECT ward, n, RANK() OVER (ORDER BY n) AS r "
            "FROM a) u",
            "SELECT x.ward, y.ward FROM a x JOIN b y ON x.n = y.n + 7",
            "SELECT x.ward, y.ward FROM a x LEFT JOIN b y ON NULLIF(x.ward, 'A') = NULLIF(y.ward, 'A')",
        )
    ),
    "SELECT COUNT(*) FROM visits WHERE REGEXP_MATCHES(CAST(age AS VARCHAR) || ward || CAST(score AS "
    "VARCHAR), '[1-4][AB][3-9]')",
    "SELECT COUNT(*) FROM visits WHERE REGEXP_MATCHES(CAST(age AS VARCHAR) || ward, '\\d{2}.?[B-Z]')",
    "SELECT COUNT(*) FROM visits WHERE REGEXP_REPLACE(CAST(age AS VARCHAR), '[1-3]+', '', 'g') = '4' OR "
    "REGEXP_REPLACE(CAST(age AS VARCHAR), '[5-8]', '7', 'g') = '77'",
    "SELECT * FROM (SELECT flag, ward, score FROM visits) PIVOT (SUM(score) AS s, COUNT(*) AS n FOR ward IN "
    "('A', 'C' AS third))",
    "SELECT COUNT(*) FROM (SELECT person, ward FROM visits) PIVOT (COUNT(*) FOR ward IN ('A', 'B')) WHERE A "
    "> B",
    "SELECT flag, COUNT(*) FROM (SELECT DISTINCT ON (person) person, flag FROM visits ORDER BY person, age, "
    "cost, ward, flag, score) t GROUP BY flag",
    "SELECT DISTINCT ON (ward) ward, flag, COUNT(*) FROM visits GROUP BY ward, flag ORDER BY ward, COUNT(*) "
    "DESC",
    "SELECT ward, SUM(x.born - 1900) FROM visits v JOIN LATERAL (SELECT p.born FROM people p WHERE p.person "
    "= v.person) x ON TRUE GROUP BY ward",
    "SELECT COUNT(*), SUM(x.m) FROM people p, LATERAL (SELECT MAX(v.score) AS m FROM visits v WHERE "
    "v.person = p.person AND v.flag) x",
    "SELECT COUNT(*) FROM people p CROSS JOIN LATERAL (SELECT * FROM visits v WHERE v.person = p.person "
    "ORDER BY v.age, v.ward, v.flag, v.score LIMIT 2) x WHERE x.age < 12",
    "SELECT COUNT(*) FROM people p WHERE (SELECT COUNT(*) FROM visits v WHERE v.person = p.person AND v.age "
    "> 70) > 2",
    "SELECT ward, COUNT(*) FROM visits v WHERE v.age >= (SELECT MAX(w.age) - 9 FROM visits w WHERE w.person "
    "= v.person AND w.flag) GROUP BY ward",
    "SELECT COUNT(*) FROM (SELECT p.person, (SELECT COUNT(*) FROM visits v WHERE v.person = p.person AND "
    "v.age > 200) AS n FROM people p) t WHERE n = 0",
    *(
        f"SELECT COUNT(*) FROM people p WHERE (SELECT {value} FROM visits v WHERE v.person = p.person AND "
        f"v.age > {age})"
        for age in (70, 200)
        for value in (
            "COALESCE(SUM(v.score), 0) < 1",
            "MAX(v.age) IS NULL",
            "CASE WHEN MAX(v.age) > 3 THEN 1 ELSE 2 END = 2",
            "COUNT(*) FILTER (WHERE v.flag) - COUNT(DISTINCT v.ward) <= 0",
        )
    ),
    "SELECT COUNT(*) FROM (SELECT person, BOOL_OR(age > 78) AS a, BOOL_AND(age > 10) AS b FROM visits "
    "GROUP BY person) t WHERE a OR b",
]


@pytest.mark.parametrize("text", QUESTIONS)
def test_windows_and_functions_of_released_values_mean_what_sql_means(text: str, engine: DuckDB) -> None:
    mine = exactly(engine, ours(text))
    theirs = engine.connection.execute(text.replace("CLAMPED", "")).fetchall()
    assert comparable(mine, " LIMIT" in text) == comparable(theirs, " LIMIT" in text)


@pytest.mark.parametrize(
    "inner",
    [
        "SELECT COALESCE(MAX(v.age), 1) AS m FROM visits v WHERE v.person = p.person",
        "SELECT MAX(v.age) IS NULL AS m FROM visits v WHERE v.person = p.person",
        "SELECT MAX(v.age) AS m, 1 AS one FROM visits v WHERE v.person = p.person",
        "SELECT MAX(v.age) AS m FROM visits v WHERE v.person = p.person HAVING COUNT(*) > 1",
    ],
)
def test_nothing_is_made_of_rows_that_are_not_there(inner: str) -> None:
    """SQL has one row of it for everybody, or none, where a join would have NULL."""
    with pytest.raises(QueryError, match="makes something of nothing"):
        check(read(f"SELECT COUNT(*) FROM people p, LATERAL ({inner}) x"), clinic())
    asked = "SELECT COUNT(*) FROM people p WHERE (SELECT COUNT(*) FROM visits v WHERE v.person = p.person"
    with pytest.raises(QueryError, match="HAVING"):
        check(read(f"{asked} HAVING COUNT(*) > 1) = 0"), clinic())


def test_what_is_computed_afterwards_is_free() -> None:
    plain = identity(check(read("SELECT ward, COUNT(*) FROM visits GROUP BY ward"), clinic()))
    for text in (
        "SELECT ward, COUNT(*), RANK() OVER (ORDER BY COUNT(*)) FROM visits GROUP BY ward",
        "SELECT UPPER(ward), POWER(COUNT(*), 2) FROM visits GROUP BY ward",
        "SELECT ward, COUNT(*) / SUM(COUNT(*)) OVER () FROM visits GROUP BY ward QUALIFY COUNT(*) > 3",
    ):
        assert identity(check(read(text), clinic())) == plain


@pytest.mark.parametrize(
    "rest",
    [
        "HAVING ward > 3",
        "HAVING COUNT(*) > 'a'",
        "HAVING COUNT(*)",
        "HAVING ward",
        "HAVING NOT COUNT(*)",
        "ORDER BY COUNT(*) + ward",
        "ORDER BY CASE WHEN COUNT(*) > 3 THEN ward ELSE 0 END",
        "HAVING COALESCE(ward, 1) = 'A'",
        "HAVING ward IN (1, 'A')",
        "QUALIFY SUM(ward) OVER () > 3",
        "QUALIFY LAG(COUNT(*), 1, 'x') OVER (ORDER BY ward) > 3",
        "ORDER BY ROUND(COUNT(*), 1000000000)",
        "ORDER BY ROUND(COUNT(*), COUNT(*))",
        "QUALIFY RANK() OVER (ORDER BY RANK() OVER (ORDER BY ward)) > 1",
        "HAVING RANK() OVER (ORDER BY ward) > 1",
        "ORDER BY SUM(age) OVER (ORDER BY ward)",
    ],
)
def test_what_would_fail_after_it_was_paid_is_refused_before(rest: str) -> None:
    with pytest.raises(QueryError):
        check(read(f"SELECT ward, COUNT(*) FROM visits GROUP BY ward {rest}"), clinic())


@pytest.mark.parametrize(
    "question",
    [
        "SELECT SUM(age) OVER () FROM visits",
        "SELECT COUNT(*) FROM visits WHERE RANK() OVER (ORDER BY age) < 3",
        "SELECT COUNT(*) FROM (SELECT person, RANK() OVER (ORDER BY age) AS r FROM visits) AS t WHERE r = 1",
        "SELECT AVG(CLAMP(r, 0, 9)) FROM (SELECT person, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*)) AS r "
        "FROM visits GROUP BY person) AS t",
        "SELECT COUNT(*) FROM (SELECT person, COUNT(*) AS n FROM visits GROUP BY person QUALIFY RANK() OVER "
        "(ORDER BY COUNT(*)) < 3) AS t",
        "SELECT ward, COUNT(*) FROM visits GROUP BY ward, RANK() OVER (ORDER BY age)",
        "SELECT ward, COUNT(RANK() OVER (ORDER BY age)) FROM visits GROUP BY ward",
        "SELECT ward, COUNT(*) FILTER (WHERE RANK() OVER (ORDER BY age) < 3) FROM visits GROUP BY ward",
        "SELECT person, COUNT(*) FROM visits GROUP BY person QUALIFY RANK() OVER (ORDER BY COUNT(*)) = 1",
        "SELECT COUNT(*) FROM visits v JOIN wards w ON v.ward = w.ward AND RANK() OVER (ORDER BY age) = 1",
        "SELECT COUNT(*) FROM visits WHERE person IN (SELECT person FROM visits QUALIFY RANK() OVER "
        "(ORDER BY "
        "age) = 1)",
    ],
)
def test_no_window_sees_rows_of_people(question: str) -> None:
    with pytest.raises(QueryError):
        check(read(question), clinic())


def test_no_power_takes_for_ever() -> None:
    huge = Operation("power", (Constant(10**9), Constant(10**9)))
    assert evaluate(huge, (), {}) is None
    assert evaluate(Operation("power", (Constant(0), Constant(-1))), (), {}) is None
    assert evaluate(Operation("power", (Constant(2), Constant(-2))), (), {}) == Fraction(1, 4)
    assert evaluate(Operation("exp", (Constant(10**9),)), (), {}) is None


def test_an_answer_with_windows_is_shown_without_intervals_it_could_not_keep() -> None:
    rows = {"person": [f"p{n}" for n in range(200)], "ward": ["A", "B"] * 100}
    with dp.open(
        visits=rows_of(rows),
        unit="person",
        rows_per_unit=1,
        epsilon=10,
        columns={"ward": {"type": "text", "values": ["A", "B"]}},
    ) as data:
        answer = data.query(
            "SELECT ward, COUNT(*) AS n, SUM(COUNT(*)) OVER (ORDER BY ward) AS running, "
            "RANK() OVER (ORDER BY COUNT(*)) AS place FROM visits GROUP BY ward",
            epsilon=5,
        )
        found = answer.to_arrow().to_pylist()
        assert [row["ward"] for row in found] == ["A", "B"]
        assert abs(found[1]["running"] - found[0]["n"] - found[1]["n"]) < 1e-6
        assert {row["place"] for row in found} <= {1, 2}
        assert "running" in str(answer)


def rows_of(columns: dict[str, list[str]]) -> object:
    import pyarrow

    return pyarrow.table(columns)


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (f"SELECT * FROM (SELECT ward, COUNT(*) AS n {BY}) AS t GROUP BY n", "no value for a group"),
        (f"SELECT ward, MAX(n) FROM (SELECT ward, COUNT(*) AS n {BY}) AS t", "neither grouped by"),
        (
            f"SELECT N, ward || 'x' FROM (SELECT ward, COUNT(*) AS n {BY}) AS t GROUP BY t.n",
            "neither grouped by",
        ),
        (
            f"SELECT n FROM (SELECT ward, COUNT(*) AS n {BY}) AS t GROUP BY n ORDER BY ward",
            "neither grouped by",
        ),
    ],
)
def test_a_group_of_released_rows_has_one_value_of_what_it_is_grouped_by(question, words):
    with pytest.raises(QueryError, match=words):
        check(read(question), clinic())
