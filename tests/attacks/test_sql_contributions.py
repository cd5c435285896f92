"""Attacks on what one person contributes, each with a broken twin that the same detector must catch."""

from dataclasses import replace
from typing import Any

import pytest
from tests.query.questions import clinic
from tests.query.worlds import Row, open_world, requests

from discreet.engines.duckdb.engine import DuckDB
from discreet.engines.duckdb.render import render
from discreet.engines.exact import EngineRequest
from discreet.query.check.measurement import Checked, Measurement
from discreet.query.check.question import check
from discreet.query.language.sql import read
from discreet.query.rewrite.integers import statements

PLAIN: Row = {
    "version": 0,
    "ward": "A",
    "city": "ada",
    "age": 40,
    "score": 1,
    "huge": 0,
    "cost": 10.0,
    "temp": 36.6,
    "wild": 0.0,
    "day": None,
    "any_day": None,
    "moment": None,
    "flag": True,
}


def visit(person: str | None, **cells: Any) -> Row:
    return {**PLAIN, "person": person, **cells}


OTHERS = [visit(name, ward=ward, age=age) for name in "pqrs" for ward, age in (("A", 10), ("B", 90))]


def moved(
    question: str, person: list[Row], *, sql: Any = None, **limits: Any
) -> list[tuple[Measurement, int, int]]:
    """Return, per measurement, the l1 and the largest difference that a person makes.

    `sql` may replace the generated statements by broken ones.
    """
    catalog = clinic(**limits)
    checked = check(read(question), catalog)
    asked = requests(checked) if sql is None else sql(checked)
    born = [{"person": name, "version": 0, "born": 1980} for name in ("p", "q", "eve", "eve", "eve")]
    found = []
    for rows in (OTHERS + person, OTHERS):
        with open_world(rows, born, catalog) as engine:
            found.append(engine._exact(asked, 3)._totals)
    result = []
    for position, measured in enumerate(checked.measurements):
        if isinstance(measured, Measurement):
            one, other = (totals[f"m{position}"] for totals in found)
            change = [abs(one.get(key, 0) - other.get(key, 0)) for key in {*one, *other}]
            result.append((measured, sum(change), max(change, default=0)))
    return result


def honest(question: str, person: list[Row], **limits: Any) -> bool:
    """Whether the claims of all measurements hold for this person."""
    return all(
        l1 <= m.sensitivity.l1 and top <= m.sensitivity.linf
        for m, l1, top in moved(question, person, **limits)
    )


def textual(old: str, new: str) -> Any:
    """Return a way to break the generated statements by replacing a piece of their text."""

    def sql(checked: Checked) -> list[EngineRequest]:
        broken = []
        for statement in statements(checked):
            text = render(statement)
            broken.append(
                EngineRequest(text.replace(old, new), statement.keys, statement.outputs, statement.cells)
            )
        assert any(old in render(statement) for statement in statements(checked))
        return broken

    return sql


MANY = [visit("eve", age=120, cost=50.0) for _ in range(500)]
EVERYWHERE = [visit("eve", ward=ward, age=120, city=f"c{n}") for n, ward in enumerate("ABC" * 40)]


def test_a_person_with_many_rows_counts_as_few() -> None:
    assert honest("SELECT COUNT(*), SUM(age), AVG(cost) FROM visits", MANY)
    weightless = textual("least(65536::BIGINT, (196608 // count(*)))", "65536")
    assert not honest("SELECT COUNT(*), SUM(age), AVG(cost) FROM visits", MANY, sql=weightless)


def test_values_far_outside_the_bounds_count_as_the_bound() -> None:
    giant = [visit("eve", age=10**12, cost=1e300, temp=float("inf"))]
    assert honest("SELECT SUM(age), SUM(cost), SUM(temp) FROM visits", giant)
    clamp = 'CASE WHEN "t0"."age" < 0 THEN 0 WHEN "t0"."age" > 120 THEN 120 ELSE "t0"."age" END AS INTEGER'
    unclamped = textual(clamp, '"t0"."age" AS BIGINT')
    assert not honest("SELECT SUM(age) FROM visits", giant, sql=unclamped)


def test_the_clamp_is_on_the_argument_and_not_before_the_expression() -> None:
    """A CASE that multiplies one chosen person by a billion widens the claim instead of slipping past it."""
    question = "SELECT SUM(CASE WHEN city = 'ada' AND age = 77 THEN 1000000000 ELSE age END) FROM visits"
    eve = [visit("eve", age=77)]
    (measurement, l1, _), *_ = moved(question, eve)
    assert l1 <= measurement.sensitivity.l1
    assert measurement.sensitivity.l1 >= 10**9 * measurement.scale

    # Clamping the column instead would have promised this, and broken it by far.
    (narrow, _, _), *_ = moved("SELECT SUM(age) FROM visits", eve)
    assert l1 > narrow.sensitivity.l1


def test_a_person_in_every_group_counts_as_in_few_of_them() -> None:
    question = "SELECT ward, COUNT(DISTINCT person) FROM visits GROUP BY ward"
    assert honest(question, EVERYWHERE, groups=2)
    weightless = textual('least(65536::BIGINT, (131072 // bit_count("p"."b")))', "65536")
    assert not honest(question, EVERYWHERE, groups=2, sql=weightless)
    found = "SELECT city, COUNT(DISTINCT person) FROM visits GROUP BY city"
    assert honest(found, EVERYWHERE, groups=2)
    assert not honest(found, EVERYWHERE, groups=2, sql=textual('("j"."j" <= 2)', '("j"."j" <= 9)'))


def test_distinct_values_of_one_person_are_few() -> None:
    question = "SELECT COUNT(DISTINCT city) FROM visits"
    assert honest(question, EVERYWHERE)
    assert not honest(question, EVERYWHERE, sql=textual('("j"."j" <= 3)', '("j"."j" <= 999)'))


def test_limits_per_group_hold() -> None:
    question = "SELECT ward, COUNT(*), SUM(age) FROM visits GROUP BY ward"
    assert honest(question, EVERYWHERE, rows=6, groups=2, per_group=2)
    assert honest(question, MANY, rows=6, groups=2, per_group=2)
    whole = textual('coalesce("c"."w", "w"."w")', '"w"."w"')
    assert not honest(question, MANY, rows=None, groups=2, per_group=2, sql=whole)
    spread = textual('greatest(4::BIGINT, ("p"."n"', 'least(4::BIGINT, ("p"."n"')
    assert not honest(question, EVERYWHERE, rows=None, groups=2, per_group=2, sql=spread)
    # A cell that the bits of a person hide must be noticed.
    hidden = textual('(("p"."n" - "p"."b") >= 2)', '(("p"."n" - "p"."b") >= 500)')
    assert not honest(question, MANY, rows=None, groups=2, per_group=2, sql=hidden)


def test_weights_may_spread_over_more_groups_than_rows_and_the_claim_says_so() -> None:
    question = "SELECT score, COUNT(*) FROM visits GROUP BY score"
    spread = [visit("eve", score=score) for score in range(-7, 6)]
    ((measurement, l1, _),) = moved(question, spread, rows=3, groups=None, per_group=1)
    assert 0 < l1 <= measurement.sensitivity.l1
    assert measurement.sensitivity.l0 == 13


@pytest.mark.parametrize(
    "source",
    [
        "visits JOIN visits AS other ON visits.person = other.person",
        "visits JOIN visits AS other ON visits.person = other.person AND visits.ward = other.ward",
        "visits LEFT JOIN visits AS other ON visits.person = other.person",
        "visits JOIN people AS p ON visits.person = p.person",
        "visits JOIN wards AS w ON visits.ward = w.ward",
        "visits JOIN wards AS w ON w.floor >= 0",
    ],
)
def test_joins_that_duplicate_people_are_bounded_after_the_join(source: str) -> None:
    question = f"SELECT visits.ward, COUNT(*), SUM(visits.age) FROM {source} GROUP BY visits.ward"
    assert honest(question, MANY[:60])
    assert honest(question, EVERYWHERE)


def test_bounding_before_the_join_would_be_caught() -> None:
    source = "visits JOIN visits AS other ON visits.person = other.person"
    question = f"SELECT COUNT(*) FROM {source}"

    def before(checked: Checked) -> list[EngineRequest]:
        stored = '(SELECT count(*) FROM visits WHERE person = "r"."u")))'
        early = [replace(r, sql=r.sql.replace("count(*)))", stored)) for r in requests(checked)]
        assert early != requests(checked)
        return early

    assert not honest(question, MANY[:60], rows=2, sql=before)


def test_rows_of_nobody_change_nothing() -> None:
    nobody = [visit(None, age=120) for _ in range(300)]
    for question in (
        "SELECT COUNT(*), SUM(age) FROM visits",
        "SELECT COUNT(DISTINCT city), COUNT(DISTINCT person) FROM visits",
    ):
        assert all(l1 == 0 for _, l1, _ in moved(question, nobody))
    kept = textual('(NOT ("t0"."person" IS NULL))', "true")
    assert any(l1 for _, l1, _ in moved("SELECT COUNT(DISTINCT person) FROM visits", nobody, sql=kept))


def test_a_subquery_per_person_cannot_see_other_people() -> None:
    question = (
        "SELECT AVG(CLAMP(n, 0, 5)) FROM (SELECT person, COUNT(*) AS n FROM visits GROUP BY person) AS t"
    )
    assert honest(question, MANY)
    assert honest(question, EVERYWHERE)
    broken = textual('GROUP BY "t1"."person"', 'GROUP BY "t1"."person", "t1"."city", "t1"."ward"')
    assert not honest(question, EVERYWHERE, sql=broken)


def test_sums_do_not_depend_on_row_order_or_threads() -> None:
    """The same multiset of doubles, shuffled and split: plain sums differ, integers do not."""
    from random import Random

    catalog = clinic(unit=False)
    values = [40.0, -40.0, 1e-9, 0.1, 45.0] * 400
    seen, floats = set(), set()
    for seed in range(4):
        Random(seed).shuffle(values)
        rows = [visit(None, temp=value, wild=value * 2.0**40) for value in values]
        with open_world(rows, [], catalog, threads=1 + seed % 2) as engine:
            checked = check(read("SELECT SUM(temp) FROM visits"), catalog)
            seen.add(engine._exact(requests(checked), 1)._totals["m0"][()])
            floats.add(engine.connection.execute("SELECT sum(wild) FROM visits").fetchone()[0])
    assert len(seen) == 1
    assert len(floats) > 1


def test_sixty_four_bit_extremes_are_a_normal_answer() -> None:
    rows = [visit(f"p{n}", huge=2**63 - 1) for n in range(50)]
    catalog = clinic()
    with open_world(rows, [], catalog) as engine:
        checked = check(read("SELECT SUM(CLAMP(huge, 0, 9007199254740992)) FROM visits"), catalog)
        assert engine._exact(requests(checked), 1)._totals["m0"][()] == 50 * 2**53 * 2**16


def test_the_choice_of_groups_is_keyed() -> None:
    catalog = clinic(groups=1)
    checked = check(read("SELECT city, COUNT(DISTINCT person) FROM visits GROUP BY city"), catalog)
    with open_world(EVERYWHERE[:4], [], catalog) as engine:
        chosen = {str(engine._exact(requests(checked), choice)._totals["m0"]) for choice in range(60)}
        again = {str(engine._exact(requests(checked), 5)._totals["m0"]) for _ in range(5)}
    assert len(chosen) == 4
    assert len(again) == 1


def test_the_detector_is_not_vacuous() -> None:
    assert isinstance(open_world([], [], clinic()), DuckDB)
    for question in ("SELECT COUNT(*) FROM visits", "SELECT COUNT(DISTINCT person) FROM visits"):
        ((_, l1, _),) = moved(question, MANY)
        assert l1 > 0
