"""Random questions of the whole language: joins, subqueries, distributions, sets, private keys, limits."""

from random import Random
from typing import Any

from tests.query.questions import WARDS, Questions

from discreet.query.catalog.manifest import Catalog, declare


def hospital(random: Random) -> tuple[Catalog, bool]:
    """Return random declarations, and whether people are told apart."""
    unit = random.random() < 0.8
    limits: dict[str, Any] = {
        "rows_per_unit": random.choice((1, 2, 3, 8)),
        "groups_per_unit": random.choice((None, 1, 2, 5)),
        "rows_per_group": random.choice((None, None, 1, 2)),
    }
    columns = {
        "version": {"type": "integer", "low": 0, "high": 0},
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
    }
    neighbours = random.choice(("add-remove", "replace"))
    visits: dict[str, Any] = {"neighbours": neighbours, "columns": columns}
    people: dict[str, Any] = {
        "neighbours": neighbours,
        "columns": {
            "version": {"type": "integer", "low": 0, "high": 0},
            "born": {"type": "integer", "low": 1900, "high": 2024},
            **({"person": random.choice(("integer", "text"))} if random.random() < 0.5 else {}),
        },
    }
    if unit:
        visits |= {"unit": "person"} | {key: value for key, value in limits.items() if value is not None}
        visits["prepared"] = random.random() < 0.2
        people |= {"unit": "person", "rows_per_unit": 1}
    wards = {
        "public": True,
        "columns": {
            "ward": {"type": "text", "unique": True},
            "floor": {"type": "integer", "low": 0, "high": 4},
            "head": "text",
        },
    }
    return declare({"tables": {"visits": visits, "people": people, "wards": wards}}), unit


class Wider(Questions):
    """Questions that the narrower generator does not draw."""

    def question(self) -> str:
        """Return one question of any kind."""
        kind = self.random.random()
        where = f" WHERE {self.condition(2)}" if self.random.random() < 0.4 else ""
        if kind < 0.5:
            return self.draw().sql()
        if kind < 0.65:
            return f"SELECT {self._found()} FROM visits{where} GROUP BY city{self.pick('', ', ward')}"
        if kind < 0.8:
            return self._spread(where)
        if kind < 0.9:
            return self._sets(where)
        return self._nested(where)

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
            "SELECT v.person AS person, v.ward AS ward, CLAMP(p.born, 1950, 2000) AS b "
            "FROM visits v LEFT JOIN people p ON v.person = p.person",
            f"SELECT a.person AS person, m FROM (SELECT person, MAX(score) AS m FROM visits{where} "
            "GROUP BY person) a JOIN (SELECT person, MIN(born) AS b FROM people GROUP BY person) p "
            "ON a.person = p.person WHERE m > 0",
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
