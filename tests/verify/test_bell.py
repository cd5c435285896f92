"""Normal noise: probabilities agree with another library's, and concentration allows what is true."""

from fractions import Fraction
from math import exp, log
from statistics import NormalDist

import pytest
from flint import arb

from discreet.verify import Refuted, parse, verify
from discreet.verify.bell import ORDERS, allowed, chance
from discreet.verify.explain import counterexample_in_words
from discreet.verify.explore import ExploredPath
from discreet.verify.integrate import UNIT, Inequality, NormalLaw, TooHardError, laplace
from discreet.verify.relate import are_neighbours

NORMAL = NormalDist()


def path(*laws):
    return ExploredPath((), dict(enumerate(laws)), (), UNIT, UNIT)


def ask(law, *bounds):
    """The chance of inequalities slope * noise + constant >= 0, or > 0."""
    items = tuple(
        Inequality(Fraction(constant), ((0, Fraction(slope)),), strict) for slope, constant, strict in bounds
    )
    return float(chance(path(law), items))


@pytest.mark.parametrize("bound", [-7, -1, 0, Fraction(1, 3), 2, 9])
def test_half_lines_and_intervals_of_normal_noise(bound):
    law, cdf = NormalLaw(Fraction(3), False), NORMAL.cdf(float(bound) / 3)
    assert ask(law, (1, -bound, False)) == pytest.approx(1 - cdf, abs=1e-12)
    assert ask(law, (-1, bound, True)) == pytest.approx(cdf, abs=1e-12)
    width = NORMAL.cdf((float(bound) + 2) / 3) - cdf
    assert ask(law, (1, -bound, False), (-1, bound + 2, False)) == pytest.approx(width, abs=1e-12)
    assert ask(law, (1, -bound, False), (-1, bound - 1, False)) == 0


@pytest.mark.parametrize(
    ("low", "high"), [(None, 3), (-2, None), (4, 9), (-9, -4), (-1, 5), (5, None), (3, 2)]
)
def test_intervals_of_integer_normal_noise(low, high):
    weights = {k: exp(-k * k / 8) for k in range(-60, 61)}
    inside = sum(w for k, w in weights.items() if (low is None or k >= low) and (high is None or k <= high))
    bounds = [(1, -low, False)] if low is not None else []
    bounds += [(-1, high, False)] if high is not None else []
    found = ask(NormalLaw(Fraction(2), True), *bounds)
    assert found == pytest.approx(inside / sum(weights.values()), abs=1e-14)
    strict = [(slope, constant + 1, True) for slope, constant, _ in bounds]
    assert ask(NormalLaw(Fraction(2), True), *strict) == pytest.approx(found, abs=1e-14)


def test_a_half_space_joins_normal_noises_once():
    laws = NormalLaw(Fraction(3), False), NormalLaw(Fraction(1), False)
    item = Inequality(Fraction(-1), ((0, Fraction(1)), (1, Fraction(-4))))
    assert float(chance(path(*laws), (item,))) == pytest.approx(1 - NORMAL.cdf(1 / 5), abs=1e-12)
    with pytest.raises(TooHardError):
        chance(path(*laws), (item, item))
    with pytest.raises(TooHardError):
        chance(path(laws[0], laplace(Fraction(1))), (item,))


@pytest.mark.parametrize("distance", [0.05, 0.5, 1, 4])
def test_concentration_allows_what_gaussian_noise_does_and_no_more(distance):
    """At rho = distance**2 / 2 no half-line breaks the claim; at nine tenths of it some half-line does."""
    true = Fraction(distance) ** 2 / 2

    def broken(rho, loss):
        above = arb(1) * (arb(loss) / arb(distance) - arb(distance) / 2)
        below = arb(loss) / arb(distance) + arb(distance) / 2
        one, two = ((z / arb(2).sqrt()).erfc() / 2 for z in (above, below))
        epsilon = allowed(rho, one, two)
        return epsilon is not None and bool(one > arb(float(epsilon)).exp() * two)

    losses = [float((order - Fraction(1, 2)) * 2 * true) for order in ORDERS]
    assert not any(broken(true * Fraction(1000001, 1000000), loss) for loss in losses)
    assert any(broken(true * 9 / 10, loss) for loss in losses)


def test_what_cannot_be_told_is_not_allowed_as_nothing():
    """A ball around zero says nothing; an event that cannot happen says everything."""
    assert allowed(Fraction(1), arb(0.5), arb(0.1, 0.2)) is None
    assert allowed(Fraction(1), arb(0.1), arb(0.5)) is None
    assert allowed(Fraction(1), arb(0.5), arb(0)) == 0


@pytest.mark.parametrize("delta", ["1/35000", "1/38000"])
def test_the_least_delta_of_gaussian_noise_is_met(delta):
    """Deviation 7/2 at epsilon 1: delta is Phi(D/2 - 1/D) - e Phi(-D/2 - 1/D) for D = 2/7, about 1/36631."""
    text = f"""P (q : private real) : public real
  neighbours q one by 1
  ensures epsilon 1 delta {delta}
  z := $ Gaussian(7/2, q)
  return z
"""
    verdict = verify(text, seconds=3)
    least = NORMAL.cdf(1 / 7 - 7 / 2) - exp(1) * NORMAL.cdf(-1 / 7 - 7 / 2)
    assert isinstance(verdict, Refuted) == (1 / float(Fraction(delta)) > 1 / least)


def test_a_concentrated_claim_is_refuted_with_what_it_allows():
    text = """P (q : private real) : public real
  neighbours q one by 1
  ensures rho 1/4
  z := $ Gaussian(1, q)
  return z
"""
    witness = verify(text, seconds=3).witness
    assert witness.rho == Fraction(1, 4)
    first, second = ({**witness.constants, **side} for side in (witness.first, witness.second))
    assert are_neighbours(parse(text), first, second)
    low, high = (float(p) for p in (witness.first_probability[0], witness.second_probability[1]))
    assert low > exp(witness.epsilon) * high
    assert witness.loss <= log(low / high) + 1e-9
    # What is true, rho 1/2, allows more than was seen, whatever the order.
    best = min((a - 1) / 2 - log(high) / a for a in (1 + k / 50 for k in range(1, 2000)))
    assert witness.loss < best
    assert "allows for this event" in counterexample_in_words(witness)
