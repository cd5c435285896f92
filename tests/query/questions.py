"""Random questions that the language allows, and the clinic they are asked about."""

from random import Random

from discreet.query.catalog.manifest import Catalog, declare

WARDS = ("A", "B", "C")


def clinic(
    *,
    rows: int | None = 3,
    groups: int | None = 2,
    per_group: int | None = None,
    neighbours: str = "add-remove",
    unit: bool = True,
    versions: int = 1,
    prepared: bool = False,
    person: str | None = None,
) -> Catalog:
    """Return the declarations; `versions` datasets are told apart by the column `version`.

    `person` is the type that the table of people declares for its unit; left out, it is any identifier.
    """
    visits: dict[str, object] = {
        "neighbours": neighbours,
        "columns": {
            "version": {"type": "integer", "low": 0, "high": versions - 1},
            "ward": {"type": "text", "values": list(WARDS)},
            "city": "text",
            "age": {"type": "integer", "low": 0, "high": 120},
            "score": {"type": "integer", "low": -7, "high": 5, "nullable": False},
            "huge": {"type": "integer"},
            "cost": {"type": "decimal", "low": 0, "high": 50, "step": "0.01"},
            "temp": {"type": "decimal", "low": -40, "high": 45},
            "wild": {"type": "decimal"},
            "day": {"type": "date", "low": "2024-01-01", "high": "2024-12-31"},
            "any_day": "date",
            "moment": "timestamp",
            "flag": "boolean",
        },
    }
    people: dict[str, object] = {
        "neighbours": neighbours,
        "columns": {
            "version": {"type": "integer", "low": 0, "high": versions - 1},
            "born": {"type": "integer", "low": 1900, "high": 2024},
            **({} if person is None else {"person": person}),
        },
    }
    if unit:
        limits = {"rows_per_unit": rows, "groups_per_unit": groups, "rows_per_group": per_group}
        visits |= {"unit": "person"} | {key: value for key, value in limits.items() if value is not None}
        visits["prepared"] = prepared
        people |= {"unit": "person", "rows_per_unit": 1}
    wards = {
        "public": True,
        "columns": {
            "ward": {"type": "text", "unique": True},
            "floor": {"type": "integer", "low": 0, "high": 4},
            "head": "text",
        },
    }
    return declare({"tables": {"visits": visits, "people": people, "wards": wards}})


def hospital(random: Random) -> tuple[Catalog, bool]:
    """Return random declarations, and whether people are told apart."""
    unit = random.random() < 0.8
    rows, groups = random.choice((1, 2, 3, 8)), random.choice((None, 1, 2, 5))
    per_group = random.choice((None, None, 1, 2))
    neighbours = random.choice(("add-remove", "replace"))
    person = random.choice(("integer", "text")) if random.random() < 0.5 else None
    prepared = unit and random.random() < 0.2
    made = clinic(
        rows=rows,
        groups=groups,
        per_group=per_group,
        neighbours=neighbours,
        unit=unit,
        prepared=prepared,
        person=person,
    )
    return made, unit


PUBLIC_JOINS = (
    "visits.ward = w.ward",
    "visits.ward = w.ward",
    "w.ward = COALESCE(visits.ward, 'A')",
    "w.ward = 'B'",
    "w.ward = w.ward || ''",
    "w.ward = COALESCE(w.ward, visits.ward)",
    "w.ward = w.head OR w.floor > 0",
    "w.floor >= 1",
)
"""Conditions under which a row meets at most one public row, and others under which it meets many."""

PERSON_KEYS = (
    "ward",
    "ward",
    "LOWER(ward)",
    "TRIM(CAST(ward AS TEXT))",
    "DATE_TRUNC('month', day)",
    "EXTRACT(year FROM CAST(city AS DATE))",
    "(age > 40)",
    "CLAMP(score, 0, 2)",
)
"""What a person's rows are grouped by besides the person: few values by construction, or as declared only."""


class Questions:
    """Draws allowed questions; `version` adds the dataset's number to the group keys."""

    def __init__(self, random: Random, *, unit: bool = True) -> None:
        self.random = random
        self.unit = unit

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def number(self, depth: int = 2) -> str:
        if depth == 0 or self.random.random() < 0.4:
            return self.pick("age", "score", "cost", "temp", "huge", "wild", "3", "0.5", "-2", "age", "cost")
        inner = [self.number(depth - 1) for _ in range(2)]
        return self.pick(
            f"({inner[0]} + {inner[1]})",
            f"({inner[0]} - {inner[1]})",
            f"({inner[0]} * {inner[1]})",
            f"({inner[0]} / {inner[1]})",
            f"CLAMP({inner[0]}, -5, 100)",
            f"CLAMP({inner[0]}, 0.25, 17.5)",
            f"ABS({inner[0]})",
            f"ROUND({inner[0]}, 1)",
            f"FLOOR({inner[0]})",
            f"CEIL({inner[0]})",
            f"SQRT({inner[0]})",
            f"LN({inner[0]})",
            f"EXP({inner[0]})",
            f"SIGN({inner[0]})",
            f"POWER({inner[0]}, 2)",
            f"LEAST({inner[0]}, {inner[1]})",
            f"GREATEST({inner[0]}, {inner[1]})",
            f"LEAST(GREATEST({inner[0]}, {self.pick('1', '-2.5', '0')}), {self.pick('2', '70')})",
            f"(age {self.pick('&', '|')} {self.pick('1', '6', '64')})",
            f"WHOLE_UNITS('{self.pick('year', 'month', 'day')}', {self.day(0)}, {self.day(depth - 1)})",
            f"MONTHS_BETWEEN({self.day(depth - 1)}, {self.pick('day', 'any_day')})",
            "EXTRACT(YEAR FROM AGE(DATE '2025-02-28', any_day))",
            f"COALESCE({inner[0]}, {inner[1]})",
            f"NULLIF({inner[0]}, {inner[1]})",
            f"CASE WHEN {self.condition(depth - 1)} THEN {inner[0]} ELSE {inner[1]} END",
            f"CASE WHEN {self.condition(depth - 1)} THEN {inner[0]} END",
            f"LENGTH({self.text(depth - 1)})",
            f"CAST({self.text(depth - 1)} AS INTEGER)",
            f"CAST({self.text(depth - 1)} AS DOUBLE)",
            f"CAST({inner[0]} AS INTEGER)",
            f"EXTRACT({self.pick('year', 'month', 'dow', 'quarter', 'doy')} FROM {self.day(depth - 1)})",
            f"DATE_DIFF('{self.pick('day', 'month', 'year')}', {self.day(depth - 1)}, {self.day(depth - 1)})",
            f"(FLOOR({inner[0]}) % 7)",
            f"(-{inner[0]})",
            f"(huge % {self.pick('1', '7', '1000000')})",
            f"ROUND({inner[0]}, 9)",
            f"(DATE_DIFF('day', CAST(city AS DATE), {self.day(depth - 1)}) * 1000000000000)",
        )

    def text(self, depth: int = 1) -> str:
        if depth <= 0 or self.random.random() < 0.5:
            return self.pick("ward", "city", "'x'")
        inner = self.text(depth - 1)
        return self.pick(
            f"LOWER({inner})",
            f"UPPER({inner})",
            f"TRIM({inner})",
            f"SUBSTRING({inner}, 1, 2)",
            f"LEFT({inner}, {self.pick('0', '3')})",
            f"RIGHT({inner}, {self.pick('0', '1')})",
            f"SUBSTRING({inner}, {self.pick('0', '1', '1048576')}, {self.pick('0', '2', '1048576')})",
            "CAST(CAST(city AS BOOLEAN) AS TEXT)",
            f"({inner} || {self.text(0)})",
            f"COALESCE({inner}, 'none')",
            f"REPEAT({inner}, {self.pick('0', '2', '3')})",
            f"TRANSLATE({inner}, 'ab', '{self.pick('', 'c')}')",
            f"{self.pick('REVERSE', 'INITCAP')}(ward)",
            "CAST(age AS TEXT)",
            "CAST(day AS TEXT)",
        )

    def day(self, depth: int = 1) -> str:
        if depth <= 0 or self.random.random() < 0.6:
            return self.pick("day", "any_day", "DATE '2024-03-01'", "CAST(moment AS DATE)")
        return self.pick(
            f"DATE_TRUNC('{self.pick('month', 'year', 'week', 'quarter')}', {self.day(depth - 1)})",
            "(any_day + INTERVAL 3 MONTH)",
            "(day - INTERVAL 400 DAY)",
            "CAST(city AS DATE)",
            "CAST(CAST(city AS TIMESTAMP) AS DATE)",
            "LAST_DAY(day)",
            "DATE_TRUNC(day, WEEK(SUNDAY))",
            "MAKE_DATE(2000 + score, 2, age)",
            "(CAST(city AS DATE) - INTERVAL 4000 YEAR)",
        )

    def condition(self, depth: int = 2) -> str:
        if depth <= 0 or self.random.random() < 0.5:
            return self.pick(
                "flag",
                f"age {self.pick('<', '<=', '>', '>=', '=', '<>')} {self.random.randint(-5, 130)}",
                "ward IN ('A', 'C')",
                "ward = 'B'",
                "city LIKE 'a%'",
                "city ILIKE '%b_%'",
                "city ILIKE 'xA' ESCAPE 'b'",
                "city ILIKE 'AA%' ESCAPE 'A'",
                "city LIKE '%!%%' ESCAPE '!'",
                "city ~ '^[a-c]d?[a-z]+$'",
                "city ~* '[0-9]{2}$'",
                "(flag XOR ward = 'A')",
                "city IS NULL",
                "city IN ('a', 'A')",
                "CAST(moment AS TIME) >= '09:00'",
                "cost IS NOT NULL",
                "cost BETWEEN 3 AND 20.5",
                "day >= DATE '2024-02-01'",
                "huge > 100",
                "wild < 1e10",
                "temp <> cost",
                "moment > TIMESTAMP '2024-01-05 10:00:00'",
            )
        inner = [self.condition(depth - 1) for _ in range(2)]
        return self.pick(
            f"({inner[0]} AND {inner[1]})",
            f"({inner[0]} OR {inner[1]})",
            f"NOT ({inner[0]})",
            f"({inner[0]}) IS TRUE",
            f"{self.number(1)} < {self.number(1)}",
            f"{self.text(1)} = {self.text(1)}",
            f"{self.day(1)} <= {self.day(1)}",
            f"{self.number(1)} IS DISTINCT FROM {self.number(1)}",
            f"{self.text(1)} IN ('a', 'A', 'none')",
        )

    def key(self) -> str:
        return self.pick(
            "ward",
            "flag",
            "score",
            "FLOOR(age / 30)",
            "CASE WHEN age < 40 THEN 'young' WHEN cost > 10 THEN 'dear' ELSE 'other' END",
            "EXTRACT(quarter FROM day)",
            "DATE_TRUNC('month', day)",
            "DATE_TRUNC('week', day)",
            "ISOYEAR(day)",
            "age / 30",
            "(age / 30 * 20 - 5)",
            "(age - age % 40)",
            "LAST_DAY(day)",
            f"({self.condition(1)})",
            "LOWER(ward)",
            "COALESCE(ward, 'A')",
        )

    def aggregate(self) -> str:
        number = self.number(2)
        bounded = self.pick(
            "age", "cost", "temp", "score", f"CLAMP({number}, -3, 40)", f"CLAMP({number}, 0, 9.5)", number
        )
        plain = [
            "COUNT(*)",
            f"COUNT({bounded})",
            f"SUM({bounded})",
            f"AVG({bounded})",
            f"VARIANCE({bounded})",
            f"STDDEV_POP({bounded})",
            f"COUNT(DISTINCT {self.pick('city', 'age', 'ward', 'day')})",
            f"COUNT(*) FILTER (WHERE {self.condition(1)})",
            f"SUM({bounded}) FILTER (WHERE {self.condition(1)})",
            f"MEDIAN({self.pick('age', 'score', 'cost')})",
            f"QUANTILE({self.pick('age', 'score')}, 0.{self.random.randint(1, 9)})",
            f"SUM(DISTINCT {self.pick('age', 'score', 'cost', 'ROUND(temp, 1)')})",
            f"AVG(DISTINCT {self.pick('age', 'score')})",
            f"{self.pick('SKEWNESS', 'KURTOSIS')}({self.pick('age', 'score', 'cost', 'temp')})",
            f"BOOL_OR({self.condition(1)})",
            f"{self.pick('REGR_SXY', 'REGR_SLOPE', 'CORR')}(age, {self.pick('score', 'temp')})",
            "SUM(huge) FILTER (WHERE huge BETWEEN -5 AND 9)",
            "SUM(CASE WHEN wild > 9 THEN 9 WHEN wild >= 0 THEN wild ELSE 0 END)",
            f"MIN({self.pick('age', 'score')})",
            f"MAX({self.pick('age', 'cost')})",
            f"MODE({self.pick('ward', 'score', 'flag')})",
            f"MODE({self.pick('ward', 'score')})",
        ]
        if self.unit:
            plain += ["COUNT(DISTINCT person)"] * 2
        return self.random.choice(plain)

    def draw(self) -> "Question":
        """Return one question."""
        keys = [self.key() for _ in range(self.random.choice((0, 1, 1, 1, 2)))]
        values = [self.aggregate() for _ in range(self.random.choice((1, 1, 2, 3)))]
        where = self.condition(2) if self.random.random() < 0.5 else None
        shape = self.random.random()
        if self.unit and shape < 0.15:
            return self._per_person(where)
        source, prefix = "visits", ""
        if shape < 0.3:
            source, prefix = f"visits JOIN wards AS w ON {self.random.choice(PUBLIC_JOINS)}", "visits."
            keys = [*keys, "w.floor"][:2]
        elif self.unit and shape < 0.45:
            source, prefix = "visits JOIN people AS p ON visits.person = p.person", "visits."
            values = [*values, "AVG(p.born)"][-2:]
        elif self.unit and shape < 0.55:
            source, prefix = "visits LEFT JOIN visits AS other ON visits.person = other.person", "visits."
        qualified = [_qualify(part, prefix) for part in (*keys, *values, where or "")]
        keys, values = qualified[: len(keys)], qualified[len(keys) : len(keys) + len(values)]
        return Question(source, tuple(keys), tuple(values), qualified[-1] or None, prefix or "")

    def _per_person(self, where: str | None) -> "Question":
        inner = self.pick(
            *("COUNT(*)", "SUM(cost)", "MAX(age)", "AVG(temp)", "COUNT(DISTINCT ward)", "MIN(score)"),
            *("CAST(BOOL_AND(flag) AS INTEGER)", "CAST(MAX(flag) AS INTEGER)"),
        )
        extra = self.random.choice((*[""] * 4, *PERSON_KEYS))
        clause = f" WHERE {where}" if where else ""
        having = self.pick("", " HAVING COUNT(*) > 1")
        grouped = f"GROUP BY person, version{extra and f', {extra}'}{having}"
        x, k, t = (
            self.pick(*names) for names in (("x", "X", '"c0"', '"u"'), ("k", '"k0"'), ("t", '"t0"', "r"))
        )
        items = f"person, version, {inner} AS {x}{extra and f', {extra} AS {k}'}"
        source = f"(SELECT {items} FROM visits{clause} {grouped}) AS {t}"
        if self.random.random() < 0.3:
            on = self.random.choice(PUBLIC_JOINS).replace("visits.ward", f"CAST({x} AS TEXT)")
            source += f" JOIN wards AS w ON {on.replace('visits.', f'{t}.')}"
        values = self.pick(
            f"AVG(CLAMP({x}, 0, 30))",
            "COUNT(*)",
            f"MEDIAN(CLAMP({x}, 0, 30))",
            f"SUM(CLAMP({x}, -2, 3))",
            f"COUNT({x})",
        )
        keys = (k,) if extra and self.random.random() < 0.5 else ()
        return Question(source, keys, (values,), self.pick(f"{x} > 1", f"{x} IS NOT NULL", "") or None, "")


VIEWS = (
    ("grown", "SELECT * FROM visits WHERE age >= 18"),
    ("dear", "SELECT person, version, ward, age, city, flag, cost AS price FROM grown WHERE cost > 2"),
    ("totals", "SELECT person, COUNT(*) AS n, SUM(age) AS s, MAX(score) AS m FROM visits GROUP BY person"),
    (
        "latest",
        "SELECT person, ward, age FROM visits QUALIFY ROW_NUMBER() OVER (PARTITION BY person ORDER BY day "
        "DESC) <= 2",
    ),
)
"""Subqueries that the curator has given names; one uses another."""


class Wider(Questions):
    """Questions of the whole language: distributions, sets, private keys, subqueries of many kinds."""

    def question(self) -> str:
        """Return one question of any kind."""
        kind = self.random.random()
        where = f" WHERE {self.condition(2)}" if self.random.random() < 0.4 else ""
        if kind < 0.5:
            return self.draw().sql()
        if kind < 0.56:
            return self._named(where)
        if kind < 0.65:
            return f"SELECT {self._found()} FROM visits{where} GROUP BY city{self.pick('', ', ward')}"
        if kind < 0.8:
            return self._spread(where)
        if kind < 0.9:
            return self._sets(where)
        return self._nested(where)

    def viewed(self) -> str:
        """Return a question about a view, or about one beside a table."""
        value = self.pick("COUNT(*)", "COUNT(DISTINCT person)", "SUM(CLAMP({0}, -3, 9))", "COUNT({0})")
        view = self.random.choice(VIEWS)[0]
        number = {"grown": "score", "dear": "price", "totals": "m", "latest": "age"}[view]
        key = {"grown": "flag", "dear": "ward", "totals": "CLAMP(n, 0, 3)", "latest": "ward"}[view]
        asked = value.format(number)
        return self.pick(
            f"SELECT {asked} FROM {view}",
            f"SELECT {key}, {asked} FROM {view} GROUP BY {key}",
            f"SELECT COUNT(*) FROM {view} AS a JOIN people AS p ON a.person = p.person WHERE p.born > 1980",
            f"SELECT SUM(CLAMP(b.n, 0, 4)) FROM {view} AS a JOIN totals AS b ON a.person = b.person",
            f"SELECT COUNT(*) FROM (SELECT person, {number} AS x FROM {view}) AS t WHERE x BETWEEN 1 AND 9",
        )

    def _named(self, where: str) -> str:
        """Return a question that names its groups, makes columns of them, or one of several releases."""
        value = self.pick("COUNT(*)", "SUM(age)", "COUNT(DISTINCT city)", "MEDIAN(age)")
        also = where.replace(" WHERE", " AND", 1)
        wards = f"SELECT ward, {value} AS n FROM visits{where} GROUP BY ward"
        return self.pick(
            f"SELECT city, {value} FROM visits WHERE city IN ('a', 'zz'){also} GROUP BY city",
            f"SELECT city, ward, {value} FROM visits WHERE city = 'A' AND ward <> 'B'{also} GROUP BY 1, 2",
            f"SELECT DATE_TRUNC('month', day), {value} FROM visits WHERE day > '2024-02-10'{also} GROUP BY 1",
            f"SELECT score, {value} FROM visits WHERE score BETWEEN -1 AND 2{also} GROUP BY score",
            f"SELECT ward, MODE(city) FROM visits WHERE city IN ('a', 'zz', 'b'){also} GROUP BY ward",
            f"SELECT MODE(huge) FILTER (WHERE huge BETWEEN -3 AND 4), {value} FROM visits{where}",
            "SELECT s.k, SUM(v.age) FROM GENERATE_SERIES(0, 3) AS s (k) LEFT JOIN visits v ON v.score = s.k "
            "GROUP BY s.k",
            "SELECT * FROM (SELECT ward, flag FROM visits) PIVOT (COUNT(*) FOR flag IN (TRUE, FALSE))",
            f"SELECT a.ward, a.n - b.n FROM ({wards}) a JOIN (SELECT ward, COUNT(*) AS n FROM visits "
            "GROUP BY ward) b USING (ward)",
            f"SELECT ward, {value} FROM visits WHERE ward = ANY (SELECT ward FROM wards){also} GROUP BY ward",
        )

    def _found(self) -> str:
        return self.pick(
            "city, COUNT(*)",
            "city, SUM(age), COUNT(DISTINCT day)",
            "city, MEDIAN(age)",
            "AVG(cost), MODE(ward)",
        )

    def _spread(self, where: str) -> str:
        spread = self.pick(
            "HISTOGRAM(age, 10)",
            "HISTOGRAM(cost, [5, 20])",
            "HISTOGRAM(score)",
            "CDF(score)",
            "CDF(temp, 7)",
            "QUANTILES(age, [0.25, 0.5], 12)",
        )
        if self.random.random() < 0.5:
            return f"SELECT {spread} FROM visits{where}"
        key = self.pick("ward", "flag", "score")
        return f"SELECT {key}, {spread} FROM visits{where} GROUP BY {key}"

    def _sets(self, where: str) -> str:
        value = self.pick("COUNT(*)", "SUM(age)", "AVG(cost)", "COUNT(temp), SUM(score)")
        sets = self.pick(
            "CUBE (ward, flag)", "ROLLUP (flag, score)", "GROUPING SETS ((ward), (flag, score), ())"
        )
        names = {"C": "ward, flag", "R": "flag, score", "G": "ward, flag, score"}[sets[0]]
        return f"SELECT {names}, {value} FROM visits{where} GROUP BY {sets}"

    def _nested(self, where: str) -> str:
        if not self.unit:
            inner = f"(SELECT ward, age FROM visits{where}) v"
            return f"SELECT w.floor, COUNT(*) FROM {inner} JOIN wards w ON v.ward = w.ward GROUP BY w.floor"
        age = "CASE WHEN age > 30 THEN 'old' ELSE 'young' END"
        inner = self.pick(
            f"SELECT DISTINCT person, flag FROM visits{where}",
            f"SELECT person, {age} AS a, COUNT(*) AS n FROM visits{where} GROUP BY person, {age}",
            f"SELECT person, CLAMP(MAX(score), 0, 3) AS m FROM visits{where} GROUP BY person",
            f"SELECT person, ward, SUM(cost) AS s, AVG(temp) AS t FROM visits{where} GROUP BY person, ward",
            f"SELECT person, ARG_MIN(ward, day) AS ward, FIRST(score ORDER BY age DESC) AS m FROM visits "
            f"{where} GROUP BY person",
            "SELECT person, MAX_BY(age, cost) FILTER (WHERE flag) AS n, ANY_VALUE(ward) AS ward FROM visits "
            "GROUP BY person, score",
            f"SELECT DISTINCT ON (person) person, ward, age AS n FROM visits{where} ORDER BY person, day",
            "SELECT p.person AS person, l.n AS n FROM people p, LATERAL (SELECT MAX(v.age) AS n FROM "
            "visits v WHERE v.person = p.person) l",
            "SELECT person, ward, score AS n FROM visits WHERE person IN (SELECT person FROM people WHERE "
            "born > 1980)",
            "SELECT v.person AS person, v.ward AS ward, CLAMP(p.born, 1950, 2000) AS b "
            "FROM visits v LEFT JOIN people p ON v.person = p.person",
            f"SELECT a.person AS person, m FROM (SELECT person, MAX(score) AS m FROM visits{where} "
            "GROUP BY person) a JOIN (SELECT person, MIN(born) AS b FROM people GROUP BY person) p "
            "ON a.person = p.person WHERE m > 0",
            f"SELECT person, ward, age AS n FROM visits{where} UNION ALL SELECT person, city, born FROM "
            "people JOIN (SELECT person AS w, MAX(city) AS city FROM visits GROUP BY person) ON person = w",
            "SELECT p.person AS person, v.ward AS ward, p.born AS b, v.age AS n FROM visits v FULL JOIN "
            "people p ON v.person = p.person AND v.age > 30",
            "SELECT person, NTH_VALUE(ward, 2) OVER (PARTITION BY person ORDER BY day ROWS BETWEEN UNBOUNDED "
            f"PRECEDING AND UNBOUNDED FOLLOWING) AS ward, age AS n FROM visits{where}",
            "SELECT person, LAG(ward) OVER (PARTITION BY person ORDER BY day) AS ward, SUM(score) OVER "
            f"(PARTITION BY person ORDER BY city DESC) AS s, cost AS t FROM visits{where}",
            "SELECT person, ward, DATE_DIFF('minute', LAG(moment) OVER (PARTITION BY person ORDER BY moment),"
            f" moment) AS n FROM visits{where} QUALIFY RANK() OVER (PARTITION BY person ORDER BY age) < 3",
        )
        values = ["COUNT(*)", "COUNT(DISTINCT person)"]
        values += [f"SUM(CLAMP({name}, -3, 9))" for name in "nmstb" if f" AS {name}" in inner]
        keys = [key for key in ("flag", "ward", "a", "CLAMP(m, 0, 2)") if self._offers(inner, key)]
        value = self.random.choice(values)
        if keys and self.random.random() < 0.6:
            key = self.random.choice(keys)
            return f"SELECT {key}, {value} FROM ({inner}) GROUP BY {key}"
        return f"SELECT {value} FROM ({inner})"

    def _offers(self, inner: str, key: str) -> bool:
        name = key.removeprefix("CLAMP(").partition(",")[0]
        items = inner.partition(" FROM ")[0]
        return f" AS {name}" in items or f", {name}" in items


class Question:
    """A question as parts, so that the same one can be asked of one dataset or of many at once."""

    def __init__(
        self, source: str, keys: tuple[str, ...], values: tuple[str, ...], where: str | None, prefix: str
    ) -> None:
        self.source, self.keys, self.values, self.where, self.prefix = source, keys, values, where, prefix

    def sql(self, *, versions: bool = False) -> str:
        """Return the SQL text; with `versions`, one answer for each dataset."""
        keys = (f"{self.prefix}version", *self.keys) if versions else self.keys
        items = ", ".join((*keys, *self.values))
        where = f" WHERE {self.where}" if self.where else ""
        group = f" GROUP BY {', '.join(keys)}" if keys else ""
        return f"SELECT {items} FROM {self.source}{where}{group}"


_COLUMNS = [
    "version",
    "ward",
    "city",
    "age",
    "score",
    "huge",
    "cost",
    "temp",
    "wild",
    "day",
    "any_day",
    "moment",
    "flag",
    "person",
]


def _qualify(text: str, prefix: str) -> str:
    """Prefix bare column names, leaving functions, strings and qualified names alone."""
    import re

    if not prefix:
        return text
    parts = re.split(r"('[^']*')", text)
    pattern = re.compile(r"(?<![\w.])(" + "|".join(_COLUMNS) + r")(?![\w(])")
    return "".join(part if part.startswith("'") else pattern.sub(rf"{prefix}\1", part) for part in parts)
