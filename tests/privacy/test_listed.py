"""Sums of few losses, written out, enclose the same sums in sixty digits."""

from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest
from mpmath import mp, mpf

from discreet.privacy.listed import MOST_VALUES, ListedSum
from discreet.privacy.loss import GeometricLoss, LaplaceLoss, ResponseLoss


def _mpf(x):
    return mpf(x.numerator) / mpf(x.denominator)


def _one(law):
    """The losses of one release with their probabilities, from the definition of its noise."""
    if isinstance(law, ResponseLoss):
        odds = mp.exp(_mpf(law.cost))
        return [(_mpf(law.cost), odds / (1 + odds)), (-_mpf(law.cost), 1 / (1 + odds))]
    a = _mpf(law.alpha)
    unit, scale = -mp.log(a), (1 - a) / (1 + a)
    # Everything at or below 0 has the largest loss, everything from the shift on the smallest.
    inside = [((law.shift - 2 * k) * unit, scale * a**k) for k in range(1, law.shift)]
    end = 1 / (1 + a)
    return [(law.shift * unit, end), *inside, (-law.shift * unit, end * a**law.shift)]


def _sum(laws):
    found = [(mpf(0), mpf(1))]
    for law, n in laws:
        for _ in range(n):
            grown = {}
            for loss, p in found:
                for more, chance in _one(law):
                    key = mp.nstr(loss + more, 40)
                    at = grown.get(key, (loss + more, mpf(0)))
                    grown[key] = (at[0], at[1] + p * chance)
            found = list(grown.values())
    return found


def _delta(values, epsilon):
    return mp.fsum(p * -mp.expm1(epsilon - loss) for loss, p in values if loss > epsilon)


def _mixture(random):
    laws = {}
    for _ in range(random.randint(1, 4)):
        if random.random() < 0.6:
            law = ResponseLoss(Fraction(random.randint(1, 10**7), random.choice((10**7, 10**8, 3 * 10**6))))
        else:
            law = GeometricLoss(Fraction(random.randint(1, 999), 1000), random.choice((1, 1, 2, 5)))
        laws[law] = random.randint(1, 3)
    return tuple(laws.items())


def _check(seed):
    random = Random(seed)
    laws = _mixture(random)
    listed, values = ListedSum.of(laws), _sum(laws)
    delta = Fraction(random.randint(1, 999), 10 ** random.choice((3, 4, 6, 9, 20)))
    epsilon = Fraction(random.randint(0, 1000), 1000) * listed.ceiling * Fraction(random.choice((1, 9)), 9)
    low, high = listed.delta(epsilon)
    assert _mpf(low) <= _delta(values, _mpf(epsilon)) + mpf(10) ** -50
    assert _delta(values, _mpf(epsilon)) <= _mpf(high) + mpf(10) ** -50
    low, high = listed.epsilon(delta)
    assert _delta(values, _mpf(high)) <= _mpf(delta) * (1 + mpf(10) ** -50)
    assert low == 0 or _delta(values, _mpf(low)) >= _mpf(delta)
    assert high - low <= Fraction(1, 10**11) * (1 + listed.ceiling)


@pytest.mark.parametrize("seed", range(25))
def test_sums_written_out_enclose_the_same_in_sixty_digits(seed):
    _check(seed)


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(1000, 2000))
def test_many_sums_written_out_enclose_the_same_in_sixty_digits(seed):
    _check(seed)


def test_an_enclosure_without_its_margins_is_caught():
    """The twin that takes floats for the truth is outside of it within a few questions."""

    def strays(seed):
        random = Random(seed)
        laws = _mixture(random)
        listed, values = ListedSum.of(laws), _sum(laws)
        sharp = replace(listed, relative=0.0, absolute=0.0)
        epsilon = listed.ceiling * Fraction(random.randint(1, 900), 1000)
        return (
            not _mpf(sharp.delta(epsilon)[0])
            <= _delta(values, _mpf(epsilon))
            <= _mpf(sharp.delta(epsilon)[1])
        )

    assert sum(strays(seed) for seed in range(10)) >= 5


def test_what_is_long_or_strains_floats_is_left_to_other_routes():
    assert ListedSum.of(()) is None
    assert ListedSum.of(((LaplaceLoss(Fraction(1)), 1),)) is None
    assert ListedSum.of(((ResponseLoss(Fraction(601)), 1),)) is None
    assert ListedSum.of(((ResponseLoss(Fraction(1, 2**70)), 1),)) is None
    assert ListedSum.of(((GeometricLoss(Fraction(1, 2), MOST_VALUES), 1),)) is None
    assert ListedSum.of(((ResponseLoss(Fraction(1, 3)), 10**400),)) is None
    many = tuple((ResponseLoss(Fraction(1, 100 + n)), 1) for n in range(15))
    assert len(ListedSum.of(many).losses) == MOST_VALUES // 2
    assert ListedSum.of((*many, (ResponseLoss(Fraction(1, 99)), 1))) is None
