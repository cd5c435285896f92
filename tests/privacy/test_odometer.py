"""Odometers: a bound that holds at every stopping time, tried on an adversary who picks the worst moment."""

from fractions import Fraction
from math import comb, exp

import pytest

from discreet.errors import ParameterError
from discreet.privacy.filter import Cost
from discreet.privacy.odometer import Odometer


def _chance_of_ever_crossing(limits, cost, steps):
    """The exact probability that the loss of randomised responses ever exceeds the limit of its step."""
    chance = exp(cost) / (1 + exp(cost))
    alive, crossed = {0: 1.0}, 0.0
    for step in range(1, steps + 1):
        following = {}
        for truths, mass in alive.items():
            for more, p in ((1, chance), (0, 1 - chance)):
                following[truths + more] = following.get(truths + more, 0.0) + mass * p
        alive = {}
        for truths, mass in following.items():
            if (2 * truths - step) * cost > limits[step]:
                crossed += mass
            else:
                alive[truths] = mass
    return crossed


def test_the_loss_crosses_the_odometer_no_more_often_than_delta_and_a_fixed_time_bound_more():
    cost, steps, delta = Fraction(1, 4), 400, Fraction(1, 5)
    odometer, limits, fixed = Odometer(unit=Fraction(1, 100)), {}, {}
    for step in range(1, steps + 1):
        odometer = odometer.add(Cost.pure(cost))
        limits[step] = float(odometer.epsilon(delta))
        rho = float(odometer.spent.rho)
        # The twin uses, at every step, the quantile that is right for that step alone.
        fixed[step] = _quantile(float(cost), step, float(delta))
        assert rho > 0
    assert _chance_of_ever_crossing(limits, float(cost), steps) <= float(delta)
    assert _chance_of_ever_crossing(fixed, float(cost), steps) > float(delta)


def _quantile(cost, k, delta):
    chance = exp(cost) / (1 + exp(cost))
    mass = 0.0
    for truths in range(k, -1, -1):
        mass += comb(k, truths) * chance**truths * (1 - chance) ** (k - truths)
        if mass > delta:
            return (2 * truths - k) * cost
    return -k * cost


def test_pure_releases_are_read_off_exactly():
    odometer = Odometer().add(Cost.pure("0.1")).add(Cost.pure("0.2"))
    assert odometer.epsilon().high == Fraction(3, 10)
    assert odometer.epsilon("1e-6").high == Fraction(3, 10)
    assert odometer.add(Cost.concentrated("0.1")).epsilon().high is None


def test_many_small_releases_are_read_off_below_their_sum():
    odometer = Odometer(Cost(Fraction(100), Fraction(1)))
    reading = odometer.epsilon("1e-6")
    assert reading.high < 15
    assert (reading.route, reading.adaptive) == ("odometer", "fully adaptive")


def test_slacks_beyond_half_of_delta_are_refused():
    with pytest.raises(ParameterError, match="slacks"):
        Odometer(Cost.approximate(1, "1e-6")).epsilon("1e-6")
    with pytest.raises(ParameterError):
        Odometer(unit=Fraction(0))
