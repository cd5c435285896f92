"""The dataframe face and SQL build the same question, and what a frame shows is SQL that asks the same."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta

import pytest
from tests.query.questions import clinic

from discreet.errors import ParameterError, QueryError
from discreet.query.check.identity import identity
from discreet.query.check.question import check
from discreet.query.language.asked import stated
from discreet.query.language.frame import (
    Posed,
    cases,
    col,
    count,
    dense_rank,
    entropy,
    every,
    highest,
    kurtosis,
    mean,
    ntile,
    ordered,
    rank,
    row_number,
    skewness,
    some,
    table,
    total,
    when,
)
from discreet.query.language.sql import fragment, read

CATALOG = clinic()
visits = table("visits")

SAME: list[tuple[Posed, str]] = [
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
    (
        visits.where("flag")
        .group("ward")
        .count()
        .rows("a")
        .join(visits.group("ward").count().rows("b"), on="ward")
        .where(col("b.count") > 3)
        .ask("a.ward", rate=col("a.count") / col("b.count")),
        "SELECT a.ward, a.count / b.count AS rate FROM (SELECT ward, COUNT(*) AS count FROM visits WHERE "
        "flag GROUP BY ward) a JOIN (SELECT ward, COUNT(*) AS count FROM visits GROUP BY ward) b USING "
        "(ward) WHERE b.count > 3",
    ),
    (
        visits.group("ward")
        .count()
        .rows("a")
        .cross(visits.count().rows("t"))
        .ask("ward", share=col("a.count") / col("t.count")),
        "SELECT ward, COUNT(*) / (SELECT COUNT(*) FROM visits) AS share FROM visits GROUP BY ward",
    ),
    (
        visits.group("ward").count().union(visits.group("city").count()),
        "SELECT ward, COUNT(*) AS count FROM visits GROUP BY ward UNION ALL SELECT city, COUNT(*) FROM "
        "visits GROUP BY city",
    ),
    (
        visits.semi(table("people").where("born > 1990"), "person").anti(table("wards"), "ward").count(),
        "SELECT COUNT(*) FROM visits WHERE person IN (SELECT person FROM people WHERE born > 1990) "
        "AND ward NOT IN (SELECT ward FROM wards)",
    ),
    (
        visits.semi(table("people"), "person").join(table("people"), on="person").mean("born"),
        "SELECT AVG(born) FROM (SELECT * FROM visits WHERE person IN (SELECT person FROM people)) AS visits "
        "JOIN people USING (person)",
    ),
    (
        visits.group(y=col("day").part("isoyear")).count(),
        "SELECT ISOYEAR(day) AS y, COUNT(*) FROM visits GROUP BY y",
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
    (
        visits.group("ward").agg(n=count(), m=mean("cost")).having(col("n") > 10, "m > 2").order_by("ward"),
        "SELECT ward, COUNT(*) AS n, AVG(cost) AS m FROM visits GROUP BY ward HAVING n > 10 AND m > 2",
    ),
    (
        visits.group("ward").agg(n=count()).order_by(col("n").desc()).limit(2, offset=1),
        "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n DESC LIMIT 2 OFFSET 1",
    ),
    (
        visits.group("ward").agg(n=count()).top(2, "n").with_columns(share=col("n") / total("n").over()),
        "SELECT ward, COUNT(*) AS n, n / SUM(n) OVER () AS share FROM visits GROUP BY ward",
    ),
    (
        visits.group(city=col("city").trim().lower().left(2)).count(),
        "SELECT LEFT(LOWER(TRIM(city)), 2) AS city, COUNT(*) AS count FROM visits GROUP BY 1",
    ),
    (
        visits.where(
            col("city").contains("er") & col("city").ends_with("n") & ~col("city").ilike("%z%"),
            col("city").upper().right(1).concat("x", col("ward")) != "Nx",
            col("city").substring(2, 3).length() >= 2,
            col("city").starts_with("b") | col("city").matches("^b.*"),
        ).count(),
        "SELECT COUNT(*) FROM visits WHERE CONTAINS(city, 'er') AND ENDS_WITH(city, 'n') "
        "AND NOT city ILIKE '%z%' AND CONCAT(RIGHT(UPPER(city), 1), 'x', ward) <> 'Nx' "
        "AND LENGTH(SUBSTRING(city, 2, 3)) >= 2 AND (STARTS_WITH(city, 'b') OR city ~ '^b.*')",
    ),
    (
        visits.where(
            col("city").cast("integer") > -3,
            col("age").cast(str) == "40",
            col("city").cast("date") < date(2024, 5, 1),
            col("huge").cast(float) <= 2.5,
            col("moment") > datetime(2024, 1, 5, 10),
        ).count(),
        "SELECT COUNT(*) FROM visits WHERE CAST(city AS INTEGER) > -3 AND CAST(age AS TEXT) = '40' "
        "AND CAST(city AS DATE) < DATE '2024-05-01' AND CAST(huge AS DOUBLE) <= 2.5 "
        "AND moment > TIMESTAMP '2024-01-05 10:00:00'",
    ),
    (
        visits.group(
            band=cases((col("age") < 18, "child"), (col("age") < 65, "adult"), otherwise="old")
        ).count(),
        "SELECT CASE WHEN age < 18 THEN 'child' WHEN age < 65 THEN 'adult' ELSE 'old' END AS band, "
        "COUNT(*) FROM visits GROUP BY band",
    ),
    (
        visits.group(y=col("day").part("year"), q=(col("day") + timedelta(days=7)).part("quarter")).count(),
        "SELECT EXTRACT(year FROM day) AS y, EXTRACT(quarter FROM day + INTERVAL 7 DAY) AS q, COUNT(*) "
        "FROM visits GROUP BY 1, 2",
    ),
    (
        visits.agg(
            d=col("day").until(date(2024, 12, 31)).clamp(0, 365).mean(),
            e=col("day").shift(-1, "month").until(col("day"), "week").clamp(-9, 9).sum(),
        ),
        "SELECT AVG(CLAMP(DATE_DIFF('day', day, DATE '2024-12-31'), 0, 365)), "
        "SUM(CLAMP(DATE_DIFF('week', day - INTERVAL 1 MONTH, day), -9, 9)) FROM visits",
    ),
    (
        visits.agg(
            a=(col("age") // 10).sum(),
            b=(abs(col("temp")) ** 2).clamp(0, 9).mean(),
            c=col("cost").sqrt().floor().sum(),
            d=col("cost").round(1).highest(),
            e=col("temp").sign().ceil().sum(),
            f=col("age").null_if(0).fill_null(1).greatest(5).least(90).mean(),
            g=col("cost").round(-1).sum(),
        ),
        "SELECT SUM(age // 10), AVG(CLAMP(POWER(ABS(temp), 2), 0, 9)), SUM(FLOOR(SQRT(cost))), "
        "MAX(ROUND(cost, 1)), SUM(CEIL(SIGN(temp))), "
        "AVG(LEAST(GREATEST(COALESCE(NULLIF(age, 0), 1), 5), 90)), SUM(ROUND(cost, -1)) FROM visits",
    ),
    (
        visits.agg(n=count().where(col("age") > 18).where("flag"), m="AVG(cost) FILTER (WHERE flag)"),
        "SELECT COUNT(*) FILTER (WHERE age > 18 AND flag), AVG(cost) FILTER (WHERE flag) FROM visits",
    ),
    (
        visits.agg(
            a=col("age").count(),
            b=col("city").distinct(),
            c=col("age").variance(population=True),
            d=col("age").deviation(),
            e=col("age").lowest(),
            f=col("age").median(),
            g=col("ward").mode(),
        ),
        "SELECT COUNT(age), COUNT(DISTINCT city), VAR_POP(age), STDDEV(age), MIN(age), MEDIAN(age), "
        "MODE(ward) FROM visits",
    ),
    (
        visits.group(b=col("age").bucket(0, 100, 4)).count(),
        "SELECT WIDTH_BUCKET(age, 0, 100, 4) AS b, COUNT(*) FROM visits GROUP BY b",
    ),
    (
        visits.join(visits.alias("other"), on="person")
        .where(col("visits.day") < col("other.day"))
        .people("person"),
        "SELECT COUNT(DISTINCT person) FROM visits JOIN visits AS other USING (person) "
        "WHERE visits.day < other.day",
    ),
    (
        visits.join(table("wards"), on=col("visits.ward") == col("wards.ward"), outer=True)
        .group("floor")
        .count(),
        "SELECT floor, COUNT(*) FROM visits LEFT JOIN wards ON visits.ward = wards.ward GROUP BY floor",
    ),
    (visits.cross(table("wards")).sum("floor"), "SELECT SUM(floor) FROM visits, wards"),
    (
        visits.first("person", by="day").group("ward").count(),
        "SELECT ward, COUNT(*) FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY person ORDER BY day) AS n "
        "FROM visits) AS t WHERE n <= 1 GROUP BY ward",
    ),
    (
        visits.where("flag").last("person", by="day", rows=2).mean("cost"),
        "SELECT AVG(cost) FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY person ORDER BY day DESC) AS n "
        "FROM visits WHERE flag) AS t WHERE n <= 2",
    ),
    (
        visits.per("person", "ward", having="COUNT(*) > 1", spent=total("cost")).group("ward").count(),
        "SELECT ward, COUNT(*) FROM (SELECT person, ward, SUM(cost) AS spent FROM visits "
        "GROUP BY person, ward HAVING COUNT(*) > 1) AS t GROUP BY ward",
    ),
    (
        visits.with_columns(dear=col("cost") > 10).group("dear").count(),
        "SELECT dear, COUNT(*) FROM (SELECT *, cost > 10 AS dear FROM visits) AS t GROUP BY dear",
    ),
    (
        visits.select("person", "ward", half=col("cost") / 2).sum("half"),
        "SELECT SUM(half) FROM (SELECT person, ward, cost / 2 AS half FROM visits) AS t",
    ),
    (visits.distinct("ward"), "SELECT DISTINCT ward FROM visits"),
    (
        visits.select("person", "age").union(visits.where("flag").select("person", "age")).mean("age"),
        "SELECT AVG(age) FROM (SELECT person, age FROM visits "
        "UNION ALL SELECT person, age FROM visits WHERE flag) AS t",
    ),
    (
        visits.join(table("people"), on="person", full=True).count(),
        "SELECT COUNT(*) FROM visits FULL JOIN people USING (person)",
    ),
    (
        visits.with_columns(before=col("day").lag("day", partition=["person"]))
        .where(col("before").until(col("day")) <= 30)
        .count(),
        "SELECT COUNT(*) FROM (SELECT *, LAG(day) OVER (PARTITION BY person ORDER BY day) AS b FROM visits) "
        "AS t WHERE DATE_DIFF('day', b, day) <= 30",
    ),
    (
        visits.where(
            col("city").replace("a", "b").trim("/") == "x",
            col("city").split("/", 1) == "y",
            col("moment").part("hour") < 9,
        ).count(),
        "SELECT COUNT(*) FROM visits WHERE TRIM(BOTH '/' FROM REPLACE(city, 'a', 'b')) = 'x' "
        "AND SPLIT_PART(city, '/', 1) = 'y' AND HOUR(moment) < 9",
    ),
    (
        visits.group("ward").agg(
            s=skewness("age"),
            k=kurtosis("age"),
            d=col("age").sum(distinct=True),
            m=col("age").mean(distinct=True),
        ),
        "SELECT ward, SKEWNESS(age), KURTOSIS(age), SUM(DISTINCT age), AVG(DISTINCT age) FROM visits "
        "GROUP BY ward",
    ),
    (visits.agg(e=entropy("ward")), "SELECT ENTROPY(ward) FROM visits"),
    (
        visits.agg(a=some(col("age") > 90), b=every("flag")),
        "SELECT BOOL_OR(age > 90), BOOL_AND(flag) FROM visits",
    ),
    (
        visits.with_columns(q=ntile(4).over("day", partition=["person"])).group("q").count(),
        "SELECT q, COUNT(*) FROM (SELECT *, NTILE(4) OVER (PARTITION BY person ORDER BY day) AS q "
        "FROM visits) AS t GROUP BY q",
    ),
    (
        visits.where(col("city").matches("^[a-z]{2}$")).count(),
        "SELECT COUNT(*) FROM visits WHERE city ~ '^[a-z]{2}$'",
    ),
    (visits.cdf("age", 10), "SELECT CDF(age, 10) FROM visits"),
    (visits.histogram("age", [18, 65]), "SELECT HISTOGRAM(age, [18, 65]) FROM visits"),
    (visits.quantiles("age", ["0.25", "0.75"]), "SELECT QUANTILES(age, [0.25, 0.75]) FROM visits"),
    (
        visits.cube("ward", "flag").count(),
        "SELECT ward, flag, COUNT(*) FROM visits GROUP BY CUBE (ward, flag)",
    ),
    (
        visits.group("ward").count().rows().agg(top=highest("count")),
        "SELECT MAX(count) AS top FROM (SELECT ward, COUNT(*) AS count FROM visits GROUP BY ward) AS r",
    ),
    (
        visits.group(m=col("day").part("month"))
        .agg(n=count())
        .with_columns(
            place=rank().over(col("n").desc()),
            dense=dense_rank().over("n"),
            row=row_number().over("m"),
            before=col("n").lag("m"),
            trend=mean("n").over("m", rows=(2, 0)),
            low=count().low(),
        )
        .qualify(col("place") <= 3),
        "SELECT MONTH(day) AS m, COUNT(*) AS n FROM visits GROUP BY m",
    ),
]


@pytest.mark.parametrize(("built", "text"), SAME)
def test_the_frame_asks_what_the_sql_asks(built: Posed, text: str) -> None:
    asked = check(built.block, CATALOG)
    assert identity(asked) == identity(check(read(text), CATALOG))
    shown = check(read(repr(built)), CATALOG)
    assert (identity(shown), shown.columns) == (identity(asked), asked.columns)
    assert (shown.having, shown.order, shown.limit) == (asked.having, asked.order, asked.limit)


def test_what_follows_an_aggregate_is_what_sql_says() -> None:
    built = visits.group("ward").agg(n=count()).having("n > 3").order_by(col("n").desc(), "ward").limit(2)
    text = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING n > 3 ORDER BY n DESC, ward LIMIT 2"
    one, other = check(built.block, CATALOG), check(read(text), CATALOG)
    assert (one.having, one.order, one.limit) == (other.having, other.order, other.limit)


REFUSED = [
    (lambda: stated(visits), "asks for nothing yet"),
    (lambda: stated(7), "a question is SQL text"),
    (lambda: visits.join(visits, on="person"), "name one of them"),
    (lambda: visits.join(table("people"), on=[]), "needs the columns"),
    (lambda: visits.where(3), "no column, expression or piece of SQL"),
    (lambda: col("age").cast("money"), "is not a kind of value"),
    (lambda: col("age").isin([]), "at least one constant"),
    (lambda: col("age") == object(), "a constant of type object"),
    (lambda: col("age") == datetime(2024, 1, 1, tzinfo=UTC), "without a zone"),
    (lambda: col("day").part("fortnight"), "a unit of time"),
    (lambda: col("day") + timedelta(hours=1), "whole days"),
    (lambda: col("age").where("flag"), "belongs to an aggregate"),
    (lambda: col("age").over("day"), "needs a sum"),
    (lambda: col("age").lag(), "needs an order"),
    (lambda: col("age").quantile(2), "from 0 to 1"),
    (lambda: visits.count().limit(-1), "at least 0"),
    (lambda: visits.first("person", by="day", rows=0), "at least 1"),
    (lambda: visits.select(), "keeps no column"),
    (lambda: cases(), "needs a condition"),
    (lambda: col(""), "name of a column"),
    (lambda: col("__in0.k0"), "reserved"),
    (lambda: visits.alias("__window"), "reserved"),
    (lambda: visits.agg(__w0=count()), "reserved"),
    (lambda: visits.with_columns(__j=col("age")), "reserved"),
    (lambda: visits.count().with_columns(__n=count()), "reserved"),
    (lambda: visits.count().rows("__rows"), "reserved"),
    (lambda: visits.join(table("people"), on="ｐerson"), "look like others"),
    (lambda: table("visits\u200b"), "nobody sees"),
    (lambda: visits.group("ward").per("person"), "per first"),
]


@pytest.mark.parametrize(("build", "words"), REFUSED)
def test_mistakes_are_told_where_they_are_made(build: Callable[[], object], words: str) -> None:
    with pytest.raises((QueryError, ParameterError), match=words):
        build()


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
