"""Exact integration: against closed forms, against numerical quadrature, and certified signs."""

from fractions import Fraction
from itertools import pairwise
from itertools import product as cartesian
from math import exp, inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from discreet.verify.integrate import (
    UNIT,
    Inequality,
    LatticeLaw,
    TooHardError,
    add,
    enclosure,
    exponential,
    laplace,
    multiply,
    probability,
    sign,
    uniform,
)

small = st.fractions(min_value=-3, max_value=3, max_denominator=4)
scales = st.sampled_from([Fraction(1, 2), Fraction(1), Fraction(2), Fraction(3)])


def value(number):
    return float(enclosure(number).mid())


def test_the_whole_line_has_probability_one():
    event = [Inequality(Fraction(0), ((0, Fraction(1)), (1, Fraction(-1)))), Inequality(Fraction(0), ())]
    assert probability({0: laplace(Fraction(1)), 1: laplace(Fraction(1))}, event) == {
        Fraction(0): Fraction(1, 2)
    }
    assert probability({0: laplace(Fraction(2))}, []) == UNIT


def test_a_tail_is_what_the_textbook_says():
    assert probability({0: laplace(Fraction(2))}, [Inequality(Fraction(-3), ((0, Fraction(1)),))]) == {
        Fraction(-3, 2): Fraction(1, 2)
    }
    assert probability({0: exponential(Fraction(2))}, [Inequality(Fraction(-3), ((0, Fraction(1)),))]) == {
        Fraction(-3, 2): Fraction(1)
    }
    assert probability(
        {0: uniform(Fraction(0), Fraction(4))}, [Inequality(Fraction(-3), ((0, Fraction(1)),))]
    ) == {Fraction(0): Fraction(1, 4)}


@settings(deadline=None, max_examples=60)
@given(scales, scales, small, small)
def test_two_noises_agree_with_quadrature(a, b, shift, bound):
    """Pr[X + shift > Y and X < bound] by one numerical integral over X."""
    event = [
        Inequality(shift, ((0, Fraction(1)), (1, Fraction(-1)))),
        Inequality(bound, ((0, Fraction(-1)),)),
    ]
    exact = value(probability({0: laplace(a), 1: laplace(b)}, event))

    def density(x):
        return exp(-abs(x) / a) / (2 * a)

    def below(t):
        return exp(t / b) / 2 if t < 0 else 1 - exp(-t / b) / 2

    points = sorted({-float(shift), 0.0})
    numeric = 0.0
    edges = [-40.0, *[p for p in points if p < bound], float(bound)]
    for low, high in pairwise(edges):
        numeric += quad(lambda x: density(x) * below(x + float(shift)), low, high)[0]
    assert exact == pytest.approx(numeric, abs=1e-6)


@settings(deadline=None, max_examples=30)
@given(st.lists(small, min_size=2, max_size=4), scales)
def test_exactly_one_index_wins(means, scale):
    """The probabilities of "i is largest" add up to one: an identity between different integrals."""
    total = {}
    for winner in range(len(means)):
        event = [
            Inequality(means[winner] - means[i], ((winner, Fraction(1)), (i, Fraction(-1))))
            for i in range(len(means))
            if i != winner
        ]
        total = add(total, probability({i: laplace(scale) for i in range(len(means))}, event))
    assert total == UNIT


@settings(deadline=None, max_examples=30)
@given(st.lists(small, min_size=1, max_size=3), small)
def test_all_answers_of_a_threshold_test_add_up_to_one(queries, threshold):
    total = {}
    for answers in cartesian((True, False), repeat=len(queries)):
        event = []
        for place, (query, answer) in enumerate(zip(queries, answers, strict=True), start=1):
            side = 1 if answer else -1
            event.append(
                Inequality(side * (query - threshold), ((0, Fraction(-side)), (place, Fraction(side))))
            )
        total = add(total, probability({i: laplace(Fraction(i + 1)) for i in range(len(queries) + 1)}, event))
    assert total == UNIT


def test_bands_between_two_lines_are_integrated():
    """Pr[Y - 1 <= X <= 2 Y + 1] by simulation-free arithmetic on a fine grid."""
    event = [
        Inequality(Fraction(1), ((0, Fraction(1)), (1, Fraction(-1)))),
        Inequality(Fraction(1), ((0, Fraction(-1)), (1, Fraction(2)))),
    ]
    exact = value(probability({0: laplace(Fraction(1)), 1: laplace(Fraction(1))}, event))
    grid = np.arange(-30, 30, 0.01) + 0.005
    below = np.where(grid < 0, np.exp(grid) / 2, 1 - np.exp(-grid) / 2)

    def cdf(t):
        return np.where(t < 0, np.exp(np.minimum(t, 0)) / 2, 1 - np.exp(-np.maximum(t, 0)) / 2)

    assert below.shape == grid.shape
    mass = np.clip(cdf(2 * grid + 1) - cdf(grid - 1), 0, None) * np.exp(-np.abs(grid)) / 2
    assert exact == pytest.approx(float(mass.sum() * 0.01), abs=1e-4)


def test_what_cannot_be_integrated_is_refused():
    three = Inequality(Fraction(0), ((0, Fraction(1)), (1, Fraction(1)), (2, Fraction(1))))
    circle = [
        Inequality(Fraction(0), ((a, Fraction(1)), (b, Fraction(-1)))) for a, b in ((0, 1), (1, 2), (2, 0))
    ]
    laws = {i: laplace(Fraction(1)) for i in range(3)}
    for event in ([three], circle):
        with pytest.raises(TooHardError):
            probability(laws, event)


def test_signs_are_certified_even_when_floats_cancel():
    tiny = {
        Fraction(0): Fraction(1),
        Fraction(1, 10**9): Fraction(-1),
        Fraction(2, 10**9): Fraction(10**9, 10**9 + 1),
    }
    assert sign(add(multiply(tiny, tiny), multiply(tiny, tiny), -1)) == 0
    almost = {Fraction(1): Fraction(1), Fraction(0): -Fraction(271828182845904523536028747135, 10**29)}
    assert sign(almost) == 1
    assert (
        sign({Fraction(1): Fraction(-1), Fraction(0): Fraction(271828182845904523536028747136, 10**29)}) == 1
    )


@given(st.integers(-6, 6), st.integers(-6, 6), st.sampled_from([Fraction(1), Fraction(2), Fraction(1, 2)]))
def test_integer_masses_agree_with_the_definition(low, high, scale):
    law = LatticeLaw(scale)
    alpha = exp(-1 / scale)
    exact = value(law.between(low, high)) / (1 + alpha)
    direct = sum((1 - alpha) / (1 + alpha) * alpha ** abs(k) for k in range(low, high + 1))
    assert exact == pytest.approx(direct, abs=1e-12)
    assert value(law.above(low)) / (1 + alpha) <= 1 < inf
