"""The dataframe face, Ibis and SQL build the same question."""

from typing import Any

import ibis
import pytest
from tests.query.questions import clinic

from discreet.errors import QueryError
from discreet.query.check.identity import identity
from discreet.query.check.question import check
from discreet.query.language.frame import col, count, highest, mean, ordered, table, when
from discreet.query.language.sql import fragment, read
from discreet.query.plan import Block

visits = table("visits")

SAME: list[tuple[Block, str]] = [
    (visits.count(), "SELECT COUNT(*) AS count FROM visits"),
    (
        visits.where(col("age") >= 18).group("ward").count(),
        "SELECT ward, COUNT(*) AS count FROM visits WHERE age >= 18 GROUP BY ward",
    ),
    (
        visits.where("age >= 18", ward="A").sum("cost"),
        "SELECT SUM(cost) AS sum FROM visits WHERE age >= 18 AND ward = 'A'",
    ),
    (
        visits.group(old=col("age") > 65).mean(col("cost") * 2),
        "SELECT age > 65 AS old, AVG(cost * 2) AS mean FROM visits GROUP BY age > 65",
    ),
    (
        visits.where(col("ward").isin(["A", "B"]) & ~col("city").is_null()).median("age"),
        "SELECT MEDIAN(age) AS median FROM visits WHERE ward IN ('A', 'B') AND NOT city IS NULL",
    ),
    (visits.people("person"), "SELECT COUNT(DISTINCT person) AS people FROM visits"),
    (visits.mode("ward"), "SELECT MODE(ward) AS mode FROM visits"),
    (visits.quantile("age", 0.9), "SELECT QUANTILE(age, 0.9) AS quantile FROM visits"),
    (
        visits.agg(n=count(), dear=mean(when(col("cost") > 10, 1, 0))),
        "SELECT COUNT(*) AS n, AVG(CASE WHEN cost > 10 THEN 1 ELSE 0 END) AS dear FROM visits",
    ),
    (
        visits.sum(col("wild").clamp(0, 1.5)),
        "SELECT SUM(CLAMP(wild, 0, 1.5)) AS sum FROM visits",
    ),
    (
        visits.per("person", n=count(), oldest=highest("age")).mean(col("n").clamp(0, 5)),
        "SELECT AVG(CLAMP(n, 0, 5)) AS mean FROM "
        "(SELECT person, COUNT(*) AS n, MAX(age) AS oldest FROM visits GROUP BY person) AS people",
    ),
    (
        visits.join(table("people"), on="person").mean("born"),
        "SELECT AVG(born) AS mean FROM visits JOIN people USING (person)",
    ),
    (
        ordered(visits.group("ward").count(), "count", descending=True, limit=2),
        "SELECT ward, COUNT(*) AS count FROM visits GROUP BY ward ORDER BY count DESC LIMIT 2",
    ),
    (
        visits.group(month=col("day").truncate("month")).count(),
        "SELECT DATE_TRUNC('month', day) AS month, COUNT(*) AS count FROM visits GROUP BY 1",
    ),
]


@pytest.mark.parametrize(("built", "text"), SAME)
def test_the_frame_asks_what_the_sql_asks(built: Block, text: str) -> None:
    catalog = clinic()
    assert identity(check(built, catalog)) == identity(check(read(text), catalog))


def test_conditions_cannot_be_used_as_python_truths() -> None:
    with pytest.raises(QueryError, match="combine conditions"):
        visits.where(col("age") > 1 and col("age") < 5)


@pytest.mark.parametrize(
    "text",
    [
        "COUNT(*) FROM visits",
        "age; DROP TABLE visits",
        "SELECT 1",
        "(SELECT 1)",
        "age /* x",
        "pg_sleep(1)",
        "",
    ],
)
def test_pieces_of_sql_are_as_guarded_as_whole_questions(text: str) -> None:
    with pytest.raises(QueryError):
        fragment(text)


def test_joining_after_grouping_is_refused() -> None:
    with pytest.raises(QueryError, match="join first"):
        visits.group("ward").join(table("people"), on="person")


SCHEMA = {
    "person": "string",
    "ward": "string",
    "age": "int64",
    "cost": "float64",
    "flag": "boolean",
    "city": "string",
}


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda t: t.count(), "SELECT COUNT(*) FROM visits"),
        (
            lambda t: t.filter(t.age > 18).group_by("ward").agg(n=ibis._.count(), m=ibis._.cost.mean()),
            "SELECT ward, COUNT(*) AS n, AVG(cost) AS m FROM visits WHERE age > 18 GROUP BY ward",
        ),
        (lambda t: t.age.sum(), "SELECT SUM(age) FROM visits"),
        (lambda t: t.aggregate(p=t.person.nunique()), "SELECT COUNT(DISTINCT person) AS p FROM visits"),
        (
            lambda t: t.group_by("ward").agg(n=t.count()).order_by(ibis.desc("n")).limit(2),
            "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n DESC LIMIT 2",
        ),
    ],
)
def test_ibis_expressions_are_understood_through_their_sql(build: Any, text: str) -> None:
    expression = build(ibis.table(SCHEMA, name="visits"))
    asked = check(read(str(ibis.to_sql(expression, dialect="duckdb"))), clinic())
    meant = check(read(text), clinic())
    assert [m.name for m in asked.measurements] == [m.name for m in meant.measurements]
    assert type(asked.keys) is type(meant.keys)
    columns = [[(column.name, column.values) for column in keys.columns] for keys in (asked.keys, meant.keys)]
    assert columns[0] == columns[1]
    assert asked.limit == meant.limit
