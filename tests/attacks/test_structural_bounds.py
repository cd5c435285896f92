"""A bound that needs no weights must come from an operator of the statement, whatever the tables hold."""

from typing import Any

import pytest
from tests.attacks.neighbours import Neighbours
from tests.attacks.test_sql_contributions import OTHERS, visit
from tests.query.questions import clinic

from discreet.errors import QueryError
from discreet.query.check.question import check
from discreet.query.language.sql import read

ONCE = (
    "(SELECT person, MAX(ward) AS ward, MAX(city) AS city, MAX(age) AS age FROM visits GROUP BY person) AS t"
)


@pytest.fixture(scope="module")
def people() -> Neighbours:
    return Neighbours(OTHERS, [visit("eve", city="B")])


@pytest.fixture(scope="module")
def rows() -> Neighbours:
    return Neighbours(OTHERS, [visit(None, ward="B", city="B")], unit=False)


FANS_OUT = [
    "w.ward = w.ward",
    "w.ward = w.ward || ''",
    "w.ward || '' = w.ward",
    "w.ward = w.head",
    "w.ward = COALESCE(w.ward, t.city)",
    "w.ward = CASE WHEN t.age > 1000 THEN t.city ELSE w.ward END",
    "w.ward = LEFT(w.ward, 1)",
    "w.ward = CAST(w.ward AS TEXT)",
    "w.ward = TRIM(w.ward) AND t.age >= 0",
    "w.ward = t.ward OR w.floor >= 0",
    "(w.ward = t.ward) IS NOT NULL",
    "NOT (w.ward = t.ward)",
    "w.ward <> t.ward",
    "w.ward IN ('A', 'B', 'C')",
    "w.floor = t.age OR w.floor >= 0",
]
FIXED_BY_THE_ROW = [
    "w.ward = t.ward",
    "t.ward = w.ward",
    "w.ward = UPPER(t.city)",
    "w.ward = 'B'",
    "w.ward = COALESCE(t.ward, t.city, 'A')",
    "CAST(w.ward AS TEXT) = t.ward",
    "w.floor >= 0 AND w.ward = t.ward",
]


def claimed(people: Neighbours, on: str, **limits: Any) -> int:
    ((measurement, _, _),) = people.moved(f"SELECT COUNT(*) FROM {ONCE} JOIN wards AS w ON {on}", **limits)
    return int(measurement.sensitivity.l1 / measurement.scale)


@pytest.mark.parametrize("on", FANS_OUT)
def test_a_unique_key_that_the_private_row_does_not_fix_bounds_nothing(on: str, people: Neighbours) -> None:
    assert people.honest(f"SELECT COUNT(*) FROM {ONCE} JOIN wards AS w ON {on}", rows=1)
    assert people.honest(f"SELECT COUNT(*) FROM wards AS w JOIN {ONCE} ON {on}", rows=1)
    assert people.honest(f"SELECT COUNT(*) FROM {ONCE} LEFT JOIN wards AS w ON {on}", rows=1)
    alone = on.replace("t.", "visits.")
    with pytest.raises(QueryError, match="without a unit nothing bounds them"):
        check(read(f"SELECT COUNT(*) FROM visits JOIN wards AS w ON {alone}"), clinic(unit=False))


@pytest.mark.parametrize("on", FIXED_BY_THE_ROW)
def test_a_unique_key_that_the_private_row_fixes_keeps_the_bound(
    on: str, people: Neighbours, rows: Neighbours
) -> None:
    """The public table holds ward B twice, so the statement itself must make the key unique."""
    assert claimed(people, on, rows=3) == 1
    assert people.honest(f"SELECT COUNT(*) FROM {ONCE} JOIN wards AS w ON {on}", rows=3)
    alone = on.replace("t.", "visits.")
    question = f"SELECT COUNT(*) FROM visits JOIN wards AS w ON {alone}"
    assert rows.honest(question)


def test_the_detector_sees_a_public_table_that_is_not_made_unique(rows: Neighbours) -> None:
    from dataclasses import replace

    from tests.query.worlds import requests

    def careless(checked: Any) -> Any:
        made = requests(checked)
        plain = [
            replace(r, sql=r.sql.replace('GROUP BY "t1"."ward"', 'GROUP BY "t1"."ward", "t1"."floor"'))
            for r in made
        ]
        assert plain != made
        return plain

    question = "SELECT COUNT(*) FROM visits JOIN wards AS w ON visits.ward = w.ward"
    assert rows.honest(question)
    assert any(l1 > m.sensitivity.l1 for m, l1, _ in rows.moved(question, careless))
