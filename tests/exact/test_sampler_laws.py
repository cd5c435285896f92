"""Every sampler, enumerated over all its coins, has exactly the law it states."""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from math import prod

import numpy as np
import pytest
from flint import arb, fmpq
from mpmath import mp
from tests.exact.coin_tree import SHRUNK, ReplayedCoins, disagreements, enumerate_coins

from discreet.exact import choice, sample
from discreet.exact.coins import source
from discreet.exact.digits import Digit, DigitDifference, OneSided, TwoSided, digit_tables
from discreet.exact.inversion import SPARSE, STANDARD, LawTable
from discreet.exact.number import exp_bounds, exp_up

FEW = ("1/2", "3", "1000000/3")
SCALES = [
    pytest.param(Fraction(s), marks=() if s in FEW else pytest.mark.fuzz, id=s)
    for s in ("1/2", "1", "3", "5", "10", "7/3", "1000000/3")
]
DEPTH = 47
LONG = pytest.mark.fuzz


def ratio(scale: Fraction) -> Fraction:
    """A rational near exp(-1/scale) of few digits, so that exact powers stay small."""
    return exp_up(-1 / scale).limit_denominator(10**9)


def two_sided(alpha: Fraction, k: int) -> Fraction:
    return (1 - alpha) / (1 + alpha) * alpha ** abs(k)


def digit(alpha: Fraction, base: int, k: int) -> Fraction:
    return alpha**k / sum(alpha**i for i in range(base)) if 0 <= k < base else Fraction(0)


def digit_difference(alpha: Fraction, base: int, k: int) -> Fraction:
    return sum((digit(alpha, base, i) * digit(alpha, base, i + abs(k)) for i in range(base)), Fraction(0))


def draw_one(table: LawTable, coins: object) -> int:
    return int(table.draw(1, coins)[0])


@pytest.mark.parametrize("scale", SCALES)
def test_every_digit_table_has_exactly_its_law(scale):
    alpha = ratio(scale)
    for law, pmf in [
        (TwoSided(alpha), lambda a, k: two_sided(a, k)),
        (OneSided(alpha), lambda a, k: (1 - a) * a**k),
    ]:
        tables = digit_tables(law, SHRUNK)
        for place, table in enumerate(tables):
            if place > 4:  # powers beyond 4**5 are checked by the closed form below
                break
            power = alpha ** (4**place)
            match table.law:
                case DigitDifference():
                    expected = partial(digit_difference, power, 4)
                case Digit():
                    expected = partial(digit, power, 4)
                case _:
                    expected = partial(pmf, power)
            masses, left_open = enumerate_coins(partial(draw_one, table), DEPTH)
            assert left_open < Fraction(1, 2**40)
            assert disagreements(masses, left_open, expected) == []


@pytest.mark.parametrize(
    ("scale", "count"),
    [
        *(("1/2", None), ("1", 1), ("3/2", None)),
        *(pytest.param(*pair, marks=LONG) for pair in (("1/2", 1), ("1", None), ("3/2", 1))),
    ],
)
def test_scalar_draws_have_exactly_their_law(scale, count):
    alpha = ratio(Fraction(scale))
    masses, left_open = enumerate_coins(
        lambda coins: int(np.sum(sample.two_sided_geometric(alpha, count, coins=coins, shape=SHRUNK))), 15
    )
    assert left_open < Fraction(1, 2**3)
    assert len(masses) > 5
    assert disagreements(masses, left_open, partial(two_sided, alpha)) == []


def test_a_few_draws_are_independent():
    alpha, tiny = Fraction(1, 4), replace(SHRUNK, guide=2, rest=3)
    masses, left_open = enumerate_coins(
        lambda coins: tuple(sample.two_sided_geometric(alpha, 2, coins=coins, shape=tiny)), 10
    )
    assert left_open < Fraction(1, 2)
    assert len(masses) == 9
    law = partial(two_sided, alpha)
    assert disagreements(masses, left_open, lambda pair: law(pair[0]) * law(pair[1])) == []


@pytest.mark.parametrize(
    "alpha", ["1/2", "1/3", "7/8", *(pytest.param(alpha, marks=LONG) for alpha in ("3/4", "1/7", "3/5"))]
)
def test_probabilities_that_are_multiples_of_the_smallest_word_are_drawn_exactly(alpha):
    ratio = Fraction(alpha)
    for law, pmf in [(TwoSided(ratio), two_sided), (OneSided(ratio), lambda a, k: (1 - a) * a**k)]:
        for table in digit_tables(law, SHRUNK):
            match table.law:
                case TwoSided() | OneSided():
                    expected = partial(pmf, ratio**table.law.power)
                case DigitDifference():
                    expected = partial(digit_difference, ratio**table.law.power, 4)
                case Digit():
                    expected = partial(digit, ratio**table.law.power, 4)
            masses, left_open = enumerate_coins(table.draw_one, DEPTH)
            assert left_open < Fraction(1, 2**40)
            assert disagreements(masses, left_open, expected) == []
        # And at full size, where one word in 2**64 decides.
        assert isinstance(sample._draw(law, None, source(), STANDARD), int)


@pytest.mark.parametrize("place", [0, 1])
def test_scalar_and_array_draws_read_the_same_table(place):
    table = digit_tables(TwoSided(ratio(Fraction(3))), SHRUNK)[place]
    scalar, _ = enumerate_coins(table.draw_one, DEPTH)
    array, _ = enumerate_coins(partial(draw_one, table), DEPTH)
    assert scalar == array


@pytest.mark.parametrize(
    "scale", ["3", "7/3", *(pytest.param(scale, marks=LONG) for scale in ("10", "1000000/3"))]
)
def test_a_word_that_ties_with_a_threshold_is_decided_by_the_next_word(scale):
    alpha = ratio(Fraction(scale)).limit_denominator(10**4 if scale != "1000000/3" else 10**6)
    for table in digit_tables(TwoSided(alpha), STANDARD)[:1]:
        for k in (-7, -1, 0, 5):
            # floor(C(k) * 2**128) by exact rational arithmetic, split into two words.
            exact = cumulative_fraction(table.law, k)
            tie, threshold = divmod(int(exact * 2**128), 2**64)
            for low, expected in [(threshold - 1, k), (threshold + 1, k + 1)]:
                assert table.draw_one(ReplayedCoins((tie, low))) == expected
                # The array form reads sixteen bits, then forty-eight, then the next word.
                words = (tie >> 48, tie & (2**48 - 1), low)
                assert draw_one(table, ReplayedCoins(words)) == expected


@pytest.mark.parametrize("scale", ["3", "10", "7/3"])
def test_a_tie_among_a_few_draws_is_decided_by_the_next_word(scale):
    alpha = ratio(Fraction(scale)).limit_denominator(10**4)
    first, *others = digit_tables(TwoSided(alpha), SPARSE)
    for k in (-7, -1, 0, 5):
        tie, threshold = divmod(int(cumulative_fraction(first.law, k) * 2**128), 2**64)
        for low, expected in [(threshold - 1, k), (threshold + 1, k + 1)]:
            # The middle word of a symmetric digit is a zero.
            coins = ReplayedCoins((tie, *[2**63] * len(others), low))
            assert list(sample.two_sided_geometric(alpha, 1, coins=coins)) == [expected]


def cumulative_fraction(law: TwoSided | DigitDifference, k: int) -> Fraction:
    b = law.alpha**law.power
    match law:
        case TwoSided():
            return b**-k / (1 + b) if k < 0 else 1 - b ** (k + 1) / (1 + b)
        case DigitDifference(_, _, m):
            weights = [b**i for i in range(m)]
            below = -k if k < 0 else k + 1
            tail = sum(w * sum(weights[i + below :]) for i, w in enumerate(weights)) / sum(weights) ** 2
            return tail if k < 0 else 1 - tail


def test_nothing_but_zero_comes_out_at_a_vanishing_scale():
    alpha = exp_up(Fraction(-(2**12)))
    masses, left_open = enumerate_coins(
        lambda coins: sample.two_sided_geometric(alpha, coins=coins, shape=SHRUNK), 15
    )
    assert set(masses) == {0}
    assert masses[0] + left_open == 1
    assert left_open <= Fraction(1, 2**13)


@pytest.mark.parametrize("scale", ["1/2", "1", "3"])
def test_digits_add_up_to_the_two_sided_geometric(scale):
    alpha, base = ratio(Fraction(scale)), 4
    low = {k: digit_difference(alpha, base, k) for k in range(-3, 4)}
    for target in range(-9, 10):
        total = sum(
            low[k] * two_sided(alpha**base, (target - k) // base) for k in low if (target - k) % base == 0
        )
        assert total == two_sided(alpha, target)


def test_the_closed_form_of_a_digit_difference_contains_the_sum_of_its_probabilities():
    alpha, base = Fraction(9, 10), 16
    law = DigitDifference(alpha, 1, base)
    for k in range(-base, base):
        exact = sum((digit_difference(alpha, base, j) for j in range(-base, k + 1)), Fraction(0))
        assert law.cumulative(k).contains(arb(fmpq(exact.numerator, exact.denominator)))


def reaching(table: LawTable, value: int, coins: object) -> bool:
    return bool(table.reach(np.array([value]), coins)[0])


@pytest.mark.parametrize("alpha", ["1/2", "1/3", "4/7"])
def test_coins_for_values_have_exactly_the_power_of_each(alpha):
    """Values within the table, at its ends and beyond it."""
    ratio, wide = Fraction(alpha), replace(SHRUNK, head=3)
    (table,) = digit_tables(OneSided(ratio), wide)
    late = replace(table, thresholds=np.append(table.thresholds[1:], table.thresholds[-1]))
    for value in (0, 1, 2, 5, len(table.thresholds) - 1, len(table.thresholds) + 3):
        law = {True: ratio**value, False: 1 - ratio**value}
        masses, left_open = enumerate_coins(partial(reaching, table, value), DEPTH)
        assert left_open < Fraction(1, 2**36)
        assert disagreements(masses, left_open, law.__getitem__) == []
        if value < 3:
            masses, left_open = enumerate_coins(partial(reaching, late, value), DEPTH)
            assert disagreements(masses, left_open, law.__getitem__) != []


def test_coins_for_values_are_independent_of_each_other():
    alpha, values = Fraction(2, 5), np.array([[1, 2], [0, 3]])
    tiny = replace(SHRUNK, guide=1, rest=1, more=2, head=4)
    masses, left_open = enumerate_coins(
        lambda coins: tuple(sample.reaches(alpha, values, coins=coins, shape=tiny).reshape(-1).tolist()), 12
    )
    powers = [alpha ** int(value) for value in values.reshape(-1)]
    assert left_open < Fraction(1, 2)
    assert (
        disagreements(
            masses,
            left_open,
            lambda heads: prod(p if head else 1 - p for p, head in zip(powers, heads, strict=True)),
        )
        == []
    )


@pytest.mark.parametrize("p", ["0", "1/3", "1/2", "3/4", "1", "999/1000"])
def test_bernoulli_has_exactly_its_probability(p):
    for count in (None, 1):
        masses, left_open = enumerate_coins(
            lambda coins, count=count: bool(
                np.all(sample.bernoulli(Fraction(p), count, coins=coins, shape=SHRUNK))
            ),
            51,
        )
        assert left_open <= Fraction(1, 2**40)
        assert disagreements(masses, left_open, lambda heads: Fraction(p) if heads else 1 - Fraction(p)) == []


@pytest.mark.parametrize("gamma", ["0", "1/7", "1", "10/3", "40"])
def test_bernoulli_exp_has_exactly_its_probability(gamma):
    low, high = exp_bounds(-Fraction(gamma))
    for count in (None, 1):
        masses, left_open = enumerate_coins(
            lambda coins, count=count: bool(
                np.all(sample.bernoulli_exp(Fraction(gamma), count, coins=coins, shape=SHRUNK))
            ),
            51,
        )
        assert left_open <= Fraction(1, 2**40)
        heads = masses.get(True, Fraction(0))
        assert heads <= high
        assert low <= heads + left_open


@pytest.mark.parametrize("bound", [1, 2, 3, 5, 12, 16])
def test_uniform_has_exactly_its_law(bound):
    masses, left_open = enumerate_coins(lambda coins: sample.uniform_below(bound, coins=coins), 12)
    assert disagreements(masses, left_open, lambda _: Fraction(1, bound)) == []
    assert set(masses) == set(range(bound))


def test_weighted_choice_has_exactly_its_law():
    alpha, gaps, multiplicities = Fraction(2, 3), [0, 3, 1, 7], [1, 5, 2, 40]
    weights = [m * alpha**g for m, g in zip(multiplicities, gaps, strict=True)]
    masses, left_open = enumerate_coins(
        lambda coins: choice.choose_powers(alpha, gaps, multiplicities, coins=coins, shape=SHRUNK), 51
    )
    assert left_open <= Fraction(1, 2**40)
    assert disagreements(masses, left_open, lambda i: weights[i] / sum(weights)) == []


def test_rows_of_choices_have_exactly_their_laws_and_nothing_in_common():
    alpha, rows = Fraction(1, 3), np.array([[0, 1, 2], [4, 0, 0]])
    one, left_open = enumerate_coins(
        lambda coins: int(choice.choose_powers_each(alpha, rows[:1], coins=coins, shape=SHRUNK)[0]), 51
    )
    assert left_open <= Fraction(1, 2**40)
    weights = [alpha ** int(gap) for gap in rows[0]]
    assert disagreements(one, left_open, lambda i: weights[i] / sum(weights)) == []
    tiny = replace(SHRUNK, guide=2, rest=2, more=3)
    both, left_open = enumerate_coins(
        lambda coins: tuple(choice.choose_powers_each(alpha, rows, coins=coins, shape=tiny).tolist()), 14
    )
    others = [alpha ** int(gap) for gap in rows[1]]
    whole = sum(weights) * sum(others)
    assert left_open <= Fraction(1, 8)
    assert disagreements(both, left_open, lambda pair: weights[pair[0]] * others[pair[1]] / whole) == []


def test_a_long_row_of_choices_has_exactly_its_law(monkeypatch):
    """Added up stretch by stretch: two candidates each, the last one of a stretch of its own."""
    monkeypatch.setattr(choice, "_STRETCH", 2)
    alpha, row = Fraction(2, 3), np.array([[3, 0, 2, 1, 2, 0, 4]])
    masses, left_open = enumerate_coins(
        lambda coins: int(choice.choose_powers_each(alpha, row, coins=coins, shape=SHRUNK)[0]), 51
    )
    weights = [alpha ** int(gap) for gap in row[0]]
    assert left_open <= Fraction(1, 2**40)
    assert sorted(masses) == list(range(7))
    assert disagreements(masses, left_open, lambda i: weights[i] / sum(weights)) == []


def test_long_rows_are_placed_as_the_definition_places_them(monkeypatch):
    """Many rows in several blocks against running sums of exact weights."""
    monkeypatch.setattr(choice, "_TOGETHER", 500)
    alpha, rows = Fraction(9, 10), np.random.default_rng(5).integers(0, 40, (60, 45))
    rows -= rows.min(axis=1, keepdims=True)
    words = np.random.default_rng(6).integers(0, 2**64, 60, dtype=np.uint64)
    chosen = choice.choose_powers_each(alpha, rows, coins=_Whole(words))
    for row, word, found in zip(rows, words, chosen, strict=True):
        weights = [alpha ** int(gap) for gap in row]
        at = Fraction(int(word), 2**64) * sum(weights)
        assert sum(weights[:found]) <= at < sum(weights[: found + 1])


class _Whole:
    """Coins whose words are given as they are."""

    def __init__(self, words):
        self.given = words

    def words(self, count, width):
        return self.given[:count]


class _Given:
    """Coins whose words are given, each with its highest bits first."""

    def __init__(self, words):
        self.given = list(words)

    def words(self, count, width):
        taken, self.given = self.given[:count], self.given[count:]
        return np.array(taken, dtype=np.uint32)


def test_uniform_numbers_below_many_bounds_take_as_many_bits_as_each_needs():
    """Three bits in every pattern below 5: each number once, and what is not below is drawn again."""
    patterns = [pattern << 29 for pattern in range(8)]
    bounds = np.array([5] * 8)
    found = sample.uniform_below_each(bounds, coins=_Given([*patterns, 0, 1 << 29, 2 << 29]))
    assert found.tolist() == [0, 1, 2, 3, 4, 0, 1, 2]
    mixed = np.array([1, 2, 4, 2**31])
    assert sample.uniform_below_each(mixed, coins=_Given([1 << 31, 3 << 30, 2**32 - 1])).tolist() == [
        0,
        1,
        3,
        2**31 - 1,
    ]


def test_choice_by_exponents_has_exactly_its_law():
    exponents = [Fraction(0), Fraction(1, 3), Fraction(5, 2)]
    bounds = [exp_bounds(-e) for e in exponents]
    masses, left_open = enumerate_coins(
        lambda coins: choice.choose_exponents(exponents, coins=coins, shape=SHRUNK), 51
    )
    low_total, high_total = (sum(b[side] for b in bounds) for side in (0, 1))
    for i, (low, high) in enumerate(bounds):
        assert masses[i] <= high / low_total
        assert low / high_total <= masses[i] + left_open


def test_choice_by_counts_has_exactly_its_law():
    masses, left_open = enumerate_coins(lambda coins: choice.choose_counted([3, 0, 5], coins=coins), 9)
    assert disagreements(masses, left_open, lambda i: Fraction([3, 0, 5][i], 8)) == []
    assert left_open == 0


@pytest.mark.parametrize("variance", ["1/4", "1", "7/3"])
def test_gaussian_acceptance_turns_proposals_into_the_discrete_gaussian(variance):
    test = sample._Acceptance.of(Fraction(variance))
    kept: dict[int, tuple[Fraction, Fraction]] = {}
    for y in range(-4, 5):
        for keeps in (
            lambda coins, y=y: test.keeps(y, coins, SHRUNK),
            lambda coins, y=y: bool(test.keeps_each(np.array([y]), coins, SHRUNK)[0]),
        ):
            masses, left_open = enumerate_coins(keeps, 51)
            heads = masses.get(True, Fraction(0))
            low, high = kept.get(y, (Fraction(0), Fraction(1)))
            kept[y] = (max(low, heads), min(high, heads + left_open))
            assert kept[y][0] <= kept[y][1], "the scalar and the vector form disagree"
    for y in range(1, 5):
        # proposal(y) keep(y) / (proposal(0) keep(0)) must be exp(-y**2 / (2 v)).
        low = test.alpha**y * kept[y][0] / kept[0][1]
        high = test.alpha**y * kept[y][1] / kept[0][0]
        target = exp_bounds(-Fraction(y * y) / (2 * Fraction(variance)))
        assert low <= target[1]
        assert target[0] <= high


def test_an_off_by_one_threshold_is_caught():
    alpha = ratio(Fraction(3))
    table = digit_tables(TwoSided(alpha), SHRUNK)[0]
    broken = replace(table, thresholds=table.thresholds.copy())
    broken.thresholds[3] += np.uint64(1)
    masses, left_open = enumerate_coins(partial(draw_one, broken), DEPTH)
    assert disagreements(masses, left_open, partial(digit_difference, alpha, 4)) != []


def test_a_wrong_rational_division_is_caught():
    @dataclass(frozen=True)
    class WrongDivision(DigitDifference):
        """Forgets one factor of the denominator, as a bignum library once did."""

        def cumulatives(self, low, high):
            b = Fraction(self.alpha)
            factor = arb(fmpq((1 - b).numerator, (1 - b).denominator))
            right = DigitDifference.cumulatives(self, low, high)
            return [c * factor if k < 0 else 1 - (1 - c) * factor for k, c in enumerate(right, start=low)]

    alpha = ratio(Fraction(3))
    table = LawTable.build(WrongDivision(alpha, 1, 4), -3, 3, SHRUNK)
    masses, left_open = enumerate_coins(partial(draw_one, table), DEPTH)
    assert disagreements(masses, left_open, partial(digit_difference, alpha, 4)) != []


@pytest.mark.parametrize("variance", [Fraction(1, 3), Fraction(5, 2)])
def test_a_table_of_the_discrete_gaussian_has_exactly_its_law(variance):
    table = sample.gaussian_table(variance, SHRUNK)
    masses, left_open = enumerate_coins(lambda coins: int(table.draw(1, coins)[0]), 23)
    assert left_open <= Fraction(1, 2**12)
    weights = {k: exp_bounds(-Fraction(k * k) / (2 * variance)) for k in range(-60, 61)}
    low, high = (sum(bounds[side] for bounds in weights.values()) for side in (0, 1))
    # What lies beyond 60 is less than 2**-400.
    for k, mass in masses.items():
        assert mass <= weights[k][1] / low
        assert weights[k][0] / (high + Fraction(1, 2**400)) <= mass + left_open


@pytest.mark.parametrize("variance", [Fraction(1, 7), Fraction(2), Fraction(40), Fraction(128**2)])
def test_the_thresholds_of_a_gaussian_table_are_those_of_its_sums(variance):
    """Added up in forty digits from the definition."""
    table = sample.gaussian_table(variance, STANDARD)
    end = -table.below - 1
    with mp.workdps(40):
        v = mp.mpf(variance.numerator) / variance.denominator
        terms = [mp.exp(-(mp.mpf(k) ** 2) / (2 * v)) for k in range(-2 * end, 2 * end + 1)]
        whole = mp.fsum(terms)
        running = mp.fsum(terms[:end])
        for place in range(0, 2 * end + 1, max(1, end // 40)):
            k = place - end
            upto = running + mp.fsum(terms[end : k + 2 * end + 1])
            expected = int(mp.floor(upto / whole * 2**64))
            assert int(table.thresholds[place + 1]) == min(expected, 2**64 - 1)


def test_many_gaussian_draws_come_from_the_table_and_few_do_not(monkeypatch):
    asked = []
    kept = sample.gaussian_table
    monkeypatch.setattr(sample, "gaussian_table", lambda *given: asked.append(given) or kept(*given))
    drawn = sample.discrete_gaussian(Fraction(4), 20_000)
    assert drawn.dtype == np.int64
    assert abs(float(np.square(drawn).mean()) - 4) < 0.5
    assert len(asked) == 1
    sample.discrete_gaussian(Fraction(4), 100)
    sample.discrete_gaussian(Fraction(10**6), 20_000)
    assert len(asked) == 1
