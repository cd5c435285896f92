"""Attacks on groups measured together: errors that tell, rows that vanish, questions that never end."""

from dataclasses import replace
from datetime import date
from fractions import Fraction
from random import Random

import numpy as np
import pandas as pd
import pytest
from tests.query.questions import clinic
from tests.query.worlds import open_world, requests, row

from discreet.errors import ProofError, QueryError
from discreet.query.catalog.manifest import declare
from discreet.query.check import conditions
from discreet.query.check.batch import combine
from discreet.query.check.question import check
from discreet.query.language.sql import read
from discreet.query.plan import Among
from discreet.query.price.proving import declarations, proof_of
from discreet.query.price.quote import quote
from discreet.query.proof import Claim, Reached, prove
from discreet.query.rewrite.statements import statements
from discreet.release.noisy import draw
from discreet.release.opening import open as open_session
from discreet.workload.strategy import identity, integers, measure_exactly

# Values beyond the declared ones are what real tables hold, and what a hostile one holds on purpose.
ODD = pd.DataFrame(
    {
        "person": range(12),
        "ward": ["A", "B", "Z", "", None, "A\u00e9", "a", "B", "Z", "A", "AA", "B"],
        "age": pd.array([0, 99, 100, -5, None, 50, 2**40, 99, -(2**40), 51, 49, 50], dtype="Int64"),
        "cost": [33.3, 0.0, -1.0, 1e300, None, float("inf"), float("nan"), 10.5, 200.0, 33.3, 12.25, -0.0],
        "flag": pd.array([True, False, None] * 4, dtype="boolean"),
        "day": [date(2024, 1, 1), date(2023, 12, 31), None, date(2030, 5, 5)] * 3,
    }
)
DECLARED = {
    "ward": {"values": ["A", "B"]},
    "age": {"type": "integer", "low": 0, "high": 99},
    "cost": {"low": 0, "high": 200, "step": "0.1"},
    "flag": "boolean",
    "day": {"type": "date", "low": "2024-01-01", "high": "2024-12-31"},
}
BATCHES = {
    "text": ("ward <> 'A'", "ward = 'Z'", "ward > 'A'", "ward >= 'AA'", "ward IN ('A', 'q')", "ward IS NULL"),
    "whole": ("age >= 99", "age <= 99", "age > 120", "age NOT IN (50, 100)", "age > 49.5", "age <> -5"),
    "real": ("cost > 33.3", "cost >= 33.3", "cost = 33.3", "cost < 0", "cost IS NOT NULL"),
    "truth": ("flag", "NOT flag", "flag = (age > 50)", "flag IS NULL OR ward = 'B'"),
    "date": ("day > DATE '2024-06-01'", "day <> DATE '2024-01-01'", "day < DATE '2024-01-01'"),
    "mixed": ("age + 1 > 50", "COALESCE(ward, 'B') <> 'A'", "ward LIKE 'A%'", "age * 0.1 > 4.9"),
}


@pytest.fixture(scope="module")
def odd():
    with open_session(t=ODD, unit="person", rows_per_unit=1, epsilon=10**9, columns=DECLARED) as session:
        yield session


LONG = [pytest.param(grouped, marks=pytest.mark.fuzz) for grouped in ("ward", "age", "flag")]


@pytest.mark.parametrize("grouped", ["", "ward, flag", *LONG])
@pytest.mark.parametrize("name", BATCHES)
def test_a_batch_loses_no_row_whose_values_are_not_declared(odd, name, grouped):
    if (name, grouped) == ("mixed", "age"):
        grouped = (
            "flag"  # four conditions that cannot be evaluated beforehand, by a hundred ages, are too many
        )
    questions = [f"SELECT COUNT(*) AS n FROM t WHERE {where}" for where in BATCHES[name]]
    questions.append(
        f"SELECT {grouped}, COUNT(*) AS n FROM t GROUP BY {grouped}" if grouped else questions[0]
    )
    questions.append("SELECT COUNT(*) AS n FROM t")
    for question, release in zip(questions, odd.batch(questions, epsilon=10**7), strict=True):
        alone = odd.query(question, epsilon=10**7)
        assert [round(row[-1]) for row in release] == [round(row[-1]) for row in alone], question


def younger(many):
    return [f"SELECT COUNT(*) AS n FROM visits WHERE age < {k + 1}" for k in range(many)]


@pytest.mark.parametrize(
    "many", [53, 54, *(pytest.param(many, marks=pytest.mark.fuzz) for many in (30, 64, 100))]
)
def test_no_row_can_make_the_number_of_its_cell_overflow(many):
    """An error that only some rows cause would tell whether they are there."""
    catalog = clinic(rows=1)
    asked = younger(many)
    whole = combine([check(read(text), catalog, batched=True) for text in asked], catalog).whole
    (column,) = whole.keys.columns
    assert len(column.values) == many
    young = pd.DataFrame({"person": ["eve"], "age": [0]})
    columns = {"age": {"type": "integer", "low": 0, "high": 120}}
    with open_session(visits=young, unit="person", rows_per_unit=1, epsilon=10**7, columns=columns) as data:
        released = data.batch(asked, epsilon=10**6)
    assert [round(release.value) for release in released] == [1] * many


def test_cells_that_are_spelled_out_count_what_their_questions_ask_for():
    ages, wards = [*range(0, 80, 3), None, -4], ["A", "B", "Z", None, "B", "A", "B"] * 4 + ["A"]
    people = pd.DataFrame(
        {"person": range(len(ages)), "age": pd.array(ages, dtype="Int64"), "ward": wards[: len(ages)]}
    )
    columns = {"age": {"type": "integer", "low": 0, "high": 120}, "ward": {"values": ["A", "B"]}}
    asked = [*younger(56), "SELECT ward, COUNT(*) AS n FROM visits WHERE age < 41 GROUP BY ward"]
    with open_session(visits=people, unit="person", rows_per_unit=1, epsilon=10**8, columns=columns) as data:
        *counts, by_ward = data.batch(asked, epsilon=10**7)
    truth = [sum(age is not None and age < k + 1 for age in ages) for k in range(56)]
    assert [round(release.value) for release in counts] == truth
    old = people[people.age < 41].ward.value_counts()
    assert [round(row[-1]) for row in by_ward] == [old["A"], old["B"]]


@pytest.mark.parametrize("many", [30, 54])
def test_weights_that_leave_a_cell_out_are_refused(many):
    """The broken twin: who has rows in that cell too would add more than is paid for."""
    catalog = clinic(rows=2)
    whole = combine([check(read(text), catalog, batched=True) for text in younger(many)], catalog).whole
    priced = quote(whole, epsilon=1)
    (statement,) = statements(whole)
    assert proof_of(priced, catalog)
    rows, (name, people) = statement.parts
    fewer = replace(people, where=Among(people.where.argument, people.where.values[:-1]))
    broken = replace(statement, parts=(rows, (name, fewer)))
    claim = Claim((whole.keys.columns[0].values,), (Reached("m0", priced.shares[0].mechanism.reach),))
    assert prove([statement], declarations(catalog), [claim])
    with pytest.raises(ProofError, match="leave out rows"):
        prove([broken], declarations(catalog), [claim])


def test_numbers_of_cells_that_could_overflow_are_refused(monkeypatch):
    monkeypatch.setattr(conditions, "NUMBERED", 2**126)
    catalog = clinic(rows=1)
    whole = combine([check(read(text), catalog, batched=True) for text in younger(64)], catalog).whole
    with pytest.raises(ProofError, match="64 bits"):
        proof_of(quote(whole, epsilon=1), catalog)


def test_more_conditions_than_can_be_numbered_are_refused_before_any_data():
    catalog = clinic()
    asked = [
        check(read(f"SELECT COUNT(*) FROM visits WHERE cost < {k}.5 AND age < 9"), catalog)
        for k in range(130)
    ]
    with pytest.raises(QueryError, match="too many different conditions"):
        combine(asked, catalog)


@pytest.mark.parametrize("tail", ["HAVING COUNT(*) > 5", "HAVING SUM(score) > 5", "ORDER BY SUM(score)"])
@pytest.mark.parametrize("kind", ["CDF(age)", "QUANTILES(age, [0.5])", "HISTOGRAM(age, 3)"])
def test_no_other_aggregate_hides_behind_a_distribution(kind, tail):
    """It would be counted cell by cell, and a quantile would be taken for it."""
    with pytest.raises(QueryError, match="stands alone"):
        check(read(f"SELECT {kind} AS n FROM visits {tail}"), clinic())
    check(read(f"SELECT {kind} AS n FROM visits HAVING n > 5 ORDER BY n"), clinic())


@pytest.mark.parametrize("entry", ["CUBE ()", "ROLLUP ()", "GROUPING SETS ()"])
def test_empty_lists_of_columns_are_refused_like_anything_else(entry):
    with pytest.raises(QueryError):
        read(f"SELECT COUNT(*) FROM visits GROUP BY {entry}")


def test_columns_of_a_distribution_never_share_a_name():
    for text in (
        "SELECT age, CDF(age) AS age_cell FROM visits GROUP BY age",
        "SELECT score AS level, QUANTILES(age, [0.5]) AS level_cell FROM visits GROUP BY score",
        "SELECT ward AS age_from, HISTOGRAM(age, 4) AS age_from_cell FROM visits GROUP BY ward",
    ):
        names = [output.name.lower() for output in check(read(text), clinic()).columns]
        assert len(set(names)) == len(names)


def wide():
    columns = {f"b{n}": "boolean" for n in range(20)}
    columns |= {
        "g": {"type": "integer", "low": 0, "high": 4999},
        "x": {"type": "integer", "low": 0, "high": 10**6},
    }
    return declare({"tables": {"t": {"columns": columns}}})


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT COUNT(*) FROM t GROUP BY GROUPING SETS (({', '.join(f'b{n}' for n in range(16))}), ())",
        f"SELECT COUNT(*) FROM t GROUP BY GROUPING SETS (({', '.join(repr(str(n)) for n in range(40))}), ())",
        "SELECT CDF(x, 4096) FROM t",
        "SELECT QUANTILES(x, [0.5], 1025) FROM t",
        "SELECT g, CDF(x, 2) FROM t GROUP BY g",
    ],
)
def test_questions_that_would_take_for_ever_to_plan_are_refused_at_once(text):
    with pytest.raises(QueryError, match="more than"):
        check(read(text), wide())


@pytest.mark.parametrize("delta", [pytest.param(None, marks=pytest.mark.fuzz), Fraction(1, 10**6)])
def test_a_cube_of_ten_columns_is_planned(delta):
    text = f"SELECT COUNT(*) FROM t GROUP BY CUBE ({', '.join(f'b{n}' for n in range(10))})"
    priced = quote(check(read(text), wide()), epsilon=1, conversion=delta)
    joint = priced.shares[0].mechanism
    assert joint.variances.size == 3**10
    for chosen in ((), (0,), (2, 5, 7), tuple(range(10))):
        key = tuple(True if place in chosen else None for place in range(10))
        assert joint.variances[joint.places[key]] == pytest.approx(joint.plan.variance(chosen))


def test_counts_of_any_size_are_measured_exactly():
    for top in (5, 2**62 - 1, 2**62, 2**100):
        counts = [top, -top, 0, 1]
        found = integers(pd.Series(counts, dtype=object).to_numpy())
        assert found.tolist() == counts
        assert measure_exactly(identity(4), found).tolist() == counts


@pytest.mark.parametrize(
    ("text", "epsilon", "delta"),
    [
        ("SELECT ward, COUNT(*) FROM visits GROUP BY ward", 3, None),
        ("SELECT ward, COUNT(*) FROM visits GROUP BY ward", 12, Fraction(1, 10**6)),
        ("SELECT ward, flag, COUNT(*) FROM visits GROUP BY CUBE (ward, flag)", 3, None),
        ("SELECT CDF(age, 4) FROM visits", 3, None),
        ("SELECT CDF(age, 4) FROM visits", 30, None),
    ],
)
def test_intervals_cover_where_the_noise_is_hardly_more_than_one_step(text, epsilon, delta):
    """Quantiles of continuous laws fall short there: they would cover as little as three times in four."""
    catalog = clinic(unit=False)
    checked = check(read(text), catalog)
    checked = checked if "GROUP BY ward" not in text else combine([checked], catalog).whole
    random = Random(8)
    with open_world([row(random, "", wild=False) for _ in range(60)], [], catalog) as engine:
        exact = engine._exact(requests(checked), 3)
    priced, sharp = (quote(checked, epsilon=e, conversion=d) for e, d in ((epsilon, delta), (200, None)))
    truth = np.array([round(value) for value in draw(sharp, exact).values[0]])
    radii = np.array([float(priced.radius(0, Fraction(1, 20), key)) for key in checked.keys.product()])
    runs = 400
    errors = np.abs([[float(v) for v in draw(priced, exact).values[0]] - truth for _ in range(runs)])
    # A millionth for what is stored of an answer; 5.3 sigma on each share of runs.
    assert ((errors <= radii + 1e-6).mean(axis=0) >= 0.95 - 5.3 * np.sqrt(0.05 * 0.95 / runs)).all()
    assert (radii <= 1e-3).all() == (epsilon == 30)
