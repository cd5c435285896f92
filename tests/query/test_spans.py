"""Whole units of time and months with their parts are those of a calendar, counted in another way."""

from datetime import date, datetime, timedelta
from random import Random

from tests.query.questions import clinic

from discreet.engines.reference.engine import Reference
from discreet.query.check.question import check
from discreet.query.language.sql import read
from discreet.query.rewrite.statements import statements

DAYS = [date(2024, 1, 31), date(2024, 2, 29), date(2024, 3, 1), date(2023, 2, 28), date(2024, 12, 31)]
LENGTHS = {"week": timedelta(7), "day": timedelta(1), "hour": timedelta(hours=1), "minute": timedelta(0, 60)}


def months_passed(early: datetime, late: datetime) -> int:
    """Count months one by one: each ends where its day and time come again, if it has such a day."""
    if late < early:
        return -months_passed(late, early)
    passed = 0
    while True:
        months = early.year * 12 + early.month + passed
        parts = (early.day, early.time())
        if (months // 12, months % 12 + 1) > (late.year, late.month):
            return passed
        if (months // 12, months % 12 + 1) == (late.year, late.month) and parts > (late.day, late.time()):
            return passed
        passed += 1


def told(condition: str, rows: list[dict[str, object]]) -> bool:
    """Return whether a condition holds for the one row that there is."""
    text = f"SELECT COUNT(*) FROM visits WHERE {condition}"
    catalog = clinic(rows=1, groups=None)
    offered = dict.fromkeys(name for name, _ in catalog.tables[0].offered)
    plain = [{**offered, "person": "p", **row} for row in rows]
    exact = Reference({"visits": plain})._exact(statements(check(read(text), catalog)), 1)
    return any(total for totals in exact._totals.values() for total in dict(totals).values())


def pairs() -> list[tuple[datetime, datetime]]:
    random = Random(5)
    days = [*DAYS, *(date(2024, 1, 1) + timedelta(random.randrange(366)) for _ in range(4))]
    times = [timedelta(0), timedelta(hours=9, minutes=30), timedelta(hours=23, microseconds=1)]
    moments = [datetime(d.year, d.month, d.day) + random.choice(times) for d in days]
    return [(a, b) for a in moments for b in random.sample(moments, 2)]


def test_units_that_have_passed_are_those_counted_one_by_one() -> None:
    for early, late in pairs():
        months = months_passed(early, late)
        expected = {"month": months, "year": int(months / 12), "quarter": int(months / 3)}
        expected |= {unit: int((late - early) / length) for unit, length in LENGTHS.items()}
        same = " AND ".join(
            f"WHOLE_UNITS('{unit}', moment, TIMESTAMP '{late}') = {count}" for unit, count in expected.items()
        )
        assert told(same, [{"moment": early}]), (early, late, expected)


def test_dates_count_days_and_months_alone() -> None:
    for early, late in pairs():
        one, other = (datetime(when.year, when.month, when.day) for when in (early, late))
        months = months_passed(one, other)
        same = (
            f"WHOLE_UNITS('month', any_day, DATE '{other.date()}') = {months} AND "
            f"WHOLE_UNITS('day', any_day, '{other.date()}') = {(other - one).days}"
        )
        assert told(same, [{"any_day": early.date()}]), (early, late)


def test_months_between_are_whole_between_equal_and_between_last_days() -> None:
    known = [
        ("2024-02-29", "2024-01-31", "1"),
        ("2024-03-31", "2024-02-29", "1"),
        ("2024-03-15", "2024-01-15", "2"),
        ("2024-01-15", "2024-03-15", "-2"),
        ("2024-03-16", "2024-01-15", "2 + 1.0 / 31"),
        ("2024-03-01", "2024-01-31", "2 - 30.0 / 31"),
    ]
    for late, early, months in known:
        assert told(
            f"ABS(MONTHS_BETWEEN('{late}', any_day) - ({months})) < 0.000001",
            [{"any_day": date.fromisoformat(early)}],
        )
