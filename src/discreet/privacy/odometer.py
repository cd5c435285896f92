"""Odometers: how much has been lost so far, at every moment of an interaction without a fixed end.

Theorem.  Let releases be chosen fully adaptively, and let R_n, S_n and E_n be the sums of their rhos,
slacks and epsilons after n of them.  Fix levels r_j = unit * (5/4)**j and shares d_j = delta / (2 (j + 1)
(j + 2)), j = 0, 1, ... With probability at least 1 - delta, at all times n with S_n <= delta / 2 the
privacy loss is at most

    min(E_n,  r_j + 2 sqrt(r_j ln(1/d_j)))      for the least level r_j >= R_n.

Proof.  The shares d_j add up to delta / 2, and leaving the good parts of releases with slack costs at
most the other half.  For each level, exp((a - 1) L_n - a (a - 1) R_n) with a = 1 + sqrt(ln(1/d_j) / r_j)
is a supermartingale that starts at 1; by Ville's inequality it ever reaches 1/d_j with probability at
most d_j, and as long as R_n <= r_j it does so where L_n exceeds the bound.

A filter answers "may I go on?"; an odometer "where am I?", for readers who may stop whenever they like.

References.  Rogers, Roth, Ullman, Vadhan, NeurIPS 2016; Whitehouse, Ramdas, Rogers, Wu, ICML 2023.
"""

from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import ParameterError
from discreet.exact.number import Real, log_bounds, positive, probability, rational, sqrt_up
from discreet.privacy.bounds import FULLY, Bounds
from discreet.privacy.filter import Cost, as_cost

_GROWTH = Fraction(5, 4)


@dataclass(frozen=True, slots=True)
class Odometer:
    """A running total of costs; `unit` is the first level of zCDP, fixed before the first release."""

    spent: Cost = Cost.zero
    unit: Fraction = Fraction(1, 10**6)

    def __post_init__(self) -> None:
        as_cost(self.spent)
        object.__setattr__(self, "unit", positive(self.unit, "unit"))

    def add(self, cost: Cost) -> "Odometer":
        """Return the odometer after a release of this cost."""
        return Odometer(self.spent + as_cost(cost), self.unit)

    def epsilon(self, delta: Real = 0) -> Bounds:
        """Return a bound on the loss so far that holds at all times at once, but for probability delta."""
        if rational(delta, "delta") == 0:
            pure = self.spent.epsilon if self.spent.delta == 0 else None
            return Bounds(Fraction(0), pure, "basic", FULLY)
        half = probability(delta, "delta") / 2
        if self.spent.delta > half:
            raise ParameterError("the releases' own slacks already exceed half of this delta")
        level, rank = self.unit, 0
        while level < self.spent.rho:
            level, rank = level * _GROWTH, rank + 1
        share = half / ((rank + 1) * (rank + 2))
        concentrated = level + 2 * sqrt_up(-level * log_bounds(share)[0])
        if self.spent.epsilon is not None and self.spent.epsilon <= concentrated:
            return Bounds(Fraction(0), self.spent.epsilon, "basic", FULLY)
        return Bounds(Fraction(0), concentrated, "odometer", FULLY)
