"""The normal law on arrays against balls."""

import numpy as np
from flint import arb, ctx

from discreet.privacy.normal import bell, normal, scaled_tail
from discreet.privacy.steep import SteepGaussian, SteepLattice, suffix_sums


def _off(found, exact):
    """Return the largest relative error in units of 2**-53."""
    with ctx.workprec(200):
        gaps = [abs((arb(float(a)) - b) / b) for a, b in zip(found, exact, strict=True)]
        return max(float(gap) for gap in gaps) * 2.0**53


def test_mills_ratio_is_right_to_sixteen_units():
    x = np.concatenate([np.linspace(0, 40, 801), np.random.default_rng(1).uniform(0, 12, 400)])
    with ctx.workprec(400):
        exact = [(arb(float(v)) ** 2).exp() * arb(float(v)).erfc() for v in x]
    assert _off(scaled_tail(x), exact) < 16


def test_tails_of_the_normal_law_are_right_however_small():
    x = np.concatenate([np.linspace(-37, 8, 901), np.random.default_rng(2).uniform(-16, 0, 400)])
    with ctx.workprec(400):
        exact = [(-arb(float(v)) / arb(2).sqrt()).erfc() / 2 for v in x]
        bells = [(-(arb(float(v)) ** 2) / 2).exp() for v in x]
    assert _off(normal(x), exact) < 64
    assert _off(bell(x), bells) < 32


def test_curves_of_the_gaussian_keep_their_stated_error():
    for mu in (0.001, 0.05, 1.0, 4.0, 20.0):
        steep = SteepGaussian(mu)
        level = np.linspace(0, steep.end, 300)
        found, slip = steep.curve(level)
        with ctx.workprec(400):
            for value, room, at in zip(found, slip, level, strict=True):
                z = arb(float(at)) / arb(mu) + arb(mu) / 2
                below = arb(float(at)).exp() * (z / arb(2).sqrt()).erfc() / 2
                exact = ((z - arb(mu)) / arb(2).sqrt()).erfc() / 2 - below
                assert abs(arb(float(value)) - exact) < arb(float(room))


def test_tails_of_the_discrete_gaussian_keep_their_stated_error():
    from fractions import Fraction

    from discreet.exact.lattice_gaussian import gaussian_mass

    steep = SteepLattice(30.25, 3)
    level = np.linspace(-6, 6, 60)
    p, q = steep.above(level)
    m = [int(v) for v in np.ceil(1.5 - level * 30.25 / 3) - 1]
    with ctx.workprec(200):
        exact = [gaussian_mass(k, Fraction(121, 4)) for k in m]
        moved = [gaussian_mass(k - 3, Fraction(121, 4)) for k in m]
    assert _off(p, exact) * 2.0**-53 < steep.unit
    assert _off(q, moved) * 2.0**-53 < steep.unit


def test_suffix_sums_add_everything_from_a_place_on():
    values = np.random.default_rng(3).random(5000)
    assert np.allclose(suffix_sums(values), np.cumsum(values[::-1])[::-1], rtol=1e-13)
