"""The prover alone, without the kernel behind it: a program that fails by one obligation is not proved."""

import pytest
from tests.verify.shapes import on_list

from discreet.verify import parse
from discreet.verify.prove import NoProof, prove

TRAPS = {
    "the invariant fails on entry": """
P (x : private real) (k : public {0..5}) : public real
  neighbours x one by 1
  ensures epsilon eps
  y := x; i := 0
  while i < k
    y := 0.0
    i := i + 1
  return y
""",
    "the invariant is not preserved": """
P (x : private real) (k : public {0..5}) : public real
  neighbours x one by 1
  ensures epsilon eps
  y := 0.0; i := 0
  while i < k
    y := y + x
    i := i + 1
  return y
""",
    "the price is a little too high": on_list("one by 1", "z := $ Laplace(9/(10*eps), q[0])", "return z"),
    "the prices of two draws add up": on_list(
        "one by 1", "y := $ Laplace(1/eps, q[0])", "z := $ Laplace(1/eps, q[0])", "return (y, z)"
    ),
    "the prices of all turns add up": on_list(
        "all by 1",
        "i := 0; r := []",
        "while i < size q",
        "  z := $ Laplace(1/eps, q[i])",
        "  r := r ++ [z]",
        "  i := i + 1",
        "return r",
        gives="real list",
    ),
    "an integer list may change by more than one": on_list(
        "one by 2", "z := $ Laplace(1/eps, q[0])", "return z", of="int"
    ),
    "a replaced number has no bound": on_list("replace", "z := $ Laplace(1/eps, q[0])", "return z"),
    "an interval is wider than the noise": on_list(
        "replace in [0, 3]", "z := $ Laplace(2/eps, q[0])", "return z"
    ),
    "the range of a type is wider than the noise": on_list(
        "replace", "z := $ Laplace(2/eps, q[0])", "return z", of="{0..3}"
    ),
    "one-sided noise hides one direction only": on_list(
        "monotone by 1", "z := $ Exponential(1/eps)", "return q[0] + z"
    ),
    "one-sided noise hides the other direction only": on_list(
        "monotone by 1", "z := $ Exponential(1/eps)", "return z - q[0]"
    ),
    "directions of two lists are independent": """
P (p : private real list) (q : private real list) : public real
  neighbours p monotone by 1
  neighbours q monotone by 1
  requires size(p) = 1
  requires size(q) = 1
  ensures epsilon eps
  z := $ Laplace(1/eps, p[0] - q[0])
  return z
""",
    "a scale may be negative": """
P (x : private real) (k : public real) : public real
  neighbours x one by 1
  ensures epsilon 1/k
  z := $ Laplace(k, x)
  return z
""",
    "an interval may be empty": """
P (x : private real) (k : public real) : public real
  neighbours x one by 1
  ensures epsilon eps
  u := $ Uniform(0, k)
  return x
""",
    "an interval is backwards": """
P (x : private real) (k : public real) : public real
  neighbours x one by 1
  ensures epsilon eps
  u := $ Uniform(1, 0)
  return x
""",
    "a probability is three": """
P (x : private real) (k : public real) : public real
  neighbours x one by 1
  ensures epsilon eps
  b := $ Bernoulli(k)
  return 1
""",
    "nothing can be chosen": on_list("all by 1", "b := $ ExpMech(eps/2, q)", "return 1", requires=""),
    "a choice costs twice its rate": on_list("all by 1", "b := $ ExpMech(eps, q)", "return b"),
    "a private branch is no public value": on_list(
        "one by 1", "y := 0", "if q[0] > 0 then", "  y := 1", "return y"
    ),
    "a private length": on_list("any", "return size(q)"),
    "a query without noise": """
P (d : private data) (f : data -> real) : public real
  neighbours d one by 1
  ensures epsilon eps
  return f(d)
""",
    "a query that is kept in a variable": """
P (d : private data) (f : data -> real) : public real
  neighbours d one by 1
  ensures epsilon eps
  y := f(d)
  return y
""",
    "an interval is empty where the program leaks": """
P (x : private real) (k : public real) : public real
  neighbours x one by 1
  ensures epsilon eps
  y := 0.0
  if k < 0 then
    y := x
  u := $ Uniform(0, k)
  return y
""",
    "a choice among none where the program leaks": """
P (q : private real list) (x : private real) : public real
  neighbours q all by 1
  neighbours x one by 1
  ensures epsilon eps
  y := 0.0
  if size(q) = 0 then
    y := x
  j := $ ExpMech(eps/2, q)
  return y
""",
    "a probability of three is never used": """
P (x : private real) : public int
  neighbours x one by 1
  ensures epsilon eps
  b := $ Bernoulli(3)
  return 0
""",
    "one draw moves up and another down": """
P (x : private real) : public real
  neighbours x one by 1
  ensures epsilon eps
  y := $ Laplace(1/eps, x)
  z := $ Laplace(1/eps, -x)
  return (y, z)
""",
    "integer noise hides no real number": """
P (x : private real) : public real
  neighbours x one by 1
  ensures epsilon eps
  z := $ Geometric(1/eps)
  return x + z
""",
    "a query with too little noise": """
P (d : private data) (f : data -> real) : public real
  neighbours d one by 1
  ensures epsilon eps
  z := $ Laplace(GSf/(2*eps), f(d))
  return z
""",
    "a division that may have no value": """
P (x : private real) (k : public int) : public real
  neighbours x one by 1
  ensures epsilon eps
  z := $ Laplace(1/eps, x)
  return z / k
""",
    "a remainder that may have no value": """
P (x : private real) (k : public int) : public int
  neighbours x one by 1
  requires k < 0
  ensures epsilon eps
  return 5 mod k
""",
    "a list may be too short": on_list("one by 1", "z := $ Laplace(1/eps, q[1])", "return z"),
    "an element before the first": on_list("one by 1", "z := $ Laplace(1/eps, q[0 - 1])", "return z"),
    "centres further apart than paid for": """
P (x : private real) : public real
  neighbours x one by 2
  ensures rho 1
  z := $ Gaussian(1, x)
  return z
""",
    "a response twice as honest as claimed": """
P (x : private {0,1}) (k : public real) : public int
  requires k > 0
  ensures epsilon eps
  h := $ Response(2*eps)
  y := x
  if not h then
    y := 1 - x
  return y
""",
    "a claim about a length that the runs disagree on": """
P (d : private real list) : public real
  neighbours d add-remove in [0, 1]
  requires size(d) >= 1
  ensures epsilon (size(d) - 1) * eps
  s := 0.0; i := 0
  while i < size(d)
    s := s + d[i]
    i := i + 1
  z := $ Laplace(1/eps, s)
  return z
""",
    "contradictory assumptions": """
P (q : private real list) : public real
  neighbours q one by 1
  requires size(q) >= 1
  requires size(q) <= 0
  ensures epsilon eps
  return 1
""",
    "an empty interval of data": on_list("replace in [1, 0]", "return 1"),
}


@pytest.mark.parametrize("trap", TRAPS)
def test_a_program_that_fails_by_one_obligation_is_not_proved(trap):
    assert isinstance(prove(parse(TRAPS[trap]), 1.5), NoProof)


SOUND = {
    "the same with enough noise": on_list("one by 1", "z := $ Laplace(1/eps, q[0])", "return z"),
    "the range of a type": on_list("replace", "z := $ Laplace(3/eps, q[0])", "return z", of="{0..3}"),
    "the interval of a clause": on_list("replace in [0, 3]", "z := $ Laplace(3/eps, q[0])", "return z"),
    "one direction": on_list("monotone by 1", "z := $ Laplace(1/eps, q[0])", "return z"),
    "an interval that is not empty": """
P (x : private real) (k : public {1..3}) : public real
  neighbours x one by 1
  ensures epsilon eps
  u := $ Uniform(0, k)
  return u
""",
    "a list of zeros": """
P (x : private real) (t : public {0..0} list) : public real
  neighbours x one by 1
  requires size(t) = 1
  ensures epsilon eps
  return t[0] * x
""",
}


@pytest.mark.parametrize("name", SOUND)
def test_what_the_traps_are_made_from_is_proved(name):
    """So no trap is refused for a reason of its own."""
    assert not isinstance(prove(parse(SOUND[name]), 5.0), NoProof)
