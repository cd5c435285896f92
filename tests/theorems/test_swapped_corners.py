"""Whoever is replaced moves what is measured of all corners of a simplex by no more than swapped units do.

Everything is counted out: all integers that two people can have, in exact numbers, against the norms for
which noise is calibrated.  They are reached and never exceeded; what takes a corner for all there is, or
columns for ones that never point against each other, is exceeded.
"""

from fractions import Fraction
from itertools import product
from math import comb
from typing import Any

import numpy as np
import pytest

from discreet.mechanisms.gaussian import Gaussian
from discreet.privacy.sensitivity import Sensitivity
from discreet.query.price.together import Swaps, foreseen, moved
from discreet.workload import Matrix
from discreet.workload.strategy import Dense, matrix_of

ASKED = ([[1]], [[1, 0], [0, 1]], [[1, 1], [1, 0]], [[1, 1, 0], [0, 1, 1], [1, 1, 1]])
AGAINST = Dense("against each other", np.array([[2, -2], [1, 0]], dtype=np.int64))


def strategies() -> list[Dense]:
    """Return what Gaussian noise measures for a few questions, and columns that point against each other."""
    found = [matrix_of(foreseen(Matrix.of(rows), True).plan.strategy) for rows in ASKED]  # type: ignore[arg-type]
    plain = [np.array(rows, dtype=np.int64) for rows in ASKED]
    return [*(Dense("planned", rows) for rows in (*found, *plain)), AGAINST]


def people(numbers: int, units: int) -> list[Any]:
    """Return everybody's integers: none negative, and no more than so many units in all."""
    return [np.array(v) for v in product(range(units + 1), repeat=numbers) if sum(v) <= units]


def furthest(matrix: Any, corners: int, some: list[Any]) -> tuple[int, int, int]:
    """Return the largest l1, squared l2 and linf by which all move where one is replaced by another."""
    whole = np.kron(np.eye(corners, dtype=int), matrix).astype(object)
    changes = [whole @ (one - other) for one in some for other in some]
    return (
        max(abs(v).sum() for v in changes),
        max((v * v).sum() for v in changes),
        max(abs(v).max() for v in changes),
    )


def norms(known: Sensitivity, units: int) -> tuple[Fraction, Fraction, Fraction]:
    return units * known.l1, units**2 * known.l2_squared, units * known.linf


@pytest.mark.parametrize("strategy", strategies())
@pytest.mark.parametrize(("corners", "units"), [(2, 1), (2, 2), (3, 1)])
def test_units_that_are_swapped_among_corners_move_them_so_far(
    strategy: Dense, corners: int, units: int
) -> None:
    some = people(corners * strategy.cells, units)
    known = moved(strategy, swaps=Swaps(corners=True))
    assert furthest(strategy.rows, corners, some) == norms(known, units)
    # As if twice as many came or went, only in l1.
    gone = moved(strategy, swaps=None)
    assert known.l1 == 2 * gone.l1
    assert 2 * gone.l2_squared <= known.l2_squared <= 4 * gone.l2_squared


def test_a_corner_is_not_all_there_is() -> None:
    """The broken twin swaps units within a corner: two columns that have much in common differ by little."""
    strategy = Dense("as asked", np.array([[3, 3], [1, 0]], dtype=np.int64))
    broken = moved(strategy, swaps=Swaps())
    assert broken.l2_squared == 10
    assert furthest(strategy.rows, 1, people(2, 1))[1] == 10
    assert (
        furthest(strategy.rows, 2, people(4, 1))[1]
        == 20
        == moved(strategy, swaps=Swaps(corners=True)).l2_squared
    )


def test_columns_may_point_against_each_other() -> None:
    """The broken twin takes squares for adding up at most, which those of a difference exceed."""
    twice = 2 * moved(AGAINST, swaps=None).l2_squared
    known = moved(AGAINST, swaps=Swaps(corners=True))
    assert furthest(AGAINST.rows, 2, people(4, 1))[1] == known.l2_squared == 17 > twice == 10


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("rows", ASKED)
def test_gaussian_noise_of_a_plan_keeps_its_promise_to_rows_on_a_simplex(
    degree: int, rows: list[list[int]]
) -> None:
    """Two people with a row each, of any value in any cell or none: exact rho against what is charged."""
    width = 3
    made = foreseen(Matrix.of(rows), True, Swaps(corners=True)).plan
    cells = len(rows[0])
    some = [np.zeros((degree + 1, cells), dtype=object)]
    for value, cell in product(range(width + 1), range(cells)):
        terms = [comb(degree, i) * value**i * (width - value) ** (degree - i) for i in range(degree + 1)]
        some.append(np.zeros((degree + 1, cells), dtype=object))
        some[-1][:, cell] = terms
    matrix, noise = matrix_of(made.strategy).astype(object), made.noise  # type: ignore[arg-type]
    assert isinstance(noise, Gaussian)
    squares = max(((matrix @ (a - b).T) ** 2).sum() for a, b in product(some, repeat=2))
    lost = Fraction(squares) / (2 * noise.sigma_squared)
    charged = made.guarantee.group(width**degree).price().rho
    assert lost <= charged
    # Calibrated for units that come and go, half of that would be lost.
    assert lost > charged * Fraction(999, 1000)
