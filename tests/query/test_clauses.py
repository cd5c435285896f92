"""Every clause of every block has its effect or is refused: exact answers agree with DuckDB's own.

Questions are drawn with clauses everywhere SQL has a place for them, sensible or not.  What is not refused is
answered without noise, from the integers that the noise would be added to, and compared with what DuckDB
makes of the same text.  The table is dense and nobody is above any limit, so both must agree.
"""

from collections import Counter
from fractions import Fraction
from random import Random
from typing import Any

import duckdb
import pytest
from tests.attacks.test_sql_contributions import visit
from tests.query.questions import clinic
from tests.query.worlds import Row, open_world, requests

from discreet.engines.duckdb.engine import DuckDB
from discreet.errors import QueryError
from discreet.query.check.measurement import Checked, Declared, Measurement, questions_of
from discreet.query.check.question import check
from discreet.query.language.sql import read
from discreet.query.price.quote import quote
from discreet.release.noisy import Noisy, together
from discreet.release.table import rows

CATALOG = clinic(rows=1000, groups=1000)


def dense() -> list[Row]:
    """Return visits in which every ward and flag occurs often, each so often that no two groups agree."""
    random = Random(3)
    places = [(ward, flag) for ward in "ABC" for flag in (True, False)]
    return [
        visit(
            f"p{n % 11}",
            ward=ward,
            flag=flag,
            age=random.randrange(10, 80),
            cost=random.randrange(13) / 4,
            score=random.randrange(5),
        )
        for number, (ward, flag) in enumerate(places)
        for n in range(30 + 7 * number)
    ]


@pytest.fixture(scope="module")
def engine() -> DuckDB:
    return open_world(
        dense(), [{"person": f"p{n}", "version": 0, "born": 1950 + n} for n in range(11)], CATALOG
    )


def exactly(engine: DuckDB, text: str) -> list[tuple[Any, ...]]:
    """Return the answer with nothing in place of noise."""
    checked = check(read(text), CATALOG)
    found = together([_exact(engine, part) for part in questions_of(checked)])
    return [row.cells for row in rows(quote(checked, epsilon=10**4), found)]


def _exact(engine: DuckDB, checked: Checked) -> Noisy:
    if not isinstance(checked.keys, Declared) or not all(
        isinstance(measured, Measurement) for measured in checked.measurements
    ):
        raise QueryError("the test", "compares sums and counts of declared groups", "ask for those")
    exact, keys = engine._exact(requests(checked), 1), checked.keys.product()
    if any(set(keys) - set(found) for found in exact._totals.values()):
        raise QueryError(
            "the test", "does not compare empty groups, which are shown here", "ask for more rows"
        )
    values = tuple(
        tuple(Fraction(value, measured.scale) for value in exact.integers(f"m{position}", keys))
        for position, measured in enumerate(checked.measurements)
    )
    return Noisy(keys, values)


def plain(value: Any) -> Any:
    return (
        round(float(value), 6)
        if isinstance(value, int | float | Fraction) and type(value) is not bool
        else value
    )


def comparable(table: list[tuple[Any, ...]], ordered: bool) -> list[tuple[Any, ...]]:
    found = [tuple(map(plain, row)) for row in table]
    return found if ordered else sorted(found, key=repr)


class Clauses:
    """Draws questions of up to three blocks; names are written in any case."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def maybe(self, chance: float, *choices: str) -> str:
        return self.cased(self.random.choice(choices)) if self.random.random() < chance else ""

    def cased(self, text: str) -> str:
        return text if self.random.random() < 0.7 else text.replace(" n ", " N ").replace("ward", "WARD")

    def rows(self) -> str:
        """Return a relation of people's rows."""
        condition = self.maybe(0.5, " WHERE age > 20", " WHERE cost < 2.9", " WHERE NOT (age = 17)")
        having = self.maybe(0.5, " HAVING COUNT(*) > 1", " HAVING MAX(age) > 30")
        odd = self.maybe(0.1, " ORDER BY age", " LIMIT 3")
        return self.random.choice(
            (
                "visits",
                f"(SELECT * FROM visits{condition}{odd}) AS v",
                f"(SELECT person, ward, flag, age, cost FROM visits{condition}) AS v",
                f"(SELECT person, ward, flag, MAX(age) AS age, SUM(cost) AS cost FROM visits{condition} "
                f"GROUP BY person, ward, flag{having}) AS v",
                f"(SELECT DISTINCT person, ward, flag, age, 1 AS cost FROM visits{condition}) AS v",
            )
        )

    def grouped(self) -> str:
        """Return a block that aggregates."""
        keys = self.random.choice(("", "", "ward", "flag", "ward, flag"))
        items = [
            *([keys] if keys else []),
            self.random.choice(("COUNT(*) AS n", "SUM(CLAMPED(age)) AS n", "COUNT(age) AS n")),
        ]
        items += [self.random.choice(("SUM(CLAMPED(cost)) AS s", "AVG(CLAMPED(age)) AS s"))]
        where = self.maybe(0.4, " WHERE age > 20", " WHERE flag OR cost < 2")
        having = self.maybe(
            0.4, " HAVING COUNT(*) > 20", " HAVING COUNT(*) > 29 OR SUM(CLAMPED(age)) > 5", " HAVING n > 25"
        )
        tail = f" GROUP BY {keys}" if keys else ""
        return f"SELECT {', '.join(items)} FROM {self.rows()}{where}{tail}{having}"

    def draw(self) -> tuple[str, bool]:
        """Return a question, and whether its order is said."""
        inner = self.grouped()
        order = self.maybe(0.4, " ORDER BY n , s", " ORDER BY s DESC, n ", " ORDER BY 1, 2")
        limit = self.maybe(0.5, " LIMIT 2", " LIMIT 0") if order else ""
        if self.random.random() < 0.35:
            return inner + order + limit, bool(order)
        items = self.random.choice(
            (
                "*",
                "n , s",
                "s, n ",
                "n + s AS n , s",
                "DISTINCT n , s",
                "n AS s, s AS n ",
                "t.n , t.s",
                "q.n , s",
                "COUNT(*) AS n , SUM(n ) AS s",
            )
        )
        where = self.maybe(0.4, " WHERE n > 25", " WHERE s > 1 AND n > 2", " WHERE t.n > 30")
        group = self.maybe(0.1, " GROUP BY n , s", " GROUP BY GROUPING SETS ((), ())")
        having = self.maybe(0.3, " HAVING n > 25", " HAVING COUNT(*) > 0")
        outer = f"SELECT {self.cased(items)} FROM "
        rest = f"{where}{group}{having}{order}{limit}"
        if self.random.random() < 0.5:
            return f"WITH t AS ({inner}) {outer}t{rest}", bool(order)
        return f"{outer}({inner}) AS t{rest}", bool(order)


def ours(text: str) -> str:
    return text.replace("CLAMPED(age)", "CLAMP(age, 0, 120)").replace("CLAMPED(cost)", "CLAMP(cost, 0, 5000)")


def compare(engine: DuckDB, random: Random, count: int) -> Counter[str]:
    """Compare so many answers, and return how many there were of each kind."""
    seen = Counter[str]()
    while seen["answered"] < count:
        text, ordered = Clauses(random).draw()
        try:
            mine = exactly(engine, ours(text))
        except QueryError:
            seen["refused"] += 1
            continue
        seen["answered"] += 1
        seen["HAVING above"] += text.rpartition(" AS t")[2].count("HAVING")
        theirs = text.replace("CLAMPED", "")
        try:
            expected = engine.connection.execute(theirs).fetchall()
        except duckdb.Error as problem:
            pytest.fail(f"answered, but it has no meaning: {theirs}\n{problem}")
        assert comparable(mine, ordered) == comparable(expected, ordered), theirs
    return seen


def test_every_clause_has_its_effect_or_is_refused(engine: DuckDB) -> None:
    seen = compare(engine, Random(31), 70)
    assert seen["refused"] > 10, seen


@pytest.mark.fuzz
def test_every_clause_has_its_effect_or_is_refused_in_a_long_search(engine: DuckDB) -> None:
    for seed in range(20):
        compare(engine, Random(f"clauses {seed}"), 120)


@pytest.mark.parametrize(
    "rest",
    [
        "HAVING n > 25",
        "HAVING t.n > 25",
        "WHERE n > 2 HAVING n > 25",
        "HAVING n > 25 ORDER BY n",
        "HAVING COUNT(*) > 0",
        "GROUP BY GROUPING SETS ((), ())",
        "ORDER BY COUNT(*)",
    ],
)
@pytest.mark.parametrize("block", ["SELECT n FROM ({0}) AS t {1}", "WITH t AS ({0}) SELECT * FROM t {1}"])
def test_a_clause_on_a_released_table_is_not_dropped(rest: str, block: str) -> None:
    inner = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
    with pytest.raises(QueryError):
        check(read(block.format(inner, rest)), CATALOG)


def test_a_wrong_qualifier_is_not_overlooked() -> None:
    with pytest.raises(QueryError, match="no such column"):
        check(read("SELECT q.n FROM (SELECT COUNT(*) AS n FROM visits) AS t"), CATALOG)


def test_a_name_in_having_means_what_it_meant_where_it_was_written() -> None:
    inner = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING n > 5"
    renamed = check(read(f"SELECT n + 100 AS n FROM ({inner}) AS t"), CATALOG)
    plain = check(read("SELECT COUNT(*) AS n FROM visits GROUP BY ward HAVING COUNT(*) > 5"), CATALOG)
    assert renamed.having == plain.having
