"""How far one person moves the integers of all groups: the theorem that ends every derivation.

Setting.  A group's integer is the sum over its rows of w q, with weights w >= 0 and q in [low, high] (a NULL
adds 0).  The weights of a person sum to at most `total` in all groups and to at most `cell` in one, and at
most `groups` groups hold rows of a person (None: unknown).  P = max(high, 0), N = max(-low, 0) and
B = max(P, N).

Theorem (add-remove).  A person's contribution v has |v_k| <= n_k B with n_k <= cell and sum n_k <= total, so
l1 <= total B, linf <= cell B, l0 <= groups, and l2 squared is at most B**2 times the largest sum of squares
of such n.  A sum of squares is convex, so it is largest at a corner: groups filled one after the other.

Theorem (replace).  The integers move by v - v'.  One coordinate moves by at most cell (P + N).  With one
group that is all.  Otherwise l1 <= 2 total B, twice as many groups are touched, and by Cauchy-Schwarz
(n P + n' N)**2 <= (n**2 + n'**2)(P**2 + N**2), so l2 squared <= 2 squares (P**2 + N**2).

Theorem (scores).  Let r be the weight that a person adds to a group, a of it below a candidate and w on it.
The score of a quantile of level u / d is -max(0, d below - u all, u all - d (below + weight)); it moves by at
most max(u, d - u) r, since 0 <= a + w <= r.  Replacing r by r' moves it by at most max(u, d - u)(r + r'), and
by at most d max(r, r'), because d a - u r lies in [-u r, (d - u) r].  The weight of a candidate as its score
is the case of factor 1.  Sums over groups follow, r summed over groups being at most `total`.
"""

from dataclasses import dataclass
from fractions import Fraction

from discreet.privacy.adjacency import Adjacency
from discreet.privacy.sensitivity import Sensitivity


@dataclass(frozen=True, slots=True)
class Reach:
    """What one person can add: weights in all and in one group, the groups, and the factor's interval."""

    total: int
    cell: int
    groups: int | None
    low: int
    high: int

    @property
    def squares(self) -> int:
        """The largest sum of squared weights per group."""
        if self.cell == 0:
            return 0
        full, rest = divmod(self.total, self.cell)
        if self.groups is not None and full >= self.groups:
            return self.groups * self.cell**2
        return full * self.cell**2 + rest**2

    @property
    def leaning(self) -> Fraction:
        """How far the factor reaches to its smaller side, as a part of the larger."""
        sides = sorted((max(self.high, 0), max(-self.low, 0)))
        return Fraction(sides[0], sides[1]) if sides[1] else Fraction(0)

    def moves(self, adjacency: Adjacency, size: int | None) -> Sensitivity:
        """Return the sensitivity of the integers of `size` groups (None: any number of groups)."""
        up, down = max(self.high, 0), max(-self.low, 0)
        most = max(up, down)
        match adjacency:
            case Adjacency.ADD_REMOVE:
                return Sensitivity(
                    Fraction(self.total * most),
                    Fraction(self.squares * most**2),
                    Fraction(self.cell * most),
                    self.groups,
                )
            case Adjacency.REPLACE if size == 1:
                return Sensitivity.of(self.cell * (up + down))
            case Adjacency.REPLACE:
                l1 = 2 * self.total * most
                l2 = min(2 * self.squares * (up**2 + down**2), l1**2)
                touched = None if self.groups is None else 2 * self.groups
                return Sensitivity(Fraction(l1), Fraction(l2), Fraction(self.cell * (up + down)), touched)

    def scores(self, adjacency: Adjacency, size: int | None, level: Fraction | None) -> Fraction:
        """Return how far the scores of a selection move, summed over groups."""
        one, both = 1, 1
        if level is not None:
            up, unit = level.numerator, level.denominator
            one, both = max(up, unit - up), unit
        match adjacency:
            case Adjacency.ADD_REMOVE:
                return Fraction(one * self.total)
            case Adjacency.REPLACE if size == 1:
                return Fraction(both * self.total)
            case Adjacency.REPLACE:
                return Fraction(2 * one * self.total)
