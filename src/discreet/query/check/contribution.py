"""How far one person can move the exact integers: the theorem behind every rewrite.

Setting.  After the rewrite the rows of person p in group i carry integer weights, and with W standing for
one whole row the weights satisfy, whatever the data of p:

    (a)  the weights of p in one group sum to at most  W * cell,
    (b)  the weights of p in all groups sum to at most W * total,
    (c)  p has rows in at most `groups` groups.

They depend only on the rows of p and on a key drawn before the data was seen.  A measurement sums, per
group, weight * q over rows, where q is an integer clamped to [low, high] (NULL adds nothing).

Theorem (add-remove).  The vector of p's contributions v has |v_i| <= W * n_i * B, where
B = max(|low|, |high|), with real n_i in [0, cell] and sum n_i <= total, at most `groups` of them non-zero.
Hence linf <= W * cell * B, l1 <= W * total * B, and l2 squared is W**2 * B**2 times the largest sum of
squares of such n, which is reached by filling groups one after the other.  Other people contribute the
same with and without p, so the answers differ by exactly v.

Theorem (replace).  The answers differ by v - v' for two such vectors.  In one coordinate the difference is
at most W * cell * (P + N) with P = max(high, 0), N = max(-low, 0).  Over several groups l1 is at most twice
that of add-remove, and by Cauchy-Schwarz (n P + n' N)**2 <= (n**2 + n'**2)(P**2 + N**2), so l2 squared is
at most 2 * W**2 * squares * (P**2 + N**2).  With a single group only the one-coordinate bound matters.

Theorem (simplex).  Let a row add to each of d integers of its group, q_1, ..., q_d >= 0 with q_1 + ... + q_d
at most R: the terms of ((high - x) + (x - low))**k, of which R = (high - low)**k, or R to an integer of its
own where x is NULL.  Then the vector of all integers of all groups has, for add-remove, l1 <= W * total * R,
because each row adds at most R times its weight; l2 squared at most R**2 times the sum of squares above,
because terms that are not negative have sum of squares at most the square of their sum; linf <= W * cell * R.
For replace l1 doubles; so does l2 squared, because (a - b)**2 <= a**2 + b**2 for a, b >= 0; linf does not.
So all d integers together move no further than one of them could: one price, not d, pays for noise on each.

All are reached: a person whose rows sit in as few groups as possible at an extreme value (for replace,
moving from one set of groups to another, or from one extreme to the other).
"""

from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import ParameterError
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.sensitivity import Sensitivity


@dataclass(frozen=True, slots=True)
class Contribution:
    """How many rows of one person count: in all, in any one group, and in how many groups."""

    adjacency: Adjacency
    total: int
    cell: int
    groups: int | None
    single: bool

    @property
    def squares(self) -> int:
        """The largest sum of squared rows per group under the three limits."""
        full, rest = divmod(self.total, self.cell)
        if self.groups is not None and full >= self.groups:
            return self.groups * self.cell**2
        return full * self.cell**2 + rest**2

    @property
    def touched(self) -> int | None:
        """The number of groups one change can touch."""
        if self.groups is None:
            return None
        return self.groups if self.adjacency is Adjacency.ADD_REMOVE else 2 * self.groups


def contribution(
    adjacency: Adjacency, rows: int | None, per_group: int | None, groups: int | None, *, single: bool
) -> Contribution | None:
    """Return the joint limit of separate ones, or None when they leave the total unbounded."""
    if single:
        groups = 1
    by_groups = None if per_group is None or groups is None else per_group * groups
    totals = [limit for limit in (rows, by_groups) if limit is not None]
    if not totals:
        return None
    total = min(totals)
    cell = min([total] + [limit for limit in (per_group,) if limit is not None])
    return Contribution(adjacency, total, cell, groups, single)


def claim(limits: Contribution, low: int, high: int) -> Sensitivity:
    """Return the sensitivity of per-group sums of integers in [low, high] under the theorem above."""
    if low > high:
        raise ParameterError("a claim needs low <= high")
    above, below = max(high, 0), max(-low, 0)
    reach = max(above, below)
    match limits.adjacency:
        case Adjacency.ADD_REMOVE:
            return Sensitivity(
                Fraction(limits.total * reach),
                Fraction(limits.squares * reach**2),
                Fraction(limits.cell * reach),
                limits.touched,
            )
        case Adjacency.REPLACE if limits.single:
            return Sensitivity.of(limits.cell * (above + below))
        case Adjacency.REPLACE:
            return Sensitivity(
                Fraction(2 * limits.total * reach),
                Fraction(2 * limits.squares * (above**2 + below**2)),
                Fraction(limits.cell * (above + below)),
                limits.touched,
            )


def claim_simplex(limits: Contribution, top: int, corners: int) -> Sensitivity:
    """Return the sensitivity of `corners` sums together, to which one row adds `top` in all."""
    times = 1 if limits.adjacency is Adjacency.ADD_REMOVE else 2
    return Sensitivity(
        Fraction(times * limits.total * top),
        Fraction(times * limits.squares * top**2),
        Fraction(limits.cell * top),
        None if limits.touched is None else limits.touched * corners,
    )
