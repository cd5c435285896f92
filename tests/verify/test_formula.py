"""Neighbours by formula: one meaning for prover, refuter, interpreter, kernel and oracle."""

import random
from fractions import Fraction

import pytest
from tests.verify import oracle

from discreet.errors import CertificateError, ProgramError
from discreet.verify import Proved, Refuted, check_certificate, parse, verify
from discreet.verify.parse import parse_file
from discreet.verify.relate import are_neighbours

TWO = """
P (x : private {{0..3}}) (y : private {{0..3}}) : public int
  neighbours by {formula}
  ensures epsilon eps
  z := $ Geometric({scale}/eps, x)
  return z
"""
PAIRS = {
    "abs(x{1} - x{2}) + abs(y{1} - y{2}) <= 1": [((0, 0), (0, 1), True), ((0, 0), (1, 1), False)],
    "x{1} + 1 = x{2}": [((0, 0), (1, 3), True), ((1, 3), (0, 0), True), ((0, 0), (0, 0), False)],
    "x{1} / (y{1} - 1) = x{2}": [((2, 2), (2, 1), False), ((2, 2), (2, 2), True), ((1, 1), (1, 1), False)],
    "x{1} = x{2} or y{1} = y{2} and x{1} >= 2": [((0, 0), (0, 3), True), ((0, 1), (2, 1), True)],
}


@pytest.mark.parametrize(
    ("formula", "one", "two", "truth"), [(f, *pair) for f, pairs in PAIRS.items() for pair in pairs]
)
def test_a_formula_means_the_same_to_the_verifier_and_to_the_oracle(formula, one, two, truth):
    text = TWO.format(formula=formula, scale=3)
    program = parse_file(text)[-1]
    for first, second in ((one, two), (two, one)):
        pair = [{"x": Fraction(x), "y": Fraction(y), "eps": Fraction(1)} for x, y in (first, second)]
        assert oracle.are_neighbours(program, *pair) == truth
        given = [{"x": x, "y": y, "eps": Fraction(1)} for x, y in (first, second)]
        assert are_neighbours(parse(text), *given) == truth


@pytest.mark.parametrize(
    ("formula", "scale", "private"),
    [
        ("abs(x{1} - x{2}) <= 2", 2, True),
        ("abs(x{1} - x{2}) <= 2", 1, False),
        ("x{1} = x{2} + 3", 2, False),
        pytest.param("x{1} <= x{2} and x{2} <= x{1} + 1", 1, True, marks=pytest.mark.fuzz),
        pytest.param("x{1} = x{2} + 3", 3, True, marks=pytest.mark.fuzz),
        ("(x{1} <= 1 or x{2} >= 1) and x{1} - x{2} <= 1", 1, False),
    ],
)
def test_verdicts_about_formulas_hold_against_the_oracle(formula, scale, private):
    text = TWO.format(formula=formula, scale=scale)
    verdict = verify(text, seconds=5)
    assert isinstance(verdict, Proved if private else Refuted), verdict
    found = oracle.attack(parse_file(text), random.Random(1), pairs=20, spread=8, epsilons=(Fraction(1),))
    assert private == (found is None)


def test_a_certificate_says_for_which_neighbours_it_holds():
    text = TWO.format(formula="abs(x{1} - x{2}) <= 2", scale=2)
    certificate = verify(text, seconds=5).certificate
    assert certificate.neighbours[-1].startswith("by abs(x{1} - x{2}) <= 2, in either order")
    with pytest.raises(CertificateError, match="another program"):
        check_certificate(text.replace("<= 2", "<= 3"), certificate)


@pytest.mark.parametrize(
    ("clause", "message"),
    [
        ("neighbours by x{1} = z{2}", "z is public"),
        ("neighbours by x = y{1}", "say in which run"),
        ("neighbours by x{1} + y{2}", "bool is needed"),
        ("neighbours by x{3} = 1", "{1} or {2}"),
        ("neighbours by q{1}[x{1}] = 0", "a number here"),
        ("neighbours by q[0] = 0", "say in which run q"),
        ("neighbours by exp(x{1}) = 1", "exact value"),
        ("neighbours by x{1} = 1; neighbours by y{2} = 1", "join the two"),
        ("requires x{1} = 1", "expected"),
    ],
)
def test_a_formula_that_has_no_meaning_is_refused(clause, message):
    head = (
        "P (x : private int) (y : private int) (q : private int list) : public int\n  neighbours q one by 1\n"
    )
    lines = "".join(f"  {part}\n" for part in clause.split("; "))
    with pytest.raises(ProgramError, match=message.replace("{", r"\{").replace("}", r"\}")):
        parse(f"{head}{lines}  ensures epsilon eps\n  return 0\n")
