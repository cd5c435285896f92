"""Finite mechanisms are decided for all eps at once."""

from fractions import Fraction
from math import comb, exp, isclose, log

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.verify import Proved, Refuted, epsilon_distance, is_private, parse, verify, worst_ratio
from discreet.verify.finite import NotFiniteError, decide
from discreet.verify.positive import negative_beyond_one

MAJORITY = """
Majority (d : private {{0,1}} list) : public bool
  neighbours d replace
  requires size(d) = 4
  ensures epsilon {claim}
  i := 0; c := 0
  while i < size(d)
    c := c + d[i]
    i := i + 1
  x := $ Response(eps*(2*c - 4)/{divisor})
  return x
"""
CHOICE = """
Choose (u : private {{0..2}} list) : public int
  neighbours u {relation}
  requires size(u) = 3
  ensures epsilon {claim}
  best := $ ExpMech({rate}, u)
  return best
"""


def value(coefficients, x):
    return sum(c * x**k for k, c in enumerate(coefficients))


@settings(deadline=None, max_examples=200)
@given(st.lists(st.integers(-6, 6), min_size=1, max_size=7))
def test_a_polynomial_is_negative_beyond_one_exactly_when_a_point_shows_it(coefficients):
    numbers = [Fraction(c) for c in coefficients]
    point = negative_beyond_one(numbers)
    if point is None:
        # A fine net beyond 1 finds no negative value either.
        top = len(coefficients) - 1
        scaled = [c * 100 ** (top - k) for k, c in enumerate(coefficients)]
        assert all(value(scaled, 100 + k) >= 0 for k in range(1, 2000, 7))
        assert all(value(coefficients, 2**k) >= 0 for k in range(1, 12))
    else:
        assert point > 1
        assert value(numbers, point) < 0


@settings(deadline=None, max_examples=60)
@given(st.lists(st.fractions(min_value=-2, max_value=4, max_denominator=8), min_size=1, max_size=4))
def test_squares_are_never_called_negative(roots):
    """A product of (x - r)**2 touches zero without crossing it."""
    coefficients = [Fraction(1)]
    for root in [r for r in roots for _ in range(2)]:
        longer = [Fraction(0), *coefficients]
        for k, c in enumerate(coefficients):
            longer[k] -= root * c
        coefficients = longer
    assert negative_beyond_one(coefficients) is None
    beyond = max((r for r in roots if r > 1), default=None)
    if beyond is not None:
        lowered = [coefficients[0] - Fraction(1, 10**9), *coefficients[1:]]
        assert negative_beyond_one(lowered) is not None


def test_the_exponential_mechanism_costs_exactly_twice_its_rate():
    holds = decide(parse(CHOICE.format(relation="all by 1", claim="eps", rate="eps/2")))
    assert holds.holds
    assert holds.inequalities > 900
    fails = decide(parse(CHOICE.format(relation="all by 1", claim="9*eps/10", rate="eps/2")))
    assert not fails.holds


def test_one_changing_score_costs_only_the_rate():
    assert decide(parse(CHOICE.format(relation="one by 1", claim="eps/2", rate="eps/2"))).holds
    assert not decide(parse(CHOICE.format(relation="one by 1", claim="49*eps/100", rate="eps/2"))).holds


def test_a_response_with_data_dependent_odds_is_decided():
    assert isinstance(verify(MAJORITY.format(claim="eps/2", divisor=4)), Proved)
    refuted = verify(MAJORITY.format(claim="eps/4", divisor=4))
    assert isinstance(refuted, Refuted)
    assert refuted.witness.loss > refuted.witness.epsilon


def test_a_delta_is_decided_at_a_given_epsilon():
    text = """
Leaky (x : private {{0,1}}) : public int
  neighbours x replace
  requires eps = 1
  ensures epsilon 0 delta {delta}
  leak := $ Bernoulli(1/10)
  if leak then
    y := x
  else
    y := 2
  return y
"""
    assert decide(parse(text.format(delta="1/10"))).holds
    assert not decide(parse(text.format(delta="99/1000"))).holds
    witness = verify(text.format(delta="99/1000")).witness
    low, high = witness.first_probability
    assert low <= Fraction(1, 10) <= high
    assert witness.second_probability == (Fraction(0), Fraction(0))
    assert witness.delta == Fraction(99, 1000)


def test_secrecy_is_decided():
    text = """
Shift (m : private {0..4}) : public int
  neighbours m replace
  ensures secret
  k := $ Uniform({0..4})
  c := (m + k) mod 5
  return c
"""
    assert decide(parse(text)).holds
    assert not decide(parse(text.replace("{0..4})\n  c", "{0..3})\n  c"))).holds


def test_what_is_not_finite_says_so():
    text = "P (x : private {0,1}) : real\n  ensures epsilon eps\n  z := $ Laplace(1/eps, x)\n  return z\n"
    with pytest.raises(NotFiniteError, match="infinitely many"):
        decide(parse(text))


def response(bits, x):
    """The table of randomized response on several bits, with odds x : 1."""
    inputs = range(2**bits)
    table = {}
    for a in inputs:
        table[a] = {b: Fraction(x ** (bits - (a ^ b).bit_count()), (1 + x) ** bits) for b in inputs}
    return table, [(a, a ^ (1 << k)) for a in inputs for k in range(bits)]


def test_tables_have_the_ratio_that_theory_says():
    table, pairs = response(3, 3)
    assert worst_ratio(table, pairs) == 3
    assert is_private(table, pairs, Fraction(11, 10))
    assert not is_private(table, pairs, Fraction(109, 100))
    assert worst_ratio({0: {0: Fraction(1)}, 1: {1: Fraction(1)}}, [(0, 1)]) is None


@given(st.integers(1, 6), st.integers(1, 4))
def test_the_epsilon_distance_is_attained_by_an_event(n, x):
    """Compare with the maximum over all events, one by one."""
    p = {k: Fraction(comb(n, k), 2**n) for k in range(n + 1)}
    q = {k: Fraction(1, n + 1) for k in range(n + 1)}
    epsilon = Fraction(x, 4)
    low, high = epsilon_distance(p, q, epsilon)
    best = 0.0
    for mask in range(2 ** (n + 1)):
        event = [k for k in range(n + 1) if mask >> k & 1]
        a, b = float(sum(p[k] for k in event)), float(sum(q[k] for k in event))
        best = max(best, a - exp(epsilon) * b, b - exp(epsilon) * a)
    assert isclose(float(low), best, abs_tol=1e-9)
    assert 0 <= high - low < Fraction(1, 2**60)


def test_epsilon_distance_refuses_a_negative_epsilon():
    with pytest.raises(ParameterError):
        epsilon_distance({0: Fraction(1)}, {0: Fraction(1)}, Fraction(-1))


def test_log_three_is_the_price_of_two_fair_coins():
    table = {0: {0: Fraction(3, 4), 1: Fraction(1, 4)}, 1: {0: Fraction(1, 4), 1: Fraction(3, 4)}}
    assert isclose(log(worst_ratio(table, [(0, 1)])), log(3))
