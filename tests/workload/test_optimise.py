"""Optimised strategies: certificates that bound, gradients that agree, published figures that are met."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.privacy.guarantee import Concentrated, Pure
from discreet.workload import (
    AllRange,
    Hierarchy,
    Identity,
    Matrix,
    Prefix,
    Product,
    Total,
    Union,
    Wavelet,
    certified_optimum,
    error,
    identity,
    rounded,
)
from discreet.workload.certified import _mixed, lower_bound, optimum
from discreet.workload.forecast import unit_error
from discreet.workload.optimise import optimised, optimised_product
from discreet.workload.pidentity import error_and_gradient

UNIT = Concentrated(Fraction(1, 2))
PURE = Pure(Fraction(1))


@pytest.mark.parametrize(
    ("workload", "published"),
    [(Prefix(256), 6.3728), (AllRange(256), 8.41833), (AllRange(1024), 12.3558)],
    ids=["prefix 256", "all ranges 256", "all ranges 1024"],
)
def test_the_gaussian_optimum_is_certified_and_survives_rounding(workload, published):
    best = certified_optimum(workload)
    assert best.gap <= 1e-5
    assert best.lower / workload.queries <= published * 1.0001
    assert error(workload, rounded("best", best.matrix), UNIT).mean == pytest.approx(published, rel=1e-4)


def test_no_strategy_beats_the_certificate():
    rng = np.random.default_rng(0)
    for workload in (Prefix(16), AllRange(12), Matrix.of(rng.integers(0, 2, (9, 8)))):
        best = certified_optimum(workload)
        rivals = [identity(workload.cells), Hierarchy(workload.cells, 2), Wavelet(workload.cells)]
        rivals += [
            rounded("random", rng.normal(size=(workload.cells + 2, workload.cells))) for _ in range(20)
        ]
        errors = [error(workload, rival, UNIT).total for rival in rivals]
        assert min(errors) >= best.lower * (1 - 1e-9)
        assert lower_bound(workload.gram()) <= best.lower * (1 + 1e-9)


def test_the_certificate_catches_a_strategy_that_is_not_optimal():
    broken = optimum(Prefix(64).gram(), 64, steps=0)
    assert broken.gap > 1e-3
    assert broken.lower <= certified_optimum(Prefix(64)).upper


def test_mixed_steps_of_a_linear_map_end_where_it_stands_still():
    """Three places of a plane tell where it does, however slowly plain steps would get there."""
    turn = np.array([[0.9, 0.3], [-0.2, 0.95]])
    still = np.array([3.0, -1.0])
    places, moves = [np.zeros(2)], []
    for _ in range(3):
        moves.append(turn @ (places[-1] - still) + still - places[-1])
        places.append(_mixed(places, moves))
    assert places[-1] == pytest.approx(still)
    assert np.abs(places[1] - still).max() > 1


def test_the_halved_eigenproblem_gives_the_same_certificate():
    symmetric = AllRange(40).gram()
    nudged = symmetric.copy()
    nudged[0, 0] *= 1 + 1e-9  # no longer equal to its half-turn, so the full problem is solved
    one, other = optimum(symmetric, 40), optimum(nudged, 40)
    assert one.upper == pytest.approx(other.upper, rel=1e-5)
    assert one.matrix.shape == (40, 40)
    assert np.square(one.matrix).sum(axis=0).max() == pytest.approx(1)


def test_workloads_that_leave_directions_unasked_are_certified_too():
    best = certified_optimum(Total(5))
    assert best.lower <= 1 <= best.upper * (1 + 1e-4)
    assert best.upper == pytest.approx(1, rel=1e-3)


def test_the_gradient_of_the_p_identity_error_agrees_with_differences():
    rng = np.random.default_rng(1)
    workload = AllRange(6)
    sums = rng.random((2, 6))
    diagonal = np.diagonal(workload.gram())
    value, slope = error_and_gradient(sums, workload.gram_apply, diagonal)
    s = 1 + sums.sum(axis=0)
    strategy = np.vstack([np.eye(6), sums]) / s
    assert value == pytest.approx(np.trace(workload.gram() @ np.linalg.inv(strategy.T @ strategy)))
    for place in np.ndindex(*sums.shape):
        step = np.zeros_like(sums)
        step[place] = 1e-6
        up, down = (error_and_gradient(sums + d, workload.gram_apply, diagonal)[0] for d in (step, -step))
        assert slope[place] == pytest.approx((up - down) / 2e-6, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize(
    ("workload", "hdmm"), [(AllRange(256), 65.35), (Prefix(256), 54.86)], ids=["all ranges", "prefix"]
)
def test_pure_strategies_of_256_cells_do_better_than_hdmm(workload, hdmm):
    strategy = optimised(workload, PURE)
    columns = np.abs(strategy.rows).sum(axis=0)
    assert columns.min() == columns.max()  # no column is protected more than another
    assert error(workload, strategy, PURE).mean < hdmm


def test_the_best_product_strategy_has_the_product_of_the_best_errors():
    workload = Product((Prefix(8), AllRange(6)))
    found = optimised_product(workload, [8, 6], UNIT)
    best = certified_optimum(Prefix(8)).upper * certified_optimum(AllRange(6)).upper
    assert error(workload, found, UNIT).total == pytest.approx(best, rel=2e-3)
    whole = optimum(workload.gram(), 48)
    assert error(workload, found, UNIT).total >= whole.lower * (1 - 1e-9)


@pytest.mark.parametrize("guarantee", [PURE, UNIT], ids=["pure", "concentrated"])
def test_unions_of_products_are_optimised_below_the_plain_histogram(guarantee):
    workload = Union((Product((Prefix(16), Total(4))), Product((Total(16), Identity(4)))))
    plain = error(workload, optimised_product(Identity(64), [16, 4], guarantee), guarantee)
    assert (
        error(workload, optimised_product(workload, [16, 4], guarantee), guarantee).total < plain.total / 1.1
    )


def test_unit_error_of_a_product_is_that_of_the_written_out_product():
    from discreet.workload import Dense, Kronecker

    rng = np.random.default_rng(2)
    first, second = (Dense("any", rng.integers(1, 20, (n + 2, n))) for n in (3, 4))
    workload = Union((Product((Prefix(3), AllRange(4))), Product((Total(3), Identity(4)))))
    whole = Dense("whole", np.kron(first.rows, second.rows))
    for known_total in (False, True):
        assert unit_error(workload, Kronecker((first, second)), known_total=known_total) == pytest.approx(
            unit_error(workload, whole, known_total=known_total)
        )


def test_a_step_beyond_what_floats_tell_apart_is_taken_back():
    """A batch was refused by an error of the matrix library where the search tried such a step."""
    value, slope = error_and_gradient(np.full((3, 4), 1e9), Identity(4).gram_apply, np.ones(4))
    assert value == np.inf
    assert not slope.any()
