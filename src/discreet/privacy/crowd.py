"""Shuffled yes/no reports, exactly: the worst that the others' data can do is tried out.

Let n people answer yes or no by randomised response of odds o, let k of the n - 1 others have the truth
"yes", and let S be how many of the others report it.  Who sees the shuffled reports sees how many say yes:
S + 1 with probability o / (o + 1) and S otherwise if the person in question has the truth "yes", and the
other way round if not.

Theorem.  With T(m) the chance of S >= m, the excess of the two laws at x = exp(epsilon) is the largest of

    [(o - x) T(m - 1) - (x o - 1) T(m)] / (o + 1),   m = 0, ..., n.

Proof.  S is a sum of independent coins, so its law s is log-concave and s(c - 1) / s(c) rises with c.  With
it rises the likelihood ratio [o s(c - 1) + s(c)] / [s(c - 1) + o s(c)] of a count c, so the best event is
that the count is at least some m; its chances are [o T(m - 1) + T(m)] / (o + 1) and
[T(m - 1) + o T(m)] / (o + 1).

The other order of the pair is the same with "yes" and "no" exchanged, hence with n - 1 - k for k: the largest
value over all m and k is the delta of the shuffled reports, and nothing smaller holds.
"""

from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.privacy.normal import Reals

MOST_EXACT = 1000
"""For more people than this the others' data are not tried out."""

LOST = 2.0**-34
"""Products and sums of some thousands of positive floats err by less than this fraction."""

_SMALL = Fraction(1, 2**900)
"""More than all that is lost where a float is too small to be written."""


def excess(odds: Fraction, x: Fraction, people: int) -> tuple[Fraction, Fraction]:
    """Return rationals around the delta of at most `MOST_EXACT` shuffled reports, at x below the odds."""
    before, after = _tails(odds, people)
    gain, loss = float((odds - x) / (odds + 1)), float((x * odds - 1) / (odds + 1))
    most = float((gain * (1 + LOST) * before - loss * (1 - LOST) * after).max())
    least = float((gain * (1 - LOST) * before - loss * (1 + LOST) * after).max())
    return max(Fraction(least) - _SMALL, Fraction(0)), max(Fraction(most), Fraction(0)) + _SMALL


@lru_cache(maxsize=4)
def _tails(odds: Fraction, people: int) -> tuple[Reals, Reals]:
    """Return T(m - 1) and T(m), for all data of the others (rows) and all m (columns)."""
    yes, no = float(odds / (odds + 1)), float(1 / (odds + 1))
    laws = [np.array([1.0])]
    for _ in range(people - 1):
        laws.append(np.convolve(laws[-1], [no, yes]))
    tails = np.zeros((people, people + 2))
    tails[:, 0] = 1.0
    for truths, law in enumerate(laws):
        # Whoever has the truth "no" reports it as often as the others report theirs.
        both = np.convolve(law, laws[people - 1 - truths][::-1])
        tails[truths, 1:-1] = np.cumsum(both[::-1])[::-1]
    return tails[:, :-1], tails[:, 1:]
