"""What the planner takes for a fact about a value is one, whatever the cells hold."""

from collections import Counter
from dataclasses import replace
from datetime import date
from fractions import Fraction
from random import Random
from typing import Any

import pytest
from tests.attacks.neighbours import Neighbours
from tests.attacks.test_sql_contributions import OTHERS, visit
from tests.query.questions import Questions, clinic
from tests.query.test_error_freeness import adversarial
from tests.query.worlds import open_world

from discreet.engines.duckdb.engine import DuckDB
from discreet.engines.duckdb.render import scalar_text
from discreet.errors import ProofError, QueryError
from discreet.privacy.sensitivity import Sensitivity
from discreet.query.catalog.kind import Day, Kind, Real, Text, Truth, Typed, Whole
from discreet.query.check.lineage import trace
from discreet.query.check.question import check
from discreet.query.check.scope import Lineage, names, resolve
from discreet.query.language.sql import fragment, read
from discreet.query.plan import Call, Scan, walk
from discreet.query.price.proving import proof_of
from discreet.query.price.quote import quote


@pytest.fixture(scope="module")
def people() -> Neighbours:
    return Neighbours(OTHERS, MANY)


@pytest.fixture(scope="module")
def engine() -> DuckDB:
    return open_world(adversarial(Random(5)), [], clinic())


def scope() -> Lineage:
    return trace(Scan("visits", "visits"), clinic(), names())


def fits(value: Any, kind: Kind) -> bool:
    """Whether a value is one of those that the kind speaks of."""
    match kind:
        case _ if value is None:
            return True
        case Whole(low, high):
            return type(value) is int and (low is None or value >= low) and (high is None or value <= high)
        case Real(low, high):
            if low is None or high is None or value != value:
                return True
            slack = Fraction(1, 2**40) * max(abs(low), abs(high), 1)
            return bool(low - slack <= value <= high + slack)
        case Text(values):
            return values is None or value in values
        case Truth():
            return isinstance(value, bool)
        case Day(low, high):
            inside = (
                isinstance(value, date) and (low is None or low <= value) and (high is None or value <= high)
            )
            return (low is None or inside) and (value is None or kind.has(value))
        case _:
            return True


def wrong(engine: DuckDB, typed: list[Typed]) -> list[tuple[Kind, Any]]:
    """Return the values that expressions have although their kinds deny it."""
    lists = ", ".join(f"list(DISTINCT {scalar_text(part.scalar)})" for part in typed)
    (found,) = engine.connection.execute(f"SELECT {lists} FROM visits AS t0").fetchall()
    pairs = zip(typed, found, strict=True)
    return [
        (part.kind, value) for part, values in pairs for value in values or () if not fits(value, part.kind)
    ]


def search(engine: DuckDB, random: Random, tries: int) -> Counter[str]:
    """Check so many random expressions that are held, and return how often each function occurs in them."""
    where, used, draw = scope(), Counter[str](), Questions(random)
    waiting: list[Typed] = []
    while tries:
        part = random.choice((draw.number, draw.text, draw.day, draw.condition, lambda depth: draw.key()))
        try:
            typed = resolve(fragment(part(2)), where, "SELECT")
        except QueryError:
            continue
        if typed.held:
            tries -= 1
            waiting.append(typed)
            used.update(part.function for part in walk(typed.scalar) if isinstance(part, Call))
        if len(waiting) == 25:
            assert not wrong(engine, waiting)
            waiting = []
    return used


def test_whatever_is_held_is_true_of_every_cell(engine: DuckDB) -> None:
    assert len(search(engine, Random(12), 500)) >= 40


@pytest.mark.fuzz
def test_whatever_is_held_is_true_of_every_cell_in_a_long_search(engine: DuckDB) -> None:
    for seed in range(40):
        search(engine, Random(f"held {seed}"), 500)


def test_the_detector_sees_a_declaration_taken_for_a_fact(engine: DuckDB) -> None:
    for text in ("ward", "LOWER(ward)", "age", "CAST(ward AS TEXT)", "DATE_TRUNC('month', day)"):
        typed = resolve(fragment(text), scope(), "SELECT")
        assert not typed.held
        assert wrong(engine, [typed])


DECLARED_ONLY = [
    "LOWER(ward)",
    "UPPER(ward)",
    "TRIM(ward)",
    "CAST(ward AS TEXT)",
    "COALESCE(ward, 'A')",
    "NULLIF(ward, 'A')",
    "CASE WHEN age > 3 THEN ward ELSE 'A' END",
    "LOWER(UPPER(TRIM(ward)))",
    "LOWER(CASE WHEN age < 40 THEN 'A' ELSE 'a' END)",
    "REPLACE(CASE WHEN age < 40 THEN 'A' ELSE 'a' END, 'a', 'A')",
    "DATE_TRUNC('month', day)",
    "CAST(day AS DATE)",
    "EXTRACT(year FROM day)",
    "EXTRACT(year FROM CAST(city AS DATE))",
    "score",
    "COALESCE(score, 0)",
    "CAST(score AS INTEGER)",
]
MANY = [
    visit("eve", ward=f"w{n}", score=n, day=date(2000 + n, 1 + n % 12, 1), city=f"{20000 + n}-01-01")
    for n in range(60)
]


@pytest.mark.parametrize("key", DECLARED_ONLY)
@pytest.mark.parametrize(
    "manner", ["DISTINCT person, {} AS k FROM visits", "person, {0} AS k FROM visits GROUP BY person, {0}"]
)
def test_declared_values_bound_nobodys_rows(key: str, manner: str, people: Neighbours) -> None:
    question = f"SELECT COUNT(*) FROM (SELECT {manner.format(key)}) AS t"
    assert people.honest(question, rows=3)
    with pytest.raises(QueryError, match="declare rows_per_unit"):
        people.honest(question, rows=None, groups=None)


@pytest.mark.parametrize(
    ("key", "bound"),
    [
        ("age > 40", 3),
        ("CLAMP(score, 0, 2)", 4),
        ("CASE WHEN age < 40 THEN 'young' ELSE 'old' END", 3),
        ("SIGN(score)", 4),
        ("huge % 3", 6),
        ("ROUND(score)", 14),
    ],
)
def test_what_the_statement_itself_enforces_bounds_a_person(key: str, bound: int, people: Neighbours) -> None:
    from tests.query.test_check import l1

    question = f"SELECT COUNT(*) FROM (SELECT DISTINCT person, {key} AS k FROM visits) AS t"
    assert l1(question, rows=None, groups=None) == [bound]
    assert people.honest(question, rows=None, groups=None)


CHOICES = (
    "CASE WHEN flag THEN 'a' WHEN age > 4 THEN 'b' END",
    "CASE WHEN flag THEN 5 WHEN age > 4 THEN 7 END",
    "CASE WHEN flag THEN NULL ELSE 5 END",
    "CASE WHEN flag THEN 1.5 WHEN age > 4 THEN 2.5 END",
    "CASE WHEN flag THEN DATE '2024-01-01' WHEN age > 4 THEN DATE '2024-03-01' END",
    "CASE ward WHEN 'A' THEN 1 WHEN 'B' THEN 2 END",
    "CAST(CASE WHEN flag THEN 'a' ELSE 'b' END AS TEXT)",
    "CAST(CASE WHEN flag THEN DATE '2024-01-01' ELSE DATE '2024-03-01' END AS DATE)",
    "COALESCE(NULL, 5)",
    "COALESCE(CASE WHEN flag THEN 'a' WHEN age > 4 THEN 'b' END, 'z')",
    "UPPER(CASE WHEN flag THEN 'a' ELSE 'b' END)",
    "IF(flag, 1, NULL)",
    "MONTHNAME(day)",
    "DAYNAME(any_day)",
    "CASE WHEN flag THEN MONTHNAME(day) ELSE 'none' END",
)


@pytest.mark.parametrize("key", CHOICES)
@pytest.mark.parametrize("rows", [3, 200])
def test_choices_of_constants_bound_a_person_in_the_proof_too(
    key: str, rows: int, people: Neighbours
) -> None:
    for question in (
        f"SELECT COUNT(*) FROM (SELECT DISTINCT person, {key} AS k FROM visits) AS t",
        f"SELECT UPPER(c), COUNT(*) FROM (SELECT person, MAX(city) AS c FROM visits GROUP BY person, {key}) "
        "GROUP BY 1",
    ):
        catalog = clinic(rows=rows, groups=None)
        priced = quote(check(read(question), catalog), epsilon=1, delta=Fraction(1, 10**9))
        assert proof_of(priced, catalog)
        assert people.honest(question, rows=rows, groups=None)


def test_a_choice_of_very_many_rows_is_proved_and_no_smaller_claim_about_it() -> None:
    catalog = clinic(rows=300_000, groups=None)
    priced = quote(check(read("SELECT COUNT(DISTINCT city) FROM visits"), catalog), epsilon=1)
    assert proof_of(priced, catalog)
    (share,) = priced.shares
    less = replace(share, measured=replace(share.measured, sensitivity=Sensitivity.of(299_999)))
    with pytest.raises(ProofError, match="300000 > 299999"):
        proof_of(replace(priced, shares=(less,)), catalog)


def test_nothing_is_held_by_default() -> None:
    """A rule that is added without a thought about this must not be believed."""
    assert Typed(fragment("1"), Whole(1, 1)).held is False
