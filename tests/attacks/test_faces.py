"""Questions asked in other ways than one text at a time: no person moves them further than is charged.

Batches, released tables put together, keys found in the data with the first of them shown, bounds found and
then used, made-up records, prices by their error, and tables that were prepared in a file.  The same other
people stand beside a worst-case person in every dataset; the oracle knows nothing but the noise.  What is
drawn of the exact integers is drawn whatever these are: of datasets that are nearly empty as well.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

import pyarrow.parquet
import pytest
from tests.query.gate.oracle import violation
from tests.query.gate.people import KEY, Family, family, others, worst
from tests.query.gate.questions import QUESTIONS
from tests.query.gate.shapes import Shapes
from tests.query.gate.walk import declared
from tests.query.questions import Wider, clinic
from tests.query.worlds import PEOPLE, SCHEMA, extreme, open_world

from discreet.engines.duckdb.engine import open_tables
from discreet.errors import QueryError
from discreet.query.catalog.manifest import Catalog, DeclaredBudget
from discreet.query.check import bounds
from discreet.query.check.question import Limits
from discreet.query.price.expected import Quote
from discreet.query.price.proving import proved
from discreet.query.price.quote import quote
from discreet.release import sources
from discreet.release.noisy import decode, draw, encode
from discreet.release.pricing import check_batch, check_question, price_question
from discreet.release.records_plan import plan_records
from discreet.release.session import proved as statements_of

START = int(os.environ.get("FUZZ_SEED", "0"))
SMALL = Fraction(1, 10**8)
BUDGET = DeclaredBudget(Fraction(100), Fraction(1, 10**6))
VIEWS = (
    ("adults", "SELECT * FROM visits WHERE age >= 18"),
    ("births", "SELECT v.person, v.ward, p.born, v.cost FROM visits v JOIN people p ON v.person = p.person"),
    ("counted", "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"),
)


@dataclass(frozen=True)
class Draws:
    """Questions of one kind each, at random."""

    random: Random
    catalog: Catalog

    def _pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def _where(self, often: float) -> str:
        draws = Wider(self.random, unit=True)
        return f" WHERE {draws.condition(1)}" if self.random.random() < often else ""

    def _priced(self, question: Any, **price: Any) -> Quote:
        limits = self.random.choice((None, None, Limits(rows_per_unit=1)))
        price = price or {"epsilon": self.random.choice((1, "0.1", 5))}
        checked = check_question(self.catalog, question, limits)
        return price_question(self.catalog, checked, price.pop("epsilon", None), delta=SMALL, **price)

    def batch(self) -> list[Quote]:
        """Several questions about one table, measured together."""
        texts = [self._linear() for _ in range(self.random.randint(2, 3))]
        return [price_question(self.catalog, check_batch(self.catalog, texts, None).whole, 1)]

    def _linear(self) -> str:
        where, kind = self._where(0.6), self.random.random()
        if kind < 0.15:
            return f"SELECT {self._pick('HISTOGRAM(age, 4)', 'CDF(score)')} FROM visits{where}"
        value = self._pick("COUNT(*)", "COUNT(age)", "SUM(score)", "AVG(age)", "VARIANCE(temp)", "SUM(cost)")
        key = self._pick("", "", "ward", "flag", "(age > 40)", "CLAMP(score, 0, 2)")
        return f"SELECT {key and f'{key}, '}{value} FROM visits{where}{key and f' GROUP BY {key}'}"

    def assembly(self) -> list[Quote]:
        """Released tables joined, piled up, compared and limited."""
        one, other, side = self._table(), self._table(), self._pick("", "LEFT ", "FULL ")
        return [
            self._priced(
                self._pick(
                    f"SELECT a.k, a.n, b.n FROM {one} a {side}JOIN {other} b ON a.k = b.k",
                    f"SELECT k, n FROM {one} a UNION ALL SELECT k, n FROM {other} b",
                    f"SELECT * FROM {one} a WHERE n > (SELECT COUNT(*) FROM visits)",
                    f"SELECT SUM(n), COUNT(*) FROM (SELECT k, n FROM {one} ORDER BY n DESC LIMIT 2) t",
                    f"WITH x AS {one}, y AS {other} SELECT x.k, x.n / (SELECT SUM(n) FROM y) FROM x",
                    f"SELECT c.ward, c.n, a.n FROM counted c JOIN {one} a ON c.ward = a.k",
                )
            )
        ]

    def _table(self) -> str:
        key = self._pick("ward", "ward", "city", "LOWER(city)")
        value = self._pick("COUNT(*)", "SUM(age)", "COUNT(DISTINCT person)", "MEDIAN(age)", "VARIANCE(temp)")
        table = self._pick("visits", "adults")
        return f"(SELECT {key} AS k, {value} AS n FROM {table}{self._where(0.4)} GROUP BY {key})"

    def keys(self) -> list[Quote]:
        """Keys that nobody declared, and the first of them."""
        key = self._pick(
            *("city", "any_day", "huge", "LEFT(city, 1)", "city, ward", "LENGTH(city)", "CAST(huge AS TEXT)"),
            *("DATE_TRUNC('month', any_day)", "COALESCE(city, 'x')", "moment", "SUBSTRING(city, 1, 2), flag"),
        )
        value = self._pick("COUNT(*)", "SUM(age)", "COUNT(DISTINCT person)", "MEDIAN(age)", "MODE(ward)")
        tail = self._pick("", " ORDER BY 2 DESC LIMIT 3", " HAVING COUNT(*) > 3")
        table = self._pick("visits", "adults")
        return [self._priced(f"SELECT {key}, {value} FROM {table}{self._where(0.3)} GROUP BY {key}{tail}")]

    def bounds(self) -> list[Quote]:
        """Bounds of a column, and a question about it once any have been found."""
        column = self._pick("huge", "wild")
        found = price_question(self.catalog, bounds.question(self.catalog, "visits", column), 1)
        ends = [Fraction(self.random.randint(-60, 60)) for _ in range(2)]
        known = replace(self, catalog=bounds.found(self.catalog, "visits", column, *ends))
        asked = self._pick("SUM({0})", "MEDIAN({0})", "MAX({0})", "COUNT({0}), SUM({0})")
        return [found, known._priced(f"SELECT {asked.format(column)} FROM visits")]

    def records(self) -> list[Quote]:
        """The two questions of which records are made up."""
        columns = self.random.sample(["ward", "age", "score", "cost", "flag"], self.random.choice((1, 2, 3)))

        def price(checked: Any, epsilon: Any, terms: Any) -> Quote:
            return price_question(self.catalog, checked, epsilon, terms=terms)

        plan = plan_records(self.catalog, "visits", 1, columns, self.random.choice((2, 8)), None, price)
        pairs = self.random.sample(list(plan.pairs), len(columns) - 1)
        return [plan.first] if plan.rest is None else [plan.first, plan.second(pairs, price)]

    def within(self) -> list[Quote]:
        """A price by the error that is asked for."""
        return [self._priced(Wider(self.random, unit=True).question(), within=self._pick("1", "40", "5000"))]

    def shape(self) -> list[Quote]:
        """A relation of relations."""
        return [self._priced(Shapes(self.random, unit=True).question())]


Kind: TypeAlias = Callable[[Draws], list[Quote]]

KINDS = Draws.batch, Draws.assembly, Draws.keys, Draws.bounds, Draws.records, Draws.within


def hospital(random: Random, *, ready: bool = False) -> Catalog:
    """Return declarations with some limits and neighbours."""
    made = clinic(
        rows=random.choice((1, 2, 3, 8)),
        groups=random.choice((None, 1, 2)),
        per_group=None if random.random() < 0.7 else 1,
        neighbours=random.choice(("add-remove", "replace")),
        prepared=ready,
    )
    return replace(made, budget=BUDGET, views=VIEWS)


def judged(priced: Quote, known: Family, seen: Counter[str]) -> None:
    """Compare every two neighbours, and draw what is released of one."""
    for part in priced.parts or (priced,):
        integers = [engine.run(statements_of(part), KEY) for engine in known.engines]
        for one, other in known.pairs(priced.checked.rows.adjacency.value):
            assert violation(part, integers[one], integers[other]) is None, priced.checked
            seen["cases"] += 1
        drawn = draw(part, integers[1])
        assert decode(encode(drawn)) == drawn


def search(seeds: range, rounds: int, kinds: tuple[Kind, ...]) -> Counter[str]:
    """Ask questions of each kind of new datasets for every seed."""
    seen: Counter[str] = Counter()
    for seed in seeds:
        random = Random(f"faces {START} {seed}")
        catalog = hospital(random)
        rest = others() + [visit for name in "45" for visit in extreme(random, name)]
        people = random.sample(list(worst()), 3) + [(extreme(random, "7"), []) for _ in range(2)]
        known = family(tuple(people), rest, catalog)
        for kind in kinds * rounds:
            try:
                asked = kind(Draws(random, catalog))
            except QueryError:
                seen["refused"] += 1
                continue
            seen[kind.__name__] += 1
            for priced in asked:
                judged(priced, known, seen)
        known.close()
    return seen


def test_no_face_lets_a_person_move_an_answer_further_than_is_charged() -> None:
    seen = search(range(1), 1, (Draws.assembly, Draws.keys, Draws.bounds))
    assert seen["cases"] >= 10, seen


@pytest.mark.fuzz
@pytest.mark.timeout(0)
@pytest.mark.parametrize("part", range(6))
def test_no_face_lets_a_person_move_an_answer_further_in_six_thousand_cases(part: int) -> None:
    seen = search(range(100 * (part + 1), 100 * (part + 1) + 12), 4, KINDS)
    assert seen["cases"] >= 1_000, seen
    assert all(seen[kind.__name__] >= 10 for kind in KINDS), seen


class _Fixed:
    """The key with which a preparation chooses rows, the same for all datasets."""

    def bits(self, count: int) -> int:
        return 12_345


@contextmanager
def prepared(catalog: Catalog, people: Sequence[Any], folder: Path) -> Iterator[Family]:
    """Open datasets whose visits were prepared in files."""
    engines = []
    rest, born = others(), [{"person": "1", "version": 0, "born": 1980}]
    wards = pyarrow.table({"ward": ["A", "B", "B"], "floor": [1, 2, 3], "head": ["x", "y", "z"]})
    for number, (visits, held) in enumerate((((), ()), *people)):
        place = folder / str(number)
        place.mkdir(parents=True)
        rows = {"visits": ([*rest, *visits], SCHEMA), "people": ([*born, *held], PEOPLE)}
        made = {
            name: pyarrow.Table.from_pylist(found, schema=schema) for name, (found, schema) in rows.items()
        }
        for name, table in {**made, "wards": wards}.items():
            pyarrow.parquet.write_table(table, place / f"{name}.parquet")
        tables = tuple(replace(table, source=f"{table.name}.parquet") for table in catalog.tables)
        found = sources.origins(replace(catalog, tables=tables, folder=place), {})
        engines.append(open_tables(found, folder=place, threads=1))
    known = Family(tuple(engines))
    yield known
    known.close()


def of_prepared(seeds: range, questions: int, folder: Path) -> Counter[str]:
    """Ask about tables that were prepared in files, one after the other."""
    seen: Counter[str] = Counter()
    for seed in seeds:
        random = Random(f"prepared {START} {seed}")
        catalog = hospital(random, ready=True)
        people = [*random.sample(list(worst()), 2), (extreme(random, "7"), [])]
        with prepared(catalog, people, folder / str(seed)) as known:
            for kind in (Draws.shape, Draws.keys, Draws.assembly) * questions:
                try:
                    asked = kind(Draws(random, catalog))
                except QueryError:
                    seen["refused"] += 1
                    continue
                for priced in asked:
                    judged(priced, known, seen)
    return seen


def test_prepared_files_keep_what_a_person_adds_within_the_claim(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "source", _Fixed)
    seen = of_prepared(range(1), 1, tmp_path)
    assert seen["cases"] >= 5, seen


def test_a_file_that_was_prepared_for_a_larger_limit_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "source", _Fixed)
    wide, narrow = (replace(clinic(rows=rows, prepared=True), budget=BUDGET) for rows in (3, 1))
    priced = price_question(narrow, check_question(narrow, "SELECT COUNT(*) FROM visits", None), 1)
    with prepared(wide, worst()[:1], tmp_path) as known, pytest.raises(AssertionError):
        judged(priced, known, Counter())


@pytest.mark.fuzz
@pytest.mark.timeout(0)
def test_prepared_files_keep_what_a_person_adds_within_the_claim_in_many_cases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "source", _Fixed)
    seen = of_prepared(range(100, 140), 5, tmp_path)
    assert seen["cases"] >= 1_500, seen


@pytest.mark.parametrize("every", [21, pytest.param(1, marks=pytest.mark.fuzz)])
def test_datasets_that_are_nearly_empty_are_answered_like_any_other(every: int) -> None:
    """A failure after the payment would tell that nobody is there, or that somebody is."""
    some = [(list(visits)[:1], list(born)[:1]) for visits, born in worst()]
    asked = [one for one in QUESTIONS if "vote" not in one.clinic][START % every :: every]
    datasets = [open_world(list(visits), list(born), clinic()) for visits, born in (([], []), *some)]
    for one in asked:
        catalog = declared(one.clinic)
        priced = proved(quote(one.checked(catalog), epsilon=1, delta=SMALL), catalog)
        for engine in datasets:
            for part in priced.parts or (priced,):
                drawn = draw(part, engine.run(statements_of(part), KEY))
                assert decode(encode(drawn)) == drawn
    for engine in datasets:
        engine.close()
