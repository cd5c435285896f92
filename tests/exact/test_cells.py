"""Wide laws drawn in cells have exactly their law: over all coins, at ties, and by sums in fifty digits."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from mpmath import mp
from tests.exact.coin_tree import ReplayedCoins, enumerate_coins

from discreet.exact import sample
from discreet.exact.cells import CellTable, GaussianWeight, GeometricWeight, cell_table
from discreet.exact.inversion import AMBIGUOUS, STANDARD, Shape
from discreet.exact.number import exp_bounds

SIX, FIVE = Shape(digit=2, guide=2, rest=4, more=4), Shape(digit=2, guide=2, rest=3, more=3)
"""Words of six and of five bits: every coin of a whole round can be tried."""

LAWS = {
    "geometric 4/5, cells of 2": (GeometricWeight(Fraction(4, 5), 1), 1),
    "geometric 9/10, cells of 4": (GeometricWeight(Fraction(9, 10), 2), 2),
    "Gaussian 5, cells of 2": (GaussianWeight(Fraction(5), 1), 1),
    "Gaussian 81/2, cells of 4": (GaussianWeight(Fraction(81, 2), 2), 2),
}
SMALL = "geometric 4/5, cells of 2"


def weight_bounds(law, k):
    """Enclose f(k), from its definition."""
    if isinstance(law, GeometricWeight):
        return law.alpha ** abs(k), law.alpha ** abs(k)
    return exp_bounds(-Fraction(k * k) / (2 * law.variance))


def one_round(table, draw):
    """Return what comes out of one round of coins with which probability, and what stays open."""
    return enumerate_coins(lambda coins: draw(table, coins), 2 * table.shape.word + table.bits)


def scalar(table, coins):
    return table.draw_one(coins)


def array(table, coins):
    return int(table.draw(1, coins)[0])


def misfits(table, draw=scalar):
    """Return the numbers whose odds against zero, after one round, are excluded by the law."""
    masses, _ = one_round(table, draw)
    # A number loses at most one word at either end of its strips to ties, shared by the places of its cell,
    # and one word in the comparison.
    tie = Fraction(3, 2 ** (table.shape.word + table.bits))
    low, high = weight_bounds(table.weight, 0)
    return [
        k
        for k, mass in masses.items()
        for least, most in [weight_bounds(table.weight, k)]
        if mass * low > most * (masses[0] + tie) or (mass + tie) * high < least * masses[0]
    ]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.fuzz if "of 4" in name else ()) for name in LAWS]
)
def test_one_round_of_coins_keeps_every_number_in_proportion_to_its_weight(name):
    assert misfits(CellTable.build(*LAWS[name], SIX)) == []


@dataclass(frozen=True, slots=True)
class AlwaysKept(CellTable):
    """Forgets that second strips reject."""

    def rejection(self, cell, excess):
        return self.weight.fall(cell, 0)


@dataclass(frozen=True, slots=True)
class NeverKept(CellTable):
    """Keeps first strips only."""

    def rejection(self, cell, excess):
        return self.weight.fall(cell, 0) + 1


def turned(table, kind):
    """Return the same table as one of another kind."""
    return kind(table.weight, table.bits, table.low, table.strips, table.guide, table.shape)


@pytest.mark.parametrize("wrong", [AlwaysKept, NeverKept])
def test_second_strips_that_reject_wrongly_are_caught(wrong):
    assert misfits(turned(CellTable.build(*LAWS[SMALL], SIX), wrong)) != []


TELLING = Shape(digit=2, guide=5, rest=1, more=3)
"""A guide long enough to tell second strips too."""


@pytest.mark.parametrize("shape", [FIVE, TELLING])
@pytest.mark.parametrize("name", [SMALL, "Gaussian 5, cells of 2"])
def test_arrays_and_single_draws_have_one_law(name, shape):
    table = CellTable.build(*LAWS[name], shape)
    assert one_round(table, array) == one_round(table, scalar)


def test_a_guide_that_takes_second_strips_for_first_ones_is_caught():
    table = CellTable.build(*LAWS[SMALL], TELLING)
    told = np.where(table.strips.guide != AMBIGUOUS, table.strips.guide >> 1, AMBIGUOUS)
    wrong = CellTable(table.weight, table.bits, table.low, table.strips, told, table.shape)
    assert one_round(wrong, array) != one_round(wrong, scalar)


TINY = Shape(digit=2, guide=2, rest=2, more=2)


@pytest.mark.parametrize("name", ["geometric 9/10, cells of 4"])
def test_places_in_two_parts_have_one_law_with_single_draws(name):
    table = CellTable.build(*LAWS[name], TINY, low=1)
    assert one_round(table, array) == one_round(table, scalar)


@dataclass(frozen=True, slots=True)
class OneEnd(CellTable):
    """Forgets the low bit of each place."""

    def _fill(self, parts, coins):
        second = CellTable._fill(self, parts, coins)
        parts[1][:] = 0
        return second


def test_a_place_of_which_a_part_is_lost_is_caught():
    table = turned(CellTable.build(*LAWS["geometric 9/10, cells of 4"], TINY, low=1), OneEnd)
    assert one_round(table, array) != one_round(table, scalar)


def replaced(table, count, spare, again):
    """Return who stands where when the places `again` were rejected: places by number, new draws negative."""
    fresh = iter(range(-1, -99, -1))

    @dataclass(frozen=True, slots=True)
    class Numbered(type(table)):
        def _parts(self, count, coins):
            return [np.array([next(fresh) for _ in range(count)])]

    places = np.arange(count + spare)
    return (
        turned(table, Numbered)._replace([places], count, np.array(again, dtype=np.int64), None)[0].tolist()
    )


def unlawful(table):
    """Return the patterns of rejection that leave a rejected draw, hand one out twice, or move a kept one."""
    found = []
    for count, spare in product(range(5), range(4)):
        for pattern in product((False, True), repeat=count + spare):
            again = [place for place, rejected in enumerate(pattern) if rejected]
            after = replaced(table, count, spare, again)
            stay = all(after[place] == place for place in range(count) if place not in again)
            # No new draw is made while there is a spare one.
            needed = max(sum(place < count for place in again) - (spare - sum(p >= count for p in again)), 0)
            new = sum(who < 0 for who in after) == needed
            if set(after) & set(again) or len(set(after)) != count or not (stay and new):
                found.append((count, spare, again))
    return found


@dataclass(frozen=True, slots=True)
class Careless(CellTable):
    """Hands out spare draws whether they were kept or not."""

    def _replace(self, parts, count, again, coins):
        inside = int(again.searchsorted(count))
        return CellTable._replace(self, parts, count, again[:inside], coins)


def test_every_pattern_of_rejection_leaves_each_place_a_kept_draw_of_its_own():
    table = CellTable.build(*LAWS[SMALL], TINY)
    assert unlawful(table) == []
    assert unlawful(turned(table, Careless)) != []


def logarithm(law, k):
    """ln f(k), from its definition."""
    if isinstance(law, GeometricWeight):
        return abs(k) * mp.log(mp.mpf(law.alpha.numerator) / law.alpha.denominator)
    return -(mp.mpf(k) ** 2) * law.variance.denominator / (2 * law.variance.numerator)


WIDE = {
    "Gaussian": lambda: cell_table(GaussianWeight, Fraction(10**7, 3), 1825.7, STANDARD),
    "geometric": lambda: cell_table(GeometricWeight, Fraction(2999, 3000), 2999.5, STANDARD),
}


@pytest.mark.parametrize("name", WIDE)
def test_thresholds_of_strips_are_those_of_their_sums(name):
    """Added up in fifty digits from the definition of the strips."""
    table = WIDE[name]()
    law, size = table.weight, 1 << table.bits
    with mp.workdps(50):
        g = [mp.exp(logarithm(law, size * c)) for c in range(3 * law.end)]
        strips = {}
        for c in range(3 * law.end - 1):
            for cell in (c, -1 - c):
                strips[2 * cell], strips[2 * cell + 1] = g[c + 1], g[c] - g[c + 1]
        whole, running, upto = mp.fsum(strips.values()), mp.mpf(0), {}
        for strip in sorted(strips):
            running += strips[strip]
            upto[strip] = running
        for place in range(0, table.strips.thresholds.size, 29):
            expected = min(int(mp.floor(upto[table.strips.below + place] / whole * 2**64)), 2**64 - 1)
            assert int(table.strips.thresholds[place]) == expected


@pytest.mark.parametrize("name", WIDE)
def test_a_comparison_that_ties_is_decided_by_the_next_word(name):
    table = WIDE[name]()
    law, size = table.weight, 1 << table.bits
    for cell in (0, 3, 40):
        for k in (size * cell + 1, size * cell + size - 1, -size * cell - 1, -size * cell - size // 2):
            with mp.workdps(50):
                top, bottom = (mp.exp(logarithm(law, size * c)) for c in (cell, cell + 1))
                p = (top - mp.exp(logarithm(law, k))) / (top - bottom)
                word, rest = divmod(int(mp.floor(p * 2**128)), 2**64)
            values = np.array([k])
            assert table._rejects([values], ReplayedCoins((word, rest - 1))).tolist() == [True]
            assert table._rejects([values], ReplayedCoins((word, rest + 1))).tolist() == [False]
            assert table._rejects([values], ReplayedCoins((word - 2**28,))).tolist() == [True]
            assert table._rejects([values], ReplayedCoins((word + 2**28,))).tolist() == [False]


@pytest.mark.parametrize("name", WIDE)
def test_whoever_stands_at_an_end_of_a_cell_is_decided_without_a_limit_of_precision(name):
    table = WIDE[name]()
    size = 1 << table.bits
    assert table._rejects([np.array([0, 7 * size])], ReplayedCoins((0, 0))).tolist() == [False, False]
    far = ReplayedCoins((2**64 - 1, 2**64 - 1))
    assert table._rejects([np.array([-size, -8 * size])], far).tolist() == [True, True]


WIDER = {
    "Gaussian": lambda: cell_table(GaussianWeight, Fraction(10**41, 3), 1.83e20, STANDARD),
    "geometric": lambda: cell_table(GeometricWeight, 1 - Fraction(1, 3 * 10**24), 3e24, STANDARD),
}


@pytest.mark.parametrize("name", WIDER)
def test_a_comparison_in_two_parts_that_ties_is_decided_by_all_bits_and_the_next_word(name):
    table = WIDER[name]()
    law, size, low = table.weight, 1 << table.bits, 1 << table.low
    assert table.low > 8
    for cell in (0, 3, 40):
        for k in (
            size * cell + size // 3,
            size * cell + size - 7,
            -size * cell - 5,
            -size * cell - size // 2,
        ):
            with mp.workdps(80):
                top, bottom = (mp.exp(logarithm(law, size * c)) for c in (cell, cell + 1))
                p = (top - mp.exp(logarithm(law, k))) / (top - bottom)
                word, rest = divmod(int(mp.floor(p * 2**128)), 2**64)
            parts = [np.array([k // low]), np.array([k % low])]
            if rest:
                assert table._rejects(parts, ReplayedCoins((word, rest - 1))).tolist() == [True]
            assert table._rejects(parts, ReplayedCoins((word, rest + 1))).tolist() == [False]
            if word > 2**30:
                assert table._rejects(parts, ReplayedCoins((word - 2**30,))).tolist() == [True]
            if word < 2**64 - 2**30:
                assert table._rejects(parts, ReplayedCoins((word + 2**30,))).tolist() == [False]


def test_whoever_stands_at_an_end_of_a_wider_cell_is_decided_without_a_limit_of_precision():
    table = WIDER["geometric"]()
    head = 1 << (table.bits - table.low)
    none = np.zeros(2, dtype=np.int64)
    assert table._rejects([np.array([0, 7 * head]), none], ReplayedCoins((0, 0))).tolist() == [False, False]
    far = ReplayedCoins((2**64 - 1, 2**64 - 1))
    assert table._rejects([np.array([-head, -8 * head]), none], far).tolist() == [True, True]


def test_wide_laws_are_drawn_from_cells_in_blocks_and_hold_every_width(monkeypatch):
    monkeypatch.setattr("discreet.exact.cells.BLOCK", 3_000)
    for scale in (200, 10**6, 2**49, 2**57, 2**100, 2**250):
        drawn = sample.discrete_gaussian(Fraction(scale) ** 2, 10_000)
        # The variance of ten thousand squares: 5.4 standard deviations are a false alarm of 1e-7.
        assert abs(float(np.mean((drawn / float(scale)) ** 2)) - 1) < 5.4 * (2 / 10_000) ** 0.5
        # Every place of a cell occurs, on both sides.
        assert {int(k) % 4 for k in drawn} == {0, 1, 2, 3}
        assert drawn.min() < 0 < drawn.max()
    for scale in (2_000, 2**49, 2**56, 2**70, 2**99, 2**500):
        drawn = sample.two_sided_geometric(1 - Fraction(1, scale), 10_000)
        assert abs(float(np.mean(np.abs(drawn / float(scale)))) - 1) < 5.4 / 100
    for bits in (60, 200, 255):
        drawn = [sample.discrete_gaussian(Fraction(4**bits)) for _ in range(40)]
        assert max(map(abs, drawn)) > 2 ** (bits - 3)
        assert max(map(abs, drawn)) < 2 ** (bits + 4)
