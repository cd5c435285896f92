"""Gumbel noise: the probabilities of races, the sampler, and numbers that have no exact value."""

import random
from fractions import Fraction
from itertools import permutations
from math import exp, log, sqrt

import pytest

from discreet.errors import ParameterError
from discreet.verify import Unknown, parse, run, verify
from discreet.verify.explore import path_probability, paths, sum_quotients
from discreet.verify.integrate import UNIT, ZERO, GumbelLaw, Inequality, TooHardError, add, multiply, sign
from discreet.verify.race import winning
from discreet.verify.run import ExactDraws
from discreet.verify.syntax import Sample

LARGEST = """
P (q : private real list) : public int
  neighbours q all by 1
  requires size(q) >= 1
  ensures epsilon eps
  i := 0; w := 0; best := 0.0
  while i < size q
    z := $ Gumbel(2/eps)
    if i = 0 or q[i] + z > best then
      best := q[i] + z
      w := i
    i := i + 1
  return w
"""


def less(one, two):
    """Return a - b of two quotients, times both denominators."""
    return add(multiply(one[0], two[1]), multiply(two[0], one[1]), -1)


@pytest.mark.parametrize("scores", [(0, 0), (1, 0, 3), (2, Fraction(1, 2), 2, 0)])
def test_the_largest_of_scores_with_gumbel_noise_is_an_exponential_mechanism(scores):
    found = {}
    for path in paths(parse(LARGEST), {"q": list(scores), "eps": Fraction(1)}):
        found.setdefault(path.output, []).append(path_probability(path, ()))
    weights = [{Fraction(score) / 2: Fraction(1)} for score in scores]
    total = ZERO
    for weight in weights:
        total = add(total, weight)
    for place, weight in enumerate(weights):
        law = sum_quotients(found[(place,)])
        assert sign(less((law.numerator, law.denominator), (weight, total))) == 0


def ranked(locations, order):
    """Return the probability of one order from the largest down: each wins against those that are left."""
    above, below = UNIT, UNIT
    for place, node in enumerate(order):
        left = ZERO
        for other in order[place:]:
            left = add(left, {locations[other]: Fraction(1)})
        above, below = multiply(above, {locations[node]: Fraction(1)}), multiply(below, left)
    return above, below


@pytest.mark.parametrize("seed", range(6))
def test_a_race_has_the_probability_of_all_its_orders(seed):
    pick = random.Random(seed)
    size, scale = pick.randint(2, 4), Fraction(pick.randint(1, 3))
    locations = [Fraction(pick.randint(0, 3)) for _ in range(size)]
    parents = {node: pick.randrange(node) for node in range(1, size) if pick.random() < 0.9}
    races = [
        Inequality(locations[p] - locations[c], tuple(sorted([(p, Fraction(1)), (c, Fraction(-1))])))
        for c, p in parents.items()
    ]
    total = (ZERO, UNIT)
    scaled = [m / scale for m in locations]
    for order in permutations(range(size)):
        if all(order.index(p) < order.index(c) for c, p in parents.items()):
            above, below = ranked(scaled, order)
            total = add(multiply(total[0], below), multiply(above, total[1])), multiply(total[1], below)
    found = winning({n: GumbelLaw(scale) for n in range(size)}, races)
    assert sign(less(found, total)) == 0


@pytest.mark.parametrize(
    "races",
    [
        [((0, 1), (1, -1)), ((1, 1), (2, -1)), ((0, -1), (2, 1))],
        [((0, 1), (2, -1)), ((1, 1), (2, -1))],
        [((0, 1), (2, -1)), ((1, 1), (2, -1)), ((2, 1), (4, -1)), ((5, 1), (6, -1)), ((5, -1), (6, 1))],
        [((0, 1), (1, -2))],
        [((0, 1),)],
        [((0, 1), (3, -1))],
    ],
)
def test_a_race_without_a_rule_is_not_guessed(races):
    laws = {place: GumbelLaw(Fraction(2 if place == 3 else 1)) for place in range(7)}
    items = [Inequality(Fraction(0), tuple((n, Fraction(s)) for n, s in race)) for race in races]
    with pytest.raises(TooHardError):
        winning(laws, items)


def test_gumbel_noise_is_drawn_from_its_law():
    """A false alarm at one of three places is rarer than 1e-7, by Hoeffding's inequality."""
    turns, draw = 3000, Sample("z", "Gumbel", ())
    machine = ExactDraws(grid=Fraction(1, 2**20))
    drawn = [machine.draw(draw, (Fraction(2),)) for _ in range(turns)]
    assert all((z / machine.grid).denominator == 1 for z in drawn)
    reach = sqrt(log(2 * 3 / 1e-7) / (2 * turns))
    for place in (-1, 0, 3):
        share = sum(z < place for z in drawn) / turns
        assert abs(share - exp(-exp(-place / 2))) <= reach


class Scripted:
    """Coins whose bits are known in advance."""

    def __init__(self, *words):
        self.words = list(words)

    def bits(self, count):
        assert count == 64
        return self.words.pop(0)


def test_a_gumbel_draw_takes_more_bits_until_its_floor_is_known():
    """With U just at exp(-1) the floor of -ln(-ln U) is 0 or -1, which 64 bits cannot tell."""
    from discreet.exact.number import exp_bounds
    from discreet.verify.run import gumbel

    word = int(exp_bounds(Fraction(-1), 200)[0] * 2**64)
    assert gumbel(Fraction(1), Scripted(word, 2**64 - 1)) == 0
    assert gumbel(Fraction(1), Scripted(word, 0)) == -1
    assert gumbel(Fraction(1), Scripted(0, 0, 1)) == -5


@pytest.mark.parametrize(
    "body",
    [
        "return exp(1)",
        "return 1 / (1 + exp(1))",
        "r := []; r := r ++ [exp(1)]; return r",
        "b := exp(1) > 2; return b",
        "b := exp(1) / (1 + exp(1)) + 1; return b",
        "y := -exp(1); return 0",
        "z := $ Laplace(exp(1)); return z",
        "z := $ Response(exp(1)); return z",
        "z := $ Bernoulli(2 * exp(-1)); return z",
        "z := $ Bernoulli(exp(-1) + 1); return z",
        "z := $ Uniform(0, exp(1)); return z",
    ],
)
def test_a_number_without_an_exact_value_is_refused_by_name(body):
    text = "P (x : private {0,1})\n  ensures epsilon eps\n" + "".join(f"  {p}\n" for p in body.split("; "))
    with pytest.raises(ParameterError, match="exact value"):
        run(parse(text), x=1, eps=1)


@pytest.mark.parametrize("law", ["Response(exp(1))", "Bernoulli(exp(-1) + 1)"])
def test_a_law_without_an_exact_parameter_is_not_decided(law):
    text = f"P (x : private {{0,1}})\n  ensures epsilon eps\n  z := $ {law}\n  return z\n"
    assert isinstance(verify(text, seconds=0.5), Unknown)


def test_a_chance_may_be_an_exponential():
    text = "P (x : private {0,1})\n  ensures epsilon 1\n  b := $ Bernoulli(exp(-x))\n  return b\n"
    assert run(parse(text), x=0, eps=1) is True
    assert {run(parse(text), x=1, eps=1) for _ in range(60)} == {True, False}
