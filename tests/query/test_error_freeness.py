"""No cell value can make an allowed question fail: random questions on adversarial tables."""

from collections.abc import Callable
from datetime import date
from random import Random

import duckdb
import pytest
from tests.query.questions import Questions, clinic
from tests.query.worlds import DAYS, NUMBERS, TEXTS, WHOLES, Row, open_world, requests, row

from discreet.engines.duckdb.engine import DuckDB
from discreet.engines.duckdb.render import scalar_text
from discreet.errors import EngineError, QueryError
from discreet.query.check.lineage import trace
from discreet.query.check.measurement import Measurement
from discreet.query.check.question import check
from discreet.query.check.scope import names, resolve
from discreet.query.language.sql import fragment, read
from discreet.query.plan import Call, Column, Literal, Scan


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


@pytest.mark.parametrize("part", [0, pytest.param(1, marks=pytest.mark.fuzz)])
def test_allowed_questions_never_fail_on_adversarial_tables(part: int, engines: dict[bool, DuckDB]) -> None:
    never_fail(range(part * 10**6, (part + 1) * 10**6), 250 if part else 125, engines)


@pytest.mark.fuzz
@pytest.mark.timeout(0)
@pytest.mark.parametrize("part", range(8))
def test_ten_thousand_questions_never_fail_on_adversarial_tables(
    part: int, engines: dict[bool, DuckDB]
) -> None:
    never_fail(range((part + 50) * 10**6, (part + 51) * 10**6), 1_300, engines)


def never_fail(seeds: range, count: int, engines: dict[bool, DuckDB]) -> None:
    catalogs = {
        (unit, kind): clinic(unit=unit, per_group=kind) for unit in (True, False) for kind in (None, 1)
    }
    answered = 0
    for seed in seeds:
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
        if answered == count:
            break
    assert answered == count


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
        "CAST(wild * 1e10 AS BIGINT)",
        "huge + huge",
        "CAST(city AS INTEGER)",
        "abs(huge)",
        "date_trunc('month', CAST(city AS DATE))",
        "huge % age",
    ):
        # Not in the engine's own transaction, which a failure that it does not see would end.
        beside = engines[True].connection.cursor()
        with pytest.raises(duckdb.Error):
            beside.execute(f"SELECT count({broken}), max({broken}) FROM visits").fetchall()


def test_dates_outside_the_calendar_are_null() -> None:
    assert date.max in DAYS
    catalog = clinic()
    checked = check(read("SELECT COUNT(any_day + INTERVAL 4000 YEAR) FROM visits"), catalog)
    with open_world([row(Random(1), "p", wild=False) | {"any_day": date.max}], [], catalog) as engine:
        assert engine._exact(requests(checked), 1)._totals


def matches(text: str, pattern: str, escape: str, fold: Callable[[str], str]) -> bool:
    """Whether text matches a pattern, by the definition of %, _ and the escape character."""
    if not pattern:
        return not text
    head, rest = pattern[0], pattern[1:]
    if head == escape:
        return text[:1] == fold(rest[0]) and matches(text[1:], rest[1:], escape, fold)
    if head == "%":
        return any(matches(text[start:], rest, escape, fold) for start in range(len(text) + 1))
    same = bool(text) and (head == "_" or text[0] == fold(head))
    return same and matches(text[1:], rest, escape, fold)


def test_patterns_mean_the_same_at_every_cell_whatever_the_escape_character() -> None:
    """A letter as escape character once made ILIKE fail at the rows that got as far as the letter."""
    random, catalog = Random(8), clinic()
    alphabet = "xXaA%_!\\"
    cities = ["".join(random.choices(alphabet, k=random.randint(0, 4))) for _ in range(120)]
    answered = refused = 0
    with open_world(
        [{**row(random, "p", wild=False), "city": city} for city in cities], [], catalog
    ) as engine:
        for _ in range(400):
            pattern = "".join(random.choices(alphabet, k=random.randint(0, 4)))
            escape, like = random.choice(alphabet), random.choice(("LIKE", "ILIKE"))
            condition = f"city {like} '{pattern}' ESCAPE '{escape}'"
            try:
                typed = resolve(fragment(condition), trace(Scan("visits", "v"), catalog, names()), "WHERE")
            except QueryError:
                refused += 1
                continue
            answered += 1
            fold = str.lower if like == "ILIKE" else str
            text = f"SELECT city, {scalar_text(typed.scalar)} FROM visits AS t0"
            for city, found in engine.connection.execute(text).fetchall():
                assert found is matches(fold(city), pattern, escape, fold), (condition, city)
    assert answered > 100
    assert refused > 50


def test_a_date_read_from_text_cannot_leave_the_range_of_integers(engines: dict[bool, DuckDB]) -> None:
    far = [
        f"DATE_DIFF('{unit}', CAST(city AS DATE), day) * {factor}"
        for unit, factor in (
            ("day", 10**12),
            ("week", 8 * 10**12),
            ("month", 3 * 10**13),
            ("year", 4 * 10**14),
        )
    ]
    far += ["EXTRACT(year FROM CAST(city AS DATE)) * 400000000000000"]
    catalog = clinic()
    for number in far:
        checked = check(read(f"SELECT COUNT(*) FROM visits WHERE {number} > 5"), catalog)
        assert engines[True]._exact(requests(checked), 1)._totals


def test_no_remainder_can_fail_at_a_cell(engines: dict[bool, DuckDB]) -> None:
    """Dividing the smallest 64-bit integer by -1 is an error; SQL text cannot say it, a dataframe could."""
    from discreet.query.language.frame import col, table

    for divisor in (-1, 0, -(2**63)):
        with pytest.raises(QueryError, match="at least 1"):
            check(table("visits").where(col("huge") % divisor == 0).count().block, clinic())
        remainder = Call("modulo", (Column("v", "huge"), Literal(divisor)))
        with pytest.raises(QueryError, match="at least 1"):
            resolve(remainder, trace(Scan("visits", "v"), clinic(), names()), "WHERE")
    checked = check(table("visits").where(col("huge") % 1 == 0).count().block, clinic())
    assert engines[True]._exact(requests(checked), 1)._totals
