"""No cell value can make an allowed question fail: ten thousand random questions on adversarial tables."""

from datetime import date
from random import Random

import duckdb
import pytest
from tests.query.questions import Questions, clinic
from tests.query.worlds import DAYS, NUMBERS, TEXTS, WHOLES, Row, open_world, requests, row

from discreet.engines.duckdb import DuckDB
from discreet.errors import EngineError, QueryError
from discreet.query.check import check
from discreet.query.measure import Measurement
from discreet.query.sql import read

SLICES = 8
PER_SLICE = 1_300


def adversarial(random: Random) -> list[Row]:
    """Return rows in which every odd cell occurs, alone and combined."""
    rows = [row(random, random.choice(("p", "q", None, "r"))) for _ in range(40)]
    plain = row(random, "solo", wild=False)
    rows += [{**plain, column: value} for column in ("cost", "temp", "wild") for value in NUMBERS]
    rows += [{**plain, column: value} for column in ("age", "score", "huge") for value in WHOLES]
    rows += [{**plain, column: value} for column in ("ward", "city") for value in TEXTS]
    rows += [{**plain, column: value} for column in ("day", "any_day") for value in DAYS]
    rows += [dict.fromkeys(plain, None) for _ in range(2)]
    return rows


@pytest.fixture(scope="module")
def engines() -> dict[bool, DuckDB]:
    random = Random(11)
    people = [
        {"person": name, "version": 0, "born": born}
        for name in ("p", "q", "solo", None)
        for born in (*WHOLES, None)
    ]
    rows = adversarial(random)
    return {unit: open_world(rows, people, clinic(unit=unit)) for unit in (True, False)}


@pytest.mark.parametrize("part", range(SLICES))
def test_allowed_questions_never_fail_on_adversarial_tables(part: int, engines: dict[bool, DuckDB]) -> None:
    catalogs = {
        (unit, kind): clinic(unit=unit, per_group=kind) for unit in (True, False) for kind in (None, 1)
    }
    answered = 0
    for seed in range(part * 10**6, part * 10**6 + 2 * PER_SLICE):
        random = Random(seed)
        unit = random.random() < 0.7
        text = Questions(random, unit=unit).draw().sql()
        try:
            checked = check(read(text), catalogs[unit, random.choice((None, None, 1))])
        except QueryError:
            continue
        try:
            integers = engines[unit]._exact(requests(checked), seed)
        except EngineError:
            pytest.fail(f"{text}\n{_cause(engines[unit], requests(checked))}")
        answered += 1
        for position, measured in enumerate(checked.measurements):
            if isinstance(measured, Measurement):
                assert all(type(value) is int for value in integers._totals[f"m{position}"].values())
        if answered == PER_SLICE:
            break
    assert answered == PER_SLICE


def _cause(engine: DuckDB, asked: list) -> str:
    for request in asked:
        try:
            engine.connection.execute(
                request.sql, {"choice": 1} if "$choice" in request.sql else None
            ).fetchall()
        except Exception as problem:
            return f"{problem}\n{request.sql}"
    return "no cause found"


def test_the_fuzz_would_notice_an_expression_that_is_not_total(engines: dict[bool, DuckDB]) -> None:
    for broken in (
        "CAST(wild AS BIGINT)",
        "huge + huge",
        "CAST(city AS INTEGER)",
        "abs(huge)",
        "date_trunc('month', CAST(city AS DATE))",
        "huge % age",
    ):
        with pytest.raises(duckdb.Error):
            engines[True].connection.execute(f"SELECT count({broken}), max({broken}) FROM visits").fetchall()


def test_dates_outside_the_calendar_are_null() -> None:
    assert date.max in DAYS
    catalog = clinic()
    checked = check(read("SELECT COUNT(any_day + INTERVAL 4000 YEAR) FROM visits"), catalog)
    with open_world([row(Random(1), "p", wild=False) | {"any_day": date.max}], [], catalog) as engine:
        assert engine._exact(requests(checked), 1)._totals
