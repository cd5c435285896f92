"""Releases about samples: what sampling makes of a promise, and the noise that training by samples needs.

Training a model privately is a composition of sampled Gaussian releases: every step draws a sample at a
rate, sums what the sampled units contribute, each clipped to one length, and adds Gaussian noise of `noise`
times that length; under replace of twice that length, which is how far one unit then moves the sum.
`noise_for` reads the composition backwards.

References.  Abadi, Chu, Goodfellow, McMahan, Mironov, Talwar, Zhang, "Deep learning with differential
privacy", CCS 2016; amplification as in `discreet.privacy.sampled`.
"""

from collections.abc import Callable
from fractions import Fraction
from math import exp, inf, log

from discreet.errors import ParameterError
from discreet.exact.number import Real, log_bounds, positive, probability, rational, round_up, shown, whole
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.compose import Composition, Release, compose
from discreet.privacy.direction import CORNERS, ROUGH
from discreet.privacy.guarantee import Approximate, Concentrated, Profile, Pure
from discreet.privacy.loss import Base, GaussianLoss, ResponseLoss
from discreet.privacy.sampled import SampledLoss

_CLOSE, _STEEP = 2.0**-18, 700.0
_LEAST, _MOST = Fraction(1, 2**6), Fraction(2**40)


def sampled(release: Release, rate: Real, *, adjacency: Adjacency | str = Adjacency.ADD_REMOVE) -> Profile:
    """Return what a release promises that sees only a secret sample, drawn anew at this rate.

    Under add-remove every unit enters the sample by itself with probability `rate` (Poisson sampling).
    Under replace the sample is m of n units, drawn without replacement, with rate m / n, and the promise of
    the release must be about replacing a unit; units may enter each by itself only if it is also about adding
    or removing one.  The release is a guarantee, or a mechanism that knows what it was made for.
    """
    share, kind = rational(rate, "rate"), Adjacency.of(adjacency)
    if not 0 < share <= 1:
        raise ParameterError(f"a sampling rate is greater than 0 and at most 1, got {shown(rate)}")
    alone = compose([release]).alone()
    match alone:
        case Pure(cost):
            law: Base = ResponseLoss(cost)
        case Approximate(cost, slack):
            law = ResponseLoss(cost, slack)
        case Profile(SampledLoss(base, inner, known)):
            if known is not kind:
                raise ParameterError(
                    f"the release was sampled under {known} neighbours; sample it again under the same"
                )
            law, share = base, share * inner
        case Profile(stated) if not isinstance(stated, SampledLoss):
            law = stated
        case Concentrated():
            raise ParameterError(
                "concentrated privacy says too little for sampling; give the release's profile instead, "
                "such as m.profile(1)"
            )
        case _:
            raise ParameterError(
                "several releases, or coordinates, about one sample have no law of their own; sample each "
                "release by itself, and state a vector by continuous Gaussian noise"
            )
    return Profile(law if share == 1 else SampledLoss(law, share, kind))


def noise_for(
    steps: int,
    rate: Real,
    epsilon: Real,
    delta: Real,
    *,
    adjacency: Adjacency | str = Adjacency.ADD_REMOVE,
) -> Fraction:
    """Return the least noise with which so many sampled Gaussian steps are (epsilon, delta)-private.

    The noise is the standard deviation as a multiple of how far one unit moves a step's sum.  The answer is
    proved to be enough, and under add-remove is the least to about one part in 2**17; at rates far below one
    in a million a few parts in a hundred more.  Under replace it is the least that the theorem of
    `discreet.privacy.sampled` proves.
    """
    count, kind = whole(steps, "steps"), Adjacency.of(adjacency)
    limit, slack = positive(epsilon, "epsilon"), probability(delta, "delta")
    share = rational(rate, "rate")
    if count < 1 or not 0 < share <= 1:
        raise ParameterError(
            f"steps must be at least 1, and a rate greater than 0 and at most 1; "
            f"got {shown(steps)} and {shown(rate)}"
        )
    goal = float(log_bounds(slack)[0])

    def over(noise: Fraction, corners: int) -> float:
        """Return about ln(delta of this noise / delta), positive wherever it is not proved to be enough."""
        step = sampled(Profile(GaussianLoss(1 / noise**2)), share, adjacency=kind)
        found = Composition(((step, count),)).most_delta(limit, corners, slack)
        if found == 0:
            return -inf
        gap = float(log_bounds(found)[0]) - goal
        return gap if (gap > 0) == (found > slack) else (1e-300 if found > slack else 0.0)

    rough, slope = _crossing(lambda noise: over(noise, ROUGH), count)
    return _proved(lambda noise: over(noise, CORNERS), rough, slope)


def _crossing(over: Callable[[Fraction], float], steps: int) -> tuple[float, float]:
    """Return about the noise that is just enough, and how ln(delta) falls with ln(noise) there."""
    high = Fraction(1)
    while over(high) > 0:
        high *= 2
        if high > _MOST:
            raise ParameterError(f"no amount of noise makes {steps} steps private enough")
    low = high / 2
    while over(low) <= 0:
        low, high = low / 2, low
        if low < _LEAST:
            return float(high), -1.0
    left, right = (log(low), over(low)), (log(high), max(over(high), -_STEEP))
    slope = (right[1] - left[1]) / (right[0] - left[0])
    for step in range(60):
        if right[0] - left[0] <= _CLOSE:
            break
        slope = (right[1] - left[1]) / (right[0] - left[0])
        at = left[0] - left[1] / slope if step % 3 < 2 else (left[0] + right[0]) / 2
        at = min(max(at, left[0] + _CLOSE / 4), right[0] - _CLOSE / 4)
        found = max(over(_noise(exp(at))), -_STEEP)
        left, right = (left, (at, found)) if found <= 0 else ((at, found), right)
    return exp(right[0]), slope


def _proved(over: Callable[[Fraction], float], start: float, slope: float) -> Fraction:
    """Return a noise near the start, found on a coarser mesh, that the finer one proves to be enough."""
    gap, step = over(_noise(start)), _CLOSE
    if gap <= 0:
        # The coarser mesh asked for too much; its slope says by how much.
        closer = _noise(start * exp(min(-max(gap, -_STEEP) / slope, 0.0)) * (1 + _CLOSE))
        return closer if closer < start and over(closer) <= 0 else _noise(start)
    while gap > 0:
        start, step = start * (1 + step), 2 * step
        gap = over(_noise(start))
    return _noise(start)


def _noise(value: float) -> Fraction:
    return round_up(Fraction(value), 40)
