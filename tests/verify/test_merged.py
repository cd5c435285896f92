"""Paths that are put together give the law that they have one by one."""

from collections import defaultdict
from fractions import Fraction

import pytest

from discreet.verify import merged, parse
from discreet.verify.ended import refute_ended
from discreet.verify.explore import path_probability, paths, sum_quotients
from discreet.verify.integrate import TooHardError, add, multiply, sign
from discreet.verify.refute import attempt
from discreet.verify.space import NeighbourPair

HEAD = "P (q : private int list) : public {}\n  neighbours q all by 1\n  ensures epsilon {}\n"


def program(*body, kind="int", claim="eps"):
    return parse(HEAD.format(kind, claim) + "".join(f"  {line}\n" for line in body))


def turns(*body, begin="c := 0; ", end="return c", **header):
    start = f"{begin}i := 0", "while i < size q"
    return program(*start, *(f"  {line}" for line in body), "  i := i + 1", end, **header)


HITS = "v := $ Laplace(1/eps, q[i])", "if v > 1 then", "  c := c + 1"
LISTED = program(
    "i := 0; c := 0; r := []",
    "while i < size q",
    "  b := $ Response(eps)",
    "  v := $ Geometric(2/eps, q[i])",
    "  r := r ++ [b and v >= 1]",
    "  i := i + 1",
    "return r",
    kind="bool list",
)
SAME = {
    "hits": turns(*HITS),
    "flips": turns("b := $ Response(eps/2)", "if b then", "  c := c + q[i]", "else", "  c := c - 1"),
    "flips of integer noise": turns(
        "v := $ Geometric(1/eps, q[i])", "if v = 1 or v > 2 then", "  c := 1 - c"
    ),
    "noise after the loop": turns(
        "c := c + q[i]", end="z := $ Laplace(1/eps, c)\n  return z > 2", kind="bool"
    ),
    "uniform numbers": turns("u := $ Uniform(0, 3)", "if u > q[i] then", "  c := c + 2"),
    "lists": LISTED,
}
KEPT = turns("v := $ Laplace(1/eps, q[i])", "if v > c then", "  c := v", end="return c > 2", kind="bool")
VALUES = {"eps": Fraction(1), "q": [0, 1, 2]}


def total(law):
    found = defaultdict(list)
    for path in law:
        found[repr(path.output)].append(path_probability(path, ()))
    return {output: sum_quotients(parts) for output, parts in found.items()}


def is_same(one, other):
    left, right = (
        multiply(one.numerator, other.denominator),
        multiply(other.numerator, one.denominator),
    )
    return sign(add(left, right, -1)) == 0


@pytest.mark.parametrize("name", SAME)
def test_the_law_is_the_one_of_all_paths(name):
    single = {k: v for k, v in total(paths(SAME[name], VALUES)).items() if v.numerator}
    together = total(merged._law(SAME[name], VALUES, {}))
    assert single.keys() == together.keys()
    assert all(is_same(single[output], together[output]) for output in single)


def test_noise_that_is_read_in_later_turns_is_not_forgotten():
    with pytest.raises(TooHardError, match="after the turn"):
        merged._law(KEPT, VALUES, {})


def test_a_part_of_the_law_is_that_of_the_output_that_is_wanted():
    whole = total(paths(LISTED, VALUES))
    for wanted in merged._wanted(LISTED, VALUES):
        assert len(wanted["r"]) == 3
        (part,) = merged._law(LISTED, VALUES, wanted)
        assert part.output == (wanted["r"],)
        assert is_same(whole[repr(part.output)], path_probability(part, ()))


def test_of_a_long_list_only_one_beginning_is_followed():
    signs = turns(*HITS[:1], "r := r ++ [v > 1]", begin="r := []; ", end="return r", kind="bool list")
    (part,) = merged._law(signs, {"eps": Fraction(1), "q": [2] * 12}, {"r": (True,) * 12})
    assert part.output == ((True,) * 12,)


def test_programs_of_very_many_paths_are_refuted():
    first, second = ({"eps": Fraction(1), "q": [start] * 14} for start in (0, 1))
    pair = NeighbourPair(first, second, ("q",))
    assert attempt(turns(*HITS), pair) is not None
    assert attempt(turns(*HITS, claim="14*eps"), pair) is None


WIPED = """
P (x : private {0,1})
  neighbours x replace
  ensures epsilon eps
  r := []
  r := r ++ [x]
  i := 0
  while i < 9
    z := $ Laplace(1)
    c := 0
    if z > 0 then
      c := 1
    r := r ++ [c]
    i := i + 1
  r[0] := 0
  return r
"""


def test_a_list_that_is_changed_does_not_begin_as_it_ends():
    """Whoever follows only what begins like the output sees no run of the second input at all."""
    first, second = next(
        merged.both_laws(parse(WIPED), {"x": 0, "eps": Fraction(1)}, {"x": 1, "eps": Fraction(1)})
    )
    assert len(first) == len(second) == 2**9


LONGER = """
P (x : private {0,1})
  neighbours x replace
  ensures epsilon eps
  i := 0
  while i < 12 * x
    b := $ Bernoulli(1/2)
    i := i + 1
  return RESULT
"""


@pytest.mark.fuzz
@pytest.mark.parametrize("result", ["0", "x"])
def test_runs_that_end_on_one_input_only_tell_nothing(result):
    """On one of the two inputs no run ends within the decisions that are followed."""
    assert refute_ended(parse(LONGER.replace("RESULT", result)), 3.0) is None


def test_runs_that_have_not_ended_may_still_end_alike():
    soon = LONGER.replace("12 * x", "3 + x")
    assert refute_ended(parse(soon.replace("RESULT", "0")), 3.0) is None
    assert refute_ended(parse(soon.replace("RESULT", "x")), 3.0).loss == float("inf")
