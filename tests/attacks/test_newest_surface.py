"""Clocks, named groups, lists of constants, picks, implied bounds: nobody moves them further than paid."""

import os
from collections import Counter
from random import Random

import pyarrow
import pytest
from tests.attacks.newest import Newest, declared, hostile, people
from tests.engines.world import ENGINES, open_reference, run_reference
from tests.query.gate.people import family, others
from tests.query.gate.test_oracle import SMALL, asked, limited
from tests.query.gate.walk import Asked
from tests.query.worlds import PEOPLE, SCHEMA

from discreet.errors import QueryError
from discreet.query.catalog.manifest import Catalog
from discreet.query.price.proving import proof_of
from discreet.query.price.quote import quote
from discreet.query.rewrite.statements import statements

START = int(os.environ.get("FUZZ_SEED", "0"))


def moved(seeds: range, questions: int, count: int) -> Counter[str]:
    """Ask questions of datasets that differ by one person each; nothing fails, and nothing moves too far."""
    seen: Counter[str] = Counter()
    for seed in seeds:
        random = Random(START + seed)
        unit = seed % 4 != 3
        catalog = declared(random, unit=unit)
        bad = people(random, count)
        known = family(
            bad if unit else [([dict(row)], []) for rows, _ in bad for row in rows[:2]],
            [*others(), *hostile(random, "9", 6), *hostile(random, None, 2)],
            catalog,
        )
        for _ in range(questions):
            text = Newest(random, unit=unit).question()
            asked(random, limited(random, catalog) if unit else catalog, (text,), known, seen)
        known.close()
    return seen


def agreed(seeds: range, questions: int) -> Counter[str]:
    """Ask every engine about hostile rows, and compare its integers with the reference."""
    seen: Counter[str] = Counter()
    for seed in seeds:
        random = Random(START + seed)
        catalog = declared(random)
        visits = [row for person in ("6", "7", "8", "9", None) for row in hostile(random, person, 6)]
        born = [{"person": person, "version": 0, "born": 1_980} for person in "679"]
        frames = {
            "visits": pyarrow.Table.from_pylist([*others(), *visits], schema=SCHEMA),
            "people": pyarrow.Table.from_pylist(born, schema=PEOPLE),
        }
        columns = {table.name: table.offered for table in catalog.tables if table.name in frames}
        judge = open_reference(frames, columns)
        engines = {name: (make(frames, columns), run) for name, (make, run) in ENGINES.items()}
        for _ in range(questions):
            text = Newest(random).question()
            for statement in _statements(text, limited(random, catalog)):
                meant = run_reference(judge, statement, 7)
                for name, (engine, run) in engines.items():
                    found = run(engine, statement, 7)
                    assert (found._totals, found._cells) == (meant._totals, meant._cells), (name, text)
                    seen[name] += 1
        for engine, _ in engines.values():
            engine.close()
    return seen


def _statements(text: str, catalog: Catalog) -> list[list[object]]:
    """Return what is run for a proved question, nothing for one that is refused."""
    try:
        priced = quote(Asked("", (text,)).checked(catalog), epsilon=1, delta=SMALL)
    except QueryError:
        return []
    proof_of(priced, catalog)
    return [statements(part.checked) for part in priced.parts or (priced,)]


def test_no_person_moves_the_newest_questions_further_than_is_charged() -> None:
    seen = moved(range(2), 6, 2)
    assert seen["cases"] >= 15, seen


def test_engines_agree_about_the_newest_questions() -> None:
    seen = agreed(range(1), 8)
    assert all(seen[name] >= 4 for name in ENGINES), seen


@pytest.mark.fuzz
@pytest.mark.timeout(0)
@pytest.mark.parametrize("part", range(4))
def test_no_person_moves_the_newest_questions_further_in_ten_thousand_cases(part: int) -> None:
    seen = moved(range(1_000 * (part + 1), 1_000 * (part + 1) + 8), 45, 6)
    assert seen["cases"] >= 2_500, seen


@pytest.mark.fuzz
@pytest.mark.timeout(0)
@pytest.mark.parametrize("part", range(2))
def test_engines_agree_about_a_thousand_of_the_newest_questions(part: int) -> None:
    seen = agreed(range(1_000 * (part + 1), 1_000 * (part + 1) + 15), 45)
    assert all(seen[name] >= 450 for name in ENGINES), seen
