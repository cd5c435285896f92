"""The questions of the gate: every kind of statistic, key, join and subquery, under all sorts of limits."""

from tests.query.gate.walk import Asked

ROWS = (
    "SELECT COUNT(*) FROM visits",
    "SELECT COUNT(age) FROM visits WHERE flag",
    "SELECT SUM(score) FROM visits",
    "SELECT SUM(age), COUNT(*) FROM visits WHERE age > 3",
    "SELECT ward, SUM(cost) FROM visits GROUP BY ward",
    "SELECT ward, flag, COUNT(*) FROM visits GROUP BY ward, flag",
    "SELECT AVG(temp) FROM visits",
    "SELECT flag, VARIANCE(age) FROM visits GROUP BY flag",
    "SELECT SUM(CLAMP(huge * age, -1000000, 2000000)) FROM visits",
    "SELECT SUM(CLAMP(huge, -9000000000000000, 9000000000000000)) FROM visits",
    "SELECT score, SUM(age) FILTER (WHERE flag) FROM visits GROUP BY score",
    "SELECT ward, MEDIAN(age) FROM visits GROUP BY ward",
    "SELECT QUANTILE(cost, 0.9) FROM visits",
    "SELECT MODE(ward) FROM visits",
    "SELECT flag, MODE(score) FROM visits GROUP BY flag",
    "SELECT HISTOGRAM(age, 10) FROM visits",
    "SELECT ward, CDF(score) FROM visits GROUP BY ward",
    "SELECT QUANTILES(cost, [0.5, 0.9], 8) FROM visits",
    "SELECT ward, flag, COUNT(*) FROM visits GROUP BY CUBE (ward, flag)",
    "SELECT ward, SUM(cost) FROM visits GROUP BY GROUPING SETS ((ward), (flag), (score))",
    "bounds of huge",
    "SELECT ward, SUM(score) FROM visits GROUP BY ward",
    "SELECT MEDIAN(score) FROM visits",
    "SELECT VARIANCE(CLAMP(score, 0, 6)), VARIANCE(temp) FROM visits",
    "SELECT SUM(age), AVG(cost) FROM visits",
    "SELECT SUM(CLAMP(age * score, -100, 100)) FROM visits",
    "SELECT SUM(CLAMP(CLAMP(huge, 0, 9000000000000000) * CLAMP(huge, 0, 9000000000000000), 0, 10)) "
    "FROM visits",
    "SELECT EXTRACT(month FROM day), score, COUNT(*) FROM visits GROUP BY EXTRACT(month FROM day), score",
)
"""What can be asked whether or not people are told apart."""

PEOPLE = (
    "SELECT ward, COUNT(DISTINCT person) FROM visits GROUP BY ward",
    "SELECT COUNT(DISTINCT person) FROM visits WHERE age > 3",
    "SELECT score, age > 40, COUNT(DISTINCT person) FROM visits GROUP BY score, age > 40",
    "SELECT EXTRACT(month FROM day), score, COUNT(DISTINCT person) FROM visits "
    "GROUP BY EXTRACT(month FROM day), score",
    "SELECT COUNT(DISTINCT city) FROM visits",
    "SELECT ward, COUNT(DISTINCT huge) FROM visits GROUP BY ward",
    "SELECT city, COUNT(*) FROM visits GROUP BY city",
    "SELECT city, SUM(age), MEDIAN(age) FROM visits GROUP BY city",
    "SELECT COUNT(*), AVG(p.born) FROM visits v JOIN people p ON v.person = p.person",
    "SELECT v.ward, SUM(p.born - v.age) FROM visits v LEFT JOIN people p ON v.person = p.person "
    "GROUP BY v.ward",
    "SELECT w.floor, COUNT(*) FROM visits v JOIN wards w ON v.ward = w.ward GROUP BY w.floor",
    "SELECT COUNT(*) FROM visits v JOIN wards w ON w.floor >= 1",
    "SELECT SUM(CLAMP(n, 0, 5)) FROM (SELECT person, COUNT(*) AS n FROM visits GROUP BY person)",
    "SELECT COUNT(*) FROM (SELECT person, COUNT(*) AS n FROM visits GROUP BY person) WHERE n > 1",
    "SELECT k, COUNT(*) FROM (SELECT person, ward AS k, MAX(age) AS m FROM visits GROUP BY person, ward) "
    "GROUP BY k",
    "SELECT COUNT(*) FROM (SELECT DISTINCT person, flag FROM visits)",
    "SELECT COUNT(*) FROM (SELECT person, MAX(score) AS m FROM visits GROUP BY person) a "
    "JOIN wards w ON w.ward = w.ward || ''",
    "SELECT COUNT(*) FROM (SELECT person, MAX(age) AS m FROM visits GROUP BY person) a "
    "JOIN wards w ON w.floor >= 1",
    "SELECT COUNT(*) FROM (SELECT person, MAX(ward) AS k FROM visits GROUP BY person) t "
    "JOIN wards w ON w.ward = t.k",
    "SELECT COUNT(*) FROM (SELECT person, MAX(age) AS m FROM visits GROUP BY person) a "
    "LEFT JOIN (SELECT person, MIN(born) AS b FROM people GROUP BY person) p ON a.person = p.person",
    "SELECT COUNT(*) FROM (SELECT person, MAX(age) AS m FROM visits GROUP BY person) a "
    "JOIN visits v ON a.person = v.person",
    "SELECT SUM(CLAMP(b, 1950, 2000)) FROM (SELECT v.person AS person, p.born AS b FROM visits v "
    "LEFT JOIN people p ON v.person = p.person)",
    "SELECT SUM(CLAMP(a, 0, 9)) FROM (SELECT age AS a, person FROM visits)",
    "SELECT ward, COUNT(*) FROM (SELECT person, ward, ROW_NUMBER() OVER (PARTITION BY person "
    "ORDER BY day DESC) AS n FROM visits) WHERE n = 1 GROUP BY ward",
    "SELECT SUM(age) FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY person ORDER BY score, cost DESC) AS n "
    "FROM visits) WHERE n <= 2",
    "SELECT COUNT(*) FROM (SELECT person, ROW_NUMBER() OVER (PARTITION BY person ORDER BY day) AS n "
    "FROM visits) a JOIN wards w ON w.floor >= 1 WHERE n = 1",
    "SELECT COUNT(*) FROM (SELECT person, n FROM (SELECT person, ward, COUNT(*) AS n FROM visits "
    "GROUP BY person, ward) GROUP BY person, n)",
    "SELECT w, COUNT(*) FROM (SELECT person, ARG_MIN(ward, day) AS w FROM visits GROUP BY person) GROUP BY w",
    "SELECT city, COUNT(*) FROM visits WHERE city IN ('a', 'b', 'nowhere') GROUP BY city",
    "SELECT ward, COUNT(DISTINCT person) FROM visits WHERE ward <> 'B' GROUP BY ward",
)
"""What can be asked about people with several rows each."""

SEVERAL = (
    "SELECT ward, COUNT(*) / (SELECT COUNT(DISTINCT person) FROM visits) FROM visits GROUP BY ward",
    "SELECT a.ward, a.n - b.n FROM (SELECT ward, COUNT(*) AS n FROM visits WHERE flag GROUP BY ward) a "
    "JOIN (SELECT ward, SUM(age) AS n FROM visits GROUP BY ward) b USING (ward)",
    "SELECT city, COUNT(*) FROM visits GROUP BY 1 UNION ALL SELECT ward, MEDIAN(age) FROM visits GROUP BY 1",
)
"""What is made of several releases with one price."""

KEYS = (
    "LOWER(ward)",
    "TRIM(CAST(ward AS TEXT))",
    "CAST(ward AS TEXT)",
    "COALESCE(ward, 'A')",
    "NULLIF(ward, 'Q')",
    "CLAMP(score, 0, 2)",
    "CLAMP(score, 0, 9)",
    "CASE WHEN age > 40 THEN 'old' ELSE ward END",
    "CASE WHEN age > 40 THEN 'old' WHEN age > 20 THEN 'mid' ELSE 'young' END",
    "CASE WHEN flag THEN 0 ELSE CLAMP(score, 0, 5) END",
    "huge % 3",
    "ABS(CLAMP(score, -4, 1))",
    "SIGN(huge)",
    "CLAMP(score, 0, 1) + CLAMP(age, 0, 2)",
    "CLAMP(score, 0, 2) - CLAMP(age, 0, 2)",
    "CLAMP(score, -1, 1) * CLAMP(age, 0, 2)",
    "CAST(flag AS INTEGER)",
    "DATE_TRUNC('year', day)",
    "DATE_TRUNC('quarter', day)",
)
"""What a person's rows may be grouped by: as few values as the declarations say, or as a function allows."""


def _kept(key: str) -> str:
    inner = f"SELECT person, {key} AS k, SUM(cost) AS s FROM visits GROUP BY person, {key}"
    return f"SELECT COUNT(*), SUM(CLAMP(s, 0, 9)) FROM ({inner})"


BATCH = (
    "SELECT COUNT(*) FROM visits",
    "SELECT ward, COUNT(*) FROM visits GROUP BY ward",
    "SELECT COUNT(age) FROM visits WHERE cost > 10",
    "SELECT flag, COUNT(*) FROM visits WHERE cost > 20 AND score BETWEEN -3 AND 2 GROUP BY flag",
)

MIXED = (
    BATCH[0],
    "SELECT ward, AVG(score) FROM visits GROUP BY ward",
    "SELECT SUM(cost) FROM visits WHERE flag",
    "SELECT ward, flag, COUNT(*) FROM visits GROUP BY CUBE (ward, flag)",
    "SELECT CDF(age, 4) FROM visits",
)

SOME = tuple(ROWS[n] for n in (0, 2, 5, 6, 7, 11, 13, 14, 15, 16, 18, 20, 21)) + tuple(
    PEOPLE[n] for n in (0, 2, 3, 4, 6, 8, 12, 14)
)

QUESTIONS: tuple[Asked, ...] = (
    *(Asked("plain", (text,), concentrated=number % 3 == 2) for number, text in enumerate(ROWS + PEOPLE)),
    *(Asked("swaps", (text,), concentrated=number % 4 == 1) for number, text in enumerate(SOME)),
    *(Asked("wide", (_kept(key),)) for key in KEYS),
    *(Asked("cells", (ROWS[number],)) for number in (0, 4, 7, 18, 27)),
    *(Asked("cells", (PEOPLE[number],)) for number in (0, 7)),
    *(Asked("cell swaps", (ROWS[number],), concentrated=True) for number in (4, 5)),
    *(Asked("groups only", (text,)) for text in (ROWS[4], PEOPLE[0])),
    *(Asked("one", (text,)) for text in (ROWS[4], ROWS[5], ROWS[18], PEOPLE[0], PEOPLE[1])),
    *(Asked("votes", (ROWS[number],)) for number in (0, 2, 7, 9, 11, 13, 17)),
    Asked("votes", (PEOPLE[10],)),
    Asked("votes", (PEOPLE[6],)),
    *(Asked("vote swaps", (ROWS[number],)) for number in (2, 11, 12, 14)),
    *(Asked("ready", (text,)) for text in (ROWS[4], PEOPLE[0], PEOPLE[4])),
    *(Asked(name, BATCH) for name in ("plain", "swaps")),
    Asked("swaps", MIXED),
    *(Asked("plain", (text,), concentrated=number == 1) for number, text in enumerate(SEVERAL)),
    Asked("swaps", (SEVERAL[0],)),
)

HOSTILE: tuple[Asked, ...] = (
    Asked("plain", ("SELECT COUNT(*) FROM visits v JOIN people p ON v.age = p.born",)),
    Asked(
        "plain",
        ("SELECT MODE(CLAMP(n, 0, 5)) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward)",),
    ),
    Asked("plain", ("SELECT COUNT(*) FROM wards w LEFT JOIN visits v ON w.ward = v.ward",)),
    Asked("plain", ("SELECT SUM(huge) FROM visits",)),
    Asked("plain", ("SELECT SUM(CLAMP(huge % (0 - 1), 0, 5)) FROM visits",)),
    Asked("plain", ("SELECT ward, flag, MEDIAN(age) FROM visits GROUP BY CUBE (ward, flag)",)),
    Asked(
        "plain",
        (
            "SELECT COUNT(*) FROM (SELECT p.person AS person, COUNT(*) AS n FROM visits v "
            "LEFT JOIN people p ON v.person = p.person GROUP BY p.person)",
        ),
    ),
    Asked("votes", ("SELECT COUNT(*) FROM visits v JOIN wards w ON w.floor >= 1",)),
    Asked("votes", ("SELECT COUNT(*) FROM visits v JOIN people p ON v.age = p.born",)),
    Asked("votes", ("SELECT COUNT(DISTINCT n) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward)",)),
)
"""What the planner refuses; where a fault makes it forget to, the checker must."""
