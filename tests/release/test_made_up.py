"""Made-up records: as private as one question, true to their declarations, the same for the same answers."""

from datetime import date
from fractions import Fraction
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from discreet.errors import BudgetError, CatalogError, ParameterError, QueryError
from discreet.privacy.filter import Filter
from discreet.privacy.guarantee import Concentrated, Pure
from discreet.privacy.sensitivity import Sensitivity
from discreet.query.catalog.column import read_column
from discreet.query.catalog.manifest import DeclaredTable
from discreet.query.price.either import portion, under
from discreet.release import made_up, records_plan
from discreet.release.made_up import known_from
from discreet.release.noisy import _tables
from discreet.release.opening import open as open_session
from discreet.release.pricing import declared_budget
from discreet.release.records_plan import MOST_CELLS, cells_for
from discreet.release.session import proved
from discreet.workload.table import _centred_integers, _marginal

ODD = pd.DataFrame(
    {
        "person": [0, 0, 0, 1, 2, 2, 3, 3, 3, 3, 4, 4],
        "ward": ["A", "B", "Z", "", None, "A", "a", "B", "Z", "A", "AA", "B"],
        "age": pd.array([0, 99, 100, -5, None, 50, 2**40, 99, -(2**40), 51, 49, 50], dtype="Int64"),
        "cost": [33.3, 0.0, -1.0, 1e300, None, float("inf"), float("nan"), 10.5, 200.0, 33.3, 12.25, -0.0],
        "flag": pd.array([True, False, None] * 4, dtype="boolean"),
        "day": [date(2024, 1, 1), date(2023, 12, 31), None, date(2030, 5, 5)] * 3,
        "note": ["x"] * 12,
    }
)
COLUMNS = {
    "ward": {"values": ["A", "B"]},
    "age": {"type": "integer", "low": 0, "high": 99},
    "cost": {"low": 0, "high": 200, "step": "0.1"},
    "flag": "boolean",
    "day": {"type": "date", "low": "2024-01-01", "high": "2024-12-31"},
    "note": {"type": "text"},
}
SOME = ["ward", "age", "flag"]


def clinic(frame=ODD, rows_per_unit=2, **budget):
    return open_session(
        t=frame, unit="person", rows_per_unit=rows_per_unit, columns=COLUMNS, **(budget or {"epsilon": 10**9})
    )


def exact_tables(session, priced):
    """Return what the engine answers to a priced question, before any noise."""
    return _tables(priced.checked.keys, 0, session.engine.run(proved(priced), 1))


def loss(plan, one, other):
    """Return what a plan's noise gives away between two sets of exact tables, rounded up."""
    total = Fraction(0)
    for table in plan.tables:
        seen = [_marginal(tables, table.attributes) for tables in (one, other)]
        first, second = (_centred_integers(counts) if table.centred else counts for counts in seen)
        moved = np.asarray(first - second, dtype=object).reshape(-1)
        l1, l2 = int(np.abs(moved).sum()), int((moved * moved).sum())
        if l1:
            match table.noise.guarantee(Sensitivity(l1, l2, int(np.abs(moved).max()))):
                case Pure(cost):
                    total += cost
                case Concentrated(rho, _):
                    total += rho
    return total


GROUPINGS = (
    (range(3), range(21), range(3)),
    ((0, 2), (0, 20), (0, 2)),
    ((0, 1, 2), (0, 1, 7, 19, 20), (0, 2)),
    ((0, 2), (0, 4, 5, 13, 20), (0, 1, 2)),
)
"""Of three columns with 2, 20 and 2 cells, and one each for what is missing."""

ALIKE = pd.concat([ODD, *[ODD[5:6].assign(person=9)] * 3])


@pytest.mark.parametrize("budget", [{"epsilon": 3}, {"epsilon": 3, "delta": "1e-6"}], ids=["pure", "delta"])
def test_both_questions_together_lose_what_one_may_whatever_the_first_one_told(budget, monkeypatch):
    """People gone, groups that the first answer could lead to: the losses add up to the price."""
    if "delta" in budget:
        # Few columns would have noise at pure epsilon.
        monkeypatch.setattr(records_plan, "shared_terms", lambda catalog, *_: under(declared_budget(catalog)))
    found = []
    for gone in (None, 3, 9):
        with clinic(ALIKE[ALIKE.person != gone], **budget) as session:
            plan = session.plan_records(epsilon=budget["epsilon"], columns=SOME, bins=20)
            asked = [plan.second(groups, session._in_terms) for groups in GROUPINGS]
            found.append([exact_tables(session, priced) for priced in (plan.first, *asked)])
            # One that takes the whole price again is noticed.
            broken = [session._in_terms(asked[0].checked, plan.epsilon, portion(plan.terms, Fraction(1)))]
    assert (plan.cost.epsilon is None) == ("delta" in budget)
    assert {priced.cost for priced in asked} == {plan.rest.cost}
    allowed = plan.cost.rho if plan.cost.epsilon is None else plan.cost.epsilon
    everybody, *others = found

    def worst(questions):
        plans = [priced.shares[0].mechanism.plan for priced in (plan.first, *questions)]
        return max(
            first + second
            for other in others
            for first, *rest in [list(map(loss, plans, everybody, other))]
            for second in rest
        )

    assert allowed * Fraction(4, 5) <= worst(asked) <= allowed
    assert worst(broken) > allowed


@pytest.mark.parametrize("epsilon", ["1/61"])
def test_the_parts_never_cost_more_than_one_question_and_fit_a_budget_of_that_size(epsilon):
    asked = Fraction(epsilon)
    for delta in (0, "1e-9"):
        with clinic(epsilon=asked, delta=delta) as session:
            plan = session.plan_records(epsilon=asked, columns=SOME)
            budget = declared_budget(session.catalog)
            assert plan.rest is not None
            if plan.cost.epsilon is None:
                assert plan.cost.rho <= budget.worth(asked)
            else:
                assert plan.cost.epsilon <= asked
            assert Filter(budget).can_spend(plan.cost)
            assert not Filter(budget).can_spend(plan.cost + plan.first.cost)


def test_records_have_declared_types_and_values_and_come_again_free():
    with clinic(epsilon=40) as session:
        made = session.synthesise(epsilon=40, bins=20)
        assert made.columns == ("ward", "age", "cost", "flag", "day")
        assert made.plan.left_out == ("note",)
        assert "left out: note (is text without declared values)" in repr(made)
        assert [str(field.type) for field in made.to_arrow().schema] == [
            *("string", "int64", "double", "bool", "date32[day]")
        ]
        for ward, age, cost, flag, day in made:
            assert ward in ("A", "B", None)
            assert age is None or 0 <= age <= 99
            assert cost is None or (0 <= cost <= 200 and round(cost, 1) == cost)
            assert flag in (True, False, None)
            assert day is None or date(2024, 1, 1) <= day <= date(2024, 12, 31)
        assert not made.free
        assert len({release.receipt.number for release in made.releases}) == 2
        assert session.budget.limits[0].spent.epsilon == 40
        again = session.synthesise(epsilon=40, bins=20)
        assert again.free
        assert list(again) == list(made)
        assert "made-up records of t, 5 columns" in repr(again)
        assert len(session.synthesise(epsilon=40, bins=20, rows=500)) == 500
        assert session.budget.limits[0].spent.epsilon == 40
        assert len(made.report()) == 10
        assert made.plot().to_dict()


def test_every_row_is_in_the_cell_that_its_value_says():
    """At an enormous price the released tables are the exact ones, oddities included."""
    with clinic(rows_per_unit=4, epsilon=10**9) as session:
        made = session.synthesise(epsilon=10**9, columns=["ward", "age", "cost", "flag", "day"], bins=4)
    known = known_from(made.releases[0])
    labels = [[cells.label(k) for k in range(cells.size)] for cells in made.plan.cells]
    assert labels[0] == ["A", "B", "missing"]
    assert labels[2][0] == "0 to 50"
    counted = [np.round(known.table((k,))).astype(int).tolist() for k in range(5)]
    # Wards that were not declared are missing; numbers and days beyond their bounds are at their ends.
    assert counted[0] == [3, 3, 6]
    assert labels[1] == [*(f"{k} to {k + 24}" for k in (0, 25, 50, 75)), "missing"]
    assert counted[1] == [3, 1, 3, 4, 1]
    assert counted[2] == [7, 0, 0, 1, 4]
    assert counted[3] == [4, 4, 4]
    assert counted[4] == [6, 0, 0, 3, 3]
    assert np.allclose(made.tables.table((0, 1)).sum(axis=1), [3, 3, 6], atol=0.1)


def test_groups_count_what_their_cells_hold():
    many = pd.concat([ODD, ODD.assign(age=range(0, 96, 8), ward=[*"ABCDE"] * 2 + ["C", "D"])])
    columns = COLUMNS | {"ward": {"values": [*"ABCDE"]}}
    groupings = (
        ((0, 2, 5), (0, 1, 20), (0, 12, 20)),
        ((0, 1, 4, 5), (0, 3, 4, 13, 20), (0, 1, 20)),
    )
    with open_session(t=many, unit="row", epsilon=1, columns=columns) as session:
        plan = session.plan_records(epsilon=1, bins=20, columns=["ward", "age", "cost"])
        finest = plan.second([range(one.size) for one in plan.cells], session._in_terms)
        fine = exact_tables(session, finest)
        for groups in groupings:
            for (i, j), table in exact_tables(session, plan.second(groups, session._in_terms)).items():
                whole = np.add.reduceat(np.add.reduceat(fine[i, j], groups[i]), groups[j], axis=1)
                assert table.tolist() == whole.tolist()
        for wrong in ((1, 5), (0, 3, 3, 5), (0, 3), (0, 5, 6)):
            with pytest.raises(ParameterError, match="groups begin"):
                plan.second([wrong, *groupings[0][1:]], session._in_terms)


def test_what_does_not_fit_is_refused_before_anything_is_paid():
    with clinic(epsilon=1) as session:
        with pytest.raises(BudgetError):
            session.synthesise(epsilon="1.01", columns=SOME)
        assert session.budget.limits[0].spent.nothing


def test_whoever_is_interrupted_between_the_questions_goes_on_with_the_first_answer(monkeypatch):
    with clinic(epsilon=1) as session:
        with monkeypatch.context() as patch:
            patch.setattr(made_up, "known_from", lambda release: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                session.synthesise(epsilon=1, columns=SOME)
        assert session.budget.limits[0].spent.epsilon == Fraction(3, 10)
        made = session.synthesise(epsilon=1, columns=SOME)
        assert [release.free for release in made.releases] == [True, False]
        assert session.budget.limits[0].spent.epsilon == 1


def test_little_data_and_few_cells_are_no_obstacle():
    lone = {"one": {"type": "integer", "low": 7, "high": 7, "nullable": False}, "flag": "boolean"}
    frame = pd.DataFrame({"one": [7] * 50, "flag": pd.array([None] * 50, dtype="boolean")})
    with open_session(t=frame, unit="row", epsilon=300, columns=lone) as session:
        alone = session.synthesise(epsilon=100, columns=["one"])
        assert set(alone) == {(7,)}
        assert len(alone.releases) == 1
        assert alone.report() == ()
        with pytest.raises(ParameterError, match="two columns"):
            alone.plot()
        both = session.synthesise(epsilon=100)
        assert set(both) == {(7, None)}
        assert len(both.releases) == 1
    with open_session(t=frame[:0], unit="row", epsilon=10, columns=lone) as session:
        nobody = session.synthesise(epsilon=5, columns=["one", "flag"], rows=5)
        assert len(nobody) == 5
        assert all(one == 7 for one, _ in nobody)
        assert session.synthesise(epsilon=5, columns=["one", "flag"]).to_arrow().num_columns == 2


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"columns": ["nobody"]}, "no such column"),
        ({"columns": ["person"]}, "tells people apart"),
        ({"columns": ["note"]}, "without declared values"),
        ({"columns": ["ward", "WARD"]}, "twice"),
        ({"columns": []}, "there are none"),
        ({"columns": "ward"}, "list of names"),
        ({"bins": 1}, "from 2 to"),
        ({"bins": True}, "from 2 to"),
        ({"rows": 0}, "rows must be"),
        ({"rows": 10**9}, "rows must be"),
        ({"table": "elsewhere"}, "no table"),
        ({"epsilon": 0}, "epsilon"),
    ],
)
def test_what_cannot_be_made_up_is_refused_and_costs_nothing(odd_arguments, asked, said):
    with pytest.raises((QueryError, ParameterError, CatalogError), match=said):
        odd_arguments.synthesise(**({"epsilon": 1, "columns": SOME} | asked))
    assert odd_arguments.budget.limits[0].spent.nothing


@pytest.fixture(scope="module")
def odd_arguments():
    declared = {**COLUMNS, "person": {"type": "integer", "low": 0, "high": 9}}
    with open_session(t=ODD, unit="person", rows_per_unit=2, epsilon=9, columns=declared) as session:
        yield session


def table_of(**columns):
    return DeclaredTable("t", tuple(read_column(name, spec, name) for name, spec in columns.items()))


def test_too_large_domains_are_cut_more_coarsely_and_refused_where_that_is_not_enough():
    wide = {"type": "integer", "low": 0, "high": 10**6}
    cells, _ = cells_for(table_of(**{f"x{k}": wide for k in range(12)}), None, 256)
    sizes = [one.size for one in cells]
    assert max(sizes) < 256
    assert sum(one * other for one, other in combinations(sizes, 2)) <= MOST_CELLS
    names = {"type": "text", "values": [f"v{k}" for k in range(200)]}
    with pytest.raises(QueryError, match="name fewer of them; x0 has the most values"):
        cells_for(table_of(**{f"x{k}": names for k in range(12)}), None, 32)
    with pytest.raises(QueryError, match="more than 40"):
        cells_for(table_of(**{f"x{k}": "boolean" for k in range(41)}), None, 32)
    many = {"type": "text", "values": [f"v{k}" for k in range(257)]}
    with pytest.raises(QueryError, match="more than 256 declared values"):
        cells_for(table_of(x=many), ["x"], 32)
    left_out = {"x": "has more than 256 declared values"}
    assert cells_for(table_of(x=many, y="boolean"), None, 32)[1] == left_out
    for columns in ({"x": many}, {"x": many, "z": "text"}):
        with pytest.raises(QueryError, match="none can be made up: x has more than 256 declared values"):
            cells_for(table_of(**columns), None, 32)
    with pytest.raises(QueryError, match=r"z is text without declared values.* and 6 more"):
        cells_for(table_of(z="text", **{f"x{k}": many for k in range(8)}), None, 32)


def test_tables_of_grouping_sets_are_known_as_well_as_they_were_quoted():
    with clinic(epsilon=5) as session:
        answer = session.query("SELECT ward, COUNT(*) AS n FROM t GROUP BY ward", epsilon=1)
        with pytest.raises(TypeError):
            known_from(answer)
        cube = session.query("SELECT COUNT(*) AS n FROM t GROUP BY CUBE (ward, flag)", epsilon=1)
    (share,) = cube.quote.shares
    known = known_from(cube)
    assert share.measured.scale > 1
    for chosen, variance in zip(cube.quote.checked.keys.sets, (0, 4, 6, 8), strict=True):
        assert known.variance(chosen) == pytest.approx(
            share.mechanism.variances[variance] / share.measured.scale**2
        )
        drawn = [float(value) for value in cube.noisy.values[0]]
        assert np.allclose(known.table(chosen).reshape(-1)[0], drawn[variance])


def test_tables_over_a_large_domain_are_shown_shrunk_and_as_they_were_drawn_to_whoever_asks():
    wide = {f"x{k}": {"type": "integer", "low": 0, "high": 19} for k in range(4)}
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({name: rng.binomial(19, 0.4, 2000) for name in wide})
    sql = "SELECT COUNT(*) AS n FROM t GROUP BY GROUPING SETS ((x0, x1), (x1, x2), (x2, x3), ())"
    with open_session(t=frame, unit="row", epsilon=1, columns=wide) as session:
        answer = session.query(sql, epsilon=1)
    drawn, shown = [row.cells[0] for row in answer.as_drawn().rows], [row.cells[0] for row in answer.rows]
    assert min(drawn) < 0 <= min(shown)
    truth = frame.groupby(["x0", "x1"]).size().unstack(fill_value=0)
    truth = truth.reindex(index=range(20), columns=range(20), fill_value=0).to_numpy().reshape(-1)
    errors = [np.abs(np.array(values[:400], dtype=float) - truth).sum() for values in (drawn, shown)]
    assert errors[1] < errors[0] / 2
    for start in (0, 400, 800):
        assert sum(shown[start : start + 400]) == pytest.approx(float(shown[-1]), abs=1e-3)
    for row in answer.rows:
        (low, high), (cell,) = row.spans[0], row.cells
        assert low <= cell <= high


def test_where_nothing_is_known_of_a_table_that_is_said_and_nothing_worse():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({f"c{k}": rng.integers(0, 10**6, 300) for k in range(12)})
    wide = {name: {"type": "integer", "low": 0, "high": 10**6} for name in frame}
    with open_session(t=frame, unit="row", epsilon=10, columns=wide) as session:
        made = session.synthesise(epsilon="0.01", rows=100)
    found = made.report()
    assert all(0 <= one.off <= 2 for one in found)
    unknown = sum(one.off == 2 for one in found)
    assert (f"about nothing is known of {unknown} of 66 tables of two columns" in repr(made)) == bool(unknown)


def test_without_records_there_is_nothing_to_compare():
    with clinic() as session:
        made = session.synthesise(epsilon=1, columns=SOME)
    nobody = made_up.drawn(made.plan, made.releases, made.groups, None, most=0)
    assert len(nobody) == 0
    assert [one.off for one in nobody.report()] == [None] * 3
    assert "nothing to compare" in repr(nobody)
    with pytest.raises(ParameterError, match="nothing to compare"):
        nobody.plot()
