"""Renyi curves: the divergence of every order, and what one point of the curve is worth.

The Renyi divergence of order a > 1 of a pair is ln E_Q[(dP/dQ)**a] / (a - 1) = K(a - 1) / (a - 1), with K
the log moment of the privacy loss.  It adds up under adaptive composition with fixed parameters.

Theorem (leaving).  A mechanism of divergence r at order a is (epsilon, delta)-private whenever
ln delta >= (a - 1) (r - epsilon + ln(1 - 1/a)) - ln a.
Theorem (entering).  A pure guarantee c has, at order a, divergence at most ln(cosh((a - 1/2) c) / cosh(c
/ 2)) / (a - 1); a rho-zCDP one, rho a.  Both are attained.

References.  Mironov, CSF 2017; the conversion of Canonne, Kamath, Steinke, NeurIPS 2020, and Asoodeh et
al., 2021.
"""

from fractions import Fraction

import numpy as np

from discreet.errors import ParameterError
from discreet.exact.number import (
    Real,
    exp_up,
    float_down,
    float_up,
    log_bounds,
    non_negative,
    probability,
    rational,
    shown,
)
from discreet.privacy.bounds import Bounds
from discreet.privacy.compose import Composition, compose
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.route import log_moment_up, loss_sum


def renyi(guarantee: Guarantee | Composition, order: Real) -> Bounds:
    """Return the Renyi divergence that a guarantee promises at this order, enclosed."""
    theta = _order(order) - 1
    together = compose([guarantee])
    if together.slack[1]:
        raise ParameterError(
            "a guarantee with slack has no finite Renyi divergence; convert its epsilon instead"
        )
    releases = together.releases()
    # The log moment grows with the tilt, so the nearest floats on both sides enclose it.
    below, above = float_down(theta), float_up(theta)
    attained = loss_sum(releases.attained())
    low = Fraction(float(attained.log_moment(np.array([below]))[0])) - Fraction(
        attained.log_moment_error(below)
    )
    high = log_moment_up(releases, Fraction(above))
    return Bounds(max(Fraction(0), low / theta), max(low, high) / theta, "renyi")


def epsilon_of_renyi(order: Real, divergence: Real, delta: Real) -> Fraction:
    """Return the epsilon, rounded up, that a divergence at one order gives at this delta."""
    a, r, d = _order(order), non_negative(divergence, "divergence"), probability(delta, "delta")
    bound = r + log_bounds(1 - 1 / a)[1] - log_bounds(d * a)[0] / (a - 1)
    return max(Fraction(0), bound)


def delta_of_renyi(order: Real, divergence: Real, epsilon: Real) -> Fraction:
    """Return the delta, rounded up, that a divergence at one order gives at this epsilon."""
    a, r, at = _order(order), non_negative(divergence, "divergence"), non_negative(epsilon, "epsilon")

    exponent = (a - 1) * (r - at + log_bounds(1 - 1 / a)[1]) - log_bounds(a)[0]
    return exp_up(exponent) if exponent < 0 else Fraction(1)


def _order(value: Real) -> Fraction:
    order = rational(value, "order")
    if order <= 1:
        raise ParameterError(f"the order of a Renyi divergence must be greater than 1, got {shown(value)}")
    return order
