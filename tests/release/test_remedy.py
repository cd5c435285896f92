"""A rewriting is offered where one is near, and only if it is understood."""

import pytest

from discreet.errors import QueryError
from discreet.query.catalog.manifest import declare
from discreet.release.pricing import check_question
from discreet.release.remedy import remedy

COLUMNS = {"ward": {"type": "text", "values": ["A", "B"]}, "stay": {"type": "integer", "low": 0, "high": 30}}
COLUMNS |= {"odd name": {"type": "integer", "low": 0, "high": 3}}
TABLE = {"source": "v.csv", "unit": "person", "rows_per_unit": 4, "columns": COLUMNS}
CATALOG = declare({"dataset": {"name": "clinic"}, "budget": {"epsilon": 1}, "tables": {"visits": TABLE}})


def offered(sql: str) -> str | None:
    with pytest.raises(QueryError) as refused:
        check_question(CATALOG, sql, None)
    return remedy(CATALOG, sql, refused.value)


@pytest.mark.parametrize(
    ("sql", "better"),
    [
        ("SELECT * FROM visits;", "SELECT COUNT(*) AS n FROM visits"),
        ("SELECT ward FROM visits", "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"),
        (
            "select ward, stay from visits where stay > 3 order by stay limit 10",
            "SELECT ward, stay, COUNT(*) AS n FROM visits where stay > 3 GROUP BY ward, stay",
        ),
        (
            "SELECT ward, COUNT(*) AS n FROM visits WHERE stay > 2 ORDER BY n",
            "SELECT ward, COUNT(*) AS n FROM visits WHERE stay > 2 GROUP BY ward ORDER BY n",
        ),
        (
            "SELECT person FROM visits WHERE ward = 'A'",
            "SELECT COUNT(DISTINCT person) AS n FROM visits WHERE ward = 'A'",
        ),
        ("SELECT COUNT(*) AS n FROM visit", "SELECT COUNT(*) AS n FROM visits"),
        (
            "SELECT v.wrd, COUNT(*) AS n FROM visits v GROUP BY v.wrd",
            "SELECT v.ward, COUNT(*) AS n FROM visits v GROUP BY v.ward",
        ),
        (
            "SELECT COUNT(*) AS n FROM visits WHERE wrd = 'wrd' -- wrd",
            "SELECT COUNT(*) AS n FROM visits WHERE ward = 'wrd' -- wrd",
        ),
        ("SELECT SUM(odd_name) AS n FROM visits", 'SELECT SUM("odd name") AS n FROM visits'),
        ("SELECT ward FROM (SELECT ward FROM visits) AS v", None),
        ("SELECT COUNT(*) AS n FROM nothing_like_it_at_all", None),
        ("SELEC", None),
        ("SELECT " + ", ".join(["ward"] * 50) + " FROM visits", None),
        (
            "SELECT" + " " * 3000 + "ward" + " " * 900 + "FROM visits",
            "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward",
        ),
        ("SELECT ward FROM visits WHERE stay > 1" + " " * 5000, None),
    ],
)
def test_a_rewriting_is_near_and_understood(sql: str, better: str | None):
    found = offered(sql)
    assert (None if found is None else " ".join(found.split())) == better
    if found is not None:
        check_question(CATALOG, found, None)
