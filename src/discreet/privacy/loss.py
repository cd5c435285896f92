"""The privacy-loss laws of the library's mechanisms, exact for a single release.

For a pair (P, Q) of output laws the privacy loss is L = ln(dP/dQ) under P, and

    delta(epsilon) = E[max(1 - exp(epsilon - L), 0)]

is the smallest delta at that epsilon.  A law stands for a *dominating* pair: its curve lies on or above
that of every pair of neighbours in either order.  Each law says four things about itself:
`delta(epsilon)` and `epsilon(delta)`, enclosed by rationals; `pure`, the largest loss; and `rho`, its
zCDP, with `slack` the probability of an infinite loss; and `group(size)`, the law for several units at
once.

Theorem (shifts).  For log-concave noise (geometric, Laplace, Gaussian, discrete Gaussian) a shift by at
most s is dominated by a shift by exactly s.
Proof.  The likelihood ratio is monotone, so the best event is a half-line, and its probability under the
shifted law falls as the shift grows.

Theorem (vectors).  Independent Laplace or geometric noise on every coordinate, moved by a vector of l1
norm s (an integer vector for geometric), is dominated by one coordinate moved by s.
Proof.  Move one coordinate at a time.  Testing through intermediate points can only help the tester, so
the trade-off of the whole is at least the iterate of x -> 1 - f_v(x) over the coordinates' moves v.  For
a shift family 1 - f_v(1 - F(c)) = 1 - F(c - v), so these maps compose by adding the moves; for integer
moves of a lattice law they map corners to corners and are linear between them, so this holds between the
corners too.

Theorem (concentration).  Under the geometric mean R of P and Q the laws below have a symmetric loss X,
and the Renyi divergence of order a is [h((a - 1/2)**2) - h(1/4)] / (a - 1) with h(u**2) = ln E_R[cosh(u
X)].  If that moment function, as an entire function of u**2 (of order 1/2), has only negative zeros, then
it is a product of factors (1 + u**2 / z), h is concave, and the mechanism is rho-zCDP with rho = KL(P,
Q), attained as a -> 1.
 - randomised response: cosh(u c), rho = c tanh(c / 2);
 - Laplace: cosh(u c) + sinh(u c) / (2 u), whose zeros are the eigenvalues of a vibrating string fixed at
   one end and elastically held at the other, rho = c + exp(-c) - 1;
 - geometric: a cosine polynomial with coefficients falling towards the middle, all of whose zeros are
   real because (Enestrom and Kakeya) half of it has its zeros inside the unit disc. A bounded-range law
   has E_Q[exp(a X)] with curvature at most c**2 / 4 in a (Hoeffding), zero at a = 0 and a = 1, so it is
   c**2 / 8-zCDP.  The discrete Gaussian has the rho of the continuous one.

References.  Bounded range: Durfee and Rogers, NeurIPS 2019; Dong, Durfee, Rogers, ICML 2020.  Discrete
Gaussian: Canonne, Kamath, Steinke, NeurIPS 2020.  Analytic Gaussian: Balle and Wang, ICML 2018.
"""

from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from discreet.errors import ParameterError
from discreet.exact.number import ball, enclose, log_bounds, shown
from discreet.privacy.atoms import AtomsLoss
from discreet.privacy.bounds import ZERO, Enclosure
from discreet.privacy.gaussian import DiscreteGaussianLoss, GaussianLoss
from discreet.privacy.geometric import GeometricLoss
from discreet.privacy.mesh import MeshLoss
from discreet.privacy.sampled import SampledLoss
from discreet.privacy.zcdp import pure_rho

_WIDE = 7
"""Below such a range c**2 / 8 is less than c tanh(c / 2)."""


@dataclass(frozen=True, slots=True)
class ResponseLoss:
    """The worst law of (cost, slack)-privacy: randomised response, except that slack reveals everything."""

    cost: Fraction
    slack: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if self.cost.numerator < 0:
            raise ParameterError(f"epsilon must not be negative, got {shown(self.cost)}")
        if not 0 <= self.slack.numerator <= self.slack.denominator:
            raise ParameterError(f"delta must lie between 0 and 1, got {shown(self.slack)}")

    def __hash__(self) -> int:
        # The hash of a fraction inverts its denominator; laws are looked up often.
        cost, slack = self.cost, self.slack
        return hash((cost.numerator, cost.denominator, slack.numerator, slack.denominator))

    @property
    def pure(self) -> Fraction:
        """Return the largest finite loss."""
        return self.cost

    @property
    def rho(self) -> Fraction:
        """Return the zCDP of the law without its slack, rounded up."""
        return pure_rho(self.cost)

    def delta(self, epsilon: Fraction) -> Enclosure:
        """Return rationals around slack + (1 - slack) (exp(c) - exp(epsilon)) / (1 + exp(c))."""
        if epsilon >= self.cost:
            return self.slack, self.slack

        def curve() -> arb:
            top = ball(self.cost).exp()
            return ball(self.slack) + ball(1 - self.slack) * (top - ball(epsilon).exp()) / (1 + top)

        return enclose(curve)

    def epsilon(self, delta: Fraction) -> tuple[Fraction, Fraction | None]:
        """Return rationals around ln(exp(c) - d (1 + exp(c))), d being the delta the slack leaves."""
        return response_epsilon(self.cost, self.slack, delta)

    def group(self, size: int) -> "ResponseLoss":
        """Return the worst law for `size` units: k c, and slack (exp(k c) - 1) / (exp(c) - 1), rounded up."""
        if size == 1:
            return self
        if self.slack == 0 or self.cost == 0:
            return ResponseLoss(self.cost * size, min(self.slack * size, Fraction(1)))
        growth = enclose(lambda: (ball(self.cost * size).exp() - 1) / (ball(self.cost).exp() - 1))[1]
        return ResponseLoss(self.cost * size, min(self.slack * growth, Fraction(1)))


def response_epsilon(cost: Fraction, slack: Fraction, delta: Fraction) -> tuple[Fraction, Fraction | None]:
    """Return rationals around the epsilon of (cost, slack)-privacy at this delta: that of `ResponseLoss`."""
    left = delta
    if slack:
        if delta < slack:
            return Fraction(0), None
        left = (delta - slack) / (1 - slack) if slack != 1 else Fraction(0)
    if not left or not cost:
        return cost, cost
    over, under = left.numerator, left.denominator
    # exp(c) (1 - left) - left <= 1 exactly when exp(c) <= (1 + left) / (1 - left), of which the logarithm
    # is at most 2 left / (1 - left**2): a cost well above that needs no logarithm to tell.
    near = 4 * over > under or cost.numerator * under < 3 * over * cost.denominator
    if near and (left == 1 or cost <= log_bounds((1 + left) / (1 - left))[0]):
        return ZERO
    low, high = enclose(lambda: ((ball(cost).exp() * (under - over) - over) / under).log())
    return (low if low.numerator > 0 else ZERO[0]), (high if high.numerator > 0 else ZERO[1])


@dataclass(frozen=True, slots=True)
class LaplaceLoss:
    """Continuous Laplace noise moved by `ratio` times its scale."""

    ratio: Fraction

    def __post_init__(self) -> None:
        _check_cost(self.ratio)

    @property
    def slack(self) -> Fraction:
        """Return the probability of an infinite loss."""
        return Fraction(0)

    @property
    def pure(self) -> Fraction:
        """Return the largest loss."""
        return self.ratio

    @property
    def rho(self) -> Fraction:
        """Return the zCDP of the law, ratio + exp(-ratio) - 1, rounded up."""
        return (
            Fraction(0)
            if self.ratio == 0
            else enclose(lambda: ball(self.ratio) + (-ball(self.ratio)).expm1())[1]
        )

    def delta(self, epsilon: Fraction) -> Enclosure:
        """Return rationals around 1 - exp((epsilon - ratio) / 2)."""
        if epsilon >= self.ratio:
            return ZERO
        return enclose(lambda: -((ball(epsilon) - ball(self.ratio)) / 2).expm1())

    def epsilon(self, delta: Fraction) -> Enclosure:
        """Return rationals around ratio + 2 ln(1 - delta)."""
        if delta == 0 or delta >= 1:
            return (self.ratio, self.ratio) if delta == 0 else ZERO
        low, high = log_bounds(1 - delta)
        return max(self.ratio + 2 * low, Fraction(0)), max(self.ratio + 2 * high, Fraction(0))

    def group(self, size: int) -> "LaplaceLoss":
        """Return the law for `size` units: the shift multiplies."""
        return LaplaceLoss(self.ratio * size)


@dataclass(frozen=True, slots=True)
class BoundedRangeLoss:
    """The envelope of all laws with a loss in some interval of length `cost` (the exponential mechanism)."""

    cost: Fraction

    def __post_init__(self) -> None:
        _check_cost(self.cost)

    @property
    def slack(self) -> Fraction:
        """Return the probability of an infinite loss."""
        return Fraction(0)

    @property
    def pure(self) -> Fraction:
        """Return the largest loss."""
        return self.cost

    @property
    def rho(self) -> Fraction:
        """Return the zCDP of every bounded-range law; beyond a range of 8 that of any pure one is less."""
        ranged = self.cost**2 / 8
        return ranged if self.cost < _WIDE else min(ranged, pure_rho(self.cost))

    def delta(self, epsilon: Fraction) -> Enclosure:
        """Return rationals around (exp(c/2) - exp(epsilon/2))**2 / (exp(c) - 1)."""
        if epsilon >= self.cost:
            return ZERO
        return enclose(
            lambda: ((ball(self.cost) / 2).exp() - (ball(epsilon) / 2).exp()) ** 2 / ball(self.cost).expm1()
        )

    def epsilon(self, delta: Fraction) -> Enclosure:
        """Return rationals around 2 ln(exp(c/2) - sqrt(delta (exp(c) - 1)))."""
        if delta == 0 or self.cost == 0:
            return self.cost, self.cost
        if self.delta(Fraction(0))[1] <= delta:
            return ZERO

        def curve() -> arb:
            return 2 * ((ball(self.cost) / 2).exp() - (ball(delta) * ball(self.cost).expm1()).sqrt()).log()

        low, high = enclose(curve)
        return max(low, Fraction(0)), max(high, Fraction(0))

    def group(self, size: int) -> "BoundedRangeLoss":
        """Return the law for `size` units: ranges add."""
        return BoundedRangeLoss(self.cost * size)


Base = (
    ResponseLoss
    | GeometricLoss
    | LaplaceLoss
    | BoundedRangeLoss
    | GaussianLoss
    | DiscreteGaussianLoss
    | AtomsLoss
)
"""The laws of one release about everybody."""

Summand = Base | MeshLoss
"""What can be summed: a mesh stands for one side of one order of a sampled law."""

Law = Base | SampledLoss
"""The laws that a guarantee may state."""


def _check_cost(cost: Fraction) -> None:
    if cost < 0:
        raise ParameterError(f"epsilon must not be negative, got {shown(cost)}")


__all__ = [
    "AtomsLoss",
    "Base",
    "BoundedRangeLoss",
    "DiscreteGaussianLoss",
    "GaussianLoss",
    "GeometricLoss",
    "LaplaceLoss",
    "Law",
    "MeshLoss",
    "ResponseLoss",
    "SampledLoss",
    "Summand",
]
