"""The geometric mechanism: integer noise whose every probability is a rational number.

Theorem.  Let f take integer vectors as values, let s be its l1 sensitivity, and add to each
coordinate an independent Z with

    Pr[Z = k] = (1 - a) / (1 + a) * a**|k|        for a rational a in (0, 1).

The release is epsilon-differentially private exactly when exp(epsilon) >= a**-s.
For a single count (s = 1) it is universally optimal: whatever the analyst's prior, and whatever loss
she suffers that grows with |error|, no other epsilon-private mechanism serves her better than this
one followed by her best remapping.

Accuracy.  Pr[|Z| > r] = 2 a**(r+1) / (1+a),  E|Z| = 2a / (1-a**2),  Var Z = 2a / (1-a)**2.

References.  Privacy: Dwork, McSherry, Nissim, Smith, TCC 2006.  Optimality: Ghosh, Roughgarden,
Sundararajan, SIAM J. Comput. 41(6), 2012.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from discreet.errors import ParameterError
from discreet.exact.digits import SHARPEST, power, power_ball, proper_ratio, writable
from discreet.exact.number import (
    HAIR,
    Real,
    at_most,
    ball,
    exp_up,
    least_integer,
    log_quotient,
    positive,
    probability,
    whole,
)
from discreet.exact.perturb import perturb
from discreet.exact.sample import two_sided_geometric
from discreet.markup import built
from discreet.mechanisms.notebook import html, line
from discreet.mechanisms.purpose import moved, remembered
from discreet.privacy.geometric import log_inverse
from discreet.privacy.guarantee import Profile, Pure
from discreet.privacy.loss import GeometricLoss, ResponseLoss
from discreet.privacy.sensitivity import Sensitivity


def ratio(epsilon: Real, sensitivity: Sensitivity | Real) -> Fraction:
    """Return a rational at or just above exp(-epsilon / l1): never less private than asked."""
    budget, change = positive(epsilon, "epsilon"), Sensitivity.of(sensitivity).l1
    if change <= 0:
        raise ParameterError("sensitivity must be greater than 0; an answer nobody can move needs no noise")
    # 1 - a is about epsilon / l1: enough bits to keep 64 of *its* digits, however small it is.  The hair
    # taken off epsilon is more than any rounding of the logarithm taken back, so the guarantee fits in it.
    extra = max(0, (change / budget).numerator.bit_length() - (change / budget).denominator.bit_length())
    if budget > SHARPEST // 2 * change:
        raise ParameterError(
            f"epsilon is more than {SHARPEST // 2} for each unit of the sensitivity: that protects nobody"
        )
    return proper_ratio(exp_up(-budget / change * (1 - HAIR), 64 + extra), "the ratio of the noise")


@dataclass(frozen=True, slots=True)
class Geometric:
    """Two-sided geometric noise; a larger alpha is noisier and more private."""

    alpha: Fraction
    sensitivity: Sensitivity | None = field(default=None, kw_only=True)

    _repr_html_, __str__, __repr__ = html, line, built

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", proper_ratio(self.alpha))
        object.__setattr__(self, "sensitivity", remembered(self.sensitivity))

    @classmethod
    def calibrate(cls, *, epsilon: Real, sensitivity: Sensitivity | Real = 1) -> "Geometric":
        """Return the least noise that keeps an answer of this l1 sensitivity epsilon-private."""
        return cls(ratio(epsilon, sensitivity), sensitivity=Sensitivity.of(sensitivity))

    def pmf(self, k: int) -> Fraction:
        """Return Pr[Z = k]."""
        return (1 - self.alpha) / (1 + self.alpha) * power(self.alpha, abs(whole(k, "k")))

    def cdf(self, k: int) -> Fraction:
        """Return Pr[Z <= k]."""
        end = whole(k, "k")
        if end < 0:
            return power(self.alpha, -end) / (1 + self.alpha)
        return 1 - power(self.alpha, end + 1) / (1 + self.alpha)

    def sample(self, values: Any) -> Any:
        """Return values + Z: an int for an int, an array with independent noise for an array of integers."""
        return perturb(values, lambda count: two_sided_geometric(self.alpha, count))

    def guarantee(self, sensitivity: Sensitivity | Real | None = None) -> Pure:
        """Return the privacy of one release: epsilon = -l1 ln(alpha), rounded up."""
        steep = log_inverse(self.alpha.numerator, self.alpha.denominator)[1]
        return Pure(steep * moved(sensitivity, self.sensitivity, self).l1)

    def profile(self, sensitivity: Sensitivity | Real | None = None) -> Profile:
        """Return the whole loss law, for composition; vectors of integers are covered by their l1 norm.

        A sensitivity that is no whole number is that of the worst law of the same epsilon.
        """
        l1 = moved(sensitivity, self.sensitivity, self).l1
        if l1.denominator == 1:
            return Profile(GeometricLoss(self.alpha, l1.numerator))
        return Profile(ResponseLoss(self.guarantee(sensitivity).cost))

    def radius(self, beta: Real = "0.05") -> int:
        """Return the smallest r with Pr[|Z| > r] <= beta."""
        bound = probability(beta, "beta")

        def covers(r: int) -> bool:
            return at_most(
                lambda: 2 * power_ball(self.alpha, r + 1) / (1 + ball(self.alpha)),
                bound,
                exact=lambda: 2 * self.cdf(-r - 1) if writable(self.alpha, r + 1) else None,
            )

        return least_integer(covers, log_quotient(bound, self.alpha))

    @property
    def mean_error(self) -> Fraction:
        """Return E|Z|."""
        return 2 * self.alpha / (1 - self.alpha**2)

    @property
    def variance(self) -> Fraction:
        """Return Var Z."""
        return 2 * self.alpha / (1 - self.alpha) ** 2
