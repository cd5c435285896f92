"""Weights and choices, against what each person's rows say when counted one by one."""

from collections import Counter, defaultdict
from fractions import Fraction
from math import comb, log, sqrt
from random import Random
from typing import Any

import pytest
from tests.query.worlds import requests

from discreet.engines.duckdb.engine import open_tables
from discreet.engines.exact import EngineRequest, Exact
from discreet.engines.protocol import Origin
from discreet.query.catalog.manifest import Catalog, declare
from discreet.query.check.measurement import WEIGHT, Checked
from discreet.query.check.question import check
from discreet.query.language.sql import read

Row = tuple[Any, Any, int]
QUESTION = "SELECT k, COUNT(*), SUM(x) FROM v GROUP BY k"


def table(values: list[str] | None, **limits: int) -> Catalog:
    key: dict[str, object] = {"type": "text"} if values is None else {"type": "text", "values": values}
    columns = {"k": key, "x": {"type": "integer", "low": 0, "high": 9, "nullable": False}}
    return declare({"tables": {"v": {"unit": "u", "columns": columns, **limits}}})


def answer(
    rows: list[Row], catalog: Catalog, question: str = QUESTION, choice: int = 1
) -> tuple[Checked, Exact]:
    import pyarrow

    held = pyarrow.table({name: [row[place] for row in rows] for place, name in enumerate(("u", "k", "x"))})
    checked = check(read(question), catalog)
    with open_tables({"v": Origin(held, catalog.tables[0].offered)}, threads=2) as engine:
        return checked, engine._exact(requests(checked), choice)


def crowd(random: Random, groups: int) -> list[Row]:
    """Return people of all sorts: thin, wide, crowded in one group, and without a name or a group."""
    rows: list[Row] = []
    for person in range(60):
        favourite = random.randrange(groups)
        for _ in range(random.choice((1, 2, 3, 7, 12, 30))):
            group = favourite if random.random() < 0.4 else random.randrange(groups + 2)
            name = None if random.random() < 0.03 else f"g{group:03d}"
            rows.append((None if random.random() < 0.03 else person, name, random.randrange(10)))
    random.shuffle(rows)
    return rows


def by_hand(rows: list[Row], declared: set[str] | None, cell: int, total: int) -> dict[str, tuple[int, int]]:
    """Return the weighted count and sum of each group by the definition of the weights."""
    kept = [
        r for r in rows if r[0] is not None and r[1] is not None and (declared is None or r[1] in declared)
    ]
    cells = Counter((person, group) for person, group, _ in kept)
    divisor: dict[Any, int] = defaultdict(int)
    for (person, _), count in cells.items():
        divisor[person] += min(count, cell)
    found: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for person, group, value in kept:
        count = cells[person, group]
        weight = Fraction(WEIGHT * total * min(count, cell), max(total, divisor[person]) * count)
        ones, sums = found[group]
        found[group] = ones + int(weight), sums + int(weight) * value
    return dict(found)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.fuzz) for seed in (1, 2))])
@pytest.mark.parametrize("groups", [3, 60, 61])
@pytest.mark.parametrize(
    ("rows_per_unit", "groups_per_unit", "rows_per_group"),
    [(8, 4, 2), (5, 1, 3), (2, 2, 1), (1000, 3, 1), (7, 60, 2)],
)
def test_rows_of_crowded_cells_count_less_and_everyone_is_within_the_total(
    seed: int, groups: int, rows_per_unit: int, groups_per_unit: int, rows_per_group: int
) -> None:
    names = [f"g{group:03d}" for group in range(groups)]
    rows = crowd(Random(seed), groups)
    limits = {
        "rows_per_unit": rows_per_unit,
        "groups_per_unit": groups_per_unit,
        "rows_per_group": rows_per_group,
    }
    for declared in (names, None):
        checked, integers = answer(rows, table(declared, **limits))
        total = min(rows_per_unit, min(groups_per_unit, len(declared or range(10**9))) * rows_per_group)
        if rows_per_group >= total:  # the limit in all is the one that binds, whatever the groups
            assert '"crowded"' not in requests(checked)[0].sql
            continue
        expected = by_hand(rows, None if declared is None else set(declared), rows_per_group, total)
        for position, output in enumerate(("m0", "m1")):
            found = {key[0]: value for key, value in integers._totals[output].items() if value}
            assert found == {group: pair[position] for group, pair in expected.items() if pair[position]}


def picks(rows: list[Row], sql: Any = None) -> Counter[frozenset[str]]:
    """Return how often each pair of groups is kept, over people who are all in the same groups."""
    import pyarrow

    catalog = table(None, rows_per_unit=20, groups_per_unit=2)
    (request,) = requests(check(read("SELECT k, COUNT(DISTINCT u) FROM v GROUP BY k"), catalog))
    text = request.sql if sql is None else sql(request.sql)
    inner = text.split('\nGROUP BY "j"."k0"')[0].partition("\n")[2]
    asked = f'SELECT "j"."u", string_agg("j"."k0", \' \' ORDER BY "j"."k0"), count(*)\n{inner} GROUP BY 1'
    held = pyarrow.table({name: [row[place] for row in rows] for place, name in enumerate(("u", "k", "x"))})
    with open_tables({"v": Origin(held, catalog.tables[0].offered)}, threads=1) as engine:
        answers = engine._tables([EngineRequest(asked, 1, ("a", "b"))], 77)[0]
    assert all(row[2] == 2 for row in answers)
    return Counter(frozenset(str(row[1]).split()) for row in answers)


def distance(seen: Counter[frozenset[str]], pairs: int, people: int) -> Fraction:
    """Return the largest difference between the share of a pair and its fair share."""
    fair = Fraction(1, pairs)
    shares = [Fraction(count, people) for count in seen.values()] + [Fraction(0)] * (pairs - len(seen))
    return max(abs(share - fair) for share in shares)


def test_every_choice_of_groups_is_as_likely_as_any_other() -> None:
    people, names = 20_000, ("ada", "bern", "chur", "davos", "egg")
    rows: list[Row] = [(person, name, 1) for person in range(people) for name in names for _ in range(2)]
    pairs = comb(len(names), 2)
    # Hoeffding with a union over the pairs: a fair choice strays further with probability below 1e-8.
    allowed = Fraction(sqrt(log(2 * pairs / 1e-8) / (2 * people)))
    assert distance(picks(rows), pairs, people) <= allowed

    def once(sql: str) -> str:
        broken = sql.replace(
            'hash(hash(CAST($choice AS UBIGINT), "c"."u", "c"."k0"))', "hash($choice, u, k0)"
        )
        assert broken != sql
        return broken

    assert distance(picks(rows, once), pairs, people) > allowed


@pytest.mark.parametrize("groups", [3, 61])
def test_everybody_who_is_declared_to_have_one_row_counts_once_and_whole(groups: int) -> None:
    rows = crowd(Random(groups), groups)
    names = [f"g{group:03d}" for group in range(groups)]
    question = "SELECT k, COUNT(*), COUNT(*) FILTER (WHERE x > 4) FROM v GROUP BY k"
    catalog = table(names, rows_per_unit=1)
    there = {person for person, group, _ in rows if person is not None and group in names}
    seen: dict[int, Any] = {}
    for choice in (1, 2):
        checked, found = answer(rows, catalog, question, choice)
        assert [m.scale for m in checked.measurements] == [1, 1]  # type: ignore[union-attr]
        counts, kept = (found.integers(f"m{place}", [(name,) for name in names]) for place in (0, 1))
        assert sum(counts) == len(there)
        assert all(0 <= some <= every for some, every in zip(kept, counts, strict=True))
        # With one person fewer exactly one row is missing, whoever it is.
        gone = min(there)
        _, without = answer([row for row in rows if row[0] != gone], catalog, question, choice)
        fewer = without.integers("m0", [(name,) for name in names])
        assert sum(abs(a - b) for a, b in zip(counts, fewer, strict=True)) == 1
        seen[choice] = counts
    assert seen[1] != seen[2]
