"""Traps: programs on which a careless rule would prove too much, or refute too much."""

from fractions import Fraction
from math import exp

import pytest
from tests.verify.shapes import on_list

from discreet.errors import ProgramError
from discreet.verify import Proved, Refuted, Unknown, parse, verify
from discreet.verify.explore import paths
from discreet.verify.prove import NoProof, prove
from discreet.verify.refute import OutputEvent, Predicate, bounds, mass

UNPROVABLE = {
    "a private branch that decides whether to draw": on_list(
        "one by 1", "y := 0.0", "if q[0] > 0 then", "  y := $ Laplace(1/eps, q[0])", "return y"
    ),
    "an empty second list opens a back door": """
P (a : private real list) (b : private real list) : public real
  neighbours a one by 1
  neighbours b one by 1
  requires size(a) >= 1
  ensures epsilon eps
  y := 0.0
  if size(b) = 0 then
    y := a[0]
  return y
""",
    "the counter of a walk jumps over the element that may be missing": """
P (d : private real list) : public real
  neighbours d add-remove in [0, 1]
  ensures epsilon eps
  i := 0; s := 0.0
  while i < size(d)
    s := s + d[i]
    i := i + 2
  z := $ Laplace(1/eps, s)
  return z
""",
    "a walk that ends early depends on where the extra element was": """
P (d : private real list) : public real
  neighbours d add-remove in [0, 1]
  ensures epsilon eps
  i := 0; s := 0.0
  while i < size(d)
    if i < 3 then
      s := s + d[i]
    i := i + 1
  z := $ Laplace(1/eps, s)
  return (z, i)
""",
    "the length of the list is released": """
P (d : private real list) : public int
  neighbours d add-remove in [0, 1]
  ensures epsilon eps
  i := 0
  while i < size(d)
    i := i + 1
  return i
""",
    "a loop whose length depends on private data": on_list(
        "replace",
        "i := 0; r := []",
        "while i < q[0]",
        "  z := $ Laplace(1/eps)",
        "  r := r ++ [z]",
        "  i := i + 1",
        "return r",
        of="{0,1}",
        gives="real list",
        claim="epsilon 10 * eps",
    ),
    "integer noise for real data": on_list("one by 1", "z := $ Geometric(1/eps)", "return q[0] + z"),
    "exponential noise that would have to move down": on_list(
        "one by 1", "z := $ Exponential(1/eps)", "return q[0] + z"
    ),
    "division by a private number": on_list(
        "one by 1", "z := $ Laplace(1/eps)", "y := 1 / q[0]", "return z > 0", gives="bool"
    ),
    "reading at a private place": """
P (q : private {0..3} list) (t : public real list) : public real
  neighbours q replace
  requires size(q) >= 1
  requires size(t) = 4
  ensures epsilon eps
  z := $ Laplace(1/eps)
  return t[q[0]] + z
""",
    "a claim of secrecy with a key that is used twice": """
P (m : private msg) (n : private msg) : public msg
  ensures secret
  k := $ Uniform({0,1}^n)
  a := m xor k
  b := n xor k
  return (a, b)
""",
    "Gaussian noise under a private branch": on_list(
        "one by 1",
        "z := $ Gaussian(1, q[0])",
        "y := 0.0",
        "if q[0] + z > 0 then",
        "  y := 1.0",
        "return y",
        claim="rho 1/2",
    ),
    "Gaussian noise with half the variance": on_list(
        "one by 1", "z := $ Gaussian(1, q[0])", "return z", claim="rho 1/4"
    ),
    "a scale that shrinks while the loop runs": on_list(
        "one by 1",
        "i := 0; b := 1.0; r := []",
        "while i < size(q)",
        "  z := $ Laplace(b/eps)",
        "  r := r ++ [q[i] + z]",
        "  b := b / 2",
        "  i := i + 1",
        "return r",
        gives="real list",
        requires="",
    ),
    "assumptions that nothing satisfies": """
P (q : private real list) : public real
  neighbours q one by 1
  requires size(q) >= 1
  requires size(q) <= 0
  ensures epsilon eps
  return q[0]
""",
}


@pytest.mark.parametrize("trap", UNPROVABLE)
def test_a_trap_is_never_proved(trap):
    assert isinstance(prove(parse(UNPROVABLE[trap]), 4.0), NoProof)


def test_a_list_that_starts_twice_is_refused():
    """Its k-th element would mean two things, and assumptions about both would contradict each other."""
    text = on_list(
        "one by 1",
        "r := []",
        "r := r ++ [true]",
        "r := []",
        "r := r ++ [q[0] > 0]",
        "return r",
        gives="bool list",
        requires="",
    )
    with pytest.raises(ProgramError, match="must start once"):
        parse(text)


def test_an_integer_noise_can_hit_a_point():
    """Pr[z = 0] = (1 - a) / (1 + a), a = exp(-1): treating z as continuous would make it zero."""
    checked = parse("P (x : private {0,1}) : public int\n  z := $ Geometric(1/eps, x)\n  return z\n")
    law = list(paths(checked, {"x": 0, "eps": Fraction(1)}))
    low, high = bounds(mass(law, OutputEvent((None,), (Predicate("=", 0),))))
    assert low <= high
    assert float(low) == pytest.approx((1 - exp(-1)) / (1 + exp(-1)))


@pytest.mark.parametrize(
    ("bound", "sensitivity", "verdict"), [("1", "1", Proved), ("2", "1", Refuted), ("B", "B", Proved)]
)
def test_the_distance_of_the_neighbours_matters(bound, sensitivity, verdict):
    text = f"""
P (q : private real list) : public real
  neighbours q one by {bound}
  requires size(q) >= 1
  requires {"B > 0" if bound == "B" else "eps > 0"}
  ensures epsilon eps
  z := $ Laplace({sensitivity}/eps, q[0])
  return z
"""
    assert isinstance(verify(text), verdict)


def test_post_processing_is_free():
    text = on_list(
        "one by 1",
        "z := $ Laplace(1/eps, q[0])",
        "y := 0.0",
        "if z > 5 then",
        "  y := 2 * z + 1",
        "else",
        "  y := -z",
        "return (y, z > 3)",
    )
    assert isinstance(verify(text), Proved)


@pytest.mark.fuzz
def test_no_alignment_is_not_a_refutation():
    """Adding independent noise twice is private, but no single draw pays for it in this template."""
    text = on_list(
        "one by 1",
        "y := $ Laplace(2/eps)",
        "z := $ Laplace(2/eps)",
        "x := y * z",
        "w := $ Laplace(1/eps, q[0])",
        "return w + x",
    )
    assert not isinstance(verify(text, seconds=6), Refuted)


def test_a_program_without_a_claim_is_unknown():
    verdict = verify("P (x : private real) : real\n  neighbours x one by 1\n  return x\n")
    assert isinstance(verdict, Unknown)
    assert "claims nothing" in verdict.reason


def test_a_private_input_without_neighbours_is_unknown_with_its_place():
    verdict = verify("P (x : private real) : real\n  ensures epsilon eps\n  return x\n", seconds=2)
    assert isinstance(verdict, Unknown)
    assert "line 1, column 4: say how x may differ" in verdict.reason
