"""Directed rounding: on the named side of the truth, close to it, and confirmed by a second library."""

from decimal import Decimal
from fractions import Fraction
from math import inf, isqrt, nan

import numpy as np
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st
from mpmath import iv

from discreet.errors import ParameterError
from discreet.exact.number import (
    _narrow,
    at_most,
    ball,
    certain,
    enclose,
    exp_bounds,
    exp_down,
    exp_up,
    float_down,
    float_up,
    least_integer,
    log_bounds,
    log_down,
    log_up,
    non_negative,
    positive,
    probability,
    rational,
    round_down,
    round_up,
    sqrt_down,
    sqrt_up,
    whole,
)

iv.prec = 400
numbers = st.fractions(min_value=-300, max_value=300)
positives = st.fractions(min_value=Fraction(1, 10**9), max_value=10**9)


def interval(x: Fraction):
    return iv.mpf(x.numerator) / iv.mpf(x.denominator)


def exact_ends(value) -> tuple[Fraction, Fraction]:
    def fraction(end) -> Fraction:
        sign, mantissa, exponent, _ = end
        return (-1) ** sign * Fraction(int(mantissa)) * Fraction(2) ** int(exponent)

    low, high = value._mpi_
    return fraction(low), fraction(high)


@given(
    st.integers(-(2**70), 2**70),
    st.integers(-90, 90),
    st.integers(0, 2**70),
    st.integers(-90, 90),
    st.integers(0, 80),
)
def test_an_enclosure_is_narrow_when_its_width_is_so_small_a_part_of_it(start, place, width, finer, bits):
    down = start * Fraction(2) ** place
    up = down + width * Fraction(2) ** finer
    assert _narrow(down, up, bits) == (up - down <= max(abs(down), abs(up)) / 2**bits)


@given(numbers)
def test_exponentials_bracket_mpmath_s(x):
    low, high = exact_ends(iv.exp(interval(x)))
    assert exp_down(x) <= high
    assert low <= exp_up(x)
    assert exp_down(x) <= exp_up(x) <= exp_down(x) * (1 + Fraction(1, 2**90))


@given(positives)
def test_logarithms_bracket_mpmath_s(x):
    low, high = exact_ends(iv.log(interval(x)))
    assert log_down(x) <= high
    assert low <= log_up(x)
    assert log_up(x) - log_down(x) <= Fraction(1, 2**80)


@given(st.fractions(min_value=0, max_value=10**9))
def test_roots_bracket_the_truth_by_squaring(x):
    assert sqrt_down(x) ** 2 <= x <= sqrt_up(x) ** 2
    assert sqrt_up(x) - sqrt_down(x) <= max(sqrt_up(x), Fraction(1, 10**9)) / 2**60


@given(st.integers(0, 10**6), st.integers(1, 10**6))
def test_the_root_of_a_square_is_exact(a, b):
    x = Fraction(a, b)
    assert sqrt_down(x * x) == x == sqrt_up(x * x)


def test_a_sloppy_exponential_is_caught_by_the_same_comparison():
    low, _ = exact_ends(iv.exp(interval(Fraction(1, 3))))
    truncated = round_down(exp_down(Fraction(1, 3)), 20)
    assert not low <= truncated


def test_exponents_beyond_reason_are_refused_or_bounded():
    with pytest.raises(ParameterError, match="too large"):
        exp_up(Fraction(2**21))
    assert exp_down(Fraction(-(2**21))) == 0
    assert exp_up(Fraction(-(2**21))) > 0


@given(st.fractions(), st.integers(0, 40))
def test_rounding_to_a_grid_goes_the_way_its_name_says(x, bits):
    assert round_down(x, bits) <= x <= round_up(x, bits)
    assert round_up(x, bits) - round_down(x, bits) <= Fraction(1, 2**bits)


@given(st.fractions(min_value=-(10**300), max_value=10**300))
def test_floats_for_display_bracket_the_value(x):
    assert Fraction(float_down(x)) <= x <= Fraction(float_up(x))


def test_zero_is_shown_without_a_sign():
    assert str(float_down(Fraction(0))) == "0.0"


def test_a_value_too_large_for_a_float_is_shown_as_infinite():
    assert float_up(Fraction(10**400)) == inf


@pytest.mark.parametrize(
    ("given_value", "meant"),
    [
        (0.1, Fraction(1, 10)),
        ("1e-9", Fraction(1, 10**9)),
        ("1/3", Fraction(1, 3)),
        (" 2.50 ", Fraction(5, 2)),
        (Decimal("0.3"), Fraction(3, 10)),
        (7, Fraction(7)),
        (np.int64(7), Fraction(7)),
        (np.float64(0.2), Fraction(1, 5)),
        (np.float32(0.5), Fraction(1, 2)),
        (1e22, Fraction(10**22)),
    ],
)
def test_a_number_means_what_it_looks_like(given_value, meant):
    assert rational(given_value) == meant


@pytest.mark.parametrize(
    "value",
    [
        *(nan, inf, -inf, True, None, "", "abc", "1/0", Decimal("Infinity"), [1], 1j),
        # What only Python would read as a number, or would glue together.
        *(
            "1_0",
            "1_0/3",
            "0.0_1",
            "1e1_0",
            "\uff11",
            "\u0661",
            "1\u0660",
            "1e\uff11",
            "0.00 1",
            "1 / 2",
            "1,5",
        ),
        *("\u20071", "1\u00a0", "\x1c1", "0x10", "1.5f", "--1", "1e", "."),
    ],
)
def test_what_is_not_a_finite_number_is_refused_by_name(value):
    with pytest.raises(ParameterError, match="epsilon must be a finite number"):
        rational(value, "epsilon")


def test_ranges_are_checked_by_name():
    for check, bad in [(positive, 0), (non_negative, -1), (probability, 1), (probability, 0), (whole, "1/2")]:
        with pytest.raises(ParameterError, match="delta"):
            check(bad, "delta")


def test_comparisons_are_decided_and_ties_are_cautious():
    assert at_most(lambda: ball(Fraction(1, 3)), Fraction(1, 3) + Fraction(1, 2**200))
    assert not at_most(lambda: ball(Fraction(1, 3)), Fraction(1, 3) - Fraction(1, 2**200))
    assert at_most(lambda: arb(2), Fraction(2))
    # An irrational expression equal to its bound cannot be told from one just above it.
    assert not at_most(lambda: arb(2).sqrt() ** 2, Fraction(2), limit=512)


@given(st.integers(-1000, 1000), st.integers(-2000, 2000), st.integers(-500, 0))
def test_the_least_integer_is_found_from_any_guess(truth, guess, lowest):
    assert least_integer(lambda k: k >= truth, guess, lowest) == max(truth, lowest)


def test_enclosures_are_as_narrow_as_asked():
    low, high = enclose(lambda: arb.pi(), 500)
    assert (high - low) <= high / 2**500
    wide_low, wide_high = certain(lambda: arb(1).union(arb(2)))
    assert wide_low <= 1
    assert wide_high >= 2


def test_bounds_pairs_agree_with_their_sides():
    x = Fraction(5, 7)
    assert exp_bounds(x) == (exp_down(x), exp_up(x))
    assert log_bounds(x) == (log_down(x), log_up(x))
    assert isqrt(10) == 3
