"""The routes by which a composition can be bounded, each with its theorem and its adaptivity.

Let the releases have losses bounded by c_i (where they are), zCDP r_i and loss laws with log moments K_i,
and let d be the delta left once the releases' own slacks are paid.

    basic              sum of c_i.  The loss of the whole is the sum of the losses. lecture            sum
    of c_i (exp(c_i) - 1) + sqrt(2 ln(1/d) sum of c_i**2): the advanced composition theorem of Dwork,
    Rothblum and Vadhan, FOCS 2010, for unequal costs. advanced           sum of c_i tanh(c_i / 2) +
    sqrt(2 ln(1/d) sum of c_i**2): the same with the sharp mean loss (Kairouz, Oh, Viswanath, 2015), valid
    when costs are chosen adaptively within a fixed sum of squares and of means (Whitehouse, Ramdas,
    Rogers, Wu, ICML 2023). concentrated       the sum of the r_i, converted as in Canonne, Kamath,
    Steinke, NeurIPS 2020. renyi              the best order a of [sum of K_i(a - 1) + ln((1 - 1/a)**(a -
    1) / a) - ln d] / (a - 1), Mironov 2017 with the conversion above. optimal            the exact
    composition of pure guarantees, when nothing else is known about the releases. loss distribution  the
    law of the sum of the losses, inverted with certified error on both sides; by the theorem of Zhu, Dong
    and Wang, AISTATS 2022, dominating pairs compose.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
from flint import arb

from discreet.exact.number import LARGEST_EXPONENT, ball, enclose, exp_bounds, log_bounds, sqrt_up
from discreet.privacy.bounds import FIXED, FULLY
from discreet.privacy.inverse import delta_at, epsilon_at
from discreet.privacy.listed import ListedSum
from discreet.privacy.loss import Base, BoundedRangeLoss, GaussianLoss, MeshLoss, ResponseLoss, Summand
from discreet.privacy.moment import MOST_LOSS, Reals, chernoff_constant
from discreet.privacy.optimal import FEW, Responses
from discreet.privacy.total import LossSum, lowest
from discreet.privacy.zcdp import delta_of_rho, epsilon_of_rho, pure_rho

Enclosure = tuple[Fraction, Fraction]
Laws = tuple[tuple[Summand, int], ...]


@dataclass(frozen=True)
class Releases:
    """What is composed, slacks set aside: loss laws, how many of each, and the zCDP of what has no law."""

    laws: Laws
    rho: Fraction = Fraction(0)
    lenient: bool = False
    """Whether laws were left out that can only lower the loss, so that nothing is known from below."""

    def least_epsilon(self, left: Fraction, near: Fraction | None = None) -> Fraction:
        """Return an epsilon that actual mechanisms with these guarantees attain at this delta."""
        return Fraction(0) if self.lenient else tight_epsilon(self.attained(), left, near)[0]

    def least_delta(self, epsilon: Fraction) -> Fraction:
        """Return a delta that actual mechanisms with these guarantees attain at this epsilon."""
        return Fraction(0) if self.lenient else tight_delta(self.attained(), epsilon)[0]

    def pure(self) -> Fraction | None:
        """Return the sum of the largest losses, if all are bounded."""
        return None if self.rho else LossSum(self.laws).ceiling

    def costs(self) -> list[tuple[Fraction, int]] | None:
        """Return the largest losses with their multiplicities, if all are bounded."""
        tops = [(law.pure, n) for law, n in self.laws]
        return (
            None if self.rho or any(top is None for top, _ in tops) else [(top, n) for top, n in tops if top]
        )

    def zcdp(self) -> Fraction:
        """Return the total zCDP."""
        return self.rho + sum((n * law.rho for law, n in self.laws), Fraction(0))

    def responses(self) -> Responses | None:
        """Return the releases as randomised responses of their largest losses, given a common unit."""
        if self.rho:
            return None
        geometric = Responses.of(self.laws)
        if geometric is not None:
            return geometric
        costs = self.costs()
        return None if not costs else Responses.of([(ResponseLoss(cost), n) for cost, n in costs])

    def attained(self) -> Laws:
        """Return laws of actual mechanisms that keep these guarantees, for lower bounds."""
        member: list[tuple[Summand, int]] = [
            (ResponseLoss(law.cost / 2) if isinstance(law, BoundedRangeLoss) else law, n)
            for law, n in self.laws
        ]
        return tuple(member) + (((GaussianLoss(2 * self.rho), 1),) if self.rho else ())

    @cached_property
    def exact(self) -> "Base | Responses | ListedSum | None":
        """Return the law of the whole as one value, where there is one."""
        return whole(self.laws)

    def listed(self) -> "Responses | ListedSum | None":
        """Return the losses of the whole one by one, where these are few and nothing else is composed."""
        if self.rho or self.lenient:
            return None
        # So few are written out sooner than they are looked up.
        few = sum(n for _, n in self.laws) <= FEW
        known = (Responses.of(self.laws) if few else None) or self.exact
        return known if isinstance(known, Responses | ListedSum) else None

    @property
    def tight(self) -> bool:
        """Whether the laws tell all, so that the loss-distribution route is the best there is."""
        ranges = any(isinstance(law, BoundedRangeLoss) for law, _ in self.laws)
        return not self.rho and not ranges and (self.exact is not None or loss_sum(self.laws).tractable)

    @property
    def floats(self) -> bool:
        """Whether routes that compute with floats may be asked."""
        return loss_sum(self.laws).tractable and self.rho <= MOST_LOSS


@dataclass(frozen=True)
class Route:
    """One way to an upper bound: epsilon from what is left of delta, and delta from epsilon."""

    name: str
    adaptive: str
    theorem: str
    epsilon: Callable[[Releases, Fraction], Fraction | None]
    delta: Callable[[Releases, Fraction], Fraction | None]


def _basic_epsilon(releases: Releases, left: Fraction) -> Fraction | None:
    return releases.pure()


def _basic_delta(releases: Releases, epsilon: Fraction) -> Fraction | None:
    total = releases.pure()
    return Fraction(0) if total is not None and epsilon >= total else None


def _advanced(
    mean: Callable[[Fraction], Fraction],
) -> tuple[Callable[[Releases, Fraction], Fraction | None], Callable[[Releases, Fraction], Fraction | None]]:
    def moments(releases: Releases) -> tuple[Fraction, Fraction] | None:
        costs = releases.costs()
        if costs is None or any(cost > LARGEST_EXPONENT for cost, _ in costs):
            return None
        return (
            sum((n * mean(cost) for cost, n in costs), Fraction(0)),
            sum((n * cost**2 for cost, n in costs), Fraction(0)),
        )

    def epsilon(releases: Releases, left: Fraction) -> Fraction | None:
        found = moments(releases)
        if found is None or left == 0:
            return None
        return found[0] + sqrt_up(-2 * log_bounds(left)[0] * found[1])

    def delta(releases: Releases, at: Fraction) -> Fraction | None:
        found = moments(releases)
        if found is None or at <= found[0] or found[1] == 0:
            return None
        return exp_bounds(-((at - found[0]) ** 2) / (2 * found[1]))[1]

    return epsilon, delta


def _lecture_mean(cost: Fraction) -> Fraction:
    return enclose(lambda: ball(cost) * ball(cost).expm1())[1]


def _concentrated_epsilon(releases: Releases, left: Fraction) -> Fraction | None:
    return None if left == 0 else epsilon_of_rho(releases.zcdp(), left)


def _concentrated_delta(releases: Releases, epsilon: Fraction) -> Fraction | None:
    return delta_of_rho(releases.zcdp(), epsilon)


def _renyi_epsilon(releases: Releases, left: Fraction) -> Fraction | None:
    if left == 0 or not releases.floats:
        return None
    target = float(log_bounds(left)[0])

    def bound(tilts: Reals) -> Reals:
        return np.asarray((_log_moment(releases, tilts) + chernoff_constant(tilts) - target) / tilts)

    theta = Fraction(float(np.float32(lowest(bound)[0])))
    moment = log_moment_up(releases, theta)
    return max(
        Fraction(0), enclose(lambda: (ball(moment) + _constant(theta) - ball(left).log()) / ball(theta))[1]
    )


def _renyi_delta(releases: Releases, epsilon: Fraction) -> Fraction | None:
    if not releases.floats or epsilon > MOST_LOSS**2:
        return None
    at = float(epsilon)

    def height(tilts: Reals) -> Reals:
        return np.asarray(_log_moment(releases, tilts) + chernoff_constant(tilts) - tilts * at)

    theta = Fraction(float(np.float32(lowest(height)[0])))
    moment = log_moment_up(releases, theta)
    exponent = enclose(lambda: ball(moment - theta * epsilon) + _constant(theta))[1]
    return min(Fraction(1), exp_bounds(exponent)[1]) if exponent < 0 else Fraction(1)


def _constant(theta: Fraction) -> arb:
    """Return ln of the largest (1 - exp(-x)) exp(-theta x) over x >= 0."""
    tilt = ball(theta)
    return tilt * (tilt / (1 + tilt)).log() - (1 + tilt).log()


def _log_moment(releases: Releases, tilts: Reals) -> Reals:
    """Return the sum of the log moments; a bounded-range release takes the smaller of its two bounds."""
    ranges, rest = _split(releases)
    total = loss_sum(rest).log_moment(tilts) + float(releases.rho) * tilts * (tilts + 1)
    for law, n in ranges:
        envelope = LossSum(((law, 1),)).log_moment(tilts)
        total = total + n * np.minimum(envelope, float(law.rho) * tilts * (tilts + 1))
    return np.asarray(total)


def log_moment_up(releases: Releases, theta: Fraction) -> Fraction:
    """Return the sum of the log moments at a theta that is a float, rounded up."""
    ranges, rest = _split(releases)
    total = loss_sum(rest)
    tilt = np.array([float(theta)])
    moment = Fraction(float(total.log_moment(tilt)[0])) + Fraction(total.log_moment_error(float(theta)))
    moment += releases.rho * theta * (theta + 1)
    for law, n in ranges:
        alone = LossSum(((law, 1),))
        envelope = Fraction(float(alone.log_moment(tilt)[0])) + Fraction(alone.log_moment_error(float(theta)))
        moment += n * min(envelope, law.rho * theta * (theta + 1))
    return moment


def _split(releases: Releases) -> tuple[list[tuple[BoundedRangeLoss, int]], Laws]:
    ranges = [(law, n) for law, n in releases.laws if isinstance(law, BoundedRangeLoss)]
    return ranges, tuple((law, n) for law, n in releases.laws if not isinstance(law, BoundedRangeLoss))


def _optimal_epsilon(releases: Releases, left: Fraction) -> Fraction | None:
    if left == 0:
        return None
    if not releases.rho and isinstance(releases.exact, Responses):
        # As the lower bound asks it, so that it is looked up there.
        return tight_epsilon(releases.laws, left, None)[1]
    found = releases.responses()
    return None if found is None else found.epsilon(left)[1]


def _optimal_delta(releases: Releases, epsilon: Fraction) -> Fraction | None:
    found = releases.responses()
    return None if found is None else found.delta(epsilon)[1]


def _law_epsilon(releases: Releases, left: Fraction) -> Fraction | None:
    # As the lower bound asks it, so that it is looked up there.
    return None if releases.rho or left == 0 else tight_epsilon(releases.laws, left, None)[1]


def _law_delta(releases: Releases, epsilon: Fraction) -> Fraction | None:
    return None if releases.rho else tight_delta(releases.laws, epsilon)[1]


@lru_cache(maxsize=64)
def loss_sum(laws: Laws) -> LossSum:
    """Return the sum of the losses, kept for the next question about the same releases."""
    return LossSum(laws)


@lru_cache(maxsize=512)
def tight_epsilon(
    laws: Laws, left: Fraction, near: Fraction | None = None
) -> tuple[Fraction, Fraction | None]:
    """Return rationals around the epsilon of the product of the laws at left > 0, looked for near a guess."""
    if not laws:
        return Fraction(0), Fraction(0)
    exact = whole(laws)
    if exact is not None:
        return exact.epsilon(left)
    total = loss_sum(laws)
    return epsilon_at(total, left, near) if total.tractable else (Fraction(0), total.ceiling)


@lru_cache(maxsize=512)
def tight_delta(laws: Laws, epsilon: Fraction) -> Enclosure:
    """Return rationals around the delta of the product of the laws."""
    if not laws:
        return Fraction(0), Fraction(0)
    exact = whole(laws)
    if exact is not None:
        return exact.delta(epsilon)
    total = loss_sum(laws)
    if total.ceiling is not None and epsilon >= total.ceiling:
        return Fraction(0), Fraction(0)
    return delta_at(total, epsilon) if total.tractable else (Fraction(0), Fraction(1))


@lru_cache(maxsize=64)
def whole(laws: Laws) -> Base | Responses | ListedSum | None:
    """Return the law of the whole as one value, where there is one."""
    if not laws:
        return None
    first = laws[0][0]
    if len(laws) == 1 and laws[0][1] == 1 and first.slack == 0 and not isinstance(first, MeshLoss):
        return first
    if all(isinstance(law, GaussianLoss) for law, _ in laws):
        return GaussianLoss(
            sum((n * law.mu_squared for law, n in laws if isinstance(law, GaussianLoss)), Fraction(0))
        )
    return Responses.of(laws) or ListedSum.of(laws)


_LECTURE, _ADVANCED = _advanced(_lecture_mean), _advanced(pure_rho)

BASIC = Route("basic", FULLY, "the losses add up", _basic_epsilon, _basic_delta)
LECTURE = Route("lecture", FULLY, "advanced composition, Dwork-Rothblum-Vadhan 2010", *_LECTURE)
ADVANCED = Route(
    "advanced", FULLY, "advanced composition with the sharp mean, fully adaptive 2023", *_ADVANCED
)
CONCENTRATED = Route(
    "concentrated",
    FULLY,
    "zCDP adds up, converted as in Canonne-Kamath-Steinke 2020",
    _concentrated_epsilon,
    _concentrated_delta,
)
RENYI = Route("renyi", FIXED, "the best order of the exact Renyi curves", _renyi_epsilon, _renyi_delta)
OPTIMAL = Route(
    "optimal", FIXED, "exact for pure costs, Kairouz-Oh-Viswanath 2015", _optimal_epsilon, _optimal_delta
)
LAW = Route(
    "loss distribution",
    FIXED,
    "dominating pairs compose, Zhu-Dong-Wang 2022, inverted with certified error",
    _law_epsilon,
    _law_delta,
)

ROUTES: Sequence[Route] = (BASIC, LECTURE, ADVANCED, CONCENTRATED, RENYI, OPTIMAL, LAW)
