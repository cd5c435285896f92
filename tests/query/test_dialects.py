"""A question in a dialect that is named is the question of the standard spelling, or is refused in its place.

The golden pairs were written from what each system documents about its own words.
"""

import pytest
from tests.query.questions import clinic
from tests.query.words import parser_words

from discreet.errors import ParameterError, QueryError
from discreet.query.check.identity import identity
from discreet.query.check.question import check
from discreet.query.language.dialect import DIALECTS
from discreet.query.language.parameter import parameters
from discreet.query.language.sql import read

CATALOG = clinic()
COUNT = "SELECT COUNT(*) FROM visits WHERE"

SAME = [
    ("bigquery", f'{COUNT} city = "zug"', f"{COUNT} city = 'zug'"),
    ("bigquery", f"{COUNT} city = 'a\\'b'", f"{COUNT} city = 'a''b'"),
    ("bigquery", f"{COUNT} city = r'a\\b'", f"{COUNT} city = 'a\\b'"),
    ("bigquery", "SELECT COUNT(*) FROM `clinic.visits` # all of them", "SELECT COUNT(*) FROM clinic.visits"),
    (
        "bigquery",
        "SELECT DATE_TRUNC(day, MONTH) AS m, COUNT(*) FROM visits GROUP BY m",
        "SELECT DATE_TRUNC('month', day) AS m, COUNT(*) FROM visits GROUP BY m",
    ),
    (
        "bigquery",
        f"{COUNT} DATE_DIFF(day, DATE '2024-01-01', DAY) > 3",
        f"{COUNT} DATE_DIFF('day', DATE '2024-01-01', day) > 3",
    ),
    ("bigquery", f"{COUNT} EXTRACT(DAYOFWEEK FROM day) = 1", f"{COUNT} DAYOFWEEK(day) + 1 = 1"),
    ("bigquery", f"{COUNT} SAFE_CAST(city AS INT64) = 3", f"{COUNT} CAST(city AS BIGINT) = 3"),
    ("bigquery", f"{COUNT} LOG(cost) > 1", f"{COUNT} LN(cost) > 1"),
    ("bigquery", f"{COUNT} LOG(cost, 2) > 1", f"{COUNT} LN(cost) / LN(2) > 1"),
    ("bigquery", f"{COUNT} DIV(age, 10) = 4", f"{COUNT} age // 10 = 4"),
    ("bigquery", f"{COUNT} moment > TIMESTAMP '2024-02-01'", f"{COUNT} moment > TIMESTAMP '2024-02-01'"),
    (
        "spark",
        f"{COUNT} REGEXP_REPLACE(city, 'a', '') = 'd'",
        f"{COUNT} REGEXP_REPLACE(city, 'a', '', 'g') = 'd'",
    ),
    (
        "mysql",
        "SELECT GROUP_CONCAT(ward ORDER BY n DESC SEPARATOR '; ') FROM "
        "(SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) AS t",
        "SELECT STRING_AGG(ward, '; ' ORDER BY n DESC) FROM "
        "(SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) AS t",
    ),
    (
        "bigquery",
        "SELECT APPROX_QUANTILES(age, 2)[OFFSET(1)] AS m FROM visits",
        "SELECT MEDIAN(age) AS m FROM visits",
    ),
    (
        "snowflake",
        f"{COUNT} DATEDIFF(day, day, '2024-05-01') > 3",
        f"{COUNT} DATE_DIFF('day', day, DATE '2024-05-01') > 3",
    ),
    (
        "snowflake",
        f"{COUNT} TIMESTAMPDIFF(month, any_day, day) > 3",
        f"{COUNT} DATE_DIFF('month', any_day, day) > 3",
    ),
    *(
        (
            dialect,
            f"{COUNT} TIMESTAMPDIFF(MONTH, any_day, day) > 3",
            f"{COUNT} WHOLE_UNITS('month', any_day, day) > 3",
        )
        for dialect in ("mysql", "spark", "databricks")
    ),
    (
        "tsql",
        "SELECT CONVERT(varchar(7), day, 120) AS m, COUNT(*) FROM visits GROUP BY CONVERT(char(7), day, 23)",
        "SELECT TO_CHAR(day, 'YYYY-MM') AS m, COUNT(*) FROM visits GROUP BY m",
    ),
    ("tsql", f"{COUNT} CAST(city AS varchar(3)) = 'ber'", f"{COUNT} LEFT(CAST(city AS TEXT), 3) = 'ber'"),
    (
        "tsql",
        "SELECT AVG(n) FROM people u CROSS APPLY (SELECT MAX(age) n FROM visits v WHERE v.person=u.person) x",
        "SELECT AVG(n) FROM people u, LATERAL (SELECT MAX(age) n FROM visits v WHERE v.person=u.person) x",
    ),
    (
        "redshift",
        "SELECT ward, APPROXIMATE COUNT(DISTINCT city) AS n FROM visits GROUP BY ward",
        "SELECT ward, COUNT(DISTINCT city) AS n FROM visits GROUP BY ward",
    ),
    (
        "snowflake",
        f"{COUNT} TIMEDIFF(day, any_day, day) > 3",
        f"{COUNT} DATE_DIFF('day', any_day, day) > 3",
    ),
    *(
        (dialect, f"{COUNT} age / 10 = 4 AND cost / 2 > 3", f"{COUNT} age // 10 = 4 AND cost / 2 > 3")
        for dialect in ("postgres", "tsql", "redshift", "sqlite", "trino")
    ),
    (
        "postgres",
        "SELECT age / 10 * 10 AS d, COUNT(*) FROM visits GROUP BY d",
        "SELECT age // 10 * 10 AS d, COUNT(*) FROM visits GROUP BY d",
    ),
    (
        "postgres",
        "SELECT a.n / b.n FROM (SELECT COUNT(*) AS n FROM visits) a, (SELECT COUNT(*) AS n FROM people) b",
        "SELECT a.n / b.n FROM (SELECT COUNT(*) AS n FROM visits) a, (SELECT COUNT(*) AS n FROM people) b",
    ),
    (
        "tsql",
        "SELECT * FROM (SELECT ward, MONTH(day) AS m FROM visits) PIVOT (COUNT(ward) FOR m IN ([1], [2])) p",
        "SELECT * FROM (SELECT ward, MONTH(day) AS m FROM visits) PIVOT (COUNT(ward) FOR m IN (1, 2)) p",
    ),
    (
        "snowflake",
        f"{COUNT} DATE_TRUNC(month, day) = '2024-02-01'::DATE",
        f"{COUNT} DATE_TRUNC('month', day) = DATE '2024-02-01'",
    ),
    ("snowflake", f"{COUNT} age > 3 // and so on", f"{COUNT} age > 3"),
    ("snowflake", f"{COUNT} DAYOFWEEK(day) = 0", f"{COUNT} DAYOFWEEK(day) = 0"),
    ("snowflake", f"{COUNT} LOG(10, cost) > 1", f"{COUNT} LN(cost) / LN(10) > 1"),
    (
        "snowflake",
        f"{COUNT} IFF(flag, age, 0) > 3 AND ZEROIFNULL(age) > 1",
        f"{COUNT} IF(flag, age, 0) > 3 AND COALESCE(age, 0) > 1",
    ),
    (
        "postgres",
        f"{COUNT} age ^ 2 > 9 AND day::text = E'2024'",
        f"{COUNT} POWER(age, 2) > 9 AND CAST(day AS TEXT) = '2024'",
    ),
    (
        "postgres",
        f"{COUNT} date_part('dow', day) = 0 AND log(cost) > 1",
        f"{COUNT} DAYOFWEEK(day) = 0 AND LOG10(cost) > 1",
    ),
    (
        "postgres",
        f"{COUNT} cost / 2.0 > 1 AND city ~ 'er' AND city ~~ 'b%'",
        f"{COUNT} cost / 2.0 > 1 AND CONTAINS(city, 'er') AND city LIKE 'b%'",
    ),
    (
        "postgresql",
        "SELECT SUM(cost) / COUNT(*) AS m FROM visits",
        "SELECT SUM(cost) / COUNT(*) AS m FROM visits",
    ),
    (
        "redshift",
        f"{COUNT} DATEDIFF(month, any_day, day) > 1 AND LOG(cost) > 1",
        f"{COUNT} DATE_DIFF('month', any_day, day) > 1 AND LOG10(cost) > 1",
    ),
    (
        "spark",
        f"{COUNT} dayofweek(day) = 1 AND weekday(day) = 0",
        f"{COUNT} DAYOFWEEK(day) + 1 = 1 AND ISODOW(day) - 1 = 0",
    ),
    (
        "spark",
        "SELECT date_format(day, 'yyyy-MM') AS m, COUNT(*) FROM visits GROUP BY m",
        "SELECT STRFTIME(day, '%Y-%m') AS m, COUNT(*) FROM visits GROUP BY m",
    ),
    (
        "spark",
        f'{COUNT} city = "it\'s" AND datediff(day, any_day) > 3',
        f"{COUNT} city = 'it''s' AND DATE_DIFF('day', any_day, day) > 3",
    ),
    ("databricks", "SELECT percentile_approx(age, 0.5) FROM visits", "SELECT MEDIAN(age) FROM visits"),
    (
        "tsql",
        "SELECT TOP 2 [ward], COUNT_BIG(*) AS n FROM [dbo].[visits] GROUP BY [ward]",
        "SELECT ward, COUNT(*) AS n FROM dbo.visits GROUP BY ward LIMIT 2",
    ),
    (
        "tsql",
        f"{COUNT} DATEPART(weekday, day) = 1 AND DATEPART(yy, day) = 2024",
        f"{COUNT} DAYOFWEEK(day) + 1 = 1 AND YEAR(day) = 2024",
    ),
    (
        "tsql",
        f"{COUNT} CONVERT(int, city) > 3 AND ISNULL(city, N'x') = 'x'",
        f"{COUNT} CAST(city AS INTEGER) > 3 AND COALESCE(city, 'x') = 'x'",
    ),
    (
        "tsql",
        f"{COUNT} city + ':' + ward = 'zug:A' AND DATEADD(m, 1, day) > '2024-03-01'",
        f"{COUNT} city || ':' || ward = 'zug:A' AND day + INTERVAL 1 MONTH > DATE '2024-03-01'",
    ),
    (
        "mssql",
        f"{COUNT} FORMAT(day, 'yyyy-MM') = '2024-05' AND LOG(cost) > 1",
        f"{COUNT} STRFTIME(day, '%Y-%m') = '2024-05' AND LN(cost) > 1",
    ),
    (
        "mysql",
        'SELECT `ward`, STD(age), VARIANCE(age), VAR_SAMP(age) FROM visits WHERE city = "b" GROUP BY 1',
        "SELECT ward, STDDEV_POP(age), VAR_POP(age), VAR_SAMP(age) FROM visits WHERE city = 'b' GROUP BY 1",
    ),
    (
        "mysql",
        f"{COUNT} DAYOFWEEK(day) = 1 AND WEEKDAY(day) = 0 AND age DIV 10 = 4",
        f"{COUNT} DAYOFWEEK(day) + 1 = 1 AND ISODOW(day) - 1 = 0 AND age // 10 = 4",
    ),
    (
        "mysql",
        "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n LIMIT 1, 2 -- two",
        "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n LIMIT 2 OFFSET 1",
    ),
    (
        "oracle",
        f"{COUNT} NVL(city, 'x') = 'x' AND TO_CHAR(day, 'YYYY') = '2024'",
        f"{COUNT} COALESCE(city, 'x') = 'x' AND STRFTIME(day, '%Y') = '2024'",
    ),
    (
        "trino",
        f"{COUNT} day_of_week(day) = 7 AND EXTRACT(DOW FROM day) = 7",
        f"{COUNT} ISODOW(day) = 7 AND ISODOW(day) = 7",
    ),
    ("sqlite", f"{COUNT} [city] = 'zug' AND log(cost) > 1", f"{COUNT} city = 'zug' AND LOG10(cost) > 1"),
    ("duckdb", f"{COUNT} age // 10 = 4", f"{COUNT} age // 10 = 4"),
    ("postgres", f"{COUNT} city LIKE '10\\%%'", f"{COUNT} city LIKE '10\\%%' ESCAPE '\\'"),
    ("mysql", f"{COUNT} city NOT LIKE '10\\_'", f"{COUNT} NOT city LIKE '10\\_' ESCAPE '\\'"),
    ("postgres", f"{COUNT} city LIKE 'a!%' ESCAPE '!'", f"{COUNT} city LIKE 'a!%' ESCAPE '!'"),
    ("tsql", f"{COUNT} city LIKE 'a\\%'", f"{COUNT} city LIKE 'a\\%'"),
    ("postgres", f"{COUNT} city = E'\\x41\\u0062'", f"{COUNT} city = 'Ab'"),
]


@pytest.mark.parametrize(("dialect", "text", "standard"), SAME)
def test_a_dialect_asks_what_the_standard_spelling_asks(dialect: str, text: str, standard: str) -> None:
    one, other = check(read(text, dialect=dialect), CATALOG), check(read(standard), CATALOG)
    assert identity(one) == identity(other)
    assert (one.limit, one.offset, len(one.columns)) == (other.limit, other.offset, len(other.columns))


def test_parameters_have_the_marks_of_their_dialects() -> None:
    standard = identity(check(read(f"{COUNT} age > 40"), CATALOG))
    for dialect, mark in (("bigquery", "@low"), ("tsql", "@low"), ("oracle", ":low"), ("snowflake", ":low")):
        given = parameters({"low": 40})
        assert identity(check(read(f"{COUNT} age > {mark}", given, dialect=dialect), CATALOG)) == standard
    for dialect, mark in (("mysql", "?"), ("postgres", "$1"), ("snowflake", ":1"), ("bigquery", "?")):
        given = parameters([40])
        assert identity(check(read(f"{COUNT} age > {mark}", given, dialect=dialect), CATALOG)) == standard


REFUSED = [
    ("mysql", f"{COUNT} city || 'x' = 'zx'", "||", (1, 40), "CONCAT"),
    ("mysql", "SELECT COUNT(*) FROM visits /*!50000 WHERE age > 3 */", "a comment", (1, 22), "leave it out"),
    ("mysql", f"{COUNT} WEEK(day) = 3", "WEEK", (1, 35), "ISOWEEK"),
    ("mysql", "SELECT COUNT(*) FROM visits FORCE INDEX (x)", "visits", (1, 22), "plain form"),
    ("oracle", "SELECT MAX(ward) KEEP (DENSE_RANK LAST ORDER BY day) FROM visits", "KEEP", (1, 18), "MAX_BY"),
    (
        "tsql",
        "SELECT COUNT(*) FROM people u OUTER APPLY (SELECT 1 AS n FROM visits v WHERE v.person = u.person) x",
        "OUTER APPLY",
        (1, 31),
        "LEFT JOIN",
    ),
    ("tsql", "SELECT CONVERT(varchar(3), day, 120) FROM visits", "the question", None, "SELECT"),
    ("mysql", f"{COUNT} TIMESTAMPDIFF(any_day, day) > 3", "WHOLE_UNITS", (1, 35), "WHOLE_UNITS('month'"),
    ("tsql", "SELECT COUNT(*) FROM visits WITH (NOLOCK)", "visits", (1, 22), "plain form"),
    (
        "bigquery",
        "SELECT DATE_TRUNC(day, WEEK) AS w, COUNT(*) FROM visits GROUP BY w",
        "WEEK",
        (1, 8),
        "ISOWEEK",
    ),
    ("bigquery", f"{COUNT} age ^ 2 > 3", "^", (1, 39), "POWER"),
    ("snowflake", "SELECT age:city FROM visits", ":", (1, 11), ":name"),
    ("spark", "SELECT /*+ BROADCAST(v) */ COUNT(*) FROM visits v", "a hint", None, "leave it out"),
    ("spark", f"{COUNT} date_format(day, 'D') = '3'", "DATE_FORMAT", (1, 35), "yyyy-MM"),
    ("tsql", f"{COUNT} city LIKE '[a-z]%'", "[ in LIKE", (1, 35), "with OR"),
    ("postgres", f"{COUNT} city = U&'\\0061'", "a text of bytes", None, "characters"),
    ("postgres", f"{COUNT} city = E'a\\u0000b'", "the question", None, "plain text"),
]


@pytest.mark.parametrize(("dialect", "text", "clause", "place", "instead"), REFUSED)
def test_what_a_dialect_means_otherwise_is_refused_in_its_place(
    dialect: str, text: str, clause: str, place: tuple[int, int] | None, instead: str
) -> None:
    with pytest.raises(QueryError) as refused:
        read(text, dialect=dialect)
    assert refused.value.clause.startswith(clause)
    assert place is None or refused.value.place == place
    assert instead in refused.value.instead
    assert not parser_words(str(refused.value), text)


def test_a_dialect_that_nobody_speaks_is_refused_with_those_that_are() -> None:
    with pytest.raises(ParameterError, match="bigquery, snowflake"):
        read("SELECT COUNT(*) FROM visits", dialect="klingon")


@pytest.mark.parametrize("dialect", [name for name, manner in DIALECTS.items() if manner is not None])
def test_plain_questions_are_the_same_in_every_dialect(dialect: str) -> None:
    for text in (
        "SELECT ward, COUNT(*) AS n, AVG(cost) FROM visits WHERE age BETWEEN 18 AND 65 AND city <> 'zug' "
        "GROUP BY ward HAVING COUNT(*) > 5 ORDER BY n DESC",
        "SELECT AVG(n) FROM (SELECT person, CASE WHEN COUNT(*) > 3 THEN 3 ELSE COUNT(*) END AS n FROM visits "
        "GROUP BY person) AS t -- per person",
        "SELECT COUNT(DISTINCT v.person) FROM visits v JOIN people p ON v.person = p.person "
        "WHERE v.city LIKE 'b%'",
    ):
        one, other = check(read(text, dialect=dialect), CATALOG), check(read(text), CATALOG)
        assert (identity(one), one.order, one.having) == (identity(other), other.order, other.having)
