"""Every engine returns the integers of the reference engine, at awkward cells and for random questions."""

from collections.abc import Iterator
from random import Random
from typing import Any

import pyarrow
import pytest
from tests.engines.world import COLUMNS, ENGINES, TEXTS, cells, frame, open_reference, run_reference
from tests.query.questions import VIEWS, Wider, hospital
from tests.query.questions import clinic as declarations
from tests.query.worlds import PEOPLE, SCHEMA, extreme, row

from discreet.engines.exact import Exact
from discreet.engines.reference.meaning import LENIENT, STRICT
from discreet.errors import QueryError
from discreet.query.catalog.manifest import declare
from discreet.query.check.lineage import trace
from discreet.query.check.measurement import questions_of
from discreet.query.check.question import check
from discreet.query.check.scope import names, resolve
from discreet.query.language.sql import fragment, read
from discreet.query.plan import Among, Call, Column, Literal, Scalar, Scan, walk
from discreet.query.proof.function import FUNCTIONS
from discreet.query.rewrite.statements import statements
from discreet.query.statement import Inner, Query, Statement, StoredTable

UNITS = ("year", "quarter", "month", "week", "day")
PARTS = (*UNITS, "dayofweek", "dayofyear")
MOVED = [
    f"{day} INTERVAL {n}" for day, n in (("d +", 1), ("m -", 1), ("d +", 13), ("d -", 4000), ("m +", 4000))
]
SCALARS = (
    *(
        f"{a} {sign} {b}"
        for a, b in (("w", "v"), ("r", "s"))
        for sign in ("+", "-", "*", "/", "=", "<>", "<", ">=")
    ),
    *(
        f"{a} {sign} {b}"
        for a, b in (("t", "u"), ("d", "e"), ("m", "n"))
        for sign in ("=", "<>", "<", "<=", ">")
    ),
    *("w % 7", "w % 1", "v % 2000000000", "ABS(w)", "ABS(r)", "SIGN(w)", "SIGN(r)", "-w", "-r", "w + r"),
    *("FLOOR(r)", "CEIL(r)", "ROUND(r)", "ROUND(r, 1)", "ROUND(r, 2)", "ROUND(r, 9)", "ROUND(r * s, 3)"),
    "w / v",
    *("SQRT(r)", "LN(r)", "EXP(r)", "EXP(r) * s", "LN(r) / LN(s)", "POWER(r, 2)", "POWER(r, 4)"),
    "POWER(w, 3)",
    *("r * s * r * s", "r / s / r / s", "r * 0.000001 * 0.000001", "r * 1000000 * s", "r / 0.000001 / s"),
    *("1 / (r / s)", "r * s - s * r"),
    *("1 / (r - s)", "EXP(LN(r))", "SQRT(r * s)", "SQRT(r - s) * SQRT(s - r)", "(r + s) * (r - s)"),
    "r * s + r / s",
    *("CLAMP(w, -5, 100)", "CLAMP(r, -5, 100)", "CLAMP(r, 0.25, 17.5)", "CLAMP(r, -5, 100) * CLAMP(s, 0, 1)"),
    *("CLAMP(r * s, 0, 9) / s", "LEAST(w, v, 3)", "GREATEST(r, s)", "LEAST(r, w)", "COALESCE(r, s, 1.5)"),
    *("COALESCE(t, u)", "NULLIF(w, v)", "NULLIF(r, s)", "NULLIF(t, 'a')", "w IS DISTINCT FROM v"),
    "r IS DISTINCT FROM s",
    *("b AND c", "b OR c", "NOT b", "b IS NULL", "b = c", "b <> c", "r IS NULL", "w IN (1, 7, -10)"),
    "t IN ('a', '12')",
    *("CASE WHEN b THEN r WHEN c THEN s END", "CASE WHEN w > v THEN w ELSE r END", "r BETWEEN -1 AND 100000"),
    *("LOWER(t)", "UPPER(t)", "TRIM(t)", "LENGTH(t)", "LEFT(t, 2)", "RIGHT(t, 2)", "RIGHT(t, 0)"),
    "SUBSTRING(t, 2)",
    *("SUBSTRING(t, 0, 3)", "SUBSTRING(t, 2, 2)", "SUBSTRING(t, 0)", "SUBSTRING(t, 1, 0)", "t || u"),
    "t || 'x' || u",
    *("t LIKE 'a%'", "t LIKE '%!%%' ESCAPE '!'", "t LIKE '_'", "t LIKE '%\\%'", "t ILIKE 'A%C'"),
    "t ILIKE '%Z\u00c9%'",
    *("t ILIKE '%\u00e9%'", "t LIKE ''", "t ILIKE 'x_%' ESCAPE 'y'", "t < 'a'", "t > '\u00e9'"),
    "LOWER(t) = LOWER(u)",
    *(f"CAST(t AS {word})" for word in ("INTEGER", "DOUBLE", "DATE", "TIMESTAMP", "BOOLEAN", "TEXT")),
    *(
        "CAST('a' || 'b' AS DATE)",
        "CAST('9999999999999999999' || '' AS INTEGER)",
        "1 / (3 - 3)",
        "LN(0 - 2.5)",
    ),
    *("CAST('2023-02-' || '30' AS DATE)", "SQRT(0 - 2.5)", "EXP(1000.5)", "CAST('1e' || '999' AS DOUBLE)"),
    *("CAST(t AS DOUBLE) * r", "CAST(w AS DOUBLE)", "CAST(r AS INTEGER)", "CAST(w AS TEXT)"),
    "CAST(b AS TEXT)",
    *("CAST(d AS TEXT)", "CAST(b AS INTEGER)", "CAST(d AS TIMESTAMP)", "CAST(m AS DATE)"),
    "CAST(d AS TEXT) < t",
    *("CAST(CAST(t AS TIMESTAMP) AS DATE)", "CAST(m AS DATE) = d", "d < m", "CAST(b AS BOOLEAN)"),
    "CAST(w AS TEXT) > '5'",
    *(f"EXTRACT({part} FROM {day})" for part in PARTS for day in ("d", "m")),
    *(f"EXTRACT({part} FROM m)" for part in ("hour", "minute", "second")),
    *(f"DATE_TRUNC('{unit}', {day})" for unit in UNITS for day in ("d", "m")),
    *(f"DATE_DIFF('{unit}', {a}, {b})" for unit in UNITS for a, b in (("d", "e"), ("m", "n"), ("d", "m"))),
    *(f"({moved} {unit})" for unit in UNITS for moved in MOVED),
    *("DATE_DIFF('day', CAST(t AS DATE), d)", "EXTRACT(year FROM CAST(t AS TIMESTAMP))"),
    "(d + INTERVAL 1 MONTH) < e",
    *(f"DATE_TRUNC('{unit}', {day})" for unit in ("hour", "second") for day in ("d", "m")),
    *(f"DATE_DIFF('{unit}', {a}, {b})" for unit in ("minute", "second") for a, b in (("m", "n"), ("d", "m"))),
    *("r*s*r*s*r*s*r*s*r*s", "1/(1/(1/(1/(1/(1/(1/(1/r)))))))", "LN(EXP(LN(EXP(SQRT(r)))))"),
    *("n", "EPOCH(n)", "n AT TIME ZONE 'America/St_Johns'", "DATE_TRUNC('hour', n)", "CAST(n AS DATE)"),
    *("m + INTERVAL 90 MINUTE", "m - INTERVAL 999999 HOUR", "d + INTERVAL 1 SECOND", "EPOCH(m)"),
    *("TIME_BUCKET(INTERVAL 15 MINUTE, m)", "EXTRACT(EPOCH FROM m - n)", "m - n < INTERVAL 36 HOUR"),
    *("LTRIM(t, 'a1-')", "RTRIM(t, '0 Z')", "TRIM(BOTH '+' FROM t)", "LTRIM(t)", "REPLACE(t, '0', '')"),
    *(
        "REPLACE(t, '1', '\u00e9b')",
        "REPLACE(t, 'xx', 'x')",
        "SPLIT_PART(t, '-', 1)",
        "SPLIT_PART(t, '0', 3)",
    ),
    *("SPLIT_PART(t, ' ', 9)", "SPLIT_PART(t, 'xx', 4)", "LPAD(t, 4, '0')"),
    *("w & 6", "w | 9", "REPEAT(t, 2)", "REPEAT(t, 0)", "TRANSLATE(t, 'a1', 'b')", "GREATEST(r, 1)"),
    *(f"WHOLE_UNITS('{unit}', d, {b})" for unit in ("year", "month", "week") for b in "em"),
    *("WHOLE_UNITS('day', d, e)", "WHOLE_UNITS('hour', m, d)", "MONTHS_BETWEEN(d, e)"),
    *("LEAST(w, 3)", "LN(GREATEST(r, 0.5))", "b XOR c", "EXTRACT(YEAR FROM AGE(d, e))"),
    *("t ~ '^[0-9]+$'", "t ~ '^[a-z]_?[^a]$'", "t ~ '[0-9]{3}$'", "t ~* '^[X-Z]{2}'", "t ~ '[%_!]'"),
    *("t ~ '^ ?[0-9]'", "t ~ '^.{2,3}$'", "t ~ '[a-c1]2?$'", "t ~ '^[^ ]'"),
    *("RPAD(t, 3, '\u00e9-')", "LPAD(t, 0, 'x')", "RPAD(t, 9, 'ab')", "LAST_DAY(d)", "LAST_DAY(m)"),
)
INTERNAL: tuple[Scalar, ...] = (
    Call("fixed", (Column("t0", "r"), Literal(100), Literal(-5000), Literal(5000))),
    Call("bits_set", (Call("slot", (Column("t0", "t"), Column("t0", "w"))),)),
    Call("bit_at", (Call("clamp", (Column("t0", "w"), Literal(0), Literal(2**40))), Literal(4))),
    Call(
        "multiply",
        (
            Call("narrow", (Call("clamp", (Column("t0", "w"), Literal(-9), Literal(9))),)),
            Call("bit_at", (Call("clamp", (Column("t0", "w"), Literal(0), Literal(63))), Literal(0))),
        ),
    ),
    Call("multiply_long", (Call("clamp", (Column("t0", "w"), Literal(-9), Literal(2**40))), Literal(65536))),
    Call(
        "multiply_wide", (Call("clamp", (Column("t0", "w"), Literal(-(2**53)), Literal(2**53))), Literal(7))
    ),
    Call("quotient", (Column("t0", "w"), Literal(7))),
    Call("narrow", (Call("clamp", (Column("t0", "w"), Literal(-5), Literal(2**31 - 1))),)),
    Call("long", (Column("t0", "w"),)),
    Call("mean", (Column("t0", "w"), Call("add", (Literal(1), Literal(2))), Literal(3))),
    Call("starts_with", (Column("t0", "t"), Literal("a"))),
    Call("digest", (Literal(7), Column("t0", "t"), Column("t0", "w"), Column("t0", "d"), Column("t0", "b"))),
)
"""What no question can say by itself."""


def declared() -> Any:
    zoned = {"type": "timestamp", "low": "2023-06-01", "high": "2024-12-31", "zone": "Europe/Berlin"}
    bodies = {**dict(COLUMNS), "n": zoned}
    return declare({"tables": {"cells": {"columns": bodies}}})


def spelt(*scalars: Scalar) -> Statement:
    """Return the statement that says what scalars are in each row."""
    keys = (Column("t0", "id"), *scalars)
    items = (*((f"k{place}", key) for place, key in enumerate(keys)), ("m0", Call("count_rows", ())))
    return Statement((), Query(items, StoredTable("cells", "t0"), None, keys), len(keys), ("m0",))


def scalars() -> list[tuple[str, Scalar]]:
    scope = trace(Scan("cells", "c"), declared(), names())
    found = [(text, resolve(fragment(text), scope, "SELECT").scalar) for text in SCALARS]
    return [*found, *((scalar.function, scalar) for scalar in INTERNAL if isinstance(scalar, Call))]


TOGETHER = 10
"""Scalars in one statement, so that hundreds of them are few statements."""

Meant = list[tuple[list[tuple[str, Scalar]], Exact]]


@pytest.fixture(scope="module")
def meant() -> Meant:
    engine = open_reference({"cells": frame(cells(), COLUMNS)}, {"cells": COLUMNS})
    asked = scalars()
    some = [asked[start : start + TOGETHER] for start in range(0, len(asked), TOGETHER)]
    return [(few, run_reference(engine, [spelt(*(scalar for _, scalar in few))], 1)) for few in some]


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Iterator[Any]:
    opened, run = ENGINES[request.param]
    held = opened({"cells": frame(cells(), COLUMNS)}, {"cells": COLUMNS})
    yield lambda asked, choice=1: run(held, asked, choice)
    held.close()


def test_every_function_is_among_the_scalars() -> None:
    used = {part.function for _, scalar in scalars() for part in walk(scalar) if isinstance(part, Call)}
    assert used >= set(STRICT) | set(LENIENT) - {"hash"}


def test_whatever_the_checker_knows_has_a_meaning() -> None:
    assert set(FUNCTIONS) <= set(STRICT) | set(LENIENT)


def test_every_function_means_the_same_at_every_cell(engine: Any, meant: Meant) -> None:
    wrong = []
    for asked, exact in meant:
        statement = spelt(*(scalar for _, scalar in asked))
        found, expected = (
            {row[0]: (row, count) for row, count in answered._totals["m0"].items()}
            for answered in (engine([statement]), exact)
        )
        assert found.keys() == expected.keys()
        assert all(found[row][1] == count for row, (_, count) in expected.items())
        for place, (text, _) in enumerate(asked, 1):
            pairs = [(found[row][0][place], cells[place]) for row, (cells, _) in expected.items()]
            wrong += [f"{text}: {pair}" for pair in pairs if not _same(*pair)][:3]
    assert not wrong, "\n".join(wrong)


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other)


SPLIT = ("", "|", ";|", "~;|", "\x1f~;|")
"""Texts that take one after the other of the marks away at which a dialect may split a constant of texts."""


@pytest.mark.parametrize("marks", [0, 2, len(SPLIT)])
def test_one_of_many_texts_is_the_same_in_every_engine(engine: Any, marks: int) -> None:
    others = [text for text in TEXTS if text is not None and "\x1f" not in text]
    held = (*SPLIT[:marks], "a|b", *others[: 3 * marks + 8]) if marks else tuple(others)
    listed = tuple(map(Literal, held))
    key, own = Column("r", "k0"), Query((("k0", Column("t0", "t")),), StoredTable("cells", "t0"))
    grouped = Among(Call("grouped", (key,)), listed)
    judge = open_reference({"cells": frame(cells(), COLUMNS)}, {"cells": COLUMNS})
    both = Call("and", (Among(key, listed), Among(key, listed[::2])))
    for where, having in ((Among(key, listed), None), (None, grouped), (both, grouped)):
        body = Query((("k0", key), ("m0", Call("count_rows", ()))), Inner(own, "r"), where, (key,), having)
        asked = [Statement((), body, 1, ("m0",))]
        assert _read(engine(asked)) == _read(run_reference(judge, asked, 1)) != ({"m0": {}}, {})


def visits(random: Random) -> list[dict[str, Any]]:
    known = [r for person in ("p", "q", "r") for r in extreme(random, person)][:40]
    return known + [row(random, random.choice(("p", "q", "s", "t", None))) for _ in range(14)]


def people(random: Random) -> list[dict[str, Any]]:
    born = (1, 1950, 1980, 2000, 9999, None)
    return [{"person": who, "version": 0, "born": random.choice(born)} for who in ("p", "q", "s", "s", None)]


WARDS = pyarrow.table(
    {"ward": ["A", "B", "B", "C", None], "floor": [1, 2, 3, 9, 0], "head": ["x", "y", "z", None, "n"]}
)
OFFERED = hospital(Random(1))[0]


def clinic(random: Random) -> tuple[dict[str, pyarrow.Table], dict[str, Any]]:
    frames = {
        "visits": pyarrow.Table.from_pylist(visits(random), schema=SCHEMA),
        "people": pyarrow.Table.from_pylist(people(random), schema=PEOPLE),
        "wards": WARDS,
    }
    visited = (
        *(
            ("version", "integer"),
            ("ward", "text"),
            ("city", "text"),
            ("age", "integer"),
            ("score", "integer"),
        ),
        *(
            ("huge", "integer"),
            ("cost", "decimal"),
            ("temp", "decimal"),
            ("wild", "decimal"),
            ("day", "date"),
        ),
        *(("any_day", "date"), ("moment", "timestamp"), ("flag", "boolean"), ("person", "text")),
    )
    columns = {
        "visits": visited,
        "people": (("version", "integer"), ("born", "integer"), ("person", "text")),
        "wards": (("ward", "text"), ("floor", "integer"), ("head", "text")),
    }
    return frames, columns


def asked_for(text: str, catalog: Any) -> list[Any]:
    """Return the statements of a question, or of each that it consists of."""
    return [statements(part) for part in questions_of(check(read(text, views=VIEWS), catalog))]


def agree(seeds: range, wanted: int) -> None:
    """Ask random questions until so many statements were compared in every engine."""
    compared, tables = 0, clinic(Random(seeds.start))
    judge = open_reference(*tables)
    engines = {name: (opened(*tables), run) for name, (opened, run) in ENGINES.items()}
    try:
        for seed in seeds:
            random = Random(seed)
            catalog, unit = hospital(random)
            draws = Wider(random, unit=unit)
            text = draws.viewed() if unit and seed % 16 == 3 else draws.question()
            try:
                parts = asked_for(text, catalog)
            except QueryError:
                continue
            for asked in parts:
                expected = _read(run_reference(judge, asked, seed))
                for name, (engine, run) in engines.items():
                    assert _read(run(engine, asked, seed)) == expected, (name, seed, text)
                compared += len(asked)
            if compared >= wanted:
                return
    finally:
        for engine, _ in engines.values():
            engine.close()
    raise AssertionError(f"only {compared} statements")


def _read(exact: Exact) -> Any:
    return exact._totals, exact._cells


NAMED = (
    "SELECT ward, SUM(DISTINCT age), SUM(DISTINCT cost) FROM visits GROUP BY ward",
    "SELECT SUM(DISTINCT score) FROM visits WHERE city ~ '^[a-z]+$'",
    "SELECT q, COUNT(*) FROM (SELECT person, NTILE(3) OVER (PARTITION BY person ORDER BY day DESC) AS q "
    "FROM visits) t GROUP BY q",
    "SELECT COUNT(*) FROM visits WHERE city ~ '[a-m][n-z]' OR REGEXP_REPLACE(city, '[aeiou]+', '', 'g') = "
    "'brn'",
    "SELECT ward, COUNT(*) FROM visits v WHERE v.age >= (SELECT AVG(w.age) FROM visits w WHERE w.person = "
    "v.person) GROUP BY ward",
    "SELECT ward, COUNT(*) FROM (SELECT DISTINCT ON (person) person, ward FROM visits ORDER BY person, day "
    "DESC) t GROUP BY ward",
    "SELECT KURTOSIS(age), SKEWNESS(temp) FROM visits WHERE flag XOR age & 1 = 1",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rows_at_most = 99) ward, COUNT(*) FROM visits GROUP BY ward",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rows_at_most = 9) SUM(age) FROM visits WHERE flag",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (group_selection_strategy = WEIGHTED_THRESHOLD) city, COUNT(*) "
    "FROM visits GROUP BY city",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (group_selection_strategy = WEIGHTED_THRESHOLD) "
    "LOWER(city), any_day, ward FROM visits WHERE age > 3 GROUP BY 1, 2, 3",
    "SELECT ward, AVG(age), AVG(CLAMP(age, 18, 65)), AVG(NULLIF(score, 3)) FROM visits GROUP BY ward",
    "SELECT w, m, COUNT(*) FROM (SELECT person, ARG_MIN(ward, day) AS w, LAST(flag ORDER BY age, cost) "
    "FILTER (WHERE score > 0) AS m FROM visits GROUP BY person) GROUP BY w, m",
    "SELECT city, COUNT(*) FROM visits WHERE city IN ('a', 'A', 'nowhere') GROUP BY city",
    "SELECT DATE_TRUNC('week', day), ISOYEAR(day), COUNT(*) FROM visits WHERE day > '2024-02-10' "
    "GROUP BY 1, 2",
    "SELECT ward, SUM(huge) FILTER (WHERE huge BETWEEN -5 AND 9), SUM(CASE WHEN wild > 9 THEN 9 "
    "WHEN wild > 0 THEN wild ELSE 0 END) FROM visits WHERE CAST(moment AS TIME) >= '09:00' GROUP BY ward",
    "SELECT REGR_SXX(age, score), REGR_SXY(age, score) FROM visits WHERE ward = ANY (SELECT ward FROM wards)",
    "SELECT s.k, SUM(v.age) FROM GENERATE_SERIES(0, 3) AS s (k) LEFT JOIN visits v ON v.score = s.k "
    "GROUP BY 1",
    "SELECT COUNT(*) FROM people p, LATERAL (SELECT MAX(v.age) AS n FROM visits v WHERE v.person = p.person) "
    "AS l WHERE l.n > 1",
    "SELECT COUNT(*) FROM (SELECT person, MAX(flag) AS m, MIN(flag) AS n FROM visits GROUP BY person) "
    "WHERE m AND NOT n",
    "SELECT m, COUNT(*) FROM (SELECT person, MIN(flag) OVER (PARTITION BY person) AS m FROM visits) "
    "GROUP BY m",
    "SELECT m, COUNT(*) FROM (SELECT person, DATE_TRUNC('month', MIN(day)) AS m FROM visits GROUP BY person "
    "HAVING DATE_DIFF('day', MIN(day), MAX(day)) < 300) GROUP BY m",
    "SELECT COUNT(*) FROM visits WHERE MAKE_DATE(2000 + score, 2, age) < day OR LAST_DAY(day) = any_day",
    "SELECT w, COUNT(*) FROM (SELECT person, NTH_VALUE(ward, 2) OVER (PARTITION BY person ORDER BY day, age "
    "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS w FROM visits) GROUP BY w",
    "SELECT age / 30 * 20 - 5, MODE(city) FROM visits WHERE city IN ('a', 'A') GROUP BY 1",
    "SELECT COUNT(*) FROM visits WHERE CAST(day AS TIMESTAMP) AT TIME ZONE 'UTC' AT TIME ZONE "
    "'Europe/Berlin' > '2024-03-31 00:00:00'",
)
"""Questions whose statements are of forms that few random ones have."""


def test_rarer_forms_have_the_same_integers() -> None:
    tables, catalog = clinic(Random(4)), declarations(rows=2)
    judge = open_reference(*tables)
    for opened, run in ENGINES.values():
        engine = opened(*tables)
        for text in NAMED:
            asked = statements(check(read(text), catalog))
            assert _read(run(engine, asked, 3)) == _read(run_reference(judge, asked, 3)), text
        engine.close()


WEIGHTED = (
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (group_selection_strategy = WEIGHTED_THRESHOLD) "
    "city, {key} FROM visits WHERE {where} GROUP BY city, {key}"
)


def test_weights_of_keys_are_the_same_integers() -> None:
    """Random rows, keys, conditions and limits: whoever is in many groups weighs the same in every engine."""
    for seed in range(6):
        random = Random(seed)
        tables = clinic(random)
        judge, catalog = open_reference(*tables), declarations(rows=40, groups=random.choice((2, 5, 9, 30)))
        where = Wider(random, unit=True).condition(1)
        text = WEIGHTED.format(key=random.choice(("score", "any_day", "ward", "huge % 7")), where=where)
        asked = statements(check(read(text), catalog))
        expected = _read(run_reference(judge, asked, seed))
        for name, (opened, run) in ENGINES.items():
            engine = opened(*tables)
            assert _read(run(engine, asked, seed)) == expected, (name, seed, text)
            engine.close()


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.fuzz) for part in (1, 2, 3))])
def test_random_questions_have_the_same_integers(part: int) -> None:
    agree(range(part * 10**6, part * 10**6 + 20_000), 500 if part else 250)


@pytest.mark.fuzz
@pytest.mark.parametrize("part", range(100, 140))
def test_many_random_questions_have_the_same_integers(part: int) -> None:
    agree(range(part * 10**6, part * 10**6 + 100_000), 2_000)
