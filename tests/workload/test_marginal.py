"""Marginal plans: optimal by an independent solver, private by enumeration, accurate as forecast."""

from fractions import Fraction
from itertools import product
from math import prod, sqrt

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.mechanisms.gaussian import Gaussian
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.guarantee import Concentrated, Pure
from discreet.workload import (
    Marginals,
    answer_marginals,
    certified_optimum,
    measure_marginals,
    plan_marginals,
    tabulate,
)
from discreet.workload.forecast import inverse_information
from discreet.workload.table import _centred_integers, _marginal

PURE = Pure(Fraction(1))
UNIT = Concentrated(Fraction(1, 2))
SMALL = [
    Marginals.of_order((3, 2, 2), 1),
    Marginals.of_order((3, 2, 2), 0, 1, 2),
    Marginals.of_order((4, 3), 2),
    Marginals((3, 2, 4), ((0, 1), (2,))),
]
ADULT = (100, 100, 100, 99, 85, 42, 16, 15, 9, 7, 6, 5, 2, 2)


@pytest.mark.parametrize("workload", SMALL, ids=lambda w: str(w.sizes) + str(w.sets))
def test_the_closed_form_is_the_optimum_of_the_convex_program(workload):
    """The general solver knows nothing of attributes; it sees only the written-out Gram matrix."""
    best = certified_optimum(workload)
    assert best.lower * (1 - 1e-6) <= plan_marginals(workload, UNIT).error.total <= best.upper * (1 + 1e-6)


@pytest.mark.parametrize("workload", SMALL, ids=lambda w: str(w.sizes) + str(w.sets))
@pytest.mark.parametrize("guarantee", [PURE, UNIT], ids=["pure", "concentrated"])
def test_the_forecast_is_that_of_least_squares_on_the_written_out_domain(workload, guarantee):
    made = plan_marginals(workload, guarantee)
    cells = [np.array(c) for c in np.ndindex(*workload.sizes)]
    precision = np.zeros((len(cells), len(cells)))
    for table in made.tables:
        rows = np.stack([measured(made, table, cell).reshape(-1) for cell in cells], axis=1).astype(float)
        precision += (
            rows.T
            @ rows
            / float(table.noise.variance if hasattr(table.noise, "alpha") else table.noise.sigma_squared)
        )
    gram = workload.gram()
    assert float((gram * inverse_information(precision)).sum()) == pytest.approx(made.error.total, rel=1e-6)


def measured(made, table, cell):
    """What one person in a cell adds to a measured table, by running the measurement."""
    exact = tabulate(cell[None, :], made.workload.sizes, made.needs)
    counts = _marginal(exact, table.attributes)
    return _centred_integers(counts) if table.centred else counts


@pytest.mark.parametrize("workload", SMALL, ids=lambda w: str(w.sizes) + str(w.sets))
@pytest.mark.parametrize("adjacency", list(Adjacency))
@pytest.mark.parametrize("guarantee", [PURE, UNIT], ids=["pure", "concentrated"])
def test_the_promise_covers_every_pair_of_neighbours(workload, guarantee, adjacency):
    made = plan_marginals(workload, guarantee, adjacency)
    cells = [np.array(c) for c in np.ndindex(*workload.sizes)]
    moves = {
        k: [measured(made, table, cell).astype(object) for cell in cells]
        for k, table in enumerate(made.tables)
    }
    worst = Fraction(0)
    pairs = (
        product(range(len(cells)), repeat=2)
        if adjacency is Adjacency.REPLACE
        else [(i, None) for i in range(len(cells))]
    )
    for i, j in pairs:
        loss = Fraction(0)
        for k, table in enumerate(made.tables):
            change = np.atleast_1d(moves[k][i] - (0 if j is None else moves[k][j]))
            if isinstance(table.noise, Gaussian):
                loss += Fraction(int((change * change).sum())) / (2 * table.noise.sigma_squared)
            else:
                loss += int(abs(change).sum()) * table.noise.guarantee(1).cost
        worst = max(worst, loss)
    promised = made.guarantee.rho if isinstance(made.guarantee, Concentrated) else made.guarantee.cost
    asked = guarantee.rho if isinstance(guarantee, Concentrated) else guarantee.cost
    assert worst <= promised <= asked
    assert worst >= promised * Fraction(999_999, 1_000_000)  # and nothing is wasted


def test_the_promise_never_exceeds_what_was_asked():
    for sizes in ((3, 2, 2), (5, 1, 7), (2, 2, 2, 2)):
        for adjacency in Adjacency:
            for rho in ("1/2", "0.01", "3"):
                made = plan_marginals(Marginals.of_order(sizes, 1, 2), Concentrated(Fraction(rho)), adjacency)
                assert made.guarantee.rho <= Fraction(rho)


def test_all_marginals_up_to_order_three_of_adult_have_the_closed_form_error():
    workload = Marginals.of_order(ADULT, 0, 1, 2, 3)
    assert workload.queries == 21_043_262
    made = plan_marginals(workload, UNIT)
    assert made.error.root == pytest.approx(10.6650, abs=5e-5)
    assert made.error.root < 11.2938


@pytest.mark.parametrize(
    ("guarantee", "adjacency"),
    [
        pytest.param(guarantee, adjacency, marks=() if (turn + place) % 2 else pytest.mark.fuzz)
        for turn, guarantee in enumerate((PURE, UNIT))
        for place, adjacency in enumerate(Adjacency)
    ],
)
def test_realised_marginals_have_the_forecast_variance_and_agree(guarantee, adjacency):
    rng = np.random.default_rng(0)
    sizes = (4, 3, 2)
    records = np.column_stack([rng.integers(0, n, 60) for n in sizes])
    workload = Marginals.of_order(sizes, 1, 2)
    made = plan_marginals(workload, guarantee, adjacency)
    exact, inputs = tabulate(records, sizes, workload.sets), tabulate(records, sizes, made.needs)
    total = 60 if adjacency is Adjacency.REPLACE else None
    runs, errors = 200, dict.fromkeys(workload.sets, 0.0)
    for _ in range(runs):
        answers = answer_marginals(measure_marginals(made, inputs), total=total)
        for a in workload.sets:
            errors[a] += float(np.square(answers.table(a) - exact[a]).mean()) / runs
        assert np.allclose(answers.table((0, 1)).sum(axis=1), answers.table((0,)))
        assert np.allclose(answers.table((0, 1)).sum(axis=0), answers.table((1, 2)).sum(axis=1))
    for a in workload.sets:
        # 5.5 sigma for squared errors that vary by at most sqrt(5) times their mean.
        assert errors[a] == pytest.approx(made.variance(a), rel=5.5 * sqrt(5 / runs))
    assert sum(made.variance(a) * prod(sizes[i] for i in a) for a in workload.sets) == pytest.approx(
        made.error.total
    )


def test_only_the_largest_tables_are_needed_and_missing_ones_are_named():
    made = plan_marginals(Marginals.of_order((3, 2, 2), 1, 2), UNIT)
    assert made.needs == ((0, 1), (0, 2), (1, 2))
    with pytest.raises(ParameterError, match=r"\(0, 1\)"):
        measure_marginals(made, {})
    with pytest.raises(ParameterError, match="integers"):
        measure_marginals(made, {a: np.zeros([made.workload.sizes[i] for i in a]) for a in made.needs})


def test_a_plan_that_charged_the_raw_table_instead_of_the_centred_one_would_be_caught():
    """The centred table moves less than the raw one: charging 1 / (2 s) would waste the difference."""
    made = plan_marginals(Marginals.of_order((2, 2), 2), UNIT)
    raw = sum(
        Fraction(made.workload.table_cells(t.attributes) ** 2) / (2 * t.noise.sigma_squared)
        for t in made.tables
    )
    assert raw > made.guarantee.rho * Fraction(3, 2)


def test_progress_counts_the_tables():
    made = plan_marginals(Marginals.of_order((3, 2), 1), UNIT)
    seen = []
    inputs = tabulate(np.zeros((5, 2), dtype=int), (3, 2), made.needs)
    measure_marginals(made, inputs, progress=lambda i, n: seen.append((i, n)))
    assert seen[-1] == (len(made.tables), len(made.tables))
