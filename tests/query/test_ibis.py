"""Expressions of Ibis are questions: the same ones as those of the SQL that says the same."""

import sys
from collections.abc import Callable
from typing import Any

import ibis
import pytest
from ibis import _
from tests.query.questions import clinic

from discreet.errors import ExtraError, QueryError
from discreet.query.check.identity import identity
from discreet.query.check.question import check
from discreet.query.language.asked import stated
from discreet.query.language.ibis import table_of
from discreet.query.language.sql import read
from discreet.query.language.written import written
from discreet.query.plan import Block

CATALOG = clinic()


def declared(name: str) -> Any:
    table = CATALOG.table(name)
    assert table is not None
    return table_of(table.name, table.offered)


v, p, w = declared("visits"), declared("people"), declared("wards")

SAME: list[tuple[Callable[[], Any], str]] = [
    (lambda: v.count(), "SELECT COUNT(*) FROM visits"),
    (lambda: v.age.sum(), "SELECT SUM(age) FROM visits"),
    (lambda: v.person.nunique(), "SELECT COUNT(DISTINCT person) FROM visits"),
    (lambda: v.age.quantile(0.9), "SELECT QUANTILE(age, 0.9) FROM visits"),
    (lambda: v.cost.std(), "SELECT STDDEV_SAMP(cost) FROM visits"),
    (
        lambda: v.filter(v.age > 18).group_by("ward").agg(n=_.count(), m=_.cost.mean()),
        "SELECT ward, COUNT(*), AVG(cost) FROM visits WHERE age > 18 GROUP BY ward",
    ),
    (
        lambda: v.group_by("ward").agg(n=v.count()).filter(_.n > 3).order_by(ibis.desc("n")).limit(2),
        "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward",
    ),
    (
        lambda: v.group_by("ward").agg(n=_.count()).mutate(s=_.n / _.n.sum()),
        "SELECT ward, COUNT(*) FROM visits GROUP BY 1",
    ),
    (lambda: v.ward.topk(2), "SELECT ward, COUNT(*) FROM visits GROUP BY ward"),
    (
        lambda: v.group_by(k=ibis.cases((v.age < 18, "c"), else_="a")).agg(n=_.count()),
        "SELECT CASE WHEN age < 18 THEN 'c' ELSE 'a' END AS k, COUNT(*) FROM visits GROUP BY k",
    ),
    (
        lambda: v.group_by(m=v.day.truncate("M")).agg(n=_.count()),
        "SELECT DATE_TRUNC('month', day) AS m, COUNT(*) FROM visits GROUP BY m",
    ),
    (
        lambda: v.filter(
            v.city.endswith("n") & v.city.contains("er"), v.day >= ibis.date("2024-02-01")
        ).count(),
        "SELECT COUNT(*) FROM visits WHERE ENDS_WITH(city, 'n') AND CONTAINS(city, 'er') "
        "AND day >= DATE '2024-02-01'",
    ),
    (
        lambda: v.group_by(k=v.ward.upper().substr(0, 1)).agg(n=_.count()),
        "SELECT SUBSTRING(UPPER(ward), 1, 1) AS k, COUNT(*) FROM visits GROUP BY k",
    ),
    (lambda: v.join(p, "person").agg(b=_.born.mean()), ""),
    (lambda: v.join(w, v.ward == w.ward).group_by("floor").agg(n=_.count()), ""),
    (lambda: v.left_join(p, "person").count(), ""),
    (lambda: v.join(v.view(), "person").count(), ""),
    (lambda: v.semi_join(p, "person").count(), ""),
    (lambda: v.anti_join(p, "person").count(), ""),
    (lambda: v.filter(v.person.isin(p.filter(p.born > 1990).person)).count(), ""),
    (lambda: v.wild.clip(0, 5).mean(), "SELECT AVG(CLAMP(wild, 0, 5)) FROM visits"),
    (
        lambda: v.group_by("person").agg(n=_.count()).agg(m=_.n.clip(0, 5).mean()),
        "",
    ),
    (
        lambda: v.group_by("ward").having(_.count() > 5).agg(n=_.count()),
        "SELECT ward, COUNT(*) FROM visits GROUP BY 1",
    ),
    (lambda: v.rename(years="age").years.mean(), ""),
    (lambda: v.union(v).count(), ""),
    (lambda: v.filter(ibis.row_number().over(group_by="person", order_by="day") == 0).flag.mean(), ""),
    (lambda: v.age.corr(v.cost, how="pop"), "SELECT CORR(age, cost) FROM visits"),
    (lambda: v.group_by("ward").agg(a=_.flag.any(), b=_.flag.all()), ""),
    (lambda: v.age.kurtosis(how="sample"), "SELECT KURTOSIS(age) FROM visits"),
    (
        lambda: v.filter(v.city.re_search("^[0-9]{5}$")).count(),
        "SELECT COUNT(*) FROM visits WHERE city ~ '^[0-9]{5}$'",
    ),
]


@pytest.mark.parametrize(("build", "text"), SAME)
def test_an_expression_of_ibis_asks_what_its_sql_asks(build: Callable[[], Any], text: str) -> None:
    block = stated(build())
    assert isinstance(block, Block)
    asked = identity(check(block, CATALOG))
    if text:
        assert asked == identity(check(read(text), CATALOG))
    assert identity(check(read(written(block)), CATALOG)) == asked


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: v, "a private row cannot be released"),
        (lambda: v.head(5), "a private row cannot be released"),
        (lambda: v.ward, "asks for rows of people"),
        (lambda: v.order_by("age").limit(3).age.mean(), "order and limit the final answer"),
        (lambda: v.sample(0.1).count(), "sampling inside a question"),
        (lambda: ibis.table({"a": "int64"}, name="elsewhere").count(), "no such table"),
        (lambda: v.group_by("person").agg(n=_.count()), "one group per person"),
        (lambda: v.group_by("ward").agg(a=_.city.group_concat()), "shows what single rows hold"),
    ],
)
def test_what_ibis_cannot_be_told_is_refused_without_a_place(build: Callable[[], Any], words: str) -> None:
    with pytest.raises(QueryError, match=words) as refused:
        check(stated(build()), CATALOG)  # type: ignore[arg-type]
    assert refused.value.place is None


def test_without_ibis_its_tables_say_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ibis", None)
    with pytest.raises(ExtraError, match=r"discreet\[ibis\]"):
        declared("visits")
