"""Geometric or Gaussian: under a budget with delta a question takes the noise that errs less for it.

Rule.  `epsilon` means what the question would promise if it were the only one.  Noise at pure epsilon
promises it without any delta; Gaussian noise of the largest rho that converts to epsilon promises it at the
budget's delta.  The budget admits both.  Which of them is drawn depends on the question, its price and the
declarations, all public and fixed before any data is read; so the choice gives nothing away.

Theorem.  Let one number move by at most s.  Geometric noise at pure epsilon has a variance of at most
2 (s / epsilon)**2, and its rho is at most epsilon**2 / 2, at which Gaussian noise has the variance
(s / epsilon)**2.  So geometric noise is never more than sqrt(2) noisier than Gaussian noise that takes the
same part of the budget.
Proof.  With a = exp(-epsilon / s) the variance is 2 a / (1 - a)**2 = 1 / (2 sinh(epsilon / 2s)**2), and
sinh(x) >= x; the rho of any epsilon-private release is epsilon tanh(epsilon / 2), and tanh(x) <= x.

Gaussian noise pays for the root of a sum of squares: it wins where a person touches many groups, and where a
budget is to answer so many questions that each gets a small part of it.  A curator who declares that number
has both compared at an equal part of the budget, instead of at the epsilon that is asked.  A batch takes the
noise with the smaller product of the errors of its questions, however many answers each of them has.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from math import exp, expm1, inf, log, log1p
from statistics import NormalDist
from typing import TypeAlias, assert_never

from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.key_count import KeyCount
from discreet.mechanisms.key_gaussian import KeyGaussian
from discreet.mechanisms.key_weight import KeyWeight
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.staircase import Staircase
from discreet.privacy.filter import ApproximateBudget
from discreet.privacy.grid import below_grid
from discreet.privacy.zcdp import largest_rho
from discreet.query.check.assembly import Assembly
from discreet.query.check.measurement import (
    AskedGroups,
    Checked,
    Classes,
    Private,
    families,
    questions_of,
    weighs_keys,
)
from discreet.query.plan import given
from discreet.query.price.mechanism import (
    MeasurementShare,
    Price,
    PurePrice,
    RhoPrice,
    mean_variance,
    share_of,
)
from discreet.query.price.sparse import Sparse
from discreet.query.price.split import parts
from discreet.query.price.together import Together

Terms: TypeAlias = Callable[[Fraction], Price]
"""What a question at an epsilon may cost, in the measure of one kind of noise."""

LEAST, LARGE = 1e-300, Fraction(10) ** 300
"""Keys are judged as with a delta and an epsilon within these, which floats still hold."""


def converted(delta: Fraction) -> Terms:
    """Return the terms of Gaussian noise that is converted at this delta."""
    return lambda epsilon: RhoPrice(below_grid(largest_rho(epsilon, delta)))


def under(budget: ApproximateBudget) -> Terms:
    """Return the terms of Gaussian noise that this budget pays for: one at its epsilon uses it up."""
    return lambda epsilon: RhoPrice(budget.worth(epsilon))


def kinds(budget: ApproximateBudget) -> tuple[Terms, ...]:
    """Return the terms of all kinds of noise that a question may have under a budget with delta."""
    return PurePrice, under(budget)


def possible(checked: Checked, budget: ApproximateBudget) -> tuple[Terms, ...]:
    """Return the terms of the kinds of noise that serve a question.

    One person moves the squares of weights of keys by little and their sum by much: they get Gaussian noise.
    """
    weighed = any(weighs_keys(part) for part in questions_of(checked))
    return (under(budget),) if weighed else kinds(budget)


def better(
    checked: Checked, epsilon: Fraction, delta: Fraction, budget: ApproximateBudget, questions: int | None
) -> Terms:
    """Return the terms of the noise that errs less for a question.

    Where the number of questions is declared, all are compared at that part of the budget.
    """

    def price(terms: Terms) -> Price:
        return terms(epsilon) if questions is None else terms(budget.epsilon).part(questions)

    return min(possible(checked, budget), key=lambda terms: error(checked, price(terms), delta))


def error(checked: Checked, price: Price, delta: Fraction) -> float:
    """Return the weighted mean over what a question measures of the logarithm of its error at this price."""
    if checked.assembly is not None:
        whole = zip(checked.assembly.parts, portions(checked.assembly), strict=True)
        return sum(float(part) * error(one, price.share(part), delta) for one, part in whole)
    split = list(zip(families(checked.measurements), parts(checked), strict=True))
    return sum(
        float(part) * _error_at(checked, places[0], price.share(part), delta) for places, part in split
    )


def portions(assembly: Assembly) -> tuple[Fraction, ...]:
    """Return the part of the price of each question, in proportion to what it measures; they sum to one."""
    counts = [len(families(part.measurements)) for part in assembly.parts]
    return tuple(Fraction(count, sum(counts)) for count in counts)


def portion(terms: Terms, share: Fraction) -> Terms:
    """Return the terms of a question that takes only a part of what an epsilon buys."""
    if share == 1:
        return terms

    def price(epsilon: Fraction) -> Price:
        match terms(epsilon).part(1 / share):
            case PurePrice(part):
                # Rounded down, so that all parts together never cost more than the whole.
                return PurePrice(below_grid(part))
            case rho:
                return rho

    return price


def _error_at(checked: Checked, position: int, price: Price, delta: Fraction) -> float:
    if isinstance(checked.keys, Private) and position == checked.keys.people:
        return _needed(given(checked.measurements[position].sensitivity.l0), price, delta)
    if (variance := mean_variance(checked, position, price)) is not None:
        return log(variance) / 2
    share = share_of(checked, position, price, delta)
    if isinstance(checked.keys, Classes) and isinstance(share.mechanism, Together):
        return _error_of_batch(checked.keys.asked[position], share.mechanism)
    return _error(share)


def _needed(groups: int, price: Price, delta: Fraction) -> float:
    """Return the logarithm of how many people, nearly, a group needs to be found every other time.

    The curve of `key_count` rises as (exp(n epsilon) - 1) / (exp(epsilon) - 1) delta up to a half, and
    Gaussian noise reaches its threshold every other time where people do.
    """
    each = delta / groups
    if each <= 0:
        return inf
    match price:
        case PurePrice(epsilon):
            # Without exponentials, and without numbers, that no float would hold.
            own = epsilon / groups
            near = float(min(own, LARGE))
            grown = (
                near + log1p(-exp(-near)) if near >= 1 else log(expm1(near)) if near > LEAST else _log(own)
            )
            rise = grown - _log(2 * each)
            return log(max(rise, 0.0) + log1p(exp(-abs(rise)))) - _log(min(own, LARGE))
        case RhoPrice(rho):
            away = -NormalDist().inv_cdf(min(max(float(each), LEAST), 0.25))
            more = _log(groups / (2 * rho)) / 2 + log(away)
            return max(more, 0.0) + log1p(exp(-abs(more)))
        case _:
            assert_never(price)


def _error_of_batch(asked: Sequence[AskedGroups], joint: Together) -> float:
    """Return the weighted mean over questions, however many answers each of them has."""
    found = [(part.weight, float(joint.variances[part.start : part.stop].mean())) for part in asked]
    counted = [(float(weight), log(variance) / 2) for weight, variance in found if variance > 0]
    return sum(w * e for w, e in counted) / sum(w for w, _ in counted) if counted else 0.0


def _error(share: MeasurementShare) -> float:
    match share.mechanism:
        case Geometric(alpha=alpha):
            return _log(2 * alpha / (1 - alpha) ** 2) / 2
        case Staircase() as stairs:
            return _log(stairs.variance) / 2
        case Gaussian(sigma_squared=variance):
            return _log(variance) / 2
        case Sparse() as blocks:
            return _error(replace(share, mechanism=blocks.alone))
        case Together() as joint:
            return log(float(joint.variances.mean())) / 2
        case Exponential(alpha=alpha) | PermuteAndFlip(alpha=alpha):
            # A selection falls short by multiples of 1 / ln(1 / alpha).
            return -log(-_log(alpha))
        case KeyCount() | KeyGaussian() | KeyWeight():
            raise TypeError("how well keys are found is judged by their price")
        case _:
            assert_never(share.mechanism)


def _log(x: Fraction) -> float:
    """Return a logarithm that neither a huge nor a tiny rational can spoil."""
    near = x - 1
    if abs(near) < Fraction(1, 2**20):
        return float(near)
    return log(x.numerator) - log(x.denominator)
