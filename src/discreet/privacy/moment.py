"""Moments of privacy-loss laws: M(s) = E[exp(s L)] for complex s, in floats whose error is bounded.

Every law is split as L = centre + rest, where the centre is an exact rational that may depend on the tilt
theta >= 0.  The functions here give, for the law tilted by theta (density exp(theta L) / M(theta)):

    log_moment(law, theta)      ln M(theta) for an array of real theta;
    centre(law, theta)          the rational taken out;
    tilted(law, theta, t)       phi(t) = E_theta[exp(i t (L - centre))] for an array of real t;
    family_decay(...)           a bound on |phi| at and beyond t that never rises with t.

Closed forms, with c the largest loss and w = 1 + 2 s, all free of cancellation for theta >= 0:

    randomised response   exp(s c) [1 + exp(-c w)] / (1 + exp(-c)) Laplace               exp(s c) [(1 +
    exp(-c w)) + (1 - exp(-c w)) / w] / 2 bounded range         exp(s c) (1 - exp(-c w)) / (w (1 -
    exp(-c))) geometric             exp(s c) [(1 + z^n) + (1 - a) z (1 - z^(n-1)) / (1 - z)] / (1 + a),  z
    = a^w, n the shift Gaussian              exp(m s (s + 1) / 2),  m = mu squared discrete Gaussian
    the same times theta(s n) / theta(0), theta the lattice's own theta function.

Error.  phi is a quotient of two sums whose terms have positive weights at t = 0.  Assume, as their
documentation and tests have it, that NumPy's exp, expm1, log, sin and cos err by at most four units in
the last place, and that the four operations round correctly.  Then each computed phi(t) errs by at most

    u (ROUNDING + 8 |t| (1 + span)),        u = 2**-53,

where span is the distance from the centre to the furthest loss: the second part is what rounding the
angle t L costs, the first everything else.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import exp, floor, pi
from typing import Any, TypeAlias, TypeVar, assert_never

import numpy as np
import numpy.typing as npt

from discreet.exact.number import log_bounds
from discreet.privacy.atoms import AtomsLoss
from discreet.privacy.geometric import log_inverse
from discreet.privacy.loss import (
    Base,
    BoundedRangeLoss,
    DiscreteGaussianLoss,
    GaussianLoss,
    GeometricLoss,
    LaplaceLoss,
    MeshLoss,
    ResponseLoss,
    Summand,
)

Reals: TypeAlias = npt.NDArray[np.floating[Any]]
Complexes: TypeAlias = npt.NDArray[np.complexfloating[Any, Any]]

UNIT = 2.0**-53
ROUNDING = 128.0


@dataclass(frozen=True, slots=True)
class Lattice:
    """A law on a lattice; steps count in units of 1, or of ln(1 / base), and combine if the bases agree."""

    base: Fraction | None
    step: Fraction


def log_moment(law: Summand, theta: Reals) -> Reals:
    """Return ln E[exp(theta L)] over the finite losses, renormalised, for theta >= 0."""
    match law:
        case GaussianLoss(mu_squared):
            return float(mu_squared) * theta * (theta + 1) / 2
        case DiscreteGaussianLoss(variance, shift):
            smooth = float(Fraction(shift**2) / variance) * theta * (theta + 1) / 2
            if variance >= _SMOOTH:
                return np.asarray(smooth, dtype=np.float64)
            return np.asarray(smooth + np.log(_ripple(law, theta)), dtype=np.float64)
        case MeshLoss():
            return mesh_moment(law, theta)
        case ResponseLoss() | GeometricLoss() | LaplaceLoss() | BoundedRangeLoss() | AtomsLoss():
            inner = _below_top(law, theta.astype(np.complex128)).real
            return np.asarray(theta * float(top(law)) + np.log(inner), dtype=np.float64)
        case never:
            assert_never(never)


def mesh_moment(law: MeshLoss, theta: Reals) -> Reals:
    """Return ln of the sum of p exp(theta L) over the finite losses, not renormalised.

    At more than a few tilts at once it is bounded from above by that of a mesh with fewer corners.
    """
    step, weights = (float(law.step), law.weights) if theta.size <= _FEW_TILTS else law.coarse
    rows = _in_rows(weights)
    # exp(-theta step k) is a product of two: how far the row is, and how far within it.
    within = np.exp(-np.multiply.outer(np.arange(rows.shape[1]) * step, theta))
    far = np.exp(-np.multiply.outer(np.arange(rows.shape[0]) * (step * rows.shape[1]), theta))
    return np.asarray(theta * float(law.top) + np.log(((rows @ within) * far).sum(axis=0)))


_ROW = 128


def _in_rows(weights: Reals) -> Reals:
    rows = np.zeros((-(-len(weights) // _ROW), _ROW))
    rows.ravel()[: len(weights)] = weights
    return rows


_FEW_TILTS = 2
"""At so many tilts at once the moments of a mesh are summed over all of its corners."""


def centre(law: Summand, theta: Fraction) -> Fraction:
    """Return the rational taken out of the loss before its characteristic function is computed."""
    match law:
        case GaussianLoss(mu_squared):
            return mu_squared * (theta + Fraction(1, 2))
        case DiscreteGaussianLoss(variance, shift):
            if variance < _POISSON:
                return _loss_at(law, -floor(theta * shift))
            return Fraction(shift**2) / variance * (theta + Fraction(1, 2))
        case MeshLoss():
            return law.top
        case ResponseLoss() | GeometricLoss() | LaplaceLoss() | BoundedRangeLoss() | AtomsLoss():
            return top(law)
        case never:
            assert_never(never)


def transformed(law: MeshLoss, theta: Fraction, size: int, count: int) -> tuple[Complexes, float]:
    """Return phi at the first `count` multiples of 2 pi / (size step), and a bound on its error.

    Each value of a transform of a length without large factors is a sum of all weights, each turned and added
    in at most log2(size) rounds, so its error is at most that of as many roundings of their sum.
    """
    rows, tilt = _in_rows(law.weights), float(theta) * float(law.step)
    far = np.exp(-tilt * _ROW * np.arange(len(rows)))
    weights = (rows * np.exp(-tilt * np.arange(_ROW)) * far[:, None]).ravel()[: len(law.weights)]
    folded = np.zeros(-(-len(weights) // size) * size)
    folded[: len(weights)] = weights / weights.sum()
    half = np.fft.rfft(folded.reshape(-1, size).sum(axis=0))
    turn = np.arange(count) % size
    near = half[np.minimum(turn, size - turn)]
    return np.where(2 * turn > size, np.conj(near), near), UNIT * (ROUNDING + 64 * size.bit_length())


def tilted(law: Base, theta: Fraction, t: Reals) -> Complexes:
    """Return the characteristic function of the centred loss under the tilt."""
    match law:
        case GaussianLoss(mu_squared):
            return np.exp(-float(mu_squared) * t * t / 2).astype(np.complex128)
        case DiscreteGaussianLoss():
            return _ripples(law, theta, t)
        case ResponseLoss() | GeometricLoss() | LaplaceLoss() | BoundedRangeLoss() | AtomsLoss():
            whole = _below_top(law, np.array([complex(float(theta))]))[0].real
            return np.asarray(_below_top(law, float(theta) + 1j * t) / whole, dtype=np.complex128)
        case never:
            assert_never(never)


def span(law: Summand) -> float:
    """Return the distance from the centre to the furthest loss that still matters."""
    match law:
        case GaussianLoss():
            return 0.0
        case DiscreteGaussianLoss(variance, shift):
            return float(40.0 * shift / float(variance) ** 0.5 + 4.0 * shift / float(variance))
        case AtomsLoss():
            # All losses of a law that goes one way only may be far from zero and near each other.
            losses, _ = _atom_arrays(law)
            return float(losses.max() - losses.min() + abs(losses.max()))
        case ResponseLoss() | GeometricLoss() | LaplaceLoss() | BoundedRangeLoss():
            return 2 * float(top(law))
        case MeshLoss():
            return float(law.step) * len(law.weights) + abs(float(law.top))
        case never:
            assert_never(never)


LEAST_LOSS, MOST_LOSS = Fraction(1, 2**60), Fraction(2**30)
"""Laws with losses outside are left to exact arithmetic: the bounds above assume that nothing underflows."""

LEAST_VARIANCE = Fraction(1, 1024)
"""Below, every term of a discrete Gaussian's theta function but one underflows."""

_ROOM = 2**900
"""Probabilities and ratios within this factor of one are floats."""

MOST_SHIFT = 2**200
"""Beyond, a shift is no longer exactly a float's multiple of the noise's unit."""


def tractable(law: Summand) -> bool:
    """Whether the error bounds stated above apply to a law."""
    match law:
        case GaussianLoss(mu_squared):
            return LEAST_LOSS <= mu_squared <= MOST_LOSS
        case DiscreteGaussianLoss(variance, shift):
            unit = Fraction(shift) / variance
            return (
                LEAST_VARIANCE <= variance <= MOST_SHIFT**2
                and shift <= MOST_SHIFT
                and LEAST_LOSS <= unit * shift <= MOST_LOSS
            )
        case GeometricLoss(_, shift):
            return shift <= MOST_SHIFT and LEAST_LOSS <= law.pure <= MOST_LOSS
        case AtomsLoss(atoms):
            finite = [(p, q) for p, q in atoms if p and q] or [(Fraction(1), Fraction(1))]
            # The ratios are in falling order.
            widest = max(finite[0][0] / finite[0][1], finite[-1][1] / finite[-1][0])
            return 1 + LEAST_LOSS <= widest <= _ROOM and min(p for p, _ in atoms if p) * _ROOM >= 1
        case MeshLoss():
            return True
        case ResponseLoss() | LaplaceLoss() | BoundedRangeLoss():
            return LEAST_LOSS <= law.pure <= MOST_LOSS
        case never:
            assert_never(never)


def terms(law: Summand) -> int:
    """Return about how many exponentials one value of the characteristic function costs."""
    match law:
        case GaussianLoss():
            return 0
        case AtomsLoss(atoms):
            return len(atoms)
        case DiscreteGaussianLoss():
            return 2 * _REACH + 1
        case MeshLoss():
            return 2
        case ResponseLoss() | GeometricLoss() | LaplaceLoss() | BoundedRangeLoss():
            return 2
        case never:
            assert_never(never)


def lattice(law: Summand) -> Lattice | None:
    """Return the lattice that carries the finite losses, if there is a simple one."""
    match law:
        case ResponseLoss(cost):
            return Lattice(None, 2 * cost)
        case GeometricLoss(alpha, shift):
            return Lattice(alpha, Fraction(2 if shift > 1 else 2 * shift))
        case DiscreteGaussianLoss(variance, shift):
            return Lattice(None, Fraction(shift) / variance)
        case AtomsLoss(atoms):
            if len(atoms) == 3 and atoms[0][0] == atoms[2][1] and atoms[0][1] == atoms[2][0] != 0:
                return Lattice(atoms[2][0] / atoms[0][0], Fraction(1)) if atoms[1][0] == atoms[1][1] else None
            ratios = {p / q for p, q in atoms if p and q} - {Fraction(1)}
            if len(ratios | {1 / ratio for ratio in ratios}) == 2:
                return Lattice(1 / max(max(ratios), 1 / min(ratios)), Fraction(1))
            return None
        case MeshLoss():
            return Lattice(None, law.step)
        case LaplaceLoss() | BoundedRangeLoss() | GaussianLoss():
            return None
        case never:
            assert_never(never)


def anchor(law: Summand) -> Fraction:
    """Return a point of the law's lattice."""
    match law:
        case DiscreteGaussianLoss():
            return _loss_at(law, 0)
        case MeshLoss():
            return law.top
        case ResponseLoss() | GeometricLoss() | LaplaceLoss() | BoundedRangeLoss() | AtomsLoss():
            return top(law)
        case GaussianLoss():
            return Fraction(0)
        case never:
            assert_never(never)


@lru_cache(maxsize=65536)
def top(law: ResponseLoss | GeometricLoss | LaplaceLoss | BoundedRangeLoss | AtomsLoss) -> Fraction:
    """Return the largest finite loss, exactly or to 2**-96."""
    match law:
        case GeometricLoss(alpha, shift):
            unit = log_inverse(alpha.numerator, alpha.denominator)[0]
            return unit if shift == 1 else unit * shift
        case AtomsLoss():
            return log_bounds(law.ratio)[0] if law.ratio != 1 else Fraction(0)
        case ResponseLoss(cost) | BoundedRangeLoss(cost):
            return cost
        case LaplaceLoss(ratio):
            return ratio
        case never:
            assert_never(never)


def _below_top(
    law: ResponseLoss | GeometricLoss | LaplaceLoss | BoundedRangeLoss | AtomsLoss, s: Complexes
) -> Complexes:
    """Return E[exp(s (L - top))]."""
    c = float(top(law))
    match law:
        case AtomsLoss():
            losses, weights = _atom_arrays(law)
            total = np.zeros(s.shape, dtype=np.complex128)
            real = not s.imag.any()
            for loss, weight in zip(losses - losses.max(), weights, strict=True):
                if loss == 0:
                    total += weight
                else:
                    total += weight * (np.exp(loss * s.real) if real else _exp(loss * s))
            return total
        case ResponseLoss() | LaplaceLoss() | BoundedRangeLoss():
            return closed_form(type(law), np.float64(c), s)
        case GeometricLoss(alpha, shift):
            if shift == 0:
                return np.ones(s.shape, dtype=np.complex128)
            a, w = float(alpha), (c / shift) * (1 + 2 * s)
            ends = 2 + expm1(-shift * w)
            inside = float(1 - alpha) * _exp(-w) * expm1(-(shift - 1) * w) / expm1(-w) if shift > 1 else 0.0
            return np.asarray((ends + inside) / (1 + a))
        case never:
            assert_never(never)


Family: TypeAlias = type[ResponseLoss] | type[LaplaceLoss] | type[BoundedRangeLoss]


Numbers = TypeVar("Numbers", Reals, Complexes)


def closed_form(family: Family, c: Reals | np.float64, s: Numbers, middle: Reals | float = 0.0) -> Numbers:
    """Return E[exp(s (L - c))] for laws of one family with largest losses c, which broadcast against s.

    A response with a `middle` has three losses, c, 0 and -c, in the ratio 1 : middle exp(-c) : exp(-c).
    """
    w = 1 + 2 * s
    if family is ResponseLoss:
        ends = 1 + _exp(-c * w)
        if np.any(middle):
            return np.asarray((ends + middle * _exp(-c * (1 + s))) / (1 + (1 + middle) * np.exp(-c)))
        return np.asarray(ends / (1 + np.exp(-c)))
    fall = expm1(-c * w)
    if family is LaplaceLoss:
        return np.asarray((2 + fall - fall / w) / 2)
    return np.asarray(fall / (w * np.expm1(-c)))


def family_decay(family: Family, c: Reals, theta: float, t: float) -> Reals:
    """Return bounds on |phi| at and beyond t, never rising with t, for laws of one family."""
    tail, size = np.exp(-c * (1 + 2 * theta)), abs(complex(1 + 2 * theta, 2 * t))
    if family is LaplaceLoss:
        bound = (1 + tail) * (1 + 1 / size) / ((1 + tail) + (1 - tail) / (1 + 2 * theta))
    elif family is BoundedRangeLoss:
        bound = (1 + tail) / (1 - tail) * ((1 + 2 * theta) / size)
    else:
        bound = np.ones(c.shape)
    return np.asarray(np.minimum(bound * (1 + 1e-12), 1.0))


@lru_cache(maxsize=1024)
def _atom_arrays(law: AtomsLoss) -> tuple[Reals, Reals]:
    finite = [(p, q) for p, q in law.atoms if p and q]
    # log1p of the exact difference keeps small losses accurate.
    losses = [
        float(np.log1p(float(p / q - 1))) if abs(p / q - 1) < Fraction(1, 2) else _log(p / q)
        for p, q in finite
    ]
    weights = [float(p / (1 - law.slack)) for p, _ in finite]
    return np.array(losses), np.array(weights)


def _log(x: Fraction) -> float:
    return float(log_bounds(x)[0])


def _exp(z: Numbers) -> Numbers:
    if not np.iscomplexobj(z):
        return np.exp(z)
    return np.asarray(np.exp(z.real) * (np.cos(z.imag) + 1j * np.sin(z.imag)))


def expm1(z: Numbers) -> Numbers:
    """Return exp(z) - 1 without cancellation for Re z <= 0."""
    if not np.iscomplexobj(z):
        return np.expm1(z)
    half = np.sin(z.imag / 2)
    return np.asarray(
        np.expm1(z.real) * np.cos(z.imag) - 2 * half * half + 1j * np.exp(z.real) * np.sin(z.imag)
    )


_POISSON = Fraction(1, 2)
"""From this variance on, the discrete Gaussian's theta function is summed over frequencies, not integers."""

_SMOOTH = 2
"""From this variance on, discrete and continuous moments at real points agree to within a rounding."""

_REACH = 4
"""How many terms are taken on each side of the largest; the rest is below exp(-pi**2 (_REACH - 1/2)**2)."""


def _loss_at(law: DiscreteGaussianLoss, k: int) -> Fraction:
    return Fraction(law.shift**2 - 2 * k * law.shift) / (2 * law.variance)


def _ripple(law: DiscreteGaussianLoss, theta: Reals) -> Reals:
    """Return the ratio of the discrete moment to the continuous one: theta(theta * shift) / theta(0)."""
    v, part = float(law.variance), np.mod(theta * law.shift, 1.0)[:, None]
    if law.variance < _POISSON:
        steps = np.arange(-12, 13)
        whole = np.exp(-(steps**2) / (2 * v)).sum()
        return np.asarray(np.exp(-((steps + part) ** 2) / (2 * v)).sum(axis=1) / whole)
    m = np.arange(-_REACH, _REACH + 1)
    weights = np.exp(-2 * pi**2 * v * m * m)
    return np.asarray((weights * np.cos(2 * pi * m * part)).sum(axis=1) / weights.sum())


def _ripples(law: DiscreteGaussianLoss, theta: Fraction, t: Reals) -> Complexes:
    v, n = float(law.variance), law.shift
    total = np.zeros(t.shape, dtype=np.complex128)
    if law.variance < _POISSON:
        at, mass = float(theta * n - floor(theta * n)), 0.0
        for k in range(-12, 13):
            weight = exp(-((k + at) ** 2) / (2 * v))
            total += weight * _exp(1j * t * float(Fraction(-k * n) / law.variance))
            mass += weight
        return total / mass
    turn = float((theta * n) % 1)
    tau = t * (n / (2 * pi * v))
    nearest = np.rint(tau)
    rest, mass = tau - nearest, 0.0
    for j in range(-_REACH, _REACH + 1):
        total += np.exp(-2 * pi**2 * v * (rest + j) ** 2) * _exp(2j * pi * ((turn * (j - nearest)) % 1.0))
        mass += exp(-2 * pi**2 * v * j * j) * np.cos(2 * pi * turn * j)
    return total / mass


def chernoff_constant(theta: Reals) -> Reals:
    """Return ln of the largest (1 - exp(-x)) exp(-theta x) over x >= 0."""
    # ln(theta) - ln(1 + theta), written so that nothing cancels however large theta is.
    return np.asarray(-theta * np.log1p(1 / theta) - np.log1p(theta))
