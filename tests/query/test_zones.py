"""A declared zone: questions about instants are about the clock on the wall there, in every engine alike."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from random import Random
from zoneinfo import ZoneInfo, available_timezones

import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import CatalogError, QueryError
from discreet.query.catalog.column import read_column
from discreet.query.catalog.manifest import declare
from discreet.query.catalog.zone import instants, locals_of, pieces
from discreet.query.check.identity import identity
from discreet.query.check.question import check
from discreet.query.language.sql import read

BERLIN = ZoneInfo("Europe/Berlin")
LOW, HIGH = datetime(2024, 1, 1), datetime(2024, 12, 31, 23, 59, 59)
CHANGES = (datetime(2024, 3, 31, 1), datetime(2024, 10, 27, 1))


def _rows() -> list[datetime]:
    """Return instants, many of them around the hours in which clocks change."""
    random = Random(7)
    near = [change + timedelta(minutes=5 * n) for change in CHANGES for n in range(-30, 31)]
    return near + [LOW + timedelta(hours=random.randrange(8784)) for _ in range(300)]


ROWS = _rows()


def at(instant: datetime, zone: str = "Europe/Berlin") -> datetime:
    return instant.replace(tzinfo=UTC).astimezone(ZoneInfo(zone)).replace(tzinfo=None)


def column(zone: str | None = "Europe/Berlin", kind: str = "timestamp") -> dict[str, str]:
    return {"type": kind, "low": str(LOW), "high": str(HIGH)} | ({} if zone is None else {"zone": zone})


@pytest.fixture(scope="module")
def data():
    table = pa.table(
        {
            "person": range(len(ROWS)),
            "at": pa.array(ROWS, pa.timestamp("us")),
            "ended": pa.array([row + timedelta(hours=3) for row in ROWS], pa.timestamp("us", "UTC")),
            "plain": pa.array(ROWS, pa.timestamp("us")),
        }
    )
    columns = {"at": column(), "ended": column(), "plain": column(None)}
    with dp.open(visits=table, unit="person", rows_per_unit=1, columns=columns, epsilon=10**7) as opened:
        yield opened


def counts(data, text: str) -> dict[object, int]:
    rows = data.query(text, epsilon=10**5).to_pandas().itertuples(index=False)
    return {key: round(n) for key, n in rows if round(n)}


def test_hours_and_days_are_those_of_the_declared_zone(data):
    found = counts(data, "SELECT HOUR(at) AS k, COUNT(*) AS n FROM visits GROUP BY k")
    assert found == Counter(at(row).hour for row in ROWS)
    found = counts(data, "SELECT CAST(at AS DATE) AS k, COUNT(*) AS n FROM visits GROUP BY k")
    within = [at(row).date() for row in ROWS if LOW <= at(row) <= HIGH]
    assert found == Counter(within)
    found = counts(
        data, "SELECT DATE_TRUNC('hour', at) >= '2024-06-01' AS k, COUNT(*) AS n FROM visits GROUP BY k"
    )
    assert found[True] == sum(at(row) >= datetime(2024, 6, 1) for row in ROWS)


@pytest.mark.parametrize(
    ("text", "zone"),
    [
        ("at AT TIME ZONE 'America/New_York'", "America/New_York"),
        ("at AT TIME ZONE 'UTC'", "UTC"),
        ("plain AT TIME ZONE 'UTC' AT TIME ZONE 'asia/kolkata'", "Asia/Kolkata"),
        ("CONVERT_TIMEZONE('UTC', 'Europe/Berlin', plain)", "Europe/Berlin"),
        ("FROM_UTC_TIMESTAMP(plain, 'Australia/Lord_Howe')", "Australia/Lord_Howe"),
        ("DATETIME(plain, 'Europe/Berlin')", "Europe/Berlin"),
        ("TIMEZONE('America/St_Johns', at)", "America/St_Johns"),
    ],
)
def test_the_clock_elsewhere(data, text: str, zone: str):
    found = counts(
        data, f"SELECT HOUR({text}) * 60 + MINUTE({text}) AS k, COUNT(*) AS n FROM visits GROUP BY k"
    )
    assert found == Counter(at(row, zone).hour * 60 + at(row, zone).minute for row in ROWS)


def test_steps_from_the_clock_of_a_zone_are_not_written_out_for_each_other(data):
    days = " + INTERVAL 1 DAY + INTERVAL 1 MONTH + INTERVAL 1 HOUR - INTERVAL 1 MONTH - INTERVAL 1 DAY"
    text = f"SELECT HOUR(at{days}) AS k, COUNT(*) AS n FROM visits GROUP BY k"
    assert counts(data, text) == Counter((at(row).hour + 1) % 24 for row in ROWS)


def test_times_that_passed_are_those_between_instants(data):
    three = "DATE_DIFF('hour', at, ended) = 3 AND ended - at = INTERVAL 3 HOUR"
    text = f"SELECT {three} AS k, COUNT(*) AS n FROM visits GROUP BY k"
    assert counts(data, text) == {True: len(ROWS)}
    since = "SELECT at >= TIMESTAMP '2024-10-27 02:30:00+02:00' AS k, COUNT(*) AS n FROM visits GROUP BY k"
    assert counts(data, since)[True] == sum(row >= datetime(2024, 10, 27, 0, 30) for row in ROWS)
    begun = "SELECT EPOCH(at) >= 1729989000 AS k, COUNT(*) AS n FROM visits GROUP BY k"
    assert counts(data, begun) == counts(data, since)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("plain AT TIME ZONE 'Europe/Berlin'", "whose own zone is not known"),
        ("at AT TIME ZONE 'Asia/Tokyo' AT TIME ZONE 'Europe/Berlin'", "whose own zone is not known"),
        ("at AT TIME ZONE '../../etc/passwd'", "names no time zone"),
        ("at AT TIME ZONE '+02:00'", "names no time zone"),
        ("at AT TIME ZONE ''", "names no time zone"),
        ("at AT TIME ZONE CAST(at AS DATE)", "names no time zone"),
        ("CAST(at AS DATE) AT TIME ZONE 'UTC'", "needs a timestamp"),
        ("CONVERT_TIMEZONE('Asia/Tokyo', 'UTC', plain)", "times that are in UTC"),
    ],
)
def test_what_has_no_meaning_is_refused(data, text: str, says: str):
    with pytest.raises(QueryError, match=says):
        data.quote(f"SELECT COUNT(*) FROM visits WHERE {text} >= '2024-06-01 00:00:00'", epsilon=1)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (column("Mars/Base"), "must be the name of a time zone"),
        ({"type": "timestamp", "zone": "Europe/Berlin"}, "needs low and high"),
        ({**column(), "low": "1800-01-01", "high": "2300-01-01"}, "more than 130 years apart"),
        (
            {**column("America/New_York"), "low": "1925-01-01", "high": "2050-01-01"},
            "changes more than 200 times",
        ),
        ({"type": "date", "zone": "UTC"}, "does not apply to type date"),
    ],
)
def test_declarations_that_mean_nothing_are_refused(body: dict[str, str], says: str):
    with pytest.raises(CatalogError, match=says):
        read_column("at", body, "at")


def test_questions_in_different_zones_are_different_questions():
    def asked(zone: str) -> str:
        tables = {"t": {"unit": "p", "rows_per_unit": 1, "columns": {"at": column(zone)}}}
        question = read("SELECT HOUR(at) AS h, COUNT(*) AS n FROM t GROUP BY h")
        return str(identity(check(question, declare({"tables": tables}))))

    assert len({asked(zone) for zone in ("Europe/Berlin", "Asia/Tokyo", "UTC")}) == 3
    # Their clocks are the same.
    assert asked("Europe/Berlin") == asked("Europe/Paris")


def _agrees(zone: str, first: datetime, last: datetime, step: timedelta) -> None:
    found = pieces(zone, first, last)
    place, instant = 0, first
    while found is not None and instant <= last:
        while place + 1 < len(found) and found[place + 1][0] <= instant:
            place += 1
        assert instant + found[place][1] == at(instant, zone), (zone, instant)
        instant += step


@pytest.mark.parametrize("zone", ["Africa/Casablanca", "Asia/Gaza", "Pacific/Apia", "America/Caracas"])
def test_offsets_are_those_of_every_hour(zone: str):
    _agrees(zone, datetime(2009, 6, 1), datetime(2012, 1, 15), timedelta(hours=1))


@pytest.mark.fuzz
@pytest.mark.parametrize("zone", sorted(available_timezones()))
def test_offsets_of_every_zone_are_those_of_every_half_hour(zone: str):
    _agrees(zone, datetime(1970, 1, 1), datetime(2037, 12, 31), timedelta(minutes=30))


@pytest.mark.parametrize("zone", ["Europe/Berlin", "Pacific/Apia", "Asia/Kolkata"])
def test_bounds_hold_between_clocks(zone: str):
    random, ends = Random(3), (datetime(2011, 7, 1), datetime(2012, 12, 1))
    first, last = instants(zone, *ends)
    low, high = locals_of(zone, first, last)
    for _ in range(300):
        instant = first + (last - first) * random.random()
        assert low <= at(instant, zone) <= high
    for minutes in range(1, 300, 7):
        assert at(first - timedelta(minutes=minutes), zone) < ends[0]
        assert at(last + timedelta(minutes=minutes), zone) > ends[1]
