"""Vectors with Gaussian noise have the law of their worst move: against sums over all pairs of integers."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import discreet as dp
from discreet.cli.compose import read_release
from discreet.errors import ParameterError
from discreet.privacy.sensitivity import Sensitivity


def _summed(variance, moves, epsilon):
    """Return sup P(E) - exp(epsilon) Q(E) of independent discrete Gaussians moved so, by adding up all."""
    k = np.arange(-40, 41)
    noise = np.exp(-k * k / (2 * float(variance)))
    noise = noise / noise.sum()
    p = q = np.ones(())
    for move in moves:
        p = np.multiply.outer(p, noise)
        q = np.multiply.outer(q, np.exp(-((k - move) ** 2) / (2 * float(variance))) * noise[40])
    return float(np.maximum(p - np.exp(epsilon) * q, 0).sum())


BOX = Sensitivity.spread(2, 2)
SUM = Sensitivity(Fraction(3), Fraction(9), Fraction(3), 2)


@pytest.mark.parametrize("variance", [Fraction(1, 2), Fraction(3), Fraction(9)])
@pytest.mark.parametrize(
    ("change", "worst", "allowed"),
    [
        (BOX, (2, 2), lambda a, b: max(a, b) <= 2),
        (SUM, (3, 0), lambda a, b: a + b <= 3),
    ],
)
def test_a_vector_costs_what_its_worst_move_does_and_no_allowed_one_more(variance, change, worst, allowed):
    law = dp.Gaussian(variance).vector(change)
    for epsilon in ("0", "0.3", "1", "2.5"):
        at = float(epsilon)
        found = law.delta(epsilon)
        exact = _summed(variance, worst, at)
        assert float(found.low) <= exact * (1 + 1e-9) + 1e-15
        assert exact <= float(found.high) * (1 + 1e-9) + 1e-15
        assert float(found.high - found.low) <= 1e-6 * exact + 1e-12
        for moves in product(range(4), repeat=2):
            assert not allowed(*moves) or _summed(variance, moves, at) <= float(found.high) + 1e-12


def test_vectors_without_a_worst_move_keep_their_zcdp():
    """Of all moves of squared length 5 none is known to be the worst."""
    change = Sensitivity(Fraction(3), Fraction(5), Fraction(2), 2)
    noise = dp.Gaussian(Fraction(10), sensitivity=change)
    assert noise.vector().parts == ((noise.guarantee(), 1),)
    with pytest.raises(ParameterError, match="vector"):
        noise.profile()


def test_composition_and_the_command_take_vectors():
    noise = dp.Gaussian(Fraction(50), sensitivity=Sensitivity.spread(2, 1))
    own = dp.compose([noise]).epsilon("1e-6")
    assert own.high < dp.compose([noise.guarantee()]).epsilon("1e-6").high
    read, number = read_release("discrete-gaussian:50:1,-1x3")
    assert (number, dp.compose([read]).epsilon("1e-6").high) == (1 * 3, own.high)
    # Continuous noise is the same in every direction: 3 and 4 are a move of 5.
    assert read_release("gaussian:10:3,4") == read_release("gaussian:2")
    assert read_release("gaussian:10:0,0")[0].epsilon().high == 0
    with pytest.raises(ParameterError, match="one sample"):
        read_release("discrete-gaussian:50:1,1@0.1")
    for odd in ("gaussian:1:", "gaussian:1:a", "gaussian:1:1,", "discrete-gaussian:1:1/2", "gaussian:1:1:1"):
        with pytest.raises(ParameterError):
            read_release(odd)
