"""The interpreter's exact draws, and refuting by running when nothing else is possible."""

from collections import Counter
from fractions import Fraction
from math import exp

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta

from discreet.errors import ParameterError, ProgramError
from discreet.exact.coins import source
from discreet.verify import parse, run
from discreet.verify.run import one_sided, respond, two_sided
from discreet.verify.sampled import lower_bound, refute_by_sampling, upper_bound

RUNS = 8_000
# Six and a half standard errors: a false alarm less than once in 10**10 draws of the whole test.
SLACK = 6.5 * 0.5 / RUNS**0.5


def frequency(draw, outcome):
    return sum(draw() == outcome for _ in range(RUNS)) / RUNS


@pytest.mark.parametrize(
    "rate", [pytest.param(Fraction(1), marks=pytest.mark.fuzz), Fraction(2, 3), Fraction(5, 2)]
)
def test_geometric_draws_have_their_law(rate):
    coins = source()
    alpha = exp(-rate)
    counts = Counter(two_sided(rate, coins) for _ in range(RUNS))
    for k in (-1, 0, 1, 2):
        assert abs(counts[k] / RUNS - (1 - alpha) / (1 + alpha) * alpha ** abs(k)) < SLACK
    assert abs(frequency(lambda: one_sided(rate, coins), 0) - (1 - alpha)) < SLACK


@pytest.mark.parametrize("logit", [Fraction(1), Fraction(-1, 2), Fraction(0)])
def test_responses_have_their_odds(logit):
    coins = source()
    assert abs(frequency(lambda: respond(logit, coins), True) - 1 / (1 + exp(-logit))) < SLACK


@given(st.integers(0, 60), st.sampled_from([Fraction(1, 20), Fraction(1, 10**6)]))
@settings(max_examples=40, deadline=None)
def test_clopper_pearson_bounds_agree_with_another_implementation(hits, error):
    assert float(upper_bound(hits, 60, error)) == pytest.approx(
        1.0 if hits == 60 else beta.ppf(1 - float(error), hits + 1, 60 - hits), abs=1e-6
    )
    assert float(lower_bound(hits, 60, error)) == pytest.approx(
        0.0 if hits == 0 else beta.ppf(float(error), hits, 61 - hits), abs=1e-6
    )


HARD = """
Product (q : private real list) : public bool
  neighbours q one by 1
  requires size(q) >= 1
  ensures epsilon {claim}
  y := $ Laplace(1/8)
  z := $ Laplace(1/8)
  return 10 * q[0] + y * z > 5
"""


def test_a_blatant_leak_is_found_by_sampling_and_labelled_so():
    witness = refute_by_sampling(parse(HARD.format(claim="eps")), 400)
    assert witness is not None
    assert witness.method == "sampled"
    assert witness.confidence == 1 - Fraction(1, 10**9)
    assert witness.loss > 1


def test_a_private_program_is_not_refuted_by_sampling():
    assert refute_by_sampling(parse(HARD.format(claim="60 * eps")), 200) is None


def test_missing_and_unknown_inputs_are_named():
    text = "P (x : public real) : real\n  return x\n"
    with pytest.raises(ParameterError, match="needs a value for eps"):
        run(text, x=1)
    with pytest.raises(ParameterError, match="no parameter y"):
        run(text, x=1, y=2, eps=1)
    with pytest.raises(ParameterError, match="header says x <= 1"):
        run("P (x : private {0,1}) : int\n  return x\n", x=2, eps=1)


def test_a_scale_that_is_not_positive_is_an_error():
    with pytest.raises(ProgramError, match="Laplace: the scale must be positive"):
        run("P (x : public real) : real\n  z := $ Laplace(x)\n  return z\n", x=0, eps=1)


def test_a_coin_chooses_what_is_appended_and_where():
    text = (
        "P (x : private int) : public int list\n  neighbours x one by 1\n  ensures epsilon eps\n"
        "  r := []; s := []\n"
        "  b := $ Bernoulli(1)\n"
        "  if b then\n    r := r ++ [x]\n  else\n    r := r ++ [0 - x]\n"
        "  if not b then\n    r := r ++ [1]\n  else\n    r := r ++ [2]\n"
        "  if not b then\n    r := r ++ [3]\n  else\n    s := s ++ [4]\n"
        "  return r\n"
    )
    assert run(text, x=7, eps=1) == [7, 2]


ROWS = """
P (q : private int[2] list) (j : public int)
  neighbours q one by 1
  s := 0; i := 0
  while i < size q
    s := s + q[i][j]
    i := i + 1
  return (s, size(q))
"""


def test_a_list_of_rows_is_read_by_row_and_entry():
    rows = [(1, 20), (2, 30), [3, 40]]
    assert run(ROWS, q=rows, j=0, eps=1) == (6, 3)
    assert run(ROWS, q=rows, j=1, eps=1) == (90, 3)
    for entry in (-1, 2):
        with pytest.raises(ProgramError, match="outside its bounds"):
            run(ROWS, q=rows, j=entry, eps=1)
    with pytest.raises(ParameterError, match="must have 2 entries"):
        run(ROWS, q=[(1, 2), (3,)], j=0, eps=1)


CHANGED = """
P (q : public int list) (k : public int) : public int list
  a := []; i := 0
  while i < size q
    a := a ++ [q[i]]
    i := i + 1
  a[k] := a[k] + 10
  return a
"""


def test_a_list_is_changed_where_it_has_an_element():
    given = [1, 2, 3]
    assert run(CHANGED, q=given, k=2, eps=1) == [1, 2, 13]
    assert given == [1, 2, 3]
    outside = CHANGED.replace("a[k] := a[k] + 10", "a[k] := 10")
    for place in (-1, 3):
        with pytest.raises(ProgramError, match="changed outside its bounds"):
            run(outside, q=given, k=place, eps=1)
