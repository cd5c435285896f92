"""One worst-case person against constructs of other dialects: exact integers move as claimed, no more."""

from fractions import Fraction
from random import Random

import pytest
from tests.query.questions import clinic
from tests.query.worlds import Row, extreme, open_world, requests, row

from discreet.query.check.measurement import Checked, Declared, Measurement
from discreet.query.check.question import check
from discreet.query.language.sql import read

CATALOG = clinic()

QUESTIONS = [
    "SELECT COUNT(*) FROM visits, people WHERE visits.person = people.person",
    "SELECT COUNT(*), SUM(floor) FROM wards w, visits v WHERE w.ward = v.ward",
    "SELECT SUM(floor) FROM visits, wards",
    "SELECT ward, COUNT(*) FROM visits NATURAL JOIN wards GROUP BY ward",
    "SELECT COUNT(*), SUM(born) FROM visits RIGHT JOIN people USING (person)",
    "SELECT ward, COUNT(*) FROM visits WHERE ward IN (SELECT ward FROM wards WHERE floor > 1) GROUP BY ward",
    "SELECT COUNT(*) FROM visits WHERE ward NOT IN (SELECT ward FROM wards)",
    "SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM wards w WHERE w.ward = v.ward AND floor < 9)",
    "SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM visits w WHERE w.person = v.person "
    "AND w.ward = v.ward)",
    "SELECT COUNT(*) FROM people WHERE person NOT IN (SELECT person FROM visits WHERE age > 3)",
    "SELECT SUM(age) FROM visits WHERE person IN (SELECT person FROM visits GROUP BY person "
    "HAVING COUNT(*) > 1)",
    "SELECT DISTINCT ward FROM visits",
    "SELECT ward FROM visits GROUP BY ward",
    "SELECT AVG(flag), SUM(age > 40), COUNT_IF(score > 0) FROM visits",
    "SELECT SUM(age // 7), SUM(score // 2) FROM visits",
    "SELECT WIDTH_BUCKET(age, 0, 100, 4) AS b, COUNT(*) FROM visits GROUP BY b",
    "SELECT CORR(age, score) FROM visits",
    "SELECT MONTHNAME(day) AS m, SUM(ISODOW(day)) FROM visits GROUP BY m",
]


def moved(checked: Checked, worlds: tuple[list[Row], list[Row]], seed: int) -> list[Fraction]:
    """Return how far the integers of a question move between two worlds, as shares of what is claimed."""
    assert isinstance(checked.keys, Declared)
    keys = checked.keys.product()
    integers = []
    for visits in worlds:
        people = [
            {"person": name, "version": 0, "born": 1950 + n}
            for name in sorted({str(visit["person"]) for visit in visits if visit["person"]})
            for n in range(1 + 2 * (name == "eve"))
        ]
        with open_world(visits, people, CATALOG) as engine:
            integers.append(engine._exact(requests(checked), seed))
    found = []
    for position, measured in enumerate(checked.measurements):
        assert isinstance(measured, Measurement)
        one, other = (exact.integers(f"m{position}", keys) for exact in integers)
        distance = sum(abs(int(a) - int(b)) for a, b in zip(one, other, strict=True))
        found.append(Fraction(distance, measured.sensitivity.l1))
    return found


def worst(text: str, seeds: range) -> Fraction:
    checked = check(read(text), CATALOG)
    reached = Fraction(0)
    for seed in seeds:
        random = Random(f"{text} {seed}")
        others = [row(random, name) for name in ("ann", "bob", "bob", None)]
        with_eve = [*others, *extreme(random, "eve")]
        reached = max(reached, *moved(checked, (others, with_eve), seed))
    return reached


@pytest.mark.parametrize("text", QUESTIONS)
def test_one_person_moves_no_construct_further_than_claimed(text: str) -> None:
    assert worst(text, range(2)) <= 1


def test_the_attack_reaches_what_is_claimed() -> None:
    """The same attack notices a claim that is half of the right one."""
    assert max(worst(text, range(6)) for text in QUESTIONS[5:6]) > Fraction(1, 2)


@pytest.mark.fuzz
@pytest.mark.parametrize("text", QUESTIONS)
def test_one_person_moves_no_construct_further_in_a_long_search(text: str) -> None:
    assert worst(text, range(100, 200)) <= 1
