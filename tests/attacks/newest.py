"""Random questions of the youngest parts of the language, and people whose cells are made for them.

Clocks that change, groups that a question names or rules out, lists of constants as keys, weeks and quarters,
picks of one row, bounds that conditions imply: each beside the others, over tables, views, unions and joins.
"""

from dataclasses import replace
from datetime import date, datetime, timedelta
from random import Random

from tests.query.gate.people import Person, worst
from tests.query.questions import clinic
from tests.query.worlds import SCHEMA, Row

from discreet.query.catalog.column import read_column
from discreet.query.catalog.manifest import Catalog

ZONES = ("Europe/Berlin", "Pacific/Apia", "America/St_Johns", "Australia/Lord_Howe", "UTC", None)
SPANS = (
    ("2024-03-30 00:00:00", "2024-04-08 23:59:59.999999"),
    ("2024-10-27 02:30:00", "2024-10-27 02:45:00"),
    ("2011-12-28 00:00:00", "2012-01-03 12:00:00"),
    ("0001-01-01 00:00:00", "0001-01-02 06:00:00"),
    ("9999-12-30 00:00:00", "9999-12-31 23:59:59.999999"),
)
EDGES = (
    *(datetime(2024, 3, 31, 1) + timedelta(minutes=30 * n, microseconds=-1) for n in range(-4, 5)),
    *(datetime(2024, 10, 27, 0) + timedelta(minutes=15 * n) for n in range(8)),
    *(datetime(2011, 12, 30, 10) + timedelta(hours=7 * n, microseconds=-1) for n in range(-3, 4)),
    *(datetime.min, datetime.min + timedelta(hours=13), datetime.max, datetime.max - timedelta(hours=13)),
    *(datetime(2024, 4, 7, 15), datetime(1969, 12, 31, 23, 59, 59, 999999), None),
)
DAYS = (
    *(date(2023, 12, 31), date(2024, 1, 1), date(2024, 2, 29), date(2024, 12, 29), date(2024, 12, 30)),
    *(date(2024, 12, 31), date(2025, 1, 1), date.min, date.max, None),
)


def declared(random: Random, **limits: object) -> Catalog:
    """Return the clinic with moments that are told by a clock somewhere."""
    low, high = random.choice(SPANS)
    body = {"type": "timestamp", "low": low, "high": high}
    zone = random.choice(ZONES)
    column = read_column("moment", body if zone is None else {**body, "zone": zone}, "moment")
    made = clinic(person="text", **limits)  # type: ignore[arg-type]
    person = read_column("person", {"type": "text"}, "person")
    tables = tuple(
        replace(table, columns=(person, *(column if c.name == "moment" else c for c in table.columns)))
        if table.name == "visits"
        else table
        for table in made.tables
    )
    return replace(made, tables=tables)


def hostile(random: Random, person: str | None, count: int) -> list[Row]:
    """Return rows of one person, each cell at an edge."""
    return [
        {
            "person": person,
            "version": 0,
            "ward": random.choice(("A", "B", "C", "Z", None)),
            "city": random.choice(("a", "A", "zz", "", "2024-01-01", None)),
            "age": random.choice((0, 1, 2, 12, 13, 120, 121, -1, 2**63 - 1, -(2**63), None)),
            "score": random.choice((-8, -7, -1, 0, 1, 2, 5, 6, None)),
            "huge": random.choice((0, 1, 9, 10, -10, 2024, 10**18, 2**63 - 1, -(2**63), None)),
            "cost": random.choice((0.0, -0.0, 0.01, 50.0, 1e300, float("nan"), float("inf"), None)),
            "temp": random.choice((-40.0, 0.5, 45.0, -1e308, float("-inf"), float("nan"), None)),
            "wild": random.choice((-2.5, 0.0, 9.5, 10.0, 1e308, 5e-324, float("nan"), float("inf"), None)),
            "day": random.choice(DAYS),
            "any_day": random.choice(DAYS),
            "moment": random.choice(EDGES),
            "flag": random.choice((True, False, None)),
        }
        for _ in range(count)
    ]


def people(random: Random, count: int) -> list[Person]:
    """Return the last person in several bad shapes; some have one row again and again."""
    found: list[Person] = []
    for number in range(count):
        rows = hostile(random, random.choice(("7", "7", "7", None)), random.choice((1, 2, 5, 12)))
        rows *= random.choice((1, 1, 4)) if number % 2 else 1
        born = [{"person": "7", "version": 0, "born": random.choice((1, 1980, 2024, None))}]
        found.append((rows, born * random.randint(0, 2)))
    return [*found, random.choice(worst())]


_CITY = "CASE WHEN v.flag THEN 'A' ELSE v.city END"


def _all(alias: str, **other: str) -> str:
    return ", ".join(f"{other.get(name, f'{alias}.{name}')} AS {name}" for name in SCHEMA.names)


class Newest:
    """Draws questions; `unit` says whether people are told apart."""

    def __init__(self, random: Random, *, unit: bool = True) -> None:
        self.random, self.unit = random, unit

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def moment(self) -> str:
        zone = self.pick("Europe/Berlin", "America/St_Johns", "Pacific/Apia", "UTC", "Asia/Kathmandu")
        return self.pick(
            *("moment", "moment", f"moment AT TIME ZONE '{zone}'", f"DATETIME(moment, '{zone}')"),
            f"moment AT TIME ZONE 'UTC' AT TIME ZONE '{zone}'",
            f"FROM_UTC_TIMESTAMP(moment, '{zone}')",
            f"CONVERT_TIMEZONE('UTC', '{zone}', moment)",
            f"moment + INTERVAL {self.pick('90 MINUTE', '1 MONTH', '4000 YEAR', '1 DAY')}",
            f"moment - INTERVAL {self.pick('999999 HOUR', '1 QUARTER', '4000 YEAR')}",
        )

    def day(self) -> str:
        return self.pick(
            *("day", "any_day", f"CAST({self.moment()} AS DATE)", "CAST(city AS DATE)"),
            "MAKE_DATE(huge, age, score)",
            "MAKE_DATE(2024, age, 1)",
            f"LAST_DAY({self.pick('day', 'any_day')})",
            f"{self.pick('day', 'any_day')} {self.pick('+', '-')} INTERVAL {self.pick('1', '13', '4000')} "
            f"{self.pick('DAY', 'WEEK', 'MONTH', 'QUARTER', 'YEAR')}",
        )

    def truncated(self) -> str:
        unit = self.pick("week", "month", "quarter", "year", "day")
        begun = f"DATE_TRUNC('{unit}', {self.pick('day', 'day', self.day(), self.moment())})"
        if self.random.random() < 0.3:
            begun += (
                f" {self.pick('+', '-')} INTERVAL 1 {self.pick('DAY', 'WEEK', 'MONTH', 'QUARTER', 'YEAR')}"
            )
        return self.pick(begun, begun, f"DATE_TRUNC('{self.pick('hour', 'minute')}', {self.moment()})")

    def part(self) -> str:
        return self.pick(
            f"EXTRACT({self.pick('year', 'quarter', 'month', 'week', 'dayofweek', 'dayofyear')} "
            f"FROM {self.day()})",
            f"EXTRACT({self.pick('hour', 'minute', 'second')} FROM {self.moment()})",
            f"YEARWEEK({self.day()}, 3)",
            f"ISOYEAR({self.day()})",
            f"DATE_DIFF('{self.pick('hour', 'day', 'week', 'month')}', {self.moment()}, {self.moment()})",
            f"CAST(EPOCH({self.moment()}) AS INTEGER) % 7",
        )

    def key(self) -> str:
        return self.pick(
            *("ward", "city", "score", "age", "huge", "flag", "day", "any_day"),
            *(self.truncated(), self.truncated(), self.part(), self.part(), self.day()),
            "UPPER(city)",
            "COALESCE(city, '?')",
            "CASE WHEN age > 12 THEN 'old' ELSE city END",
            f"(CAST({self.moment()} AS TIME) > TIME '12:00:00')",
        )

    def named(self, key: str) -> str:
        """Return a condition that names or rules out groups of a key."""
        values = {
            "d": ("DATE '2024-02-29'", "DATE '2024-12-30'", "DATE '9999-12-31'", "DATE '0001-01-01'"),
            "n": ("0", "1", "2", "2024", "202401", "9223372036854775807", "0.5"),
            "t": ("'a'", "'A'", "'zz'", "'B'", "'Z'", "''"),
        }
        dates = key in ("day", "any_day") or (
            key.startswith(("DATE_TRUNC", "LAST_DAY", "MAKE_DATE", "CAST", "day ", "any_day "))
            and "%" not in key
        )
        texts = key in ("ward", "city") or key.startswith(("UPPER", "COALESCE", "CASE"))
        truths = key == "flag" or key.startswith("(")
        if truths:
            return self.pick(key, f"NOT {key}", f"{key} = TRUE", f"{key} <> TRUE", f"{key} IN (FALSE)")
        held = values["d" if dates else "t" if texts else "n"]
        some = self.random.sample(held, self.random.randint(1, 3))
        one, two = self.random.choice(held), self.random.choice(held)
        return self.pick(
            f"{key} IN ({', '.join(some)})",
            f"({' OR '.join(f'{key} = {value}' for value in some)})",
            f"{key} NOT IN ({', '.join(some)})",
            f"{key} {self.pick('<', '<=', '>', '>=', '=', '<>')} {one}",
            f"{one} {self.pick('<', '<=', '>', '>=')} {key}",
            f"{key} BETWEEN {one} AND {two}",
            f"NOT ({key} = {one})",
            f"NOT ({key} < {one} OR {key} > {two})",
            f"({key} = {one} OR {key} IS NULL)",
        )

    def bounded(self) -> str:
        """Return a statistic of something without bounds, under conditions that may imply some."""
        x = self.pick("huge", "wild", "huge", "huge + 1", "age * huge", "MOD(huge, 7)")
        low, high = self.pick("-10", "0", "0.5", "-2.5"), self.pick("9", "10", "1", "9.5", "1000000")
        name = self.pick("SUM", "AVG", "SUM", "MIN", "MEDIAN", "STDDEV", "VAR_POP")
        column = "wild" if "wild" in x else "huge"
        return self.pick(
            f"{name}({x}) FILTER (WHERE {column} BETWEEN {low} AND {high})",
            f"{name}(CASE WHEN {column} BETWEEN {low} AND {high} THEN {x} END)",
            f"{name}(CASE WHEN {column} < {low} THEN {low} WHEN NOT {column} <= {high} THEN {high} "
            f"ELSE {column} END)",
            f"{name}(CASE WHEN flag THEN {low} WHEN {column} > {high} OR {column} < {low} THEN 1 "
            f"ELSE {column} END)",
            f"{name}(CASE {column} WHEN 10 THEN {column} ELSE {low} END)",
            f"{name}(LEAST(GREATEST({column}, {low}), {high}))",
        )

    def value(self) -> str:
        return self.pick(
            *("COUNT(*)", "COUNT(*)", "COUNT(age)", "SUM(score)", "AVG(cost)", "COUNT(DISTINCT city)"),
            *("MODE(ward)", "MEDIAN(age)", "SUM(DISTINCT score)", "COUNT_IF(flag)", self.bounded()),
            f"COUNT(*) FILTER (WHERE {self.condition()})",
            f"SUM(CLAMP({self.part()}, 0, 9))",
            *(("COUNT(DISTINCT person)",) if self.unit else ()),
        )

    def condition(self) -> str:
        return self.pick(
            *("flag", "NOT flag", "age > 1", "huge BETWEEN -10 AND 9", "wild BETWEEN -2.5 AND 9.5"),
            self.named(self.key()),
            f"{self.moment()} >= TIMESTAMP '2024-03-31 02:30:00'",
            "moment < TIMESTAMP '2024-10-27 02:30:00+02:00'",
            f"({self.moment()}) - ({self.moment()}) < INTERVAL 36 HOUR",
            f"CAST({self.moment()} AS TIME) BETWEEN TIME '09:00:00' AND TIME '17:30:00'",
            f"{self.day()} >= {self.truncated()}",
        )

    def picked(self) -> str:
        """Return a subquery of one row for each person, or for each and a key."""
        x = self.pick("ward", "city", "score", "day", "flag")
        by = self.pick("day", "moment", "age", "cost", "wild", "city", "huge")
        down, late = self.pick("", " DESC", " ASC"), self.pick("", " NULLS FIRST", " NULLS LAST")
        kept = self.pick("", "", f" FILTER (WHERE {self.condition()})")
        pick = self.pick(
            f"FIRST({x} ORDER BY {by}{down}{late}){kept}",
            f"LAST({x} ORDER BY {by}{down}{late}, age){kept}",
            f"{self.pick('ARG_MIN', 'ARG_MAX', 'MAX_BY', 'MIN_BY')}({x}, {by}){kept}",
            f"ANY_VALUE({x}){kept}",
        )
        extra = self.pick("", "", ", ward", ", score", f", {self.truncated()}")
        where = self.pick("", f" WHERE {self.condition()}")
        having = self.pick("", "", " HAVING COUNT(*) > 1")
        return (
            f"(SELECT person, {pick} AS x, COUNT(*) AS n FROM visits{where} GROUP BY person{extra}{having}) t"
        )

    def relation(self) -> str:
        """Return something with the columns of the visits."""
        if not self.unit:
            return self.pick("visits", "visits", f"(SELECT * FROM visits WHERE {self.condition()}) t")
        return self.pick(
            *("visits", "visits", "visits", f"(SELECT * FROM visits WHERE {self.condition()}) t"),
            f"(SELECT * FROM visits WHERE {self.condition()} UNION ALL SELECT * FROM visits) t",
            "(SELECT DISTINCT ON (person) * FROM visits ORDER BY person, "
            f"{self.pick('day', 'moment', 'wild')} {self.pick('', 'DESC')}) t",
            f"(SELECT {_all('v')} FROM visits v JOIN people p ON v.person = p.person) t",
            f"(SELECT {_all('v')} FROM visits v LEFT JOIN people p ON v.person = p.person AND p.born > 2) t",
            f"(SELECT * FROM visits UNION ALL SELECT {_all('v', city='UPPER(v.ward)')} FROM visits v) t",
            f"(SELECT {_all('v', city=_CITY)} FROM visits v UNION ALL SELECT * FROM visits) t",
            "(SELECT * FROM visits QUALIFY ROW_NUMBER() OVER (PARTITION BY person ORDER BY moment) <= 2) t",
            f"(SELECT {_all('a')} FROM visits a JOIN visits b ON a.person = b.person) t",
            f"(WITH late AS (SELECT * FROM visits WHERE {self.condition()}) SELECT * FROM late) t",
        )

    def listed(self) -> str:
        """Return a list of constants before people's rows."""
        joined = self.pick("LEFT JOIN", "JOIN")
        value = self.pick("COUNT(v.person)", "SUM(v.age)", "COUNT(v.age)", "AVG(v.cost)")
        series, key = self.random.choice(
            (
                ("GENERATE_SERIES(0, 5)", self.pick("v.score", "v.huge", "EXTRACT(hour FROM v.moment)")),
                ("(VALUES ('a'), ('A'), ('B'))", self.pick("v.city", "v.ward", "UPPER(v.city)")),
                ("UNNEST([1, 2, 12])", self.pick("v.age", "EXTRACT(month FROM v.any_day)")),
                (
                    "GENERATE_SERIES(DATE '2024-01-01', DATE '2024-12-30', INTERVAL 1 WEEK)",
                    self.pick("DATE_TRUNC('week', v.day)", "v.any_day", "CAST(v.moment AS DATE)"),
                ),
                (
                    "GENERATE_SERIES(DATE '2023-10-01', DATE '2025-01-01', INTERVAL 1 QUARTER)",
                    self.pick("DATE_TRUNC('quarter', v.any_day)", "v.day"),
                ),
            )
        )
        also = self.pick("", "", " AND v.flag", " AND v.age BETWEEN 1 AND 12")
        return (
            f"SELECT s.k, {value} FROM {series} AS s (k) {joined} visits v ON {key} = s.k{also} GROUP BY s.k"
        )

    def question(self) -> str:
        """Return one question."""
        kind = self.random.random()
        if kind < 0.12 and self.unit:
            return self.listed()
        if kind < 0.32 and self.unit:
            key, where = self.pick("x", "n", "''"), self.pick("", " WHERE n > 1")
            value = self.pick("COUNT(*)", "SUM(CLAMP(n, 0, 9))", "COUNT(DISTINCT person)")
            if key == "''":
                return f"SELECT {value} FROM {self.picked()}{where}"
            named = self.pick("x IN ('a', 'A', 'B')", "x = 1", "x = DATE '2024-02-29'", "n IN (1, 2)")
            return f"SELECT {key}, {value} FROM {self.picked()} WHERE {named} GROUP BY {key}"
        keys = [self.key() for _ in range(self.random.choice((0, 1, 1, 1, 2)))]
        tests = [self.named(key) for key in keys if self.random.random() < 0.7]
        tests += [self.condition()] if self.random.random() < 0.4 else []
        where = f" WHERE {' AND '.join(tests)}" if tests else ""
        values = [self.value() for _ in range(self.random.choice((1, 1, 2)))]
        having = f" HAVING {self.named(keys[0])}" if keys and self.random.random() < 0.1 else ""
        group = f" GROUP BY {', '.join(keys)}{having}" if keys else ""
        return f"SELECT {', '.join((*keys, *values))} FROM {self.relation()}{where}{group}"
