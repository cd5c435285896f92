"""Random questions of the whole language against worst-case people, by an oracle that knows only the noise.

`tests.query.test_sensitivity` asks one question of two hundred datasets at once, which needs groups that are
declared.  Here every dataset is opened by itself, so that keys may be found in the data, groups may overlap,
tables may be prepared, questions may come in batches and bounds may be looked for.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest
from tests.query.gate.oracle import violation
from tests.query.gate.people import Family, Person, family, others, single, worst
from tests.query.gate.shapes import Shapes
from tests.query.gate.walk import Asked
from tests.query.questions import Wider, hospital
from tests.query.worlds import extreme, row

from discreet.errors import QueryError
from discreet.mechanisms.key_count import KeyCount
from discreet.mechanisms.key_gaussian import KeyGaussian
from discreet.mechanisms.key_weight import KeyWeight
from discreet.privacy.adjacency import Adjacency
from discreet.query.catalog.manifest import Catalog
from discreet.query.check.measurement import Classes, Declared, Private, RunningGroups, Sets
from discreet.query.price.proving import preparation, proof_of
from discreet.query.price.quote import quote
from discreet.query.price.sparse import Sparse
from discreet.query.rewrite.statements import statements

SMALL = Fraction(1, 10**9)
NUMBERS = ("age", "score", "huge", "cost", "temp", "wild")


def people(random: Random, count: int, *, unit: bool) -> Iterator[Person]:
    """Yield people who try to move answers far: drawn at random, and each in turn one that is known to."""
    known = worst() if unit else single()
    for number in range(count):
        if number % 2:
            yield random.choice(known)
        elif unit:
            born = [{"person": "7", "version": 0, "born": random.choice((1, 1980, 9999))}]
            yield extreme(random, "7"), born * random.randint(0, 3)
        else:
            yield [row(random, "7")], []


def limited(random: Random, catalog: Catalog) -> Catalog:
    """Return the declarations with other limits and neighbours; what a preparation keeps stays as it is."""
    neighbours = random.choice(list(Adjacency))
    tables = []
    for table in catalog.tables:
        changed = replace(table, adjacency=neighbours)
        if table.name == "visits" and table.unit is not None:
            rows = table.rows_per_unit if table.prepared else random.choice((1, 2, 3, 8))
            changed = replace(
                changed,
                rows_per_unit=rows,
                groups_per_unit=random.choice((None, 1, 2, 5)),
                rows_per_group=random.choice((None, None, 1, 2)),
            )
        tables.append(table if table.public else changed)
    return replace(catalog, tables=tuple(tables))


def texts(random: Random, *, unit: bool) -> tuple[str, ...]:
    """Return a question, several that make a batch, or the one that finds bounds."""
    draws, kind = Wider(random, unit=unit), random.random()
    if kind < 0.08:
        return (f"bounds of {random.choice(NUMBERS)}",)
    if kind < 0.12 and unit:
        return (draws.viewed(),)
    if kind < 0.84:
        text = draws.question()
        return (text if kind < 0.8 else f"SELECT * FROM ({text}) AS a, ({_count(random, draws)}) AS b",)
    if kind < 0.94:
        where = f" WHERE {draws.condition(2)}" if random.random() < 0.4 else ""
        return (random.choice((draws._spread, draws._sets))(where),)
    return tuple(_count(random, draws) for _ in range(2))


def _count(random: Random, draws: Wider) -> str:
    where = f" WHERE {draws.condition(1)}" if random.random() < 0.7 else ""
    key = random.choice(("", "", "ward", "flag", "score"))
    count = random.choice(("COUNT(*)", "COUNT(*)", "COUNT(age)"))
    return f"SELECT {key and f'{key}, '}{count} FROM visits{where}{key and f' GROUP BY {key}'}"


def opened(random: Random, count: int, *, prepared: bool | None = None) -> tuple[Catalog, bool, Family]:
    """Return declarations, whether people are told apart, and datasets that differ by one person each."""
    catalog, unit = hospital(random)
    while prepared is not None and (not unit or _prepared(catalog) != prepared):
        catalog, unit = hospital(random)
    rest = others() if unit else [row(random, name) for name in "123"]
    if unit:
        rest += [visit for name in "456" for visit in extreme(random, name)]
    return catalog, unit, family(tuple(people(random, count, unit=unit)), rest, catalog)


def _prepared(catalog: Catalog) -> bool:
    return any(table.prepared for table in catalog.tables)


def asked(
    random: Random, catalog: Catalog, question: tuple[str, ...], known: Family, seen: Counter[str]
) -> None:
    """Ask one question of all datasets, and compare every two neighbours."""
    bell = random.random() < (0.7 if any("city" in text for text in question) else 0.3)
    try:
        checked = Asked("", question).checked(catalog)
        priced = quote(checked, epsilon=1, conversion=SMALL if bell else None, delta=SMALL)
    except QueryError:
        seen["refused"] += 1
        return
    proof_of(priced, catalog)
    for table in catalog.tables:
        if table.prepared:
            preparation(table)
    swapped = checked.rows.adjacency is Adjacency.REPLACE
    for part in priced.parts or (priced,):
        integers = known.integers(statements(part.checked), replaced=swapped)
        for one, other in known.pairs("replace" if swapped else "add-remove"):
            wrong = violation(part, integers[one], integers[other])
            assert wrong is None, (question, catalog.table("visits"), wrong)
            seen["cases"] += 1
    seen["questions"] += 1
    seen["several"] += len(priced.parts) > 1
    for kind in (Declared, Private, Sets, RunningGroups, Classes):
        seen[kind.__name__] += isinstance(checked.keys, kind)
    seen["bounds"] += question[0].startswith("bounds of")
    seen["prepared"] += _prepared(catalog)
    seen["weights"] += any(isinstance(share.mechanism, KeyWeight) for share in priced.shares)
    seen["curves"] += any(isinstance(share.mechanism, KeyCount) for share in priced.shares)
    seen["bells"] += any(isinstance(share.mechanism, KeyGaussian) for share in priced.shares)
    seen["blocks"] += any(isinstance(share.mechanism, Sparse) for share in priced.shares)


def search(seeds: range, questions: int, count: int) -> Counter[str]:
    """Ask questions of new datasets for every seed."""
    seen: Counter[str] = Counter()
    for seed in seeds:
        random = Random(seed)
        catalog, unit, known = opened(random, count, prepared=(False, True, None)[seed % 3])
        for _ in range(questions):
            asked(random, limited(random, catalog), texts(random, unit=unit), known, seen)
        known.close()
    return seen


def shaped(seeds: range, questions: int, count: int) -> Counter[str]:
    """Ask questions about relations of relations; few rows each, because joins multiply them."""
    seen: Counter[str] = Counter()
    for seed in seeds:
        random = Random(seed)
        catalog, unit = hospital(random)
        rest = [visit for visit in others() if visit["person"] != "3"]
        few = [
            (random.sample(list(visits), min(len(visits), 3)), born)
            for visits, born in people(random, count, unit=unit)
        ]
        known = family(tuple(few), rest, catalog)
        for _ in range(questions):
            asked(random, limited(random, catalog), (Shapes(random, unit=unit).question(),), known, seen)
        known.close()
    return seen


def test_relations_of_relations_cost_no_more_than_is_charged() -> None:
    seen = shaped(range(2), 10, 6)
    assert seen["cases"] >= 100, seen


def test_histograms_that_may_be_measured_in_blocks_cost_no_more_than_is_charged() -> None:
    random, seen = Random(7), Counter[str]()
    catalog, unit, known = opened(random, 3, prepared=False)
    for _ in range(2):
        asked(random, limited(random, catalog), ("SELECT HISTOGRAM(cost, 1024) FROM visits",), known, seen)
    known.close()
    assert unit
    assert seen["blocks"] >= 1, seen
    assert seen["cases"] >= 6, seen


WEIGHTED = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (group_selection_strategy = WEIGHTED_THRESHOLD) "
FOUND = (
    "city FROM visits GROUP BY city",
    "city, COUNT(*) FROM visits WHERE {} GROUP BY city",
    "city, ward, COUNT(DISTINCT person) FROM visits GROUP BY city, ward",
    "LOWER(city), AVG(age) FROM visits WHERE {} GROUP BY 1",
    "score, city, MEDIAN(age) FROM visits GROUP BY score, city",
)


def keys_found(seeds: range, questions: int, count: int, select: str = WEIGHTED) -> Counter[str]:
    """Ask for keys that are found by weights, or by counts."""
    seen: Counter[str] = Counter()
    for seed in seeds:
        random = Random(seed)
        catalog, unit, known = opened(random, count, prepared=bool(seed % 2))
        for _ in range(questions):
            draws = Wider(random, unit=unit)
            text = select + random.choice(FOUND).format(draws.condition(1))
            asked(random, in_several(random, limited(random, catalog)), (text,), known, seen)
        known.close()
    return seen


def in_several(random: Random, catalog: Catalog) -> Catalog:
    """Return the declarations with people in several groups, unless a preparation keeps one row of each."""
    visits = catalog.table("visits")
    assert visits is not None
    rows = visits.rows_per_unit if visits.prepared else 8
    several = replace(visits, rows_per_unit=rows, groups_per_unit=random.choice((None, 2, 3, 5)))
    return replace(catalog, tables=tuple(several if table is visits else table for table in catalog.tables))


def test_keys_found_by_counts_cost_no_more_than_is_charged() -> None:
    seen = keys_found(range(2), 8, 7, "SELECT ")
    assert seen["cases"] >= 100, seen
    assert min(seen["curves"], seen["bells"]) >= 3, seen


def test_keys_found_by_weights_cost_no_more_than_is_charged() -> None:
    seen = keys_found(range(2), 8, 7)
    assert seen["cases"] >= 100, seen
    assert seen["weights"] >= 5, seen


@pytest.mark.fuzz
@pytest.mark.timeout(0)
def test_keys_found_by_weights_cost_no_more_in_ten_thousand_cases() -> None:
    seen = keys_found(range(500, 530), 20, 10)
    assert seen["cases"] >= 10_000, seen


def test_no_person_costs_more_than_is_charged() -> None:
    seen = search(range(3), 14, 7)
    assert seen["cases"] >= 500, seen
    for kind in ("Private", "Sets", "RunningGroups", "Classes", "bounds", "prepared", "several"):
        assert seen[kind] >= 1, seen


@pytest.mark.fuzz
@pytest.mark.timeout(0)
@pytest.mark.parametrize("part", range(8))
def test_no_person_costs_more_than_is_charged_in_a_hundred_thousand_cases(part: int) -> None:
    seen = search(range(1_000 * (part + 1), 1_000 * (part + 1) + 21), 30, 10)
    assert seen["cases"] >= 12_500, seen


@pytest.mark.fuzz
@pytest.mark.timeout(0)
@pytest.mark.parametrize("part", range(4))
def test_relations_of_relations_cost_no_more_in_ten_thousand_cases(part: int) -> None:
    seen = shaped(range(100 * (part + 1), 100 * (part + 1) + 10), 25, 8)
    assert seen["cases"] >= 2_500, seen
