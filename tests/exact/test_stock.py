"""Numbers drawn ahead: independent, of their law, and handed out once, through forks, threads and signals."""

import os
import threading
from fractions import Fraction
from itertools import count

import numpy as np
import pytest
from scipy.stats import chisquare
from tests.exact.test_process import unseen_fork

from discreet.exact import sample, stock
from discreet.exact.coins import SYSTEM, _using, source
from discreet.exact.stock import MOST_LAWS, ROW, from_stock, restock
from discreet.mechanisms import laplace
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.staircase import Staircase

WIDE = [
    Geometric.calibrate(epsilon="1e-14"),
    Gaussian(Fraction(10**28)),
    Staircase.calibrate(epsilon=1, sensitivity=10**14),
]
"""A number that comes twice in a few hundred draws of one of these was handed out twice."""


def draws(law, number):
    return [law.sample(0) for _ in range(number)]


@pytest.mark.parametrize("law", WIDE)
def test_single_draws_never_repeat(law):
    found = draws(law, 5 * ROW)
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("law", WIDE)
@pytest.mark.parametrize("fork", [os.fork, unseen_fork])
def test_a_forked_child_has_nothing_of_its_parents_stock(law, fork):
    draws(law, 3)
    read, write = os.pipe()
    if fork() == 0:
        os.write(write, np.array(draws(law, ROW), dtype=np.int64).tobytes())
        os._exit(0)
    theirs = np.frombuffer(os.read(read, 8 * ROW), dtype=np.int64)
    os.wait()
    assert theirs.size == ROW
    assert not set(theirs.tolist()) & set(draws(law, ROW))


def test_staircases_that_differ_in_anything_have_stocks_of_their_own():
    flat, far = Fraction(1, 10**15), Fraction(10**9 - 1, 10**9)
    laws = {
        Staircase(flat, 10**12, 10**12): lambda k: 10**6 < abs(k) < 10**12,
        Staircase(flat, 10**12, 3): lambda k: abs(k) < 3,
        Staircase(flat, 10**6, 10**6): lambda k: abs(k) < 10**6,
        Staircase(far, 10**12, 10**12): lambda k: abs(k) > 10**15,
    }
    # Each holds for all but a thousandth of its own noise.
    found = dict.fromkeys(laws, 0)
    for _ in range(3 * ROW):
        for law, own in laws.items():
            found[law] += own(law.sample(0))
    assert min(found.values()) > 2 * ROW


def test_threads_have_stocks_of_their_own():
    law, found = WIDE[0], []
    draws(law, 3)
    workers = [threading.Thread(target=lambda: found.append(draws(law, ROW))) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    found.append(draws(law, ROW))
    assert len(set().union(*found)) == 4 * ROW


def test_every_number_of_a_row_is_handed_out_exactly_once():
    numbers = count()
    key = ("a law of this test",)

    def taken():
        found = from_stock(key)
        several = lambda n, coins: np.array([next(numbers) for _ in range(n)])  # noqa: E731
        return restock(key, lambda coins: next(numbers), several) if found is None else found

    assert sorted(taken() for _ in range(1 + 4 * ROW)) == list(range(1 + 4 * ROW))


def test_a_law_that_is_drawn_from_once_is_drawn_once():
    def several(number, coins):
        raise AssertionError("a row was drawn")

    assert restock(("another law of this test",), lambda coins: 7, several) == 7
    assert from_stock(("another law of this test",)) is None


def test_laws_in_stock_are_few():
    for number in range(3 * MOST_LAWS):
        restock(("many", number), lambda coins: 0, lambda n, coins: np.zeros(n))
    assert len(SYSTEM.stock()) <= MOST_LAWS


def test_other_coins_never_see_what_is_in_stock():
    """Whoever enumerates coins, or an audit that hands in its own, gets what these coins say."""
    draws(WIDE[0], 3)

    class Zeros:
        def bits(self, number):
            return 0

        def words(self, number, width):
            return np.full(number, 1 << (width - 1), dtype=np.uint64)

    before = sum(map(len, SYSTEM.stock().values()))
    with _using(Zeros()):
        assert source() is not SYSTEM
        assert len(set(draws(WIDE[0], 100))) == 1
    assert sum(map(len, SYSTEM.stock().values())) == before


@pytest.mark.parametrize(
    ("law", "width"),
    [(Geometric(Fraction(9, 10)), 30), (Gaussian(Fraction(100)), 30), (Gaussian(Fraction(4000)), 190)],
)
def test_single_draws_fit_their_law(law, width):
    """Rows of 64 are drawn by other means than long arrays are."""
    found = np.array(draws(law, 20_000))
    edges = np.linspace(-width, width, 25).round().astype(int)
    below = [
        0.0,
        *(
            float(law.cdf(int(edge)).high if isinstance(law, Gaussian) else law.cdf(int(edge)))
            for edge in edges
        ),
        1.0,
    ]
    seen = np.bincount(np.searchsorted(edges, found), minlength=len(edges) + 1)
    assert chisquare(seen, np.diff(below) * found.size).pvalue > 1e-7


def test_floats_are_rounded_to_the_grid_as_their_decimals_are(monkeypatch):
    """Ties and what is next to them included: single floats mean their shortest decimals."""
    monkeypatch.setattr(laplace, "two_sided_geometric", lambda alpha: 0)
    rng = np.random.default_rng(5)
    for step in (Fraction(1, 2**40), Fraction(1, 4), Fraction(1, 10), Fraction(8), Fraction(1, 2**800)):
        law = Laplace(Fraction(1, 2), step)
        ties = [float((k + Fraction(1, 2)) * step) for k in (-3, -1, 0, 1, 2**12, 2**45)]
        near = [np.nextafter(tie, side) for tie in ties for side in (-np.inf, np.inf)]
        for x in (*ties, *map(float, near), 0.1, -0.3, 5e-324, 1e300, *rng.normal(size=40) * float(step) * 9):
            exact = Fraction(float.__repr__(float(x)))
            k = (exact / step + Fraction(1, 2)).__floor__()
            assert law.sample(float(x)) == laplace.nearest_float(k * step.numerator, step.denominator)


def test_what_the_stock_is_keyed_by_tells_laws_apart():
    """The same numbers may be a ratio and a variance."""
    number = Fraction(1, 2)
    for _ in range(3):
        sample.two_sided_geometric(number)
        sample.discrete_gaussian(number)
    keys = [key for key in SYSTEM.stock() if key[1:] == ((1, 2),)]
    assert len(keys) == 2
    assert stock.ROW > 1
